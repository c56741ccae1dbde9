"""
A stand-in for LMI's images with TensorRT-LLM, as far as compiling goes.

It reads its command line as ``dockerd-entrypoint-with-cuda-compat.sh`` and
``partition/trt_llm_partition.py`` do in deepjavalibrary/djl-serving from v0.26.0 to
0.33.0-dlc, refuses what they refuse, and writes the layout that LMI finds engines in.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from typing import NoReturn

from cdk_sagemaker_llm.local.sagemaker.jobs.engines import (
    Engine,
    device_of,
    image_tag,
)
from cdk_sagemaker_llm.local.sagemaker.jobs.files import Files
from cdk_sagemaker_llm.local.sagemaker.locations import Location
from cdk_sagemaker_llm.local.sagemaker.surroundings import Surroundings

_ENTRYPOINT = "/usr/local/bin/dockerd-entrypoint.sh"
_SCRIPT = "/opt/djl/partition/trt_llm_partition.py"
_PYTHONS = frozenset({"python", "python3", "/usr/bin/python3", "/usr/bin/python"})
# What a shell would make something of that is not played.
_SHELL_WORK = re.compile(r"[$`;|&<>*?(){}\[\]!~]")
_PIPELINE_SINCE, _LLM_API_SINCE = (0, 29), (0, 33)
_MODEL_FILES = (".safetensors", ".bin")
_COPIED = frozenset(
    {
        *("config.json", "generation_config.json", "special_tokens_map.json"),
        *("tokenizer.json", "tokenizer.model", "tokenizer_config.json"),
    }
)
_NOT_FOUND = 127
_USAGE = (
    "usage: partition.py [-h] [--model-dir PROPERTIES_DIR] [--model-id MODEL_ID] "
    "[--engine ENGINE] [--save-mp-checkpoint-path SAVE_MP_CHECKPOINT_PATH] "
    "[--tensor-parallel-degree TENSOR_PARALLEL_DEGREE] [--skip-copy]"
)


class ExitError(Exception):
    """
    A container that has ended.
    """

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__(code)
        self.code = code
        self.lines = lines


@dataclass(frozen=True, kw_only=True)
class Container:
    """
    A container that works once.

    Args:
        image: Its image.

        entrypoint: What is run in place of the image's own. If empty, that is run.

        arguments: What it is given.

        variables: Its environment.

        instance_type: What it runs on.

        files: Its files.

        around: The other services.

        isolated: Whether it reaches nothing.
    """

    image: str
    entrypoint: Sequence[str]
    arguments: Sequence[str]
    variables: Mapping[str, str]
    instance_type: str
    files: Files
    around: Surroundings
    isolated: bool = False
    log: list[str] = field(default_factory=list)

    @property
    def version(self) -> tuple[int, ...]:
        """
        LMI's version.
        """
        tag = image_tag(self.image) or "0.0.0-"
        return tuple(map(int, tag.partition("-")[0].split(".")))


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
    if image_tag(container.image) is None:
        raise ExitError(
            1,
            f"not emulated: {container.image}; of the images of jobs those of LMI with "
            "TensorRT-LLM are played, and of these the compiling",
        )
    words = [*container.entrypoint, *container.arguments]
    by_shell = not container.entrypoint or words[0] == _ENTRYPOINT
    if by_shell:
        words = _by_entrypoint(container, words[1:] if container.entrypoint else words)
    if not words:
        return
    program, *rest = words
    if program in _PYTHONS and rest[:1] == [_SCRIPT]:
        _compile(container, rest[1:])
    else:
        raise ExitError(_NOT_FOUND, f"not emulated: the command {' '.join(words)}")


def _by_entrypoint(container: Container, words: Sequence[str]) -> list[str]:
    variables, kind = container.variables, words[0] if words else "serve"
    if variables.get("SM_NEO_EXECUTION_CONTEXT"):
        raise ExitError(1, "not emulated: the compilation jobs of SageMaker Neo")
    if kind == "serve":
        raise ExitError(1, "not emulated: a server in a job, which would never end")
    if kind in {"partition", "train"}:
        # It knows the engines of Neuron alone, and ends well all the same.
        container.log.extend(("Invalid engine: MPI", _USAGE))
        return []
    line = " ".join(words)
    if _SHELL_WORK.search(line):
        raise ExitError(
            1, f"not emulated: what the entrypoint's shell would make of {line}"
        )
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ExitError(2, f"{_ENTRYPOINT}: eval: {error}") from error


class _Parser(argparse.ArgumentParser):
    """
    A parser that ends the container in place of this process.
    """

    def error(self, message: str) -> NoReturn:
        """
        End as argparse does.
        """
        told = [*self.format_usage().splitlines(), f"{self.prog}: error: {message}"]
        raise ExitError(2, *told)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """
        End, with the help that was asked for.
        """
        raise ExitError(status, *(message or self.format_help()).splitlines())

    def print_help(self, file: object = None) -> None:
        """
        Print nothing: the end of it does.
        """


def _parsed(version: tuple[int, ...], arguments: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="trt_llm_partition.py")
    parser.add_argument("--properties_dir", required=True)
    parser.add_argument("--trt_llm_model_repo", required=True)
    parser.add_argument("--tensor_parallel_degree", type=int, required=True)
    if version >= _PIPELINE_SINCE:
        parser.add_argument("--pipeline_parallel_degree", type=int, required=True)
    parser.add_argument("--model_path", default=None)
    with redirect_stderr(io.StringIO()):
        return parser.parse_args(list(arguments))


def _compile(container: Container, arguments: Sequence[str]) -> None:
    asked = _parsed(container.version, arguments)
    pipeline = getattr(asked, "pipeline_parallel_degree", 1)
    options = _options(container, asked.properties_dir)
    by_llm = container.version >= _LLM_API_SINCE
    named = asked.model_path if by_llm else asked.model_path or options.get("model_id")
    if named is None:
        raise _trace("KeyError: 'model_id'" if not by_llm else "ValueError: model=None")
    tokenizer = _model(container, named, by_llm=by_llm)
    degree = asked.tensor_parallel_degree
    device, number = device_of(container.instance_type)
    if degree < 1 or pipeline < 1 or degree * pipeline > number:
        raise _trace(
            f"RuntimeError: {degree} x {pipeline} ranks do not fit {number} GPUs"
        )
    container.log.append(f"Building {degree * pipeline} engines for {device}")
    engines = [
        Engine(
            image=image_tag(container.image) or "",
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
    found = {
        name.removeprefix("OPTION_").lower(): value
        for name, value in container.variables.items()
        if name.startswith("OPTION_")
    }
    text = container.files.read(f"{folder}/serving.properties") or b""
    for line in text.decode(errors="replace").splitlines():
        # As the script reads it, which is not as Java does.
        if line.startswith("#") or not line.strip():
            continue
        key, separator, value = line.strip().partition("=")
        if not separator:
            raise _trace("ValueError: not enough values to unpack (expected 2, got 1)")
        found[key.strip().removeprefix("option.")] = value.strip()
    return found


def _model(container: Container, named: str, *, by_llm: bool) -> dict[str, bytes]:
    """
    Return what is copied from a model beside its engines.
    """
    files = container.files
    if named.startswith("s3://"):
        if by_llm:
            raise _trace(
                f"HFValidationError: Repo id must be in the form 'repo_name' or "
                f"'namespace/repo_name': '{named}'"
            )
        files = Files(container.around)
        prefix = Location.of(named if named.endswith("/") else f"{named}/")
        if (
            container.isolated
            or prefix is None
            or not (container.around.has_objects(prefix))
        ):
            raise _trace("Exception: Model download from s3url failed")
        files.mount(f"s3://{prefix.bucket}/{prefix.key}", "/model")
        named = "/model"
    if not named.startswith("/"):
        if container.isolated:
            raise _trace(f"OSError: We couldn't connect to the Hub for {named}")
        # The Hub is not asked from here.
        return {"config.json": b"{}", "tokenizer_config.json": b"{}"}
    names = files.names(named)
    if "config.json" not in names or not any(n.endswith(_MODEL_FILES) for n in names):
        raise _trace(
            f"OSError: {named} does not appear to have a file named config.json and "
            "weights beside it"
        )
    found = {n: files.read(f"{named}/{n}") or b"" for n in names if n in _COPIED}
    if "tokenizer_config.json" not in found:
        raise _trace(f"OSError: Can't load tokenizer for '{named}'")
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
        raise _trace(
            "FileNotFoundError: [Errno 2] No such file or directory: "
            f"'{source}/serving.properties'"
        )
    kept = [
        line
        for line in text.decode(errors="replace").splitlines(keepends=True)
        if "option.model_id" not in line
    ]
    container.files.write(f"{target}/serving.properties", "".join(kept).encode())


def _trace(last: str) -> ExitError:
    return ExitError(1, "Traceback (most recent call last):", last)
