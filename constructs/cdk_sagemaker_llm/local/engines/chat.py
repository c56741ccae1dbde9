"""
Chat completions (``messages``), as each container that knows them writes them.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.containers import ServingContainer
from cdk_sagemaker_llm.local.engines.story import Generation

_LMI_SINCE = (0, 27)
# TGI reads them under /invocations if it is told to, and later by the body's shape.
_TGI_BY_VARIABLE_SINCE = (1, 4, 0)
_TGI_BY_SHAPE_SINCE = (2, 4, 0)
_PLENTY = 100_000  # Where the container's own default is to fill the context.


def is_chat(container: ServingContainer, request: dict[str, Any]) -> bool:
    """
    Tell whether a container takes a request for a chat.
    """
    if container.server == "lmi":
        return container.version >= _LMI_SINCE and "messages" in request
    if container.version >= _TGI_BY_SHAPE_SINCE:
        return "inputs" not in request
    return container.messages_api and container.version >= _TGI_BY_VARIABLE_SINCE


def prompt_of(request: dict[str, Any]) -> str:
    """
    Write the messages as one prompt.

    Raises:
        ValueError: If they are not messages.
    """
    messages = request.get("messages")
    if messages is None:
        raise ValueError("missing field `messages`")
    if not isinstance(messages, list) or not messages:
        raise ValueError("`messages` must be a list that is not empty")
    return "\n".join(_text(message) for message in messages)


def default_tokens(container: ServingContainer) -> int:
    """
    Return how many tokens come when the request names no number.
    """
    return _PLENTY if container.is_async else container.default_new_tokens


def answer(
    container: ServingContainer, generation: Generation, request: dict[str, Any]
) -> tuple[str, list[bytes]]:
    """
    Return the content type and the pieces of the body, as they are written.
    """
    chat = _Chat(container, generation, request)
    if not request.get("stream"):
        return "application/json", [chat.dump(chat.completion())]
    if container.server == "lmi":
        lines = [chat.dump(chunk) + b"\n" for chunk in chat.chunks()]
        return "application/jsonlines", lines
    events = [b"data:" + chat.dump(chunk) + b"\n\n" for chunk in chat.chunks()]
    return "text/event-stream", [*events, b"data: [DONE]\n\n"]


class _Chat:
    """
    One completion in a container's form.
    """

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
        """
        Return the whole answer.
        """
        message = {"role": "assistant", "content": self._generation.text}
        return {
            **self._head("chat.completion"),
            "choices": [self._choice("message", message, self._reason)],
            "usage": self._usage,
        }

    def chunks(self) -> Iterator[dict[str, Any]]:
        """
        Walk through the parts of a stream.
        """
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

    def dump(self, body: dict[str, Any]) -> bytes:
        """
        Write JSON, which is compact where it is not Python's.
        """
        separators = (",", ":") if self._is_tgi else None
        return json.dumps(body, ensure_ascii=False, separators=separators).encode()

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


def _text(message: Untyped) -> str:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise ValueError("missing field `role`")  # noqa: TRY004 - the container's word
    content = message.get("content")
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "".join(str(part.get("text", "")) for part in content)
    raise ValueError("`content` must be a text or a list of parts")
