"""
Checks of the host: how the engine is split over its accelerators, what these are, and
the second KV cache that Hugging Face's images of vLLM keep in its memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import VLLM_STATEFUL, Engine
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.checks import uneven_heads
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    ENTRY_POINTS,
    PARSERS,
    EngineSubject,
)
from cdk_sagemaker_llm.serving.images import gpu_findings
from cdk_sagemaker_llm.text import counted

_WHOLE = re.compile(r"\d{1,18}")
_OMNI_GPUS = "num-gpus"
_TENSOR = {"vllm": "tensor-parallel-size", "sglang": "tp-size"}
_STAGES = {"vllm": "pipeline-parallel-size", "sglang": "pp-size"}
_COPIES = {"vllm": "data-parallel-size", "sglang": "dp-size"}
# With these the devices are counted in another way, or on other machines.
_ELSEWHERE = (
    "nnodes",
    "base-gpu-id",
    "gpu-id-step",
    "data-parallel-size-local",
    "data-parallel-rank",
    "data-parallel-start-rank",
    "data-parallel-backend",
    "distributed-executor-backend",
    "device",
    "config",
)

# What the model's config.json says is then otherwise.
_OVERRIDES = ("hf-overrides", "json-model-override-args")

TOO_FEW_DEVICES = Rule(
    "LLM516", "the engine is split over more accelerators than it has", PARSERS
)
IDLE_DEVICES = Rule(
    "LLM618",
    "accelerators stay idle: the engine does not split itself over them",
    "docs/vllm/configuration.md of aws/deep-learning-containers",
)

_CACHE_SWITCH, _ALL_SWITCHES = "HF_ENABLE_LMCACHE", "HF_ENABLE_OPTIMIZATIONS"
_CACHE_FRACTION = "HF_LMCACHE_CPU_FRACTION"
_USUAL_FRACTION = 0.5
# 5 GB at least, whatever the host has.
_LEAST_GIB = 5 * 10**9 / 2**30
_POOLING = ("ForSequenceClassification", "ForMaskedLM", "Model")
_TASKS = ("embed", "embedding", "classify", "score", "reward")

SECOND_CACHE = Rule(
    "LLM637",
    "a second KV cache is kept in the host's memory, though nobody asked for it",
    f"{ENTRY_POINTS}, those of Hugging Face",
)


def split_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The engine is split over the accelerators that there are: nothing derives that.
    """
    table, present = _split(subject), subject.accelerators
    if table is None or not present or any(map(subject.has_argument, _ELSEWHERE)):
        return
    names = _parts(subject, table)
    sizes = {name: subject.number(name) for name in names if subject.has_argument(name)}
    if any(size is None or size < 1 for size in sizes.values()):
        return
    needed = 1
    for size in sizes.values():
        needed *= size or 1
    split = " x ".join(
        f"{subject.variable(name)}={size}" for name, size in sizes.items()
    )
    tensor = subject.variable(_TENSOR[table])
    if needed > present:
        yield TOO_FEW_DEVICES.finding(
            f"{split or 'the engine'} needs {counted(needed, 'accelerator')}, and "
            f"there {'is' if present == 1 else 'are'} {present}",
            f"write {subject.variable(next(iter(sizes)))}={present}"
            if len(sizes) == 1
            else f"lower one of them, to {present} together",
        )
    elif needed < present:
        left = f"{split} takes {needed}" if split else f"{tensor} left out is 1"
        yield IDLE_DEVICES.finding(
            f"{left} of {present} accelerators: the others stay idle",
            f"set {tensor}, or give each copy fewer accelerators",
        )


