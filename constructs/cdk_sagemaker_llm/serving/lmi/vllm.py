"""
VLLM on Large Model Inference (LMI) images.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
from cdk_sagemaker_llm.serving.lmi.tuning import RopeScaling
from cdk_sagemaker_llm.serving.lmi.typed import COUNT, Bounds, option
from cdk_sagemaker_llm.serving.lmi.vllm_family import VllmFamily

# The newest release that the SageMaker SDK lists, in all of its regions.
NEWEST = "0.36.0"
# --kv-cache-dtype of `vllm serve`, 0.6.3 to 0.33: any release's.
_CACHE_DTYPES = Bounds(
    choices=(
        "auto",
        "fp8",
        "bfloat16",
        "float16",
        "fp8_ds_mla",
        "fp8_e4m3",
        "fp8_e5m2",
        "fp8_inc",
        "fp8_per_token_head",
        "int4_per_token_head",
        "int8_per_token_head",
        "nvfp4",
        "nvfp4_4over6",
        "nvfp4_ds_mla",
        "octave_k3v3",
        "octave_k3v3_compact",
        "octave_k3v4",
        "turboquant_3bit_nc",
        "turboquant_4bit_nc",
        "turboquant_k3v4_nc",
        "turboquant_k8v4",
        "ultraquant_4bit",
    )
)


@dataclass(frozen=True, slots=True)
class LmiVllm(VllmFamily):
    """
    Serve with vLLM on an LMI image.

    ``LmiVllm()``
    ``LmiVllm("0.27.0", enforce_eager=True, max_model_len=4096)``

    Args:
        version: The LMI version. If left out, it is the newest.

        max_model_len:
            Tokens of prompt and answer together.
            If left out, it is the model's context length.

        enforce_eager: Whether to run without CUDA graphs: less memory, slower.

        gpu_memory_utilization:
            The share of a GPU's memory that vLLM takes.
            If left out, it is 0.9.

        max_rolling_batch_prefill_tokens: Tokens of prompts in one step.

        load_format: How the weights are stored, such as ``safetensors``.

        kv_cache_dtype: The number format of the KV cache, such as ``fp8`` (0.32+).

        enable_prefix_caching: Whether requests share the cache of equal beginnings.

        enable_chunked_prefill: Whether long prompts are worked off in pieces.

        enable_lora: Whether requests can name LoRA adapters.

        max_loras: Adapters in one batch.

        max_lora_rank: The largest rank of an adapter.

        max_cpu_loras: Adapters kept in host memory.

        rope_scaling: How positions beyond the training length are scaled (0.32+).

        speculative_config:
            vLLM's own object for speculative decoding, such as
            ``{"model": "...", "num_speculative_tokens": 5}`` (0.34+).
    """

    family_name: ClassVar[str] = "djl-lmi"
    backend: ClassVar[str] = "vllm"

    version: str = NEWEST
    _: KW_ONLY
    kv_cache_dtype: str | None = option("kv_cache_dtype", _CACHE_DTYPES)
    enable_prefix_caching: bool | None = option("enable_prefix_caching")
    enable_chunked_prefill: bool | None = option("enable_chunked_prefill")
    enable_lora: bool | None = option("enable_lora")
    max_loras: int | None = option("max_loras", COUNT)
    max_lora_rank: int | None = option("max_lora_rank", COUNT)
    max_cpu_loras: int | None = option("max_cpu_loras", COUNT)
    speculative_config: Mapping[str, Any] | None = option("speculative_config")
    rope_scaling: RopeScaling | None = None

    @property
    def container_family(self) -> str:
        """
        The image family that has vLLM at this version.
        """
        return "djl-lmi" if self._at_least("0.28") else "djl-deepspeed"

    def _quantization(self) -> str | None:
        # vLLM quantizes to 4 bits with it when it loads, where others take 8.
        quantizes = self.quantize == "bitsandbytes"
        return "bitsandbytes4" if quantizes else self.quantize

    def _cache_number_bytes(self) -> int:
        dtype = self.kv_cache_dtype
        return 1 if dtype and dtype.startswith("fp8") else 2

    def _engine(self) -> str:
        return "Python"

    def _scheduling(self) -> Mapping[str, PropertyValue]:
        # From 0.35 on the front end starts vLLM's own asynchronous service when
        # nothing is written; the word would bring the old scheduler back.
        return {} if self._at_least("0.35") else {"option.rolling_batch": "vllm"}

    def _more(self) -> Mapping[str, PropertyValue]:
        if self.rope_scaling is None:
            return {}
        text = self.rope_scaling.as_json()
        # Newer releases of vLLM take it as an override of the model's config.json.
        if self._at_least("0.33"):
            return {"option.hf_overrides": f'{{"rope_scaling":{text}}}'}
        return {"option.rope_scaling": text}
