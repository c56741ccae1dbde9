"""
Whether a model fits an instance type, how often, and what decides it.
"""

from __future__ import annotations

from dataclasses import replace

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.architectures.weight_format import gguf_bits
from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.demand import (
    Assumptions,
    DraftModel,
    EngineName,
    engine_title,
)
from cdk_sagemaker_llm.fit.memory import outcome_of
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.fit.releases import Case, Release, release_of
from cdk_sagemaker_llm.fit.setting import Setting
from cdk_sagemaker_llm.text import any_of, counted

# A plan without a context length is for this many tokens, or for as many as the model
# has if those are fewer: the length that published sizings of 2023 and 2024 are for.
DEFAULT_CONTEXT_LENGTH = 4096
WEIGHT_BITS = (4, 8, 16, 32)
_HALF, _FULL = 16, 32
# What runs on a host without accelerators, as images of AWS have it.
_ON_HOSTS = frozenset({"llama.cpp", "tei"})


@held
def plan(
    architecture: ModelArchitecture | str,
    instance_type: InstanceType | str,
    *,
    weight_bits: int | None = None,
    context_length: int | None = None,
    tensor_parallel_degree: int | None = None,
    assumptions: Assumptions | None = None,
    engine: EngineName = "vllm",
    engine_version: str | None = None,
    gguf_type: str | None = None,
    draft: DraftModel | None = None,
) -> Plan:
    """
    Find out whether a model fits an instance type, and how many copies do.

    ``plan("meta-llama/Llama-2-13b-hf", "ml.p4d.24xlarge").replicas``

    Args:
        architecture: The model, or its name in the catalogue.

        instance_type: The instance type, or its API name.

        weight_bits:
            Bits of a weight: 32, 16, 8, or 4 for GPTQ and AWQ.
            If omitted, the weights are as they are published.

        context_length:
            Tokens of prompt and answer together that must be possible.
            If omitted, it is 4096, or what the model has if that is less.

        tensor_parallel_degree:
            Over how many accelerators a copy is split.
            If omitted, it is the smallest with which it fits.

        assumptions:
            What to take for granted of the engine.
            If omitted, it is what start-up logs of its release show.

        engine: The engine: ``vllm``, ``sglang``, ``tgi``, ``tensorrt-llm``,
            ``llama.cpp`` or ``tei``. The last two run on a host's CPU as well.

        engine_version:
            Its release, such as ``0.10.2`` of vLLM.
            If omitted, the cautious case is that of the release that takes most.

        gguf_type:
            The type of a GGUF file's weights, such as ``Q4_K_M``; for llama.cpp alone.
            If omitted, they are in 16 bits.

        draft:
            The model that drafts tokens. Of one that the catalogue lacks, and with
            another engine than vLLM, the plan says that it is not counted.
            If omitted, there is none.

    Raises:
        ValueError: If an argument is none that a plan can be made for.
    """
    model = architecture
    if not isinstance(model, ModelArchitecture):
        model = ModelArchitecture.of(model)
    hardware = _hardware(instance_type, engine)
    _check_type(gguf_type, weight_bits, engine)
    if weight_bits is not None and weight_bits not in WEIGHT_BITS:
        choices = any_of(map(str, WEIGHT_BITS))
        raise ValueError(f"weight_bits must be {choices}, got {weight_bits}")
    taken = assumptions or Assumptions()
    taken.hold_ranges()
    bits = weight_bits
    if bits is None and engine == "tei":
        # TEI loads weights in float16 on GPUs, and in float32 on a CPU (its --dtype).
        bits = _HALF if hardware.accelerators else _FULL
    release = release_of(engine, engine_version)
    settings = [
        Setting(
            architecture=model,
            hardware=hardware,
            degree=degree,
            weight_bits=bits,
            context_length=_context(model, context_length),
            assumptions=taken,
            release=release,
            gguf_type=gguf_type,
        )
        for degree in _degrees(model, hardware, tensor_parallel_degree, release)
    ]
    if draft is not None and engine == "vllm":
        settings = [_drafted(one, draft) for one in settings]
    first, *larger = settings
    found = _plan(first, engine, engine_version, draft)
    for setting in larger:
        if found.fits:
            break
        found = _plan(setting, engine, engine_version, draft)
    return found


