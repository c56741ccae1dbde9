"""
The stand-in model server: a request in, the container's answer out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines import (
    generated_text,
    llama_cpp,
    sglang,
    tei,
    vllm,
)
from cdk_sagemaker_llm.local.engines.bodies import RefusedError, prompt_of, read_json
from cdk_sagemaker_llm.local.engines.containers import (
    Answer,
    ContainerRequest,
    ServingContainer,
    StartedEngine,
)
from cdk_sagemaker_llm.local.engines.story import continue_prompt

_ENGINES: Mapping[str, Callable[[StartedEngine, ContainerRequest], Answer]] = {
    "vllm": vllm.answer,
    "vllm-neuron": vllm.answer,
    "vllm-omni": vllm.answer,
    "sglang": sglang.answer,
    "llama.cpp": llama_cpp.answer,
    "tei": tei.answer,
}


def generate(container: ServingContainer, incoming: ContainerRequest) -> Answer:
    """
    Answer a request as the container does.
    """
    engine = container.engine
    if engine is not None:
        return _ENGINES[engine.release.engine](engine, incoming)
    if incoming.path is not None and not generated_text.has_chat_path(container):
        raise RefusedError(404, "")
    try:
        request = read_json(incoming.body)
    except ValueError as error:
        raise _unreadable(container, str(error)) from error
    if not isinstance(request, dict):
        raise _unreadable(container, "invalid type, expected a map")
    has_slots = container.options.get("enable_lora") == "true"
    if container.adapter is not None and not (container.server == "lmi" and has_slots):
        # VLLMHandler's words: what was not registered is not there.
        raise _unreadable(
            container,
            f"LoRA adapter {container.adapter} not found in registry. Available "
            "adapters: []",
        )
    if incoming.path or generated_text.takes_chat(container, request):
        return _chat(container, request)
    prompt, parameters = request.get("inputs"), request.get("parameters")
    if not isinstance(prompt, str):
        raise _unreadable(container, "missing field `inputs`")
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, dict):
        raise _unreadable(container, "invalid type for `parameters`, expected a map")
    count = parameters.get("max_new_tokens") or container.default_new_tokens
    knows_details = container.server == "tgi" or container.version >= (0, 27)
    generation = continue_prompt(
        prompt,
        _checked(container, "max_new_tokens", count),
        full_text=knows_details and bool(parameters.get("return_full_text")),
    )
    content_type, pieces = generated_text.text_answer(
        container,
        generation,
        details=bool(parameters.get("details")),
        stream=bool(request.get("stream")),
    )
    return Answer(content_type, pieces, len(generation.tokens))


def _chat(container: ServingContainer, request: dict[str, Any]) -> Answer:
    try:
        prompt = prompt_of(request)
    except ValueError as error:
        raise _unreadable(container, str(error)) from error
    count = request.get("max_tokens")
    if count is None and container.is_async:
        count = request.get("max_completion_tokens")
    if count is None:
        count = generated_text.chat_tokens(container)
    generation = continue_prompt(prompt, _checked(container, "max_tokens", count))
    content_type, pieces = generated_text.chat_answer(container, generation, request)
    return Answer(content_type, pieces, len(generation.tokens))


def _checked(container: ServingContainer, name: str, count: Untyped) -> int:
    if isinstance(count, int) and not isinstance(count, bool) and count >= 1:
        return count
    why = f"`{name}` must be strictly positive"
    if container.server != "tgi":
        raise _unreadable(container, why)
    error = {"error": f"Input validation error: {why}", "error_type": "validation"}
    raise RefusedError.of(422, error)


def _unreadable(container: ServingContainer, why: str) -> RefusedError:
    if container.server == "tgi":
        return RefusedError(
            422, f"Failed to deserialize the JSON body into the target type: {why}"
        )
    status = 400 if container.is_async else 424
    return RefusedError(status, json.dumps({"code": status, "error": why}))
