"""
What a serving.properties makes an LMI container run: launcher, scheduler, backend; and
what the checks of it look at.

The rules are those of the front end (``LmiConfigRecommender``, ``LmiUtils``) and of
the handlers, read at each version from 0.25 to 0.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cdk_sagemaker_llm.catalog.lmi import ARGUMENTS_SINCE, LmiVersion, lmi_models
from cdk_sagemaker_llm.serving.checks import Config
from cdk_sagemaker_llm.serving.lmi.properties import as_bool, as_int

CONTAINERS = ("djl-tensorrtllm", "djl-lmi", "djl-deepspeed", "djl-neuronx")
BACKENDS = ("trtllm", "vllm", "lmi-dist", "deepspeed", "neuronx")
_MODELS = lmi_models()
STARTED_WITH_DEEPSPEED = frozenset(_MODELS["deepspeed"]["started"])
BATCHED_BY_DEEPSPEED = STARTED_WITH_DEEPSPEED.union(_MODELS["deepspeed"]["batched_too"])
SMOOTHED_BY_DEEPSPEED = frozenset(_MODELS["deepspeed"]["smoothed"])
LMI_DIST_ARCHITECTURES_0_26 = frozenset(_MODELS["lmi_dist_classes"])
_TEXT_GENERATION = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_HUGGING_FACE = "djl_python.huggingface"
_VLLM_ENTRY_POINTS = ("vllm_async_service", "lmi_vllm")
# From this size on the front end of 0.30 batches with vLLM on Neuron.
_VLLM_BATCH_ON_NEURON = 12
# What the front end writes for vLLM's asynchronous service where nothing says how many
# (setRollingBatchSize of LmiConfigRecommender).
SEQUENCES_OF_SERVICE = 32


def model_type_of(architecture: str | None) -> str | None:
    """
    Return the type of a class in config.json; ``None`` where it is not known here.
    """
    if architecture is None:
        return None
    model_type: str | None
    for prefix, model_type in _MODELS["prefixes"].items():
        if architecture.startswith(f"{prefix}For"):
            return model_type
    model_type = _MODELS["types"].get(architecture)
    return model_type


def started_with_lmi_dist(version: LmiVersion) -> frozenset[str] | None:
    """
    Return the types that the automatic choice runs on LMI-Dist; ``None`` for all that
    generate text, as from 0.30 on.
    """
    rows: Mapping[str, list[str]] = _MODELS["lmi_dist"]
    return _types_until(version, rows) if str(version.minor) in rows else None


def loaded_by_neuronx(version: LmiVersion) -> frozenset[str]:
    """
    Return the types that the Transformers-NeuronX loader knows.
    """
    return _types_until(version, _MODELS["neuronx"])


def _types_until(version: LmiVersion, rows: Mapping[str, list[str]]) -> frozenset[str]:
    return frozenset(
        name
        for minor, names in rows.items()
        if int(minor) <= version.minor
        for name in names
    )


class Launch(NamedTuple):
    """
    What a file asks for, and what comes of it.

    Args:
        engine: The launcher as written; ``None`` where it is left out.

        rolling_batch: The scheduler as written, in lower case; ``None`` likewise.

        backends: Which backends can come of it: more than one where the model's
            architecture decides and is not known.

        asynchronous: Whether vLLM's own asynchronous service runs, which no handler
            stands before.
    """

    container: str
    version: LmiVersion
    engine: str | None
    rolling_batch: str | None
    backends: tuple[str, ...]
    asynchronous: bool = False


class _Model(NamedTuple):
    """
    What the container reads of the model's config.json.
    """

    architecture: str | None
    model_type: str | None


def resolve(
    properties: Mapping[str, str],
    *,
    container: str,
    version: LmiVersion,
    architecture: str | None = None,
    model_type: str | None = None,
) -> Launch:
    """
    Find what a container of a version makes of the properties.

    Without the model's class every backend that some class leads to is named; its type
    in config.json is that of the class if omitted.
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
        "djl-tensorrtllm": lambda *_: ("trtllm",),
        "djl-deepspeed": _of_deepspeed_image,
        "djl-lmi": _of_lmi_image,
        "djl-neuronx": _of_neuronx,
    }[container]
    model = _Model(architecture, model_type or model_type_of(architecture))
    backends = find(launch, properties, model)
    batch = _batch(launch, properties)
    without_handler = batch == "auto" and launch.version.at_least("0.35")
    asynchronous = backends == ("vllm",) and (batch == "disable" or without_handler)
    return launch._replace(backends=backends, asynchronous=asynchronous)


