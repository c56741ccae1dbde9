"""
How arguments reach an engine: as its parser reads them, or as written where no table
describes it; and since which release it has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cdk_sagemaker_llm.arguments import is_later
from cdk_sagemaker_llm.catalog.engine_arguments import (
    VLLM_INSTEAD,
    Engine,
    EngineArgument,
    all_argument_names,
    argument_names,
    argument_span,
    find_argument,
    is_release_between,
    spellings,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.arguments import (
    RECOVERY_OFF,
    ArgumentValue,
    UntellableError,
    check_arrival,
    check_plain,
    plain_name,
    plain_text,
    write,
)
from cdk_sagemaker_llm.serving.engines.entry_points import EntryPoint
from cdk_sagemaker_llm.serving.parameters import REPEATED, UNREADABLE
from cdk_sagemaker_llm.text import nearest
from cdk_sagemaker_llm.tokens import placeholder_in

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


def when_known(engine: Engine, name: str, release: str) -> str:
    """
    Say in which releases an argument is known.
    """
    first, last = argument_span(engine, name)
    if not is_release_between(release, first):
        return f"it came with {first}"
    if last is not None and is_release_between(release, last):
        return f"it was last known in {last}"
    return "it is in others alone"


def way_out(
    engine: Engine, name: str, release: str, word: Callable[[str], str] = str
) -> str:
    """
    Say what to do about an argument that a release does not know.
    """
    first, last = argument_span(engine, name)
    if not is_release_between(release, first):
        return "leave it out, or take a newer image"
    if last is None or not is_release_between(release, last):
        return "leave it out"
    if engine == "vllm" and name in VLLM_INSTEAD:
        return VLLM_INSTEAD[name]
    before = find_argument(engine, name, last)
    if before is not None and before.instead:
        return f"use {word(before.instead)}"
    near = nearest(name, argument_names(engine, release), count=1)
    return f"did you mean {word(near[0])}?" if near else "leave it out"


@dataclass(frozen=True, slots=True)
class EngineVariables:
    """
    What the variables of an engine are, and what is wrong with what was asked.
    """

    variables: Mapping[str, str]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Telling:
    """
    One release of an engine, in one image; ``label`` is what messages call it, such as
    ``vLLM 0.30.0``.
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
    ) -> EngineVariables:
        """
        Write arguments as variables.
        """
        found: list[Finding] = []
        variables: dict[str, str] = {}
        kept: list[tuple[EngineArgument, ArgumentValue]] = []
        around: list[str] = []
        for name, value in [
            *typed.items(),
            *_further(options, typed, found, self._long_name),
        ]:
            word = names.get(name, name)
            argument = find_argument(self.engine, name, self.release)
            if argument is None:
                where = self.engine, name, self.release
                found.append(
                    OTHER_RELEASE.finding(
                        f"{word} is no argument of {self.label}: {when_known(*where)}",
                        way_out(*where),
                    )
                )
                continue
            later = later_value_findings(word, value)
            found += later
            if later:
                continue
            try:
                written = write(argument, value, self.rule)
            except UntellableError as fault:
                kind = "switch" if argument.is_switch else "argument"
                found.append(
                    UNTELLABLE.finding(
                        f"{word} cannot be told to this image: {fault} ({kind} "
                        f"--{argument.name})"
                    )
                )
                continue
            variables |= written.variables
            kept.append((argument, value))
            if written.needs_no_supervisor:
                around.append(word)
        if around:
            # Nothing is doubled for the sake of a supervisor that is off.
            bare = self.rule._replace(supervisor=None)
            for argument, value in kept:
                variables |= write(argument, value, bare).variables
            variables |= RECOVERY_OFF
            one = len(around) == 1
            found.append(
                UNSUPERVISED.finding(
                    f"{', '.join(around)} {'does' if one else 'do'} not get past "
                    "the image's supervisor, which takes quotes, blanks and "
                    "comment signs apart: PROCESS_AUTO_RECOVERY=false is set, and "
                    "the engine is started without it",
                    "choose a newer version, whose supervisor keeps them, or write "
                    "the value without them",
                )
            )
        return EngineVariables(variables, tuple(found))

    def _long_name(self, spelling: str) -> str | Finding:
        flag = "--" + spelling.lstrip("-").replace("_", "-")
        long_name = spellings(self.engine, self.release).get(flag)
        name = flag.removeprefix("--")
        if long_name is None and name not in all_argument_names(self.engine):
            # Who knows the variable is likely to write it.
            plain = plain_name(spelling.removeprefix(self.rule.prefix))
            near = nearest(plain, argument_names(self.engine, self.release), count=1)
            meant = f"write {near[0]}, or " if near else ""
            return UNKNOWN_ARGUMENT.finding(
                f"{spelling} is no argument of {self.label}",
                f"{meant}pass it in unchecked_options",
            )
        return long_name or name


