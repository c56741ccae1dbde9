"""
What instances are estimated to cost: an hour, a day, and a month against a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.prices import HOURS_A_MONTH, known_prices, list_date
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import least_findings
from cdk_sagemaker_llm.tokens import is_unresolved

HOURS_A_DAY = 24
# Where the region is known only at deployment.
_USUAL_REGION = "us-east-1"

OVER_BUDGET = Rule("LLM446", "upper bounds allow more than the monthly budget")
UNKNOWN_PRICE = Rule(
    "LLM447", "a monthly budget meets an instance type whose price is not known"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class HourlyPrice:
    """
    What an hour of one instance costs, in US dollars, and who says so.
    """

    instance_type: str
    dollars: float
    origin: str

    def __str__(self) -> str:
        return f"{self.instance_type} at ${self.dollars:,.2f} an hour ({self.origin})"


@dataclass(frozen=True, slots=True)
class HourlyPrices:
    """
    HourlyPrices of a region: the caller's own, and for the rest those of the list.

    Where the region is known only at deployment, they are those of us-east-1.
    """

    region: str | None
    own: Mapping[str, float]

    def of(self, types: Iterable[str]) -> HourlyPrice | None:
        """
        Return the price of the dearest of types; ``None`` where one is not known.
        """
        found = [self._of(name) for name in types]
        prices = [each for each in found if each is not None]
        if not prices or len(prices) < len(found):
            return None
        return max(prices, key=lambda each: each.dollars)

    def unknown(self, types: Iterable[str]) -> list[str]:
        """
        Return the types of which no price is known.
        """
        return [name for name in dict.fromkeys(types) if self._of(name) is None]

    def _of(self, name: str) -> HourlyPrice | None:
        if name in self.own:
            dollars, origin = self.own[name], "hourly_prices"
        else:
            listed = known_prices(self.region or _USUAL_REGION).get(name)
            if listed is None:
                return None
            dollars = listed.usd_per_hour
            origin = ", ".join(filter(None, (listed.region, listed.date)))
        return HourlyPrice(instance_type=name, dollars=dollars, origin=origin)


@dataclass(frozen=True, slots=True)
class Fleet:
    """
    Instances of an endpoint: the types that they may be of, and how many there may be.
    """

    types: Sequence[str]
    most: int


def price_findings(hourly_prices: Mapping[str, float] | None) -> Iterator[Finding]:
    """
    Check prices of the caller's own.
    """
    for name, dollars in (hourly_prices or {}).items():
        yield from least_findings(f"hourly_prices[{name!r}]", dollars, 0)


def budget_findings(
    monthly_budget: float, fleets: Sequence[Fleet], prices: HourlyPrices
) -> list[Finding]:
    """
    Check what fleets may cost in a month, where all of it is known.
    """
    counts = [fleet.most for fleet in fleets]
    types = [name for fleet in fleets for name in fleet.types]
    if is_unresolved((monthly_budget, counts, types, *prices.own.values())):
        return []
    if unknown := prices.unknown(types):
        return [
            UNKNOWN_PRICE.finding(
                f"monthly_budget is not checked: the list of {list_date()} has no "
                f"price of {', '.join(unknown)}",
                f"give hourly_prices={{{unknown[0]!r}: dollars}}",
            )
        ]
    most, parts = 0.0, []
    for fleet in fleets:
        price = prices.of(fleet.types)
        if price is not None and fleet.most:
            most += fleet.most * price.dollars * HOURS_A_MONTH
            parts.append(f"{fleet.most} {price}")
    if most <= monthly_budget:
        return []
    return [
        OVER_BUDGET.finding(
            f"monthly_budget is ${monthly_budget:,.0f}, and up to "
            f"{' and '.join(parts)} may cost ${most:,.0f} in a month of "
            f"{HOURS_A_MONTH} hours",
            "lower the most instances that scaling may start, or raise the budget",
        )
    ]
