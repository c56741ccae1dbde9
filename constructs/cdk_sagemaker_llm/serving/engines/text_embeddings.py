"""
Text Embeddings Inference: embeddings, rankings and classes in an image of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from cdk_sagemaker_llm.catalog.engine_arguments import (
    TEI_SINCE,
    is_release_between,
)
from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import ModelSource, architecture_of
from cdk_sagemaker_llm.serving.base import Accelerators, settled
from cdk_sagemaker_llm.serving.engines.arguments import (
    ArgumentValue,
    argument,
    plain_name,
    plain_text,
    words_of,
)
from cdk_sagemaker_llm.serving.engines.base import (
    EngineServing,
    engine_version_in,
    release_in,
)
from cdk_sagemaker_llm.serving.engines.checks.tei import UNREAD_BY_TEI
from cdk_sagemaker_llm.serving.engines.telling import (
    OTHER_RELEASE,
    EngineVariables,
    later_value_findings,
    repeated,
)
from cdk_sagemaker_llm.serving.images import ChosenImage, choose_image
from cdk_sagemaker_llm.serving.parameters import (
    COUNT,
    FORWARDED_TOKEN,
    HUB_TOKEN,
    UNREADABLE,
)
from cdk_sagemaker_llm.text import nearest

FAMILY, CPU_FAMILY = "tei", "tei-cpu"
NEWEST = "1.9.3"
_WEIGHT_BITS = {"float16": 16, "float32": 32}


@dataclass(frozen=True, slots=True)
class TextEmbeddings(EngineServing):
    """
    Serve a model for embeddings, rankings or classes with Text Embeddings Inference.

    ``TextEmbeddings()``
    ``TextEmbeddings("1.8.2", max_client_batch_size=128, pooling="mean")``

    On instances with GPUs it is the image for GPUs, on others that for CPUs, which is
    built for x86_64 alone. What ``/invocations`` answers follows the model: vectors,
    scores of texts for a query, or classes. Parameters are TEI's own arguments; what
    is left out has TEI's default.

    Args:
        version: The TEI version of the image. If omitted, it is the newest.

        max_concurrent_requests:
            Requests at the same time; others are refused with 429.
            If omitted, they are 512.

        max_batch_tokens: Tokens of one batch. If omitted, they are 16,384.

        max_batch_requests:
            Requests of one batch. If omitted, the tokens alone bound it.

        max_client_batch_size:
            Texts in one request. If omitted, they are 32.

        payload_limit: Bytes of one request. If omitted, they are 2,000,000.

        dtype:
            The number format of the weights: ``float16`` or ``float32``.
            If omitted, it is ``float16`` on GPUs and ``float32`` on CPUs.

        pooling:
            How the vectors of tokens become one: ``cls``, ``mean``, ``splade`` or
            ``last-token``.
            If omitted, it is as the model's own files say.

        auto_truncate:
            Whether texts that are too long are shortened.
            If omitted, they are from TEI 1.9 on, and refused before.

        task:
            What the model is asked for, where that is not what it is made for:
            ``sentence-similarity`` of an embedding model.
            If omitted, it is what the model is made for.

        default_prompt: What is put before each text.

        default_prompt_name: The name of such a prompt among the model's own.

        dense_path: The folder of the model's dense layer, such as ``2_Dense_1024``.

        tokenization_workers: How many threads take texts apart.
    """

    engine_name: ClassVar[str] = "TEI"
    model_words: ClassVar[tuple[str, str]] = ("hf-model-id", "hf-model-revision")

    version: str = NEWEST
    _: KW_ONLY
    max_concurrent_requests: int | None = argument("max-concurrent-requests")
    max_batch_tokens: int | None = argument("max-batch-tokens")
    max_batch_requests: int | None = argument("max-batch-requests")
    max_client_batch_size: int | None = argument("max-client-batch-size")
    payload_limit: int | None = argument("payload-limit")
    dtype: str | None = argument("dtype")
    pooling: str | None = argument("pooling")
    auto_truncate: bool | None = argument("auto-truncate")
    task: Literal["sentence-similarity"] | None = argument("task")
    default_prompt: str | None = argument("default-prompt")
    default_prompt_name: str | None = argument("default-prompt-name")
    dense_path: str | None = argument("dense-path")
    tokenization_workers: int | None = argument("tokenization-workers", COUNT)

    @property
    def container_family(self) -> str:
        """
        The image family on instances with GPUs.
        """
        return FAMILY

    def _image(
        self, model: ModelSource | None, accelerators: Accelerators
    ) -> tuple[ChosenImage, Accelerators]:
        devices = settled(accelerators, self._demand(model, None))
        family = CPU_FAMILY if devices == 0 else FAMILY
        return choose_image(family, self.version, self.image), devices

    def _demand(
        self, model: ModelSource | None, image: ChosenImage | None
    ) -> Demand | None:
        tokens = self.max_batch_tokens
        return Demand(
            architecture=architecture_of(model),
            assumptions=Assumptions(
                max_num_batched_tokens=tokens if (tokens or 0) > 0 else None
            ),
            weight_bits=_WEIGHT_BITS.get(self.dtype or ""),
            tensor_parallel_degree=1,
            engine="tei",
            engine_version=engine_version_in(image),
        )

    def _variable(
        self,
        release: EngineRelease,  # noqa: ARG002 - the base's signature
        argument: str,
    ) -> str:
        return argument.replace("-", "_").upper()

    def _long_name(self, release: EngineRelease, spelling: str) -> str:  # noqa: ARG002 - the base's signature
        return plain_name(spelling)

    def _token_variables(self, image: ChosenImage) -> tuple[str, ...]:
        # It refuses both together.
        reads = _is_known(HUB_TOKEN, release_in(image))
        return (HUB_TOKEN if reads else FORWARDED_TOKEN,)

    def _engine_variables(
        self, release: EngineRelease, arguments: Mapping[str, ArgumentValue]
    ) -> EngineVariables:
        found: list[Finding] = []
        variables: dict[str, str] = {}
        words = words_of(self)
        typed = ((words.get(name, name), name, arguments[name]) for name in arguments)
        for word, name, value in [*typed, *self._further(arguments, found)]:
            variable = self._variable(release, name)
            if not _is_known(variable, release):
                found.append(
                    OTHER_RELEASE.finding(
                        f"{word} is no argument of TEI {release.engine_version}: "
                        f"it came with TEI {TEI_SINCE[variable]}",
                        "take a newer version, or leave it out",
                    )
                )
            elif later := later_value_findings(word, value):
                found += later
            elif not isinstance(value, str | int | float):
                found.append(
                    UNREADABLE.finding(
                        f"{word} must be a text, a number, True or False, got "
                        f"{value!r}: TEI has no argument that takes more"
                    )
                )
            else:
                variables[variable] = plain_text(value)
        return EngineVariables(variables, tuple(found))

    def _further(
        self, typed: Mapping[str, ArgumentValue], found: list[Finding]
    ) -> Iterator[tuple[str, str, ArgumentValue]]:
        for spelling, value in self.options.items():
            name = plain_name(spelling)
            if name in typed:
                found.append(repeated(spelling))
                continue
            variable = name.replace("-", "_").upper()
            if variable not in TEI_SINCE:
                near = nearest(variable, TEI_SINCE, count=1)
                found.append(
                    UNREAD_BY_TEI.finding(
                        f"{spelling} is no argument that TEI is known to have: it "
                        "ignores others",
                        f"did you mean {near[0].lower()}?" if near else "",
                    )
                )
            yield spelling, name, value


def _is_known(variable: str, release: EngineRelease) -> bool:
    since, number = TEI_SINCE.get(variable, ""), release.engine_version
    return not since or number is None or is_release_between(number, since)
