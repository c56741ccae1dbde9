"""
What vLLM does with a request to ``/invocations``, and with one that names a route.

Read in vLLM 0.13.0 and 0.30.0 (entrypoints, sagemaker) and in the middleware of AWS's
images (scripts/docker/vllm/sagemaker_serve.py of aws/deep-learning-containers).
"""

from __future__ import annotations

import json
import re
import time
import uuid
import zlib
from collections.abc import Iterator
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import (
    DONE,
    NO_PROMPT,
    SSE,
    RefusedError,
    chat_faults,
    dump,
    event,
    is_chat,
    is_completion,
    nested,
    plain,
    prompts_of,
    raised,
    token_count,
)
from cdk_sagemaker_llm.local.engines.chat import prompt_of
from cdk_sagemaker_llm.local.engines.containers import JSON, Answer, ContainerRequest
from cdk_sagemaker_llm.local.engines.engine import StartedEngine
from cdk_sagemaker_llm.local.engines.engine_chats import (
    Chat,
    VllmWords,
    choice_count,
    stops_of,
    vllm_usage,
)
from cdk_sagemaker_llm.local.engines.pooling import (
    CLASSIFY,
    EMBED,
    POOLING,
    RERANK,
    SCORE,
    Handler,
)
from cdk_sagemaker_llm.local.engines.story import Speech, Token, say
from cdk_sagemaker_llm.local.engines.vllm_refusals import (
    allowed_tokens,
    faulty,
    renders,
)

# A completion has so many if nothing is said; a chat fills the context.
_COMPLETION_TOKENS = 16
_PLENTY = 100_000
_MOST_CHOICES = 16_384  # VLLM_MAX_N_SEQUENCES.
_NEWEST = "999"
_AUTO = "enable_auto_tool_choice"
# A slash, and what is neither blank nor comma.
_ROUTE = re.compile(r"route=(/[^\s,]+)")
_OF_SESSIONS = "requestType"
_INVOCATIONS, _PING = "/invocations", "/ping"
# Pull request 27892 of vLLM: adapters, and a `model` that does not count.
_STANDARDS_SINCE = "0.13.0"
_READS = {
    "embed": (EMBED, RERANK, SCORE, POOLING),
    "classify": (CLASSIFY, POOLING),
    "rank": (CLASSIFY, RERANK, SCORE, POOLING),
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
    speeches = [_continued(engine, body, prompt) for prompt in prompts]
    number = choice_count(body)
    answer_tokens = sum(one.count for one in speeches) * number
    usage = vllm_usage(sum(map(token_count, prompts)), answer_tokens)
    head = {
        "id": f"cmpl-{uuid.uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": model,
    }
    every = [
        (prompt if body.get("echo") else "", one)
        for prompt, one in zip(prompts, speeches, strict=True)
        for _ in range(number)
    ]
    if body.get("stream"):
        chunks = _chunks(head, every)
        options = body.get("stream_options") or {}
        last = [{**head, "choices": [], "usage": usage}]
        usage_chunks = last if options.get("include_usage") else []
        return Answer(SSE, [*map(event, [*chunks, *usage_chunks]), DONE], answer_tokens)
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
    return Answer(JSON, [dump(whole)], answer_tokens)


def _continued(engine: StartedEngine, body: dict[str, Any], prompt: str) -> Speech:
    count = allowed_tokens(engine, body, prompt, _COMPLETION_TOKENS)
    return say(prompt, count, stops=stops_of(body))


def _choice(
    index: int, prompt: str, speech: Speech, body: dict[str, Any]
) -> dict[str, Any]:
    return {
        "index": index,
        "text": prompt + speech.text,
        "logprobs": _log_probs(speech.visible_tokens, body.get("logprobs")),
        "finish_reason": speech.reason,
        "stop_reason": speech.stop,
        "token_ids": None,
        "prompt_logprobs": None,
        "prompt_token_ids": None,
    }


def _chunks(
    head: dict[str, Any], every: list[tuple[str, Speech]]
) -> Iterator[dict[str, Any]]:
    def chunk(index: int, text: str, **ending: str | None) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": index, "text": text, "logprobs": None}
        return {**head, "choices": [{**choice, "finish_reason": None, **ending}]}

    for index, (prompt, speech) in enumerate(every):
        if prompt:
            yield chunk(index, prompt)
        for token in speech.tokens:
            yield chunk(index, token.text)
        yield chunk(index, "", finish_reason=speech.reason, stop_reason=speech.stop)


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


def _no_parser(choice: Untyped) -> RefusedError:
    name = choice["function"]["name"] if isinstance(choice, dict) else None
    wording = f'"{choice}"' if name is None else f'function "{name}"'
    return nested(f"tool_choice={wording} requires --tool-call-parser to be set")


CHAT = Handler(("ChatCompletionRequest",), is_chat, chat)
COMPLETION = Handler(("CompletionRequest",), is_completion, completion)
_WRITES = (CHAT, COMPLETION)
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


def answer(engine: StartedEngine, incoming: ContainerRequest) -> Answer:
    """
    Answer a request as vLLM does.

    Raises:
        RefusedError: If it refuses it.
    """
    path = route_of(engine, incoming)
    if path == _PING:
        return Answer("", [])
    if path not in {None, _INVOCATIONS}:
        return _routed(engine, incoming, str(path))
    request = read_request(incoming)
    if not _has_standards(engine):
        _hold_name(engine, request)
        return _by_shape(engine, request, request.get("model"))
    if incoming.session is not None or _OF_SESSIONS in request:
        raise nested("The embedded AWS does not emulate sessions.", status=501)
    # What the body calls the model does not count here: the adapter does.
    if not engine.takes_adapters:
        _hold_name(engine, {"model": incoming.adapter})
    return _by_shape(engine, request, incoming.adapter)


def route_of(engine: StartedEngine, request: ContainerRequest) -> str | None:
    """
    Return the path that a request names, where the image looks for one.
    """
    found = _ROUTE.search(request.attributes) if engine.release.routes else None
    return found[1] if found else None


def read_request(incoming: ContainerRequest) -> dict[str, Any]:
    """
    Read a body.

    Raises:
        RefusedError: If it is no JSON object, or does not say that it is JSON.
    """
    if not incoming.is_json:
        raise raised(
            "1 validation error:\n"
            "  Unsupported Media Type: Only 'application/json' is allowed"
        )
    try:
        request: Untyped = json.loads(incoming.body)
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


def _routed(engine: StartedEngine, incoming: ContainerRequest, path: str) -> Answer:
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
    request = read_request(incoming)
    if handler is None:
        return _tokens(engine, request)
    if handler is CHAT:
        for message, field in chat_faults(request):
            raise faulty(message, field, engine=engine)
    if not handler.takes(request):
        raise _missing(engine, handler)
    _hold_name(engine, request)
    model = request.get("model") or engine.served_names[0]
    return handler.answer(engine, request, model)


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
