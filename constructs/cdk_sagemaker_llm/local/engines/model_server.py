"""
The stand-in model server: a request in, the container's answer out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines import chat, llama_cpp, lmi, sglang, tei, tgi, vllm
from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.engines.containers import (
    Answer,
    ContainerRequest,
    ServingContainer,
)
from cdk_sagemaker_llm.local.engines.engine import StartedEngine
from cdk_sagemaker_llm.local.engines.story import continue_prompt

_ENGINES: Mapping[str, Callable[[StartedEngine, ContainerRequest], Answer]] = {
    "vllm": vllm.answer,
    "vllm-neuron": vllm.answer,
    "vllm-omni": vllm.answer,
    "sglang": sglang.answer,
    "llama.cpp": llama_cpp.answer,
    "tei": tei.answer,
}


class ContainerError(Exception):
    """
    An answer of the container that is no success.
    """

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status = status
        self.body = body


def generate(container: ServingContainer, incoming: ContainerRequest) -> Answer:
    """
    Answer a request as the container does.

    Args:
        container: The container.

        incoming: The request.

    Raises:
        ContainerError: If the container refuses it.
    """
    if container.engine is not None:
        return _by_engine(container.engine, incoming)
    request = _request(container, incoming.body)
    if container.adapter is not None and not container.has_adapter:
        # VLLMHandler's words: what was not registered is not there.
        raise _unreadable(
            container,
            f"LoRA adapter {container.adapter} not found in registry. Available "
            "adapters: []",
        )
    if chat.is_chat(container, request):
        return _chat(container, request)
    if not isinstance(request.get("inputs"), str):
        raise _unreadable(container, "missing field `inputs`")
    parameters = request.get("parameters")
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, dict):
        raise _unreadable(container, "invalid type for `parameters`, expected a map")
    count = _new_tokens(container, parameters)
    generation = continue_prompt(
        request["inputs"], count, full_text=_full_text(container, parameters)
    )
    render = lmi.answer if container.server == "lmi" else tgi.answer
    content_type, pieces = render(
        container,
        generation,
        details=bool(parameters.get("details")),
        stream=bool(request.get("stream")),
    )
    return Answer(content_type, pieces, len(generation.tokens))


def _by_engine(engine: StartedEngine, request: ContainerRequest) -> Answer:
    try:
        return answer_of_engine(engine, request)
    except RefusedError as fault:
        raise ContainerError(fault.status, fault.body) from fault


def _chat(container: ServingContainer, request: dict[str, Any]) -> Answer:
    try:
        prompt = chat.prompt_of(request)
    except ValueError as error:
        raise _unreadable(container, str(error)) from error
    count = request.get("max_tokens")
    if count is None and container.is_async:
        count = request.get("max_completion_tokens")
    if count is None:
        count = chat.default_tokens(container)
    generation = continue_prompt(prompt, _checked(container, "max_tokens", count))
    content_type, pieces = chat.answer(container, generation, request)
    return Answer(content_type, pieces, len(generation.tokens))


def _request(container: ServingContainer, body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
        if b"\\u" in body:
            # Half of a pair of surrogates is no text, though Python reads it.
            json.dumps(request, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _unreadable(container, str(error)) from error
    if not isinstance(request, dict):
        raise _unreadable(container, "invalid type, expected a map")
    return request


def _new_tokens(container: ServingContainer, parameters: Mapping[str, Any]) -> int:
    count = parameters.get("max_new_tokens") or container.default_new_tokens
    return _checked(container, "max_new_tokens", count)


def _checked(container: ServingContainer, name: str, count: Untyped) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise _refusal(container, f"`{name}` must be strictly positive")
    return count


def _full_text(container: ServingContainer, parameters: Mapping[str, Any]) -> bool:
    knows_details = container.server == "tgi" or container.version >= (0, 27)
    return knows_details and bool(parameters.get("return_full_text"))


def _unreadable(container: ServingContainer, why: str) -> ContainerError:
    if container.server == "tgi":
        return ContainerError(
            422, f"Failed to deserialize the JSON body into the target type: {why}"
        )
    status = 400 if container.is_async else 424
    return ContainerError(status, json.dumps({"code": status, "error": why}))


def _refusal(container: ServingContainer, why: str) -> ContainerError:
    if container.server == "tgi":
        error = {"error": f"Input validation error: {why}", "error_type": "validation"}
        return ContainerError(422, json.dumps(error, separators=(",", ":")))
    return _unreadable(container, why)


def answer_of_engine(engine: StartedEngine, request: ContainerRequest) -> Answer:
    """
    Answer a request as an engine does.

    Args:
        engine: The engine.

        request: The request.

    Raises:
        RefusedError: If the engine refuses it.
    """
    return _ENGINES[engine.release.engine](engine, request)
