"""
Engines that start without SageMaker, and requests to them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease, find_engine_release
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.engines.containers import (
    ContainerRequest,
    ServingContainer,
    StartedEngine,
)
from cdk_sagemaker_llm.local.engines.model_server import generate
from cdk_sagemaker_llm.local.engines.starting import start

QUESTION: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Who are you?"}],
}
ROUTED = "route="


def release_of(family: str, version: str) -> EngineRelease:
    """
    Return what is in an image.
    """
    release = find_engine_release(family, version)
    assert release is not None
    return release


def started(
    family: str, version: str, *files: str, config: str | None = None, **variables: str
) -> StartedEngine:
    """
    Start an engine with variables.
    """
    return start(release_of(family, version), variables, files, config)


def said(engine: StartedEngine, body: Untyped, **more: Untyped) -> Untyped:
    """
    Ask an engine, and return what it answers as JSON.
    """
    return json.loads(whole(engine, body, **more))


def whole(engine: StartedEngine, body: Untyped, **more: Untyped) -> bytes:
    """
    Ask an engine, and return the bytes that it answers.
    """
    return sent(engine, json.dumps(body).encode(), **more)


def sent(engine: StartedEngine, body: bytes, **more: Untyped) -> bytes:
    """
    Send bytes to an engine, and return the bytes that it answers.
    """
    container = ServingContainer(server="engine", version=(), engine=engine)
    asked = ContainerRequest(body=body, **more)
    return b"".join(generate(container, asked).pieces)


def events(engine: StartedEngine, body: dict[str, Any], **more: Untyped) -> list[Any]:
    """
    Ask an engine for a stream, and return its events; it has to end in ``[DONE]``.
    """
    text = whole(engine, {**body, "stream": True}, **more).decode()
    *lines, done, rest = text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def refused(engine: StartedEngine, body: Untyped, **more: Untyped) -> tuple[int, str]:
    """
    Ask an engine what it refuses; return the status and the body.
    """
    with pytest.raises(RefusedError) as caught:
        whole(engine, body, **more)
    return caught.value.status, caught.value.body


def nested(
    message: str,
    parameter: str | None = None,
    *,
    kind: str = "BadRequestError",
    code: int = 400,
) -> tuple[int, str]:
    """
    Return a refusal as vLLM writes it.
    """
    error = {"message": message, "type": kind, "param": parameter, "code": code}
    return code, json.dumps({"error": error}, separators=(",", ":"))