def _drafted(setting: Setting, draft: DraftModel) -> Setting:
    model = draft.drafting_for(setting.architecture)
    if model is None:
        return setting
    return replace(
        setting,
        draft=replace(
            setting,
            architecture=model,
            degree=draft.tensor_parallel_degree or setting.degree,
            weight_bits=draft.weight_bits,
        ),
    )


def _check_type(
    gguf_type: str | None, weight_bits: int | None, engine: EngineName
) -> None:
    if gguf_type is None:
        return
    gguf_bits(gguf_type)
    if engine != "llama.cpp":
        raise ValueError(f"gguf_type is for llama.cpp, got engine={engine!r}")
    if weight_bits is not None:
        raise ValueError(
            "gguf_type says what weight_bits would; leave weight_bits out, got "
            f"{weight_bits}"
        )


def _plan(
    setting: Setting,
    engine: EngineName,
    version: str | None,
    draft: DraftModel | None,
) -> Plan:
    return Plan(
        setting=setting,
        engine=engine,
        engine_version=version,
        best=outcome_of(setting, Case.BEST),
        expected=outcome_of(setting, Case.EXPECTED),
        cautious=outcome_of(setting, Case.CAUTIOUS),
        obstacle=_obstacle(setting, engine),
        draft=draft,
    )


def _degrees(
    model: ModelArchitecture,
    hardware: InstanceType,
    requested: int | None,
    release: Release,
) -> list[int]:
    if requested is not None:
        if requested < 1:
            raise ValueError(
                f"tensor_parallel_degree must be at least 1, got {requested}"
            )
        return [requested]
    if not release.keeps_cache:
        return [1]
    most = max(hardware.accelerators, 1)
    if release.splits_layers:
        return list(range(1, most + 1))
    # Widths other than the heads' are multiples of powers of two, and of little else.
    return [
        degree
        for degree in model.tensor_parallel_degrees
        if degree <= most and degree & (degree - 1) == 0
    ]


def _obstacle(setting: Setting, engine: EngineName) -> str:
    model, hardware = setting.architecture, setting.hardware
    degree, count = setting.degree, hardware.accelerators
    if degree > max(count, 1):
        has = counted(count, "accelerator") if count else "no accelerators"
        return f"{hardware} has {has}, fewer than {degree}"
    if setting.release.splits_layers:
        return ""
    if not setting.release.keeps_cache:
        alone = f"{engine_title(engine)} runs on one accelerator alone"
        return "" if degree == 1 else alone
    undivided = _undivided(model, degree)
    if not undivided and setting.draft is not None:
        undivided = _undivided(setting.draft.architecture, setting.draft.degree)
        return undivided and f"{undivided} of the draft model"
    return undivided


def _undivided(model: ModelArchitecture, degree: int) -> str:
    if degree in model.tensor_parallel_degrees:
        return ""
    heads, shared = model.num_attention_heads, model.num_key_value_heads
    if heads is not None and heads % degree == 0:
        return f"{degree} does not divide the {shared} key and value heads"
    return f"{degree} does not divide the {heads} attention heads"


def _context(model: ModelArchitecture, requested: int | None) -> int:
    if requested is None:
        return min(DEFAULT_CONTEXT_LENGTH, model.context_length)
    if not 1 <= requested <= model.context_length:
        raise ValueError(
            f"context_length must be 1 to the model's {model.context_length}, "
            f"got {requested}"
        )
    return requested


def _hardware(instance_type: InstanceType | str, engine: EngineName) -> InstanceType:
    hardware = instance_type
    if not isinstance(hardware, InstanceType):
        hardware = find_instance_type(hardware)
    if hardware.has_neuron_cores or hardware.accelerator_model.startswith("HL-"):
        raise ValueError(
            f"plans are for GPUs, and {hardware} has {hardware.accelerator_model}: "
            "how Neuron compilers lay a model out in memory is not modelled"
        )
    if not hardware.accelerators and engine in _ON_HOSTS:
        return hardware
    if not hardware.accelerators:
        raise ValueError(
            f"{hardware} has no GPU, and what {engine_title(engine)} takes of a host's "
            "own memory is not modelled"
        )
    if not hardware.accelerator_memory_gib:
        raise ValueError(
            f"{hardware} has no accelerator memory to plan with; describe it with "
            "InstanceType.of(..., accelerator_memory_gib=...)"
        )
    return hardware
