"""
Parameters of the engines' classes: which argument each is, and what is set twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.engines.checks.engine_values import OUT_OF_BOUNDS
from cdk_sagemaker_llm.serving.engines.writing import (
    ArgumentValue,
)
from cdk_sagemaker_llm.serving.parameters import REPEATED, Bounds

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_OFF = "no-"
LongName = Callable[[str], str]


def argument(name: str, bounds: Bounds | None = None) -> Any:  # noqa: ANN401 - stands for a field of any type
    """
    Declare a parameter that is an argument of the engine, if it is given.

    Args:
        name: The argument's long name.

        bounds:
            Which numbers every release takes.
            If left out, any, or the checks of the variables know.
    """
    return field(default=None, metadata={"argument": name, "bounds": bounds})


def bounds_findings(serving: DataclassInstance) -> Iterator[Finding]:
    """
    Check each parameter against its bounds.
    """
    for one in fields(serving):
        bounds: Bounds | None = one.metadata.get("bounds")
        value = getattr(serving, one.name)
        fault = None if bounds is None else bounds.fault(value)
        if fault is not None:
            yield OUT_OF_BOUNDS.finding(f"{one.name} must be {fault}, got {value!r}")


def argument_fields(serving: DataclassInstance) -> Iterator[tuple[str, str]]:
    """
    Yield each parameter that is an argument of the engine, with its long name.
    """
    for one in fields(serving):
        if "argument" in one.metadata:
            yield one.name, one.metadata["argument"]


def words_of(serving: DataclassInstance) -> dict[str, str]:
    """
    Return what the user calls an argument, by its long name.
    """
    return {name: word for word, name in argument_fields(serving)}


def given_arguments(serving: DataclassInstance) -> dict[str, ArgumentValue]:
    """
    Return the arguments that a class's parameters are set to, by their long names.
    """
    values = ((name, getattr(serving, word)) for word, name in argument_fields(serving))
    return {name: value for name, value in values if value is not None}


def plain_name(spelling: str) -> str:
    """
    Return an argument's name as it is told apart: without dashes in front, in small
    letters.
    """
    return spelling.lstrip("-").replace("_", "-").lower()


def overlap_findings(
    parameters: Mapping[str, str],
    options: Iterable[str],
    unchecked: Iterable[str],
    long_name: LongName = plain_name,
) -> Iterator[Finding]:
    """
    Find unchecked options of an argument that is given already: they would be written
    over it without a word.

    Args:
        parameters: What the user calls each parameter that is given, by its argument's
            long name.

        options: The options, by whatever spelling.

        unchecked: The unchecked options, by whatever spelling.

        long_name: How a spelling's long name is found.
            If left out, the spelling is the name.
    """

    def told(spelling: str) -> str:
        return long_name(long_name(spelling).removeprefix(_OFF))

    said = {told(spelling): f"options[{spelling!r}]" for spelling in options}
    said |= {told(name): f"the parameter {word}" for name, word in parameters.items()}
    for spelling in unchecked:
        other = said.get(told(spelling))
        if other is not None:
            yield REPEATED.finding(
                f"unchecked_options repeats {spelling}, which {other} says already",
                "keep one of them",
            )
