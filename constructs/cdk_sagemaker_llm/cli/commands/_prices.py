"""
The options of prices, of which few commands know: the package's list, a file, or AWS.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.catalog.prices import (
    MOST_USD_PER_HOUR,
    Price,
    known_prices,
    list_date,
)
from cdk_sagemaker_llm.cli.commands._options import complete
from cdk_sagemaker_llm.cli.output.prices import Prices

_PRICE_LIST = "aws"
_REGION = "us-east-1"


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceOptions:
    """
    Where prices are from.
    """

    prices: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete(_PRICE_LIST),
            help="A JSON file of US dollars an hour, or aws for its Price List; if "
            "omitted, the dated list of this package.",
        ),
    ] = None
    region: Annotated[
        str | None,
        typer.Option(
            help="The region of the prices; if omitted, the app's, else us-east-1."
        ),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option(
            help="The profile that --prices aws asks with; if omitted, AWS_PROFILE or "
            "the default."
        ),
    ] = None

    def read(self, region: str = "") -> Prices:
        """
        Return prices per instance-hour in US dollars, by instance type.

        Args:
            region: The app's region, which ``--region`` replaces.
        """
        region = self.region or region or _REGION
        if not self.prices:
            return Prices(
                known_prices(region),
                origin=f"this package's list of {list_date()}, --prices aws asks AWS",
                region=region,
            )
        if self.prices == _PRICE_LIST:
            return _from_aws(region, self.profile)
        return _from_file(Path(self.prices))


def _from_file(path: Path) -> Prices:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise _no_prices(f"{path}: it cannot be read: {fault.strerror}") from fault
    except (ValueError, RecursionError) as fault:
        raise _no_prices(f"{path}: it is no JSON: {fault}") from fault
    if not isinstance(content, dict):
        kind = "a list" if isinstance(content, list) else json.dumps(content)
        raise _no_prices(f"{path}: it holds {kind}")
    for name, price in content.items():
        is_number = isinstance(price, (int, float)) and not isinstance(price, bool)
        got = str(price) if is_number else json.dumps(price)
        rule = ""
        if not is_number or not 0 <= price < math.inf:
            rule = "a number of dollars, 0 or more"
        elif price > MOST_USD_PER_HOUR:
            rule = f"at most {MOST_USD_PER_HOUR:,} dollars an hour"
        if rule:
            raise _no_prices(
                f"{path}: the price of {name} must be {rule}, got {got:.200}"
            )
    return _of_one_source(content, origin=str(path))


def _of_one_source(
    dollars: Mapping[str, float], *, origin: str, region: str = "", date: str = ""
) -> Prices:
    prices = {
        name: Price(usd_per_hour=float(price), region=region, date=date, source=origin)
        for name, price in dollars.items()
    }
    return Prices(prices, origin=origin, region=region)


def _no_prices(why: str) -> ValueError:
    return ValueError(
        f'--prices must be a JSON file such as {{"ml.g5.xlarge": 1.41}}, or '
        f"{_PRICE_LIST}; {why}"
    )


def _from_aws(region: str, profile: str | None) -> Prices:
    try:
        import boto3  # noqa: PLC0415 - an extra: its absence is a message
        from botocore.exceptions import (  # noqa: PLC0415 - likewise
            BotoCoreError,
            ClientError,
        )
    except ImportError as fault:
        raise ValueError(
            "--prices aws needs boto3; install it with: "
            "pip install 'cdk-sagemaker-llm[client]'"
        ) from fault
    try:
        # The Price List is served from few regions, whatever it lists.
        session = boto3.Session(profile_name=profile)
        client = session.client("pricing", region_name="us-east-1")
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
        raise ValueError(f"the AWS Price List gave no answer: {fault}") from fault
    dollars = {
        name: float(dimension["pricePerUnit"]["USD"])
        for product in products
        if (name := product["product"]["attributes"].get("instanceName"))
        for offer in product["terms"].get("OnDemand", {}).values()
        for dimension in offer["priceDimensions"].values()
        if dimension["unit"] == "Hrs"
    }
    today = datetime.now(UTC).date().isoformat()
    return _of_one_source(dollars, origin="AWS Price List", region=region, date=today)
