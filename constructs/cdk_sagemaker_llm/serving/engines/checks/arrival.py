"""
Checks of the way from a variable to the engine: what arrives is what is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import EngineArgument
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.options import find_option
from cdk_sagemaker_llm.serving.engines.checks.refusal import is_refused
from cdk_sagemaker_llm.serving.engines.checks.sources import ENTRY_POINTS, SUPERVISOR
from cdk_sagemaker_llm.serving.engines.checks.subject import (
    EngineSubject,
    Told,
    arrival,
)

_SHOWN = 160
# supervisord ends the command there.
_COMMENTS = (" #", " ;")

LOST = Rule(
    "LLM508",
    "the image's supervisor makes of a value what the engine refuses",
    SUPERVISOR,
)
ALTERED = Rule(
    "LLM606",
    "a value does not arrive at the engine as it is written",
    f"{ENTRY_POINTS}; {SUPERVISOR}",
)


def check_supervisor(subject: EngineSubject) -> Iterator[Finding]:
    """
    The supervisor hands each value on as it is.
    """
    rule, table = subject.rule, subject.table
    if rule is None or table is None:
        return
    for told in subject.told:
        if told.is_intact:
            continue
        tokens = [told.option.flag, *told.values]
        got = arrival(subject.environment, rule, tokens)
        word, remedy = subject.word(told.variable), _around(subject, told)
        if isinstance(got, str):
            yield LOST.finding(f"{word} stops the supervisor: {got[:_SHOWN]}", remedy)
            continue
        arrives = f"{word} does not arrive as it is written: the engine gets "
        message = arrives + " and ".join(map(repr, got[1:]))[:_SHOWN]
        if any(mark in value for value in told.values for mark in _COMMENTS):
            message += ", and no argument behind it arrives"
        is_bad = is_refused(table, subject.release, got)
        yield (LOST if is_bad else ALTERED).finding(message, remedy)


def check_lines(subject: EngineSubject) -> Iterator[Finding]:
    """
    A shell that reads line by line takes nothing off a value.
    """
    rule = subject.rule
    if rule is None or not rule.reads_lines:
        return
    for name, value in subject.environment.items():
        if not name.startswith(rule.prefix):
            continue
        if "\n" in value:
            yield ALTERED.finding(
                f"{subject.word(name)} has more than one line, and only the first "
                "arrives",
                "write it in one line, or in a file of the model's folder",
            )
        elif value.find("=") == len(value) - 1 and value:
            yield ALTERED.finding(
                f"{subject.word(name)} ends in its only '=', which is lost on the way",
                "write it so that it does not end so, or in a file",
            )


LIST_AS_TEXT = Rule(
    "LLM607",
    "a JSON list arrives as one text at an image that spreads none",
    ENTRY_POINTS,
)


def check_lists(subject: EngineSubject) -> Iterator[Finding]:
    """
    Several values are written only where the entry point spreads a list.
    """
    rule = subject.rule
    if rule is None or rule.spreads_lists:
        return
    for told in subject.told:
        argument = told.option.argument
        if argument is not None and argument.takes_several and _is_list(told.values):
            yield LIST_AS_TEXT.finding(
                f"{subject.word(told.variable)} arrives as one value, the list's text: "
                "this image passes each variable on as one",
                "write one value, or take an image from 2.4 (vllm-server) or 0.28.0 "
                "(vllm) on",
            )


NOT_SWITCHED_OFF = Rule(
    "LLM608",
    "false leaves an argument out that is on, or that the engine lacks",
    ENTRY_POINTS,
)


def check_false(subject: EngineSubject) -> Iterator[Finding]:
    """
    What is on without being asked for is switched off by an argument of its own.
    """
    rule, table = subject.rule, subject.table
    if rule is None or table is None or not rule.reads_truth:
        return
    for name, value in subject.environment.items():
        told = (value.strip() if rule.trims else value).lower()
        if not name.startswith(rule.prefix) or told != "false":
            continue
        option = find_option(table, subject.release, rule.flag(name))
        word, argument = subject.word(name), option.argument
        if argument is None:
            yield NOT_SWITCHED_OFF.finding(
                f"{word}={value} is left out, and {subject.title} has no {option.flag}",
                "leave it out",
            )
        elif _may_be_on(argument) and not option.is_negative:
            yield NOT_SWITCHED_OFF.finding(
                f"{word}={value} leaves --{argument.name} out, which does not switch "
                "it off: the engine may have it on by itself",
                _off(subject, argument),
            )


def _around(subject: EngineSubject, told: Told) -> str:
    without = "set PROCESS_AUTO_RECOVERY=false, which starts the engine without it"
    if any("%" in value for value in told.values):
        return f"write %% for each %, or {without}"
    return without + (
        ", or take an image from 2.1 (vllm-server) or 0.24.0 (vllm) on"
        if subject.rule is not None and subject.rule.supervisor == "joins"
        else ""
    )


def _is_list(values: tuple[str, ...]) -> bool:
    if len(values) != 1 or not values[0].strip().startswith("["):
        return False
    try:
        return isinstance(json.loads(values[0]), list)
    except (ValueError, RecursionError):
        return False


def _may_be_on(argument: EngineArgument) -> bool:
    is_own = argument.has_negative or argument.takes_truth
    return argument.kind == "bool" and (
        argument.default is True or (argument.default is None and is_own)
    )


def _off(subject: EngineSubject, argument: EngineArgument) -> str:
    if argument.has_negative:
        return f"write {subject.variable(f'no-{argument.name}')}=true"
    return "this image has no way to say so"
