"""
The image of vLLM, by AWS or by Hugging Face, on GPUs, Inferentia2 and Trainium; and
that of vLLM-Omni, for speech, images, video and chats over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from cdk_sagemaker_llm.catalog.engine_arguments import (
    OMNI,
    Engine,
    find_argument,
    find_omni_argument,
    is_release_between,
)
from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.demand import VLLM_WORDS, Assumptions, Demand, weight_bits_of
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import ModelSource, architecture_of
from cdk_sagemaker_llm.serving.base import (
    BYTES_PER_SECOND,
    LONG_SECONDS,
    start_up_seconds,
)
from cdk_sagemaker_llm.serving.drafts import draft_in
from cdk_sagemaker_llm.serving.engines.arguments import (
    ArgumentValue,
    UntellableError,
    argument,
    plain_name,
    write,
)
from cdk_sagemaker_llm.serving.engines.base import (
    TEMPLATE_FILE,
    EngineServing,
    ImageDistribution,
    engine_version_in,
    rule_of,
    tensor_degree,
    with_template,
)
from cdk_sagemaker_llm.serving.engines.checks.configuration import (
    NOT_FOUND_CODES,
    UNKNOWN_VALUE,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_models import (
    MAY_LACK_LOADER,
    NO_GGUF_LOADER,
)
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS, MODEL_DIR
from cdk_sagemaker_llm.serving.engines.telling import (
    OTHER_RELEASE,
    UNTELLABLE,
    EngineVariables,
    PlainTelling,
    Telling,
    later_value_findings,
    repeated,
)
from cdk_sagemaker_llm.serving.images import ChosenImage, is_catalogued
from cdk_sagemaker_llm.serving.parameters import COUNT, SHARE, Bounds

# The newest minor version of the track that AWS recommends (images of 2026-10).
NEWEST = "2.6"
# vLLM gives up on its own engine after 600 s, however long SageMaker would wait.
_READY_SECONDS = 600
# -1 is another word for auto.
_LENGTH = Bounds(least=1, also=(-1,))
# The newest of the catalogue, by the version of optimum-neuron (images of 2026-10).
NEWEST_ON_NEURON = "0.4.5"


@dataclass(frozen=True, slots=True)
class Vllm(EngineServing):
    """
    Serve with vLLM in its own image, the choice for new work.

    ``Vllm()``
    ``Vllm("2.6", max_model_len=8192, tool_call_parser="hermes")``
    ``Vllm("0.30.0")`` is the image on Ubuntu, whose version is vLLM's own.
    ``Vllm("0.29.0", distribution="huggingface")``

    Parameters are vLLM's own arguments; what is left out has vLLM's default.

    Args:
        version:
            A minor version of AWS's image on Amazon Linux, such as ``2.6``, or the
            vLLM version of an image on Ubuntu, such as ``0.30.0``.
            If omitted, it is the newest on Amazon Linux.

        distribution: Whose image it is: ``aws`` or ``huggingface``.

        tensor_parallel_size:
            Over how many accelerators one copy of the model is split.
            If omitted, it is split over all that it has.

        pipeline_parallel_size: In how many stages, one after the other.

        data_parallel_size: How many engines answer side by side in one container.

        max_model_len:
            Tokens of prompt and answer together, or ``auto`` for what fits.
            If omitted, it is the model's context length.

        gpu_memory_utilization: The share of a GPU's memory that vLLM takes.

        dtype: The number format of the weights, such as ``bfloat16``.

        quantization: How the weights are quantized, such as ``fp8``.

        kv_cache_dtype: The number format of the KV cache, such as ``fp8``.

        enable_prefix_caching: Whether requests share the cache of equal beginnings.

        enable_chunked_prefill: Whether long prompts are worked off in pieces.

        max_num_seqs: Requests that are answered at the same time, at most.

        max_num_batched_tokens: Tokens of one step.

        enforce_eager: Whether to run without CUDA graphs: less memory, slower.

        load_format: How the weights are stored, such as ``runai_streamer``.

        trust_remote_code: Whether code from the model's repository may run.

        served_model_name: What requests call the model; several from rule vllm-C on.

        enable_lora: Whether requests can name LoRA adapters.

        max_loras: Adapters in one batch.

        max_lora_rank: The largest rank of an adapter.

        speculative_config:
            vLLM's own object for speculative decoding, such as
            ``{"method": "ngram", "num_speculative_tokens": 3}``.

        tool_call_parser:
            How tool calls are read from answers, such as ``hermes``; it switches
            automatic tool choice on.

        reasoning_parser: How reasoning is told from the answer, such as ``qwen3``.

        chat_template:
            The template itself, or a path in the container. One of several lines, or
            beyond 1,024 characters, travels in the model tarball.

        default_chat_template_kwargs:
            What each chat's template is given, such as ``{"enable_thinking": False}``.

        hf_overrides: What of the model's config.json is to be otherwise.

        limit_mm_per_prompt: Images, videos and so on in a prompt, at most.
    """

    engine: ClassVar[Engine] = "vllm"
    engine_name: ClassVar[str] = "vLLM"

    version: str = NEWEST
    _: KW_ONLY
    distribution: ImageDistribution = "aws"
    tensor_parallel_size: int | None = argument("tensor-parallel-size", COUNT)
    pipeline_parallel_size: int | None = argument("pipeline-parallel-size", COUNT)
    data_parallel_size: int | None = argument("data-parallel-size", COUNT)
    max_model_len: int | Literal["auto"] | None = argument("max-model-len", _LENGTH)
    gpu_memory_utilization: float | None = argument("gpu-memory-utilization", SHARE)
    dtype: str | None = argument("dtype")
    quantization: str | None = argument("quantization")
    kv_cache_dtype: str | None = argument("kv-cache-dtype")
    enable_prefix_caching: bool | None = argument("enable-prefix-caching")
    enable_chunked_prefill: bool | None = argument("enable-chunked-prefill")
    max_num_seqs: int | None = argument("max-num-seqs", COUNT)
    max_num_batched_tokens: int | None = argument("max-num-batched-tokens", COUNT)
    enforce_eager: bool | None = argument("enforce-eager")
    load_format: str | None = argument("load-format")
    trust_remote_code: bool | None = argument("trust-remote-code")
    served_model_name: str | Sequence[str] | None = argument("served-model-name")
    enable_lora: bool | None = argument("enable-lora")
    max_loras: int | None = argument("max-loras", COUNT)
    max_lora_rank: int | None = argument("max-lora-rank", COUNT)
    speculative_config: Mapping[str, Any] | None = argument("speculative-config")
    tool_call_parser: str | None = argument("tool-call-parser")
    reasoning_parser: str | None = argument("reasoning-parser")
    chat_template: str | None = argument("chat-template")
    default_chat_template_kwargs: Mapping[str, Any] | None = argument(
        "default-chat-template-kwargs"
    )
    hf_overrides: Mapping[str, Any] | None = argument("hf-overrides")
    limit_mm_per_prompt: Mapping[str, Any] | None = argument("limit-mm-per-prompt")

    @property
    def container_family(self) -> str:
        """
        The image family of this version.
        """
        if self.distribution == "huggingface":
            return "huggingface-vllm"
        return "vllm" if self._is_of_ubuntu else "vllm-server"

    def _arguments(
        self, model: ModelSource | None, devices: int | None
    ) -> dict[str, ArgumentValue]:
        # A data class with slots has no super() without arguments.
        found = super(Vllm, self)._arguments(model, devices)
        if self.tool_call_parser is not None:
            found.setdefault("enable-auto-tool-choice", True)
        if TEMPLATE_FILE in self._files():
            found["chat-template"] = f"{MODEL_DIR}/{TEMPLATE_FILE}"
        return found

    def _degrees(
        self, arguments: Mapping[str, ArgumentValue], devices: int | None
    ) -> dict[str, ArgumentValue]:
        others = (self.pipeline_parallel_size or 1) * (self.data_parallel_size or 1)
        return tensor_degree("tensor-parallel-size", arguments, devices, others)

    def _defaults(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the base's signature
        demand: Demand | None,
    ) -> dict[str, str]:
        found = {}
        if demand is not None and demand.architecture is not None:
            weights = demand.architecture.weight_bytes(demand.weight_bits)
            if weights > _READY_SECONDS * BYTES_PER_SECOND:
                # It is to wait for its engine as long as SageMaker does.
                seconds = start_up_seconds(demand) or LONG_SECONDS
                found["VLLM_ENGINE_READY_TIMEOUT_S"] = str(seconds)
        if self.distribution == "huggingface":
            # It would take half of the host's memory for a second cache.
            found["HF_ENABLE_LMCACHE"] = "0"
        return found

    def _judged(self, finding: Finding) -> Finding:
        # Of an image of one's own nobody knows what is installed in it.
        if finding.code in NOT_FOUND_CODES and not is_catalogued(self.image):
            return UNKNOWN_VALUE.finding(finding.message, finding.remedy)
        if finding.code == MAY_LACK_LOADER.code and is_catalogued(self.image):
            return NO_GGUF_LOADER.finding(finding.message, finding.remedy)
        return finding

    def _files(self) -> Mapping[str, bytes]:
        return with_template(self.files, self.chat_template)

    def _demand(
        self, model: ModelSource | None, image: ChosenImage | None
    ) -> Demand | None:
        if (self.pipeline_parallel_size or 1) > 1 or (self.data_parallel_size or 1) > 1:
            return None
        length = self.max_model_len
        in_fp8 = (self.kv_cache_dtype or "").startswith("fp8")
        return Demand(
            architecture=architecture_of(model),
            assumptions=Assumptions(
                gpu_memory_utilization=self.gpu_memory_utilization,
                cuda_graphs_gib=0.0 if self.enforce_eager else None,
                max_num_batched_tokens=self.max_num_batched_tokens,
                max_num_seqs=self.max_num_seqs,
                kv_cache_dtype_bytes=1 if in_fp8 else 2,
            ),
            weight_bits=weight_bits_of(self.quantization, self.dtype),
            context_length=length if isinstance(length, int) else None,
            tensor_parallel_degree=self.tensor_parallel_size,
            words=VLLM_WORDS,
            engine_version=engine_version_in(image),
            draft=draft_in(
                {
                    "speculative_config": self.speculative_config,
                    **self.options,
                    **self.unchecked_options,
                }
            ),
        )


@dataclass(frozen=True, slots=True)
class VllmNeuron(EngineServing):
    """
    Serve with vLLM on AWS Inferentia2 and Trainium, by ``optimum-cli neuron serve``.

    ``VllmNeuron(tensor_parallel_size=8, sequence_length=4096, batch_size=4)``

    The image is in eleven regions. What the command does not know it hands on to vLLM.

    Args:
        version:
            The version of optimum-neuron, such as ``0.4.5``.
            If omitted, it is the newest.

        tensor_parallel_size:
            Over how many NeuronCores one copy of the model is split; a chip has two.
            If omitted, the command decides.

        batch_size: Requests that are answered at the same time.

        sequence_length: Tokens of prompt and answer together.

        data_parallel_size: How many engines answer side by side in one container.

        served_model_name: What requests call the model.
    """

    engine_name: ClassVar[str] = "vLLM on Neuron"

    version: str = NEWEST_ON_NEURON
    _: KW_ONLY
    tensor_parallel_size: int | None = argument("tensor-parallel-size", COUNT)
    batch_size: int | None = argument("batch-size", COUNT)
    sequence_length: int | None = argument("sequence-length", COUNT)
    data_parallel_size: int | None = argument("data-parallel-size", COUNT)
    served_model_name: str | None = argument("served-model-name")

    @property
    def container_family(self) -> str:
        """
        The image family of this version.
        """
        return "huggingface-vllm-neuronx"

    def _long_name(self, release: EngineRelease, spelling: str) -> str:  # noqa: ARG002 - the base's signature
        return plain_name(spelling)

    def _engine_variables(
        self, release: EngineRelease, arguments: Mapping[str, ArgumentValue]
    ) -> EngineVariables:
        telling = PlainTelling(rule_of(release), takes_dashes=False)
        return telling.tell(arguments, self.options, self._words(release))


# The newest minor version of the track (images of 2026-10).
NEWEST_OMNI = "1.8"


@dataclass(frozen=True, slots=True)
class VllmOmni(Vllm):
    """
    Serve speech, images, video and multimodal chats with vLLM-Omni.

    ``VllmOmni()``
    ``VllmOmni("1.7", num_gpus=2, options={"flow_shift": 5.0})``
    ``VllmOmni("0.20.0", distribution="huggingface")``

    It takes vLLM's arguments, which ``Vllm`` describes, and its own. Nothing is split
    over the accelerators by itself: each stage of a model has its own way.

    Requests name their task in CustomAttributes, such as ``route=/v1/audio/speech``,
    ``route=/v1/images/generations`` or ``route=/v1/videos/sync``; others are chats.
    ``/v1/videos`` answers with a job's number alone, and a JSON body for videos is
    taken by all versions but 1.2 and 1.3. The first requests compile, which may take
    longer than the 60 seconds that SageMaker waits: an endpoint with
    ``async_inference`` waits longer. No supervisor starts the engine: it ends where
    it fails, and installs no requirements.txt.

    Args:
        version:
            A minor version of AWS's image, such as ``1.8``; of Hugging Face's
            vLLM-Omni's own, such as ``0.20.0``.
            If omitted, it is AWS's newest.

        num_gpus:
            How many GPUs a diffusion model runs on.
            If omitted, it is one, or what the model's stages say.

        deploy_config: The path of a file that describes the stages (from 0.20 on).

        stage_configs_path: The same in its older form (until 0.26).

        stage_init_timeout: Seconds for the start of one stage.

        ulysses_degree: Over how many GPUs a diffusion's sequence is split by Ulysses.

        ring_degree: Over how many it is split as a ring.

        cfg_parallel_size: How many GPUs share the guided and the free half.

        cache_backend: How steps are left out, such as ``tea_cache`` or ``cache_dit``.

        cache_config: The settings of that.

        enable_cpu_offload: Whether parts of the model wait in the host's memory.

        vae_use_slicing: Whether pictures are decoded one by one.

        vae_use_tiling: Whether pictures are decoded in tiles.

        default_sampling_params: What is taken of each stage where requests say nothing.
    """

    engine_name: ClassVar[str] = "vLLM-Omni"

    version: str = NEWEST_OMNI
    _: KW_ONLY
    num_gpus: int | None = argument("num-gpus", COUNT)
    deploy_config: str | None = argument("deploy-config")
    stage_configs_path: str | None = argument("stage-configs-path")
    stage_init_timeout: int | None = argument("stage-init-timeout", COUNT)
    ulysses_degree: int | None = argument("ulysses-degree", COUNT)
    ring_degree: int | None = argument("ring-degree", COUNT)
    cfg_parallel_size: int | None = argument("cfg-parallel-size", COUNT)
    cache_backend: str | None = argument("cache-backend")
    cache_config: Mapping[str, Any] | None = argument("cache-config")
    enable_cpu_offload: bool | None = argument("enable-cpu-offload")
    vae_use_slicing: bool | None = argument("vae-use-slicing")
    vae_use_tiling: bool | None = argument("vae-use-tiling")
    default_sampling_params: Mapping[str, Any] | None = argument(
        "default-sampling-params"
    )

    @property
    def container_family(self) -> str:
        """
        The image family of this distribution.
        """
        is_other = self.distribution == "huggingface"
        return "huggingface-vllm-omni" if is_other else "vllm-omni"

    def _degrees(
        self,
        arguments: Mapping[str, ArgumentValue],  # noqa: ARG002 - the base's signature
        devices: int | None,  # noqa: ARG002 - as above
    ) -> dict[str, ArgumentValue]:
        return {}

    def _defaults(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the base's signature
        demand: Demand | None,  # noqa: ARG002 - as above
    ) -> dict[str, str]:
        return {}

    def _demand(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the base's signature
        image: ChosenImage | None,  # noqa: ARG002 - as above
    ) -> Demand | None:
        # What its stages take of the memory is not modelled.
        return None

    def _engine_variables(
        self, release: EngineRelease, arguments: Mapping[str, ArgumentValue]
    ) -> EngineVariables:
        number = release.engine_version or ""
        rule = ENTRY_POINTS[release.rule or ""]
        label = f"{self.engine_name} {number}".strip()
        words = self._words(release)
        own = {n: v for n, v in arguments.items() if _is_own(n, number)}
        others = {n: v for n, v in arguments.items() if n not in own}
        further = {n: v for n, v in self.options.items() if _is_own(_long(n), number)}
        rest = {n: v for n, v in self.options.items() if n not in further}
        telling = Telling(self.engine, number, rule, label).tell(others, rest, words)
        variables, found = dict(telling.variables), list(telling.findings)
        for spelling, value in [*own.items(), *further.items()]:
            name, word = _long(spelling), words.get(spelling, spelling)
            if spelling in further and name in own:
                found.append(repeated(spelling))
                continue
            argument = find_omni_argument(name, release.engine_version)
            if argument is None:
                _, first, last = OMNI[name]
                is_gone = last and not is_release_between(number, "0", last)
                span = f"was last seen in {last}" if is_gone else f"came by {first}"
                found.append(
                    OTHER_RELEASE.finding(
                        f"{word} is no argument of vLLM-Omni {release.engine_version}: "
                        f"it {span}",
                        "choose another version, or leave it out",
                    )
                )
                continue
            later = later_value_findings(word, value)
            found += later
            if later:
                continue
            try:
                variables |= write(argument, value, rule).variables
            except UntellableError as fault:
                message = f"{word} cannot be told to this image: {fault}"
                found.append(UNTELLABLE.finding(message))
        return EngineVariables(variables, tuple(found))


def _long(spelling: str) -> str:
    return spelling.lstrip("-").replace("_", "-")


def _is_own(name: str, release: str) -> bool:
    return name in OMNI and find_argument("vllm", name, release) is None
