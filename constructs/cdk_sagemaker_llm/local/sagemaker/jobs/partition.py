"""
A stand-in for the script that compiles TensorRT-LLM engines in LMI's images.

It reads its command line as ``partition/trt_llm_partition.py`` does in
deepjavalibrary/djl-serving from v0.26.0 to 0.33.0-dlc, refuses what that refuses, and
writes the layout that LMI finds engines in.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence

from cdk_sagemaker_llm.local.sagemaker.jobs.container import (
    Container,
    ExitError,
    Parser,
    lmi_tag,
    properties_in,
    trace,
)
from cdk_sagemaker_llm.local.sagemaker.jobs.engines import Engine, device_of

SCRIPT = "/opt/djl/partition/trt_llm_partition.py"
_PIPELINE_SINCE, _LLM_API_SINCE = (0, 29), (0, 33)
_MODEL_FILES = (".safetensors", ".bin")
_COPIED = frozenset(
    {
        *("config.json", "generation_config.json", "special_tokens_map.json"),
        *("tokenizer.json", "tokenizer.model", "tokenizer_config.json"),
    }
)


def _parsed(version: tuple[int, ...], arguments: Sequence[str]) -> argparse.Namespace:
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
    asked = _parsed(container.version, arguments)
    pipeline = getattr(asked, "pipeline_parallel_degree", 1)
    options = _options(container, asked.properties_dir)
    by_llm = container.version >= _LLM_API_SINCE
    named = asked.model_path if by_llm else asked.model_path or options.get("model_id")
    if named is None:
        raise trace("KeyError: 'model_id'" if not by_llm else "ValueError: model=None")
    tokenizer = _model(container, named)
    degree = asked.tensor_parallel_degree
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
    write(container, asked.trt_llm_model_repo, engines, tokenizer)
    if by_llm:
        _copy_properties(container, asked.properties_dir, asked.trt_llm_model_repo)
    container.log.append(f"Model Compiled successfully: {asked.trt_llm_model_repo}")


def _options(container: Container, folder: str) -> dict[str, str]:
    written = properties_in(container, folder)
    return {key.removeprefix("option."): value for key, value in written.items()}


def _model(container: Container, named: str) -> dict[str, bytes]:
    """
    Return what is copied from a model beside its engines.
    """
    if not named.startswith("/"):
        raise ExitError(1, f"not emulated: the download of {named} into a job")
    files = container.files
    names = files.names(named)
    if "config.json" not in names or not any(n.endswith(_MODEL_FILES) for n in names):
        raise trace(
            f"OSError: {named} does not appear to have a file named config.json and "
            "weights beside it"
        )
    found = {n: files.read(f"{named}/{n}") or b"" for n in names if n in _COPIED}
    if "tokenizer_config.json" not in found:
        raise trace(f"OSError: Can't load tokenizer for '{named}'")
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
    container.files.write(f"{model}/1/config.json", _built(engines[0]))
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
    container.files.write(f"{folder}/config.json", _built(engines[0]))
    for engine in engines:
        container.files.write(f"{folder}/rank{engine.rank}.engine", engine.written())


def _built(engine: Engine) -> bytes:
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
    kept = [
        line
        for line in text.decode(errors="replace").splitlines(keepends=True)
        if "option.model_id" not in line
    ]
    container.files.write(f"{target}/serving.properties", "".join(kept).encode())
