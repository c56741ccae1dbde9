"""
What vLLM does with a request to ``/invocations``, with one that names a route, and with
an adapter.

Read in vLLM 0.13.0 and 0.30.0 (entrypoints, sagemaker) and in the middleware of AWS's
images (scripts/docker/vllm/sagemaker_serve.py of aws/deep-learning-containers);
adapters, which SageMaker loads by POST and DELETE ``/adapters``, in
model-hosting-container-standards 0.1.16 and in vLLM's
entrypoints/openai/models/serving.py and lora/peft_helper.py.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.answers import (
    EMBED,
    RERANK,
    Chat,
    Handler,
    Words,
    choice_count,
    stops_of,
    vllm_usage,
)
from cdk_sagemaker_llm.local.engines.bodies import (
    DONE,
    PLENTY,
    SSE,
    chat_faults,
    check_room,
    dump,
    event,
    faulty,
    is_chat,
    is_completion,
    nested,
    not_found,
    prompt_of,
    prompts_of,
    read_json,
    token_count,
)
from cdk_sagemaker_llm.local.engines.containers import (
    JSON,
    Answer,
    ContainerRequest,
    StartedEngine,
)
from cdk_sagemaker_llm.local.engines.story import Speech, Token, say

ADAPTER_CONFIG = "adapter_config.json"
_DEFAULT_RANK = 16
# A completion has so many if nothing is said; a chat fills the context.
_COMPLETION_TOKENS = 16
_MOST_CHOICES = 16_384  # VLLM_MAX_N_SEQUENCES.
_NEWEST = "999"
# A slash, and what is neither blank nor comma.
_ROUTE = re.compile(r"route=(/[^\s,]+)")
_OF_SESSIONS = "requestType"
_INVOCATIONS, _PING = "/invocations", "/ping"
# Pull request 27892 of vLLM: adapters, and a `model` that does not count.
_STANDARDS_SINCE = "0.13.0"
# Pull requests 27752 and 33402 of vLLM.
_REASONING_SINCE = "0.12.0"
_REASONING_CONTENT_UNTIL = "0.15.1"


def answer(engine: StartedEngine, incoming: ContainerRequest) -> Answer:
    """
    Answer a request as vLLM does.
    """
    named = _ROUTE.search(incoming.attributes) if engine.release.routes else None
    path = incoming.path or (named[1] if named else _INVOCATIONS)
    if path == _PING:
        return Answer("", [])
    if path != _INVOCATIONS:
        return _routed(engine, incoming, path)
    request = _read_request(incoming)
    release = engine.release.engine_version
    if release is not None and not is_release_between(release, _STANDARDS_SINCE):
        _check_name(engine, request.get("model"))
        return _by_shape(engine, request, request.get("model"))
    if incoming.session is not None or _OF_SESSIONS in request:
        raise nested("The embedded AWS does not emulate sessions.", status=501)
    # What the body calls the model does not count here: the adapter does.
    if not engine.takes_adapters:
        _check_name(engine, incoming.adapter)
    return _by_shape(engine, request, incoming.adapter)


def _read_request(incoming: ContainerRequest) -> dict[str, Any]:
    if not incoming.is_json:
        raise nested(
            "1 validation error:\n"
            "  Unsupported Media Type: Only 'application/json' is allowed",
            kind="Bad Request",
        )
    try:
        request = read_json(incoming.body)
    except ValueError as fault:
        raise nested(f"JSON decode error: {fault}", kind="Bad Request") from fault
    if not isinstance(request, dict):
        raise nested("Input should be a valid dictionary")
    return request


def _by_shape(
    engine: StartedEngine, request: dict[str, Any], model: str | None
) -> Answer:
    handlers = _handlers_of(engine)
    if engine.kind is None and request.keys() & {"messages", "prompt"}:
        # A model that is not known writes, if it is asked to.
        handlers = _WRITES
    # vLLM's own checks of a chat come before those of types, whatever is asked.
    if CHAT in handlers and request.keys() & {"messages", "prompt"}:
        for message, field in chat_faults(request):
            raise faulty(message, field)
    for handler in handlers:
        if handler.takes(request):
            return handler.answer(engine, request, model or engine.served_names[0])
    if COMPLETION in handlers:
        raise _no_prompt()
    names = [handler.name for handler in handlers]
    raise nested(f"Cannot find suitable handler for request. Expected one of: {names}")


def _handlers_of(engine: StartedEngine) -> tuple[Handler, ...]:
    """
    Return what an engine's model can do; all of it where the model is not known.
    """
    match engine.kind:
        case None:
            return (*_WRITES, EMBED, RERANK)
        case "generate":
            return _WRITES
        case "embed":
            return (EMBED, RERANK)
        case "rank":
            return (RERANK,)
    raise nested("The embedded AWS does not emulate models that classify.", status=501)


def _routed(engine: StartedEngine, incoming: ContainerRequest, path: str) -> Answer:
    handler = _ROUTES.get(path)
    if handler is None:
        raise nested(f"The embedded AWS does not emulate {path} of vLLM.", status=501)
    if handler not in _handlers_of(engine):
        raise not_found()
    request = _read_request(incoming)
    if handler is CHAT:
        for message, field in chat_faults(request):
            raise faulty(message, field)
    if handler is COMPLETION and not handler.takes(request):
        raise _no_prompt()
    if not handler.takes(request):
        field = {CHAT: "messages", RERANK: "query"}.get(handler, "input")
        where = f"'loc': ('body', '{field}')"
        message = f"1 validation error:\n  {{'type': 'missing', {where}}}"
        raise nested(message, kind="Bad Request")
    # Where attributes named the path, what names the adapter is not read.
    adapter = incoming.adapter if incoming.path else None
    model = adapter or request.get("model")
    if adapter is None or not engine.takes_adapters:
        _check_name(engine, model)
    return handler.answer(engine, request, model or engine.served_names[0])


def _no_prompt() -> Exception:
    message = "Either prompt or prompt_embeds must be provided and non-empty."
    return faulty(message, "prompt")


def _check_name(engine: StartedEngine, model: Untyped) -> None:
    # An empty name stands for the model (OpenAIServing._is_model_supported).
    if not model or model in engine.served_names or model in engine.adapters:
        return
    raise nested(f"The model `{model}` does not exist.", "model", status=404)


def chat(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    """
    Answer ``messages``.
    """
    try:
        prompt = prompt_of(body)
    except ValueError as fault:
        raise nested(str(fault)) from fault
    if body.get("tools") and "tool_choice" not in body:
        body = {**body, "tool_choice": "auto"}
    _check_tools(engine, body.get("tool_choice"))
    count = _allowed_tokens(engine, body, prompt, PLENTY)
    words = _VllmWords(model, engine.release.engine_version or _NEWEST)
    thinks = bool(engine.settings.get("reasoning_parser"))
    return Chat(words, body, prompt=prompt, count=count, thinks=thinks).answer()


def _check_tools(engine: StartedEngine, choice: Untyped) -> None:
    if choice is None or choice == "none":
        return
    has_parser = bool(engine.settings.get("tool_call_parser"))
    if choice != "auto" and not has_parser:
        name = choice["function"]["name"] if isinstance(choice, dict) else None
        wording = f'"{choice}"' if name is None else f'function "{name}"'
        raise nested(f"tool_choice={wording} requires --tool-call-parser to be set")
    if choice == "auto" and not (
        has_parser and engine.settings.get("enable_auto_tool_choice")
    ):
        raise nested(
            '"auto" tool choice requires --enable-auto-tool-choice and '
            "--tool-call-parser to be set"
        )


def _allowed_tokens(
    engine: StartedEngine, body: Mapping[str, Any], prompt: str, default: int
) -> int:
    """
    Return how many tokens an answer may have; the default where the request does not
    say, as far as there is room.
    """
    number = body.get("n")
    if number is not None and not 1 <= number <= _MOST_CHOICES:
        message = f"n must be 1 to {_MOST_CHOICES}, got {number}."
        raise faulty(message, "n", number)
    name = "max_completion_tokens"
    if body.get(name) is None:
        name = "max_tokens"
    limit, prompt_tokens = body.get(name), token_count(prompt)
    if limit is None:
        check_room(engine, prompt_tokens)
        room = engine.context_length
        limit = default if room is None else min(default, room - prompt_tokens)
    if limit < 1:
        message = f"max_tokens must be at least 1, got {limit}."
        raise faulty(message, "max_tokens", limit)
    check_room(engine, prompt_tokens, limit, name)
    return int(limit)


class _VllmWords(Words):
    call_prefix = "chatcmpl-tool-"

    def __init__(self, model: str, release: str) -> None:
        super().__init__(model)
        self._release = release

    def message(self, speech: Speech) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": speech.content,
            "refusal": None,
            "annotations": None,
            "audio": None,
            "function_call": None,
            **({"tool_calls": [speech.call.as_message()]} if speech.call else {}),
            **self._reasoning(speech.thought or None),
        }

    def ending(self, speech: Speech | None) -> dict[str, Any]:
        if speech is None:
            return {"finish_reason": None}
        return {"finish_reason": speech.reason, "stop_reason": speech.stop}

    def usage(self, prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
        return vllm_usage(prompt_tokens, answer_tokens)

    def whole(
        self, choices: list[dict[str, Any]], usage: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            **super().whole([{**one, "token_ids": None} for one in choices], usage),
            "service_tier": None,
            "system_fingerprint": None,
            "prompt_logprobs": None,
            "prompt_token_ids": None,
            "kv_transfer_params": None,
        }

    def thought(self, text: str) -> dict[str, Any]:
        return self._reasoning(text)

    def _reasoning(self, thought: str | None) -> dict[str, Any]:
        new = is_release_between(self._release, _REASONING_SINCE)
        old = is_release_between(self._release, "0", _REASONING_CONTENT_UNTIL)
        return {
            **({"reasoning": thought} if new else {}),
            **({"reasoning_content": thought} if old else {}),
        }


def completion(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    """
    Answer ``prompt``.
    """
    prompts = prompts_of(body) or [""]
    number, stops = choice_count(body), stops_of(body)
    speeches = [
        say(
            prompt,
            _allowed_tokens(engine, body, prompt, _COMPLETION_TOKENS),
            stops=stops,
        )
        for prompt in prompts
    ]
    answer_tokens = sum(speech.count for speech in speeches) * number
    usage = vllm_usage(sum(map(token_count, prompts)), answer_tokens)
    head = {
        "id": f"cmpl-{uuid.uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": model,
    }
    every = [
        (prompt if body.get("echo") else "", speech)
        for prompt, speech in zip(prompts, speeches, strict=True)
        for _ in range(number)
    ]
    if body.get("stream"):
        chunks = [{**head, "choices": [choice]} for choice in _streamed(every, body)]
        if (body.get("stream_options") or {}).get("include_usage"):
            chunks.append({**head, "choices": [], "usage": usage})
        return Answer(SSE, [*map(event, chunks), DONE], answer_tokens)
    choices = [
        {
            "index": index,
            "text": prompt + speech.text,
            "logprobs": _log_probs(speech.visible_tokens, body.get("logprobs")),
            "finish_reason": speech.reason,
            "stop_reason": speech.stop,
            "token_ids": None,
            "prompt_logprobs": None,
            "prompt_token_ids": None,
        }
        for index, (prompt, speech) in enumerate(every)
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


def _streamed(
    every: list[tuple[str, Speech]], body: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for index, (prompt, speech) in enumerate(every):
        open_choice = {"index": index, "finish_reason": None}
        if prompt:
            yield {**open_choice, "text": prompt, "logprobs": None}
        length = 0
        for token in speech.tokens:
            found = _log_probs((token,), body.get("logprobs"), length)
            yield {**open_choice, "text": token.text, "logprobs": found}
            length += len(token.text)
        end = {"finish_reason": speech.reason, "stop_reason": speech.stop}
        yield {"index": index, "text": "", "logprobs": None, **end}


def _log_probs(tokens: tuple[Token, ...], top: Untyped, length: int = 0) -> Untyped:
    if top is None:
        return None
    offsets = []
    for token in tokens:
        offsets.append(length)
        length += len(token.text)
    return {
        "text_offset": offsets,
        "token_logprobs": [token.log_prob for token in tokens],
        "tokens": [token.text for token in tokens],
        "top_logprobs": [{token.text: token.log_prob} for token in tokens],
    }


CHAT = Handler("ChatCompletionRequest", is_chat, chat)
COMPLETION = Handler("CompletionRequest", is_completion, completion)
_WRITES = (CHAT, COMPLETION)
_ROUTES = {
    "/v1/chat/completions": CHAT,
    "/v1/completions": COMPLETION,
    "/v1/embeddings": EMBED,
    "/rerank": RERANK,
    "/v1/rerank": RERANK,
    "/v2/rerank": RERANK,
}


def load_adapter(engine: StartedEngine, name: str, config: bytes | None) -> None:
    """
    Load an adapter by its name and its ``adapter_config.json``, if it has one.
    """
    if not engine.takes_adapters:
        # Nothing is at that path.
        raise not_found()
    if name in engine.adapters:
        raise nested(
            f"The lora adapter '{name}' has already been loaded. If you want to load "
            "the adapter in place, set 'load_inplace' to True.",
            kind="InvalidUserInput",
        )
    if config is None:
        # vLLM takes the path out of what it says.
        raise nested(
            f"Loading lora {name} failed: No adapter found for <path>", status=404
        )
    try:
        document: Untyped = json.loads(config)
    except (ValueError, RecursionError) as fault:
        raise nested(str(fault), status=500) from fault
    faults = " ".join(_adapter_faults(engine, document))
    if faults:
        raise nested(faults, status=500)


def _adapter_faults(engine: StartedEngine, config: Untyped) -> Iterator[str]:
    if not isinstance(config, dict):
        return
    if config.get("modules_to_save"):
        yield "vLLM only supports modules_to_save being None."
    if config.get("use_dora"):
        yield "vLLM does not yet support DoRA."
    rank, largest = config.get("r"), engine.settings.get("max_lora_rank")
    largest = _DEFAULT_RANK if largest is None else largest
    if isinstance(rank, int) and rank > int(largest):
        yield f"LoRA rank {rank} is greater than max_lora_rank {largest}."
    if config.get("bias", "none") != "none":
        yield "Adapter bias is not supported."
