"""
What commands share of options: groups of them, and how their values are read.
"""

from __future__ import annotations

import copy
import inspect
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer

Command = Callable[..., None]
_NUMBER = r"\d+(?:\.\d+)?"
_RATE = re.compile(rf"({_NUMBER})\s*/\s*(s|sec|second|min|m|minute|h|hour)")
_SPAN = re.compile(
    rf"(?:({_NUMBER})d)?(?:({_NUMBER})h)?(?:({_NUMBER})m)?(?:({_NUMBER})s)?"
)
_UNITS = (86400.0, 3600.0, 60.0, 1.0)
_PER: Mapping[str, float] = {"s": 1.0, "m": 60.0, "h": 3600.0}

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
Weekend: TypeAlias = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=10,
        help="The part of a day's requests that Saturdays and Sundays have, as 0.3; if "
        "omitted, all of them.",
    ),
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
    flag: str, arguments: Sequence[str], choices: Mapping[str, str]
) -> dict[str, str]:
    """
    Read several ``name=value``; the values are left as they are.
    """
    found = {}
    for text in arguments:
        name, sign, value = text.partition("=")
        if not sign or name not in choices:
            examples = ", ".join(f"{key}={value}" for key, value in choices.items())
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