def batches_dynamically(properties: Mapping[str, str]) -> bool:
    """
    Whether requests are batched before they reach the model, which where the front end
    chooses switches the rolling batch off.
    """
    sizes = [properties.get(key) for key in ("batch_size", "max_dynamic_batch_size")]
    return any((as_int(size) or 1) > 1 for size in sizes)


def front_end_chooses(launch: Launch) -> bool:
    """
    Whether the front end looks at the model: always from 0.28 on, and at 0.27 where no
    engine is written (ModelInfo).
    """
    return launch.version.at_least("0.28") or (
        launch.engine is None and launch.version.at_least("0.27")
    )


def generates_text(architecture: str | None) -> bool:
    """
    Whether the front end takes a model for one that generates text, and batches it; a
    class that is not known counts as one.
    """
    return architecture is None or architecture.endswith(_TEXT_GENERATION)


def _of_neuronx(
    launch: Launch, properties: Mapping[str, str], _model: _Model
) -> tuple[str, ...]:
    batch, version = launch.rolling_batch, launch.version
    if batch == "vllm" and version.at_least("0.28"):
        return ("neuronx", "vllm")
    size = as_int(properties.get("option.max_rolling_batch_size")) or 1
    large = version.at_least("0.30") and size >= _VLLM_BATCH_ON_NEURON
    return ("neuronx", "vllm") if large and batch in (None, "auto") else ("neuronx",)


def _of_deepspeed_image(
    launch: Launch, properties: Mapping[str, str], model: _Model
) -> tuple[str, ...]:
    entry_point = properties.get("option.entryPoint", "")
    chosen = launch.engine == "DeepSpeed" and entry_point != _HUGGING_FACE
    if chosen or entry_point == "djl_python.deepspeed":
        return ("deepspeed",)
    found = _of_batch(_batch(launch, properties), launch, model)
    if launch.engine is None and launch.version.before("0.27"):
        if model.model_type is None:
            return tuple(dict.fromkeys((*found, "deepspeed")))
        return ("deepspeed",) if model.model_type in STARTED_WITH_DEEPSPEED else found
    return found


def _batch(launch: Launch, properties: Mapping[str, str]) -> str:
    """
    Return the rolling batch that the front end leaves, still ``auto`` where the model
    decides.
    """
    chooses = front_end_chooses(launch)
    batch = launch.rolling_batch or ("auto" if chooses else "disable")
    if chooses and batches_dynamically(properties):
        return "disable"
    if batch == "lmi-dist" and launch.version.at_least("0.33"):
        return "vllm"
    return batch


def _of_batch(batch: str, launch: Launch, model: _Model) -> tuple[str, ...]:
    if batch != "auto":
        return ("huggingface",) if batch == "disable" else (batch,)
    if front_end_chooses(launch):
        return _of_recommendation(launch, model)
    # The front end has not looked at the model: the handler does.
    if launch.engine != "MPI":
        return ("scheduler",)
    if model.architecture is None:
        return ("lmi-dist", "scheduler")
    listed = model.architecture in LMI_DIST_ARCHITECTURES_0_26
    return ("lmi-dist",) if listed else ("scheduler",)


def _of_recommendation(launch: Launch, model: _Model) -> tuple[str, ...]:
    if not generates_text(model.architecture):
        return ("huggingface",)
    if launch.version.at_least("0.33"):
        return ("vllm",)
    listed = started_with_lmi_dist(launch.version)
    if listed is None:
        return ("lmi-dist",)
    if model.model_type is None:
        return ("lmi-dist", "scheduler")
    return ("lmi-dist",) if model.model_type in listed else ("scheduler",)


def _of_lmi_image(
    launch: Launch, properties: Mapping[str, str], model: _Model
) -> tuple[str, ...]:
    batch = _batch(launch, properties)
    if batch == "disable" and _asks_for_async(launch, properties):
        return ("vllm",)
    # The front end's own choice of a service gives way to an entry point.
    named = properties.get("option.entryPoint") == _HUGGING_FACE
    if named and batch == "auto" and launch.version.at_least("0.35"):
        return ("huggingface",)
    return _of_batch(batch, launch, model)


def _asks_for_async(launch: Launch, properties: Mapping[str, str]) -> bool:
    entry_point = properties.get("option.entryPoint", "")
    if any(part in entry_point for part in _VLLM_ENTRY_POINTS):
        return True
    if entry_point == _HUGGING_FACE:
        return False
    # Up to 0.34 the switch alone leaves the Hugging Face handler in place (PyModel).
    switched = as_bool(properties.get("option.async_mode")) is True
    return switched and launch.version.at_least("0.35")


