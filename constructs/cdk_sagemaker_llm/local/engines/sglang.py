"""
What SGLang does with a request to ``/invocations``: it is a chat, whatever it is.

Read in SGLang 0.5.5 and 0.5.23 (entrypoints/openai).
"""

from __future__ import annotations

import json
import time
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import dump, flat, is_chat, token_count
from cdk_sagemaker_llm.local.engines.chat import prompt_of
from cdk_sagemaker_llm.local.engines.containers import Answer, ContainerRequest
from cdk_sagemaker_llm.local.engines.engine import StartedEngine
from cdk_sagemaker_llm.local.engines.engine_chats import Chat, SglangWords

_PLENTY = 100_000
# What a request that does not name a model is called by (ChatCompletionRequest).
_NO_MODEL = "default"


def answer(engine: StartedEngine, request: ContainerRequest) -> Answer:
    """
    Answer a chat as SGLang does.

    Raises:
        RefusedError: If it refuses it.
    """
    body = _request(request)
    model = str(body.get("model") or _NO_MODEL)
    _hold_adapter(engine, body, model)
    prompt, count = _fitted(engine, body, prompt_of(body))
    words = SglangWords(model, int(time.time()))
    thinks = bool(engine.settings.get("reasoning_parser"))
    # Without a parser a call stays in the text.
    if not engine.settings.get("tool_call_parser"):
        body = {**body, "tools": None}
    return Chat(words, body, prompt=prompt, count=count, thinks=thinks).answer()


def _request(request: ContainerRequest) -> dict[str, Any]:
    try:
        body: Untyped = json.loads(request.body)
        # Half of a pair of surrogates is no text, though Python reads it.
        dump(body)
    except (ValueError, RecursionError) as fault:
        raise flat(_invalid("json_invalid", f"JSON decode error: {fault}")) from fault
    if not isinstance(body, dict):
        raise flat(_invalid("model_attributes_type", "Input should be an object"))
    if "messages" not in body:
        raise flat(_invalid("missing", "Field required"), kind="Bad Request")
    if body["messages"] == []:
        raise flat("Messages cannot be empty.", kind="BadRequestError")
    if not is_chat(body):
        refusal = _invalid("value_error", "a field has a value of another type")
        raise flat(refusal, kind="Bad Request")
    return body


def _invalid(kind: str, message: str) -> str:
    where = "'loc': ('body', 'messages')" if kind == "missing" else "'loc': ('body',)"
    return f"1 validation error:\n  {{'type': '{kind}', {where}, 'msg': '{message}'}}"


def _hold_adapter(engine: StartedEngine, body: dict[str, Any], model: str) -> None:
    name = _adapter(engine, model) or body.get("lora_path")
    if name is None:
        return
    if not engine.settings.get("enable_lora") and not engine.adapters:
        raise flat("LoRA is not enabled. Please set `--enable-lora` to enable LoRA.")
    if name not in engine.adapters:
        raise flat(
            f"The following requested LoRA adapters are not loaded: {name}\n"
            f"Loaded adapters: dict_keys({list(engine.adapters)})."
        )


def _adapter(engine: StartedEngine, model: str) -> str | None:
    """
    Return the adapter in ``base:adapter``, whose base may have colons itself.
    """
    served = engine.served_names[0]
    if ":" not in model or model == served:
        return None
    if model.startswith(f"{served}:"):
        return model.removeprefix(f"{served}:")
    return model.partition(":")[2].strip() or None


def _fitted(
    engine: StartedEngine, body: dict[str, Any], prompt: str
) -> tuple[str, int]:
    """
    Return the prompt, cut where the engine was told to, and room for its answer.
    """
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    room, prompt_tokens = engine.context_length, token_count(prompt)
    if limit is not None and limit < 1:
        raise flat(f"max_new_tokens must be at least 0, got {limit}.")
    if room is None:
        return prompt, limit or _PLENTY
    cuts = bool(engine.settings.get("allow_auto_truncate"))
    if prompt_tokens >= room:
        if not cuts:
            raise flat(
                f"The input ({prompt_tokens} tokens) is longer than the model's "
                f"context length ({room} tokens)."
            )
        # It leaves one token for the answer.
        prompt = " ".join(prompt.split()[: room - 1])
        prompt_tokens = token_count(prompt)
    if limit is not None and prompt_tokens + limit > room and not cuts:
        raise flat(
            "Requested token count exceeds the model's maximum context length of "
            f"{room} tokens. You requested a total of {prompt_tokens + limit} tokens: "
            f"{prompt_tokens} tokens from the input messages and {limit} tokens for "
            "the completion. "
            "Please reduce the number of tokens in the input messages or the "
            "completion to fit within the limit."
        )
    return prompt, min(limit or _PLENTY, room - prompt_tokens)
