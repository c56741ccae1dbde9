"""
What engines answer: chats, at once or as a stream, as vLLM, SGLang and llama.cpp write
them, and vectors and rankings, as vLLM and llama.cpp do.

Read in vLLM 0.13.0 and 0.30.0 and in SGLang 0.5.23; llama.cpp's in its server.
"""

from __future__ import annotations

import base64
import struct
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import (
    DONE,
    SSE,
    check_room,
    dump,
    event,
    log_probs,
    nested,
    prompt_of,
    relevance,
    texts_of,
    token_count,
    vector,
)
from cdk_sagemaker_llm.local.engines.containers import JSON, Answer, StartedEngine
from cdk_sagemaker_llm.local.engines.story import Speech, Token, chosen_call, say

# Wider than any model of the catalogue.
_LARGEST = 32_768


class Words(ABC):
    """
    What an engine calls the parts of a chat, and the model.
    """

    call_prefix = "call_"
    first_content: str | None = ""

    def __init__(self, model: str) -> None:
        self._model = model
        self._created = int(time.time())
        self._id = f"chatcmpl-{uuid.uuid4().hex}"

    @abstractmethod
    def message(self, speech: Speech) -> dict[str, Any]:
        """
        Return the message of an answer at once.
        """

    @abstractmethod
    def ending(self, speech: Speech | None) -> dict[str, Any]:
        """
        Return why a choice ends; of a part in the middle of a stream, that it does not.
        """

    def usage(self, prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
        """
        Count tokens.
        """
        return {
            "prompt_tokens": prompt_tokens,
            "total_tokens": prompt_tokens + answer_tokens,
            "completion_tokens": answer_tokens,
        }

    def head(self, kind: str) -> dict[str, Any]:
        """
        Return what every part of an answer begins with.
        """
        return {
            "id": self._id,
            "object": kind,
            "created": self._created,
            "model": self._model,
        }

    def whole(
        self, choices: list[dict[str, Any]], usage: dict[str, Any]
    ) -> dict[str, Any]:
        """
        Return an answer at once.
        """
        return {**self.head("chat.completion"), "choices": choices, "usage": usage}

    def chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """
        Return one part of a stream.
        """
        return {**self.head("chat.completion.chunk"), "choices": choices}

    def delta(self, **parts: object) -> dict[str, Any]:
        """
        Return what is new in one part of a stream.
        """
        return parts

    def thought(self, text: str) -> dict[str, Any]:
        """
        Return what is new where the model thinks.
        """
        return self.delta(reasoning_content=text)


class Chat:
    """
    One chat in an engine's words, with what its request asks for: so many tokens, and
    thoughts apart where the engine takes them so.
    """

    def __init__(
        self,
        words: Words,
        body: Mapping[str, Any],
        *,
        prompt: str,
        count: int,
        thinks: bool,
    ) -> None:
        template_options = body.get("chat_template_kwargs")
        if isinstance(template_options, dict):
            thinks = thinks and template_options.get("enable_thinking") is not False
        self._words = words
        self._body = body
        self._prompt_tokens = token_count(prompt)
        self._speech = say(
            prompt,
            count,
            stops=stops_of(body),
            thinks=thinks,
            call=chosen_call(body, words.call_prefix),
        )
        self._number = choice_count(body)

    def answer(self) -> Answer:
        """
        Write the answer.
        """
        answer_tokens = self._speech.count * self._number
        usage = self._words.usage(self._prompt_tokens, answer_tokens)
        if self._body.get("stream"):
            pieces = [*map(event, self._chunks(usage)), DONE]
            return Answer(SSE, pieces, answer_tokens)
        choices = [
            {
                "index": index,
                "message": self._words.message(self._speech),
                "logprobs": self._log_probs(self._speech.visible_tokens),
                **self._words.ending(self._speech),
            }
            for index in range(self._number)
        ]
        return Answer(JSON, [dump(self._words.whole(choices, usage))], answer_tokens)

    def _chunks(self, usage: dict[str, Any]) -> Iterator[dict[str, Any]]:
        first = {"role": "assistant", "content": self._words.first_content}
        for index in range(self._number):
            yield self._chunk(index, self._words.delta(**first))
        for index in range(self._number):
            for delta, tokens in self._deltas():
                yield self._chunk(index, delta, tokens)
            last = self._chunk(index, self._words.delta())
            last["choices"][0].update(self._words.ending(self._speech))
            yield last
        options = self._body.get("stream_options") or {}
        if options.get("include_usage"):
            yield {**self._words.chunk([]), "usage": usage}

    def _deltas(self) -> Iterator[tuple[dict[str, Any], tuple[Token, ...]]]:
        speech, words = self._speech, self._words
        for token in speech.thoughts:
            yield words.thought(token.text), (token,)
        for token in speech.tokens:
            yield words.delta(content=token.text), (token,)
        if speech.call is not None:
            whole = {**speech.call.as_message(), "index": 0}
            begun = {**whole, "function": {"name": speech.call.name, "arguments": ""}}
            yield words.delta(tool_calls=[begun]), ()
            rest = {"index": 0, "function": {"arguments": speech.call.arguments}}
            yield words.delta(tool_calls=[rest]), ()

    def _chunk(
        self, index: int, delta: dict[str, Any], tokens: tuple[Token, ...] = ()
    ) -> dict[str, Any]:
        choice: dict[str, Any] = {
            "index": index,
            "delta": delta,
            "logprobs": self._log_probs(tokens) if tokens else None,
            **self._words.ending(None),
        }
        return self._words.chunk([choice])

    def _log_probs(self, tokens: tuple[Token, ...]) -> Untyped:
        if not self._body.get("logprobs"):
            return None
        return log_probs(tokens, self._body.get("top_logprobs") or 0)


def stops_of(body: Mapping[str, Any]) -> tuple[str, ...]:
    """
    Return the strings that are to end an answer.
    """
    value = body.get("stop") or ()
    stops = (value,) if isinstance(value, str) else value
    return tuple(stop for stop in stops if isinstance(stop, str) and stop)


def choice_count(body: Mapping[str, Any]) -> int:
    """
    Return how many answers a request asks for.
    """
    number = body.get("n")
    return number if isinstance(number, int) and number > 1 else 1


def vllm_usage(prompt_tokens: int, answer_tokens: int) -> dict[str, Any]:
    """
    Count tokens as vLLM does, whatever the request was.
    """
    return {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + answer_tokens,
        "completion_tokens": answer_tokens,
        "prompt_tokens_details": None,
    }


@dataclass(frozen=True, slots=True)
class Handler:
    """
    One type of request: its name in vLLM, which bodies are of it, what answers them.
    """

    name: str
    takes: Callable[[Mapping[str, Any]], bool]
    answer: Callable[[StartedEngine, dict[str, Any], str], Answer]


def _embeddings(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    texts = _inputs(body)
    _check_lengths(engine, body, texts)
    size, most = body.get("dimensions"), engine.vector_size or _LARGEST
    if size is None:
        size = engine.vector_size
    elif not isinstance(size, int) or not 0 < size <= most:
        raise nested(f"dimensions must be between 1 and {most}, got {size!r}")
    vectors: list[Any] = [vector(text, size) for text in texts]
    if body.get("encoding_format") == "base64":
        packed = (struct.pack(f"<{len(one)}f", *one) for one in vectors)
        vectors = [base64.b64encode(one).decode() for one in packed]
    whole = {
        "id": f"embd-{uuid.uuid4().hex}",
        "object": "list",
        "created": int(time.time()),
        "model": model,
        "data": [
            {"index": index, "object": "embedding", "embedding": one}
            for index, one in enumerate(vectors)
        ],
        "usage": vllm_usage(sum(map(token_count, texts)), 0),
    }
    return Answer(JSON, [dump(whole)])


def _rerank(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    query, documents = body["query"], texts_of(body["documents"])
    _check_lengths(engine, body, [f"{query} {text}" for text in documents])
    scores = [relevance(query, text) for text in documents]
    best = sorted(range(len(documents)), key=lambda index: -scores[index])
    tokens = sum(map(token_count, [query, *documents]))
    whole = {
        "id": f"rerank-{uuid.uuid4().hex}",
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "results": [
            {
                "index": index,
                "document": {"text": documents[index], "multi_modal": None},
                "relevance_score": scores[index],
            }
            for index in best[: body.get("top_n") or len(best)]
        ],
    }
    return Answer(JSON, [dump(whole)])


def _check_lengths(
    engine: StartedEngine, body: dict[str, Any], texts: list[str]
) -> None:
    if body.get("truncate_prompt_tokens") is None:
        check_room(engine, max(map(token_count, texts)))


def _inputs(body: Mapping[str, Any]) -> list[str]:
    if isinstance(body.get("messages"), list):
        try:
            return [prompt_of(body)]
        except ValueError:
            return []
    return texts_of(body.get("input"))


def _has_ranking(body: Mapping[str, Any]) -> bool:
    has_number = isinstance(body.get("top_n", 0), int)
    is_query = isinstance(body.get("query"), str)
    return has_number and is_query and bool(texts_of(body.get("documents")))


EMBED = Handler("EmbeddingRequest", lambda body: bool(_inputs(body)), _embeddings)
RERANK = Handler("RerankRequest", _has_ranking, _rerank)
