"""
The longest sequence that is asked for, against that of the checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.checkpoint import Checkpoint
from cdk_sagemaker_llm.serving.support.support_subject import Subject

_SOURCE = "vllm/config/model.py, _get_and_verify_max_len"
_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
    "max_target_positions",
)
_UNSCALED = frozenset({"su", "longrope", "llama3", "default", "mrope", "proportional"})
_YARN = frozenset({"yarn", "deepseek_yarn", "deepseek_llama_scaling"})
# From here on yarn no longer lengthens it by the source, though the docs still say so.
_YARN_STANDS = "0.30.0"
_OVERRIDE = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
_OVERRIDE_SINCE = "0.5.4"
_UNITS = {"k": 1000, "m": 10**6, "g": 10**9, "K": 1024, "M": 2**20, "G": 2**30}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)([kmgKMG]?)")

TOO_LONG = Rule("LLM931", "a longer sequence than the checkpoint was made for", _SOURCE)
LONGER_BY_FORCE = Rule(
    "LLM888", "a longer sequence than the checkpoint was made for is forced", _SOURCE
)


def length_findings(subject: Subject) -> Iterator[Finding]:
    """
    The length that is asked for is within the checkpoint's.
    """
    length = asked_length(subject.arguments.get("max_model_len"))
    longest = longest_of(subject)
    if length is None or longest is None or length <= longest:
        return
    word = subject.word("max_model_len")
    text = (
        f"{word} must be at most {longest}, which {subject.checkpoint.name} was made "
        f"for, got {length}"
    )
    is_forced = subject.environment.get(_OVERRIDE, "").lower() in {"1", "true"}
    if is_forced and subject.is_at(_OVERRIDE_SINCE):
        yield LONGER_BY_FORCE.finding(
            f"{text}; {_OVERRIDE} lets {subject.title} start all the same, and what is "
            "beyond may be wrong"
        )
    else:
        way = (
            f", or set {_OVERRIDE}=1{subject.words.get(_OVERRIDE, '')} if the model is "
            "known to take it"
            if subject.is_at(_OVERRIDE_SINCE)
            else ""
        )
        yield TOO_LONG.finding(text, f"write {longest}, or leave it out{way}")


def asked_length(value: object) -> int | None:
    """
    Return a length as vLLM reads it, such as ``32k``; ``None`` where it decides.
    """
    if isinstance(value, bool) or value is None:
        return None
    match = _LENGTH.fullmatch(str(value).strip())
    if match is None:
        return None
    return int(float(match[1]) * _UNITS.get(match[2], 1))


def longest_of(subject: Subject) -> int | None:
    """
    Return the longest sequence that vLLM derives from config.json; ``None`` where it is
    not known.
    """
    checkpoint = subject.checkpoint
    text = checkpoint.text
    if _is_gemma_3(checkpoint) and not checkpoint.number(*_KEYS):
        return None
    found: list[int] = [text[key] for key in _KEYS if type(text.get(key)) is int]
    if not found:
        return None
    longest: int = min(found)
    scaling = _scaling(text)
    kind = str(scaling.get("rope_type") or scaling.get("type") or "default")
    if kind in _YARN and subject.is_at(_YARN_STANDS):
        return None
    if kind not in _UNSCALED and not _is_gemma_3(checkpoint):
        factor = scaling.get("factor", 1)
        if not isinstance(factor, int | float):
            return None
        if kind in _YARN:
            original = scaling.get("original_max_position_embeddings")
            longest = original if isinstance(original, int) else longest
        longest = int(longest * factor)
    # A larger one in config.json lifts it, as in Command-R.
    beside = text.get("model_max_length")
    if isinstance(beside, int) and beside > longest:
        longest = beside
    window = text.get("sliding_window")
    is_capped = subject.flag("disable_sliding_window") or _is_capped(subject)
    if is_capped and isinstance(window, int):
        longest = min(longest, window)
    return longest


def _is_capped(subject: Subject) -> bool:
    """
    Whether the release looks at all of what only some layers look at, and so at no more
    than the window.
    """
    kind = subject.checkpoint.model_type or ""
    if kind == "gemma2" and subject.is_at("0.5.1", "0.6.3.post1"):
        return True
    # Later ones do so where these backends are asked for, the last on its old engine.
    backend = subject.environment.get("VLLM_ATTENTION_BACKEND")
    is_old = subject.is_at("0.7.0", "0.9.2")
    is_old |= subject.environment.get("VLLM_USE_V1") == "0" and subject.is_at(
        "0.10.0", "0.10.2"
    )
    kinds = {"gemma2", "cohere2"} | (
        {"gemma3_text"} if subject.is_at("0.8.0") else set()
    )
    return backend in {"XFORMERS", "FLASHINFER"} and kind in kinds and is_old


def _scaling(text: Mapping[str, object]) -> Mapping[str, object]:
    for key in ("rope_scaling", "rope_parameters"):
        value = text.get(key)
        if isinstance(value, Mapping):
            # Newer files have one for each kind of layer.
            if any(isinstance(one, Mapping) for one in value.values()):
                return {}
            return value
    return {}


def _is_gemma_3(checkpoint: Checkpoint) -> bool:
    return "gemma3" in (checkpoint.model_type or "")
