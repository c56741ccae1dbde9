"""
Checks of how the engine is split over the accelerators, and of what these are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import Engine
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    PARSERS,
    EngineSubject,
)
from cdk_sagemaker_llm.serving.images import gpu_findings

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


def check_devices(subject: EngineSubject) -> Iterator[Finding]:
    """
    The engine is split over the accelerators that there are: nothing derives that.
    """
    table, present = _split(subject), subject.accelerators
    if table is None or not present or any(map(subject.is_told, _ELSEWHERE)):
        return
    names = _parts(subject, table)
    sizes = {name: subject.number(name) for name in names if subject.is_told(name)}
    if any(size is None or size < 1 for size in sizes.values()):
        return
    needed = 1
    for size in sizes.values():
        needed *= size or 1
    said = " x ".join(
        f"{subject.variable(name)}={size}" for name, size in sizes.items()
    )
    tensor = subject.variable(_TENSOR[table])
    if needed > present:
        yield TOO_FEW_DEVICES.finding(
            f"{said} needs {needed} accelerators, and there are {present}",
            _fewer([subject.variable(name) for name in sizes], present),
        )
    elif needed < present:
        left = f"{said} takes {needed}" if said else f"{tensor} left out is 1"
        yield IDLE_DEVICES.finding(
            f"{left} of {present} accelerators: the others stay idle",
            f"set {tensor}, or give each copy fewer accelerators",
        )


def check_omni_devices(subject: EngineSubject) -> Iterator[Finding]:
    """
    A diffusion model of vLLM-Omni gets the GPUs that it is to run on.

    Each stage asks for its own (vllm_omni/engine/stage_init_utils.py of 0.28.0).
    """
    rule, present = subject.rule, subject.accelerators
    if rule is None or not present:
        return
    variable = rule.variable(_OMNI_GPUS)
    asked = subject.own.get(variable, "")
    if _WHOLE.fullmatch(asked) and int(asked) > present:
        yield TOO_FEW_DEVICES.finding(
            f"{subject.word(variable)}={asked} needs {asked} accelerators, and there "
            f"are {present}",
            f"write {subject.word(variable)}={present}",
        )


UNEVEN_HEADS = Rule(
    "LLM517",
    "the tensor parallel size does not divide the attention heads",
    "verify_with_parallel_config in vllm/config/model.py; sglang/srt/models",
)


def check_heads(subject: EngineSubject) -> Iterator[Finding]:
    """
    Tensor parallelism divides the attention heads: vLLM says so itself, and SGLang's
    models assert it where they are made.
    """
    table, heads = _split(subject), subject.attention_heads
    if table is None or not heads or any(map(subject.is_told, _OVERRIDES)):
        return
    size = subject.number(_TENSOR[table])
    # Each of the copies that share the devices splits its attention over its own.
    within = subject.number(_COPIES[table]) if _shares_devices(subject, table) else 1
    if not size or size < 1 or not within or heads % max(size // within, 1) == 0:
        return
    fitting = [str(each) for each in (1, 2, 4, 8, 16) if heads % each == 0]
    yield UNEVEN_HEADS.finding(
        f"{subject.variable(_TENSOR[table])} must divide the {heads} attention heads, "
        f"got {size}",
        f"use {', '.join(fitting)}",
    )


def check_gpu(subject: EngineSubject) -> Iterator[Finding]:
    """
    The image has kernels for the GPUs: TEI's ends without, others may have some.
    """
    yield from gpu_findings(subject.image, subject.accelerator_model)


def _fewer(names: list[str], present: int) -> str:
    """
    Say what splits the engine over no more devices than there are.
    """
    if len(names) == 1:
        return f"write {names[0]}={present}"
    return f"lower one of them, to {present} together"


def _split(subject: EngineSubject) -> Engine | None:
    # vLLM-Omni runs several engines, each split in its own way.
    return subject.table if subject.table == subject.image.engine else None


def _parts(subject: EngineSubject, table: str) -> tuple[str, ...]:
    copies = () if _shares_devices(subject, table) else (_COPIES[table],)
    return (_TENSOR[table], _STAGES[table], *copies)


def _shares_devices(subject: EngineSubject, table: str) -> bool:
    # SGLang's data parallel attention splits the devices of tensor parallelism.
    return table == "sglang" and subject.is_told("enable-dp-attention")
