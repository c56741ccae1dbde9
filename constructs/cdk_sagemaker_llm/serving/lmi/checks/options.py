"""
Checks of single options: is the name known, has it an effect, can the value be read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from cdk_sagemaker_llm.catalog.lmi import (
    ARGUMENTS_SINCE,
    LmiVersion,
    OptionType,
    Span,
    deprecated_since,
    engine_argument_state,
    engine_arguments,
    front_end_type,
    is_known,
    lmi_models,
    option_names,
    option_spans,
    option_type,
    row_versions,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.launch import (
    DOCUMENTATION,
    FRONT_END,
    MODELS,
    Subject,
)
from cdk_sagemaker_llm.serving.lmi.properties import fault_of, java_int_fault
from cdk_sagemaker_llm.serving.parameters import WRONG_CHOICE
from cdk_sagemaker_llm.text import any_of, nearest

# The documentation of 0.26 lists them with the prefix, and the server reads them
# without it.
_WITHOUT_PREFIX = ("option.max_batch_delay", "option.max_idle_time")
_TENSORRT_LLM_EXTRAS = frozenset(lmi_models()["tensorrt_llm_extras"])
# Each is compared with hundreds of names, for every image that may read the file.
_MOST_TOLD = 50

UNKNOWN_OPTION = Rule("LLM204", "an option does not exist and is ignored", MODELS)
NO_EFFECT = Rule(
    "LLM205", "an option has no effect with that backend or version", MODELS
)
WRONG_PREFIX = Rule("LLM210", "a key has a prefix too many or too few", FRONT_END)
DROPPED_ARGUMENT = Rule(
    "LLM220",
    "an argument that newer releases of vLLM seem to have dropped",
    "not verified",
)
READ_BY_NOTHING = Rule(
    "LLM158", "an option has no effect, and nothing else could read it", MODELS
)

# Read by LmiUtils and the handlers beside their property models (0.25 to 0.36).
_TIMEOUTS = ("option.model_loading_timeout", "option.predict_timeout")
_CHECKED_ELSEWHERE = ("engine", "option.rolling_batch")

WRONG_TYPE = Rule("LLM135", "a value is not of the option's type", MODELS)
REPLACED_VALUE = Rule("LLM209", "the container replaces or ignores a value", MODELS)
UNDOCUMENTED_VALUE = Rule(
    "LLM212", "a value is outside what is documented", DOCUMENTATION
)


def name_findings(subject: Subject) -> Iterator[Finding]:
    """
    Every option has an effect at this version.

    Code beside the file may read any option, so that one without effect is a
    warning; where there is none such it is an error, but for what an older version
    knew, which files carry along from image to image.
    """
    foreign = [
        key
        for key in subject.properties
        if key not in _WITHOUT_PREFIX
        and key.removeprefix("option.") not in _TENSORRT_LLM_EXTRAS
        and not is_option_name(key)
        and not is_option_name(f"option.{key}")
    ]
    untold = frozenset(foreign[_MOST_TOLD:])
    for key in subject.properties:
        if key in untold:
            continue
        # A release that the tables do not reach may have learned the option.
        certain = subject.version.is_described and not _was_known(subject, key)
        strict = subject.strict and certain
        for finding in _key_findings(subject, key):
            yield _as_error(finding) if strict else finding
    if untold:
        rest = UNKNOWN_OPTION.finding(
            f"{len(untold)} more names are no options of {_where(subject)}: they are "
            "ignored",
            "leave them out",
        )
        strict = subject.strict and subject.version.is_described
        yield _as_error(rest) if strict else rest


def _was_known(subject: Subject, key: str) -> bool:
    """
    Whether one of the file's own readers knew a key before this version, and does no
    more.
    """
    readers = {*_readers(subject), "common", "server"}
    spans = [span for span in option_spans(key) if span.backend in readers]
    order, here = row_versions(), subject.version.rows[0]
    return any(
        span.last in order and order.index(span.last) < order.index(here)
        for span in spans
    )


def _as_error(finding: Finding) -> Finding:
    if finding.code == DROPPED_ARGUMENT.code:
        return finding
    return READ_BY_NOTHING.finding(finding.message, finding.remedy)


def _key_findings(subject: Subject, key: str) -> Iterator[Finding]:
    if key in _WITHOUT_PREFIX:
        plain = key.removeprefix("option.")
        yield WRONG_PREFIX.finding(
            f"{key} has no effect: the server reads {plain}", f"write {plain}"
        )
    elif not key.startswith("option.") and is_option_name(f"option.{key}"):
        if not option_spans(key):
            yield WRONG_PREFIX.finding(
                f"{key} has no effect: the backend reads option.{key}",
                f"write option.{key}",
            )
        elif not is_known(key, (), subject.version):
            yield _not_at_this_version(subject, key)
    elif not _has_effect(subject, key):
        yield _without_effect(subject, key)


@functools.lru_cache(maxsize=16384)
def is_option_name(key: str) -> bool:
    """
    Whether some version knows the key, as an option or an argument of vLLM.
    """
    return bool(option_spans(key)) or key.removeprefix("option.") in engine_arguments()


def passes_through(subject: Subject) -> bool:
    """
    Whether this version hands what it does not know itself on to vLLM.
    """
    return subject.version.at_least(ARGUMENTS_SINCE)


def _has_effect(subject: Subject, key: str) -> bool:
    if is_known(key, _readers(subject), subject.version):
        return True
    if not key.startswith("option."):
        return False
    name = key.removeprefix("option.")
    if "vllm" in subject.launch.backends and passes_through(subject):
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


def _without_effect(subject: Subject, key: str) -> Finding:
    name = key.removeprefix("option.")
    is_argument = key.startswith("option.") and name in engine_arguments()
    if is_argument and passes_through(subject) and "vllm" in subject.launch.backends:
        where = _where(subject)
        if engine_argument_state(name, subject.version) == "doubtful":
            return DROPPED_ARGUMENT.finding(
                f"newer releases of vLLM seem to have dropped {key} ({where})"
            )
        reason = "it came with a later release of vLLM"
        return NO_EFFECT.finding(f"{key} has no effect in {where}: {reason}")
    if option_spans(key):
        return _not_at_this_version(subject, key)
    if is_argument:
        reason = "it is an argument of vLLM"
        if "vllm" in subject.launch.backends:
            reason = f"arguments of vLLM pass through from LMI {ARGUMENTS_SINCE} on"
        return NO_EFFECT.finding(f"{key} has no effect in {_where(subject)}: {reason}")
    near = nearest(key, _names_here(subject), count=1) or nearest(
        key, option_names(), 1
    )
    remedy = f"did you mean {near[0]}?" if near else "leave it out"
    return UNKNOWN_OPTION.finding(
        f"{key} is no option of {_where(subject)}: it is ignored", remedy
    )


def _not_at_this_version(subject: Subject, key: str) -> Finding:
    readers = {*_readers(subject), "common", "server"}
    spans = option_spans(key)
    own = [span for span in spans if span.backend in readers]
    remedy = "leave it out"
    if not own:
        reason = f"it is an option of {_whose(subject, spans)}"
    else:
        first, last = own[0].first, own[-1].last
        reason = f"it was known from LMI {first} to {last}"
        if any(span.last is None for span in own):
            reason = f"it came with LMI {first}"
        near = nearest(key, [n for n in _names_here(subject) if n != key], count=1)
        remedy = f"leave it out, or write {near[0]}" if near else remedy
    return NO_EFFECT.finding(
        f"{key} has no effect in {_where(subject)}: {reason}", remedy
    )


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
    passes = "vllm" in subject.launch.backends and passes_through(subject)
    return _known_names(tuple(_readers(subject)), subject.version, passes)


@functools.cache
def _known_names(
    readers: tuple[str, ...],
    version: LmiVersion,
    passes: bool,  # noqa: FBT001 - cached, so by place
) -> tuple[str, ...]:
    names = [name for name in option_names() if is_known(name, readers, version)]
    if passes:
        names += sorted(f"option.{name}" for name in engine_arguments())
    return tuple(names)


def _where(subject: Subject) -> str:
    names = {"huggingface": "Hugging Face Accelerate", "neuronx": "NeuronX"}
    backends = [names.get(name, name) for name in subject.launch.backends]
    return f"{any_of(backends)} at LMI {subject.version}"


def value_findings(subject: Subject) -> Iterator[Finding]:
    """
    Every value can be read.
    """
    for key, value in subject.properties.items():
        fault = java_int_fault(value) if key in _TIMEOUTS else None
        if fault:
            yield REPLACED_VALUE.finding(
                f"{key} must be {fault}, got {value!r}: it is ignored"
            )
        elif key not in (*_CHECKED_ELSEWHERE, *_TIMEOUTS):
            yield from _reader_findings(subject, key, value)


DEPRECATED = Rule("LLM208", "an option is deprecated", DOCUMENTATION)


def deprecation_findings(subject: Subject) -> Iterator[Finding]:
    """
    An option that its documentation calls deprecated.
    """
    for key in subject.properties:
        since = deprecated_since(key)
        if since:
            yield DEPRECATED.finding(f"{key} is deprecated since LMI {since}")


def _reader_findings(subject: Subject, key: str, value: str) -> Iterator[Finding]:
    front = front_end_type(key)
    read = is_known(key, (), subject.version)
    if not front or not read or front.kind not in ("int", "int-or-max"):
        yield from _model_findings(subject, key, value)
        return
    may_be_max = front.kind == "int-or-max"
    fault = None if may_be_max and value == "max" else java_int_fault(value)
    if fault:
        expectation = f"{fault} or max" if may_be_max else fault
        yield WRONG_TYPE.finding(f"{key} must be {expectation}, got {value!r}")


def _model_findings(subject: Subject, key: str, value: str) -> Iterator[Finding]:
    declared = _option_types(subject, key, value)
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


def _option_types(subject: Subject, key: str, value: str) -> list[OptionType]:
    """
    Return how those declare an option who may refuse its value: the backends, or the
    handler that stands before them.
    """
    declared = _declared(subject, key)
    name = "hf" if subject.passes_handler() else None
    if subject.launch.container == "djl-neuronx":
        name = "neuronx"
    first = option_type(name, key, subject.version) if name else None
    if first is None or _fault(subject, first, key, value) is None:
        return declared
    both = [c for one in declared[:1] for c in one.choices if c in first.choices]
    return [first._replace(choices=tuple(both) or first.choices)]


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
        found.append(one)
    # A backend that does not know the option takes any value.
    return [one for one in found if one] if all(found) else []


def _model_of(subject: Subject, backend: str) -> str:
    # At 0.25 only the handler had a property model; the schedulers had none.
    handled = backend in ("vllm", "lmi-dist", "scheduler")
    early = handled and subject.version.before("0.26")
    return "hf" if backend == "huggingface" or early else backend


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
