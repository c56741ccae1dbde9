"""
Checks of the names: does this release have the argument that a variable becomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cdk_sagemaker_llm.catalog.engine_arguments import (
    VLLM_PROCESS,
    Engine,
    all_argument_names,
    argument_names,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    HELP,
    PARSERS,
    EngineSubject,
    Option,
    Told,
)
from cdk_sagemaker_llm.serving.engines.telling import way_out, when_known
from cdk_sagemaker_llm.text import any_of, nearest

_NO = "--no-"

UNKNOWN_ARGUMENT = Rule(
    "LLM501", "a variable becomes an argument that the engine does not have", PARSERS
)
NOT_IN_THIS_RELEASE = Rule(
    "LLM502", "a variable becomes an argument of another release of the engine", PARSERS
)
AMBIGUOUS = Rule(
    "LLM503", "a variable becomes the beginning of several arguments", PARSERS
)
ABBREVIATED = Rule(
    "LLM601", "a variable becomes the beginning of one argument's name", PARSERS
)


def check_names(subject: EngineSubject) -> Iterator[Finding]:
    """
    Each variable behind the prefix is an argument of this release, in full.
    """
    for told in subject.told:
        if told.option.argument is None:
            yield from _unknown(subject, told)
        elif not told.option.is_exact:
            yield _abbreviated(subject, told)


DEPRECATED = Rule("LLM602", "an argument that the engine is about to drop", PARSERS)


def check_deprecated(subject: EngineSubject) -> Iterator[Finding]:
    """
    No argument is on its way out.
    """
    for told in subject.told:
        argument = told.option.argument
        if argument is None or not argument.deprecation:
            continue
        remedy = (
            f"use {_variable(subject, argument.instead)}" if argument.instead else ""
        )
        yield DEPRECATED.finding(
            f"{subject.word(told.variable)} is deprecated in {subject.title}", remedy
        )


SET_TWICE = Rule(
    "LLM603", "two variables become the same argument of the engine", PARSERS
)


def check_repeated(subject: EngineSubject) -> Iterator[Finding]:
    """
    Each argument is set by one variable.

    A shell passes them on in no order that can be told, and the last one wins.
    """
    seen: dict[str, Told] = {}
    for told in subject.told:
        argument = told.option.argument
        if argument is None or argument.action == "append":
            continue
        first = seen.setdefault(argument.name, told)
        if first is not told:
            yield SET_TWICE.finding(
                f"{subject.word(first.variable)} and {subject.word(told.variable)} "
                f"both become --{argument.name}, and one of them is lost",
                "set one of them",
            )


def _unknown(subject: EngineSubject, told: Told) -> Iterator[Finding]:
    option, table = told.option, subject.table
    if table is None or not _is_plain(option, table):
        # What is no name of an argument the parser itself has the word on.
        return
    word = subject.word(told.variable)
    if option.spelling == HELP:
        yield UNKNOWN_ARGUMENT.finding(
            f"{word} makes {subject.title} print its help and end", "leave it out"
        )
    elif option.candidates:
        meant = [_variable(subject, name) for name in option.candidates]
        yield AMBIGUOUS.finding(
            f"{word} is the beginning of {len(meant)} arguments of {subject.title}, "
            "which refuses it",
            f"write {any_of(meant[:3])}" + (" ..." if len(meant) > 3 else ""),  # noqa: PLR2004 - as many as are read at a glance
        )
    elif option.flag.removeprefix("--") in all_argument_names(table):
        yield _of_another_release(subject, told, table)
    else:
        yield UNKNOWN_ARGUMENT.finding(
            f"{word} becomes {option.flag}, which {subject.title} does not have: it "
            "does not start",
            _meant(subject, told, table),
        )


def _abbreviated(subject: EngineSubject, told: Told) -> Finding:
    return ABBREVIATED.finding(
        f"{subject.word(told.variable)} is taken for {told.option.spelling}, the only "
        f"argument of {subject.title} that begins so; another release may have two",
        f"write {_variable(subject, told.option.spelling)}",
    )


def _of_another_release(subject: EngineSubject, told: Told, table: Engine) -> Finding:
    name = told.option.flag.removeprefix("--")
    return NOT_IN_THIS_RELEASE.finding(
        f"{subject.word(told.variable)} becomes {told.option.flag}, which "
        f"{subject.title} does not have: {when_known(table, name, subject.release)}",
        way_out(table, name, subject.release, partial(_variable, subject)),
    )


def _meant(subject: EngineSubject, told: Told, table: Engine) -> str:
    name = told.option.flag.removeprefix("--")
    tail = told.variable.removeprefix(subject.rule.prefix if subject.rule else "")
    if table == "vllm" and tail in VLLM_PROCESS:
        return f"write VLLM_{tail}, which vLLM reads itself"
    known = argument_names(table, subject.release)
    if told.option.flag.startswith(_NO):
        positive = told.option.flag.removeprefix(_NO)
        if positive in known:
            return f"leave it out: {positive} has no form that switches it off"
    near = nearest(name, known, count=1)
    return f"did you mean {subject.variable(near[0])}?" if near else "leave it out"


def _is_plain(option: Option, table: Engine) -> bool:
    is_dotted = table == "vllm" and "." in option.flag
    return " " not in option.flag and option.flag != "--" and not is_dotted


def _variable(subject: EngineSubject, flag: str) -> str:
    # An argument's value may stand behind it: --cuda-graph-backend-prefill=disabled.
    name, equals, value = flag.removeprefix("--").partition("=")
    return subject.variable(name) + equals + value