def omni_device_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    A diffusion model of vLLM-Omni gets the GPUs that it is to run on.

    Each stage asks for its own (vllm_omni/engine/stage_init_utils.py of 0.28.0).
    """
    rule, present = subject.rule, subject.accelerators
    if rule is None or not present:
        return
    variable = rule.variable(_OMNI_GPUS)
    number = subject.own.get(variable, "")
    if _WHOLE.fullmatch(number) and int(number) > present:
        yield TOO_FEW_DEVICES.finding(
            f"{subject.word(variable)}={number} needs "
            f"{counted(int(number), 'accelerator')}, and there "
            f"{'is' if present == 1 else 'are'} {present}",
            f"write {subject.word(variable)}={present}",
        )


UNEVEN_HEADS = Rule(
    "LLM517",
    "the tensor parallel size does not divide the attention heads",
    "verify_with_parallel_config in vllm/config/model.py; sglang/srt/models",
)


def head_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Tensor parallelism divides the attention heads: vLLM says so itself, and SGLang's
    models assert it where they are made.
    """
    table, heads = _split(subject), subject.attention_heads
    if table is None or not heads or any(map(subject.has_argument, _OVERRIDES)):
        return
    size = subject.number(_TENSOR[table])
    # Each of the copies that share the devices splits its attention over its own.
    within = subject.number(_COPIES[table]) if _shares_devices(subject, table) else 1
    if not size or size < 1 or not within or heads % max(size // within, 1) == 0:
        return
    yield uneven_heads(UNEVEN_HEADS, subject.variable(_TENSOR[table]), heads, size)


def kernel_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The image has kernels for the GPUs: TEI's ends without, others may have some.
    """
    yield from gpu_findings(subject.image, subject.accelerator_model)


def _split(subject: EngineSubject) -> Engine | None:
    # vLLM-Omni runs several engines, each split in its own way.
    return subject.table if subject.table == subject.image.engine else None


def _parts(subject: EngineSubject, table: str) -> tuple[str, ...]:
    copies = () if _shares_devices(subject, table) else (_COPIES[table],)
    return (_TENSOR[table], _STAGES[table], *copies)


def _shares_devices(subject: EngineSubject, table: str) -> bool:
    # SGLang's data parallel attention splits the devices of tensor parallelism.
    return table == "sglang" and subject.has_argument("enable-dp-attention")


def second_cache_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    LMCache is on unless it is switched off, and takes half of the host's memory.
    """
    rule = subject.rule
    if rule is None or rule.name != "hf-vllm-B" or not _is_cache_on(subject):
        return
    size, kind = _cache_size(subject), _unsuited_kind(subject)
    if size or kind:
        because = f"; it is not for {kind}" if kind else ""
        yield SECOND_CACHE.finding(
            f"{_CACHE_SWITCH} is on by default, and keeps a second KV cache in "
            f"{size or 'half of the memory of the host'}{because}",
            f"write {_CACHE_SWITCH}=0, or {_CACHE_SWITCH}=1 if that is meant",
        )


def _is_cache_on(subject: EngineSubject) -> bool:
    """
    Whether nobody said that it is to be on, and nothing switches it off.
    """
    if subject.is_set(_CACHE_SWITCH) or subject.has_argument("kv-transfer-config"):
        return False
    # Anything but 1 ends the script; an empty value is as one that is left out.
    if _ALL_SWITCHES in subject.hidden:
        return False
    return (subject.environment.get(_ALL_SWITCHES) or "1") == "1"


def _cache_size(subject: EngineSubject) -> str:
    memory = subject.memory_gib
    if memory is None or _CACHE_FRACTION in subject.hidden:
        return ""
    try:
        fraction = float(subject.environment.get(_CACHE_FRACTION, _USUAL_FRACTION))
    except ValueError:
        return ""
    # No number is smaller or larger than NaN.
    if not 0 <= fraction <= 1:
        return ""
    kept = max(memory * fraction, _LEAST_GIB)
    return f"{kept:.1f} of the {memory:g} GiB of the host"


def _unsuited_kind(subject: EngineSubject) -> str:
    """
    Say what the model is, where such a cache is of no use to it.
    """
    name = subject.architecture or ""
    task, runner = subject.value("task"), subject.value("runner")
    if runner == "pooling" or task in _TASKS or name.endswith(_POOLING):
        return "models that make embeddings or scores"
    if name.startswith(VLLM_STATEFUL):
        return f"models that keep a state, as {name}"
    return ""
