"""
Engines of TensorRT-LLM: compiled in a job, and loaded by an endpoint.

What stands for an engine is a file that says what it was compiled for. The words of a
refusal are those of TensorRT and TensorRT-LLM, as their users report them, with what
was compared beside them. The command line is read as ``partition/trt_llm_partition.py``
does in deepjavalibrary/djl-serving from v0.26.0 to 0.33.0-dlc, which also says the
layout that LMI finds engines in.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cdk_sagemaker_llm.catalog import find_instance_type
from cdk_sagemaker_llm.local.aws.artifacts import Artifacts, ModelData
from cdk_sagemaker_llm.local.engines.job_containers import (
    Container,
    ExitError,
    Parser,
    lmi_tag,
    properties_in,
    trace,
)

_MARK = b"embedded engine of TensorRT-LLM\n"
TENSORRT_LLM_SCRIPT = "/opt/djl/partition/trt_llm_partition.py"
_PIPELINE_SINCE, _LLM_API_SINCE = (0, 29), (0, 33)
_MODEL_FILES = (".safetensors", ".bin")
_COPIED = frozenset(
    {
        *("config.json", "generation_config.json", "special_tokens_map.json"),
        *("tokenizer.json", "tokenizer.model", "tokenizer_config.json"),
    }
)


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


def engine_refusal(
    artifacts: Artifacts,
    container: Mapping[str, Any],
    instance_type: str,
    reserved: int | None = None,
) -> tuple[str, ...]:
    """
    Say why a container cannot load the engines that it is given; nothing if it can.

    Args:
        artifacts: The model data in S3.

        container: The container as it was described.

        instance_type: What it runs on.

        reserved: How many accelerators it has. If omitted, it has all of the
            instance.
    """
    tag = lmi_tag(str(container.get("Image", "")), "tensorrtllm")
    data = next(ModelData.of(container), None)
    if tag is None:
        return ()
    options = options_of(artifacts, container, data)
    compiled = list(_engines(artifacts, data_of(data, options)))
    if not compiled:
        return ()
    device, number = device_of(instance_type)
    degree = _degree(options, container, number if reserved is None else reserved)
    return tuple(_faults(compiled, tag, device, degree))


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
    artifacts: Artifacts, container: Mapping[str, Any], data: ModelData | None
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
    return {**own, **(artifacts.options(data) if data is not None else {})}


def data_of(data: ModelData | None, options: Mapping[str, str]) -> ModelData | None:
    """
    Return the model data that a container of LMI loads: its model_id's, where that is
    on S3.
    """
    model_id = options.get("model_id", "")
    if not model_id.startswith("s3://"):
        return data
    return ModelData(
        model_id if model_id.endswith("/") else f"{model_id}/", prefix=True
    )


def _engines(artifacts: Artifacts, data: ModelData | None) -> Iterator[Engine]:
    if data is None:
        return
    for name in artifacts.files(data):
        if name.endswith(".engine"):
            found = Engine.read(artifacts.read(data, name))
            if found is not None:
                yield found


def _degree(
    options: Mapping[str, str], container: Mapping[str, Any], accelerators: int
) -> int:
    variables = container.get("Environment", {})
    degree = options.get("tensor_parallel_degree") or variables.get(
        "TENSOR_PARALLEL_DEGREE", "max"
    )
    return int(degree) if str(degree).isdecimal() else accelerators


def _parse(version: tuple[int, ...], arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser(prog="trt_llm_partition.py")
    parser.add_argument("--properties_dir", required=True)
    parser.add_argument("--trt_llm_model_repo", required=True)
    parser.add_argument("--tensor_parallel_degree", type=int, required=True)
    if version >= _PIPELINE_SINCE:
        parser.add_argument("--pipeline_parallel_degree", type=int, required=True)
    parser.add_argument("--model_path", default=None)
    return parser.read(arguments)


def compile_engines(container: Container, arguments: Sequence[str]) -> None:
    """
    Compile, as the script does with its arguments.
    """
    flags = _parse(container.version, arguments)
    pipeline = getattr(flags, "pipeline_parallel_degree", 1)
    options = _options(container, flags.properties_dir)
    by_llm = container.version >= _LLM_API_SINCE
    model = flags.model_path if by_llm else flags.model_path or options.get("model_id")
    if model is None:
        raise trace("KeyError: 'model_id'" if not by_llm else "ValueError: model=None")
    tokenizer = _model(container, model)
    degree = flags.tensor_parallel_degree
    device, number = device_of(container.instance_type)
    if degree < 1 or pipeline < 1 or degree * pipeline > number:
        raise trace(
            f"RuntimeError: {degree} x {pipeline} ranks do not fit {number} GPUs"
        )
    container.log.append(f"Building {degree * pipeline} engines for {device}")
    engines = [
        Engine(
            image=lmi_tag(container.image, "tensorrtllm") or "",
            device=device,
            tensor_parallel_degree=degree,
            pipeline_parallel_degree=pipeline,
            rank=rank,
            options={k: v for k, v in options.items() if k != "model_id"},
        )
        for rank in range(degree * pipeline)
    ]
    write = _write_flat if by_llm else _write_repository
    write(container, flags.trt_llm_model_repo, engines, tokenizer)
    if by_llm:
        _copy_properties(container, flags.properties_dir, flags.trt_llm_model_repo)
    container.log.append(f"Model Compiled successfully: {flags.trt_llm_model_repo}")


def _options(container: Container, folder: str) -> dict[str, str]:
    properties = properties_in(container, folder)
    return {key.removeprefix("option."): value for key, value in properties.items()}


def _model(container: Container, model: str) -> dict[str, bytes]:
    """
    Return what is copied from a model beside its engines.
    """
    if not model.startswith("/"):
        raise ExitError(1, f"not emulated: the download of {model} into a job")
    files = container.files
    names = files.names(model)
    if "config.json" not in names or not any(n.endswith(_MODEL_FILES) for n in names):
        raise trace(
            f"OSError: {model} does not appear to have a file named config.json and "
            "weights beside it"
        )
    found = {n: files.read(f"{model}/{n}") or b"" for n in names if n in _COPIED}
    if "tokenizer_config.json" not in found:
        raise trace(f"OSError: Can't load tokenizer for '{model}'")
    return found


def _write_repository(
    container: Container,
    folder: str,
    engines: Sequence[Engine],
    beside: Mapping[str, bytes],
) -> None:
    # What LmiUtils.isValidTrtLlmModelRepo looks for, up to 0.32.
    model = f"{folder}/tensorrt_llm"
    text = 'name: "tensorrt_llm"\nbackend: "tensorrtllm"\n'
    container.files.write(f"{model}/config.pbtxt", text.encode())
    for name, contents in beside.items():
        container.files.write(f"{model}/{name}", contents)
    container.files.write(f"{model}/1/config.json", _config_of(engines[0]))
    for engine in engines:
        container.files.write(f"{model}/1/rank{engine.rank}.engine", engine.written())


def _write_flat(
    container: Container,
    folder: str,
    engines: Sequence[Engine],
    beside: Mapping[str, bytes],
) -> None:
    # The same from 0.33 on: a config.json with a build_config.
    for name, contents in beside.items():
        container.files.write(f"{folder}/{name}", contents)
    container.files.write(f"{folder}/config.json", _config_of(engines[0]))
    for engine in engines:
        container.files.write(f"{folder}/rank{engine.rank}.engine", engine.written())


def _config_of(engine: Engine) -> bytes:
    mapping = {
        "tp_size": engine.tensor_parallel_degree,
        "pp_size": engine.pipeline_parallel_degree,
        "world_size": engine.tensor_parallel_degree * engine.pipeline_parallel_degree,
    }
    return json.dumps(
        {
            "pretrained_config": {"mapping": mapping},
            "build_config": dict(engine.options),
        }
    ).encode()


def _copy_properties(container: Container, source: str, target: str) -> None:
    text = container.files.read(f"{source}/serving.properties")
    if text is None:
        raise trace(
            "FileNotFoundError: [Errno 2] No such file or directory: "
            f"'{source}/serving.properties'"
        )
    lines = [
        line
        for line in text.decode(errors="replace").splitlines(keepends=True)
        if "option.model_id" not in line
    ]
    container.files.write(f"{target}/serving.properties", "".join(lines).encode())
