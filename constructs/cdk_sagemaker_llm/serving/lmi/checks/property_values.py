"""
Checks of single options: can the value be read, is the option deprecated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cdk_sagemaker_llm.catalog.lmi import (
    OptionType,
    deprecated_since,
    front_end_type,
    is_known,
    option_type,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.options import passes_through
from cdk_sagemaker_llm.serving.lmi.checks.property_subject import (
    DOCUMENTATION,
    MODELS,
    Subject,
)
from cdk_sagemaker_llm.serving.lmi.properties import fault_of, java_int_fault
from cdk_sagemaker_llm.serving.parameters import WRONG_CHOICE
from cdk_sagemaker_llm.text import nearest

# Read by LmiUtils and the handlers beside their property models (0.25 to 0.36).
_TIMEOUTS = ("option.model_loading_timeout", "option.predict_timeout")
# vLLM reads these itself, as its command line does (vLLM 0.6.3 to 0.23).
_ENGINE_ARGUMENT_TYPES = {
    "block_size": "int",
    "gpu_memory_utilization": "float",
    "max_logprobs": "int",
    "max_lora_rank": "int",
    "max_loras": "int",
    "seed": "int",
    "swap_space": "float",
}
_CHECKED_ELSEWHERE = ("engine", "option.rolling_batch")

WRONG_TYPE = Rule("LLM135", "a value is not of the option's type", MODELS)
REPLACED_VALUE = Rule("LLM209", "the container replaces or ignores a value", MODELS)
UNDOCUMENTED_VALUE = Rule(
    "LLM212", "a value is outside what is documented", DOCUMENTATION
)


def check_values(subject: Subject) -> Iterator[Finding]:
    """
    Every value can be read.
    """
    for key, value in subject.properties.items():
        if key not in _CHECKED_ELSEWHERE:
            yield from _value_findings(subject, key, value)


DEPRECATED = Rule("LLM208", "an option is deprecated", DOCUMENTATION)


def check_deprecated(subject: Subject) -> Iterator[Finding]:
    """
    An option that its documentation calls deprecated.
    """
    for key in subject.properties:
        since = deprecated_since(key)
        if since:
            yield DEPRECATED.finding(f"{key} is deprecated since LMI {since}")


def _value_findings(subject: Subject, key: str, value: str) -> Iterator[Finding]:
    if key in _TIMEOUTS:
        fault = java_int_fault(value)
        if fault:
            yield REPLACED_VALUE.finding(
                f"{key} must be {fault}, got {value!r}: it is ignored"
            )
        return
    front = front_end_type(key)
    read = is_known(key, (), subject.version)
    if front and read and front.kind in ("int", "int-or-max"):
        yield from _java_findings(key, value, front)
        return
    yield from _model_findings(subject, key, value)


def _java_findings(key: str, value: str, front: OptionType) -> Iterator[Finding]:
    if front.kind == "int-or-max" and value == "max":
        return
    fault = java_int_fault(value)
    if fault:
        wanted = f"{fault} or max" if front.kind == "int-or-max" else fault
        yield WRONG_TYPE.finding(f"{key} must be {wanted}, got {value!r}")


def _model_findings(subject: Subject, key: str, value: str) -> Iterator[Finding]:
    declared = _readers(subject, key, value)
    faults = [_fault(subject, one, key, value) for one in declared]
    if not faults or None in faults:
        yield from _documented_findings(declared, key, value)
        return
    kind = declared[0].kind
    rule = WRONG_CHOICE if kind in ("enum", "int-enum") else WRONG_TYPE
    if kind == "enum" and declared[0].documented_only:
        yield UNDOCUMENTED_VALUE.finding(
            f"{key} is documented as {faults[0]}, got {value!r}"
        )
        return
    near = nearest(value, declared[0].choices, count=1)
    remedy = f"did you mean {near[0]}?" if near else ""
    yield rule.finding(f"{key} must be {faults[0]}, got {value!r}", remedy)


def _readers(subject: Subject, key: str, value: str) -> list[OptionType]:
    """
    Return how those declare an option who may refuse its value: the backends, or the
    handler that stands before them.
    """
    declared = _declared(subject, key)
    name = _handler_of(subject)
    first = option_type(name, key, subject.version) if name else None
    if first is None or _fault(subject, first, key, value) is None:
        return declared
    both = [c for one in declared[:1] for c in one.choices if c in first.choices]
    return [replace(first, choices=tuple(both) or first.choices)]


def _handler_of(subject: Subject) -> str | None:
    if subject.launch.container == "djl-neuronx":
        return "neuronx"
    return "hf" if subject.passes_handler() else None


def _fault(subject: Subject, declared: OptionType, key: str, value: str) -> str | None:
    if key == "option.enable_streaming":
        value = value.lower()
    if key == "option.quantize" and subject.runs("deepspeed"):
        # DeepSpeedProperties warns of an unknown method and goes on without.
        return None
    # The base model reads this one with int() itself.
    strict = subject.version.before("0.28") or key == "option.batch_size"
    return fault_of(declared, value, strict_int=strict)


def _declared(subject: Subject, key: str) -> list[OptionType]:
    found = []
    for backend in subject.launch.backends:
        one = option_type(_model_of(subject, backend), key, subject.version)
        one = one or option_type("common", key, subject.version)
        found.append(one or _argument_type(subject, backend, key))
    # A backend that does not know the option takes any value.
    return [one for one in found if one] if all(found) else []


def _model_of(subject: Subject, backend: str) -> str:
    # At 0.25 only the handler had a property model; the schedulers had none.
    handled = backend in ("vllm", "lmi-dist", "scheduler")
    early = handled and subject.version.before("0.26")
    return "hf" if backend == "huggingface" or early else backend


def _argument_type(subject: Subject, backend: str, key: str) -> OptionType | None:
    if backend != "vllm" or not passes_through(subject):
        return None
    kind = _ENGINE_ARGUMENT_TYPES.get(key.removeprefix("option."))
    return OptionType(kind=kind) if kind else None


def _documented_findings(
    declared: Iterable[OptionType], key: str, value: str
) -> Iterator[Finding]:
    for one in declared:
        if one.documented_only and one.kind in ("int", "float"):
            number = float(value)
            if one.above is not None and not number > one.above:
                yield UNDOCUMENTED_VALUE.finding(
                    f"{key} is documented as above {one.above:g}, got {value}"
                )
            if one.range and not one.range[0] <= number <= one.range[1]:
                low, high = one.range
                yield UNDOCUMENTED_VALUE.finding(
                    f"{key} is documented as {low:g} to {high:g}, got {value}",
                )
