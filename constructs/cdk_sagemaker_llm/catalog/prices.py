"""
What an hour of an instance costs, as far as the dated list of this package knows it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.catalog._data import load

HOURS_A_MONTH = 730
"""Hours of an average month, as AWS's own calculators count them."""
MOST_USD_PER_HOUR = 1_000_000
"""No hour costs more: what does is a slip, and in sums endless."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """
    What an hour of one instance costs, where, and who says so.

    Args:
        usd_per_hour: US dollars.

        region: The region; empty where the source names none.

        date: A year, a month or a day, such as ``2026`` or ``2026-03-11``; empty where
            the source names none.

        source: Who says so, and of which rate: not every figure is one of hosting.
    """

    usd_per_hour: float
    region: str
    date: str
    source: str

    def is_newer_than(self, other: Price) -> bool:
        """
        Whether the date is a later one for certain: March 2026 is not later than 2026.
        """
        return self.date > other.date and not self.date.startswith(other.date)


def list_date() -> str:
    """
    Return the day on which the prices of the list were collected.
    """
    date: str = load("prices.json")["date"]
    return date


def known_prices(region: str) -> dict[str, Price]:
    """
    Return the newest price of each instance type that the list has: the region's own,
    unless that of another region is newer for certain.
    """
    content = load("prices.json")
    newest: dict[str, Price] = {}
    own: dict[str, Price] = {}
    for name, dollars, where, date, source in content["prices"]:
        price = Price(
            usd_per_hour=dollars,
            region=where,
            date=date,
            source=content["sources"][source],
        )
        for found in (newest, own) if where == region else (newest,):
            if name not in found or date > found[name].date:
                found[name] = price
    return {
        name: own[name] if name in own and not price.is_newer_than(own[name]) else price
        for name, price in newest.items()
    }
