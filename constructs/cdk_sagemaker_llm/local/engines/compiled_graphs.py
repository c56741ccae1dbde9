"""
Graphs of Neuron: compiled in a job, and loaded by an endpoint.

What stands for a graph is a file that says what it was compiled for:
Transformers-NeuronX names each by a hash of the program that it was compiled from, and
refuses to load where none of that name is there. The command line is read as
``partition/partition.py`` does in deepjavalibrary/djl-serving from v0.27.0 to
0.30.0-dlc.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cdk_sagemaker_llm.local.aws.artifacts import Artifacts, ModelData
from cdk_sagemaker_llm.local.engines.compiled_engines import (
    data_of,
    device_of,
    options_of,
)
from cdk_sagemaker_llm.local.engines.job_containers import (
    Container,
    ExitError,
    Parser,
    lmi_tag,
    properties_in,
    trace,
)

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
_QUANTIZES_SINCE, _PIPELINE_SINCE, _SHARDED_SINCE = (0, 28), (0, 29), (0, 30)
_IN_WHOLE_NUMBERS = "static_int8"
# MODEL_TYPE_TO_CLS_LOADER of neuron_utils/model_loader.py.
_TYPES = ("opt", "gpt2", "gptj", "gpt_neox", "llama", "mistral", "mixtral", "bloom")
_TOKENIZER = ("special_tokens_map.json", "tokenizer.json", "tokenizer.model")
_WANTED_TOKENIZER = "tokenizer_config.json"
_COPIED = (".json", ".txt", ".model")
_UNWRITTEN = frozenset({"option.model_id", "option.save_mp_checkpoint_path"})


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


def graph_refusal(
    artifacts: Artifacts,
    container: Mapping[str, Any],
    instance_type: str,
) -> tuple[str, ...]:
    """
    Say why a container cannot load the graphs that it is given; nothing if it can, or
    if it is given none.

    Args:
        artifacts: The model data in S3.

        container: The container as it was described.

        instance_type: What it runs on.
    """
    tag = lmi_tag(str(container.get("Image", "")), "neuronx")
    if tag is None:
        return ()
    own = next(ModelData.of(container), None)
    options = options_of(artifacts, container, own)
    data = data_of(own, options)
    if data is None or not _is_compiled(artifacts.read(data, "config.json")):
        return ()
    degree = options.get("tensor_parallel_degree", "")
    device, chips = device_of(instance_type)
    graph = Graph(
        image=tag,
        device=device,
        cores=int(degree) if degree.isdecimal() else cores_of(device, chips),
        shape=shape_of(options),
    )
    there = artifacts.files(data)
    return () if f"compiled/{graph.name}" in there else (_NO_GRAPH,)


def _is_compiled(config: bytes | None) -> bool:
    try:
        found = json.loads(config or b"{}")
    except ValueError:
        return False
    return isinstance(found, dict) and "neuron" in found


def compile_graphs(container: Container, arguments: Sequence[str]) -> None:
    """
    Compile, as the script does with its arguments.
    """
    parser = _parser(container.version)
    options = parser.read(arguments)
    properties = _properties(container, options)
    fault = _fault(properties)
    if fault:
        # It prints how it is used, and ends well all the same.
        raise ExitError(0, fault, *parser.format_usage().splitlines())
    quantize = properties.get("option.quantize", _IN_WHOLE_NUMBERS)
    if container.version >= _QUANTIZES_SINCE and quantize != _IN_WHOLE_NUMBERS:
        raise trace(f"Exception: Invalid quantization method: {quantize}")
    files, config = _model(container, properties["option.model_id"])
    graph = _graph(container, properties)
    target = properties["option.save_mp_checkpoint_path"]
    _write(container, target, graph, config, files)
    options_to_write = {k: v for k, v in properties.items() if k not in _UNWRITTEN}
    text = "".join(f"{key}={value}\n" for key, value in options_to_write.items())
    container.files.write(f"{target}/serving.properties", text.encode())
    if not options.skip_copy:
        # Over what says that it was compiled, too.
        for name, contents in files.items():
            container.files.write(f"{target}/{name}", contents)
    container.log.append("Partitioning done.")


def _parser(version: tuple[int, ...]) -> Parser:
    parser = Parser(prog="partition.py")
    parser.add_argument(
        "--model-dir", default="/opt/ml/input/data/training", dest="properties_dir"
    )
    parser.add_argument("--model-id")
    parser.add_argument("--engine")
    parser.add_argument("--save-mp-checkpoint-path")
    if version >= _PIPELINE_SINCE:
        parser.add_argument("--pipeline-parallel-degree")
    parser.add_argument("--tensor-parallel-degree")
    parser.add_argument("--skip-copy", action="store_true")
    if version >= _QUANTIZES_SINCE:
        parser.add_argument("--quantization", dest="quantize")
    return parser


def _properties(container: Container, options: argparse.Namespace) -> dict[str, str]:
    found = properties_in(container, options.properties_dir)
    own = {
        "engine": options.engine,
        "option.model_id": options.model_id,
        "option.save_mp_checkpoint_path": options.save_mp_checkpoint_path,
        "option.tensor_parallel_degree": options.tensor_parallel_degree,
        "option.quantize": getattr(options, "quantize", None),
    }
    found |= {key: value for key, value in own.items() if value}
    found.setdefault("option.model_id", options.properties_dir)
    return found


def _fault(properties: Mapping[str, str]) -> str | None:
    engine = properties.get("engine")
    if "option.entryPoint" not in properties and engine != "Python":
        return f"Invalid engine: {engine}" if engine else "Please specify engine"
    if not properties.get("option.save_mp_checkpoint_path"):
        return "Please specify save_mp_checkpoint_path"
    return None


def _model(
    container: Container, model: str
) -> tuple[dict[str, bytes], dict[str, object]]:
    """
    Return what lies beside a model's weights, and its config.json.
    """
    if not model.startswith("/"):
        raise ExitError(1, f"not emulated: the download of {model} into a job")
    files = container.files
    names = files.names(model)
    beside = {
        name: files.read(f"{model}/{name}") or b""
        for name in names
        if name.endswith(_COPIED)
    }
    if "config.json" not in beside:
        raise trace(
            f"OSError: {model} does not appear to have a file named config.json"
        )
    config = json.loads(beside["config.json"])
    if config.get("model_type") not in _TYPES:
        raise trace(
            f"KeyError: \"Unsupported model: '{config.get('model_type')}'. Supported "
            f'architectures: {list(_TYPES)}"'
        )
    if _WANTED_TOKENIZER not in beside:
        raise trace(f"OSError: Can't load tokenizer for '{model}'")
    if not any(name.endswith((".safetensors", ".bin")) for name in names):
        raise trace(f"OSError: no file named model.safetensors found in {model}")
    return beside, config


def _graph(container: Container, properties: Mapping[str, str]) -> Graph:
    options = {
        key.removeprefix("option."): value
        for key, value in properties.items()
        if key.startswith("option.")
    }
    if options.get("load_split_model", "").lower() == "true":
        raise trace(
            "ValueError: Model partitioning does not support split model artifacts. "
            "Use normal model artifacts and rerun."
        )
    if container.version >= _QUANTIZES_SINCE and options.get("model_loader") == "vllm":
        raise trace(
            "ValueError: vLLM model loader does not support ahead of time compilation "
            "via the partition script."
        )
    device, chips = device_of(container.instance_type)
    cores = cores_of(device, chips)
    degree = options.get("tensor_parallel_degree", "1")
    if not degree.isdecimal() or not 1 <= int(degree) <= cores:
        raise trace(
            f"RuntimeError: tensor_parallel_degree {degree} does not fit {cores} "
            "NeuronCores"
        )
    return Graph(
        image=lmi_tag(container.image, "neuronx") or "",
        device=device,
        cores=int(degree),
        shape=shape_of(options),
    )


def _write(
    container: Container,
    target: str,
    graph: Graph,
    config: Mapping[str, object],
    beside: Mapping[str, bytes],
) -> None:
    container.log.append(f"Compiling for {graph.cores} cores of {graph.device}")
    files = container.files
    files.write(f"{target}/compiled/{graph.name}", graph.written())
    files.write(f"{target}/compiled/VERSION", graph.image.encode())
    # From 0.30 on the weights are split beside the graphs.
    weights = "compiled" if container.version >= _SHARDED_SINCE else "checkpoint"
    files.write(f"{target}/{weights}/model.safetensors", b"weights")
    neuron = {"num_cores": graph.cores, **graph.shape}
    contents = json.dumps({**config, "neuron": neuron})
    files.write(f"{target}/config.json", contents.encode())
    for name in (_WANTED_TOKENIZER, *_TOKENIZER):
        if name in beside:
            files.write(f"{target}/{name}", beside[name])
