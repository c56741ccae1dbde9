"""
What stands for compiled engines: bytes that say what they were compiled for.

The words of a refusal are those of TensorRT and TensorRT-LLM, as their users report
them, with what was compared beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cdk_sagemaker_llm.catalog import find_instance_type
from cdk_sagemaker_llm.local.sagemaker.artifacts import ModelData
from cdk_sagemaker_llm.local.sagemaker.jobs.container import lmi_tag
from cdk_sagemaker_llm.local.sagemaker.world import World

_MARK = b"embedded engine of TensorRT-LLM\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """
    What one of the engines of a model was compiled for.
    """

    image: str
    device: str
    tensor_parallel_degree: int
    pipeline_parallel_degree: int
    rank: int
    options: Mapping[str, str]

    def written(self) -> bytes:
        """
        Return it as a file.
        """
        return _MARK + json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def read(cls, contents: bytes | None) -> Engine | None:
        """
        Read a file; ``None`` if it is none of these, such as a real one.
        """
        if contents is None or not contents.startswith(_MARK):
            return None
        return cls(**json.loads(contents.removeprefix(_MARK)))


def device_of(instance_type: str) -> tuple[str, int]:
    """
    Return the accelerators of an instance type: their kind and their number.
    """
    try:
        found = find_instance_type(instance_type)
    except ValueError:
        return "none", 0
    return found.accelerator_model, found.accelerators


def refusal(
    world: World,
    container: Mapping[str, Any],
    instance_type: str,
    reserved: int | None = None,
) -> tuple[str, ...]:
    """
    Say why a container cannot load the engines that it is given; nothing if it can.

    Args:
        world: Where.

        container: The container as it was described.

        instance_type: What it runs on.

        reserved: How many accelerators it has. If left out, all of the instance.
    """
    tag = lmi_tag(str(container.get("Image", "")), "tensorrtllm")
    data = next(ModelData.of(container), None)
    if tag is None:
        return ()
    options = options_of(world, container, data)
    compiled = list(_engines(world, data_of(data, options)))
    if not compiled:
        return ()
    device, number = device_of(instance_type)
    wanted = _degree(options, container, number if reserved is None else reserved)
    return tuple(_faults(compiled, tag, device, wanted))


def _faults(
    compiled: list[Engine], tag: str, device: str, degree: int
) -> Iterator[str]:
    first = compiled[0]
    if first.image != tag:
        yield (
            "[TensorRT-LLM][ERROR] The engine plan file is not compatible with this "
            f"version of TensorRT: compiled by {first.image}, loaded by {tag}"
        )
    if first.device != device:
        yield (
            "[TensorRT-LLM][ERROR] The engine plan file is generated on an "
            f"incompatible device, expecting {first.device} got {device}, please "
            "rebuild."
        )
    ranks = first.tensor_parallel_degree * first.pipeline_parallel_degree
    if first.tensor_parallel_degree != degree:
        yield (
            "[TensorRT-LLM][ERROR] Assertion failed: mpiSize == tp * pp: "
            f"tensor_parallel_degree is {degree}, the engines were compiled for "
            f"{first.tensor_parallel_degree}"
        )
    elif len(compiled) != ranks:
        yield (
            f"[TensorRT-LLM][ERROR] Error opening engine file: {len(compiled)} of "
            f"{ranks} ranks are there"
        )


def options_of(
    world: World, container: Mapping[str, Any], data: ModelData | None
) -> dict[str, str]:
    """
    Return the options that a container of LMI has: what its model data says goes before
    its variables.
    """
    variables = container.get("Environment", {})
    own = {
        name.removeprefix("OPTION_").lower(): str(value)
        for name, value in variables.items()
        if name.startswith("OPTION_")
    }
    if "HF_MODEL_ID" in variables:
        own.setdefault("model_id", str(variables["HF_MODEL_ID"]))
    return {**own, **(world.artifacts.options(data) if data is not None else {})}


def data_of(data: ModelData | None, options: Mapping[str, str]) -> ModelData | None:
    """
    Return the model data that a container of LMI loads: its model_id's, where that is
    on S3.
    """
    named = options.get("model_id", "")
    if not named.startswith("s3://"):
        return data
    return ModelData(named if named.endswith("/") else f"{named}/", prefix=True)


def _engines(world: World, data: ModelData | None) -> Iterator[Engine]:
    if data is None:
        return
    for name in world.artifacts.files(data):
        if name.endswith(".engine"):
            found = Engine.read(world.artifacts.read(data, name))
            if found is not None:
                yield found


def _degree(
    options: Mapping[str, str], container: Mapping[str, Any], accelerators: int
) -> int:
    variables = container.get("Environment", {})
    told = options.get("tensor_parallel_degree") or variables.get(
        "TENSOR_PARALLEL_DEGREE", "max"
    )
    return int(told) if str(told).isdecimal() else accelerators
