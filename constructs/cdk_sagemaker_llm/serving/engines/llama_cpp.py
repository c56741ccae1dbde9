"""
The image of llama.cpp, by AWS or by Hugging Face: GGUF files on processors and GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from cdk_sagemaker_llm.catalog.engine_arguments import (
    LLAMA_CPP_ALIASES,
    OFF_IN_LLAMA_CPP,
    ON_IN_LLAMA_CPP,
)
from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.catalog.instances import Processor
from cdk_sagemaker_llm.demand import Assumptions, Demand, kv_bytes_of_cache_type
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import (
    HuggingFaceModel,
    ModelSource,
    S3Model,
    architecture_of,
)
from cdk_sagemaker_llm.serving.base import Accelerators, settled
from cdk_sagemaker_llm.serving.engines.arguments import (
    ArgumentValue,
    argument,
    plain_name,
)
from cdk_sagemaker_llm.serving.engines.base import (
    TEMPLATE_FILE,
    EngineServing,
    ImageDistribution,
    engine_version_in,
    rule_of,
    with_template,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_models import (
    GGUF_SUFFIX,
    gguf_type_of,
)
from cdk_sagemaker_llm.serving.engines.entry_points import MODEL_DIR
from cdk_sagemaker_llm.serving.engines.telling import EngineVariables, PlainTelling
from cdk_sagemaker_llm.serving.images import ChosenImage, choose_image
from cdk_sagemaker_llm.serving.parameters import NO_WEIGHTS, REPEATED, Bounds

# The newest of each that stays as it is (images of 2026-10).
NEWEST = "1.0.1"
_NEWEST_OF_HUGGING_FACE = "b9522"
_BUILD = re.compile(r"b\d+")
# As many layers as any model has: the images put none on a GPU by themselves.
_ALL_LAYERS = 999
# What it downloads of a repository that no type is named of, if there is one.
_USUAL_TYPE = "Q4_K_M"

CacheType = Literal[
    "f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"
]
"""
The number format of a cache, as ``llama-server`` takes it.
"""

UNREAD_REVISION = Rule(
    "LLM631",
    "llama.cpp is to take a revision of a model, and always takes the newest",
    "llama-server --help, which has no argument for it",
)
SET_BY_IMAGE = Rule(
    "LLM533",
    "an option of llama.cpp is one that its image sets itself",
    "the entry points of aws/deep-learning-containers",
)
# Arguments that an entry point writes, or keeps to itself.
_OF_THE_IMAGE = {
    "host": "what is in front of llama.cpp calls it there",
    "port": "SageMaker calls 8080, and the image listens there",
    "model-dir": "SageMaker puts weights into /opt/ml/model, and it looks there",
}


@dataclass(frozen=True, slots=True)
class LlamaCpp(EngineServing):
    """
    Serve a GGUF file with llama.cpp: on processors, AWS Graviton among them, or GPUs.

    ``LlamaCpp()``
    ``LlamaCpp(processor="arm64", ctx_size=8192)`` on ``ml.c7g.4xlarge``
    ``LlamaCpp(hf_file="qwen3-8b-q4_k_m.gguf")``
    ``LlamaCpp(distribution="huggingface")``

    Where each copy has accelerators, the image is that for GPUs, and all layers are
    put there; where it has none, the image is that for processors. A model on the Hub
    may name its type, as in ``HuggingFaceModel("ggml-org/gemma-3-4b-it-GGUF:Q4_K_M")``.
    Parameters are ``llama-server``'s own arguments; what is left out has its default.

    Args:
        version:
            A version of AWS's images, such as ``1.0.1``, or llama.cpp's build in
            Hugging Face's, such as ``b9522``.
            If omitted, it is the newest that does not move.

        distribution: Whose image it is: ``aws`` or ``huggingface``.

        processor: What the instances' processors are: ``arm64`` on AWS Graviton.

        model:
            The file of weights on S3, within their prefix.
            If omitted, AWS's images take the first by name, of the prefix itself or
            of a folder in it; Hugging Face's need it.

        hf_file:
            The file of a repository on the Hub.
            If omitted, it is that of the type behind the repository, or else llama.cpp
            chooses: Q4_K_M, if there is one.

        mmproj:
            The projector file of a model that sees, within the prefix of weights on S3.
            If omitted, llama.cpp takes what a repository on the Hub has.

        ctx_size:
            Tokens of prompt and answer together, of all requests at a time.
            If omitted, it is what the model has, or what fits.

        n_gpu_layers:
            How many layers are put on GPUs.
            If omitted, all are where there are any.

        parallel: Requests that are answered at the same time.

        threads:
            Processor cores that generate.
            If omitted, llama.cpp counts them.

        batch_size: Tokens of a prompt that are worked off at a time.

        ubatch_size: Tokens of one step of it.

        cache_type_k: The number format of the cache's keys, such as ``q8_0``.

        cache_type_v: The number format of the cache's values.

        flash_attn: Whether attention is computed in one pass: ``on``, ``off`` or
            ``auto``.

        alias: What answers call the model.

        jinja: Whether the model's own chat template is used, as tools need.

        chat_template:
            The template itself, or the name of one of llama.cpp's. One of several
            lines, or beyond 1,024 characters, travels in the model tarball.

        reasoning_format: How reasoning is told from the answer, such as ``deepseek``.

        embeddings: Whether texts are embedded, and nothing is generated.

        reranking: Whether texts are ranked.

        pooling: How vectors of tokens become one, such as ``mean``.
    """

    engine_name: ClassVar[str] = "llama.cpp"

    version: str = ""
    _: KW_ONLY
    distribution: ImageDistribution = "aws"
    processor: Processor = "x86_64"
    model: str | None = None
    hf_file: str | None = argument("hf-file")
    mmproj: str | None = argument("mmproj")
    ctx_size: int | None = argument("ctx-size", Bounds(least=0))
    n_gpu_layers: int | None = argument("n-gpu-layers")
    parallel: int | None = argument("parallel", Bounds(least=1, also=(-1,)))
    threads: int | None = argument("threads")
    batch_size: int | None = argument("batch-size")
    ubatch_size: int | None = argument("ubatch-size")
    cache_type_k: CacheType | None = argument("cache-type-k")
    cache_type_v: CacheType | None = argument("cache-type-v")
    flash_attn: Literal["on", "off", "auto"] | None = argument("flash-attn")
    alias: str | None = argument("alias")
    jinja: bool | None = argument("jinja")
    chat_template: str | None = argument("chat-template")
    reasoning_format: str | None = argument("reasoning-format")
    embeddings: bool | None = argument("embeddings")
    reranking: bool | None = argument("reranking")
    pooling: str | None = argument("pooling")

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, and the image to those that there are.

        Raises:
            ValueError: If Hugging Face has no image for the processor, or the version
                is one of its images and the distribution is not.
        """
        # A data class with slots has no super() without arguments.
        super(LlamaCpp, self).__post_init__()
        if self.distribution == "huggingface" and self.processor != "x86_64":
            raise ValueError(
                f"processor must be 'x86_64' of Hugging Face's images, got "
                f"{self.processor!r}; AWS's are for both"
            )
        if self.distribution == "aws" and _BUILD.fullmatch(self.version):
            raise ValueError(
                f"version {self.version} is a build of llama.cpp, which Hugging Face's "
                f"images are of; set distribution='huggingface', whose newest is "
                f"{_NEWEST_OF_HUGGING_FACE}, or take AWS's {NEWEST}"
            )
        if not self.version:
            is_aws = self.distribution == "aws"
            newest = NEWEST if is_aws else _NEWEST_OF_HUGGING_FACE
            object.__setattr__(self, "version", newest)

    @property
    def container_family(self) -> str:
        """
        The image family for GPUs, or for Graviton.
        """
        if self.distribution == "huggingface":
            return "huggingface-llamacpp"
        return "llama-cpp-arm64" if self.processor == "arm64" else "llama-cpp"

    def _image(
        self, model: ModelSource | None, accelerators: Accelerators
    ) -> tuple[ChosenImage, Accelerators]:
        family = self.container_family
        devices = settled(accelerators, self._demand(model, None))
        if devices == 0 and not family.endswith("-arm64"):
            family = f"{family}-cpu"
        return choose_image(family, self.version, self.image), devices

    def _model_arguments(self, model: ModelSource | None) -> dict[str, ArgumentValue]:
        if isinstance(model, HuggingFaceModel):
            return {"hf-repo": model.model_id}
        return {} if self.model is None else {"model": _in_model_dir(self.model)}

    def _arguments(
        self, model: ModelSource | None, devices: int | None
    ) -> dict[str, ArgumentValue]:
        found = super(LlamaCpp, self)._arguments(model, devices)
        if isinstance(model, S3Model) and self.mmproj is not None:
            found["mmproj"] = _in_model_dir(self.mmproj)
        if TEMPLATE_FILE in self._files():
            found.pop("chat-template", None)
            found["chat-template-file"] = f"{MODEL_DIR}/{TEMPLATE_FILE}"
        return found

    def _degrees(
        self, arguments: Mapping[str, ArgumentValue], devices: int | None
    ) -> dict[str, ArgumentValue]:
        is_on_gpu = self.processor == "x86_64" and devices != 0
        if not is_on_gpu or "n-gpu-layers" in arguments:
            return {}
        return {"n-gpu-layers": _ALL_LAYERS}

    def _engine_variables(
        self, release: EngineRelease, arguments: Mapping[str, ArgumentValue]
    ) -> EngineVariables:
        negated = (*ON_IN_LLAMA_CPP, *OFF_IN_LLAMA_CPP)
        telling = PlainTelling(rule_of(release), negated, aliases=LLAMA_CPP_ALIASES)
        return telling.tell(arguments, self.options, self._words(release))

    def _parameter_words(self) -> dict[str, str]:
        found = super(LlamaCpp, self)._parameter_words()
        return found if self.model is None else {**found, "model": "model"}

    def _long_name(self, release: EngineRelease, spelling: str) -> str:  # noqa: ARG002 - the base's signature
        name = plain_name(spelling)
        return LLAMA_CPP_ALIASES.get(name, name)

    def _files(self) -> Mapping[str, bytes]:
        return with_template(self.files, self.chat_template)

    def _demand(
        self, model: ModelSource | None, image: ChosenImage | None
    ) -> Demand | None:
        if self.n_gpu_layers not in {None, _ALL_LAYERS}:
            # How much of the model is then on which side is not modelled.
            return None
        types = (self.cache_type_k, self.cache_type_v)
        repository, usual = None, None
        if isinstance(model, HuggingFaceModel):
            repository = model.model_id
            usual = _USUAL_TYPE if self.hf_file is None else None
        return Demand(
            architecture=architecture_of(model),
            assumptions=Assumptions(
                max_num_seqs=_count(self.parallel),
                max_num_batched_tokens=_count(self.ubatch_size),
                kv_cache_dtype_bytes=kv_bytes_of_cache_type(*types),
            ),
            context_length=_count(self.ctx_size),
            engine="llama.cpp",
            engine_version=engine_version_in(image),
            gguf_type=gguf_type_of(self.model, self.hf_file, repository) or usual,
        )

    def _model_findings(self, model: ModelSource | None) -> list[Finding]:
        found = super(LlamaCpp, self)._model_findings(model)
        found += [
            SET_BY_IMAGE.finding(
                f"options has {spelling}, which the image sets itself: {why}",
                "leave it out",
            )
            for spelling in self.options
            for why in [_OF_THE_IMAGE.get(plain_name(spelling))]
            if why is not None
        ]
        if isinstance(model, S3Model):
            return found + self._file_findings()
        if not isinstance(model, HuggingFaceModel):
            return found
        if self.model is not None:
            found.append(
                REPEATED.finding(
                    f"model names a file of weights on S3, and {model.model_id} is on "
                    "the Hub",
                    "name its file with hf_file",
                )
            )
        if model.revision is not None:
            found.append(
                UNREAD_REVISION.finding(
                    f"revision {model.revision} is not passed on: llama.cpp downloads "
                    "the newest files",
                    "copy the file to S3, and serve it as an S3Model",
                )
            )
        return found

    def _file_findings(self) -> list[Finding]:
        found = []
        if self.hf_file is not None:
            found.append(
                REPEATED.finding(
                    "hf_file names a file on the Hub, and the weights are on S3",
                    "name the file with model",
                )
            )
        if self.model is None and self.distribution == "huggingface":
            found.append(
                NO_WEIGHTS.finding(
                    f"model is missing: Hugging Face's image does not look for a "
                    f"{GGUF_SUFFIX} file in {MODEL_DIR} itself",
                    "name the file within the prefix",
                )
            )
        elif self.model is None and self.mmproj is not None:
            found.append(
                NO_WEIGHTS.finding(
                    "model is missing beside mmproj: the image takes the first "
                    f"{GGUF_SUFFIX} file by name, which may be the projector",
                    "name the file within the prefix",
                )
            )
        return found


def _count(value: int | None) -> int | None:
    return value if value is not None and value > 0 else None


def _in_model_dir(path: str) -> str:
    return path if path.startswith("/") else f"{MODEL_DIR}/{path}"
