"""
What the checks of an engine's environment look at.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    argument_names,
    find_argument,
    spellings,
)
from cdk_sagemaker_llm.catalog.engine_releases import ENGINES, EngineRelease
from cdk_sagemaker_llm.serving.checks import Config
from cdk_sagemaker_llm.serving.engines.argument_values import (
    ValueFaultError,
    read_value,
)
from cdk_sagemaker_llm.serving.engines.entry_points import (
    EntryPoint,
    StartError,
    is_supervised,
    passed_on,
    supervised,
)

PARSERS = "the parsers of the published releases of vLLM and SGLang"
ENTRY_POINTS = "the entry points of aws/deep-learning-containers"
SUPERVISOR = "model-hosting-container-standards 0.1.12 to 0.1.16, run"
CONFIGURATION = "the configuration classes of vLLM, which bound their fields"
_NO = "--no-"
HELP = "--help"
# What argparse takes for a number, and so not for an argument.
_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")


class Option(NamedTuple):
    """
    What a flag is taken for.

    Args:
        flag: The flag, with its dashes.

        argument: The argument; ``None`` for one that this release does not have.

        spelling: How the parser spells it in full; empty for an unknown one.

        is_negative: Whether it is the form that switches the argument off.

        candidates: The spellings that it begins, if there are several of them.
    """

    flag: str
    argument: EngineArgument | None = None
    spelling: str = ""
    is_negative: bool = False
    candidates: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """
        Whether it is spelt in full.
        """
        return self.flag == self.spelling


def find_option(engine: Engine, release: str, flag: str) -> Option:
    """
    Find what a release's parser takes a flag for: what is spelt so, or the only
    argument that begins so.
    """
    spelt = _names_by_spelling(engine, release)
    begun = tuple(sorted(name for name in spelt if name.startswith(flag)))
    if flag not in spelt and len(begun) != 1:
        return Option(flag, candidates=begun)
    spelling = flag if flag in spelt else begun[0]
    name = spelt[spelling]
    argument = find_argument(engine, name, release)
    is_negative = spelling.startswith(_NO) and not name.startswith("no-")
    return Option(flag, argument, spelling, is_negative=is_negative)


@functools.lru_cache(maxsize=16)
def _names_by_spelling(engine: Engine, release: str) -> Mapping[str, str]:
    found = dict(spellings(engine, release))
    for name in argument_names(engine, release):
        argument = find_argument(engine, name, release)
        if argument is not None and argument.is_switch and argument.has_negative:
            for spelling in (f"--{name}", *argument.aliases):
                if spelling.startswith("--"):
                    found[_NO + spelling.removeprefix("--")] = name
    return {**found, HELP: "help"}


@dataclass(frozen=True, slots=True)
class ArgumentSetting:
    """
    An argument that a variable sets.

    Args:
        variable: The variable's name.

        option: What its flag is taken for.

        values: What follows the flag.

        is_intact: Whether a supervisor, if one starts the engine, hands all of it on
            as it is.

        arrived: What it hands on instead.
    """

    variable: str
    option: Option
    values: tuple[str, ...]
    is_intact: bool
    arrived: tuple[str, ...]

    @property
    def taken(self) -> tuple[str, ...]:
        """
        The values that the argument takes.
        """
        argument = self.option.argument
        if argument is None or argument.is_switch:
            return ()
        return self.values if argument.takes_several else self.values[:1]

    @property
    def strays(self) -> tuple[str, ...]:
        """
        The values that are left over.
        """
        if self.option.argument is None:
            return ()
        return self.values[len(self.taken) :]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSubject:
    """
    A container's environment, and what reads it; what is ``None`` is not known.

    Args:
        environment: The variables whose values are known and to be checked.

        table: The engine whose table of arguments it is; ``None`` without one.

        release: The release that the table is read at.

        rule: How the entry point reads variables; ``None`` where it does not.

        hidden: Variables whose values are known only at deployment, or that the user
            wants no check of.

        accelerators: Devices that each copy of the model has.

        context_length: Tokens that the model takes at most.

        model_data: Paths of the files in ``/opt/ml/model``.

        is_isolated: Whether the container is cut off from the network.

        words: What the user calls a variable, where that is not its name.

        own: The known variables of arguments that the table does not describe, and
            the engine has.

        kind: What is known of the model, as the caller has it.

        settings: The arguments that the variables set, in the order of their names.
    """

    environment: Mapping[str, str]
    image: EngineRelease
    table: Engine | None = None
    release: str = ""
    rule: EntryPoint | None = None
    hidden: Collection[str] = ()
    accelerators: int | None = None
    architecture: str | None = None
    attention_heads: int | None = None
    model_type: str | None = None
    context_length: int | None = None
    accelerator_model: str | None = None
    memory_gib: float | None = None
    model_data: Collection[str] | None = None
    is_isolated: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    kind: Config = None
    settings: tuple[ArgumentSetting, ...] = ()

    @property
    def title(self) -> str:
        """
        The engine, with its release where that is known.
        """
        title = ENGINES[self.image.engine]
        return f"{title} {self.release}" if self.release else title

    @property
    def is_supervised(self) -> bool:
        """
        Whether a supervisor starts the engine.
        """
        return self.rule is not None and is_supervised(self.environment, self.rule)

    def word(self, variable: str) -> str:
        """
        Return what the user calls a variable.
        """
        return self.words.get(variable, variable)

    def is_set(self, variable: str) -> bool:
        """
        Whether a variable is there and not empty, whatever its value.
        """
        return variable in self.hidden or bool(self.environment.get(variable))

    def variable(self, name: str) -> str:
        """
        Return the variable of an argument.
        """
        return name if self.rule is None else self.rule.variable(name)

    def find(self, name: str) -> ArgumentSetting | None:
        """
        Return an argument's setting: the last one, as the parser takes it.
        """
        for setting in reversed(self.settings):
            argument = setting.option.argument
            if argument is not None and argument.name == name:
                return setting
        return None

    def word_of(self, name: str) -> str:
        """
        Return what the user calls an argument: as it is set, if it is.
        """
        setting = self.find(name)
        return self.word(self.variable(name) if setting is None else setting.variable)

    def has_argument(self, name: str) -> bool:
        """
        Whether an argument is set, even to a value that only deployment knows.
        """
        if self.find(name) is not None:
            return True
        rule = self.rule
        hidden = [v for v in self.hidden if rule and v.startswith(rule.prefix)]
        if rule is None or self.table is None:
            return rule is not None and rule.variable(name) in hidden
        options = (find_option(self.table, self.release, rule.flag(v)) for v in hidden)
        return any(one.argument and one.argument.name == name for one in options)

    def value(self, name: str) -> object:
        """
        Return an argument as the engine reads it; ``None`` if it is left out, cannot
        be read or is known only at deployment.
        """
        setting = self.find(name)
        if setting is None or self.table is None or setting.option.argument is None:
            return None
        if setting.option.argument.is_switch:
            return not setting.option.is_negative
        if not setting.taken:
            return None
        try:
            return read_value(
                setting.option.argument,
                setting.taken[0],
                engine=self.table,
                release=self.release,
            )
        except ValueFaultError:
            return None

    def number(self, name: str) -> int | None:
        """
        Return an argument as a whole number; ``None`` if it is none.
        """
        value = self.value(name)
        return value if isinstance(value, int) else None


def settings_of(
    environment: Mapping[str, str], rule: EntryPoint, table: Engine, release: str
) -> Iterator[ArgumentSetting]:
    """
    Yield what each variable sets at an engine whose arguments are described.
    """
    watched = is_supervised(environment, rule)
    for passed in passed_on(environment, rule):
        option = find_option(table, release, passed.flag)
        values, is_intact = passed.values, True
        arrived: tuple[str, ...] = ()
        if watched:
            tokens = [passed.flag, *passed.values]
            got = arrival(environment, rule, tokens)
            # A per cent sign is written twice there, and arrives as one.
            is_intact = got == [token.replace("%%", "%") for token in tokens]
            values = tuple(got[1:]) if is_intact else values
            if isinstance(got, list) and got[:1] == [passed.flag]:
                arrived = tuple(got[1:])
        yield ArgumentSetting(passed.variable, option, values, is_intact, arrived)


def arrival(
    environment: Mapping[str, str], rule: EntryPoint, tokens: list[str]
) -> list[str] | str:
    """
    Return what a supervisor makes of arguments, or else what it says.
    """
    # The level is a check of its own.
    variables = {k: v for k, v in environment.items() if k != "LOG_LEVEL"}
    try:
        return supervised(tokens, variables, is_joined=rule.supervisor == "joins")
    except StartError as fault:
        return str(fault)


def looks_like_argument(value: str) -> bool:
    """
    Whether a parser takes a value for an argument of its own.
    """
    is_dashed = value.startswith("-") and value != "-"
    return is_dashed and not _NEGATIVE.fullmatch(value) and " " not in value