FRONT_END = "djl-serving, wlm: LmiUtils and LmiConfigRecommender"
MODELS = "djl-serving, djl_python/properties_manager"
HANDLERS = "djl-serving, the handlers of djl_python"
DOCUMENTATION = "LMI documentation"
JAVA = "java.util.Properties"
# The property models, each by its own name.
DEEPSPEED = "DeepSpeedProperties"
HUGGING_FACE = "HuggingFaceProperties"
LMI_DIST = "LmiDistRbProperties"
NEURONX = "TransformerNeuronXProperties"
VLLM = "VllmRbProperties"
# The configuration of the engine itself.
LORA_CONFIG = "vLLM, LoRAConfig"


class Subject(NamedTuple):
    """
    A file's properties, with where they are to run; what is ``None`` is not known.

    Args:
        properties: What the file says, as Java reads it.

        launch: What the container makes of it.

        accelerators: Devices that each copy of the model has.

        strict: Whether an option without effect is an error.

        decided_elsewhere: Whether a plan, or a file that is not seen, has a say in the
            degree that is left out.

        kind: What is known of the model, as the caller has it.

        accelerator_model: The accelerator's name, such as ``A10G``.

        variables: Those of the container, as far as they are known.

        is_isolated: Whether the container is cut off from the network.
    """

    properties: Mapping[str, str]
    launch: Launch
    accelerators: int | None = None
    architecture: str | None = None
    attention_heads: int | None = None
    strict: bool = False
    model_type: str | None = None
    decided_elsewhere: bool = False
    kind: Config = None
    accelerator_model: str | None = None
    variables: Mapping[str, str] = {}
    is_isolated: bool = False

    @property
    def version(self) -> LmiVersion:
        """
        The LMI version that reads the file.
        """
        return self.launch.version

    @property
    def parser_release(self) -> str | None:
        """
        The release of vLLM whose parser options are handed on to; ``None`` where that
        is not known, or none are.
        """
        version = self.version
        is_passing = version.at_least(ARGUMENTS_SINCE) and version.is_described
        is_vllm = self.launch.container == "djl-lmi" and self.runs("vllm")
        return version.vllm if is_passing and is_vllm else None

    def option(self, name: str) -> str | None:
        """
        Return ``option.<name>`` as written; ``None`` if it is left out.
        """
        return self.properties.get(f"option.{name}")

    def flag(self, name: str) -> bool:
        """
        Whether a switch is on.
        """
        return as_bool(self.option(name)) is True

    def number(self, name: str) -> int | None:
        """
        Return an option as a whole number; ``None`` if it is left out or none.
        """
        return as_int(self.option(name))

    def runs(self, *backends: str) -> bool:
        """
        Whether nothing but these backends can come of the file.
        """
        return set(self.launch.backends) <= set(backends)

    def has_code_of_its_own(self) -> bool:
        """
        Whether code of the user's reads the options: any of them, and as it likes.
        """
        entry_point = self.option("entryPoint")
        return entry_point is not None and not entry_point.startswith("djl_python.")

    def passes_handler(self) -> bool:
        """
        Whether the Hugging Face handler reads the file before the backend does.

        It does for every rolling batch, and refuses what its own model does not take.
        """
        launch = self.launch
        handled = {"huggingface", "vllm", "lmi-dist", "scheduler"}
        here = launch.container in ("djl-deepspeed", "djl-lmi")
        return here and not launch.asynchronous and self.runs(*handled)

    def degree(self) -> int | None:
        """
        Return over how many devices one copy is split, as far as the file and the
        devices tell.

        From 0.28 on the front end writes all of them where nothing is written.
        """
        written = self.option("tensor_parallel_degree")
        chosen = written is None and self.version.at_least("0.28")
        if written == "max" or (chosen and not self.decided_elsewhere):
            stages = self.stages() or 1
            if self.accelerators is None or stages < 1:
                return None
            return self.accelerators // stages
        return self.number("tensor_parallel_degree")

    def stages(self) -> int | None:
        """
        Return the pipeline's stages, which no image knows before 0.29.
        """
        has_stages = self.version.at_least("0.29")
        return self.number("pipeline_parallel_degree") if has_stages else None

    def devices(self) -> int | None:
        """
        Return how many devices tensor parallelism counts.

        On Inferentia2 and Trainium those are NeuronCores, two a chip.
        """
        if self.accelerators is None:
            return None
        cores = 2 if self.launch.container == "djl-neuronx" else 1
        return self.accelerators * cores