@dataclass(frozen=True, slots=True)
class PlainTelling:
    """
    An engine in one image.

    Args:
        rule: How the image's entry point reads variables.

        negated: Arguments that are on by themselves, and are switched off by a form
            that begins with ``no-``.

        takes_dashes: Whether the parser takes a value that begins with a dash.

        aliases: The long names of other spellings.
    """

    rule: EntryPoint
    negated: Sequence[str] = ()
    takes_dashes: bool = True
    aliases: Mapping[str, str] = field(default_factory=dict)

    def tell(
        self,
        typed: Mapping[str, ArgumentValue],
        options: Mapping[str, ArgumentValue],
        names: Mapping[str, str],
    ) -> EngineVariables:
        """
        Write arguments as variables, as ``Telling`` does.
        """
        found: list[Finding] = []
        variables: dict[str, str] = {}
        for name, value in [
            *typed.items(),
            *_further(options, typed, found, self._long_name),
        ]:
            word = names.get(name, name)
            later = later_value_findings(word, value)
            found += later
            if later:
                continue
            try:
                variables |= self._written(name, value)
            except UntellableError as fault:
                message = f"{word} cannot be told to this image: {fault}"
                found.append(UNTELLABLE.finding(message))
        return EngineVariables(variables, tuple(found))

    def _long_name(self, spelling: str) -> str:
        name = plain_name(spelling)
        return self.aliases.get(name, name)

    def _written(self, name: str, value: ArgumentValue) -> dict[str, str]:
        if isinstance(value, bool):
            bare = "true" if self.rule.reads_truth else ""
            if value:
                return {self.rule.variable(name): bare}
            if name in self.negated:
                return {self.rule.variable(f"no-{name}"): bare}
            return {}
        if isinstance(value, Sequence) and not isinstance(value, str):
            text = ",".join(map(plain_text, value))
        else:
            text = plain_text(value)
        if not self.takes_dashes:
            check_plain(text)
        variable = self.rule.variable(name)
        # What the entry point keeps to itself is no argument of the engine's.
        if variable.removeprefix(self.rule.prefix) not in self.rule.consumed:
            check_arrival(variable, text, (text,), self.rule)
        return {variable: text}


def _further(
    options: Mapping[str, ArgumentValue],
    typed: Mapping[str, ArgumentValue],
    found: list[Finding],
    long_name: Callable[[str], str | Finding],
) -> Iterator[tuple[str, ArgumentValue]]:
    """
    Yield the options by their long names, and find those that are none, or repeat a
    parameter.
    """
    for spelling, value in options.items():
        name = long_name(spelling)
        if isinstance(name, Finding):
            found.append(name)
        elif name in typed:
            found.append(repeated(spelling))
        else:
            yield name, value


def repeated(spelling: str) -> Finding:
    """
    Find an option that a parameter says already.
    """
    return REPEATED.finding(
        f"options repeats {spelling}, which has a parameter of its own"
    )


def later_value_findings(word: str, value: ArgumentValue) -> list[Finding]:
    """
    Find a value that is known only at deployment, other than as a text.
    """
    is_text = isinstance(value, str)
    if not is_later(value) and (is_text or placeholder_in(value) is None):
        return []
    return [
        UNREADABLE.finding(
            f"{word} is known only at deployment, and is checked at synth",
            "pass a value, or the text of Token.as_string(...) in unchecked_options",
        )
    ]
