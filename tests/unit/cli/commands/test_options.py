"""
Options that commands share: rates, times and settings as they are written, and prices
of the package's list, of a file or of the AWS Price List.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

from cdk_sagemaker_llm.catalog.prices import list_date
from cdk_sagemaker_llm.cli.commands._options import (
    moment,
    named_numbers,
    positive,
    rate,
    seconds,
    whole,
)
from cdk_sagemaker_llm.cli.commands._prices import PriceOptions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("20/min", 20 / 60),
        ("20/m", 20 / 60),
        ("5/s", 5.0),
        ("0.5 / sec", 0.5),
        ("3600/h", 1.0),
        ("0/min", 0.0),
    ],
)
def test_a_rate_has_its_unit(text: str, found: float) -> None:
    """
    By the second, the minute or the hour.
    """
    assert rate("--rate", text) == pytest.approx(found)


@pytest.mark.parametrize("text", ["20", "20/day", "-1/s", "many/s", ""])
def test_fails_if_a_rate_is_none(text: str) -> None:
    """
    And says what to write.
    """
    with pytest.raises(ValueError, match=r"--rate must be a rate such as 20/min"):
        rate("--rate", text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("90s", 90),
        ("4m", 240),
        ("1h30m", 5400),
        ("1d 2h", 93600),
        ("0s", 0),
        ("1.5m", 90),
    ],
)
def test_a_time_has_its_unit(text: str, found: float) -> None:
    """
    Days, hours, minutes and seconds, in this order.
    """
    assert seconds("--duration", text) == found


@pytest.mark.parametrize("text", ["90", "", "5m4h", "-5m", "5 minutes"])
def test_fails_if_a_time_is_none(text: str) -> None:
    """
    And says what to write.
    """
    with pytest.raises(ValueError, match="--duration must be a time with its unit"):
        seconds("--duration", text)


def test_a_moment_without_a_zone_is_utc() -> None:
    """
    Otherwise it is in its own.
    """
    assert moment("--start", "2026-01-05T08:00") == datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert moment("--start", "2026-01-05T08:00+01:00").hour == 8
    with pytest.raises(ValueError, match="--start must be a moment such as"):
        moment("--start", "noon")


def test_settings_have_names_that_are_known() -> None:
    """
    A name that is not known is told with those that are.
    """
    known = {"target": "8", "max": "6"}

    assert named_numbers("--set", ["max=3"], known) == {"max": "3"}
    for wrong in ("maximum=3", "max", ""):
        with pytest.raises(ValueError, match="--set must be one of target=8, max=6"):
            named_numbers("--set", [wrong], known)


def test_numbers_stay_in_their_range() -> None:
    """
    Both sides of each bound.
    """
    assert whole("--set max", "1", 1) == 1
    assert positive("--set target", "0.1") == 0.1
    for text in ("0", "1.5", "x"):
        with pytest.raises(ValueError, match="whole number of at least 1"):
            whole("--set max", text, 1)
    for text in ("0", "inf", "nan", "x"):
        with pytest.raises(ValueError, match="a number above 0"):
            positive("--set target", text)


class PriceList:
    """
    Stands in for boto3's client, and keeps what it is asked.
    """

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}

    def client(self, service: str, *, region_name: str) -> PriceList:
        """
        Be the client of a service.
        """
        self.asked.update(service=service, region=region_name)
        return self

    def get_paginator(self, operation: str) -> PriceList:
        """
        Be the pages of an operation.
        """
        self.asked.update(operation=operation)
        return self

    def paginate(self, **arguments: object) -> list[dict[str, list[str]]]:
        """
        Return an hourly price, and what is none: storage, another unit, no name.
        """
        self.asked.update(arguments)
        return [
            {"PriceList": [product("ml.g5.xlarge", ("Hrs", "1.41"), ("GB", "0.1"))]},
            {
                "PriceList": [
                    product("", ("Hrs", "7")),
                    product("ml.new", reserved=True),
                ]
            },
        ]


def product(name: str, *prices: tuple[str, str], reserved: bool = False) -> str:
    """
    Write a product as the Price List does.
    """
    attributes = f'{{"instanceName": "{name}"}}' if name else "{}"
    dimensions = ", ".join(
        f'"{unit}": {{"unit": "{unit}", "pricePerUnit": {{"USD": "{price}"}}}}'
        for unit, price in prices
    )
    terms = "Reserved" if reserved else "OnDemand"
    return (
        f'{{"product": {{"attributes": {attributes}}}, "terms": {{"{terms}": '
        f'{{"A": {{"priceDimensions": {{{dimensions}}}}}}}}}}}'
    )


def test_the_price_list_is_asked_for_hosting_in_a_region(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Where it is served, for the region that is asked for; by the hour alone counts.
    """
    prices = PriceList()
    profiles: list[str | None] = []

    def session(*, profile_name: str | None) -> PriceList:
        profiles.append(profile_name)
        return prices

    monkeypatch.setattr(boto3, "Session", session)

    asked = PriceOptions(prices="aws", region="eu-west-1", profile="team")
    found = asked.read("ap-south-1")
    assert found == {"ml.g5.xlarge": 1.41}
    today = datetime.now(UTC).date().isoformat()
    assert found.explain(found) == f"prices: eu-west-1 ({today}); AWS Price List"
    assert profiles == ["team"]
    assert prices.asked == {
        "service": "pricing",
        "region": "us-east-1",
        "operation": "get_products",
        "ServiceCode": "AmazonSageMaker",
        "Filters": [
            {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "eu-west-1"},
            {"Type": "TERM_MATCH", "Field": "productFamily", "Value": "ML Instance"},
        ],
    }


