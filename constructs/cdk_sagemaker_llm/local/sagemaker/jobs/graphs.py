"""
What stands for compiled graphs of Neuron: bytes that say what they were compiled for.

Transformers-NeuronX names each graph by a hash of the program that it was compiled
from, and refuses to load where none of that name is there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cdk_sagemaker_llm.local.sagemaker.artifacts import ModelData
from cdk_sagemaker_llm.local.sagemaker.jobs.container import lmi_tag
from cdk_sagemaker_llm.local.sagemaker.jobs.engines import (
    data_of,
    device_of,
    options_of,
)
from cdk_sagemaker_llm.local.sagemaker.world import World

_CORES_A_CHIP = 2
# What LMI makes a graph's shapes of, and what it takes where an option is left out
# (neuron_utils/model_loader.py and properties_manager/tnx_properties.py).
_SHAPE = {
    "n_positions": "",
    "max_rolling_batch_size": "32",
    "dtype": "fp16",
    "quantize": "",
    "context_length_estimate": "",
}
# neuron_utils of transformers-neuronx: set_neff_bytes.
_NO_GRAPH = (
    "FileNotFoundError: Could not find a matching NEFF for your HLO in this directory. "
    "Ensure that the model you are trying to load is the same type and has the same "
    'parameters as the one you saved or call "save" on this model to reserialize it.'
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Graph:
    """
    What a graph was compiled for.
    """

    image: str
    device: str
    cores: int
    shape: Mapping[str, str]

    @property
    def name(self) -> str:
        """
        The file's name, which says all of it.
        """
        digest = hashlib.sha256(self.written()).hexdigest()
        return f"{digest[:20]}.neff"

    def written(self) -> bytes:
        """
        Return it as a file.
        """
        return json.dumps(asdict(self), sort_keys=True).encode()


def cores_of(device: str, chips: int) -> int:
    """
    Return how many NeuronCores an instance has; none on what is no chip of Neuron's.
    """
    is_neuron = device.startswith(("Inferentia2", "Trainium"))
    return _CORES_A_CHIP * chips if is_neuron else 0


def shape_of(options: Mapping[str, str]) -> dict[str, str]:
    """
    Return of a container's options those that make another graph.
    """
    return {name: options.get(name, default) for name, default in _SHAPE.items()}


def refusal(
    world: World,
    container: Mapping[str, Any],
    instance_type: str,
) -> tuple[str, ...]:
    """
    Say why a container cannot load the graphs that it is given; nothing if it can, or
    if it is given none.

    Args:
        world: Where.

        container: The container as it was described.

        instance_type: What it runs on.
    """
    tag = lmi_tag(str(container.get("Image", "")), "neuronx")
    if tag is None:
        return ()
    own = next(ModelData.of(container), None)
    options = options_of(world, container, own)
    data = data_of(own, options)
    if data is None or not _is_compiled(world.artifacts.read(data, "config.json")):
        return ()
    degree = options.get("tensor_parallel_degree", "")
    device, chips = device_of(instance_type)
    wanted = Graph(
        image=tag,
        device=device,
        cores=int(degree) if degree.isdecimal() else cores_of(device, chips),
        shape=shape_of(options),
    )
    there = world.artifacts.files(data)
    return () if f"compiled/{wanted.name}" in there else (_NO_GRAPH,)


def _is_compiled(config: bytes | None) -> bool:
    try:
        found = json.loads(config or b"{}")
    except ValueError:
        return False
    return isinstance(found, dict) and "neuron" in found
