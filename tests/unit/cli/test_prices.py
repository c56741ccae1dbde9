"""
Prices out of a file and out of the AWS Price List.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import pytest

from cdk_sagemaker_llm.cli.commands._options import PriceError, read_prices


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
    monkeypatch.setattr(boto3, "client", prices.client)

    assert read_prices("aws", "eu-west-1") == {"ml.g5.xlarge": 1.41}
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

    assert read_prices(str(file), "eu-west-1") == {
        "ml.g5.xlarge": 1.41,
        "ml.p4d.24xlarge": 30.0,
    }


@pytest.mark.parametrize(
    "content", ["[1]", "{", '{"ml.g5.xlarge": "cheap"}', '{"ml.g5.xlarge": null}']
)
def test_fails_if_a_file_holds_no_prices(tmp_path: Path, content: str) -> None:
    """
    With what it must be, and which file it is.
    """
    file = tmp_path / "prices.json"
    file.write_text(content)

    with pytest.raises(PriceError) as raised:
        read_prices(str(file), "us-east-1")

    assert str(raised.value).startswith(
        '--prices must be a JSON file such as {"ml.g5.xlarge": 1.41}, or aws; '
        f"{file}: "
    )


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

    with pytest.raises(PriceError) as caught:
        read_prices(str(file), "eu-west-1")

    assert str(caught.value).endswith(
        f"the price of ml.g5.xlarge must be a number of dollars, 0 or more, got {got}"
    )


def test_what_is_free_has_a_price(tmp_path: Path) -> None:
    """
    Credits and contracts: nothing is a price, too.
    """
    file = tmp_path / "prices.json"
    file.write_text('{"ml.g5.xlarge": 0, "ml.g6.xlarge": 1}')

    assert read_prices(str(file), "") == {"ml.g5.xlarge": 0.0, "ml.g6.xlarge": 1.0}
