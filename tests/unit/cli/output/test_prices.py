"""
Money as commands show it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.prices import Price
from cdk_sagemaker_llm.cli.output.prices import Prices, dollars, running_costs

OWN, AWAY, LAST, FAR = "ml.g5.xlarge", "ml.g6.xlarge", "ml.g6e.xlarge", "ml.p5.48xlarge"
KNOWN = {
    name: Price(usd_per_hour=1.5, region=region, date=date, source="hosting")
    for name, region, date in (
        (OWN, "us-east-1", "2025-04-11"),
        (LAST, "us-east-1", "2026"),
        (AWAY, "us-west-2", "2026-03-11"),
        (FAR, "eu-west-1", "2026"),
    )
}
PRICES = Prices(KNOWN, origin="a list", region="us-east-1")


def test_prices_are_numbers_by_instance_type() -> None:
    """
    As a mapping; of what they do not have there is none.
    """
    assert dict(PRICES) == {OWN: 1.5, LAST: 1.5, AWAY: 1.5, FAR: 1.5}
    assert PRICES.get("ml.z9.xlarge") is None
    assert PRICES.facts("ml.z9.xlarge") is None


@pytest.mark.parametrize(
    ("names", "mark"),
    [([], ""), ([OWN, LAST], ""), ([OWN, AWAY], "*"), (["ml.z9.xlarge"], "")],
)
def test_another_regions_price_has_a_mark(names: list[str], mark: str) -> None:
    """
    And so has a sum with one of them.
    """
    assert PRICES.mark(names) == mark


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([OWN], "prices: us-east-1 (2025-04-11); a list"),
        ([OWN, LAST, OWN], "prices: us-east-1 (2025-04-11 to 2026); a list"),
        (
            [AWAY, FAR, OWN],
            (
                "prices: us-east-1 (2025-04-11), * eu-west-1 (2026), "
                "* us-west-2 (2026-03-11); a list"
            ),
        ),
        ([AWAY], "prices: us-east-1 (none), * us-west-2 (2026-03-11); a list"),
        (["ml.z9.xlarge"], "prices: us-east-1 (none); a list"),
    ],
)
def test_regions_and_dates_are_said_of_what_is_shown(
    names: list[str], said: str
) -> None:
    """
    The region that was wanted first, and whatever it has.
    """
    assert PRICES.explain(names) == said


def test_a_source_without_a_region_is_named_alone() -> None:
    """
    Nothing of it is another region's.
    """
    own = Price(usd_per_hour=1.5, region="", date="", source="mine.json")
    prices = Prices({OWN: own}, origin="mine.json")

    assert (prices.mark([OWN]), prices.explain([OWN])) == ("", "prices: mine.json")


def test_money_has_its_cents_and_its_month() -> None:
    """
    Of 730 hours; what is not known is never zero.
    """
    assert dollars(1234.5, "*") == "1,234.50*"
    assert running_costs(1.5, "*") == "1.50* $/h, 1,095* $ a month"
    assert running_costs(0.0, "") == "0.00 $/h, 0 $ a month"
    assert dollars(None, "*") == running_costs(None, "*") == "no price known"
