"""
What llama.cpp does with a request: AWS's image takes chats, Hugging Face's has routes.

Read in AWS's nginx template (llama_cpp_sagemaker.conf.template) and, of Hugging Face's
patched server, in the facts of its build b9522.
"""

from __future__ import annotations

import re
import time
import uuid
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.answers import EMBED, RERANK, Chat, Words, stops_of
from cdk_sagemaker_llm.local.engines.bodies import (
    DONE,
    PLENTY,
    SSE,
    RefusedError,
    dump,
    event,
    is_chat,
    prompt_of,
    read_json,
    token_count,
)
from cdk_sagemaker_llm.local.engines.containers import (
    JSON,
    Answer,
    ContainerRequest,
    StartedEngine,
)
from cdk_sagemaker_llm.local.engines.story import Speech, say

# Here blanks, commas and semicolons end a route.
_ROUTE = re.compile(r"route=([^\s,;]*)")
_BY_KEY = {
    "messages": "/v1/chat/completions",
    "prompt": "/v1/completions",
    "input": "/v1/embeddings",
}


def answer(engine: StartedEngine, request: ContainerRequest) -> Answer:
    """
    Answer a request as llama.cpp does.
    """
    try:
        body = read_json(request.body)
    except ValueError as fault:
        raise _refusal(f"[json.exception.parse_error.101] {fault}") from fault
    if not isinstance(body, dict):
        raise _refusal("Request body must be a JSON object")
    route = request.path or _BY_KEY["messages"]
    if engine.release.routes and request.path is None:
        found = _ROUTE.search(request.attributes)
        keys = (_BY_KEY[key] for key in _BY_KEY if key in body)
        route = found[1] if found else next(keys, route)
    match route:
        case "/v1/chat/completions" | "/chat/completions":
            return _chat(engine, body)
        case "/v1/completions" | "/completions" | "/completion":
            return _completion(engine, body)
        case "/v1/embeddings" | "/embeddings" | "/embedding":
            handler, switch = EMBED, "embeddings"
        case "/v1/rerank" | "/v1/reranking" | "/rerank" | "/reranking":
            handler, switch = RERANK, "reranking"
        case _:
            raise _unsupported(
                f"The embedded AWS does not emulate {route} of llama.cpp."
            )
    if not any(engine.settings.get(name) for name in (switch, switch.rstrip("s"))):
        raise _unsupported(
            f"This server does not support {switch}. Start it with `--{switch}`"
        )
    if not handler.takes(body):
        raise _refusal('"input" or "content" must be provided')
    return handler.answer(engine, body, engine.served_names[0])


def _refusal(
    message: str, *, status: int = 400, kind: str = "invalid_request_error", **more: int
) -> RefusedError:
    error = {"code": status, "message": message, "type": kind, **more}
    return RefusedError.of(status, {"error": error})


def _unsupported(message: str) -> RefusedError:
    return _refusal(message, status=501, kind="not_supported_error")


def _chat(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    if "messages" not in body:
        raise _refusal("'messages' is required")
    try:
        prompt = prompt_of(body)
    except ValueError as fault:
        raise _refusal(str(fault)) from fault
    if not is_chat(body):
        raise _refusal("a field has a value of another type")
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    count = _room(engine, prompt, limit)
    words = _LlamaCppWords(str(body.get("model") or engine.served_names[0]), engine)
    # Its templates tell thoughts apart if nothing else is said; whether there are any
    # is the model's.
    thinks = engine.settings.get("reasoning_format", "none") != "none"
    return Chat(words, body, prompt=prompt, count=count, thinks=thinks).answer()


def _completion(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    prompt = body.get("prompt")
    if not isinstance(prompt, str):
        raise _refusal('"prompt" must be a string, an array of token ids or both')
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
        return Answer(SSE, [event(whole), DONE], speech.count)
    return Answer(JSON, [dump(whole)], speech.count)


def _room(engine: StartedEngine, prompt: str, limit: Untyped) -> int:
    count = limit if isinstance(limit, int) and limit > 0 else PLENTY
    room, prompt_tokens = engine.context_length, token_count(prompt)
    if room is None:
        return count
    if prompt_tokens >= room:
        raise _refusal(
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


class _LlamaCppWords(Words):
    call_prefix = ""
    first_content = None

    def __init__(self, model: str, engine: StartedEngine) -> None:
        super().__init__(model)
        self._build = _build(engine)

    def head(self, kind: str) -> dict[str, Any]:
        return {**super().head(kind), "system_fingerprint": self._build}

    def message(self, speech: Speech) -> dict[str, Any]:
        thought = {"reasoning_content": speech.thought} if speech.thought else {}
        calls = {"tool_calls": [speech.call.as_message()]} if speech.call else {}
        text = "" if speech.call else speech.text
        return {"role": "assistant", "content": text, **thought, **calls}

    def ending(self, speech: Speech | None) -> dict[str, Any]:
        return {"finish_reason": speech.reason if speech else None}
