"""
What commands share of options: groups of them, and how their values are read.
"""

from __future__ import annotations

import copy
import inspect
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer

from cdk_sagemaker_llm.catalog.prices import Price, known_prices, list_date
from cdk_sagemaker_llm.cli.output.prices import Prices

Command = Callable[..., None]
_NUMBER = r"\d+(?:\.\d+)?"
_RATE = re.compile(rf"({_NUMBER})\s*/\s*(s|sec|second|min|m|minute|h|hour)")
_SPAN = re.compile(
    rf"(?:({_NUMBER})d)?(?:({_NUMBER})h)?(?:({_NUMBER})m)?(?:({_NUMBER})s)?"
)
_UNITS = (86400.0, 3600.0, 60.0, 1.0)
_PER: Mapping[str, float] = {"s": 1.0, "m": 60.0, "h": 3600.0}
_PRICE_LIST = "aws"
_REGION = "us-east-1"

Component: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The inference component's name. If omitted, the endpoint has none."
    ),
]
Variant: TypeAlias = Annotated[
    str | None, typer.Option(help="The variant. If omitted, SageMaker chooses.")
]
Region: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The region. If omitted, that of the AWS settings."),
]
EndpointUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The runtime's address, such as the embedded AWS's. If omitted, "
        "AWS_ENDPOINT_URL, else AWS's own."
    ),
]
Profile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The profile of the AWS settings; if omitted, AWS_PROFILE or the default."
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
UserCount: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1, help="Users who wait for each answer; if omitted, there is a rate."
    ),
]
ThinkTime: TypeAlias = Annotated[
    str | None,
    typer.Option("--think-time", help="How long they think; if omitted, 20s."),
]
Spread: TypeAlias = Annotated[
    float,
    typer.Option(
        min=0, max=3, help="How much lengths differ: 0 not at all, 1 as chats do."
    ),
]
BusiestHour: TypeAlias = Annotated[
    int | None,
    typer.Option(min=0, max=23, help="The busiest hour of a day; if omitted, 14."),
]
TimeZone: TypeAlias = Annotated[
    str | None, typer.Option(help="Whose hours they are; if omitted, UTC.")
]


def grouped(command: Command) -> Command:
    """
    Let a command take groups of options: arguments whose annotation is a data class.

    Each field is an option. ``Annotated[Group, "Output"]`` shows them under that title
    in the command's help.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {}
    options: dict[str, list[inspect.Parameter]] = {}
    for name, one in signature.parameters.items():
        is_titled = get_origin(one.annotation) is Annotated
        group, *titles = get_args(one.annotation) if is_titled else [one.annotation]
        if is_dataclass(group):
            title = next((each for each in titles if isinstance(each, str)), None)
            groups[name], options[name] = group, list(_options_of(group, title))

    @wraps(command)
    def run(**arguments: Any) -> None:  # noqa: ANN401 - whatever the options are
        for name, group in groups.items():
            own = {one.name: arguments.pop(one.name) for one in options[name]}
            arguments[name] = group(**own)
        command(**arguments)

    parameters = [
        each
        for name, one in signature.parameters.items()
        for each in options.get(name, [one])
    ]
    # Typer reads the options from here.
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # inspect's own
    return run


def _options_of(group: Any, title: str | None) -> Iterator[inspect.Parameter]:  # noqa: ANN401 - any data class
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        hint = hints[each.name]
        if title is not None:
            kind, option = get_args(hint)
            option = copy.copy(option)
            option.rich_help_panel = title
            hint = Annotated[kind, option]
        yield inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=hint,
        )


def is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def rate(flag: str, text: str) -> float:
    """
    Read requests by the second, minute or hour; return those of a second.
    """
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"{flag} must be a rate such as 20/min, 5/s or 1000/h, got {text!r}"
        )
    return float(found[1]) / _PER[found[2][0]]


def seconds(flag: str, text: str) -> float:
    """
    Read a time such as ``1h30m``; return its seconds.
    """
    found = _SPAN.fullmatch(text.strip().replace(" ", ""))
    if found is None or not any(found.groups()):
        raise ValueError(
            f"{flag} must be a time with its unit, such as 90s, 4m, 1h30m or 7d, got "
            f"{text!r}"
        )
    return math.fsum(
        float(part) * unit
        for part, unit in zip(found.groups(), _UNITS, strict=True)
        if part
    )


def moment(flag: str, text: str) -> datetime:
    """
    Read a moment; one without a zone is UTC.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as fault:
        raise ValueError(
            f"{flag} must be a moment such as 2026-03-02T08:00+01:00, got {text!r}"
        ) from fault
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def named_numbers(
    flag: str, arguments: Sequence[str], known: Mapping[str, str]
) -> dict[str, str]:
    """
    Read several ``name=value``; the values are left as they are.
    """
    found = {}
    for text in arguments:
        name, sign, value = text.partition("=")
        if not sign or name not in known:
            examples = ", ".join(f"{key}={value}" for key, value in known.items())
            raise ValueError(f"{flag} must be one of {examples}, got {text!r}")
        found[name] = value
    return found


def whole(flag: str, text: str, least: int = 0) -> int:
    try:
        found = int(text)
    except ValueError:
        found = least - 1
    if found < least:
        raise ValueError(
            f"{flag} must be a whole number of at least {least}, got {text!r}"
        )
    return found


def positive(flag: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < math.inf:
        raise ValueError(f"{flag} must be a number above 0, got {text!r}")
    return found


def check_writable(files: Mapping[str, Path | None]) -> None:
    faults = [
        f"{flag} {path} cannot be written: {why}"
        for flag, path in files.items()
        if path is not None and (why := _unwritable(path))
    ]
    if faults:
        raise ValueError("\n".join(faults))
    if picture := files.get("--png"):
        from cdk_sagemaker_llm.pages import check_ending  # noqa: PLC0415 - where it is drawn

        check_ending(picture)


def _unwritable(path: Path) -> str:
    if path.is_dir():
        return "it is a folder"
    if path.exists():
        return "" if os.access(path, os.W_OK) else "permission denied"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return "" if os.access(path.parent, os.W_OK) else "permission denied"


def complete_models() -> list[str]:
    """
    Return what a shell completes the name of a model to.
    """
    # A shell asks at each key; whoever does not complete loads no catalogue.
    from cdk_sagemaker_llm.catalog.architectures import model_names  # noqa: PLC0415

    return sorted(model_names(), key=str.lower)


def complete_instance_types() -> list[str]:
    """
    Return what a shell completes the name of an instance type to.
    """
    from cdk_sagemaker_llm.catalog.instances import instance_type_names  # noqa: PLC0415 - likewise

    return instance_type_names()


def complete(*words: str) -> Callable[[], list[str]]:
    """
    Make what a shell completes to one of some words.
    """

    def known_words() -> list[str]:
        return list(words)

    return known_words


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
        if not is_number or not 0 <= price < math.inf:
            raise _no_prices(
                f"{path}: the price of {name} must be a number of dollars, 0 or more, "
                f"got {price if is_number else json.dumps(price)}"
            )
    return _of_one_source(content, origin=str(path))


def _of_one_source(
    dollars: Mapping[str, float], *, origin: str, region: str = "", date: str = ""
) -> Prices:
    known = {
        name: Price(usd_per_hour=float(price), region=region, date=date, source=origin)
        for name, price in dollars.items()
    }
    return Prices(known, origin=origin, region=region)


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
