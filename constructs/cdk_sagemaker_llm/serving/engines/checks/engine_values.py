"""
Checks of the values: does the engine's parser take what follows an argument.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import EngineArgument
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.argument_values import (
    ValueFaultError,
    read_value,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    CONFIGURATION,
    PARSERS,
    ArgumentSetting,
    EngineSubject,
    looks_like_argument,
)
from cdk_sagemaker_llm.text import any_of, nearest

_SHOWN = 120
_OFF = ("0", "no", "off", "n", "f", "none", "false", "disabled")
# What brings further names of its own.
_PLUGINS = {
    "tool-call-parser": "tool-parser-plugin",
    "reasoning-parser": "reasoning-parser-plugin",
}
_LIMITS = {
    "ge": ("at least", operator.ge),
    "gt": ("above", operator.gt),
    "le": ("at most", operator.le),
    "lt": ("below", operator.lt),
}

UNREADABLE_VALUE = Rule(
    "LLM504", "the engine's parser does not take an argument's value", PARSERS
)
MISSING_VALUE = Rule("LLM505", "an argument that asks for a value has none", PARSERS)


def value_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Each value is of the argument's kind, and one of its choices.
    """
    for setting in _intact(subject):
        argument = setting.option.argument
        if argument is None or argument.is_switch:
            continue
        needs_value = not argument.takes_truth and argument.nargs not in {"?", "*"}
        if needs_value and not setting.values:
            yield MISSING_VALUE.finding(
                f"{subject.word(setting.variable)}="
                f"{subject.environment.get(setting.variable, '')} leaves "
                f"--{argument.name} without its value: {subject.title} does not start",
                "write the value, or leave the variable out",
            )
        for text in setting.taken:
            fault = _fault(subject, argument, text)
            if fault:
                yield UNREADABLE_VALUE.finding(
                    f"{subject.word(setting.variable)} must be {fault}, got "
                    f"{_excerpt(text)}"
                )


STRAY_VALUES = Rule(
    "LLM506", "values that no argument takes, and that the engine refuses", PARSERS
)
ONE_STRAY_VALUE = Rule(
    "LLM604", "a value that no argument takes: the switch before it is on", PARSERS
)


def stray_value_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    No value is left over.

    A switch is on whatever stands behind it; vLLM takes one such value for the name
    of a model that it does not look at, and refuses a second one.
    """
    with_strays = [setting for setting in _intact(subject) if setting.strays]
    number = sum(len(setting.strays) for setting in with_strays)
    is_swallowed = number == 1 and subject.swallows_one
    for setting in with_strays:
        yield _stray(subject, setting, is_swallowed=is_swallowed)


OUT_OF_BOUNDS = Rule(
    "LLM507",
    "a number is outside the bounds of the engine's configuration",
    CONFIGURATION,
)


def bound_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Numbers are within the bounds of vLLM's configuration, which it is made of at its
    start.
    """
    if subject.table != "vllm":
        return
    for setting in _intact(subject):
        argument = setting.option.argument
        if argument is None or not argument.bounds:
            continue
        for text in setting.taken:
            value = _read(subject, argument, text)
            broken = [
                f"{words} {argument.bounds[kind]:g}"
                for kind, (words, holds) in _LIMITS.items()
                if kind in argument.bounds
                and isinstance(value, int | float)
                and not holds(value, argument.bounds[kind])
            ]
            if broken:
                yield OUT_OF_BOUNDS.finding(
                    f"{subject.word(setting.variable)} must be {' and '.join(broken)}, "
                    f"got {text}"
                )


UNKNOWN_VALUE = Rule(
    "LLM605",
    "a value that the engine's parser takes and the engine does not know",
    PARSERS,
)


def unknown_value_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Names that are looked up only later are known to the engine.
    """
    for setting in _intact(subject):
        argument = setting.option.argument
        if argument is None or not argument.known:
            continue
        plugin = _PLUGINS.get(argument.name)
        if plugin is not None and subject.has_argument(plugin):
            continue
        names = {name.casefold() for name in argument.known}
        for text in setting.taken:
            value = _read(subject, argument, text)
            # A dotted name is that of a class.
            if not isinstance(value, str) or value == "" or "." in value:
                continue
            if value.casefold() not in names:
                near = nearest(value, argument.known, count=1)
                remedy = f"did you mean {near[0]}?" if near else ""
                yield UNKNOWN_VALUE.finding(
                    f"{subject.word(setting.variable)}={_excerpt(text)} is none that "
                    f"{subject.title} is known to have",
                    remedy or f"it has {any_of(argument.known[:8])}",
                )


def _intact(subject: EngineSubject) -> Iterator[ArgumentSetting]:
    # What a supervisor makes something else of is told of elsewhere.
    return (setting for setting in subject.settings if setting.is_intact)


def _fault(subject: EngineSubject, argument: EngineArgument, text: str) -> str:
    if looks_like_argument(text):
        return "written without a dash in front, which makes it another argument"
    if subject.table is None:
        return ""
    try:
        read_value(argument, text, engine=subject.table, release=subject.release)
    except ValueFaultError as fault:
        return str(fault)
    return ""


def _read(subject: EngineSubject, argument: EngineArgument, text: str) -> object:
    if subject.table is None:
        return None
    try:
        return read_value(argument, text, engine=subject.table, release=subject.release)
    except ValueFaultError:
        return None


def _stray(
    subject: EngineSubject, setting: ArgumentSetting, *, is_swallowed: bool
) -> Finding:
    argument, value = setting.option.argument, setting.strays[0]
    word = subject.word(setting.variable)
    if argument is None or not argument.is_switch:
        message = f"{word} becomes {len(setting.values)} values, and takes one"
        remedy = "write one value"
    else:
        message = (
            f"{word}={_excerpt(value)} is a switch with a value behind it, which no "
            "argument takes"
        )
        remedy = _switch_remedy(subject, setting, value)
    if is_swallowed:
        effect = "the switch is on" if argument and argument.is_switch else "lost"
        return ONE_STRAY_VALUE.finding(
            f"{message}: {effect}, and with a second such value {subject.title} does "
            "not start",
            remedy,
        )
    return STRAY_VALUES.finding(f"{message}: {subject.title} does not start", remedy)


def _switch_remedy(subject: EngineSubject, setting: ArgumentSetting, value: str) -> str:
    rule, argument = subject.rule, setting.option.argument
    bare = "true" if rule is None or rule.reads_truth else "an empty value"
    if value.strip().lower() not in _OFF:
        return f"write {bare}"
    if argument is not None and argument.has_negative and argument.default is not False:
        return f"write {subject.variable(f'no-{argument.name}')} with {bare}"
    return "leave it out"


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
