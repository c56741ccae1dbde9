"""
VLLM-Omni: speech, images, video and chats over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from cdk_sagemaker_llm.catalog.engine_arguments import (
    OMNI,
    find_argument,
    find_omni_argument,
    is_release_between,
)
from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.demand import Demand
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.engines.arguments import (
    ArgumentValue,
    UntellableError,
    argument,
    write,
)
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS
from cdk_sagemaker_llm.serving.engines.telling import (
    OTHER_RELEASE,
    UNTELLABLE,
    EngineVariables,
    Telling,
    later_value_findings,
    repeated,
)
from cdk_sagemaker_llm.serving.engines.vllm import Vllm
from cdk_sagemaker_llm.serving.images import ChosenImage
from cdk_sagemaker_llm.serving.parameters import COUNT

# The newest minor version of the track (images of 2026-10).
NEWEST = "1.8"


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

    version: str = NEWEST
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
        for name, value in [*own.items(), *further.items()]:
            if name in further and _long(name) in own:
                found.append(repeated(name))
                continue
            written = _written(_long(name), value, release, words.get(name, name))
            variables |= written.variables
            found += written.findings
        return EngineVariables(variables, tuple(found))


def _long(spelling: str) -> str:
    return spelling.lstrip("-").replace("_", "-")


def _is_own(name: str, release: str) -> bool:
    return name in OMNI and find_argument("vllm", name, release) is None


def _written(
    name: str, value: ArgumentValue, release: EngineRelease, word: str
) -> EngineVariables:
    argument = find_omni_argument(name, release.engine_version)
    if argument is None:
        _, first, last = OMNI[name]
        is_gone = last and not is_release_between(
            release.engine_version or "", "0", last
        )
        span = f"it was last seen in {last}" if is_gone else f"it came by {first}"
        other = OTHER_RELEASE.finding(
            f"{word} is no argument of vLLM-Omni {release.engine_version}: {span}",
            "choose another version, or leave it out",
        )
        return EngineVariables({}, (other,))
    later = later_value_findings(word, value)
    if later:
        return EngineVariables({}, tuple(later))
    try:
        return EngineVariables(
            write(argument, value, ENTRY_POINTS[release.rule or ""]).variables, ()
        )
    except UntellableError as fault:
        words = f"{word} cannot be told to this image: {fault}"
        return EngineVariables({}, (UNTELLABLE.finding(words),))
