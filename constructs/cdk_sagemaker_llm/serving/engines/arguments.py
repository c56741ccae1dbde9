"""
Arguments of an engine: the parameters that stand for them, and how each is written as
the variable that an image's entry point reads.

What a rule cannot express is refused, or written another way where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.engines.checks.configuration import OUT_OF_BOUNDS
from cdk_sagemaker_llm.serving.parameters import REPEATED, Bounds

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


import json
from collections.abc import Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.engine_arguments import EngineArgument
from cdk_sagemaker_llm.serving.engines.entry_points import (
    RECOVERY,
    EntryPoint,
    Passed,
    StartError,
    passed_on,
    supervised,
)

_NEGATIVE = "no-"
LongName = Callable[[str], str]

Scalar = str | int | float | bool
ArgumentValue = Scalar | Sequence[Scalar] | Mapping[str, object]
"""
What an argument is set to: a list for one that takes several values, or a mapping, or
its JSON, for one that takes JSON.
"""

RECOVERY_OFF = {RECOVERY: "false"}


def argument(name: str, bounds: Bounds | None = None) -> Any:  # noqa: ANN401 - stands for a field of any type
    """
    Declare a parameter that is an argument of the engine, by its long name, and the
    numbers that every release takes; without bounds, the checks of the variables know
    them.
    """
    return field(default=None, metadata={"argument": name, "bounds": bounds})


def argument_bound_findings(serving: DataclassInstance) -> Iterator[Finding]:
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


def arguments_of(serving: DataclassInstance) -> dict[str, ArgumentValue]:
    """
    Return the arguments that a class's parameters are set to, by their long names.
    """
    values = ((name, getattr(serving, word)) for word, name in argument_fields(serving))
    return {name: value for name, value in values if value is not None}


def plain_name(spelling: str) -> str:
    """
    Return an argument's name as it is compared with others: without dashes in front, in
    small letters.
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
    """

    def name_of(spelling: str) -> str:
        return long_name(long_name(spelling).removeprefix(_NEGATIVE))

    owners = {name_of(spelling): f"options[{spelling!r}]" for spelling in options}
    owners |= {
        name_of(name): f"the parameter {word}" for name, word in parameters.items()
    }
    for spelling in unchecked:
        other = owners.get(name_of(spelling))
        if other is not None:
            yield REPEATED.finding(
                f"unchecked_options repeats {spelling}, which {other} says already",
                "keep one of them",
            )


class UntellableError(ValueError):
    """
    The entry point cannot be told this; the message says why.
    """


@dataclass(frozen=True, slots=True)
class Written:
    """
    The variables that an argument is written as, none for what the engine does anyway;
    and whether it arrives only where no supervisor starts the engine.
    """

    variables: Mapping[str, str]
    needs_no_supervisor: bool = False


def write(argument: EngineArgument, value: ArgumentValue, rule: EntryPoint) -> Written:
    """
    Write an argument so that the engine gets what is meant.
    """
    if argument.is_switch or (argument.takes_truth and isinstance(value, bool)):
        return Written(_switch(argument, value, rule))
    values = value_texts(argument, value)
    variable = rule.variable(argument.name)
    if argument.takes_several and not values:
        raise UntellableError("an empty list cannot be told: leave it out")
    text = _text(values, rule)
    for value_text in values:
        check_plain(value_text)
    check_arrival(variable, text, values, rule)
    if rule.supervisor is None:
        return Written({variable: text})
    for candidate in (text, text.replace("%", "%%")):
        if _arrives(candidate, values, variable, rule):
            return Written({variable: candidate})
    return Written({variable: text}, needs_no_supervisor=True)


def value_texts(argument: EngineArgument, value: ArgumentValue) -> tuple[str, ...]:
    """
    Return the values as the engine's parser reads them, one for each token.
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence) and argument.takes_several:
        return tuple(map(plain_text, value))
    if isinstance(value, Sequence) and argument.is_csv:
        return (",".join(map(plain_text, value)),)
    return (plain_text(value),)


def plain_text(value: object) -> str:
    """
    Write one value as an engine's parser reads it.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | Sequence):
        try:
            return json.dumps(value, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError) as fault:
            raise UntellableError(f"it is not what JSON can say: {fault}") from fault
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _switch(
    argument: EngineArgument, value: ArgumentValue, rule: EntryPoint
) -> dict[str, str]:
    if not isinstance(value, bool):
        raise UntellableError(f"it takes True or False, got {value!r}")
    bare = "true" if rule.reads_truth else ""
    if value:
        return {rule.variable(argument.name): bare}
    if argument.has_negative:
        return {rule.variable(f"no-{argument.name}"): bare}
    if argument.default:
        raise UntellableError(
            "it is on unless the engine is told otherwise, and has no argument that "
            "switches it off"
        )
    return {}


def _text(values: Sequence[str], rule: EntryPoint) -> str:
    if len(values) == 1 and not _would_spread(values[0], rule):
        return values[0]
    if rule.spreads_lists:
        return json.dumps(list(values), separators=(",", ":"), ensure_ascii=False)
    raise UntellableError(
        f"this image takes one value for each variable, got {len(values)}"
    )


def _would_spread(text: str, rule: EntryPoint) -> bool:
    # The translator looks at what a value is, not at whose it is.
    if not rule.spreads_lists:
        return False
    passed = list(passed_on({f"{rule.prefix}X": text}, rule))
    return not passed or passed[0].values != (text,)


def check_plain(text: str) -> None:
    """
    Refuse what a parser such as argparse takes for an argument of its own.
    """
    # argparse takes -1 for a number, and vLLM's own parser breaks on -0.5.
    if text.startswith("-") and not text[1:].isdecimal():
        raise UntellableError(
            "it begins with a dash: the engine's parser takes it for another argument"
        )


def check_arrival(
    variable: str, text: str, values: Sequence[str], rule: EntryPoint
) -> None:
    """
    Refuse what the entry point itself would make something else of.
    """
    expected = Passed(variable, rule.flag(variable), tuple(values))
    if list(passed_on({variable: text}, rule)) == [expected]:
        return
    raise UntellableError(_why(text, rule))


def _why(text: str, rule: EntryPoint) -> str:
    if text == "":
        return "an empty value cannot be told: the argument would stand alone"
    if rule.reads_truth and text.strip().lower() in {"true", "false"}:
        return f"the text {text!r} cannot be told: it is read as a switch"
    if rule.reads_lines and "\n" in text:
        return "it has more than one line, and only the first would be read"
    if rule.reads_lines and text.endswith("="):
        return "it ends in its only '=', which would be lost"
    return f"the entry point would make something else of {text!r}"


def _arrives(text: str, values: Sequence[str], variable: str, rule: EntryPoint) -> bool:
    passed = list(passed_on({variable: text}, rule))
    tokens = [passed[0].flag, *passed[0].values]
    try:
        got = supervised(tokens, {}, is_joined=rule.supervisor == "joins")
    except StartError:
        return False
    return got == [rule.flag(variable), *values]
