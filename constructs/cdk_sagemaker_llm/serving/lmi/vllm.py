"""
The vLLM backend of Large Model Inference (LMI) images, and LMI-Dist, built from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from cdk_sagemaker_llm.catalog.lmi import lmi_models
from cdk_sagemaker_llm.demand import Assumptions, Demand, DraftModel, weight_bits_of
from cdk_sagemaker_llm.models import ModelSource, architecture_of
from cdk_sagemaker_llm.serving.drafts import draft_in
from cdk_sagemaker_llm.serving.images import ChosenImage
from cdk_sagemaker_llm.serving.lmi.base import SPREADING, LmiServing, RopeScaling
from cdk_sagemaker_llm.serving.lmi.launch import SEQUENCES_OF_SERVICE
from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
from cdk_sagemaker_llm.serving.parameters import COUNT, SHARE, Bounds, option

# max_rolling_batch_size, which is max_num_seqs, of a rolling batch of LMI 0.27 and
# later; 0.26 has 32, which takes less.
_SEQUENCES = 256
# The newest release that the SageMaker SDK lists, in all of its regions.
NEWEST = "0.36.0"
_CACHE_DTYPES = Bounds(choices=tuple(lmi_models()["cache_dtypes"]))


@dataclass(frozen=True, slots=True)
class VllmFamily(LmiServing):
    """
    The settings that decide how much memory these engines take.
    """

    _: KW_ONLY
    max_model_len: int | None = option("max_model_len", COUNT)
    enforce_eager: bool | None = option("enforce_eager")
    gpu_memory_utilization: float | None = option("gpu_memory_utilization", SHARE)
    max_rolling_batch_prefill_tokens: int | None = option(
        "max_rolling_batch_prefill_tokens", COUNT
    )
    load_format: str | None = option("load_format")

    @property
    def container_family(self) -> str:
        """
        The image family that has the engine at this version.
        """
        return "djl-lmi" if self._at_least("0.28") else "djl-deepspeed"

    def _demand(
        self,
        model: ModelSource | None,
        image: ChosenImage | None,  # noqa: ARG002 - the base\'s signature
    ) -> Demand | None:
        stages = getattr(self, "pipeline_parallel_degree", None)
        options = {**self.options, **self.unchecked_options}
        if (stages or 1) > 1 or any(name in options for name in SPREADING):
            return None
        version = self._lmi_version
        return Demand(
            architecture=architecture_of(model),
            assumptions=Assumptions(
                gpu_memory_utilization=self.gpu_memory_utilization,
                cuda_graphs_gib=0.0 if self.enforce_eager else None,
                max_num_batched_tokens=self.max_rolling_batch_prefill_tokens,
                max_num_seqs=self.max_rolling_batch_size or self._sequences(),
                kv_cache_dtype_bytes=self._cache_number_bytes(),
            ),
            weight_bits=weight_bits_of(self._quantization(), self.dtype),
            context_length=self.max_model_len,
            tensor_parallel_degree=self._degree(),
            engine_version=version.vllm if version else None,
            draft=self._draft(options),
        )

    def _draft(self, options: Mapping[str, PropertyValue]) -> DraftModel | None:
        return draft_in(options)

    def _sequences(self) -> int:
        """
        Return how many requests run at once where nothing says so.
        """
        return _SEQUENCES

    def _quantization(self) -> str | None:
        """
        Return the quantization, by a name that says how many bits it leaves.
        """
        return self.quantize

    def _cache_number_bytes(self) -> float:
        return Assumptions().kv_cache_dtype_bytes


@dataclass(frozen=True, slots=True)
class LmiVllm(VllmFamily):
    """
    Serve with vLLM on an LMI image.

    ``LmiVllm()``
    ``LmiVllm("0.27.0", enforce_eager=True, max_model_len=4096)``

    Args:
        version: The LMI version. If omitted, it is the newest.

        max_model_len:
            Tokens of prompt and answer together.
            If omitted, it is the model's context length.

        enforce_eager: Whether to run without CUDA graphs: less memory, slower.

        gpu_memory_utilization:
            The share of a GPU's memory that vLLM takes.
            If omitted, it is 0.9.

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

    def _sequences(self) -> int:
        options = {**self.options, **self.unchecked_options}
        batch = options.get("option.rolling_batch", options.get("rolling_batch"))
        is_service = self._at_least("0.35") and batch != "vllm"
        # A data class with slots has no super() without arguments.
        return SEQUENCES_OF_SERVICE if is_service else super(LmiVllm, self)._sequences()

    def _quantization(self) -> str | None:
        # vLLM quantizes to 4 bits with it when it loads, where others take 8.
        quantizes = self.quantize == "bitsandbytes"
        return "bitsandbytes4" if quantizes else self.quantize

    def _cache_number_bytes(self) -> int:
        dtype = self.kv_cache_dtype
        return 1 if dtype and dtype.startswith("fp8") else 2

    def _draft(self, options: Mapping[str, PropertyValue]) -> DraftModel | None:
        return draft_in({"speculative_config": self.speculative_config, **options})

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


@dataclass(frozen=True, slots=True)
class LmiDist(VllmFamily):
    """
    Serve with LMI-Dist, which LMI has up to 0.32.

    ``LmiDist("0.27.0", tensor_parallel_degree=4)`` leaves room for two copies on an
    ``ml.p4d.24xlarge``.

    Args:
        max_model_len:
            Tokens of prompt and answer together (0.27 and later).
            If omitted, it is the model's context length.

        enforce_eager: Whether to run without CUDA graphs (0.27 and later).

        gpu_memory_utilization:
            The share of a GPU's memory that is taken (0.27 and later).
            If omitted, it is 0.9.

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

    def _draft(self, options: Mapping[str, PropertyValue]) -> DraftModel | None:
        said = {
            "speculative_draft_model": self.speculative_draft_model,
            "draft_model_tp_size": self.draft_model_tp_size,
        }
        # Its default is 1 (LmiDistRbProperties), whatever the model is split over.
        return draft_in({**said, **options}, usual_degree=1)

    def _engine(self) -> str:
        return "MPI"

    def _scheduling(self) -> Mapping[str, PropertyValue]:
        return {"option.rolling_batch": "lmi-dist"}
