"""
Prices of instance types: from a file of the user's, or from the AWS Price List.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

FROM_AWS = "aws"


class PriceError(ValueError):
    """
    Prices cannot be read.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceOptions:
    """
    Where prices are from.
    """

    prices: Annotated[
        str | None,
        typer.Option(
            help="A JSON file of US dollars an hour, or aws for its list; left out, "
            "no costs are told."
        ),
    ] = None
    region: Annotated[str, typer.Option(help="The region of the prices.")] = "us-east-1"

    def read(self) -> Mapping[str, float]:
        """
        Return prices per instance-hour in US dollars, by instance type; none where
        nobody asked.

        Raises:
            PriceError: If there is no such file, or no answer.
        """
        return read_prices(self.prices, self.region) if self.prices else {}


def read_prices(source: str, region: str) -> Mapping[str, float]:
    """
    Return prices per instance-hour in US dollars, by instance type.

    Args:
        source: A JSON file such as ``{"ml.g5.xlarge": 1.41}``, or ``aws`` for the
            AWS Price List, which needs boto3 and credentials.

        region: The region whose prices are asked for; a file has no region.

    Raises:
        PriceError: If there is no such file, or no answer.
    """
    return _from_aws(region) if source == FROM_AWS else _from_file(Path(source))


def _from_file(path: Path) -> Mapping[str, float]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): _price(name, price) for name, price in content.items()}
    except (OSError, ValueError, TypeError, AttributeError) as fault:
        raise PriceError(
            f'--prices must be a JSON file such as {{"ml.g5.xlarge": 1.41}}, or '
            f"{FROM_AWS}; {path}: {fault}"
        ) from fault


def _price(name: str, price: Any) -> float:  # noqa: ANN401 - any JSON
    dollars = float(price)
    if not 0 <= dollars < math.inf:
        raise ValueError(
            f"the price of {name} must be a number of dollars, 0 or more, got {dollars}"
        )
    return dollars


def _from_aws(region: str) -> Mapping[str, float]:
    try:
        import boto3  # noqa: PLC0415 - an extra: its absence is a message
        from botocore.exceptions import (  # noqa: PLC0415 - likewise
            BotoCoreError,
            ClientError,
        )
    except ImportError as fault:
        raise PriceError(
            "--prices aws needs boto3; install it with: "
            "pip install 'cdk-sagemaker-llm[client]'"
        ) from fault
    try:
        # The Price List is served from few regions, whatever it lists.
        client = boto3.client("pricing", region_name="us-east-1")
        pages = client.get_paginator("get_products").paginate(
            ServiceCode="AmazonSageMaker",
            Filters=[
                {"Type": "TERM_MATCH", "Field": "regionCode", "Value": region},
                {
                    "Type": "TERM_MATCH",
                    "Field": "productFamily",
                    "Value": "ML Instance",
                },
            ],
        )
        products = [json.loads(text) for page in pages for text in page["PriceList"]]
    except (BotoCoreError, ClientError) as fault:
        raise PriceError(f"the AWS Price List gave no answer: {fault}") from fault
    return dict(_hourly(products))


def _hourly(products: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    for product in products:
        name = product["product"]["attributes"].get("instanceName")
        for offer in product["terms"].get("OnDemand", {}).values():
            for dimension in offer["priceDimensions"].values():
                if name and dimension["unit"] == "Hrs":
                    yield name, float(dimension["pricePerUnit"]["USD"])
