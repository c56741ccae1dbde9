"""
Checks of single options: is the name known, can the value be read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from cdk_sagemaker_llm.catalog.lmi_options import (
    ARGUMENTS_SINCE,
    OptionType,
    Span,
    deprecated_since,
    engine_argument_state,
    engine_arguments,
    front_end_type,
    is_known,
    option_names,
    option_spans,
    option_type,
)
from cdk_sagemaker_llm.catalog.lmi_versions import LmiVersion
from cdk_sagemaker_llm.findings import Finding, error, warning
from cdk_sagemaker_llm.serving.lmi.checks.subject import Subject
from cdk_sagemaker_llm.serving.lmi.values import fault_of, java_int_fault
from cdk_sagemaker_llm.wording import any_of, nearest

# Read by LmiUtils and the handlers beside their property models (0.25 to 0.36).
_TIMEOUTS = ("option.model_loading_timeout", "option.predict_timeout")
# The documentation of 0.26 lists them with the prefix, and the server reads them
# without it.
_WITHOUT_PREFIX = ("option.max_batch_delay", "option.max_idle_time")
# What TensorRtLlmProperties of 0.33 takes out of its extra fields.
_TENSORRT_LLM_EXTRAS = frozenset(
    {
        "attn_backend",
        "calib_batch_size",
        "calib_batches",
        "calib_dataset",
        "calib_max_seq_length",
        "clamp_val",
        "cross_kv_cache_fraction",
        "device",
        "enable_block_reuse",
        "enable_overlap_scheduler",
        "event_buffer_max_size",
        "exclude_modules",
        "free_gpu_memory_fraction",
        "group_size",
        "has_zero_point",
        "host_cache_size",
        "kv_cache_dtype",
        "kv_cache_quant_algo",
        "max_attention_window",
        "max_tokens",
        "moe_backend",
        "onboard_blocks",
        "pre_quant_scales",
        "quant_algo",
        "random_seed",
        "secondary_offload_min_priority",
        "sink_token_length",
        "smoothquant_val",
        "tokenizer_max_seq_length",
        "use_cuda_graph",
        "use_meta_recipe",
    }
)
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


def check_names(subject: Subject) -> Iterator[Finding]:
    """
    LLM204, LLM205, LLM210: every option has an effect at this version.

    Code beside the file may read any option, so that one without effect is a
    warning; where there is none such it is LLM158.
    """
    if _has_code_of_its_own(subject):
        return
    for key in subject.properties:
        for finding in _name_findings(subject, key):
            yield _as_error(finding) if subject.strict else finding


def check_values(subject: Subject) -> Iterator[Finding]:
    """
    LLM135, LLM136, LLM209, LLM212: every value can be read.
    """
    for key, value in subject.properties.items():
        if key not in _CHECKED_ELSEWHERE:
            yield from _value_findings(subject, key, value)


def check_deprecated(subject: Subject) -> Iterator[Finding]:
    """
    LLM208: an option that its documentation calls deprecated.
    """
    for key in subject.properties:
        since = deprecated_since(key)
        if since:
            yield warning("LLM208", f"{key} is deprecated since LMI {since}")


def _as_error(finding: Finding) -> Finding:
    certain = finding.code != "LLM220"
    return error("LLM158", finding.message, finding.remedy) if certain else finding


def _name_findings(subject: Subject, key: str) -> Iterator[Finding]:
    if key in _WITHOUT_PREFIX:
        plain = key.removeprefix("option.")
        yield warning(
            "LLM210", f"{key} has no effect: the server reads {plain}", f"write {plain}"
        )
    elif not key.startswith("option.") and is_option_name(f"option.{key}"):
        if not option_spans(key):
            yield warning(
                "LLM210",
                f"{key} has no effect: the backend reads option.{key}",
                f"write option.{key}",
            )
        elif not is_known(key, (), subject.version):
            yield _not_at_this_version(subject, key)
    elif not _has_effect(subject, key):
        yield _without_effect(subject, key)


def is_option_name(key: str) -> bool:
    """
    Whether some version knows the key, as an option or an argument of vLLM.
    """
    return bool(option_spans(key)) or key.removeprefix("option.") in engine_arguments()


def _has_effect(subject: Subject, key: str) -> bool:
    if is_known(key, _readers(subject), subject.version):
        return True
    if not key.startswith("option."):
        return False
    name = key.removeprefix("option.")
    if "vllm" in subject.launch.backends and _passes_through(subject):
        return engine_argument_state(name, subject.version) == "known"
    newest_trtllm = subject.runs("trtllm") and subject.version.at_least("0.33")
    return newest_trtllm and name in _TENSORRT_LLM_EXTRAS


def _readers(subject: Subject) -> list[str]:
    # The Hugging Face handler reads its own options before it starts the scheduler
    # of another backend.
    names = [
        "hf" if name == "huggingface" else name for name in subject.launch.backends
    ]
    handled = {"vllm", "lmi-dist", "scheduler"} & set(names)
    through_handler = subject.launch.container in ("djl-deepspeed", "djl-lmi")
    if handled and through_handler and subject.version.before("0.35"):
        names.append("hf")
    return names


def _passes_through(subject: Subject) -> bool:
    return subject.version.at_least(ARGUMENTS_SINCE)


def _without_effect(subject: Subject, key: str) -> Finding:
    name = key.removeprefix("option.")
    is_argument = key.startswith("option.") and name in engine_arguments()
    if is_argument and _passes_through(subject) and "vllm" in subject.launch.backends:
        return _argument_of_another_vllm(subject, key, name)
    if option_spans(key):
        return _not_at_this_version(subject, key)
    if is_argument:
        return _argument_of_vllm(subject, key)
    near = nearest(key, _names_here(subject), count=1) or nearest(
        key, option_names(), 1
    )
    remedy = f"did you mean {near[0]}?" if near else "leave it out"
    return warning(
        "LLM204", f"{key} is no option of {_where(subject)}: it is ignored", remedy
    )


def _not_at_this_version(subject: Subject, key: str) -> Finding:
    readers = {*_readers(subject), "common", "server"}
    spans = option_spans(key)
    own = [span for span in spans if span.backend in readers]
    reason = _when(own) if own else f"it is an option of {_whose(subject, spans)}"
    return warning(
        "LLM205",
        f"{key} has no effect in {_where(subject)}: {reason}",
        _renamed(subject, key) if own else "leave it out",
    )


def _renamed(subject: Subject, key: str) -> str:
    near = nearest(key, [n for n in _names_here(subject) if n != key], count=1)
    return f"leave it out, or write {near[0]}" if near else "leave it out"


def _argument_of_vllm(subject: Subject, key: str) -> Finding:
    if "vllm" in subject.launch.backends:
        reason = f"arguments of vLLM pass through from LMI {ARGUMENTS_SINCE} on"
    else:
        reason = "it is an argument of vLLM"
    return warning("LLM205", f"{key} has no effect in {_where(subject)}: {reason}")


def _argument_of_another_vllm(subject: Subject, key: str, name: str) -> Finding:
    where = _where(subject)
    if engine_argument_state(name, subject.version) == "doubtful":
        return warning(
            "LLM220", f"newer releases of vLLM seem to have dropped {key} ({where})"
        )
    reason = "it came with a later release of vLLM"
    return warning("LLM205", f"{key} has no effect in {where}: {reason}")


def _when(spans: Iterable[Span]) -> str:
    known = list(spans)
    first, last = known[0].first, known[-1].last
    if any(span.last is None for span in known):
        return f"it came with LMI {first}"
    return f"it was known from LMI {first} to {last}"


def _whose(subject: Subject, spans: Iterable[Span]) -> str:
    names = sorted({span.backend for span in spans})
    now = [
        name
        for name in names
        if any(
            s.covers(row)
            for s in spans
            if s.backend == name
            for row in subject.version.rows
        )
    ]
    return any_of(now or names)


def _names_here(subject: Subject) -> tuple[str, ...]:
    passes = "vllm" in subject.launch.backends and _passes_through(subject)
    return _known_names(tuple(_readers(subject)), subject.version, passes)


@functools.cache
def _known_names(
    readers: tuple[str, ...],
    version: LmiVersion,
    passes: bool,  # noqa: FBT001
) -> tuple[str, ...]:
    names = [name for name in option_names() if is_known(name, readers, version)]
    if passes:
        names += sorted(f"option.{name}" for name in engine_arguments())
    return tuple(names)


def _value_findings(subject: Subject, key: str, value: str) -> Iterator[Finding]:
    if key in _TIMEOUTS:
        fault = java_int_fault(value)
        if fault:
            yield warning(
                "LLM209", f"{key} must be {fault}, got {value!r}: it is ignored"
            )
        return
    front = front_end_type(key)
    if front and front.kind in ("int", "int-or-max"):
        yield from _java_findings(key, value, front)
        return
    yield from _model_findings(subject, key, value)


def _java_findings(key: str, value: str, front: OptionType) -> Iterator[Finding]:
    if front.kind == "int-or-max" and value == "max":
        return
    fault = java_int_fault(value)
    if fault:
        rule = f"{fault} or max" if front.kind == "int-or-max" else fault
        yield error("LLM135", f"{key} must be {rule}, got {value!r}")


def _model_findings(subject: Subject, key: str, value: str) -> Iterator[Finding]:
    declared = _declared(subject, key)
    faults = [_fault(subject, one, key, value) for one in declared]
    if not faults or None in faults:
        yield from _documented_findings(declared, key, value)
        return
    kind = declared[0].kind
    code = "LLM136" if kind in ("enum", "int-enum") else "LLM135"
    if kind == "enum" and declared[0].documented_only:
        yield warning("LLM212", f"{key} is documented as {faults[0]}, got {value!r}")
        return
    near = nearest(value, declared[0].choices, count=1)
    remedy = f"did you mean {near[0]}?" if near else ""
    yield error(code, f"{key} must be {faults[0]}, got {value!r}", remedy)


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
    if backend != "vllm" or not _passes_through(subject):
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
                yield warning(
                    "LLM212", f"{key} is documented as above {one.above:g}, got {value}"
                )
            if one.range and not one.range[0] <= number <= one.range[1]:
                low, high = one.range
                yield warning(
                    "LLM212",
                    f"{key} is documented as {low:g} to {high:g}, got {value}",
                )


def _has_code_of_its_own(subject: Subject) -> bool:
    # Code of the user's may read any option.
    entry_point = subject.option("entryPoint")
    return entry_point is not None and not entry_point.startswith("djl_python.")


def _where(subject: Subject) -> str:
    names = {"huggingface": "Hugging Face Accelerate", "neuronx": "NeuronX"}
    backends = [names.get(name, name) for name in subject.launch.backends]
    return f"{any_of(backends)} at LMI {subject.version}"
