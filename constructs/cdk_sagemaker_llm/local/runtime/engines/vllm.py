"""
What vLLM does with a request to ``/invocations``, and with one that names a route.

Read in vLLM 0.13.0 and 0.30.0 (entrypoints, sagemaker) and in the middleware of AWS's
images (scripts/docker/vllm/sagemaker_serve.py of aws/deep-learning-containers).
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.local.runtime.answers import Answer
from cdk_sagemaker_llm.local.runtime.chat import prompt_of
from cdk_sagemaker_llm.local.runtime.engines.asked import JSON, Asked
from cdk_sagemaker_llm.local.runtime.engines.fields import (
    NO_PROMPT,
    chat_faults,
    is_chat,
    is_completion,
)
from cdk_sagemaker_llm.local.runtime.engines.generation import chat, completion
from cdk_sagemaker_llm.local.runtime.engines.limits import faulty, renders
from cdk_sagemaker_llm.local.runtime.engines.pooling import (
    CLASSIFY,
    EMBED,
    POOLING,
    RERANK,
    SCORE,
    Handler,
)
from cdk_sagemaker_llm.local.runtime.engines.refusals import nested, plain, raised
from cdk_sagemaker_llm.local.runtime.engines.shapes import dump
from cdk_sagemaker_llm.local.runtime.engines.started import StartedEngine
from cdk_sagemaker_llm.local.untyped import Untyped

# A slash, and what is neither blank nor comma.
_ROUTE = re.compile(r"route=(/[^\s,]+)")
_OF_SESSIONS = "requestType"
_INVOCATIONS, _PING = "/invocations", "/ping"
# Pull request 27892 of vLLM: adapters, and a `model` that does not count.
_STANDARDS_SINCE = "0.13.0"

CHAT = Handler(("ChatCompletionRequest",), is_chat, chat)
COMPLETION = Handler(("CompletionRequest",), is_completion, completion)
_WRITES = (CHAT, COMPLETION)
_READS = {
    "embed": (EMBED, RERANK, SCORE, POOLING),
    "classify": (CLASSIFY, POOLING),
    "rank": (CLASSIFY, RERANK, SCORE, POOLING),
}
_ROUTES = {
    "/v1/chat/completions": CHAT,
    "/v1/completions": COMPLETION,
    "/v1/embeddings": EMBED,
    "/classify": CLASSIFY,
    "/pooling": POOLING,
    "/rerank": RERANK,
    "/v1/rerank": RERANK,
    "/v2/rerank": RERANK,
    "/score": SCORE,
    "/v1/score": SCORE,
}
_GET_ONLY = frozenset({"/health", "/load", "/metrics", "/v1/models", "/version"})
_NOT_EMULATED = frozenset(
    {
        "/detokenize",
        "/v1/audio/generate",
        "/v1/audio/speech",
        "/v1/audio/transcriptions",
        "/v1/audio/translations",
        "/v1/images/generations",
        "/v1/messages",
        "/v1/responses",
        "/v1/videos",
        "/v1/videos/sync",
        "/v2/embed",
    }
)


def answer(engine: StartedEngine, asked: Asked) -> Answer:
    """
    Answer a request as vLLM does.

    Raises:
        RefusedError: If it refuses it.
    """
    path = route_of(engine, asked)
    if path == _PING:
        return Answer("", [])
    if path not in {None, _INVOCATIONS}:
        return _routed(engine, asked, str(path))
    request = read_request(asked)
    if not _has_standards(engine):
        _hold_name(engine, request)
        return _by_shape(engine, request, request.get("model"))
    if asked.session is not None or _OF_SESSIONS in request:
        raise nested("The embedded AWS does not emulate sessions.", status=501)
    # What the body calls the model does not count here: the adapter does.
    if not engine.takes_adapters:
        _hold_name(engine, {"model": asked.adapter})
    return _by_shape(engine, request, asked.adapter)


def route_of(engine: StartedEngine, asked: Asked) -> str | None:
    """
    Return the path that a request names, where the image looks for one.
    """
    found = _ROUTE.search(asked.attributes) if engine.release.routes else None
    return found[1] if found else None


def read_request(asked: Asked) -> dict[str, Any]:
    """
    Read a body.

    Raises:
        RefusedError: If it is no JSON object, or does not say that it is JSON.
    """
    if not asked.is_json:
        raise raised(
            "1 validation error:\n"
            "  Unsupported Media Type: Only 'application/json' is allowed"
        )
    try:
        request: Untyped = json.loads(asked.body)
        # Half of a pair of surrogates is no text, though Python reads it.
        dump(request)
    except (ValueError, RecursionError) as fault:
        raise raised(f"JSON decode error: {fault}") from fault
    if not isinstance(request, dict):
        raise nested("Input should be a valid dictionary")
    return request


def handlers_of(engine: StartedEngine) -> tuple[Handler, ...]:
    """
    Return what an engine's model can do; all of it where the model is not known.
    """
    if engine.kind == "generate":
        return _WRITES
    if engine.kind is None:
        return (*_WRITES, EMBED, CLASSIFY, RERANK, SCORE, POOLING)
    return _READS[engine.kind]


def _by_shape(
    engine: StartedEngine, request: dict[str, Any], model: str | None
) -> Answer:
    handlers = handlers_of(engine)
    if engine.kind is None and request.keys() & {"messages", "prompt"}:
        # A model that is not known writes, if it is asked to.
        handlers = _WRITES
    speaks = renders(engine)
    # vLLM's own checks of a chat come before those of types, whatever is asked.
    if CHAT in handlers and ("messages" in request or "prompt" in request) and speaks:
        for message, field in chat_faults(request):
            raise faulty(message, field, engine=engine)
    for handler in handlers:
        if handler.takes(request) and (speaks or not _is_faulty(handler, request)):
            return handler.answer(engine, request, model or engine.served_names[0])
    if COMPLETION in handlers and speaks:
        # It is not passed over in favour of the message that lists the types.
        raise faulty(*NO_PROMPT, engine=engine)
    names = [name for handler in handlers for name in handler.names]
    raise nested(f"Cannot find suitable handler for request. Expected one of: {names}")


def _is_faulty(handler: Handler, request: dict[str, Any]) -> bool:
    return handler is CHAT and any(True for _ in chat_faults(request))


def _routed(engine: StartedEngine, asked: Asked, path: str) -> Answer:
    if path in _GET_ONLY:
        raise plain(405)
    if path in _NOT_EMULATED:
        raise nested(f"The embedded AWS does not emulate {path} of vLLM.", status=501)
    handler = _ROUTES.get(path)
    if handler is None and path != "/tokenize":
        raise plain(404)
    if handler is not None and handler not in handlers_of(engine):
        if renders(engine):
            raise plain(404)
        raise nested(f"The model does not support {path}")
    request = read_request(asked)
    if handler is None:
        return _tokens(engine, request)
    if handler is CHAT:
        for message, field in chat_faults(request):
            raise faulty(message, field, engine=engine)
    if not handler.takes(request):
        raise _missing(engine, handler)
    _hold_name(engine, request)
    named = request.get("model") or engine.served_names[0]
    return handler.answer(engine, request, named)


def _missing(engine: StartedEngine, handler: Handler) -> Exception:
    if handler is COMPLETION:
        return faulty(*NO_PROMPT, engine=engine)
    field = {CHAT: "messages", EMBED: "input", RERANK: "query"}.get(handler, "input")
    where = f"'loc': ('body', '{field}')"
    return raised(f"1 validation error:\n  {{'type': 'missing', {where}}}")


def _tokens(engine: StartedEngine, request: dict[str, Any]) -> Answer:
    text = prompt_of(request) if "messages" in request else str(request.get("prompt"))
    words = text.split()
    whole = {
        "count": len(words),
        "max_model_len": engine.context_length,
        "tokens": [zlib.crc32(word.encode()) % 32_000 for word in words],
        "token_strs": words if request.get("return_token_strs") else None,
    }
    return Answer(JSON, [dump(whole)])


def _hold_name(engine: StartedEngine, request: dict[str, Any]) -> None:
    model = request.get("model")
    if model is None or model in engine.served_names or model in engine.adapters:
        return
    raise nested(f"The model `{model}` does not exist.", "model", status=404)


def _has_standards(engine: StartedEngine) -> bool:
    release = engine.release.engine_version
    return release is None or is_release_between(release, _STANDARDS_SINCE)
