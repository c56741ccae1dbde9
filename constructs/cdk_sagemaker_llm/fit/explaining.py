"""
A plan in words and numbers.
"""

from __future__ import annotations

from typing import Protocol

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions
from cdk_sagemaker_llm.fit.memory import GIB, MemoryTerms

_NAMES = {
    "weights": "weights",
    "runtime": "runtime",
    "activations": "activations",
    "cuda_graphs": "CUDA graphs",
    "kv_cache": "KV cache of one sequence",
}


class Explicable(Protocol):
    """
    What an explanation needs of a plan; its own docstrings say what each is.
    """

    @property
    def architecture(self) -> ModelArchitecture: ...
    @property
    def instance_type(self) -> InstanceType: ...
    @property
    def weight_bits(self) -> int: ...
    @property
    def context_length(self) -> int: ...
    @property
    def tensor_parallel_degree(self) -> int: ...
    @property
    def terms(self) -> MemoryTerms: ...
    @property
    def assumptions(self) -> Assumptions: ...
    @property
    def obstacle(self) -> str: ...
    @property
    def capacity(self) -> int: ...
    @property
    def kv_cache_room(self) -> int: ...
    @property
    def kv_cache_tokens(self) -> int: ...
    @property
    def loads(self) -> bool: ...
    @property
    def fits(self) -> bool: ...
    @property
    def replicas(self) -> int: ...
    @property
    def concurrent_sequences(self) -> int: ...
    @property
    def limit(self) -> str: ...


def explanation(plan: Explicable) -> str:
    """
    Show a plan's arithmetic, per accelerator, and what it comes to.
    """
    return "\n".join([_head(plan), "", *_table(plan), "", *_verdict(plan)])


def _head(plan: Explicable) -> str:
    hardware, model = plan.instance_type, plan.architecture
    return (
        f"{model.architecture}, {model.parameter_count:,} parameters in "
        f"{plan.weight_bits} bits, {plan.context_length} tokens of context\n"
        f"on {hardware}: {hardware.accelerators} x {hardware.accelerator_model} with "
        f"{hardware.accelerator_memory_gib:g} GiB, tensor parallel degree "
        f"{plan.tensor_parallel_degree}"
    )


def _table(plan: Explicable) -> list[str]:
    rows = [
        (_NAMES[name], value, _how(plan, name))
        for name, value in plan.terms.items().items()
    ]
    lines = [f"{'per accelerator':<26}{'GiB':>8}"]
    lines += [f"  {name:<24}{value / GIB:>8.2f}  {how}" for name, value, how in rows]
    lines.append(f"  {'total':<24}{plan.terms.total / GIB:>8.2f}")
    lines.append(f"  {'capacity':<24}{plan.capacity / GIB:>8.2f}")
    return lines


def _how(plan: Explicable, name: str) -> str:
    taken, degree = plan.assumptions, plan.tensor_parallel_degree
    tokens = min(plan.context_length, taken.max_num_batched_tokens)
    split = f", split over {degree}" if degree > 1 else ""
    return {
        "weights": f"{plan.architecture.parameter_count:,} parameters{split}",
        "runtime": "CUDA context, kernels" + (", collectives" if degree > 1 else ""),
        "activations": f"a prefill of {tokens} tokens",
        "cuda_graphs": f"beyond the engine's share of {taken.gpu_memory_utilization:g}",
        "kv_cache": f"{plan.context_length} tokens{split}",
    }[name]


def _verdict(plan: Explicable) -> list[str]:
    return [_says(plan), f"limit: {plan.limit}"]


def _says(plan: Explicable) -> str:
    room = plan.kv_cache_room / GIB
    if plan.obstacle:
        return f"does not start: {plan.obstacle}"
    if not plan.loads:
        return f"does not load: {-room:.2f} GiB short before any KV cache"
    if not plan.fits:
        return (
            f"loads, but its KV cache holds {plan.kv_cache_tokens} tokens, fewer than "
            f"one sequence of {plan.context_length}"
        )
    return (
        f"fits: {plan.replicas} per instance; each has {room:.2f} GiB for KV cache on "
        f"each accelerator: {plan.kv_cache_tokens} tokens, "
        f"{plan.concurrent_sequences} sequences of {plan.context_length}"
    )
