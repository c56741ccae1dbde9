"""
Checks of what LMI hands on to vLLM: from 0.32 on an option that is a field of vLLM's
``EngineArgs`` becomes an argument, which vLLM's own parser reads.

How LMI writes them is ``construct_vllm_args_list`` of its ``VllmRbProperties`` (0.32.0
to 0.36.0-lmi27); how they are read says the table of the vLLM release inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import (
    EngineArgument,
    argument_names,
    described_release,
    find_argument,
    is_release_between,
    spellings,
)
from cdk_sagemaker_llm.catalog.lmi import option_type
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.argument_values import (
    ValueFaultError,
    bound_faults,
    instead_of,
    later_fault,
    read_value,
    unknown_name,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    looks_like_argument,
)
from cdk_sagemaker_llm.serving.lmi.checks.backends import QUANTIZED_BY
from cdk_sagemaker_llm.serving.lmi.checks.options import WRONG_TYPE
from cdk_sagemaker_llm.serving.lmi.launch import Subject
from cdk_sagemaker_llm.serving.parameters import (
    OUTSIDE_OPTION_RANGE,
    VLLM_RANKS,
    WRONG_CHOICE,
)

_SOURCE = "VllmRbProperties of djl-serving, and vLLM's own parser"
# What LMI reads as a text, and hands on.
_QUANTIZATION = {"quantize": "quantization", "quantization": "quantization"}
_SOURCES = ("engine", "async")
# 0.36 with vLLM 0.22.1, the first that writes --no- for false.
_NEGATIVE_SINCE = 26
# The engine of before had on what it was told alone.
_ON_BY_ITSELF_SINCE = "0.8.0"
_TRUTH = ("true", "false")

REFUSED_ARGUMENT = Rule(
    "LLM334",
    "LMI makes an argument of an option that vLLM's parser refuses, and ends",
    _SOURCE,
)
STAYS_ON = Rule(
    "LLM231", "LMI drops false, and what vLLM has on by itself stays on", _SOURCE
)


def passed_argument_findings(subject: Subject) -> Iterator[Finding]:
    """
    What is handed on is what vLLM's parser takes.
    """
    release = subject.parser_release
    if release is None:
        return
    for key, value in subject.properties.items():
        name = key.removeprefix("option.")
        if name == key or not value:
            continue
        own = option_type("vllm", key, subject.version) or option_type(
            "common", key, subject.version
        )
        if own is not None and (name not in _QUANTIZATION or value in QUANTIZED_BY):
            continue
        argument = _argument(_QUANTIZATION.get(name, name), release)
        if argument is not None:
            yield from _findings(subject, key, argument, value, release)


def parser_name_findings(subject: Subject) -> Iterator[Finding]:
    """
    The parsers of tool calls and of reasoning are vLLM's.
    """
    release = subject.parser_release
    if release is None:
        return
    chosen = {
        "tool_call_parser": subject.flag("enable_auto_tool_choice"),
        # Its service looks the parser up where one is named (OpenAIServingChat).
        "reasoning_parser": subject.flag("enable_reasoning")
        or subject.launch.asynchronous,
    }
    for name, is_looked_up in chosen.items():
        value = subject.option(name)
        argument = find_argument("vllm", name.replace("_", "-"), release)
        if not value or not is_looked_up or argument is None:
            continue
        names = argument.choices or argument.known_values
        if names and value not in names:
            yield WRONG_CHOICE.finding(
                f"option.{name} must be a parser of vLLM {release}, got {value!r}",
                instead_of(value, names),
            )


def _argument(name: str, release: str) -> EngineArgument | None:
    """
    Return the argument that a field of ``EngineArgs`` is read by; ``None`` where this
    release has none.
    """
    dashed = name.replace("_", "-")
    long_name = spellings("vllm", release).get(f"--{dashed}", dashed)
    if long_name not in argument_names("vllm", release):
        return None
    argument = find_argument("vllm", long_name, release)
    return argument if argument and argument.source in _SOURCES else None


def _findings(
    subject: Subject, key: str, argument: EngineArgument, value: str, release: str
) -> Iterator[Finding]:
    word = value.lower()
    is_joined = subject.version.before("0.35")
    if word in _TRUTH and not (is_joined and argument.takes_truth):
        yield from _truth_findings(subject, key, argument, word, release)
        return
    if argument.is_switch:
        yield WRONG_TYPE.finding(f"{key} must be true or false, got {value!r}")
        return
    if looks_like_argument(value) and not is_joined:
        yield REFUSED_ARGUMENT.finding(
            f"{key}={value} is handed on behind its argument, and vLLM's parser takes "
            "what begins with a dash for another one"
        )
        return
    if argument.name == "max-lora-rank" and subject.flag("enable_lora"):
        ranks = [int(one) for one in VLLM_RANKS]
        if value.isdecimal() and int(value) not in ranks:
            # A check of the adapters says so.
            return
    yield from _value_findings(key, argument, value, release)


def _truth_findings(
    subject: Subject, key: str, argument: EngineArgument, word: str, release: str
) -> Iterator[Finding]:
    flag = f"--{argument.name}"
    if word == "true":
        if not argument.is_switch and not argument.takes_truth and not argument.nargs:
            yield REFUSED_ARGUMENT.finding(
                f"{key}=true becomes {flag} alone, which asks for a value in vLLM "
                f"{release}",
                "write its value",
            )
        return
    writes_negative = subject.version.lmi >= _NEGATIVE_SINCE
    if writes_negative and not argument.has_negative:
        yield REFUSED_ARGUMENT.finding(
            f"{key}=false becomes --no-{argument.name}, which vLLM {release} does not "
            "know",
            "leave it out",
        )
    may_be_on = argument.default is True or (
        argument.default is None and argument.has_negative
    )
    is_new = is_release_between(release, _ON_BY_ITSELF_SINCE)
    if not writes_negative and may_be_on and is_new:
        yield STAYS_ON.finding(
            f"{key}=false is dropped by LMI {subject.version}: vLLM has it on where "
            "the model allows it",
            "take 0.36.0-lmi26 or a later image, which writes "
            f"--no-{argument.name}, or another image of vLLM",
        )


def _value_findings(
    key: str, argument: EngineArgument, value: str, release: str
) -> Iterator[Finding]:
    at = described_release("vllm", release)
    try:
        read = read_value(argument, value, engine="vllm", release=at)
    except ValueFaultError as fault:
        is_choice = argument.choices and argument.kind == "str"
        rule = WRONG_CHOICE if is_choice else WRONG_TYPE
        yield rule.finding(f"{key} must be {fault}, got {value!r}")
        return
    fault_text = bound_faults(argument, read)
    if fault_text:
        yield OUTSIDE_OPTION_RANGE.finding(f"{key} must be {fault_text}, got {value}")
        return
    later = later_fault(argument, read, at)
    if later:
        yield WRONG_TYPE.finding(f"{key} must be {later}, got {value!r}")
        return
    if unknown_name(argument, read):
        yield WRONG_CHOICE.finding(
            f"{key} must be one that vLLM {release} has, got {value!r}",
            instead_of(value, argument.known_values),
        )
