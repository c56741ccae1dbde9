"""
What an image of LMI starts in a job: its entrypoint, as far as compiling goes.

Read in ``dockerd-entrypoint.sh`` and ``dockerd-entrypoint-with-cuda-compat.sh`` of
deepjavalibrary/djl-serving, from v0.26.0 to 0.33.0-dlc.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from cdk_sagemaker_llm.local.sagemaker.jobs import neuron, partition
from cdk_sagemaker_llm.local.sagemaker.jobs.container import (
    Container,
    ExitError,
    lmi_tag,
)

_ENTRYPOINT = "/usr/local/bin/dockerd-entrypoint.sh"
_PYTHONS = frozenset({"python", "python3", "/usr/bin/python3", "/usr/bin/python"})
# What a shell would make something of that is not played.
_SHELL_WORK = re.compile(r"[$`;|&<>*?(){}\[\]!~]")
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
    words = [*container.entrypoint, *container.arguments]
    if not container.entrypoint or words[0] == _ENTRYPOINT:
        words = _by_entrypoint(container, words[1:] if container.entrypoint else words)
    program, *rest = words
    if program in _PYTHONS and rest[:1] == [partition.SCRIPT]:
        partition.compile_engines(container, rest[1:])
    elif program in _PYTHONS and rest[:1] == [neuron.SCRIPT]:
        neuron.compile_graphs(container, rest[1:])
    else:
        raise ExitError(_NOT_FOUND, f"not emulated: the command {' '.join(words)}")


def _by_entrypoint(container: Container, words: Sequence[str]) -> list[str]:
    variables, kind = container.variables, words[0] if words else "serve"
    if variables.get("SM_NEO_EXECUTION_CONTEXT"):
        raise ExitError(1, "not emulated: the compilation jobs of SageMaker Neo")
    if kind == "serve":
        raise ExitError(1, "not emulated: a server in a job, which would never end")
    if kind in {"partition", "train"}:
        return ["/usr/bin/python3", neuron.SCRIPT, *words[1:]]
    line = " ".join(words)
    if _SHELL_WORK.search(line):
        raise ExitError(
            1, f"not emulated: what the entrypoint's shell would make of {line}"
        )
    try:
        found = shlex.split(line)
    except ValueError as error:
        raise ExitError(2, f"{_ENTRYPOINT}: eval: {error}") from error
    if not found:
        raise ExitError(0)
    return found
