"""
What the memory plan of one accelerator starts from: model, degrees, cache and GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.architectures.weight_format import gguf_bits
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions
from cdk_sagemaker_llm.fit.releases import Case, Range, Release

GIB = 2**30

# From here on a GPU is large for vLLM's defaults, but an A100 (EngineArgs).
_LARGE_GPU = 70 * GIB
_LARGE_TOKENS, _SMALL_TOKENS = 8192, 2048
_LARGE_SEQS = 1024
_IN_FULL = 32
# What SGLang leaves of its share for what reads images: 0.95 with the tower of CLIP's
# large model, and 0.8 to 1.05 times that by its size (adjust_mem_fraction_for_vlm).
_IMAGES_SHARE = Range(0.95 * 1.05, 0.95, 0.95 * 0.8)
# In GiB, by the catalogue's name of the GPU and what its table says: the driver keeps
# some, and the tables round. A10G, L4, L40S, A100, H100 and H200 as vLLM's start-up
# logs print it; T4 and V100 as PyTorch's messages do when memory runs out.
_VISIBLE: Mapping[tuple[str, float], float] = {
    ("T4", 16.0): 14.56,
    ("V100", 16.0): 15.77,
    ("V100", 32.0): 31.74,
    ("A10G", 22.35): 22.05,
    ("L4", 22.35): 22.05,
    ("L40S", 44.7): 44.4,
    ("A100-40GB", 40.0): 39.4,
    ("A100-80GB", 80.0): 79.19,
    ("H100", 80.0): 79.19,
    ("H200", 141.0): 139.8,
}
# For the others: the least of those shares is the T4's, whose error correction takes
# a sixteenth; next is the A100's 0.985.
_SHARE = 0.98
# What Linux shows of a host's memory, as MemTotal: the kernel keeps some. EC2's hosts
# of 8 GiB and more show 0.94 and more of it.
_HOST_SHARE = 0.94


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """
    All that the memory of one accelerator follows from, but for luck.

    Args:
        architecture: The model.

        hardware: The instance type.

        degree: Over how many accelerators a copy is split.

        weight_bits: Bits of a weight; ``None`` for those of the published weights.

        context_length: Tokens of the one sequence whose cache is counted.

        assumptions: What is set.

        release: What the engine takes where nothing is set.

        gguf_type: The type of a GGUF file's weights; ``None`` if it is none.

        draft: The same of the model that drafts for it; ``None`` if there is none, or
            its sizes are not known.
    """

    architecture: ModelArchitecture
    hardware: InstanceType
    degree: int
    weight_bits: int | None
    context_length: int
    assumptions: Assumptions
    release: Release
    gguf_type: str | None = None
    draft: Setting | None = None

    @property
    def is_on_host(self) -> bool:
        """
        Whether the memory is the host's, which has no accelerators.
        """
        return not self.hardware.accelerators

    @property
    def keeps_cache(self) -> bool:
        """
        Whether anything of a sequence is kept: neither does an encoder, nor an engine
        that makes embeddings alone.
        """
        return self.release.keeps_cache and self.architecture.keeps_cache

    @property
    def is_latent(self) -> bool:
        """
        Whether the cache is the one latent vector of multi-head latent attention.
        """
        model = self.architecture
        return model.kv_cache_shards == 1 and model.model_type.startswith("deepseek")

    @property
    def weight_width(self) -> float:
        """
        The bits of a weight, on average of a GGUF file's.
        """
        if self.gguf_type is not None:
            return gguf_bits(self.gguf_type)
        return self.architecture.bits_of_a_weight(self.weight_bits)

    @property
    def has_large_gpu(self) -> bool:
        """
        Whether vLLM has larger defaults for the GPU.
        """
        is_a100 = self.hardware.accelerator_model.startswith("A100")
        return visible_bytes(self.hardware) >= _LARGE_GPU and not is_a100

    @property
    def prefill_tokens(self) -> int:
        """
        The prompt tokens of one step.
        """
        assumed, release = self.assumptions.max_num_batched_tokens, self.release
        if release.grows_with_gpu:
            usual = _LARGE_TOKENS if self.has_large_gpu else _SMALL_TOKENS
            # An encoder reads a text at once, never in parts.
            least = 0 if self.architecture.keeps_cache else self.context_length
            return assumed or max(usual, least)
        if release.reserve is not None:
            memory = self.hardware.accelerator_memory_gib
            return assumed or release.reserve.prefill_tokens(memory)
        longest = assumed or release.prefill_tokens
        return min(self.context_length, longest) if release.keeps_cache else longest

    @property
    def sequences(self) -> int:
        """
        The sequences of one step.
        """
        release = self.release
        if not release.keeps_cache:
            return max(1, self.prefill_tokens // self.context_length)
        grown = release.grows_with_gpu and self.has_large_gpu
        usual = _LARGE_SEQS if grown else release.sequences
        return self.assumptions.max_num_seqs or usual

    @property
    def logit_rows(self) -> int:
        """
        Of how many tokens logits are at once: with SGLang, of the largest batch that a
        graph is recorded for, which is what it reserves memory for.
        """
        release = self.release
        if release.logit_rows is not None:
            return min(release.logit_rows, self.prefill_tokens)
        if release.reserve is None:
            return self.sequences
        memory = self.hardware.accelerator_memory_gib
        return min(self.sequences, release.reserve.graph_batch(memory, self.degree))

    @property
    def computed_bytes(self) -> int:
        """
        The bytes of a number that the model computes with.
        """
        in_full = self.architecture.bits_of_a_weight(self.weight_bits) == _IN_FULL
        return 4 if in_full else self.release.activation_bytes

    @property
    def number_bytes(self) -> float:
        """
        The bytes of a number in the cache, which is kept as the model computes.
        """
        assumed = self.assumptions.kv_cache_dtype_bytes
        # llama.cpp's cache has a type of its own, whatever the weights have.
        as_computed = assumed == 2 and not self.release.allocates_context  # noqa: PLR2004
        in_full = self.architecture.bits_of_a_weight(self.weight_bits) == _IN_FULL
        return 4 if as_computed and in_full else assumed

    def share(self, case: Case) -> float:
        """
        The part of the memory that the engine takes.

        Args:
            case: Which case: the best, the expected or the cautious one.
        """
        assumed, release = self.assumptions.gpu_memory_utilization, self.release
        if assumed is not None:
            return assumed
        reserve = release.reserve
        if case is Case.BEST and release.least_reserve is not None:
            reserve = release.least_reserve
        if reserve is None or self.is_on_host:
            return release.share.of(case)
        memory = self.hardware.accelerator_memory_gib
        tokens = self.assumptions.max_num_batched_tokens
        found = reserve.share(
            memory,
            self.degree,
            tokens or reserve.prefill_tokens(memory),
            is_latent=self.is_latent,
        )
        images = self.architecture.reads_images
        return found * (_IMAGES_SHARE.of(case) if images else 1)


def visible_bytes(hardware: InstanceType) -> int:
    """
    Return the memory of one accelerator in bytes, as CUDA shows it; of a host that has
    none, its own, as Linux shows it.
    """
    if not hardware.accelerators:
        return int(hardware.memory_gib * _HOST_SHARE * GIB)
    stated = hardware.accelerator_memory_gib
    visible = _VISIBLE.get((hardware.accelerator_model, stated))
    return int((stated * _SHARE if visible is None else visible) * GIB)


def are_linked(hardware: InstanceType) -> bool:
    """
    Whether its GPUs exchange over NVLink; those of the G families do over PCIe.
    """
    return hardware.family.startswith("p")
