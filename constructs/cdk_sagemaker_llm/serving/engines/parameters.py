"""
Parameters of the engines' classes: which argument each is, and what is given beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.arguments import is_later
from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    all_argument_names,
    argument_names,
    find_argument,
    spellings,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.values import OUT_OF_BOUNDS
from cdk_sagemaker_llm.serving.engines.entry_points import EntryPoint
from cdk_sagemaker_llm.serving.engines.spans import way_out, when_known
from cdk_sagemaker_llm.serving.engines.writing import (
    RECOVERY_OFF,
    ArgumentValue,
    UntellableError,
    write,
)
from cdk_sagemaker_llm.serving.lmi.typed import Bounds
from cdk_sagemaker_llm.serving.rules import REPEATED, UNREADABLE
from cdk_sagemaker_llm.text import nearest
from cdk_sagemaker_llm.tokens import placeholder_in

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_TABLES = "the engines' parsers, read in their packages (2026-11)"

UNKNOWN_ARGUMENT = Rule("LLM551", "an option is no argument of the engine", _TABLES)
OTHER_RELEASE = Rule(
    "LLM553", "an argument is not one of this release of the engine", _TABLES
)
UNTELLABLE = Rule(
    "LLM555",
    "a value that the image's entry point cannot be told",
    "aws/deep-learning-containers e0ecedea; model-hosting-container-standards",
)
UNSUPERVISED = Rule(
    "LLM652",
    "the supervisor is switched off, because a value does not get past it",
    "model-hosting-container-standards 0.1.15 and 0.1.16, supervisor 4",
)


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


@dataclass(frozen=True, slots=True)
class Told:
    """
    What the variables of an engine are, and what is wrong with what was asked.

    Args:
        variables: The variables.

        findings: What was found, errors and warnings.
    """

    variables: Mapping[str, str]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Telling:
    """
    One release of an engine, in one image.

    Args:
        engine: ``vllm`` or ``sglang``.

        release: The engine's release.

        rule: How the image's entry point reads variables.

        label: What messages call it, such as ``vLLM 0.30.0``.
    """

    engine: Engine
    release: str
    rule: EntryPoint
    label: str

    def tell(
        self,
        typed: Mapping[str, ArgumentValue],
        options: Mapping[str, ArgumentValue],
        names: Mapping[str, str],
    ) -> Told:
        """
        Write arguments as variables.

        Args:
            typed: What parameters say, by the arguments' long names.

            options: What the user says beside them, by whatever spelling.

            names: What the user calls an argument that a parameter sets.
        """
        found: list[Finding] = []
        variables: dict[str, str] = {}
        kept: list[tuple[EngineArgument, ArgumentValue]] = []
        around: list[str] = []
        for name, value in [*typed.items(), *self._options(options, typed, found)]:
            shown = names.get(name, name)
            known = find_argument(self.engine, name, self.release)
            if known is None:
                found.append(self._other_release(shown, name))
                continue
            later = later_findings(shown, value)
            found += later
            if later:
                continue
            try:
                written = write(known, value, self.rule)
            except UntellableError as fault:
                found.append(UNTELLABLE.finding(_untellable(shown, known, fault)))
                continue
            variables |= written.variables
            kept.append((known, value))
            if written.needs_no_supervisor:
                around.append(shown)
        if around:
            # Nothing is doubled for the sake of a supervisor that is off.
            bare = replace(self.rule, supervisor=None)
            for known, value in kept:
                variables |= write(known, value, bare).variables
            variables |= RECOVERY_OFF
            found.append(_unsupervised(around))
        return Told(variables, tuple(found))

    def _options(
        self,
        options: Mapping[str, ArgumentValue],
        typed: Mapping[str, ArgumentValue],
        found: list[Finding],
    ) -> Iterator[tuple[str, ArgumentValue]]:
        for spelling, value in options.items():
            name = self._long_name(spelling)
            if name is None:
                found.append(self._unknown(spelling))
            elif name in typed:
                found.append(repeated(spelling))
            else:
                yield name, value

    def _long_name(self, spelling: str) -> str | None:
        flag = "--" + spelling.lstrip("-").replace("_", "-")
        known = spellings(self.engine, self.release).get(flag)
        name = flag.removeprefix("--")
        return known or (name if name in all_argument_names(self.engine) else None)

    def _unknown(self, spelling: str) -> Finding:
        # Who knows the variable is likely to write it.
        name = spelling.removeprefix(self.rule.prefix)
        plain = name.lstrip("-").replace("_", "-").lower()
        near = nearest(plain, argument_names(self.engine, self.release), count=1)
        meant = f"write {near[0]}, or " if near else ""
        return UNKNOWN_ARGUMENT.finding(
            f"{spelling} is no argument of {self.label}",
            f"{meant}pass it in unchecked_options",
        )

    def _other_release(self, shown: str, name: str) -> Finding:
        asked = self.engine, name, self.release
        return OTHER_RELEASE.finding(
            f"{shown} is no argument of {self.label}: {when_known(*asked)}",
            way_out(*asked),
        )


def repeated(spelling: str) -> Finding:
    """
    Find an option that a parameter says already.
    """
    return REPEATED.finding(
        f"options repeats {spelling}, which has a parameter of its own"
    )


def later_findings(shown: str, value: ArgumentValue) -> list[Finding]:
    """
    Find a value that is known only at deployment, other than as a text.
    """
    is_text = isinstance(value, str)
    if not is_later(value) and (is_text or placeholder_in(value) is None):
        return []
    return [
        UNREADABLE.finding(
            f"{shown} is known only at deployment, and is checked at synth",
            "pass a value, or the text of Token.as_string(...) in unchecked_options",
        )
    ]


def _untellable(shown: str, known: EngineArgument, fault: UntellableError) -> str:
    kind = "switch" if known.is_switch else "argument"
    return f"{shown} cannot be told to this image: {fault} ({kind} --{known.name})"


def _unsupervised(parameters: list[str]) -> Finding:
    one = len(parameters) == 1
    return UNSUPERVISED.finding(
        f"{', '.join(parameters)} {'does' if one else 'do'} not get past the image's "
        "supervisor, which takes quotes, blanks and comment signs apart: "
        "PROCESS_AUTO_RECOVERY=false is set, and the engine is started without it",
        "choose a newer version, whose supervisor keeps them, or write the value "
        "without them",
    )
