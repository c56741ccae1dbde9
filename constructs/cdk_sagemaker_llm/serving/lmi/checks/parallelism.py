"""
Checks of tensor and pipeline parallel degrees against the devices and the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.checks import uneven_heads
from cdk_sagemaker_llm.serving.lmi.launch import (
    FRONT_END,
    Subject,
)
from cdk_sagemaker_llm.serving.parameters import OUTSIDE_OPTION_RANGE


def degree_findings(subject: Subject) -> Iterator[Finding]:
    """
    Degrees, batch sizes and time-outs are at least 1.
    """
    for name in (
        "tensor_parallel_degree",
        "pipeline_parallel_degree",
        "max_rolling_batch_size",
        "model_loading_timeout",
        "predict_timeout",
    ):
        stages = name == "pipeline_parallel_degree"
        number = subject.stages() if stages else subject.number(name)
        if number is not None and number < 1:
            yield OUTSIDE_OPTION_RANGE.finding(
                f"option.{name} must be at least 1, got {number}"
            )


TOO_FEW_DEVICES = Rule("LLM154", "one copy needs more devices than it has", FRONT_END)
IDLE_DEVICES = Rule("LLM211", "devices stay idle", FRONT_END)


def device_count_findings(subject: Subject) -> Iterator[Finding]:
    """
    One copy fits the devices, and leaves none idle.

    The front end starts ``devices // (tensor * pipeline)`` workers, and fails where
    that is none.
    """
    tensor, stages = subject.number("tensor_parallel_degree"), subject.stages() or 1
    devices = subject.devices()
    if devices is None or tensor is None or tensor < 1 or stages < 1:
        return
    workers_need = tensor * stages
    unit = (
        "NeuronCores" if subject.launch.container == "djl-neuronx" else "accelerators"
    )
    if workers_need > devices:
        largest = max(one for one in (1, 2, 4, 8, 16) if one <= max(devices, 1))
        yield TOO_FEW_DEVICES.finding(
            f"{_degrees(subject)} needs {workers_need} {unit}, and there are {devices}",
            f"write option.tensor_parallel_degree={largest} or max",
        )
    elif devices % workers_need:
        idle = devices % workers_need
        yield IDLE_DEVICES.finding(
            f"{_degrees(subject)} leaves {idle} of {devices} {unit} idle",
            "write a degree that divides them",
        )


STAGES_WITHOUT_DEVICES = Rule(
    "LLM176", "pipeline stages that get no devices, or that Neuron lacks", FRONT_END
)


def stage_findings(subject: Subject) -> Iterator[Finding]:
    """
    At 0.29 a worker sees the devices of tensor parallelism alone, and no stage is
    taken off all of them; Neuron has no pipeline (Connection.getPythonStartCmd).
    """
    stages = subject.stages()
    if stages is None or stages <= 1:
        return
    written = f"option.pipeline_parallel_degree={stages}"
    remedy = "use option.tensor_parallel_degree"
    if subject.launch.container == "djl-neuronx":
        if subject.version.at_least("0.30"):
            reason = f"{written} does not work on Neuron"
            yield STAGES_WITHOUT_DEVICES.finding(reason, remedy)
    elif subject.version.rows == ("0.29",):
        counts = subject.passes_handler() and not subject.runs("vllm")
        # A device map takes the handler past the count; what vLLM is told of a
        # pipeline is another rule's.
        if subject.runs("huggingface", "scheduler"):
            counts = subject.passes_handler() and not subject.option("device_map")
        # PyModel counts workers over every device times the stages, and finds none.
        degree = subject.option("tensor_parallel_degree")
        left_out = degree is None and not subject.decided_elsewhere
        takes_all = subject.runs("trtllm") and (left_out or degree == "max")
        if counts or takes_all:
            reason = f"{written} gets no devices of its own at LMI 0.29"
            yield STAGES_WITHOUT_DEVICES.finding(reason, f"{remedy}, or LMI 0.30")


UNEVEN_HEADS = Rule(
    "LLM156", "tensor parallelism does not divide the attention heads", "the engines"
)


def head_findings(subject: Subject) -> Iterator[Finding]:
    """
    Tensor parallelism divides the attention heads.
    """
    degree, heads = subject.degree(), subject.attention_heads
    if not degree or degree < 1 or not heads or heads % degree == 0:
        return
    if subject.runs("trtllm", "vllm", "lmi-dist"):
        word, number = "option.tensor_parallel_degree", _whole(subject, degree)
        yield uneven_heads(UNEVEN_HEADS, word, heads, number)


def _whole(subject: Subject, degree: int) -> str:
    written = subject.option("tensor_parallel_degree")
    if written == "max":
        return f"max of {degree} devices"
    return str(degree) if written else f"all {degree} devices, as none is written"


def _degrees(subject: Subject) -> str:
    text = f"option.tensor_parallel_degree={subject.option('tensor_parallel_degree')}"
    pipeline = subject.stages()
    return f"{text} times {pipeline} in a pipeline" if pipeline else text
