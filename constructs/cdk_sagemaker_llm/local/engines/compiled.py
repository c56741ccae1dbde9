"""
What is compiled in a job and loaded by an endpoint: engines of TensorRT-LLM, and graphs
of Neuron.

What stands for an engine or a graph is a file that says what it was compiled for. The
commands are those that a ``StagedModel`` orders, read and answered as
``partition/trt_llm_partition.py`` and ``partition/partition.py`` do in
deepjavalibrary/djl-serving from v0.26.0 to 0.33.0-dlc, which also say the layout that
LMI loads. The words of a refusal to load are those of TensorRT-LLM and
Transformers-NeuronX, as their users report them, with what was compared beside them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cdk_sagemaker_llm.catalog import find_instance_type
from cdk_sagemaker_llm.local.aws.artifacts import Artifacts, ModelData, read_properties
from cdk_sagemaker_llm.local.engines.job_containers import (
    Container,
    ExitError,
    lmi_tag,
    trace,
)

_MARK = b"embedded engine of TensorRT-LLM\n"
_TENSORRT_LLM, _NEURONX = "tensorrtllm", "neuronx"
_SCRIPT = ["python", "/opt/djl/partition/trt_llm_partition.py"]
_PIPELINE_SINCE, _LLM_API_SINCE, _SHARDED_SINCE = (0, 29), (0, 33), (0, 30)
_NOT_FOUND = 127
_WEIGHTS = (".safetensors", ".bin")
_TOKENIZER = (
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
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
# MODEL_TYPE_TO_CLS_LOADER of neuron_utils/model_loader.py.
_TYPES = ("opt", "gpt2", "gptj", "gpt_neox", "llama", "mistral", "mixtral", "bloom")


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Graph:
    """
    What a graph was compiled for.

    Transformers-NeuronX names each by a hash of the program that it was compiled from,
    and refuses to load where none of that name is there.
    """

    image: str
    device: str
    cores: int
    shape: Mapping[str, str]

    def written(self) -> bytes:
        """
        Return it as a file.
        """
        return json.dumps(asdict(self), sort_keys=True).encode()

    @property
    def path(self) -> str:
        """
        Where it lies beside the model's config.json; its name says all of it.
        """
        return f"compiled/{hashlib.sha256(self.written()).hexdigest()[:20]}.neff"


def _device_of(instance_type: str) -> tuple[str, int]:
    try:
        found = find_instance_type(instance_type)
    except ValueError:
        return "none", 0
    return found.accelerator_model, found.accelerators


def cores_of(device: str, chips: int) -> int:
    """
    Return how many NeuronCores an instance has; none on what is no chip of Neuron's.
    """
    is_neuron = device.startswith(("Inferentia2", "Trainium"))
    return _CORES_A_CHIP * chips if is_neuron else 0


def load_refusal(
    artifacts: Artifacts,
    container: Mapping[str, Any],
    instance_type: str,
    reserved: int | None = None,
) -> tuple[str, ...]:
    """
    Say why a container cannot load what was compiled for it; nothing if it can, or if
    nothing was compiled.

    Without a reservation it has all accelerators of the instance.
    """
    image = str(container.get("Image", ""))
    tensorrt_llm, neuronx = lmi_tag(image, _TENSORRT_LLM), lmi_tag(image, _NEURONX)
    if tensorrt_llm is None and neuronx is None:
        return ()
    data = next(ModelData.of(container), None)
    variables = container.get("Environment", {})
    options = {
        name.removeprefix("OPTION_").lower(): str(value)
        for name, value in variables.items()
        if name.startswith("OPTION_")
    }
    if "HF_MODEL_ID" in variables:
        options.setdefault("model_id", str(variables["HF_MODEL_ID"]))
    options |= artifacts.options(data) if data is not None else {}
    model_id = options.get("model_id", "")
    if model_id.startswith("s3://"):
        data = ModelData(f"{model_id.rstrip('/')}/", prefix=True)
    if data is None:
        return ()
    device, number = _device_of(instance_type)
    if neuronx is not None:
        degree = options.get("tensor_parallel_degree", "")
        graph = Graph(
            image=neuronx,
            device=device,
            cores=int(degree) if degree.isdecimal() else cores_of(device, number),
            shape=_shape_of(options),
        )
        is_compiled = _is_compiled(artifacts.read(data, "config.json"))
        is_there = not is_compiled or graph.path in artifacts.files(data)
        return () if is_there else (_NO_GRAPH,)
    read = (
        Engine.read(artifacts.read(data, name))
        for name in artifacts.files(data)
        if name.endswith(".engine")
    )
    compiled = [engine for engine in read if engine is not None]
    degree = options.get("tensor_parallel_degree") or variables.get(
        "TENSOR_PARALLEL_DEGREE", "max"
    )
    devices = number if reserved is None else reserved
    ranks = int(degree) if str(degree).isdecimal() else devices
    return tuple(_engine_faults(compiled, tensorrt_llm or "", device, ranks))


def _is_compiled(config: bytes | None) -> bool:
    try:
        found = json.loads(config or b"{}")
    except ValueError:
        return False
    return isinstance(found, dict) and "neuron" in found


def _engine_faults(
    compiled: list[Engine], tag: str, device: str, degree: int
) -> Iterator[str]:
    if not compiled:
        return
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


def run(container: Container) -> int:
    """
    Run a container to its end and return its exit code; its log says the rest.

    What an image of LMI starts is read in ``dockerd-entrypoint.sh`` and
    ``dockerd-entrypoint-with-cuda-compat.sh``: what is neither ``serve`` nor
    ``partition`` is run as it is.
    """
    try:
        _run(container)
    except ExitError as end:
        container.log.extend(end.lines)
        return end.code
    return 0


def _run(container: Container) -> None:
    if not any(lmi_tag(container.image, each) for each in (_TENSORRT_LLM, _NEURONX)):
        raise ExitError(
            1,
            f"not emulated: {container.image}; of the images of jobs those of LMI with "
            "TensorRT-LLM and NeuronX are played, and of these the compiling",
        )
    if container.variables:
        names = ", ".join(sorted(container.variables))
        raise ExitError(1, f"not emulated: variables of a job, got {names}")
    words = list(container.command)
    if words[:2] == _SCRIPT:
        _compile_engines(container, words[2:])
    elif words[:1] == ["partition"]:
        _compile_graphs(container, words[1:])
    else:
        raise ExitError(_NOT_FOUND, f"not emulated: the command {' '.join(words)}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:  # noqa: ANN401 - argparse's never returns
        # The container ends, not this process.
        raise ExitError(2, f"{self.prog}: error: {message}")


def _properties(container: Container, folder: str) -> dict[str, str]:
    text = container.files.read(f"{folder}/serving.properties") or b""
    return read_properties(text)


def _model(container: Container, model: str) -> tuple[dict[str, bytes], dict[str, Any]]:
    """
    Return what is copied from a model beside what it was compiled to, and its
    config.json.
    """
    if not model.startswith("/"):
        raise ExitError(1, f"not emulated: the download of {model} into a job")
    files = container.files
    names = files.names(model)
    if "config.json" not in names:
        raise trace(
            f"OSError: {model} does not appear to have a file named config.json"
        )
    if not any(name.endswith(_WEIGHTS) for name in names):
        raise trace(f"OSError: no file named model.safetensors found in {model}")
    if "tokenizer_config.json" not in names:
        raise trace(f"OSError: Can't load tokenizer for '{model}'")
    copied = {
        name: files.read(f"{model}/{name}") or b""
        for name in names
        if name in {"config.json", "generation_config.json", *_TOKENIZER}
    }
    return copied, json.loads(files.read(f"{model}/config.json") or b"{}")


def _compile_engines(container: Container, arguments: Sequence[str]) -> None:
    parser = _Parser(prog="trt_llm_partition.py", add_help=False)
    parser.add_argument("--properties_dir", required=True)
    parser.add_argument("--trt_llm_model_repo", required=True)
    parser.add_argument("--tensor_parallel_degree", type=int, required=True)
    if container.version >= _PIPELINE_SINCE:
        parser.add_argument("--pipeline_parallel_degree", type=int, required=True)
    parser.add_argument("--model_path", required=True)
    flags = parser.parse_args(list(arguments))
    pipeline = getattr(flags, "pipeline_parallel_degree", 1)
    degree, target = flags.tensor_parallel_degree, flags.trt_llm_model_repo
    options = _properties(container, flags.properties_dir)
    beside, _ = _model(container, flags.model_path)
    device, number = _device_of(container.instance_type)
    if degree < 1 or pipeline < 1 or degree * pipeline > number:
        raise trace(
            f"RuntimeError: {degree} x {pipeline} ranks do not fit {number} GPUs"
        )
    container.log.append(f"Building {degree * pipeline} engines for {device}")
    mapping = {
        "tp_size": degree,
        "pp_size": pipeline,
        "world_size": degree * pipeline,
    }
    config = {"pretrained_config": {"mapping": mapping}, "build_config": options}
    # What LmiUtils.isValidTrtLlmModelRepo looks for up to 0.32 is a repository, and
    # from 0.33 on a config.json with a build_config.
    is_flat = container.version >= _LLM_API_SINCE
    model = target if is_flat else f"{target}/tensorrt_llm"
    folder = model if is_flat else f"{model}/1"
    files = container.files
    for name, contents in beside.items():
        files.write(f"{model}/{name}", contents)
    files.write(f"{folder}/config.json", json.dumps(config).encode())
    for rank in range(degree * pipeline):
        engine = Engine(
            image=lmi_tag(container.image, _TENSORRT_LLM) or "",
            device=device,
            tensor_parallel_degree=degree,
            pipeline_parallel_degree=pipeline,
            rank=rank,
            options=options,
        )
        files.write(f"{folder}/rank{rank}.engine", engine.written())
    if is_flat:
        text = files.read(f"{flags.properties_dir}/serving.properties") or b""
        files.write(f"{target}/serving.properties", text)
    else:
        text = b'name: "tensorrt_llm"\nbackend: "tensorrtllm"\n'
        files.write(f"{model}/config.pbtxt", text)
    container.log.append(f"Model Compiled successfully: {target}")


def _compile_graphs(container: Container, arguments: Sequence[str]) -> None:
    parser = _Parser(prog="partition.py", add_help=False)
    parser.add_argument("--model-dir", default="/opt/ml/input/data/training")
    parser.add_argument("--model-id")
    parser.add_argument("--save-mp-checkpoint-path")
    parser.add_argument("--tensor-parallel-degree", default="1")
    # Without it the model's own config.json would hide that it was compiled.
    parser.add_argument("--skip-copy", action="store_true")
    flags = parser.parse_args(list(arguments))
    target = flags.save_mp_checkpoint_path
    files = container.files
    text = files.read(f"{flags.model_dir}/serving.properties") or b""
    options = _properties(container, flags.model_dir)
    if options.get("engine") != "Python" or not (target and flags.skip_copy):
        # It prints how it is used, and ends well all the same.
        raise ExitError(0, "Please specify engine, save_mp_checkpoint_path, skip_copy")
    beside, config = _model(container, flags.model_id or flags.model_dir)
    if config.get("model_type") not in _TYPES:
        raise trace(
            f"KeyError: \"Unsupported model: '{config.get('model_type')}'. Supported "
            f'architectures: {list(_TYPES)}"'
        )
    device, chips = _device_of(container.instance_type)
    cores, degree = cores_of(device, chips), flags.tensor_parallel_degree
    if not degree.isdecimal() or not 1 <= int(degree) <= cores:
        raise trace(
            f"RuntimeError: tensor_parallel_degree {degree} does not fit {cores} "
            "NeuronCores"
        )
    graph = Graph(
        image=lmi_tag(container.image, _NEURONX) or "",
        device=device,
        cores=int(degree),
        shape=_shape_of(options),
    )
    container.log.append(f"Compiling for {graph.cores} cores of {device}")
    files.write(f"{target}/{graph.path}", graph.written())
    files.write(f"{target}/compiled/VERSION", graph.image.encode())
    # From 0.30 on the weights are split beside the graphs.
    weights = "compiled" if container.version >= _SHARDED_SINCE else "checkpoint"
    files.write(f"{target}/{weights}/model.safetensors", b"weights")
    neuron = {"num_cores": graph.cores, **graph.shape}
    contents = json.dumps({**config, "neuron": neuron})
    files.write(f"{target}/config.json", contents.encode())
    for name in _TOKENIZER:
        if name in beside:
            files.write(f"{target}/{name}", beside[name])
    line = f"option.tensor_parallel_degree={degree}\n"
    files.write(f"{target}/serving.properties", text + line.encode())
    container.log.append("Partitioning done.")


def _shape_of(options: Mapping[str, str]) -> dict[str, str]:
    return {name: options.get(name, default) for name, default in _SHAPE.items()}
