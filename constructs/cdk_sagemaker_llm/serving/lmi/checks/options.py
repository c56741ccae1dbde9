"""
Checks of single options: is the name known, has it an effect.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from cdk_sagemaker_llm.catalog.lmi import (
    ARGUMENTS_SINCE,
    LmiVersion,
    Span,
    engine_argument_state,
    engine_arguments,
    is_known,
    lmi_models,
    option_names,
    option_spans,
    row_versions,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.property_subject import (
    FRONT_END,
    MODELS,
    Subject,
)
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


def check_names(subject: Subject) -> Iterator[Finding]:
    """
    Every option has an effect at this version.

    Code beside the file may read any option, so that one without effect is a
    warning; where there is none such it is an error, but for what an older version
    knew, which files carry along from image to image.
    """
    foreign = [key for key in subject.properties if _is_foreign(key)]
    untold = frozenset(foreign[_MOST_TOLD:])
    for key in subject.properties:
        if key in untold:
            continue
        # A release that the tables do not reach may have learned the option.
        certain = subject.version.is_described and not _was_known(subject, key)
        strict = subject.strict and certain
        for finding in _name_findings(subject, key):
            yield _as_error(finding) if strict else finding
    if untold:
        rest = _untold(subject, len(untold))
        strict = subject.strict and subject.version.is_described
        yield _as_error(rest) if strict else rest


def _is_foreign(key: str) -> bool:
    """
    Whether no version of any backend knows a key, with its prefix or without.
    """
    name = key.removeprefix("option.")
    known = is_option_name(key) or is_option_name(f"option.{key}")
    return not known and key not in _WITHOUT_PREFIX and name not in _TENSORRT_LLM_EXTRAS


def _untold(subject: Subject, count: int) -> Finding:
    return UNKNOWN_OPTION.finding(
        f"{count} more names are no options of {_where(subject)}: they are ignored",
        "leave them out",
    )


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


def _name_findings(subject: Subject, key: str) -> Iterator[Finding]:
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
        return _argument_of_another_vllm(subject, key, name)
    if option_spans(key):
        return _not_at_this_version(subject, key)
    if is_argument:
        return _argument_of_vllm(subject, key)
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
    reason = _when(own) if own else f"it is an option of {_whose(subject, spans)}"
    return NO_EFFECT.finding(
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
    return NO_EFFECT.finding(f"{key} has no effect in {_where(subject)}: {reason}")


def _argument_of_another_vllm(subject: Subject, key: str, name: str) -> Finding:
    where = _where(subject)
    if engine_argument_state(name, subject.version) == "doubtful":
        return DROPPED_ARGUMENT.finding(
            f"newer releases of vLLM seem to have dropped {key} ({where})"
        )
    reason = "it came with a later release of vLLM"
    return NO_EFFECT.finding(f"{key} has no effect in {where}: {reason}")


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
