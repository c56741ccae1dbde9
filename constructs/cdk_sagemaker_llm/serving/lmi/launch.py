"""
What a serving.properties makes an LMI container run: launcher, scheduler, backend.

The rules are those of the front end (``LmiConfigRecommender``, ``LmiUtils``) and of
the handlers, read at each version from 0.25 to 0.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.lmi_versions import LmiVersion
from cdk_sagemaker_llm.serving.lmi.values import as_bool, as_int

CONTAINERS = ("djl-tensorrtllm", "djl-lmi", "djl-deepspeed", "djl-neuronx")
BACKENDS = ("trtllm", "vllm", "lmi-dist", "deepspeed", "neuronx")

# get_rolling_batch_class_from_str of the Hugging Face handler, LMI 0.26.
LMI_DIST_ARCHITECTURES_0_26 = frozenset(
    {
        "RWForCausalLM",
        "GPTNeoXForCausalLM",
        "T5ForConditionalGeneration",
        "LlamaForCausalLM",
        "FalconForCausalLM",
        "MPTForCausalLM",
        "GPTBigCodeForCausalLM",
    }
)
# Architectures that 0.26 starts with DeepSpeed when no engine is written.
_DEEPSPEED_ARCHITECTURES_0_26 = (
    "Bert",
    "Bloom",
    "GPTNeo",
    "GPT2",
    "GPTJ",
    "OPT",
    "Rob",
)
_TEXT_GENERATION = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_VLLM_ENTRY_POINTS = ("vllm_async_service", "lmi_vllm")


@dataclass(frozen=True, slots=True)
class Launch:
    """
    What a file asks for, and what comes of it.

    Args:
        container: The image family.

        version: The LMI version.

        engine: The launcher as written; ``None`` where it is left out.

        rolling_batch: The scheduler as written, in lower case; ``None`` likewise.

        backends: Which backends can come of it: more than one where the model's
            architecture decides and is not known.
    """

    container: str
    version: LmiVersion
    engine: str | None
    rolling_batch: str | None
    backends: tuple[str, ...]

    @property
    def uses_mpi(self) -> bool:
        """
        Whether the file itself asks for MPI.
        """
        return self.engine == "MPI"


def resolve(
    properties: Mapping[str, str],
    *,
    container: str,
    version: LmiVersion,
    architecture: str | None = None,
) -> Launch:
    """
    Find what a container of a version makes of the properties.

    Args:
        properties: What the file says.

        container: The image family, such as ``djl-lmi``.

        version: The LMI version.

        architecture: The model's class, such as ``MistralForCausalLM``.
            If left out, every backend that some architecture leads to is named.
    """
    written = properties.get("option.rolling_batch")
    launch = Launch(
        container=container,
        version=version,
        engine=properties.get("engine"),
        rolling_batch=written.lower() if written else None,
        backends=(),
    )
    find = {
        "djl-tensorrtllm": _of_tensorrt_llm,
        "djl-deepspeed": _of_deepspeed_image,
        "djl-lmi": _of_lmi_image,
        "djl-neuronx": _of_neuronx,
    }[container]
    backends = find(launch, properties, architecture)
    return Launch(container, version, launch.engine, launch.rolling_batch, backends)


def batches_dynamically(properties: Mapping[str, str]) -> bool:
    """
    Whether requests are batched before they reach the model, which from LMI 0.27
    switches the rolling batch off.
    """
    sizes = [properties.get(key) for key in ("batch_size", "max_dynamic_batch_size")]
    return any((as_int(size) or 1) > 1 for size in sizes)


def _of_tensorrt_llm(
    _launch: Launch, _properties: Mapping[str, str], _architecture: str | None
) -> tuple[str, ...]:
    return ("trtllm",)


def _of_neuronx(
    launch: Launch, _properties: Mapping[str, str], _architecture: str | None
) -> tuple[str, ...]:
    if launch.rolling_batch == "vllm" and launch.version.at_least("0.27"):
        return ("neuronx", "vllm")
    return ("neuronx",)


def _of_deepspeed_image(
    launch: Launch, properties: Mapping[str, str], architecture: str | None
) -> tuple[str, ...]:
    entry_point = properties.get("option.entryPoint", "")
    if launch.engine == "DeepSpeed" or entry_point == "djl_python.deepspeed":
        return ("deepspeed",)
    batch = launch.rolling_batch or _default_batch(launch.version)
    if launch.version.at_least("0.27") and batches_dynamically(properties):
        batch = "disable"
    if batch == "auto":
        found = _of_auto(launch, architecture)
    else:
        found = ("huggingface",) if batch == "disable" else (batch,)
    if launch.engine is None and launch.version.before("0.27"):
        return _with_inferred_deepspeed(found, architecture)
    return found


def _of_auto(launch: Launch, architecture: str | None) -> tuple[str, ...]:
    if launch.version.at_least("0.27"):
        # The list of 0.27 maps some model types to vLLM; not every entry is sure.
        return ("lmi-dist", "vllm", "scheduler")
    if not launch.uses_mpi:
        return ("scheduler",)
    if architecture is None:
        return ("lmi-dist", "scheduler")
    listed = architecture in LMI_DIST_ARCHITECTURES_0_26
    return ("lmi-dist",) if listed else ("scheduler",)


def _with_inferred_deepspeed(
    found: tuple[str, ...], architecture: str | None
) -> tuple[str, ...]:
    if architecture is None:
        return (*found, "deepspeed")
    inferred = architecture.startswith(_DEEPSPEED_ARCHITECTURES_0_26)
    return ("deepspeed",) if inferred else found


def _default_batch(version: LmiVersion) -> str:
    return "auto" if version.at_least("0.27") else "disable"


def _of_lmi_image(
    launch: Launch, properties: Mapping[str, str], architecture: str | None
) -> tuple[str, ...]:
    batch = launch.rolling_batch or "auto"
    if batches_dynamically(properties):
        batch = "disable"
    if batch == "lmi-dist" and launch.version.at_least("0.35"):
        batch = "vllm"
    if batch == "disable":
        return ("vllm",) if _asks_for_async(properties) else ("huggingface",)
    if batch != "auto":
        return (batch,)
    if architecture is not None and not architecture.endswith(_TEXT_GENERATION):
        return ("huggingface",)
    return ("vllm",) if launch.version.at_least("0.33") else ("lmi-dist",)


def _asks_for_async(properties: Mapping[str, str]) -> bool:
    entry_point = properties.get("option.entryPoint", "")
    named = any(part in entry_point for part in _VLLM_ENTRY_POINTS)
    return named or as_bool(properties.get("option.async_mode")) is True
