"""
Checks of what the parser takes and vLLM refuses when it makes its configuration of it:
bounds of numbers, names that it looks up, and JSON that a class is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_arguments import (
    EngineArgument,
    find_argument,
    is_release_between,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.argument_values import (
    ValueFaultError,
    bound_faults,
    instead_of,
    later_fault,
    unknown_name,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    CONFIGURATION,
    PARSERS,
    EngineSubject,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_values import (
    MAY_BE_REFUSED,
    excerpt,
    intact,
    read,
)

# What brings further names of its own.
_PLUGINS = {
    "tool-call-parser": "tool-parser-plugin",
    "reasoning-parser": "reasoning-parser-plugin",
}

_PARSERS = {"tool-call-parser": "tool", "reasoning-parser": "reasoning"}

# Of MultiModalConfig, which is made for models alone that take images or sound.
_OF_MEDIA = ("mm-", "video-")
# Of LoRAConfig, which is made where adapters are on.
_OF_ADAPTERS = ("max-lora-rank", "max-loras", "max-cpu-loras")

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
    for setting in intact(subject):
        argument = setting.option.argument
        if argument is None or not argument.bounds:
            continue
        is_idle = subject.value("enable-lora") is not True
        if argument.name in _OF_ADAPTERS and is_idle:
            continue
        for text in setting.taken:
            value = read(subject, argument, text)
            bounds = bound_faults(argument, value)
            if bounds:
                is_certain = not argument.name.startswith(_OF_MEDIA)
                rule = OUT_OF_BOUNDS if is_certain else MAY_BE_REFUSED
                yield rule.finding(
                    f"{subject.word(setting.variable)} must be {bounds}, got {text}"
                )


# What vLLM looks up at its start, and ends where it does not find it.
_LOOKED_UP = (
    "attention-backend",
    "config-format",
    "distributed-executor-backend",
    "load-format",
    "mamba-backend",
    "mm-encoder-attn-backend",
    "optimization-level",
    "quantization",
    "reasoning-parser",
)
# What may bring further names along.
_OTHER_PACKAGES = ("VLLM_PLUGINS", "PYTHONPATH")
_REQUIREMENTS = "requirements.txt"

NOT_FOUND = Rule(
    "LLM539",
    "a name that vLLM looks up when it starts, and does not have",
    CONFIGURATION,
)
# The other is that of parsers, which is not loaded for those who name none.
NOT_FOUND_CODES = frozenset({NOT_FOUND.code, "LLM961"})
UNKNOWN_VALUE = Rule(
    "LLM605",
    "a value that the engine's parser takes and the engine does not know",
    PARSERS,
)


def unknown_value_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Names that are looked up only later are known to the engine.
    """
    for setting in intact(subject):
        argument = setting.option.argument
        if argument is None or not argument.known_values:
            continue
        plugin = _PLUGINS.get(argument.name)
        if plugin is not None and subject.has_argument(plugin):
            continue
        for text in setting.taken:
            value = read(subject, argument, text)
            if isinstance(value, str) and unknown_name(argument, value):
                is_certain = _is_looked_up(subject, argument)
                is_certain &= not _is_of_files(subject, argument, value)
                rule = NOT_FOUND if is_certain else UNKNOWN_VALUE
                word = subject.word(setting.variable)
                if rule is NOT_FOUND and argument.name in _PARSERS:
                    yield _unknown_parser(subject, argument.name, value, word)
                    continue
                yield rule.finding(
                    f"{word}={excerpt(text)} is none that {subject.title} is known to "
                    "have",
                    instead_of(value, argument.known_values),
                )


# JSON that names the same thing as an argument of its own.
_NAMED_INSIDE = {
    "reasoning-config": "reasoning-parser",
    "structured-outputs-config": "reasoning-parser",
}


def unknown_inner_name_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Names in JSON that are looked up at the start are known to the engine.
    """
    if subject.table is None:
        return
    for outer, name in _NAMED_INSIDE.items():
        setting, value = subject.find(outer), subject.value(outer)
        argument = find_argument(subject.table, name, subject.release)
        if setting is None or argument is None or not isinstance(value, Mapping):
            continue
        key = name.replace("-", "_")
        inner = value.get(key)
        has_plugin = subject.has_argument(_PLUGINS[name]) or f"{key}_plugin" in value
        if has_plugin or not isinstance(inner, str):
            continue
        if unknown_name(argument, inner) and _is_looked_up(subject, argument):
            word = f"{key} of {subject.word(setting.variable)}"
            yield _unknown_parser(subject, name, inner, word)


def _unknown_parser(
    subject: EngineSubject, argument: str, name: str, word: str
) -> Finding:
    # Few name one that is not there.
    from cdk_sagemaker_llm.serving.support.vllm_parsers import unknown_parser  # noqa: PLC0415

    return unknown_parser(str(subject.release), _PARSERS[argument], name, word)


def _is_looked_up(subject: EngineSubject, argument: EngineArgument) -> bool:
    """
    Whether the engine ends on a name that it does not have.
    """
    if subject.table != "vllm" or subject.image.engine != "vllm":
        return False
    may_have_more = any(map(subject.is_set, _OTHER_PACKAGES))
    if may_have_more or _REQUIREMENTS in (subject.model_data or ()):
        return False
    if argument.name == "tool-call-parser":
        return subject.value("enable-auto-tool-choice") is True
    return argument.name in _LOOKED_UP


def _is_of_files(subject: EngineSubject, argument: EngineArgument, value: str) -> bool:
    """
    Whether a name is that of weights whose files vLLM goes by, whatever is asked for
    (override_quantization_method of quantization/inc.py, from 0.15.0 on).
    """
    is_named = value.lower().replace("_", "-") == "auto-round"
    is_new = is_release_between(str(subject.release), "0.15.0")
    return argument.name == "quantization" and is_named and is_new


NO_CONFIGURATION = Rule(
    "LLM541",
    "JSON that vLLM's parser takes, and that its configuration refuses",
    CONFIGURATION,
)


def later_json_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    JSON that a class is made of at the start has that class's keys and kinds.
    """
    if subject.table != "vllm":
        return
    for setting in intact(subject):
        argument = setting.option.argument
        if argument is None or not setting.taken:
            continue
        value = read(subject, argument, setting.taken[0])
        is_read = not isinstance(value, ValueFaultError)
        fault = later_fault(argument, value, subject.release) if is_read else ""
        if fault:
            yield NO_CONFIGURATION.finding(
                f"{subject.word(setting.variable)} must be {fault}, got "
                f"{excerpt(setting.taken[0])}"
            )
