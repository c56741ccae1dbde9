"""
One embedded AWS whose endpoints are answered by real engines, all with one tiny model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import boto3
import pytest
from botocore.config import Config

from cdk_sagemaker_llm.client import LlmClient
from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.engines.servers import executable, free_port, serving, write_model
from tests.local.hosting_requests import make_config, make_model

Client = Callable[..., LlmClient]

LLAMA_SERVER = "llama-server"
VECTORS = "llama-server-vectors"
NATIVE = "llama-server-native"
LLAMA_CPP_PYTHON = "llama-cpp-python"
TRANSFORMERS = "transformers"
ENGINES = (LLAMA_SERVER, LLAMA_CPP_PYTHON, TRANSFORMERS)
CONTEXT = 256
SENTENCE = "The cat sat on the mat in Köln, and purrs 😀."
_IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm:0.11.0-gpu-py312-cu128"


@pytest.fixture(name="folder", scope="session")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Where the models are, and what the servers print.
    """
    return tmp_path_factory.mktemp("engines")


@pytest.fixture(name="gguf", scope="session")
def _gguf(folder: Path) -> Path:
    """
    The model in llama.cpp's form.
    """
    return write_model("llamacpp", "write_gguf", folder / "tiny.gguf")


@pytest.fixture(name="llama_server", scope="session")
def _llama_server(folder: Path, gguf: Path) -> Iterator[str]:
    """
    llama.cpp's own server, which the images of AWS and Hugging Face have.
    """
    with _llama_cpp(folder / "llama-server.log", gguf) as url:
        yield url


@pytest.fixture(name="vectors", scope="session")
def _vectors(folder: Path, gguf: Path) -> Iterator[str]:
    """
    The same one, for vectors alone.
    """
    more = ("--embeddings", "--pooling", "mean")
    with _llama_cpp(folder / "vectors.log", gguf, *more) as url:
        yield url


@contextmanager
def _llama_cpp(log: Path, gguf: Path, *more: str) -> Iterator[str]:
    port = free_port()
    command: list[str | Path] = [
        *(executable("llamacpp", "llama-server"), "--model", gguf),
        *("--alias", "tiny", "--host", "127.0.0.1", "--port", str(port)),
        *("--ctx-size", str(CONTEXT), "--parallel", "1", "--threads", "1"),
        *("--offline", *more),
    ]
    with serving(command, port, ready="/health", log=log) as url:
        yield url


@pytest.fixture(name="llama_cpp_python", scope="session")
def _llama_cpp_python(folder: Path, gguf: Path) -> Iterator[str]:
    """
    One that writes, and two that make vectors: one for a text, and one for a token.
    """
    port = free_port()
    pooled = write_model("llamacpp", "write_gguf", folder / "mean.gguf", "mean")
    models = [("tiny", gguf, False), ("tokens", gguf, True), ("texts", pooled, True)]
    settings = {
        "host": "127.0.0.1",
        "port": port,
        # Otherwise the next request ends the stream before it, without a reason.
        "interrupt_requests": False,
        "models": [
            {
                "model": str(path),
                "model_alias": name,
                "n_ctx": CONTEXT,
                "n_threads": 1,
                "embedding": embeds,
            }
            for name, path, embeds in models
        ],
    }
    config = folder / "llama-cpp-python.json"
    config.write_text(json.dumps(settings), encoding="utf-8")
    command: list[str | Path] = [
        *(executable("llamacpp", "python"), "-m", "llama_cpp.server"),
        *("--config_file", config),
    ]
    log = folder / "llama-cpp-python.log"
    with serving(command, port, ready="/v1/models", log=log) as url:
        yield url


@pytest.fixture(name="transformers", scope="session")
def _transformers(folder: Path) -> Iterator[str]:
    """
    Pinned to the one model, and with another in its cache, which it lists.
    """
    port = free_port()
    cached = folder / "hub" / "models--some--other"
    for name in ("refs", "snapshots/1"):
        (cached / name).mkdir(parents=True)
    (cached / "refs" / "main").write_text("1", encoding="utf-8")
    listed = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    (cached / "snapshots" / "1" / "config.json").write_text(
        json.dumps(listed), encoding="utf-8"
    )
    model = write_model("transformers", "write_transformers", folder / "tiny")
    command: list[str | Path] = [
        *(executable("transformers", "transformers"), "serve", model),
        *("--host", "127.0.0.1", "--port", str(port), "--device", "cpu"),
    ]
    log = folder / "transformers.log"
    with serving(command, port, ready="/health", log=log) as url:
        yield url


@pytest.fixture(name="aws", scope="session")
def _aws(
    llama_server: str, vectors: str, llama_cpp_python: str, transformers: str
) -> Iterator[EmbeddedAws]:
    """
    An endpoint for each server, by its name.
    """
    forward = {
        LLAMA_SERVER: llama_server,
        VECTORS: vectors,
        NATIVE: f"{llama_server}/completion",
        LLAMA_CPP_PYTHON: llama_cpp_python,
        TRANSFORMERS: f"{transformers}/v1",
    }
    with EmbeddedAws(forward=forward) as aws:
        for name in forward:
            variant = {"ModelName": make_model(aws, image=_IMAGE)}
            config = make_config(
                aws, variant={**variant, "InstanceType": "ml.g5.xlarge"}
            )
            aws.client("sagemaker").create_endpoint(
                EndpointName=name, EndpointConfigName=config
            )
        yield aws


@pytest.fixture(name="client", scope="session")
def _client(aws: EmbeddedAws) -> Iterator[Client]:
    """
    Make a client of an engine's endpoint.
    """
    session = boto3.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - no secret: any value does
        region_name="us-east-1",
    )
    with ExitStack() as opened:

        def client(engine: str, **more: Untyped) -> LlmClient:
            given: dict[str, Untyped] = {
                "schema": "openai",
                "session": session,
                "config": Config(proxies={"http": ""}),
                "endpoint_url": aws.url,
                **more,
            }
            return opened.enter_context(LlmClient(engine, **given))

        yield client
