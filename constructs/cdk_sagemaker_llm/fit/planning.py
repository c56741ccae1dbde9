"""
Whether a model fits an instance type, how often, and what decides it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.demand import Assumptions
from cdk_sagemaker_llm.fit.explaining import explanation
from cdk_sagemaker_llm.fit.memory import (
    BLOCK_TOKENS,
    GIB,
    MemoryTerms,
    memory_terms,
    token_bytes,
)
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.wording import any_of

# A plan without a context length is for this many tokens, or for as many as the model
# has if those are fewer: the length that published sizings of 2023 and 2024 are for.
DEFAULT_CONTEXT_LENGTH = 4096
WEIGHT_BITS = (4, 8, 16, 32)
# Of the CPU cores that are a copy's share, what it asks for: the host needs some too.
_CPU_SHARE = 0.8
# The scheduler has far less memory to give than the host has: on ml.g5.xlarge with 16
# GiB a reservation of 1024 MiB is accepted and one of 4096 MiB refused (measured
# 2026-07 by others). It is no cap, so that the smallest usual one does no harm.
_RESERVED_MEMORY_MIB = 1024


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
        return explanation(self)


def plan(
    architecture: ModelArchitecture | str,
    instance_type: InstanceType | str,
    *,
    weight_bits: int = 16,
    context_length: int | None = None,
    tensor_parallel_degree: int | None = None,
    assumptions: Assumptions | None = None,
) -> Plan:
    """
    Find out whether a model fits an instance type, and how many copies do.

    ``plan("meta-llama/Llama-2-13b-hf", "ml.p4d.24xlarge").replicas``

    Args:
        architecture: The model, or its name in the catalogue.

        instance_type: The instance type, or its API name.

        weight_bits: Bits of a weight: 32, 16, 8, or 4 for GPTQ and AWQ.

        context_length:
            Tokens of prompt and answer together that must be possible.
            Left out, 4096, or what the model has if that is less.

        tensor_parallel_degree:
            Over how many accelerators a copy is split.
            Left out, the smallest with which it fits.

        assumptions: What to take for granted of the engine. Left out, vLLM's.

    Raises:
        ValueError: If an argument is none that a plan can be made for.
    """
    model = _model(architecture)
    hardware = _hardware(instance_type)
    if weight_bits not in WEIGHT_BITS:
        choices = any_of(map(str, WEIGHT_BITS))
        raise ValueError(f"weight_bits must be {choices}, got {weight_bits}")
    tokens = _context(model, context_length)
    taken = assumptions or Assumptions()
    plans = [
        Plan(
            architecture=model,
            instance_type=hardware,
            weight_bits=weight_bits,
            context_length=tokens,
            tensor_parallel_degree=degree,
            terms=memory_terms(
                model,
                tensor_parallel_degree=degree,
                weight_bits=weight_bits,
                context_length=tokens,
                assumptions=taken,
            ),
            assumptions=taken,
            obstacle=_obstacle(model, hardware, degree),
        )
        for degree in _degrees(model, hardware, tensor_parallel_degree)
    ]
    return next((one for one in plans if one.fits), plans[-1])


def _degrees(
    model: ModelArchitecture, hardware: InstanceType, wanted: int | None
) -> list[int]:
    if wanted is not None:
        if wanted < 1:
            raise ValueError(f"tensor_parallel_degree must be at least 1, got {wanted}")
        return [wanted]
    # Widths other than the heads' are multiples of powers of two, and of little else.
    return [
        degree
        for degree in model.tensor_parallel_degrees
        if degree <= hardware.accelerators and degree & (degree - 1) == 0
    ]


def _obstacle(model: ModelArchitecture, hardware: InstanceType, degree: int) -> str:
    if degree > hardware.accelerators:
        count = hardware.accelerators
        return f"{hardware} has {count} accelerators, fewer than {degree}"
    if degree not in model.tensor_parallel_degrees:
        heads = model.num_attention_heads
        return f"{degree} does not divide the {heads} attention heads"
    return ""


def _context(model: ModelArchitecture, wanted: int | None) -> int:
    if wanted is None:
        return min(DEFAULT_CONTEXT_LENGTH, model.context_length)
    if not 1 <= wanted <= model.context_length:
        raise ValueError(
            f"context_length must be 1 to the model's {model.context_length}, "
            f"got {wanted}"
        )
    return wanted


def _model(architecture: ModelArchitecture | str) -> ModelArchitecture:
    if isinstance(architecture, ModelArchitecture):
        return architecture
    return ModelArchitecture.of(architecture)


def _hardware(instance_type: InstanceType | str) -> InstanceType:
    hardware = instance_type
    if not isinstance(hardware, InstanceType):
        hardware = find_instance_type(hardware)
    if hardware.has_neuron_cores or hardware.accelerator_model.startswith("HL-"):
        raise ValueError(
            f"plans are for GPUs, and {hardware} has {hardware.accelerator_model}: "
            "how Neuron compilers lay a model out in memory is not modelled"
        )
    if not hardware.accelerators or not hardware.accelerator_memory_gib:
        raise ValueError(
            f"{hardware} has no accelerator memory to plan with; describe it with "
            "InstanceType.of(..., accelerator_memory_gib=...)"
        )
    return hardware
