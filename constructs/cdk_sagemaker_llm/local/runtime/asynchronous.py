"""
``InvokeEndpointAsync``: the request lies in S3, and so will the answer.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.errors import AwsError
from cdk_sagemaker_llm.local.protocols import JSON, json_error
from cdk_sagemaker_llm.local.sagemaker.locations import Location
from cdk_sagemaker_llm.local.sagemaker.world import World

# What answers a request of InvokeEndpoint.
Waiting = Callable[[Request], Response]

_PREFIX = "X-Amzn-SageMaker-"
_LAST_GOOD = 299


@dataclass(frozen=True, slots=True)
class _Places:
    """
    Where the answer and the failure of a request are written.
    """

    answer: str
    failure: str | None


def refuse_waiting(world: World, endpoint: str) -> Response | None:
    """
    Refuse a client that wants to wait for an endpoint of asynchronous inference.
    """
    if _configuration(world, endpoint) is None:
        return None
    return _refusal(
        f"Endpoint {endpoint} of account {world.account} is for asynchronous "
        "inference: invoke it by InvokeEndpointAsync."
    )


def answer(world: World, request: Request, endpoint: str, wait: Waiting) -> Response:
    """
    Answer ``InvokeEndpointAsync``; the container has been asked when it returns.
    """
    if world.endpoints.find(endpoint) is None:
        return _refusal(f"Endpoint {endpoint} of account {world.account} not found.")
    configuration = _configuration(world, endpoint)
    if configuration is None:
        return _refusal(
            f"Endpoint {endpoint} of account {world.account} has no "
            "AsyncInferenceConfig: invoke it by InvokeEndpoint."
        )
    source = request.headers.get(f"{_PREFIX}InputLocation")
    if not source:
        return _refusal("InputLocation is required.")
    inference = request.headers.get(f"{_PREFIX}Inference-Id") or str(uuid.uuid4())
    # If no place is configured, it is SageMaker's own bucket of the account.
    own = f"s3://sagemaker-{world.region}-{world.account}"
    output = {"S3OutputPath": own, **configuration["OutputConfig"]}
    places = _places(output, request.headers, inference)
    _work(world, source, places, lambda body: wait(_asked(request, endpoint, body)))
    headers = {f"{_PREFIX}OutputLocation": places.answer}
    if places.failure:
        headers[f"{_PREFIX}FailureLocation"] = places.failure
    told = json.dumps({"InferenceId": inference})
    return Response(told, 202, headers=headers, content_type=JSON)


def _configuration(world: World, endpoint: str) -> dict[str, Any] | None:
    found = world.endpoints.find(endpoint)
    return found.config.get("AsyncInferenceConfig") if found else None


def _places(output: dict[str, Any], headers: Headers, inference: str) -> _Places:
    extension = headers.get(f"{_PREFIX}S3OutputPathExtension", "").strip("/")
    name = headers.get(f"{_PREFIX}Filename") or f"{inference}.out"

    def under(path: str, file: str) -> str:
        return "/".join(part for part in (path.rstrip("/"), extension, file) if part)

    failures = output.get("S3FailurePath")
    stem = name.removesuffix(".out")
    return _Places(
        under(output["S3OutputPath"], name),
        under(failures, f"{stem}-error.out") if failures else None,
    )


def _work(
    world: World, source: str, places: _Places, wait: Callable[[bytes], Response]
) -> None:
    location = Location.of(source)
    body = world.surroundings.read_object(location) if location else None
    if body is None:
        told = f"Failed to download the request from {source}"
        _write(world, places.failure, told.encode())
        return
    response = wait(body)
    good = response.status_code <= _LAST_GOOD
    _write(world, places.answer if good else places.failure, response.get_data())


def _write(world: World, url: str | None, contents: bytes) -> None:
    location = Location.of(url) if url else None
    if location is not None:
        world.surroundings.write_object(location, contents)


def _asked(request: Request, endpoint: str, body: bytes) -> Request:
    kept = [
        (name, value)
        for name, value in request.headers.items()
        if name.lower().startswith(_PREFIX.lower())
    ]
    kind = request.headers.get(f"{_PREFIX}Content-Type", JSON)
    path = f"/endpoints/{endpoint}/invocations"
    builder = EnvironBuilder(
        path, method="POST", data=body, headers=kept, content_type=kind
    )
    return Request(builder.get_environ())


def _refusal(message: str) -> Response:
    error = AwsError("ValidationError", message)
    return json_error(error, Message=message)
