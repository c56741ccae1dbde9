"""
The wire formats of LMI, byte for byte as each generation of it writes them, and of the
Hugging Face LLM container (TGI): generated texts, and chats.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import DONE, PLENTY, SSE, dump
from cdk_sagemaker_llm.local.engines.containers import (
    JSON,
    ServingContainer,
    Version,
)
from cdk_sagemaker_llm.local.engines.story import Generation, Token

_JSON_LINES = "application/jsonlines"
_FORMATTED_CONTENT = {"json": JSON, "jsonlines": _JSON_LINES, "sse": SSE}
_LMI_CHATS_SINCE = (0, 27)
# TGI reads chats under /invocations if it is told to, and later by the body's shape.
_TGI_BY_VARIABLE_SINCE = (1, 4, 0)
_TGI_BY_SHAPE_SINCE = (2, 4, 0)
_INDEX_SINCE = (1, 4, 0)
_INPUT_LENGTH_SINCE = (2, 3, 1)


def text_answer(
    container: ServingContainer, generation: Generation, *, details: bool, stream: bool
) -> tuple[str, list[bytes]]:
    """
    Return the content type and the pieces of the body, as they are written.
    """
    if container.server == "tgi":
        if stream:
            return SSE, _tgi_events(container, generation)
        return JSON, [_tgi_body(generation, details=details)]
    if container.is_async:
        if stream:
            return _JSON_LINES, _async_stream(generation, details=details)
        return JSON, [_async_body(generation, details=details)]
    tgi = container.options.get("tgi_compat", "").lower() == "true"
    formatter = container.options.get("output_formatter", "")
    if formatter not in _FORMATTED_CONTENT:
        # 0.26 does not look at the request's `stream`: only the option decides there.
        formatter = "sse" if tgi else "jsonlines"
        if not stream or container.version < (0, 27):
            formatter = "json"
    writer = RollingBatch(container.version, tgi=tgi)
    pieces = writer.write(formatter, generation, details=details or tgi)
    return _FORMATTED_CONTENT[formatter], pieces


class RollingBatch:
    """
    The formatters of LMI's rolling batch, up to 0.34 and by choice later, with
    ``option.tgi_compat`` or without.
    """

    def __init__(self, version: Version, *, tgi: bool = False) -> None:
        self._version = version
        self._tgi = tgi

    def write(
        self, formatter: str, generation: Generation, *, details: bool
    ) -> list[bytes]:
        """
        Return the pieces of a body, one for each token.
        """
        if formatter == "json":
            return self._json(generation, details=details)
        lines: list[dict[str, Any]] = [
            {"token": self._token(token)} for token in generation.all_tokens
        ]
        lines[-1]["generated_text"] = generation.text
        if details:
            lines[-1]["details"] = self._details(generation)
        before, after = ("data: ", "\n\n") if formatter == "sse" else ("", "\n")
        return [f"{before}{_spaced(line)}{after}".encode() for line in lines]

    def _json(self, generation: Generation, *, details: bool) -> list[bytes]:
        opening, closing = ("[", "]") if self._tgi else ("", "")
        prompt = generation.prompt if generation.full_text else ""
        *before, last = generation.all_tokens
        pieces = [_escaped(token.text) for token in before]
        end = _escaped(last.text) + '"'
        if details:
            tokens = [self._token(token) for token in generation.all_tokens]
            contents = {**self._details(generation), "tokens": tokens}
            end += f', "details": {_spaced(contents)}'
        pieces.append(end + "}" + closing)
        pieces[0] = f'{opening}{{"generated_text": "{_escaped(prompt)}{pieces[0]}'
        return [piece.encode() for piece in pieces]

    def _token(self, token: Token) -> dict[str, Any]:
        log_prob = "logprob" if self._tgi else "log_prob"
        # 0.27 alone writes the id as a list; up to 0.27 whatever is falsy is left out.
        token_id = [token.id] if self._version[:2] == (0, 27) else token.id
        fields = {"id": token_id, "text": token.text, log_prob: token.log_prob}
        if self._version >= (0, 28):
            return fields
        return {key: value for key, value in fields.items() if value}

    def _details(self, generation: Generation) -> dict[str, Any]:
        reason = "eos_token" if generation.end else "length"
        if self._version < (0, 27):
            return {"finish_reason": reason}
        return {
            "finish_reason": reason,
            "generated_tokens": len(generation.all_tokens),
            "inputs": generation.prompt,
        }


def _async_body(generation: Generation, *, details: bool) -> bytes:
    body: dict[str, Any] = {"generated_text": generation.text}
    if details:
        body["details"] = {
            # The stop string that was hit, not the reason: null for both others.
            "finish_reason": None,
            "generated_tokens": len(generation.tokens),
            "seed": None,
            "prefill": [],
            "tokens": [_async_token(token) for token in generation.tokens],
        }
    return f"{_spaced(body)}\n".encode()


def _async_stream(generation: Generation, *, details: bool) -> list[bytes]:
    lines: list[dict[str, Any]] = [
        {
            "index": 0,
            "token": _async_token(token),
            "generated_text": None,
            "details": None,
        }
        for token in generation.tokens or generation.all_tokens
    ]
    lines[-1]["generated_text"] = generation.text
    if details:
        lines[-1]["details"] = {
            "finish_reason": "stop" if generation.end else "length",
            "seed": None,
            # The recorded bodies count one more than the tokens they show.
            "generated_tokens": len(lines) + 1,
            "input_length": max(1, len(generation.prompt.split())),
        }
    pieces = [f"{_spaced(line)}\n".encode() for line in lines]
    return [*pieces, b"\n", b"\n"]


def _async_token(token: Token) -> dict[str, Any]:
    return {"id": token.id, "text": token.text, "logprob": token.log_prob}


def _escaped(text: str) -> str:
    return _spaced(text)[1:-1]


def _spaced(value: Untyped) -> str:
    # As Python writes JSON.
    return json.dumps(value, ensure_ascii=False)


def _tgi_body(generation: Generation, *, details: bool) -> bytes:
    body: dict[str, Any] = {"generated_text": generation.text}
    if details:
        body["details"] = {
            **_tgi_finish(generation),
            "prefill": [],
            "tokens": [
                _tgi_token(token, generation) for token in generation.all_tokens
            ],
        }
    # What is not streamed is an array, on ``/invocations`` alone.
    return dump([body])


def _tgi_events(container: ServingContainer, generation: Generation) -> list[bytes]:
    events: list[dict[str, Any]] = [
        {
            **({"index": index} if container.version >= _INDEX_SINCE else {}),
            "token": _tgi_token(token, generation),
            "generated_text": None,
            "details": None,
        }
        for index, token in enumerate(generation.all_tokens, start=1)
    ]
    length = {"input_length": max(1, len(generation.prompt.split()))}
    events[-1]["generated_text"] = generation.text
    events[-1]["details"] = {
        **_tgi_finish(generation),
        **(length if container.version >= _INPUT_LENGTH_SINCE else {}),
    }
    return [b"data:" + dump(event) + b"\n\n" for event in events]


def _tgi_finish(generation: Generation) -> dict[str, Any]:
    return {
        "finish_reason": "eos_token" if generation.end else "length",
        "generated_tokens": len(generation.all_tokens),
        "seed": None,
    }


def _tgi_token(token: Token, generation: Generation) -> dict[str, Any]:
    special = token is generation.end
    return {
        "id": token.id,
        "text": "</s>" if special else token.text,
        "logprob": token.log_prob,
        "special": special,
    }


def takes_chat(container: ServingContainer, request: dict[str, Any]) -> bool:
    """
    Tell whether a container takes a request for a chat.
    """
    if container.server == "lmi":
        return container.version >= _LMI_CHATS_SINCE and "messages" in request
    if container.version >= _TGI_BY_SHAPE_SINCE:
        return "inputs" not in request
    return container.messages_api and container.version >= _TGI_BY_VARIABLE_SINCE


def has_chat_path(container: ServingContainer) -> bool:
    """
    Tell whether a container has a path of its own for chats.
    """
    first = _LMI_CHATS_SINCE if container.server == "lmi" else _TGI_BY_VARIABLE_SINCE
    return container.version >= first


def chat_tokens(container: ServingContainer) -> int:
    """
    Return how many tokens a chat has when the request names no number.
    """
    return PLENTY if container.is_async else container.default_new_tokens


def chat_answer(
    container: ServingContainer, generation: Generation, request: dict[str, Any]
) -> tuple[str, list[bytes]]:
    """
    Return the content type and the pieces of a chat's answer, as they are written.
    """
    chat = _Chat(container, generation, request)
    is_tgi = container.server == "tgi"
    if not request.get("stream"):
        whole = chat.completion()
        return JSON, [dump(whole) if is_tgi else _spaced(whole).encode()]
    if is_tgi:
        events = [b"data:" + dump(chunk) + b"\n\n" for chunk in chat.chunks()]
        return SSE, [*events, DONE]
    return _JSON_LINES, [f"{_spaced(chunk)}\n".encode() for chunk in chat.chunks()]


class _Chat:
    def __init__(
        self,
        container: ServingContainer,
        generation: Generation,
        request: dict[str, Any],
    ) -> None:
        self._container = container
        self._generation = generation
        self._request = request
        self._is_vllm = container.is_async
        self._is_tgi = container.server == "tgi"
        self._created = int(time.time())
        self._id = "" if self._is_tgi else f"chatcmpl-{uuid.uuid4().hex}"

    def completion(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": self._generation.text}
        return {
            **self._head("chat.completion"),
            "choices": [self._choice("message", message, self._reason)],
            "usage": self._usage,
        }

    def chunks(self) -> Iterator[dict[str, Any]]:
        if self._is_vllm:
            yield self._chunk({"role": "assistant", "content": ""}, None)
        tokens = self._generation.all_tokens
        for index, token in enumerate(tokens):
            has_role = self._is_tgi or (index == 0 and not self._is_vllm)
            role = {"role": "assistant"} if has_role else {}
            ends = index == len(tokens) - 1
            delta = {**role, "content": token.text}
            yield self._chunk(delta, self._reason if ends else None)
        options = self._request.get("stream_options") or {}
        if options.get("include_usage") and (self._is_tgi or self._is_vllm):
            yield {**self._chunk({}, None), "choices": [], "usage": self._usage}

    @property
    def _usage(self) -> dict[str, int]:
        prompt = max(1, len(self._generation.prompt.split()))
        completion = len(self._generation.all_tokens)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }

    @property
    def _reason(self) -> str:
        if not self._generation.end:
            return "length"
        by_shape = self._is_tgi and self._container.version >= _TGI_BY_SHAPE_SINCE
        return "stop" if self._is_vllm or by_shape else "eos_token"

    def _chunk(self, delta: dict[str, str], reason: str | None) -> dict[str, Any]:
        return {
            **self._head("chat.completion.chunk"),
            "choices": [self._choice("delta", delta, reason)],
        }

    def _head(self, kind: str) -> dict[str, Any]:
        head: dict[str, Any] = {
            "id": self._id,
            "object": kind,
            "created": self._created,
        }
        if self._is_vllm:
            # An adapter's own name replaces what the request says (VLLMHandler).
            model = self._request.get("model", "lmi")
            head["model"] = self._container.adapter or model
        if self._is_tgi:
            version = ".".join(map(str, self._container.version))
            head["model"] = self._container.model
            head["system_fingerprint"] = f"{version}-native"
        return head

    def _choice(self, part: str, what: Untyped, reason: str | None) -> dict[str, Any]:
        choice = {"index": 0, part: what, "logprobs": None, "finish_reason": reason}
        return {**choice, "stop_reason": None} if self._is_vllm else choice
