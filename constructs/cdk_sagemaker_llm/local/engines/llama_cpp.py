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
    dump,
    event,
    is_chat,
    llama_refusal,
    token_count,
)
from cdk_sagemaker_llm.local.engines.chat import prompt_of
from cdk_sagemaker_llm.local.engines.containers import JSON, Answer, ContainerRequest
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


def answer(engine: StartedEngine, request: ContainerRequest) -> Answer:
    """
    Answer a request as llama.cpp does.

    Raises:
        RefusedError: If it refuses it.
    """
    body = _request(request)
    task = _task(engine, body, request.attributes)
    if task == _CHAT:
        return _chat(engine, body)
    if task == _COMPLETION:
        return _completion(engine, body)
    return _read(engine, body, task)


def _request(request: ContainerRequest) -> dict[str, Any]:
    try:
        body: Untyped = json.loads(request.body)
        dump(body)
    except (ValueError, RecursionError) as fault:
        raise llama_refusal(f"[json.exception.parse_error.101] {fault}") from fault
    if not isinstance(body, dict):
        raise llama_refusal("Request body must be a JSON object")
    return body


def _task(engine: StartedEngine, body: dict[str, Any], attributes: str) -> str:
    if not engine.release.routes:
        return _CHAT
    found = _ROUTE.search(attributes)
    if found is None:
        return next((_BY_KEY[key] for key in _BY_KEY if key in body), _CHAT)
    if found[1] in _NOT_EMULATED:
        raise llama_refusal(
            f"The embedded AWS does not emulate {found[1]} of llama.cpp.",
            status=501,
            kind="not_supported_error",
        )
    if found[1] not in _ROUTES:
        raise llama_refusal(f"unsupported SageMaker route: {found[1]}")
    return _ROUTES[found[1]]


def _chat(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    if "messages" not in body:
        raise llama_refusal("'messages' is required")
    try:
        prompt = prompt_of(body)
    except ValueError as fault:
        raise llama_refusal(str(fault)) from fault
    if not is_chat(body):
        raise llama_refusal("a field has a value of another type")
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    count = _room(engine, prompt, limit)
    model = body.get("model") or engine.served_names[0]
    words = LlamaCppWords(str(model), int(time.time()), _build(engine))
    # Its templates tell thoughts apart if nothing else is said; whether there are any
    # is the model's.
    thinks = engine.settings.get("reasoning_format", "none") != "none"
    return Chat(words, body, prompt=prompt, count=count, thinks=thinks).answer()


def _completion(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    prompt = body.get("prompt")
    if not isinstance(prompt, str):
        raise llama_refusal('"prompt" must be a string, an array of token ids or both')
    limit = body.get("n_predict") or body.get("max_tokens")
    speech = say(prompt, _room(engine, prompt, limit), stops=stops_of(body))
    prompt_tokens = token_count(prompt)
    whole = {
        "choices": [
            {
                "text": speech.text,
                "index": 0,
                "logprobs": None,
                "finish_reason": speech.reason,
            }
        ],
        "created": int(time.time()),
        "model": body.get("model") or engine.served_names[0],
        "system_fingerprint": _build(engine),
        "object": "text_completion",
        "usage": {
            "completion_tokens": speech.count,
            "prompt_tokens": prompt_tokens,
            "total_tokens": prompt_tokens + speech.count,
        },
        "id": f"chatcmpl-{uuid.uuid4().hex}",
    }
    if body.get("stream"):
        return Answer(SSE, [event(whole), b"data: [DONE]\n\n"], speech.count)
    return Answer(JSON, [dump(whole)], speech.count)


def _read(engine: StartedEngine, body: dict[str, Any], task: str) -> Answer:
    handler, switch = {
        _EMBED: (EMBED, "embeddings"),
        _RERANK: (RERANK, "reranking"),
    }[task]
    if not any(engine.settings.get(name) for name in (switch, switch.rstrip("s"))):
        raise _unsupported(switch)
    if not handler.takes(body):
        raise llama_refusal('"input" or "content" must be provided')
    return handler.answer(engine, body, engine.served_names[0])


def _unsupported(switch: str) -> RefusedError:
    return llama_refusal(
        f"This server does not support {switch}. Start it with `--{switch}`",
        status=501,
        kind="not_supported_error",
    )


def _room(engine: StartedEngine, prompt: str, limit: Untyped) -> int:
    count = limit if isinstance(limit, int) and limit > 0 else _PLENTY
    room, prompt_tokens = engine.context_length, token_count(prompt)
    if room is None:
        return count
    if prompt_tokens >= room:
        raise llama_refusal(
            f"request ({prompt_tokens} tokens) exceeds the available context size "
            f"({room} tokens), try increasing it",
            kind="exceed_context_size_error",
            n_prompt_tokens=prompt_tokens,
            n_ctx=room,
        )
    # What is too much is cut: the answer ends where the context does.
    return min(count, room - prompt_tokens)


def _build(engine: StartedEngine) -> str:
    return engine.release.engine_version or engine.release.version
