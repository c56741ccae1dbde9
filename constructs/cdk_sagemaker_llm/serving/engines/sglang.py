"""
SGLang in AWS's own image, or in Hugging Face's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from cdk_sagemaker_llm.catalog.engine_arguments import Engine
from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.demand import Assumptions, Demand, DraftModel, weight_bits_of
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import ModelSource, architecture_of
from cdk_sagemaker_llm.serving.drafts import draft_in
from cdk_sagemaker_llm.serving.engines.arguments import ArgumentValue, argument
from cdk_sagemaker_llm.serving.engines.base import (
    EngineServing,
    ImageDistribution,
    engine_version_in,
    tensor_degree,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_values import NO_JSON, READ_AS_JSON
from cdk_sagemaker_llm.serving.images import ChosenImage
from cdk_sagemaker_llm.serving.parameters import COUNT, SHARE

# The newest minor version of the track that AWS recommends (images of 2026-10).
NEWEST = "1.4"
# SGLang's max_prefill_tokens, where nothing else is said.
_WHOLE_PROMPT = 16384


@dataclass(frozen=True, slots=True)
class Sglang(EngineServing):
    """
    Serve with SGLang in its own image, which answers chats alone.

    ``Sglang()``
    ``Sglang("0.5.20", context_length=8192, tool_call_parser="qwen25")``

    Parameters are SGLang's own arguments; what is left out has SGLang's default.

    Args:
        version:
            A minor version of AWS's image on Amazon Linux, such as ``1.4``, or the
            SGLang version of an image on Ubuntu, such as ``0.5.20``.
            If omitted, it is the newest on Amazon Linux, which is built for H100 and
            newer.

        distribution: Whose image it is: ``aws`` or ``huggingface``.

        tp_size:
            Over how many accelerators one copy of the model is split.
            If omitted, it is split over all that it has.

        dp_size: How many copies of the model answer side by side in one container.

        pp_size: In how many stages, one after the other.

        context_length:
            Tokens of prompt and answer together.
            If omitted, it is the model's context length.

        mem_fraction_static: The share of a GPU's memory for weights and KV cache.

        max_running_requests: Requests that are answered at the same time, at most.

        chunked_prefill_size: Tokens of a prompt that are worked off at a time.

        dtype: The number format of the weights, such as ``bfloat16``.

        quantization: How the weights are quantized, such as ``fp8``.

        kv_cache_dtype: The number format of the KV cache, such as ``fp8_e5m2``.

        disable_radix_cache: Whether requests do not share equal beginnings.

        disable_cuda_graph: Whether to run without CUDA graphs.

        trust_remote_code: Whether code from the model's repository may run.

        served_model_name: What requests call the model.

        enable_lora: Whether requests can name LoRA adapters.

        lora_paths: The adapter, as ``name=path``.

        tool_call_parser: How tool calls are read from answers, such as ``qwen25``.

        reasoning_parser: How reasoning is told from the answer, such as ``qwen3``.

        speculative_algorithm: How tokens are guessed ahead, such as ``EAGLE``.

        chat_template: A template's name, or its path in the container.

        json_model_override_args: What of the model's config.json is to be otherwise.
    """

    engine: ClassVar[Engine] = "sglang"
    engine_name: ClassVar[str] = "SGLang"
    model_words: ClassVar[tuple[str, str]] = ("model-path", "revision")

    version: str = NEWEST
    _: KW_ONLY
    distribution: ImageDistribution = "aws"
    tp_size: int | None = argument("tp-size", COUNT)
    dp_size: int | None = argument("dp-size", COUNT)
    pp_size: int | None = argument("pp-size", COUNT)
    context_length: int | None = argument("context-length", COUNT)
    mem_fraction_static: float | None = argument("mem-fraction-static", SHARE)
    max_running_requests: int | None = argument("max-running-requests", COUNT)
    chunked_prefill_size: int | None = argument("chunked-prefill-size")
    dtype: str | None = argument("dtype")
    quantization: str | None = argument("quantization")
    kv_cache_dtype: str | None = argument("kv-cache-dtype")
    disable_radix_cache: bool | None = argument("disable-radix-cache")
    disable_cuda_graph: bool | None = argument("disable-cuda-graph")
    trust_remote_code: bool | None = argument("trust-remote-code")
    served_model_name: str | None = argument("served-model-name")
    enable_lora: bool | None = argument("enable-lora")
    lora_paths: Sequence[str] | None = argument("lora-paths")
    tool_call_parser: str | None = argument("tool-call-parser")
    reasoning_parser: str | None = argument("reasoning-parser")
    speculative_algorithm: str | None = argument("speculative-algorithm")
    chat_template: str | None = argument("chat-template")
    json_model_override_args: Mapping[str, Any] | None = argument(
        "json-model-override-args"
    )

    @property
    def container_family(self) -> str:
        """
        The image family of this version.
        """
        if self.distribution == "huggingface":
            return "huggingface-sglang"
        return "sglang" if self._is_of_ubuntu else "sglang-server"

    def _degrees(
        self, arguments: Mapping[str, ArgumentValue], devices: int | None
    ) -> dict[str, ArgumentValue]:
        others = (self.dp_size or 1) * (self.pp_size or 1)
        return tensor_degree("tp-size", arguments, devices, others)

    def _judged(self, finding: Finding) -> Finding:
        # Of what a class writes it is no guess.
        if finding.code == READ_AS_JSON.code:
            return NO_JSON.finding(finding.message, finding.remedy)
        return finding

    def _demand(
        self, model: ModelSource | None, image: ChosenImage | None
    ) -> Demand | None:
        if (self.pp_size or 1) > 1 or (self.dp_size or 1) > 1:
            return None
        if image is None or find_engine_release(image.family, image.version) is None:
            return None
        in_fp8 = (self.kv_cache_dtype or "").startswith("fp8")
        chunk = self.chunked_prefill_size
        return Demand(
            architecture=architecture_of(model),
            assumptions=Assumptions(
                gpu_memory_utilization=self.mem_fraction_static,
                cuda_graphs_gib=0.0 if self.disable_cuda_graph else None,
                max_num_seqs=self.max_running_requests,
                # In one piece, a prompt is up to max_prefill_tokens long.
                max_num_batched_tokens=_WHOLE_PROMPT if chunk == -1 else chunk,
                kv_cache_dtype_bytes=1 if in_fp8 else 2,
            ),
            weight_bits=weight_bits_of(self.quantization, self.dtype),
            context_length=self.context_length,
            tensor_parallel_degree=self.tp_size,
            engine="sglang",
            engine_version=engine_version_in(image),
            draft=self._draft(),
        )

    def _draft(self) -> DraftModel | None:
        options = {**self.options, **self.unchecked_options}
        model = options.get("speculative-draft-model-path")
        method = self.speculative_algorithm or options.get("speculative-algorithm")
        said = {"model": model, "method": str(method or "").lower() or None}
        return draft_in({"speculative_config": said})
