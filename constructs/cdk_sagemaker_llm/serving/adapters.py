"""
Whether a container serves LoRA adapters that SageMaker hands to it, and which.

What belongs here looks at a container that has been checked without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cdk_sagemaker_llm.catalog.engine_releases import EngineName, engine_of
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.configuration import Container
from cdk_sagemaker_llm.serving.environment import ENGINES, TGI, checked_as, file_of
from cdk_sagemaker_llm.serving.lmi.checks.vllm import lora_rank_above
from cdk_sagemaker_llm.serving.lmi.environment.translation import translate
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS as LMI
from cdk_sagemaker_llm.serving.lmi.launch import Launch, resolve
from cdk_sagemaker_llm.serving.lmi.values import as_bool, as_int
from cdk_sagemaker_llm.serving.tgi.neuron import FAMILY as TGI_NEURON
from cdk_sagemaker_llm.tokens import is_unresolved

SWITCH = "option.enable_lora"
SWITCHED_ON = {"OPTION_ENABLE_LORA": "true"}
"""The variables that let a container take adapters, where its files say nothing."""
_LARGEST = "option.max_lora_rank"
# VllmRbProperties, LmiDistRbProperties and vLLM's own engine arguments agree.
_DEFAULT_LARGEST = 16
_ENGINES = frozenset({"vllm", "lmi-dist"})
# Whether vLLM-Omni and vLLM on Neuron take adapters is not known.
_KNOWN_ENGINES = frozenset({"vllm", "sglang", "llama.cpp", "tei"})

NO_ADAPTERS = Rule(
    "LLM326",
    "a base's backend takes no adapters",
    "DJL Serving, adapters; model-hosting-container-standards, of vLLM alone",
)
TOO_OLD_FOR_ADAPTERS = Rule(
    "LLM327",
    "a base's LMI version does not know SageMaker's adapters",
    "DJL Serving, AdapterManagementRequestHandler",
)
LORA_IS_OFF = Rule("LLM328", "a base says that it takes no LoRA adapters")
LARGE_RANK = Rule(
    "LLM329", "an adapter's rank is above what its base takes", "vLLM, PEFTHelper"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterHost:
    """
    What a container does with adapters.

    Args:
        image: The catalogue's image that it is read as.

        launch: What LMI makes of its settings; ``None`` for another image.

        is_on: Whether LoRA is on; ``None`` where nothing is said of it.

        largest_rank: The largest rank that it takes; ``None`` if deployment alone
            knows.

        engine: The engine in an image of its own; ``None`` for LMI and TGI.

        switches: The variables that it lacks to take adapters.
    """

    image: ImageRelease
    launch: Launch | None
    is_on: bool | None
    largest_rank: int | None
    engine: EngineName | None = None
    switches: Mapping[str, str] = field(default_factory=dict)


def adapter_host(
    container: Container,
    variables: Mapping[str, str],
    *,
    architecture: str | None = None,
) -> AdapterHost | None:
    """
    Read what a container does with adapters; ``None`` for an image that is not known.

    Args:
        container: The container.

        variables: All its variables.

        architecture: The model's class. If left out, it is not known.
    """
    image = checked_as(container.image)
    if image.family in (TGI, TGI_NEURON):
        return AdapterHost(image=image, launch=None, is_on=None, largest_rank=None)
    if image.family in ENGINES:
        return _engine_host(image, variables)
    if image.family not in LMI:
        return None
    version = LmiVersion.parse(image.version)
    found = translate(
        variables, file_of(container.files), container=image.family, version=version
    )
    largest = found.properties.get(_LARGEST, str(_DEFAULT_LARGEST))
    is_on = as_bool(found.properties.get(SWITCH))
    # What deployment decides is taken for on: it is the user's own word.
    is_on = True if SWITCH in found.unknown else is_on
    return AdapterHost(
        image=image,
        launch=resolve(
            found.properties,
            container=image.family,
            version=version,
            architecture=architecture,
        ),
        is_on=is_on,
        largest_rank=None if _LARGEST in found.unknown else as_int(largest),
        switches={} if is_on else SWITCHED_ON,
    )


def _engine_host(
    image: ImageRelease, variables: Mapping[str, str]
) -> AdapterHost | None:
    # What reads an engine's variables loads its parser: no base on LMI needs it.
    from cdk_sagemaker_llm.serving.engines.adapters import (  # noqa: PLC0415
        adapter_settings,
    )

    engine = engine_of(image.family)
    if engine not in _KNOWN_ENGINES:
        return None
    if engine != "vllm":
        return AdapterHost(
            image=image, launch=None, is_on=None, largest_rank=None, engine=engine
        )
    settings = adapter_settings(variables, image.family, image.version)
    if settings is None:
        return None
    return AdapterHost(
        image=image,
        launch=None,
        is_on=settings.is_on,
        largest_rank=settings.largest_rank,
        engine=engine,
        switches=settings.switches,
    )


def adapter_findings(host: AdapterHost, rank: int | None) -> Iterator[Finding]:
    """
    Check that a container takes an adapter.

    Args:
        host: What the container does with adapters.

        rank: The adapter's rank; ``None`` if it is not known.
    """
    if host.engine is not None:
        yield from _engine_findings(host, rank)
        return
    launch = host.launch
    if launch is None:
        yield NO_ADAPTERS.finding(
            f"image {host.image.family} {host.image.version} takes no adapter "
            "components: TGI loads those that its own lora_adapters name",
            "serve the base with Vllm(enable_lora=True)",
        )
        return
    if _ENGINES.isdisjoint(launch.backends):
        yield NO_ADAPTERS.finding(
            f"the base runs {' or '.join(launch.backends)}, and only vLLM and LMI-Dist "
            "take adapters",
            "serve the base with Vllm(enable_lora=True)",
        )
        return
    yield from _version_findings(launch)
    yield from _setting_findings(host, rank)


def _engine_findings(host: AdapterHost, rank: int | None) -> Iterator[Finding]:
    if host.engine == "vllm":
        yield from _setting_findings(host, rank)
        return
    yield NO_ADAPTERS.finding(
        f"image {host.image.family} {host.image.version} takes no adapter components: "
        "of the engines' own images those of vLLM do",
        "serve the base with Vllm(enable_lora=True)",
    )


def _setting_findings(host: AdapterHost, rank: int | None) -> Iterator[Finding]:
    if host.is_on is False:
        yield LORA_IS_OFF.finding(
            "the base is served with enable_lora=False",
            "leave it out, or serve the base with enable_lora=True",
        )
    largest = host.largest_rank
    if rank is None or largest is None or is_unresolved(rank) or rank <= largest:
        return
    room = lora_rank_above(rank)
    yield LARGE_RANK.finding(
        f"the adapter's rank is {rank}, and its base takes ranks up to {largest}",
        f"serve the base with enable_lora=True and max_lora_rank={room}"
        if room
        else "train an adapter of a smaller rank: vLLM takes none of a larger one",
    )


def _version_findings(launch: Launch) -> Iterator[Finding]:
    # From 0.31 on the headers that name an adapter are read; what SageMaker sends to
    # an older one is answered by the base alone.
    if launch.version.before("0.31"):
        yield TOO_OLD_FOR_ADAPTERS.finding(
            f"LMI {launch.version} does not read which adapter SageMaker asks for",
            "serve the base with LMI 0.31 or later",
        )
    elif launch.asynchronous and launch.version.before("0.34"):
        yield TOO_OLD_FOR_ADAPTERS.finding(
            f"the asynchronous service of LMI {launch.version} takes no adapters",
            "serve the base with LMI 0.34 or later, or with rolling batch",
        )
