"""
DeepSpeed on Large Model Inference (LMI) images.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from cdk_sagemaker_llm.serving.lmi.base import LmiServing, SmoothQuant
from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
from cdk_sagemaker_llm.serving.parameters import COUNT, option


@dataclass(frozen=True, slots=True)
class DeepSpeed(LmiServing):
    """
    Serve with DeepSpeed, which LMI has up to 0.27.

    ``DeepSpeed("0.26.0", tensor_parallel_degree=2)``
    ``DeepSpeed("0.26.0", smoothquant=SmoothQuant(alpha=0.5))``

    Args:
        rolling_batch:
            How requests are batched: ``deepspeed``, ``auto`` or ``disable``, with
            which it serves architectures that it has no rolling batch for, one batch
            after the other.
            If omitted, it is ``deepspeed``.

        max_tokens: Tokens of prompt and answer together. If omitted, it is 1024.

        enable_cuda_graph: Whether to record CUDA graphs.

        triangular_masking: Whether later tokens are hidden from earlier ones.

        low_cpu_mem_usage: Whether to load with little host memory.

        checkpoint: A checkpoint's description file in the model; it needs ``dtype``.

        task: What the model is for, such as ``text-generation``.

        smoothquant: Quantize weights and activations to 8 bits; its alpha alone.
    """

    family_name: ClassVar[str] = "djl-deepspeed"
    backend: ClassVar[str] = "deepspeed"

    _: KW_ONLY
    rolling_batch: str | None = None
    max_tokens: int | None = option("max_tokens", COUNT)
    enable_cuda_graph: bool | None = option("enable_cuda_graph")
    triangular_masking: bool | None = option("triangular_masking")
    low_cpu_mem_usage: bool | None = option("low_cpu_mem_usage")
    checkpoint: str | None = option("checkpoint")
    task: str | None = option("task")
    smoothquant: SmoothQuant | None = None

    def _engine(self) -> str:
        return "DeepSpeed"

    def _scheduling(self) -> Mapping[str, PropertyValue]:
        batch = "deepspeed" if self.rolling_batch is None else self.rolling_batch
        return {"option.rolling_batch": batch}

    def _more(self) -> Mapping[str, PropertyValue]:
        return self.smoothquant.as_deepspeed() if self.smoothquant else {}
