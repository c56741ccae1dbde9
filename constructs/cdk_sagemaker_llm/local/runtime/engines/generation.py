"""
What vLLM answers to chats and completions.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

from cdk_sagemaker_llm.local.runtime.answers import Answer
from cdk_sagemaker_llm.local.runtime.chat import prompt_of
from cdk_sagemaker_llm.local.runtime.engines.asked import JSON
from cdk_sagemaker_llm.local.runtime.engines.chats import Chat, choice_count, stops_of
from cdk_sagemaker_llm.local.runtime.engines.fields import prompts_of
from cdk_sagemaker_llm.local.runtime.engines.limits import (
    allowed_tokens,
    faulty,
    renders,
)
from cdk_sagemaker_llm.local.runtime.engines.refusals import RefusedError, nested
from cdk_sagemaker_llm.local.runtime.engines.said import Said, say
from cdk_sagemaker_llm.local.runtime.engines.shapes import (
    DONE,
    SSE,
    dump,
    event,
    token_count,
)
from cdk_sagemaker_llm.local.runtime.engines.started import StartedEngine
from cdk_sagemaker_llm.local.runtime.engines.words import VllmWords, vllm_usage
from cdk_sagemaker_llm.local.runtime.story import Token
from cdk_sagemaker_llm.local.untyped import Untyped

# A completion has so many if nothing is said; a chat fills the context.
_COMPLETION_TOKENS = 16
_PLENTY = 100_000
_MOST_CHOICES = 16_384  # VLLM_MAX_N_SEQUENCES.
_NEWEST = "999"


def chat(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    """
    Answer ``messages``.

    Raises:
        RefusedError: If the engine refuses it.
    """
    try:
        prompt = prompt_of(body)
    except ValueError as fault:
        raise nested(str(fault)) from fault
    if body.get("tools") and "tool_choice" not in body:
        body = {**body, "tool_choice": "auto"}
    _hold_tools(engine, body)
    _hold_number(engine, body)
    count = allowed_tokens(engine, body, prompt, _PLENTY)
    release = engine.release.engine_version or _NEWEST
    words = VllmWords(model, int(time.time()), release)
    thinks = bool(engine.settings.get("reasoning_parser"))
    return Chat(words, body, prompt=prompt, count=count, thinks=thinks).answer()


def completion(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    """
    Answer ``prompt``.

    Raises:
        RefusedError: If the engine refuses it.
    """
    _hold_number(engine, body)
    prompts = prompts_of(body) or [""]
    said = [_continued(engine, body, prompt) for prompt in prompts]
    number = choice_count(body)
    written = sum(one.count for one in said) * number
    usage = vllm_usage(sum(map(token_count, prompts)), written)
    head = {
        "id": f"cmpl-{uuid.uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": model,
    }
    every = [
        (prompt if body.get("echo") else "", one)
        for prompt, one in zip(prompts, said, strict=True)
        for _ in range(number)
    ]
    if body.get("stream"):
        chunks = _chunks(head, every)
        options = body.get("stream_options") or {}
        last = [{**head, "choices": [], "usage": usage}]
        told = last if options.get("include_usage") else []
        return Answer(SSE, [*map(event, [*chunks, *told]), DONE], written)
    choices = [
        _choice(index, prompt, one, body) for index, (prompt, one) in enumerate(every)
    ]
    whole = {
        **head,
        "choices": choices,
        "service_tier": None,
        "system_fingerprint": None,
        "usage": usage,
        "kv_transfer_params": None,
    }
    return Answer(JSON, [dump(whole)], written)


def _continued(engine: StartedEngine, body: dict[str, Any], prompt: str) -> Said:
    count = allowed_tokens(engine, body, prompt, _COMPLETION_TOKENS)
    return say(prompt, count, stops=stops_of(body))


def _choice(
    index: int, prompt: str, said: Said, body: dict[str, Any]
) -> dict[str, Any]:
    return {
        "index": index,
        "text": prompt + said.text,
        "logprobs": _log_probs(said.shown, body.get("logprobs")),
        "finish_reason": said.reason,
        "stop_reason": said.stop,
        "token_ids": None,
        "prompt_logprobs": None,
        "prompt_token_ids": None,
    }


def _chunks(
    head: dict[str, Any], every: list[tuple[str, Said]]
) -> Iterator[dict[str, Any]]:
    def chunk(index: int, text: str, **ending: str | None) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": index, "text": text, "logprobs": None}
        return {**head, "choices": [{**choice, "finish_reason": None, **ending}]}

    for index, (prompt, said) in enumerate(every):
        if prompt:
            yield chunk(index, prompt)
        for token in said.tokens:
            yield chunk(index, token.text)
        yield chunk(index, "", finish_reason=said.reason, stop_reason=said.stop)


def _log_probs(tokens: tuple[Token, ...], top: Untyped) -> Untyped:
    if top is None:
        return None
    offsets, length = [], 0
    for token in tokens:
        offsets.append(length)
        length += len(token.text)
    return {
        "text_offset": offsets,
        "token_logprobs": [token.log_prob for token in tokens],
        "tokens": [token.text for token in tokens],
        "top_logprobs": [{token.text: token.log_prob} for token in tokens],
    }


def _hold_number(engine: StartedEngine, body: dict[str, Any]) -> None:
    number = body.get("n")
    if number is not None and number < 1:
        raise faulty(f"n must be at least 1, got {number}.", "n", number, engine=engine)
    if number is not None and number > _MOST_CHOICES:
        message = f"n must be at most {_MOST_CHOICES}, got {number}."
        raise faulty(message, "n", number, engine=engine)


def _hold_tools(engine: StartedEngine, body: dict[str, Any]) -> None:
    """
    Hold that the engine can read a call of a tool out of what the model writes.
    """
    choice = body.get("tool_choice")
    if choice is None or choice == "none":
        return
    settings = engine.settings
    has_parser = bool(settings.get("tool_call_parser"))
    if choice == "auto" and not (has_parser and settings.get(_AUTO)):
        raise nested(
            '"auto" tool choice requires --enable-auto-tool-choice and '
            "--tool-call-parser to be set"
        )
    # Before, a grammar alone was enough for one that has to be called.
    if not has_parser and renders(engine):
        raise _no_parser(choice)


_AUTO = "enable_auto_tool_choice"


def _no_parser(choice: Untyped) -> RefusedError:
    named = choice["function"]["name"] if isinstance(choice, dict) else None
    said = f'"{choice}"' if named is None else f'function "{named}"'
    return nested(f"tool_choice={said} requires --tool-call-parser to be set")
