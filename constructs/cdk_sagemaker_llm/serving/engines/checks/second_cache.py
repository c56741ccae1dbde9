"""
Checks of the second KV cache that Hugging Face's images of vLLM keep on the host.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    ENTRY_POINTS,
    EngineSubject,
)

_SWITCH, _ALL = "HF_ENABLE_LMCACHE", "HF_ENABLE_OPTIMIZATIONS"
_FRACTION = "HF_LMCACHE_CPU_FRACTION"
_USUAL_FRACTION = 0.5
# 5 GB at least, whatever the host has.
_LEAST_GIB = 5 * 10**9 / 2**30
# Classes that keep a state beside the cache, or a state alone.
_WITH_STATE = (
    "Bamba",
    "FalconH1",
    "FalconMamba",
    "GraniteMoeHybrid",
    "Jamba",
    "KimiLinear",
    "Mamba",
    "NemotronH",
    "Qwen3Next",
    "Qwen3_5",
    "Zamba",
)
_POOLING = ("ForSequenceClassification", "ForMaskedLM", "Model")
_TASKS = ("embed", "embedding", "classify", "score", "reward")

SECOND_CACHE = Rule(
    "LLM637",
    "a second KV cache is kept in the host's memory, though nobody asked for it",
    f"{ENTRY_POINTS}, those of Hugging Face",
)


def check_second_cache(subject: EngineSubject) -> Iterator[Finding]:
    """
    LMCache is on unless it is switched off, and takes half of the host's memory.
    """
    rule = subject.rule
    if rule is None or rule.name != "hf-vllm-B" or not _is_on(subject):
        return
    size, kind = _size(subject), _kind(subject)
    if size or kind:
        because = f"; it is not for {kind}" if kind else ""
        yield SECOND_CACHE.finding(
            f"{_SWITCH} is on by default, and keeps a second KV cache in "
            f"{size or 'half of the memory of the host'}{because}",
            f"write {_SWITCH}=0, or {_SWITCH}=1 if that is meant",
        )


def _is_on(subject: EngineSubject) -> bool:
    """
    Whether nobody said that it is to be on, and nothing switches it off.
    """
    if subject.is_set(_SWITCH) or subject.is_told("kv-transfer-config"):
        return False
    # Anything but 1 ends the script; an empty value is as one that is left out.
    return (subject.environment.get(_ALL) or "1") == "1" and _ALL not in subject.hidden


def _size(subject: EngineSubject) -> str:
    memory = subject.memory_gib
    if memory is None or _FRACTION in subject.hidden:
        return ""
    try:
        fraction = float(subject.environment.get(_FRACTION, _USUAL_FRACTION))
    except ValueError:
        return ""
    # No number is smaller or larger than NaN.
    if not 0 <= fraction <= 1:
        return ""
    kept = max(memory * fraction, _LEAST_GIB)
    return f"{kept:.1f} of the {memory:g} GiB of the host"


def _kind(subject: EngineSubject) -> str:
    """
    Say what the model is, where such a cache is of no use to it.
    """
    name = subject.architecture or ""
    task, runner = subject.value("task"), subject.value("runner")
    if runner == "pooling" or task in _TASKS or name.endswith(_POOLING):
        return "models that make embeddings or scores"
    if name.startswith(_WITH_STATE):
        return f"models that keep a state, as {name}"
    return ""
