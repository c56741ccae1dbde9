"""
The dated list of prices that the package ships.
"""

from __future__ import annotations

import re

import pytest

from cdk_sagemaker_llm.catalog import prices
from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.prices import Price, known_prices, list_date

HERE, THERE = "us-east-1", "us-west-2"
TYPE = "ml.g5.xlarge"


def known(
    monkeypatch: pytest.MonkeyPatch, *rows: tuple[float, str, str], region: str = HERE
) -> Price:
    """
    Return the price of a type that a list has, of which these are all rows.
    """
    content = {
        "date": "2026-11-23",
        "sources": {"a": "somebody's table"},
        "prices": [[TYPE, *row, "a"] for row in rows],
    }
    monkeypatch.setattr(prices, "load", {"prices.json": content}.__getitem__)
    found = known_prices(region)
    assert list(found) == [TYPE]
    return found[TYPE]


@pytest.mark.parametrize("order", [1, -1], ids=["older first", "newer first"])
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Of one region, the newest.
        ([(1.0, HERE, "2025-04-11"), (2.0, HERE, "2026")], (2.0, HERE)),
        ([(1.0, HERE, "2026"), (2.0, HERE, "2026-03-11")], (2.0, HERE)),
        # Of two regions too.
        ([(1.0, HERE, "2025-04-11"), (2.0, THERE, "2026")], (2.0, THERE)),
        ([(1.0, HERE, "2026"), (2.0, THERE, "2025-04-11")], (1.0, HERE)),
        # Of one date, the region's own.
        ([(1.0, HERE, "2026-03-11"), (2.0, THERE, "2026-03-11")], (1.0, HERE)),
        # A day may be before or after what is dated with its year alone.
        ([(1.0, HERE, "2026"), (2.0, THERE, "2026-03-11")], (1.0, HERE)),
        ([(1.0, HERE, "2026-03-11"), (2.0, THERE, "2026")], (1.0, HERE)),
        # Better another region's than none.
        ([(2.0, THERE, "2025")], (2.0, THERE)),
    ],
)
def test_the_newest_price_wins_and_of_one_date_the_regions_own(
    monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[float, str, str]],
    expected: tuple[float, str],
    order: int,
) -> None:
    """
    Whatever order the list has.
    """
    found = known(monkeypatch, *rows[::order])

    assert (found.usd_per_hour, found.region) == expected


def test_a_price_has_its_date_and_its_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    The source in words.
    """
    assert known(monkeypatch, (1.5, THERE, "2026-03"), region="eu-west-1") == Price(
        usd_per_hour=1.5, region=THERE, date="2026-03", source="somebody's table"
    )


def test_the_shipped_list_is_whole() -> None:
    """
    Every row has a type, dollars, a region, a date up to that of the list, and a source
    that is named; no type and region has two.
    """
    content = load("prices.json")
    rows = content["prices"]

    assert re.fullmatch(r"\d{4}-\d\d-\d\d", list_date())
    for name, dollars, region, date, source in rows:
        assert re.fullmatch(r"ml\.[a-z0-9]+\.[a-z0-9]+", name)
        assert dollars > 0
        assert re.fullmatch(r"[a-z]{2}-[a-z]+-\d", region)
        assert re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", date)
        assert date <= list_date()
        assert source in content["sources"]
    places = [(name, region) for name, _, region, _, _ in rows]
    assert places == sorted(set(places))
    assert {row[4] for row in rows} == set(content["sources"])


def test_the_cut_of_june_2025_is_known_in_every_region() -> None:
    """
    What us-east-1 paid before it is not shown as what it pays.
    """
    found = known_prices(HERE)

    assert (found["ml.p5.48xlarge"].usd_per_hour, found["ml.p5.48xlarge"].region) == (
        63.296,
        THERE,
    )
    assert found["ml.g6e.12xlarge"] == Price(
        usd_per_hour=13.12,
        region=HERE,
        date="2026",
        source=load("prices.json")["sources"]["training"],
    )
    assert "ml.p4de.24xlarge" not in found
