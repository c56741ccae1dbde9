"""
What SGLang does with a request to ``/invocations``: it is a chat, whatever it is.

Read in SGLang 0.5.5 and 0.5.23 (entrypoints/openai).
"""

from __future__ import annotations

import uuid
from typing import Any

from cdk_sagemaker_llm.local.engines.answers import Chat, Words
from cdk_sagemaker_llm.local.engines.bodies import (
    PLENTY,
    RefusedError,
    is_chat,
    prompt_of,
    read_json,
    token_count,
)
from cdk_sagemaker_llm.local.engines.containers import (
    Answer,
    ContainerRequest,
    StartedEngine,
)
from cdk_sagemaker_llm.local.engines.story import Speech

# What a request that does not name a model is called by (ChatCompletionRequest).
_NO_MODEL = "default"


def answer(engine: StartedEngine, request: ContainerRequest) -> Answer:
    """
    Answer a chat as SGLang does.
    """
    try:
        body = read_json(request.body)
    except ValueError as fault:
        raise _invalid("json_invalid", f"JSON decode error: {fault}") from fault
    if not isinstance(body, dict):
        raise _invalid("model_attributes_type", "Input should be an object")
    if "messages" not in body:
        raise _invalid("missing", "Field required", "'body', 'messages'")
    if body["messages"] == []:
        raise _refusal("Messages cannot be empty.", kind="BadRequestError")
    if not is_chat(body):
        raise _invalid("value_error", "a field has a value of another type")
    model = str(body.get("model") or _NO_MODEL)
    _check_adapter(engine, _adapter(engine, model) or body.get("lora_path"))
    prompt, count = _fitted(engine, body, prompt_of(body))
    thinks = bool(engine.settings.get("reasoning_parser"))
    # Without a parser a call stays in the text.
    if not engine.settings.get("tool_call_parser"):
        body = {**body, "tools": None}
    words = _SglangWords(model)
    return Chat(words, body, prompt=prompt, count=count, thinks=thinks).answer()


def _refusal(message: str, *, kind: str = "BadRequest") -> RefusedError:
    # A 400 always.
    error = {"object": "error", "message": message, "type": kind}
    return RefusedError.of(400, {**error, "param": None, "code": 400})


def _invalid(kind: str, message: str, where: str = "'body',") -> RefusedError:
    return _refusal(
        "1 validation error:\n"
        f"  {{'type': '{kind}', 'loc': ({where}), 'msg': '{message}'}}",
        kind="Bad Request",
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


def _check_adapter(engine: StartedEngine, name: str | None) -> None:
    if name is None or name in engine.adapters:
        return
    if not engine.settings.get("enable_lora") and not engine.adapters:
        raise _refusal(
            "LoRA is not enabled. Please set `--enable-lora` to enable LoRA."
        )
    raise _refusal(
        f"The following requested LoRA adapters are not loaded: {name}\n"
        f"Loaded adapters: dict_keys({list(engine.adapters)})."
    )


def _fitted(
    engine: StartedEngine, body: dict[str, Any], prompt: str
) -> tuple[str, int]:
    """
    Return the prompt, cut where the engine was told to, and room for its answer.
    """
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    room, prompt_tokens = engine.context_length, token_count(prompt)
    if limit is not None and limit < 1:
        raise _refusal(f"max_new_tokens must be at least 0, got {limit}.")
    if room is None:
        return prompt, limit or PLENTY
    cuts = bool(engine.settings.get("allow_auto_truncate"))
    if prompt_tokens >= room and not cuts:
        raise _refusal(
            f"The input ({prompt_tokens} tokens) is longer than the model's "
            f"context length ({room} tokens)."
        )
    if prompt_tokens >= room:
        # It leaves one token for the answer.
        prompt = " ".join(prompt.split()[: room - 1])
        prompt_tokens = token_count(prompt)
    if limit is not None and prompt_tokens + limit > room and not cuts:
        raise _refusal(
            "Requested token count exceeds the model's maximum context length of "
            f"{room} tokens. You requested a total of {prompt_tokens + limit} tokens: "
            f"{prompt_tokens} tokens from the input messages and {limit} tokens for "
            "the completion. "
            "Please reduce the number of tokens in the input messages or the "
            "completion to fit within the limit."
        )
    return prompt, min(limit or PLENTY, room - prompt_tokens)


class _SglangWords(Words):
    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._id = uuid.uuid4().hex

    def message(self, speech: Speech) -> dict[str, Any]:
        calls = [{**speech.call.as_message(), "index": 0}] if speech.call else []
        return {
            "role": "assistant",
            "content": speech.content,
            "reasoning_content": speech.thought or None,
            **({"tool_calls": calls} if calls else {}),
        }

    def ending(self, speech: Speech | None) -> dict[str, Any]:
        if speech is None:
            return {"finish_reason": None, "matched_stop": None}
        matched: str | int | None = speech.end.id if speech.end else speech.stop
        return {"finish_reason": speech.reason, "matched_stop": matched}

    def usage(self, prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
        counts = super().usage(prompt_tokens, answer_tokens)
        return {**counts, "prompt_tokens_details": None, "reasoning_tokens": 0}

    def whole(
        self, choices: list[dict[str, Any]], usage: dict[str, Any]
    ) -> dict[str, Any]:
        version = {"metadata": {"weight_version": "default"}}
        return {**super().whole(choices, usage), **version}

    def chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {**super().chunk(choices), "usage": None}

    def delta(self, **parts: object) -> dict[str, Any]:
        # What is not new is null.
        nothing = {"role": None, "content": None, "reasoning_content": None}
        return {**nothing, **parts}
