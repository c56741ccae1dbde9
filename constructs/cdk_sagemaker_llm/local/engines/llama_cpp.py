"""
What llama.cpp does with a request: AWS's image takes chats, Hugging Face's has routes.

Read in AWS's nginx template (llama_cpp_sagemaker.conf.template) and, of Hugging Face's
patched server, in the facts of its build b9522.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import (
    SSE,
    RefusedError,
    counted,
    dump,
    event,
    is_chat,
    token_count,
)
from cdk_sagemaker_llm.local.engines.chat import prompt_of
from cdk_sagemaker_llm.local.engines.containers import JSON, Answer, Asked
from cdk_sagemaker_llm.local.engines.engine import StartedEngine
from cdk_sagemaker_llm.local.engines.engine_chats import Chat, LlamaCppWords, stops_of
from cdk_sagemaker_llm.local.engines.pooling import EMBED, RERANK
from cdk_sagemaker_llm.local.engines.story import say

_PLENTY = 100_000
# Here blanks, commas and semicolons end a route.
_ROUTE = re.compile(r"route=([^\s,;]*)")
_CHAT, _COMPLETION, _EMBED, _RERANK = "chat", "completion", "embed", "rerank"
_ROUTES = {
    "/v1/chat/completions": _CHAT,
    "/chat/completions": _CHAT,
    "/v1/completions": _COMPLETION,
    "/completions": _COMPLETION,
    "/completion": _COMPLETION,
    "/v1/embeddings": _EMBED,
    "/embeddings": _EMBED,
    "/embedding": _EMBED,
    "/v1/rerank": _RERANK,
    "/v1/reranking": _RERANK,
    "/rerank": _RERANK,
    "/reranking": _RERANK,
}
_NOT_EMULATED = frozenset(
    {
        "/apply-template",
        "/detokenize",
        "/infill",
        "/lora-adapters",
        "/props",
        "/tokenize",
        "/v1/audio/transcriptions",
        "/v1/messages",
        "/v1/responses",
    }
)
_BY_KEY = {"messages": _CHAT, "prompt": _COMPLETION, "input": _EMBED}


def answer(engine: StartedEngine, asked: Asked) -> Answer:
    """
    Answer a request as llama.cpp does.

    Raises:
        RefusedError: If it refuses it.
    """
    body = _request(asked)
    task = _task(engine, body, asked.attributes)
    if task == _CHAT:
        return _chat(engine, body)
    if task == _COMPLETION:
        return _completion(engine, body)
    return _read(engine, body, task)


def _request(asked: Asked) -> dict[str, Any]:
    try:
        body: Untyped = json.loads(asked.body)
        dump(body)
    except (ValueError, RecursionError) as fault:
        raise counted(f"[json.exception.parse_error.101] {fault}") from fault
    if not isinstance(body, dict):
        raise counted("Request body must be a JSON object")
    return body


def _task(engine: StartedEngine, body: dict[str, Any], attributes: str) -> str:
    if not engine.release.routes:
        return _CHAT
    found = _ROUTE.search(attributes)
    if found is None:
        return next((_BY_KEY[key] for key in _BY_KEY if key in body), _CHAT)
    if found[1] in _NOT_EMULATED:
        raise counted(
            f"The embedded AWS does not emulate {found[1]} of llama.cpp.",
            status=501,
            kind="not_supported_error",
        )
    if found[1] not in _ROUTES:
        raise counted(f"unsupported SageMaker route: {found[1]}")
    return _ROUTES[found[1]]


def _chat(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    if "messages" not in body:
        raise counted("'messages' is required")
    try:
        prompt = prompt_of(body)
    except ValueError as fault:
        raise counted(str(fault)) from fault
    if not is_chat(body):
        raise counted("a field has a value of another type")
    asked = body.get("max_completion_tokens") or body.get("max_tokens")
    count = _room(engine, prompt, asked)
    model = body.get("model") or engine.served_names[0]
    words = LlamaCppWords(str(model), int(time.time()), _build(engine))
    # Its templates tell thoughts apart if nothing else is said; whether there are any
    # is the model's.
    thinks = engine.settings.get("reasoning_format", "none") != "none"
    return Chat(words, body, prompt=prompt, count=count, thinks=thinks).answer()


def _completion(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    prompt = body.get("prompt")
    if not isinstance(prompt, str):
        raise counted('"prompt" must be a string, an array of token ids or both')
    asked = body.get("n_predict") or body.get("max_tokens")
    said = say(prompt, _room(engine, prompt, asked), stops=stops_of(body))
    told = token_count(prompt)
    whole = {
        "choices": [
            {
                "text": said.text,
                "index": 0,
                "logprobs": None,
                "finish_reason": said.reason,
            }
        ],
        "created": int(time.time()),
        "model": body.get("model") or engine.served_names[0],
        "system_fingerprint": _build(engine),
        "object": "text_completion",
        "usage": {
            "completion_tokens": said.count,
            "prompt_tokens": told,
            "total_tokens": told + said.count,
        },
        "id": f"chatcmpl-{uuid.uuid4().hex}",
    }
    if body.get("stream"):
        return Answer(SSE, [event(whole), b"data: [DONE]\n\n"], said.count)
    return Answer(JSON, [dump(whole)], said.count)


def _read(engine: StartedEngine, body: dict[str, Any], task: str) -> Answer:
    handler, switch = {
        _EMBED: (EMBED, "embeddings"),
        _RERANK: (RERANK, "reranking"),
    }[task]
    if not any(engine.settings.get(name) for name in (switch, switch.rstrip("s"))):
        raise _unsupported(switch)
    if not handler.takes(body):
        raise counted('"input" or "content" must be provided')
    return handler.answer(engine, body, engine.served_names[0])


def _unsupported(switch: str) -> RefusedError:
    return counted(
        f"This server does not support {switch}. Start it with `--{switch}`",
        status=501,
        kind="not_supported_error",
    )


def _room(engine: StartedEngine, prompt: str, asked: Untyped) -> int:
    count = asked if isinstance(asked, int) and asked > 0 else _PLENTY
    room, told = engine.context_length, token_count(prompt)
    if room is None:
        return count
    if told >= room:
        raise counted(
            f"request ({told} tokens) exceeds the available context size ({room} "
            "tokens), try increasing it",
            kind="exceed_context_size_error",
            n_prompt_tokens=told,
            n_ctx=room,
        )
    # What is too much is cut: the answer ends where the context does.
    return min(count, room - told)


def _build(engine: StartedEngine) -> str:
    return engine.release.engine_version or engine.release.version
