"""
Checks of variables by their names: whose are they, and does this release have the
argument that one becomes.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import partial

from cdk_sagemaker_llm.catalog.engine_arguments import (
    VLLM_PROCESS,
    Engine,
    all_argument_names,
    argument_names,
    spellings,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_models import HUB
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    ENTRY_POINTS,
    HELP,
    PARSERS,
    ArgumentSetting,
    EngineSubject,
)
from cdk_sagemaker_llm.serving.engines.entry_points import (
    HF_LLAMA_CPP_PREFIX,
    LLAMA_CPP_PREFIX,
    NEURON_PREFIX,
    PORT,
    SGLANG_PREFIX,
    VLLM_PREFIX,
)
from cdk_sagemaker_llm.serving.engines.telling import way_out, when_known
from cdk_sagemaker_llm.serving.parameters import MISSPELT, usual_mistake
from cdk_sagemaker_llm.text import any_of, nearest

_PREFIXES = {
    "OPTION_": "LMI",
    VLLM_PREFIX: "the vLLM images",
    SGLANG_PREFIX: "the SGLang images",
    LLAMA_CPP_PREFIX: "AWS's llama.cpp images",
    HF_LLAMA_CPP_PREFIX: "Hugging Face's llama.cpp images",
    NEURON_PREFIX: "Hugging Face's vLLM image for Neuron",
}
# What the engines read themselves by a name that looks like an argument's.
_OF_THE_PROCESS = (
    "VLLM_ALL2ALL_BACKEND",
    "VLLM_API_KEY",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_HOST",
    "VLLM_PORT",
    "LOG_LEVEL",
)
_OF_HUGGING_FACE = "HF_"
# So like the prefix that it can hardly mean something else.
_LIKE = 0.8
_EVERYWHERE = ("", "0.0.0.0", "::", "None")  # noqa: S104 - what a container listens on

OTHER_PREFIX = Rule(
    "LLM610", "a variable has the prefix of another image, and is ignored", ENTRY_POINTS
)

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


def prefix_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Variables of engines have the prefix that this image looks for.
    """
    own = "" if subject.rule is None else subject.rule.prefix
    for name in subject.environment:
        theirs = next((p for p in _PREFIXES if name.startswith(p)), own)
        if theirs == own:
            continue
        meant = _argument(subject, name.removeprefix(theirs))
        yield OTHER_PREFIX.finding(
            f"{name} is for {_PREFIXES[theirs]}: this image ignores it",
            f"write {meant}" if meant else "leave it out",
        )


def spelling_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    A variable that is almost one of the engine's is ignored.
    """
    for name in subject.environment:
        meant = _meant_variable(subject, name)
        if meant:
            yield MISSPELT.finding(
                f"{name} is no variable of {subject.image.family}: it is ignored",
                f"did you mean {meant}?",
            )


OTHER_PORT = Rule(
    "LLM512", "the engine listens on another port than SageMaker's", ENTRY_POINTS
)
SAME_PORT = Rule("LLM611", "the engine is told SageMaker's port again", ENTRY_POINTS)


def port_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The engine listens on the port that SageMaker calls.

    vLLM's entry point writes it first, and the last one that is written wins.
    """
    setting = subject.find("port")
    if setting is None or subject.table is None:
        return
    word, port = subject.word(setting.variable), subject.number("port")
    if port is not None and str(port) != PORT:
        yield OTHER_PORT.finding(
            f"{word} must be {PORT}, which SageMaker calls, got {port}: the endpoint "
            "never gets healthy",
            "leave it out",
        )
    elif port is not None and subject.table == "vllm":
        yield SAME_PORT.finding(
            f"{word}={port} says what the entry point says anyway", "leave it out"
        )


OTHER_HOST = Rule(
    "LLM612", "the engine may listen where SageMaker does not call", ENTRY_POINTS
)


