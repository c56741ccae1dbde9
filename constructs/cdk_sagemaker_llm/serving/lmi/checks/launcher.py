"""
Checks of engine and rolling batch: what can run in which container.

The table of what is valid was read from the containers' front end and handlers at
each version (djl-serving v0.25.0 to 0.36.0-lmi27-dlc).
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.lmi import option_type
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.options import REPLACED_VALUE
from cdk_sagemaker_llm.serving.lmi.launch import (
    FRONT_END,
    HANDLERS,
    MODELS,
    NEURONX,
    STARTED_WITH_DEEPSPEED,
    Subject,
    batches_dynamically,
    front_end_chooses,
    started_with_lmi_dist,
)
from cdk_sagemaker_llm.serving.lmi.properties import as_bool, as_int
from cdk_sagemaker_llm.text import any_of, nearest

_SCHEDULERS = ("auto", "disable")
# What each image has installed, beside Hugging Face Accelerate.
_DEEPSPEED_IMAGE = ("lmi-dist", "vllm", "scheduler", "deepspeed")

# What an image with TensorRT-LLM has not.
_ELSEWHERE = dict.fromkeys(
    ("vllm", "lmi-dist", "scheduler", "tnx", "deepspeed"), "it has TensorRT-LLM only"
)

UNKNOWN_ENGINE = Rule("LLM130", "the engine does not exist in that image", FRONT_END)


UNCHECKED_ENGINE = Rule(
    "LLM271",
    "an engine of DJL's own, whose options are not checked",
    "LMI documentation, embedding-user-guide",
)

_OWN_ENGINES = ("OnnxRuntime", "PyTorch", "Rust")


def own_engine_findings(engine: str | None) -> Iterator[Finding]:
    """
    An engine of DJL's own has options that no handler of LMI's reads.
    """
    if engine in _OWN_ENGINES:
        yield UNCHECKED_ENGINE.finding(
            f"engine={engine} is one of DJL's own, which embeds and classifies: its "
            "options are not checked",
        )


def launcher_engine_findings(subject: Subject) -> Iterator[Finding]:
    """
    The engine is one that the front end has at that version.
    """
    engine = subject.launch.engine
    if engine is None:
        return
    names = _engines(subject)
    if engine in names:
        return
    if engine == "DeepSpeed":
        reason = f"engine=DeepSpeed does not exist in {_image(subject)}"
        yield UNKNOWN_ENGINE.finding(reason, f"write engine={any_of(names)}")
        return
    spelt = [name for name in _OWN_ENGINES if name.lower() == engine.lower()]
    near = spelt or nearest(engine.capitalize(), names) or names
    yield UNKNOWN_ENGINE.finding(
        f"engine must be {any_of(names)}, got {engine!r}",
        f"write engine={near[0]}; the name is case-sensitive",
    )


WRONG_ENGINE = Rule("LLM131", "the engine cannot start the backend", MODELS)


def backend_engine_findings(subject: Subject) -> Iterator[Finding]:
    """
    The engine can start the backend that the file resolves to.
    """
    launch, version = subject.launch, subject.version
    needed = reason = ""
    if launch.container == "djl-tensorrtllm":
        if launch.engine == "Python" and version.before("0.28"):
            needed, reason = "MPI", f"TensorRT-LLM {version} needs engine=MPI"
    elif launch.container == "djl-neuronx":
        if _is_started_with_mpi_on_neuron(subject):
            needed = "Python"
            reason = f"NeuronX {version} needs engine=Python for this model"
    elif _batches_with_deepspeed_elsewhere(subject):
        needed = "DeepSpeed"
        reason = "option.rolling_batch=deepspeed needs engine=DeepSpeed"
    elif subject.runs("lmi-dist") and launch.engine in (None, "Python"):
        if _lmi_dist_needs_mpi(subject):
            needed, reason = "MPI", f"LMI-Dist {version} needs engine=MPI"
    elif _is_vllm_elsewhere(subject):
        needed, reason = "Python", "vLLM needs engine=Python"
    if needed:
        got = "none" if launch.engine is None else f"engine={launch.engine}"
        yield WRONG_ENGINE.finding(f"{reason}, got {got}", f"write engine={needed}")


UNKNOWN_BATCH = Rule(
    "LLM132", "the rolling batch does not exist at that version", MODELS
)
BATCH_NOT_IN_IMAGE = Rule(
    "LLM133", "the rolling batch's backend is not in the image", HANDLERS
)


def rolling_batch_findings(subject: Subject) -> Iterator[Finding]:
    """
    The rolling batch exists and its backend is in the image.
    """
    written = subject.option("rolling_batch")
    fault = _fault_on_neuron(subject)
    if fault is not None:
        yield BATCH_NOT_IN_IMAGE.finding(
            f"option.rolling_batch={written} is not in {_image(subject)}: the front "
            f"end {fault}",
            _way_out(subject),
        )
    if written is None or _takes_any_batch(subject):
        return
    choices = _batch_choices(subject)
    lowers = subject.launch.container == "djl-tensorrtllm"
    batch = written.lower() if lowers else written
    if batch in _removed(subject):
        yield BATCH_NOT_IN_IMAGE.finding(
            f"option.rolling_batch={written} is not in {_image(subject)}: "
            f"{_removed(subject)[batch]}",
            _way_out(subject),
        )
    elif batch not in choices and not _is_replaced(subject, batch):
        yield UNKNOWN_BATCH.finding(
            f"option.rolling_batch must be {any_of(choices)} in {_image(subject)}, "
            f"got {written!r}",
            _way_out(subject),
        )


OTHER_BACKEND = Rule(
    "LLM134", "the file runs another backend than the one named", HANDLERS
)
UNDECIDED_BACKEND = Rule(
    "LLM207", "the architecture decides the backend, and is not known", HANDLERS
)


def backend_findings(subject: Subject, backend: str) -> Iterator[Finding]:
    """
    The file resolves to the backend that was named.
    """
    backends = subject.launch.backends
    if backend not in backends:
        yield OTHER_BACKEND.finding(
            f"the file runs {any_of(backends)} in {_image(subject)}, not {backend}",
            _remedy_for(backend, subject),
        )
    elif len(backends) > 1 and subject.launch.container != "djl-neuronx":
        yield UNDECIDED_BACKEND.finding(
            f"the file runs {any_of(backends)} in {_image(subject)}, as the model's "
            "architecture decides",
            _remedy_for(backend, subject),
        )


SLOW_SCHEDULER = Rule(
    "LLM206", "the automatic choice falls back to the slow scheduler", HANDLERS
)


def slow_scheduler_findings(subject: Subject) -> Iterator[Finding]:
    """
    The automatic choice falls back to the slow scheduler.
    """
    if subject.launch.rolling_batch != "auto" or subject.architecture is None:
        return
    if subject.launch.backends == ("scheduler",):
        yield SLOW_SCHEDULER.finding(
            f"option.rolling_batch=auto runs {subject.architecture} on the slow "
            f"scheduler in {_image(subject)}",
            "write option.rolling_batch=vllm with engine=Python, or lmi-dist with "
            "engine=MPI",
        )


def replaced_batch_findings(subject: Subject) -> Iterator[Finding]:
    """
    The container replaces the rolling batch that was written.
    """
    batch = subject.launch.rolling_batch
    if batch is None or _fault_on_neuron(subject) is not None:
        return
    if _is_replaced(subject, batch):
        yield REPLACED_VALUE.finding(
            f"option.rolling_batch={batch} runs as vllm in {_image(subject)}",
            "leave option.rolling_batch out",
        )
    elif _takes_any_batch(subject) and batch not in _batch_choices(subject):
        yield REPLACED_VALUE.finding(
            f"option.rolling_batch={batch} runs as auto in {_image(subject)}",
            "write option.rolling_batch=auto",
        )


ASYNCHRONOUS_BATCH = Rule(
    "LLM155", "the asynchronous service with a rolling batch", FRONT_END
)


def asynchronous_mode_findings(subject: Subject) -> Iterator[Finding]:
    """
    The asynchronous service and a rolling batch exclude each other.
    """
    batch = subject.launch.rolling_batch
    if subject.flag("async_mode") and batch not in (None, *_SCHEDULERS):
        yield ASYNCHRONOUS_BATCH.finding(
            f"option.async_mode=true and option.rolling_batch={batch} exclude each "
            "other",
            "leave one of them out",
        )


TWO_BATCHES = Rule("LLM143", "dynamic and rolling batches on Neuron", NEURONX)
STREAMED_BATCH = Rule("LLM144", "streaming with dynamic batches", "Properties")


def dynamic_batching_findings(subject: Subject) -> Iterator[Finding]:
    """
    Batches of requests, with a rolling batch or with streaming.
    """
    sizes = (subject.option("batch_size"), subject.properties.get("batch_size"))
    size = next((as_int(one) for one in sizes if one is not None), None)
    batch = subject.launch.rolling_batch
    if size is None or size <= 1:
        return
    neuron = subject.launch.container == "djl-neuronx"
    if neuron and batch not in (None, "disable") and subject.version.at_least("0.26"):
        yield TWO_BATCHES.finding(
            f"batch_size={size} and option.rolling_batch={batch} exclude each other "
            "on Neuron",
            "write option.max_rolling_batch_size instead of batch_size",
        )
    streams = (subject.option("enable_streaming") or "false").lower() != "false"
    # Up to 0.26 TensorRT-LLM batches whatever is written.
    may_stop = subject.version.at_least("0.27") or not subject.runs("trtllm")
    if streams and not neuron and batch in (None, "disable") and may_stop:
        yield STREAMED_BATCH.finding(
            f"batch_size={size} cannot stream: it returns whole batches",
            "leave option.enable_streaming out, or write a rolling batch",
        )


NO_TABLES = Rule(
    "LLM223", "a newer image is checked by the tables of the version nearest to it"
)


def table_findings(subject: Subject) -> Iterator[Finding]:
    """
    The option tables reach as far as the image.
    """
    if not subject.version.is_described:
        yield NO_TABLES.finding(
            f"{_image(subject)} is checked as LMI {subject.version.rows[0]}, the "
            "newest whose options are known",
            "pass what it has learned since in unchecked_options",
        )


NO_ENGINE = Rule(
    "LLM215", "no engine is written, and a gated model will not load", FRONT_END
)


def missing_engine_findings(subject: Subject) -> Iterator[Finding]:
    """
    Without an engine LMI up to 0.26 loads no gated model (LmiUtils).
    """
    if subject.launch.engine is None and subject.version.before("0.27"):
        engine = (
            "MPI" if subject.runs("trtllm") or subject.runs("lmi-dist") else "Python"
        )
        yield NO_ENGINE.finding(
            f"engine is left out: LMI {subject.version} then fetches config.json "
            "without the Hugging Face token, and a gated model does not load",
            f"write engine={engine}",
        )


def _engines(subject: Subject) -> tuple[str, ...]:
    if subject.launch.container == "djl-neuronx":
        return ("Python",)
    if subject.launch.container == "djl-deepspeed":
        return ("Python", "MPI", "DeepSpeed")
    return ("Python", "MPI")


def _is_vllm_elsewhere(subject: Subject) -> bool:
    # An engine that the image does not have is another rule's. At 0.25 the scheduler
    # asks for the engine by name, and one that is left out has none.
    others = [name for name in _engines(subject) if name != "Python"]
    unnamed = [None] if subject.version.before("0.26") else []
    return subject.runs("vllm") and subject.launch.engine in (*others, *unnamed)


def _is_started_with_mpi_on_neuron(subject: Subject) -> bool:
    """
    Whether the front end of 0.27 takes the image for one with LMI-Dist: it chooses
    MPI, which counts CUDA devices and finds none.
    """
    launch = subject.launch
    if subject.version.rows != ("0.27",) or launch.engine is not None:
        return False
    if launch.rolling_batch == "lmi-dist":
        return True
    listed = started_with_lmi_dist(subject.version) or frozenset()
    chooses = launch.rolling_batch in (None, "auto")
    batched = chooses and not batches_dynamically(subject.properties)
    return batched and subject.model_type in listed


def _batches_with_deepspeed_elsewhere(subject: Subject) -> bool:
    launch = subject.launch
    if launch.rolling_batch != "deepspeed" or launch.engine == "DeepSpeed":
        return False
    if subject.option("entryPoint") == "djl_python.deepspeed":
        return False
    if launch.engine is not None or subject.version.rows == ("0.27",):
        return True
    # Up to 0.26 the front end starts some models with DeepSpeed.
    is_typed = subject.model_type is not None
    return is_typed and subject.model_type not in STARTED_WITH_DEEPSPEED


def _lmi_dist_needs_mpi(subject: Subject) -> bool:
    if as_bool(subject.option("mpi_mode")) is True:
        return False
    if subject.version.before("0.27"):
        degree = subject.option("tensor_parallel_degree") or "1"
        devices = subject.accelerators or 1
        return (devices if degree == "max" else as_int(degree)) != 1
    # Where the front end looks at the model, it sets MPI mode for this backend itself.
    return not front_end_chooses(subject.launch)


def _removed(subject: Subject) -> dict[str, str]:
    container, version = subject.launch.container, subject.version
    if container == "djl-tensorrtllm":
        if subject.version.before("0.27"):
            return {"disable": "TensorRT-LLM always batches up to LMI 0.26"}
        has_mpi = subject.launch.engine == "MPI" or subject.flag("mpi_mode")
        if subject.version.rows == ("0.32",) and not has_mpi:
            # The handler is left without MPI, and asserts it (trtllm_rolling_batch.py).
            return {**_ELSEWHERE, "disable": "TensorRT-LLM always batches at LMI 0.32"}
        return _ELSEWHERE
    gone = {"trtllm": "it is in the djl-tensorrtllm images"}
    if container == "djl-lmi":
        gone["tnx"] = "it is in the djl-neuronx images"
        gone["deepspeed"] = "DeepSpeed ended with LMI 0.27"
        if version.at_least("0.33"):
            gone["scheduler"] = "it was removed after LMI 0.32"
    return gone


def _batch_choices(subject: Subject) -> tuple[str, ...]:
    container, version = subject.launch.container, subject.version
    if container == "djl-tensorrtllm":
        disable = ("disable",) if version.at_least("0.27") else ()
        return ("auto", "trtllm", *disable)
    if container == "djl-neuronx":
        more = ("tnx", "vllm") if version.at_least("0.28") else ()
        return ("auto", "disable", *more)
    if subject.runs("deepspeed"):
        return ("auto", "deepspeed", "disable")
    declared = option_type("common", "option.rolling_batch", version)
    choices = declared.choices if declared else _DEEPSPEED_IMAGE
    return tuple(choice for choice in choices if choice not in _removed(subject))


def _takes_any_batch(subject: Subject) -> bool:
    # TransformerNeuronXProperties warns of an unknown one and takes auto; so did
    # the Hugging Face handler of 0.25.
    container = subject.launch.container
    early = container == "djl-deepspeed" and subject.version.before("0.26")
    return container == "djl-neuronx" or (early and not subject.runs("deepspeed"))


def _fault_on_neuron(subject: Subject) -> str | None:
    """
    Return what the front end makes of a rolling batch that the handler of NeuronX
    would take; ``None`` where it leaves it to the handler.
    """
    if subject.launch.container != "djl-neuronx":
        return None
    batch = subject.option("rolling_batch")
    if subject.version.at_least("0.28"):
        # It sets MPI mode by the rolling batch, on Neuron as well.
        started = batch in ("lmi-dist", "trtllm")
        return "starts it with MPI, which finds no GPU" if started else None
    # LmiUtils.isTrtLLM asks neither for the image nor for the device.
    converted = batch == "trtllm"
    return "converts the model with TensorRT-LLM, which it lacks" if converted else None


def _is_replaced(subject: Subject, batch: str) -> bool:
    removed = subject.version.at_least("0.33")
    return removed and subject.launch.container == "djl-lmi" and batch == "lmi-dist"


def _image(subject: Subject) -> str:
    return f"{subject.launch.container} {subject.version}"


def _way_out(subject: Subject) -> str:
    return f"write option.rolling_batch={_batch_choices(subject)[0]}"


def _remedy_for(backend: str, subject: Subject) -> str:
    homes = {
        "trtllm": "use a djl-tensorrtllm image",
        "neuronx": "use a djl-neuronx image",
        "deepspeed": "use djl-deepspeed up to 0.27 with engine=DeepSpeed",
        "vllm": "write engine=Python and option.rolling_batch=vllm",
        "lmi-dist": "write engine=MPI and option.rolling_batch=lmi-dist",
    }
    if backend == "vllm" and subject.version.at_least("0.35"):
        return "write engine=Python and leave option.rolling_batch out"
    return homes.get(backend, "")
