"""
What vLLM and LMI-Dist, which was built from it, have in common.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

from cdk_sagemaker_llm.demand import Assumptions, Demand, weight_bits_of
from cdk_sagemaker_llm.models import ModelSource, architecture_of
from cdk_sagemaker_llm.serving.lmi.base import LmiServing
from cdk_sagemaker_llm.serving.lmi.typed import COUNT, SHARE, option


@dataclass(frozen=True, slots=True)
class VllmFamily(LmiServing):
    """
    The settings that decide how much memory these engines take.

    Args:
        max_model_len: Tokens of prompt and answer together.

        enforce_eager: Whether to run without CUDA graphs.

        gpu_memory_utilization: The share of a GPU's memory that is taken.

        max_rolling_batch_prefill_tokens: Tokens of prompts in one step.

        load_format: How the weights are stored, such as ``safetensors``.
    """

    _: KW_ONLY
    max_model_len: int | None = option("max_model_len", COUNT)
    enforce_eager: bool | None = option("enforce_eager")
    gpu_memory_utilization: float | None = option("gpu_memory_utilization", SHARE)
    max_rolling_batch_prefill_tokens: int | None = option(
        "max_rolling_batch_prefill_tokens", COUNT
    )
    load_format: str | None = option("load_format")

    def _demand(self, model: ModelSource | None) -> Demand:
        usual = Assumptions()
        return Demand(
            architecture=architecture_of(model),
            assumptions=replace(
                usual,
                gpu_memory_utilization=self.gpu_memory_utilization
                or usual.gpu_memory_utilization,
                cuda_graphs_gib=0.0 if self.enforce_eager else usual.cuda_graphs_gib,
                max_num_batched_tokens=self.max_rolling_batch_prefill_tokens
                or usual.max_num_batched_tokens,
                max_num_seqs=self.max_rolling_batch_size or usual.max_num_seqs,
                kv_cache_dtype_bytes=self._cache_number_bytes(),
            ),
            weight_bits=weight_bits_of(self.quantize),
            context_length=self.max_model_len,
            tensor_parallel_degree=self._degree(),
        )

    def _cache_number_bytes(self) -> int:
        """
        Return the bytes of a number in the KV cache.
        """
        return Assumptions().kv_cache_dtype_bytes