def listening_host_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The engine listens on every address of its container.
    """
    setting = subject.find("host")
    if setting is not None and setting.taken and setting.taken[0] not in _EVERYWHERE:
        yield OTHER_HOST.finding(
            f"{subject.word(setting.variable)}={setting.taken[0]} may hide the engine "
            "from SageMaker's calls",
            "leave it out",
        )


def _meant_variable(subject: EngineSubject, name: str) -> str | None:
    usual, rule = usual_mistake(name), subject.rule
    if usual == HUB and rule is not None and not rule.finds_model:
        # It would be ignored as well.
        return subject.variable("model-path" if rule.insists_on_model else "model")
    if usual is not None and not usual.startswith("OPTION_"):
        return usual
    if (
        rule is None
        or name in _OF_THE_PROCESS
        or name.startswith((*_PREFIXES, rule.prefix, _OF_HUGGING_FACE))
    ):
        return None
    upper = name.upper()
    if upper.startswith(rule.prefix):
        return upper
    bare = rule.prefix.removeprefix("SM_")
    tail = upper.removeprefix(bare)
    if tail != upper or "_" in name:
        # VLLM_MAX_MODEL_LEN, or MAX_MODEL_LEN alone.
        exact = _argument(subject, tail)
        if exact is not None:
            return exact
    return _near_prefix(subject, upper, rule.prefix)


def _near_prefix(subject: EngineSubject, name: str, prefix: str) -> str | None:
    parts = name.split("_")
    for size in range(1, min(len(parts), prefix.count("_") + 2)):
        head, tail = "_".join(parts[:size]) + "_", "_".join(parts[size:])
        likeness = difflib.SequenceMatcher(None, head, prefix).ratio()
        exact = _argument(subject, tail)
        if likeness >= _LIKE and exact is not None:
            return exact
    return None


def _argument(subject: EngineSubject, tail: str) -> str | None:
    """
    Return the variable of the argument that is named so; ``None`` if there is none.
    """
    if subject.table is None or not tail:
        return None
    name = tail.lower().replace("_", "-")
    if name in argument_names(subject.table, subject.release):
        return subject.variable(name)
    spelt = spellings(subject.table, subject.release).get(f"--{name}")
    return subject.variable(spelt) if spelt else None


def name_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Each variable behind the prefix is an argument of this release, in full.
    """
    for setting in subject.settings:
        if setting.option.argument is None:
            yield from _unknown_argument_findings(subject, setting)
        elif not setting.option.is_exact:
            spelling = setting.option.spelling
            yield ABBREVIATED.finding(
                f"{subject.word(setting.variable)} is taken for {spelling}, the only "
                f"argument of {subject.title} that begins so; another release may have "
                "two",
                f"write {_variable_of(subject, spelling)}",
            )


DEPRECATED = Rule("LLM602", "an argument that the engine is about to drop", PARSERS)


def deprecation_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    No argument is on its way out.
    """
    for setting in subject.settings:
        argument = setting.option.argument
        if argument is None or not argument.deprecation:
            continue
        remedy = (
            f"use {_variable_of(subject, argument.instead)}" if argument.instead else ""
        )
        yield DEPRECATED.finding(
            f"{subject.word(setting.variable)} is deprecated in {subject.title}", remedy
        )


SET_TWICE = Rule(
    "LLM603", "two variables become the same argument of the engine", PARSERS
)


def repetition_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Each argument is set by one variable.

    A shell passes them on in no order that can be told, and the last one wins.
    """
    seen: dict[str, ArgumentSetting] = {}
    for setting in subject.settings:
        argument = setting.option.argument
        if argument is None or argument.action == "append":
            continue
        first = seen.setdefault(argument.name, setting)
        if first is not setting:
            yield SET_TWICE.finding(
                f"{subject.word(first.variable)} and {subject.word(setting.variable)} "
                f"both become --{argument.name}, and one of them is lost",
                "set one of them",
            )


def _unknown_argument_findings(
    subject: EngineSubject, setting: ArgumentSetting
) -> Iterator[Finding]:
    option, table = setting.option, subject.table
    is_dotted = table == "vllm" and "." in option.flag
    if table is None or " " in option.flag or option.flag == "--" or is_dotted:
        # What is no name of an argument the parser itself has the word on.
        return
    word = subject.word(setting.variable)
    if option.spelling == HELP:
        yield UNKNOWN_ARGUMENT.finding(
            f"{word} makes {subject.title} print its help and end", "leave it out"
        )
    elif option.candidates:
        meant = [_variable_of(subject, name) for name in option.candidates]
        yield AMBIGUOUS.finding(
            f"{word} is the beginning of {len(meant)} arguments of {subject.title}, "
            "which refuses it",
            f"write {any_of(meant[:3])}" + (" ..." if len(meant) > 3 else ""),  # noqa: PLR2004 - as many as are read at a glance
        )
    elif option.flag.removeprefix("--") in all_argument_names(table):
        name = option.flag.removeprefix("--")
        yield NOT_IN_THIS_RELEASE.finding(
            f"{word} becomes {option.flag}, which {subject.title} does not have: "
            f"{when_known(table, name, subject.release)}",
            way_out(table, name, subject.release, partial(_variable_of, subject)),
        )
    else:
        yield UNKNOWN_ARGUMENT.finding(
            f"{word} becomes {option.flag}, which {subject.title} does not have: it "
            "does not start",
            _remedy(subject, setting, table),
        )


def _remedy(subject: EngineSubject, setting: ArgumentSetting, table: Engine) -> str:
    name = setting.option.flag.removeprefix("--")
    tail = setting.variable.removeprefix(subject.rule.prefix if subject.rule else "")
    if table == "vllm" and tail in VLLM_PROCESS:
        return f"write VLLM_{tail}, which vLLM reads itself"
    candidates = argument_names(table, subject.release)
    if setting.option.flag.startswith(_NO):
        positive = setting.option.flag.removeprefix(_NO)
        if positive in candidates:
            return f"leave it out: {positive} has no form that switches it off"
    near = nearest(name, candidates, count=1)
    return f"did you mean {subject.variable(near[0])}?" if near else "leave it out"


def _variable_of(subject: EngineSubject, flag: str) -> str:
    # An argument's value may stand behind it: --cuda-graph-backend-prefill=disabled.
    name, equals, value = flag.removeprefix("--").partition("=")
    return subject.variable(name) + equals + value
