"""
How a model fits an instance type, in numbers and in words.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions
from cdk_sagemaker_llm.fit.memory import BLOCK_TOKENS, GIB, MemoryTerms, token_bytes
from cdk_sagemaker_llm.fit.placement import ResourceRequirements

# Of the CPU cores that are a copy's share, what it asks for: the host needs some too.
_CPU_SHARE = 0.8
# The scheduler has far less memory to give than the host has: on ml.g5.xlarge with 16
# GiB a reservation of 1024 MiB is accepted and one of 4096 MiB refused (measured
# 2026-07 by others). It is no cap, so that the smallest usual one does no harm.
_RESERVED_MEMORY_MIB = 1024
_NAMES = {
    "weights": "weights",
    "runtime": "runtime",
    "activations": "activations",
    "cuda_graphs": "CUDA graphs",
    "kv_cache": "KV cache of one sequence",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """
    How a model fits an instance type.

    Args:
        architecture: The model.

        instance_type: The instance type.

        weight_bits: Bits of a weight.

        context_length: Tokens that a sequence must be able to have.

        tensor_parallel_degree: Over how many accelerators a copy is split.

        terms: What each of those accelerators holds, in bytes.

        assumptions: What was taken for granted of the engine.

        obstacle: Why the degree itself is impossible; empty if it is not.
    """

    architecture: ModelArchitecture
    instance_type: InstanceType
    weight_bits: int
    context_length: int
    tensor_parallel_degree: int
    terms: MemoryTerms
    assumptions: Assumptions
    obstacle: str = ""

    @property
    def capacity(self) -> int:
        """
        The memory of one accelerator in bytes, as the EC2 API counts it.
        """
        return int(self.instance_type.accelerator_memory_gib * GIB)

    @property
    def kv_cache_room(self) -> int:
        """
        The bytes of one accelerator that are left for the cache; negative if short.
        """
        share = int(self.capacity * self.assumptions.gpu_memory_utilization)
        beyond = self.capacity - self.terms.cuda_graphs
        return min(share, beyond) - self.terms.fixed

    @property
    def kv_cache_tokens(self) -> int:
        """
        How many tokens of all sequences together the cache holds.
        """
        per_token = token_bytes(
            self.architecture, self.tensor_parallel_degree, self.assumptions
        )
        blocks = max(self.kv_cache_room, 0) // (per_token * BLOCK_TOKENS)
        return blocks * BLOCK_TOKENS

    @property
    def loads(self) -> bool:
        """
        Whether the engine starts: the cache has room for something.
        """
        return not self.obstacle and self.kv_cache_tokens > 0

    @property
    def fits(self) -> bool:
        """
        Whether it starts and holds at least one whole sequence.
        """
        return self.loads and self.kv_cache_room >= self.terms.kv_cache

    @property
    def replicas(self) -> int:
        """
        How many copies one instance holds.
        """
        if not self.fits:
            return 0
        return self.instance_type.accelerators // self.tensor_parallel_degree

    @property
    def concurrent_sequences(self) -> int:
        """
        How many whole sequences one copy holds at the same time.
        """
        return self.kv_cache_room // self.terms.kv_cache if self.fits else 0

    @property
    def largest_batch(self) -> int:
        """
        How many sequences one step can serve: those that fit, and the engine's most.
        """
        return min(self.concurrent_sequences, self.assumptions.max_num_seqs)

    @property
    def largest_context(self) -> int:
        """
        The longest sequence that one copy can hold, up to the model's own limit.
        """
        return min(self.kv_cache_tokens, self.architecture.context_length)

    @property
    def headroom(self) -> int:
        """
        The bytes of one accelerator that no term takes; negative if short.
        """
        return self.capacity - self.terms.total

    @property
    def limit(self) -> str:
        """
        Which term decides: the one that is too much, or what more copies would need.
        """
        if self.obstacle:
            return "tensor_parallel_degree"
        if self.fits:
            return "accelerators"
        left = self.kv_cache_room + self.terms.fixed
        for name in ("weights", "runtime", "activations"):
            left -= self.terms.items()[name]
            if left <= 0:
                return name
        return "kv_cache"

    @property
    def resources(self) -> ResourceRequirements:
        """
        What to ask for each copy, and as many copies as one instance holds.
        """
        degree = self.tensor_parallel_degree
        share = self.instance_type.vcpus * degree / self.instance_type.accelerators
        return ResourceRequirements(
            copies=max(self.replicas, 1),
            accelerators=degree,
            cpus=max(1, int(share * _CPU_SHARE)),
            memory_mib=_RESERVED_MEMORY_MIB,
        )

    def explain(self) -> str:
        """
        Show the arithmetic, per accelerator, and what it comes to.
        """
        return "\n".join([_head(self), "", *_table(self), "", *_verdict(self)])


def _head(plan: Plan) -> str:
    hardware, model = plan.instance_type, plan.architecture
    return (
        f"{model.architecture}, {model.parameter_count:,} parameters in "
        f"{plan.weight_bits} bits, {plan.context_length} tokens of context\n"
        f"on {hardware}: {hardware.accelerators} x {hardware.accelerator_model} with "
        f"{hardware.accelerator_memory_gib:g} GiB, tensor parallel degree "
        f"{plan.tensor_parallel_degree}"
    )


def _table(plan: Plan) -> list[str]:
    rows = [
        (_NAMES[name], value, _how(plan, name))
        for name, value in plan.terms.items().items()
    ]
    lines = [f"{'per accelerator':<26}{'GiB':>8}"]
    lines += [f"  {name:<24}{value / GIB:>8.2f}  {how}" for name, value, how in rows]
    lines.append(f"  {'total':<24}{plan.terms.total / GIB:>8.2f}")
    lines.append(f"  {'capacity':<24}{plan.capacity / GIB:>8.2f}")
    return lines


def _how(plan: Plan, name: str) -> str:
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


def _verdict(plan: Plan) -> list[str]:
    return [_says(plan), f"limit: {plan.limit}"]


def _says(plan: Plan) -> str:
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
