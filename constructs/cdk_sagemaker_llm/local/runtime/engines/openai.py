"""
What vLLM, SGLang and llama.cpp answer to chats, completions, embeddings and rankings.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

from cdk_sagemaker_llm.local.runtime.chat import prompt_of
from cdk_sagemaker_llm.local.runtime.engines.refusals import refused, too_long
from cdk_sagemaker_llm.local.runtime.engines.shapes import (
    DONE,
    SSE,
    dump,
    event,
    log_probs,
    relevance,
    token_count,
    usage,
    vector,
)
from cdk_sagemaker_llm.local.runtime.engines.started import StartedEngine
from cdk_sagemaker_llm.local.runtime.story import Generation, Token, continue_prompt
from cdk_sagemaker_llm.local.untyped import Untyped

JSON = "application/json"
# vLLM's default of a completion; a chat fills the context.
_COMPLETION_TOKENS = 16
_PLENTY = 100_000

Pieces = tuple[str, list[bytes], int]
"""A content type, the pieces of a body, and how many tokens were written."""


class OpenAiRequest:
    """
    One request, with the engine that answers it.

    Args:
        engine: The engine.

        body: The request.

        model: What the answer calls the model.
    """

    def __init__(
        self, engine: StartedEngine, body: dict[str, Any], model: str | None
    ) -> None:
        self._engine = engine
        self._body = body
        self._model = model or engine.served_names[0]
        self._created = int(time.time())
        self._is_vllm = engine.release.engine.startswith("vllm")

    def chat(self) -> Pieces:
        """
        Answer ``messages``.
        """
        try:
            prompt = prompt_of(self._body)
        except ValueError as fault:
            raise refused(self._engine, str(fault)) from fault
        generation = self._generation(prompt, _PLENTY)
        writer = _Chat(self._head("chatcmpl"), generation, self._body, prompt)
        written = len(generation.tokens)
        if self._body.get("stream"):
            return (
                SSE,
                [*map(event, writer.chunks(is_vllm=self._is_vllm)), DONE],
                written,
            )
        return JSON, [dump(writer.whole(is_vllm=self._is_vllm))], written

    def completion(self) -> Pieces:
        """
        Answer ``prompt``.
        """
        prompt = self._body["prompt"]
        if not isinstance(prompt, str):
            raise refused(self._engine, "prompt must be a text here")
        generation = self._generation(prompt, _COMPLETION_TOKENS)
        written = len(generation.tokens)
        head = {**self._head("cmpl"), "object": "text_completion"}
        if self._body.get("stream"):
            events = list(_completion_chunks(head, generation))
            return SSE, [*map(event, events), DONE], written
        choice = {
            **_ended(generation),
            "text": generation.text,
            "logprobs": self._completion_log_probs(generation.all_tokens),
        }
        counted = usage(prompt, generation)
        return JSON, [dump({**head, "choices": [choice], "usage": counted})], written

    def embeddings(self) -> Pieces:
        """
        Answer ``input``.
        """
        given = self._body["input"]
        texts = [given] if isinstance(given, str) else given
        if not texts or not all(isinstance(text, str) for text in texts):
            raise refused(self._engine, "input must be a text, or texts, here")
        self._hold_length(max(texts, key=token_count), 0)
        dimensions = self._body.get("dimensions")
        data = [
            {"index": i, "object": "embedding", "embedding": vector(text, dimensions)}
            for i, text in enumerate(texts)
        ]
        told = sum(map(token_count, texts))
        counted = {
            "prompt_tokens": told,
            "total_tokens": told,
            "completion_tokens": 0,
            "prompt_tokens_details": None,
        }
        head = {**self._head("embd"), "object": "list"}
        return JSON, [dump({**head, "data": data, "usage": counted})], 0

    def rerank(self) -> Pieces:
        """
        Answer ``query`` and ``documents``, the most relevant first.
        """
        query, documents = self._body["query"], self._body["documents"]
        if not isinstance(query, str) or not all(isinstance(d, str) for d in documents):
            raise refused(self._engine, "query and documents must be texts here")
        results = [
            {
                "index": index,
                "document": {"text": text, "multi_modal": None},
                "relevance_score": relevance(query, text),
            }
            for index, text in enumerate(documents)
        ]
        results.sort(key=lambda one: -float(str(one["relevance_score"])))
        top = self._body.get("top_n") or len(results)
        told = sum(map(token_count, [query, *documents]))
        body = {
            "id": f"rerank-{uuid.uuid4().hex}",
            "model": self._model,
            "usage": {"prompt_tokens": told, "total_tokens": told},
            "results": results[:top],
        }
        return JSON, [dump(body)], 0

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"{kind}-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": self._created,
            "model": self._model,
        }

    def _generation(self, prompt: str, default: int) -> Generation:
        asked = self._body.get("max_completion_tokens", self._body.get("max_tokens"))
        if asked is None:
            self._hold_length(prompt, 1)
            room = self._engine.context_length
            left = room - token_count(prompt) if room else default
            return continue_prompt(prompt, min(default, left))
        if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:
            raise refused(
                self._engine,
                f"max_tokens must be at least 1, got {asked}.",
                "max_tokens",
            )
        self._hold_length(prompt, asked)
        return continue_prompt(prompt, asked)

    def _hold_length(self, prompt: str, asked: int) -> None:
        room, told = self._engine.context_length, token_count(prompt)
        if room is not None and told + asked > room:
            raise too_long(self._engine, room, told, asked)

    def _completion_log_probs(self, tokens: tuple[Token, ...]) -> Untyped:
        if self._body.get("logprobs") is None:
            return None
        return {
            "text_offset": [],
            "token_logprobs": [token.log_prob for token in tokens],
            "tokens": [token.text for token in tokens],
            "top_logprobs": [None] * len(tokens),
        }


class _Chat:
    """
    One chat completion.
    """

    def __init__(
        self,
        head: dict[str, Any],
        generation: Generation,
        body: dict[str, Any],
        prompt: str,
    ) -> None:
        self._head = head
        self._generation = generation
        self._usage = usage(prompt, generation)
        self._has_log_probs = bool(body.get("logprobs"))
        options = body.get("stream_options") or {}
        self._has_usage = bool(options.get("include_usage"))

    def whole(self, *, is_vllm: bool) -> dict[str, Any]:
        """
        Return the answer at once.
        """
        message = {"role": "assistant", "content": self._generation.text}
        more = {"refusal": None, "reasoning": None} if is_vllm else {}
        choice = {
            **_ended(self._generation, is_vllm=is_vllm),
            "message": {**message, **more},
            "logprobs": self._log_probs(self._generation.all_tokens),
        }
        return {**self._head, "choices": [choice], "usage": self._usage}

    def chunks(self, *, is_vllm: bool) -> Iterator[dict[str, Any]]:
        """
        Walk through the parts of a stream.
        """
        head = {**self._head, "object": "chat.completion.chunk"}

        def chunk(delta: dict[str, Any], tokens: tuple[Token, ...]) -> dict[str, Any]:
            choice: dict[str, Any] = {
                "index": 0,
                "delta": delta,
                "logprobs": self._log_probs(tokens) if tokens else None,
                "finish_reason": None,
            }
            return {**head, "choices": [choice]}

        yield chunk({"role": "assistant", "content": ""}, ())
        for token in self._generation.tokens:
            yield chunk({"content": token.text}, (token,))
        last = chunk({"content": ""} if is_vllm else {}, ())
        last["choices"][0].update(_ended(self._generation, is_vllm=is_vllm))
        yield last
        if self._has_usage:
            yield {**head, "choices": [], "usage": self._usage}

    def _log_probs(self, tokens: tuple[Token, ...]) -> Untyped:
        return log_probs(tokens) if self._has_log_probs else None


def _ended(generation: Generation, *, is_vllm: bool = True) -> dict[str, Any]:
    reason = "stop" if generation.end else "length"
    ended: dict[str, Any] = {"index": 0, "finish_reason": reason}
    return {**ended, "stop_reason": None} if is_vllm else ended


def _completion_chunks(
    head: dict[str, Any], generation: Generation
) -> Iterator[dict[str, Any]]:
    def chunk(text: str) -> dict[str, Any]:
        choice: dict[str, Any] = {
            "index": 0,
            "text": text,
            "logprobs": None,
            "finish_reason": None,
        }
        return {**head, "choices": [choice]}

    for token in generation.tokens:
        yield chunk(token.text)
    last = chunk("")
    last["choices"][0].update(_ended(generation))
    yield last
