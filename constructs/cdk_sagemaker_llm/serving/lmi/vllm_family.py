"""
What vLLM and LMI-Dist, which was built from it, have in common.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.demand import Assumptions, Demand, weight_bits_of
from cdk_sagemaker_llm.models import ModelSource, architecture_of
from cdk_sagemaker_llm.serving.lmi.base import LmiServing
from cdk_sagemaker_llm.serving.lmi.typed import COUNT, SHARE, option

# max_rolling_batch_size of LMI 0.27 and later, which is vLLM's max_num_seqs; 0.26 has
# 32, which takes less.
_SEQUENCES = 256
# Where weights are on more than a degree's devices, which is not modelled.
SPREADING = (
    "option.pipeline_parallel_degree",
    "option.cpu_offload_gb",
    "option.cpu_offload_gb_per_gpu",
)


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

    def _demand(self, model: ModelSource | None) -> Demand | None:
        if self._spreads_further():
            return None
        return Demand(
            architecture=architecture_of(model),
            assumptions=Assumptions(
                gpu_memory_utilization=self.gpu_memory_utilization,
                cuda_graphs_gib=0.0 if self.enforce_eager else None,
                max_num_batched_tokens=self.max_rolling_batch_prefill_tokens,
                max_num_seqs=self.max_rolling_batch_size or _SEQUENCES,
                kv_cache_dtype_bytes=self._cache_number_bytes(),
            ),
            weight_bits=weight_bits_of(self._quantization(), self.dtype),
            context_length=self.max_model_len,
            tensor_parallel_degree=self._degree(),
            engine_version=vllm_release(self._asked_version),
        )

    def _spreads_further(self) -> bool:
        """
        Whether weights are on more than a degree's devices: in a pipeline, or offloaded
        to the host; neither is modelled.
        """
        stages = getattr(self, "pipeline_parallel_degree", None)
        asked = {**self.options, **self.unchecked_options}
        return (stages or 1) > 1 or any(name in asked for name in SPREADING)

    def _quantization(self) -> str | None:
        """
        Return the quantization, by a name that says how many bits it leaves.
        """
        return self.quantize

    def _cache_number_bytes(self) -> float:
        """
        Return the bytes of a number in the KV cache.
        """
        return Assumptions().kv_cache_dtype_bytes


def vllm_release(version: str) -> str | None:
    """
    Return the vLLM release inside an LMI version; ``None`` if it is not known.
    """
    try:
        return LmiVersion.parse(version).vllm
    except ValueError:
        # The check of the image says what is wrong with the version.
        return None
