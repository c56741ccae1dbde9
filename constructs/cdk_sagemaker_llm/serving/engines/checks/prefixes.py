"""
Checks of variables that stand beside those of the engine: whose are they.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import argument_names, spellings
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_models import HUB
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    ENTRY_POINTS,
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
from cdk_sagemaker_llm.serving.parameters import MISSPELT, usual_mistake

_PREFIXES = {
    "OPTION_": "LMI",
    VLLM_PREFIX: "the vLLM images",
    SGLANG_PREFIX: "the SGLang images",
    LLAMA_CPP_PREFIX: "AWS's llama.cpp images",
    HF_LLAMA_CPP_PREFIX: "Hugging Face's llama.cpp images",
    NEURON_PREFIX: "Hugging Face's vLLM image for Neuron",
}
# What the engines read themselves by a name that looks like an argument's.
_OWN = (
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


def check_prefixes(subject: EngineSubject) -> Iterator[Finding]:
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


def check_spelling(subject: EngineSubject) -> Iterator[Finding]:
    """
    A variable that is almost one of the engine's is ignored.
    """
    for name in subject.environment:
        meant = _meant(subject, name)
        if meant:
            yield MISSPELT.finding(
                f"{name} is no variable of {subject.image.family}: it is ignored",
                f"did you mean {meant}?",
            )


OTHER_PORT = Rule(
    "LLM512", "the engine listens on another port than SageMaker's", ENTRY_POINTS
)
SAME_PORT = Rule("LLM611", "the engine is told SageMaker's port again", ENTRY_POINTS)


def check_port(subject: EngineSubject) -> Iterator[Finding]:
    """
    The engine listens on the port that SageMaker calls.

    vLLM's entry point writes it first, and the last one that is written wins.
    """
    told = subject.find("port")
    if told is None or subject.table is None:
        return
    word, port = subject.word(told.variable), subject.number("port")
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


def check_host(subject: EngineSubject) -> Iterator[Finding]:
    """
    The engine listens on every address of its container.
    """
    told = subject.find("host")
    if told is not None and told.taken and told.taken[0] not in _EVERYWHERE:
        yield OTHER_HOST.finding(
            f"{subject.word(told.variable)}={told.taken[0]} may hide the engine from "
            "SageMaker's calls",
            "leave it out",
        )


def _meant(subject: EngineSubject, name: str) -> str | None:
    usual, rule = usual_mistake(name), subject.rule
    if usual == HUB and rule is not None and not rule.finds_model:
        # It would be ignored as well.
        return subject.variable("model-path" if rule.insists_on_model else "model")
    if usual is not None and not usual.startswith("OPTION_"):
        return usual
    if (
        rule is None
        or name in _OWN
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
