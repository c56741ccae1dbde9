"""
TensorRT-LLM on Large Model Inference (LMI) images.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal, Self

from cdk_sagemaker_llm.catalog.lmi import lmi_models
from cdk_sagemaker_llm.demand import Assumptions, Demand, weight_bits_of
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import (
    HuggingFaceModel,
    ModelSource,
    architecture_of,
    class_of,
    kind_of,
)
from cdk_sagemaker_llm.serving.images import ChosenImage
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import (
    TENSORRT_LLM,
    AheadOfTime,
    CompiledServing,
)
from cdk_sagemaker_llm.serving.lmi.base import RopeScaling, SmoothQuant
from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
from cdk_sagemaker_llm.serving.parameters import COUNT, SHARE, option

_SINCE: Mapping[str, list[str]] = lmi_models()["tensorrt_llm_since"]

NOT_JUST_IN_TIME = Rule(
    "LLM219",
    "TensorRT-LLM does not compile the model when it starts",
    "LMI documentation",
)
ENGINE_ON_THE_HUB = Rule(
    "LLM159",
    "a precompiled engine is not on S3",
    "LMI documentation, TensorRT-LLM",
)


def compiled_since(architecture: str) -> str | None:
    """
    Return the first LMI version that compiles an architecture at start-up.
    """
    for version, prefixes in _SINCE.items():
        if architecture.startswith(tuple(prefixes)):
            return version
    return None


@dataclass(frozen=True, slots=True)
class TensorRtLlm(CompiledServing):
    """
    Serve with TensorRT-LLM, compiled for the instance when the container starts.

    ``TensorRtLlm("0.26.0", tensor_parallel_degree=4, max_rolling_batch_size=16)``
    ``TensorRtLlm("0.27.0", smoothquant=SmoothQuant(alpha=0.8, per_token=True))``

    Args:
        rolling_batch:
            Which scheduler batches requests.
            If omitted, it is ``auto``, which is TensorRT-LLM's; from 0.33 ``disable``,
            since its own asynchronous service took that over.

        max_input_len: The longest prompt in tokens, fixed when it is compiled.

        max_output_len: The longest answer in tokens, fixed when it is compiled.

        max_num_tokens: Tokens of one step, fixed when it is compiled (0.27 and later).

        batch_scheduler_policy: ``max_utilization`` or ``guaranteed_no_evict``.

        kv_cache_free_gpu_mem_fraction:
            Share of the memory that is left for the KV cache.
            If omitted, it is 0.95.

        enable_kv_cache_reuse: Whether requests share the cache of equal beginnings.

        use_custom_all_reduce: Whether GPUs on NVLink exchange by a kernel of their
            own (p4d, p4de and p5; up to 0.29).

        rope_scaling: How positions beyond the training length are scaled.

        smoothquant: Quantize weights and activations to 8 bits.

        precompiled:
            Whether the model is an engine compiled ahead of time: an ``S3Model``
            whose prefix holds the folder that the partition script wrote, for the
            same GPUs and degree.
            If omitted, the container compiles.
    """

    family_name: ClassVar[str] = "djl-tensorrtllm"
    backend: ClassVar[str] = "trtllm"
    ahead_of_time: ClassVar[AheadOfTime] = TENSORRT_LLM

    _: KW_ONLY
    rolling_batch: str | None = None
    max_input_len: int | None = option("max_input_len", COUNT)
    max_output_len: int | None = option("max_output_len", COUNT)
    max_num_tokens: int | None = option("max_num_tokens", COUNT)
    batch_scheduler_policy: Literal["max_utilization", "guaranteed_no_evict"] | None = (
        option("batch_scheduler_policy")
    )
    kv_cache_free_gpu_mem_fraction: float | None = option(
        "kv_cache_free_gpu_mem_fraction", SHARE
    )
    enable_kv_cache_reuse: bool | None = option("enable_kv_cache_reuse")
    use_custom_all_reduce: bool | None = option("use_custom_all_reduce")
    rope_scaling: RopeScaling | None = None
    smoothquant: SmoothQuant | None = None
    precompiled: bool = False

    def compiling(self, accelerators: int) -> Self:
        """
        Return the configuration that is compiled on so many accelerators, with its
        degree in numbers.

        Args:
            accelerators: How many devices each copy has.
        """
        degree = self._settled_degree(accelerators)
        return replace(self, tensor_parallel_degree=degree, precompiled=False)

    def _engine(self) -> str:
        return "Python" if self._is_asynchronous else "MPI"

    def _scheduling(self) -> Mapping[str, PropertyValue]:
        default = "disable" if self._is_asynchronous else "auto"
        batch = self.rolling_batch if self.rolling_batch is not None else default
        mpi = {"option.mpi_mode": True} if self._is_asynchronous else {}
        return {"option.rolling_batch": batch, **mpi}

    def _more(self) -> Mapping[str, PropertyValue]:
        rope = self.rope_scaling.as_tensorrt_llm() if self.rope_scaling else {}
        smooth = self.smoothquant.as_tensorrt_llm() if self.smoothquant else {}
        return {**rope, **smooth}

    @property
    def _is_asynchronous(self) -> bool:
        # LMI 0.33 is the one image with TensorRT-LLM's own asynchronous API.
        return self._image_version.startswith("0.33.")

    def _demand(
        self,
        model: ModelSource | None,
        image: ChosenImage | None,  # noqa: ARG002 - the base\'s signature
    ) -> Demand:
        lengths = (self.max_input_len, self.max_output_len)
        method = "smoothquant" if self.smoothquant else self.quantize
        return Demand(
            architecture=architecture_of(model),
            assumptions=Assumptions(
                gpu_memory_utilization=self.kv_cache_free_gpu_mem_fraction,
                max_num_seqs=self.max_rolling_batch_size,
            ),
            weight_bits=weight_bits_of(method, self.dtype),
            context_length=sum(filter(None, lengths)) if all(lengths) else None,
            tensor_parallel_degree=self._degree(),
            engine="tensorrt-llm",
        )

    def _own_findings(self, model: ModelSource | None) -> list[Finding]:
        if self.precompiled:
            if not isinstance(model, HuggingFaceModel):
                return []
            return [
                ENGINE_ON_THE_HUB.finding(
                    "precompiled engines are loaded from S3, got a HuggingFaceModel",
                    "pass S3Model('s3://bucket/prefix/'), the parent of the engine's "
                    "folder",
                )
            ]
        name = class_of(kind_of(model))
        since = compiled_since(name) if name else None
        if name is None or self._is_asynchronous:
            return []
        if since is not None and self._at_least(since):
            return []
        version = self._image_version
        when = f"from LMI {since} on" if since else "at no LMI version"
        return [
            NOT_JUST_IN_TIME.finding(
                f"TensorRT-LLM {version} does not compile {name} just in time: "
                f"it does so {when}",
                "compile an engine ahead of time (precompiled=True), or use LmiVllm",
            )
        ]