def test_a_file_has_prices_by_instance_type(tmp_path: Path) -> None:
    """
    Whole numbers too.
    """
    file = tmp_path / "prices.json"
    file.write_text('{"ml.g5.xlarge": 1.41, "ml.p4d.24xlarge": 30}')

    found = PriceOptions(prices=str(file), region="eu-west-1").read("us-west-2")

    assert found == {"ml.g5.xlarge": 1.41, "ml.p4d.24xlarge": 30.0}
    assert (found.explain(found), found.mark(found)) == (f"prices: {file}", "")


@pytest.mark.parametrize(
    ("region", "of_app", "expected"),
    [
        (None, "", "us-east-1 (none)"),
        (None, "us-west-2", "us-west-2 (none)"),
        ("eu-west-1", "us-west-2", "eu-west-1 (none)"),
    ],
)
def test_without_a_source_prices_are_of_the_packages_list(
    region: str | None, of_app: str, expected: str
) -> None:
    """
    In the region that is asked for, else the app's, else us-east-1.
    """
    found = PriceOptions(region=region).read(of_app)

    assert found["ml.g5.xlarge"] == pytest.approx(1.41, abs=0.01)
    assert found.explain([]) == (
        f"prices: {expected}; this package's list of {list_date()}, --prices aws asks "
        "AWS"
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('[{"ml.g5.xlarge": 1}]', "it holds a list"),
        ("1.41", "it holds 1.41"),
        ("{", "it is no JSON: Expecting property name"),
        ("[" * 100_000, "it is no JSON: maximum recursion depth"),
        ('{"ml.g5.xlarge": "cheap"}', 'number of dollars, 0 or more, got "cheap"'),
        ('{"ml.g5.xlarge": null}', "got null"),
        ('{"ml.g5.xlarge": [1]}', "got [1]"),
        ('{"ml.g5.xlarge": true}', "got true"),
    ],
)
def test_fails_if_a_file_holds_no_prices(
    tmp_path: Path, content: str, why: str
) -> None:
    """
    With what it must be, which file it is, and no word of Python's.
    """
    file = tmp_path / "prices.json"
    file.write_text(content)

    with pytest.raises(ValueError, match="--prices must be") as raised:
        PriceOptions(prices=str(file), region="us-east-1").read()

    assert str(raised.value).startswith(
        '--prices must be a JSON file such as {"ml.g5.xlarge": 1.41}, or aws; '
        f"{file}: "
    )
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("price", "got"),
    [
        ("-0.01", "-0.01"),
        ("NaN", "nan"),
        ("Infinity", "inf"),
        ("-Infinity", "-inf"),
    ],
)
def test_fails_for_what_is_no_price(tmp_path: Path, price: str, got: str) -> None:
    """
    The type is named, and the value got.
    """
    file = tmp_path / "prices.json"
    file.write_text(f'{{"ml.g5.xlarge": {price}}}')

    with pytest.raises(ValueError, match="--prices must be") as caught:
        PriceOptions(prices=str(file), region="eu-west-1").read()

    assert str(caught.value).endswith(
        f"the price of ml.g5.xlarge must be a number of dollars, 0 or more, got {got}"
    )


@pytest.mark.parametrize(
    ("price", "is_one"), [("1000000", True), ("1000000.01", False), ("1e308", False)]
)
def test_no_hour_costs_more_than_a_million(
    tmp_path: Path, price: str, *, is_one: bool
) -> None:
    """
    A month of more is endless in sums, and no JSON.
    """
    file = tmp_path / "prices.json"
    file.write_text(f'{{"ml.g5.xlarge": {price}}}')
    options = PriceOptions(prices=str(file), region="eu-west-1")

    if is_one:
        assert options.read()["ml.g5.xlarge"] == 1e6
        return
    with pytest.raises(ValueError, match="--prices must be") as caught:
        options.read()
    assert "must be at most 1,000,000 dollars an hour, got 1" in str(caught.value)


def test_what_is_free_has_a_price(tmp_path: Path) -> None:
    """
    Credits and contracts: nothing is a price, too.
    """
    file = tmp_path / "prices.json"
    file.write_text('{"ml.g5.xlarge": 0, "ml.g6.xlarge": 1}')

    assert PriceOptions(prices=str(file), region="").read() == {
        "ml.g5.xlarge": 0.0,
        "ml.g6.xlarge": 1.0,
    }
