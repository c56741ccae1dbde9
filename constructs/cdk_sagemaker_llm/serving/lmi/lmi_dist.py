"""
LMI-Dist on Large Model Inference (LMI) images.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
from cdk_sagemaker_llm.serving.lmi.typed import COUNT, option
from cdk_sagemaker_llm.serving.lmi.vllm_family import VllmFamily


@dataclass(frozen=True, slots=True)
class LmiDist(VllmFamily):
    """
    Serve with LMI-Dist, which LMI has up to 0.32.

    ``LmiDist("0.27.0", tensor_parallel_degree=4)`` leaves room for two copies on an
    ``ml.p4d.24xlarge``.

    Args:
        max_model_len:
            Tokens of prompt and answer together (0.27 and later).
            If left out, it is the model's context length.

        enforce_eager: Whether to run without CUDA graphs (0.27 and later).

        gpu_memory_utilization:
            The share of a GPU's memory that is taken (0.27 and later).
            If left out, it is 0.9.

        max_rolling_batch_prefill_tokens: Tokens of prompts in one step.

        load_format: How the weights are stored, such as ``safetensors``.

        speculative_draft_model: The small model that drafts tokens (0.27 and later).

        speculative_length: How many tokens it drafts.

        draft_model_tp_size: Over how many GPUs it is split.

        enable_lora: Whether requests can name LoRA adapters; not with a draft model.

        max_loras: Adapters in one batch.

        max_lora_rank: The largest rank of an adapter.

        max_cpu_loras: Adapters kept in host memory.

        enable_prefix_caching: Whether requests share the cache of equal beginnings
            (0.29 and later).

        pipeline_parallel_degree: Over how many stages the layers are split (0.29+).
    """

    family_name: ClassVar[str] = "djl-lmi"
    backend: ClassVar[str] = "lmi-dist"

    _: KW_ONLY
    speculative_draft_model: str | None = option("speculative_draft_model")
    speculative_length: int | None = option("speculative_length", COUNT)
    draft_model_tp_size: int | None = option("draft_model_tp_size", COUNT)
    enable_lora: bool | None = option("enable_lora")
    max_loras: int | None = option("max_loras", COUNT)
    max_lora_rank: int | None = option("max_lora_rank", COUNT)
    max_cpu_loras: int | None = option("max_cpu_loras", COUNT)
    enable_prefix_caching: bool | None = option("enable_prefix_caching")
    pipeline_parallel_degree: int | None = option("pipeline_parallel_degree")

    @property
    def container_family(self) -> str:
        """
        The image family that has LMI-Dist at this version.
        """
        return "djl-lmi" if self._at_least("0.28") else "djl-deepspeed"

    def _engine(self) -> str:
        return "MPI"

    def _scheduling(self) -> Mapping[str, PropertyValue]:
        return {"option.rolling_batch": "lmi-dist"}
