"""
Money as commands show it: what it comes to, and where its prices are from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict

from cdk_sagemaker_llm.catalog.prices import HOURS_A_MONTH, Price

NO_PRICE = "no price known"
_ELSEWHERE = "*"


class Prices(Mapping[str, float]):
    """
    US dollars for an hour, by instance type, with where each is from.

    Args:
        prices: The price of each instance type.

        origin: Where all of them are from, in words.

        region: The region whose prices were wanted; empty where the source names none.
    """

    def __init__(
        self, prices: Mapping[str, Price], *, origin: str, region: str = ""
    ) -> None:
        self._prices = prices
        self._origin = origin
        self._region = region

    def __getitem__(self, instance_type: str) -> float:
        return self._prices[instance_type].usd_per_hour

    def __iter__(self) -> Iterator[str]:
        return iter(self._prices)

    def __len__(self) -> int:
        return len(self._prices)

    def mark(self, instance_types: Iterable[str]) -> str:
        """
        Return ``*`` if the price of one of the types is another region's, else nothing.
        """
        regions = {one.region for one in self._of(instance_types)}
        return _ELSEWHERE if regions - {self._region} else ""

    def explain(self, instance_types: Iterable[str]) -> str:
        """
        Say where the prices of some types are from: their regions, dates and source.
        """
        if not self._region:
            return f"prices: {self._origin}"
        dates: dict[str, set[str]] = {self._region: set()}
        for one in self._of(instance_types):
            dates.setdefault(one.region, set()).add(one.date)
        own = f"{self._region} ({_span(dates.pop(self._region))})"
        others = [
            f"{_ELSEWHERE} {region} ({_span(dates[region])})"
            for region in sorted(dates)
        ]
        return f"prices: {', '.join([own, *others])}; {self._origin}"

    def facts(self, instance_type: str) -> dict[str, str | float] | None:
        """
        Return a price with its origin, for JSON; ``None`` if it is not known.
        """
        price = self._prices.get(instance_type)
        return None if price is None else asdict(price)

    def _of(self, instance_types: Iterable[str]) -> list[Price]:
        return [self._prices[one] for one in instance_types if one in self._prices]


def _span(dates: Collection[str]) -> str:
    first, last = min(dates, default="none"), max(dates, default="none")
    return first if first == last else f"{first} to {last}"


def dollars(amount: float | None, mark: str) -> str:
    """
    Write US dollars with the mark of their prices.
    """
    return NO_PRICE if amount is None else f"{amount:,.2f}{mark}"


def running_costs(hourly: float | None, mark: str) -> str:
    """
    Write what runs all the time costs in an hour and in a month.
    """
    if hourly is None:
        return NO_PRICE
    month = f"{hourly * HOURS_A_MONTH:,.0f}{mark} $ a month"
    return f"{dollars(hourly, mark)} $/h, {month}"
