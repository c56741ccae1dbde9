"""
What an image of LMI starts in a job, as far as this library orders it: compiling.

Read in ``dockerd-entrypoint.sh`` and ``dockerd-entrypoint-with-cuda-compat.sh`` of
deepjavalibrary/djl-serving, from v0.26.0 to 0.33.0-dlc: what is neither ``serve`` nor
``partition`` is run as it is.
"""

from __future__ import annotations

from cdk_sagemaker_llm.local.sagemaker.jobs import neuron, partition
from cdk_sagemaker_llm.local.sagemaker.jobs.container import (
    Container,
    ExitError,
    lmi_tag,
)

_NOT_FOUND = 127


def run(container: Container) -> int:
    """
    Run a container to its end and return its exit code; its log says the rest.
    """
    try:
        _run(container)
    except ExitError as end:
        container.log.extend(end.lines)
        return end.code
    return 0


def _run(container: Container) -> None:
    if not any(lmi_tag(container.image, each) for each in ("tensorrtllm", "neuronx")):
        raise ExitError(
            1,
            f"not emulated: {container.image}; of the images of jobs those of LMI with "
            "TensorRT-LLM and NeuronX are played, and of these the compiling",
        )
    if container.variables:
        names = ", ".join(sorted(container.variables))
        raise ExitError(1, f"not emulated: variables of a job, got {names}")
    words = [*container.entrypoint, *container.arguments]
    if words[:2] == ["python", partition.SCRIPT]:
        partition.compile_engines(container, words[2:])
    elif words[:1] == ["partition"]:
        neuron.compile_graphs(container, words[1:])
    else:
        raise ExitError(_NOT_FOUND, f"not emulated: the command {' '.join(words)}")
