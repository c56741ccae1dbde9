"""
An answer to a chat, at once or as a stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.local.runtime.answers import Answer
from cdk_sagemaker_llm.local.runtime.engines.asked import JSON
from cdk_sagemaker_llm.local.runtime.engines.said import Said, say
from cdk_sagemaker_llm.local.runtime.engines.shapes import (
    DONE,
    SSE,
    dump,
    event,
    log_probs,
    token_count,
)
from cdk_sagemaker_llm.local.runtime.engines.tools import chosen_call
from cdk_sagemaker_llm.local.runtime.engines.words import Words
from cdk_sagemaker_llm.local.runtime.story import Token
from cdk_sagemaker_llm.local.untyped import Untyped


class Chat:
    """
    One chat, with what its request asks for.

    Args:
        words: What the engine calls the parts of its answer.

        body: The request.

        prompt: Its messages as one text.

        count: How many tokens the answer may have.

        thinks: Whether the engine takes thoughts apart.
    """

    def __init__(
        self,
        words: Words,
        body: Mapping[str, Any],
        *,
        prompt: str,
        count: int,
        thinks: bool = False,
    ) -> None:
        self._words = words
        self._body = body
        self._told = token_count(prompt)
        self._said = say(
            prompt,
            count,
            stops=stops_of(body),
            thinks=thinks and _may_think(body),
            call=chosen_call(body, words.call_prefix),
        )
        self._number = choice_count(body)

    def answer(self) -> Answer:
        """
        Write it.
        """
        written = self._said.count * self._number
        usage = self._words.usage(self._told, written)
        if self._body.get("stream"):
            pieces = [*map(event, self._chunks(usage)), DONE]
            return Answer(SSE, pieces, written)
        choices = [
            {
                "index": index,
                "message": self._words.message(self._said),
                "logprobs": self._log_probs(self._said.shown),
                **self._words.ending(self._said),
            }
            for index in range(self._number)
        ]
        return Answer(JSON, [dump(self._words.whole(choices, usage))], written)

    def _chunks(self, usage: dict[str, Any]) -> Iterator[dict[str, Any]]:
        first = {"role": "assistant", "content": self._words.first_content}
        for index in range(self._number):
            yield self._chunk(index, self._words.delta(**first))
        for index in range(self._number):
            for delta, tokens in self._deltas(self._said):
                yield self._chunk(index, delta, tokens)
            last = self._chunk(index, self._words.delta())
            last["choices"][0].update(self._words.ending(self._said))
            yield last
        options = self._body.get("stream_options") or {}
        if options.get("include_usage"):
            yield {**self._words.chunk([]), "usage": usage}

    def _deltas(self, said: Said) -> Iterator[tuple[dict[str, Any], tuple[Token, ...]]]:
        for token in said.thoughts:
            yield self._words.thought(token.text), (token,)
        for token in said.tokens:
            yield self._words.delta(content=token.text), (token,)
        if said.call is not None:
            whole = {**said.call.shown(), "index": 0}
            begun = {**whole, "function": {"name": said.call.name, "arguments": ""}}
            yield self._words.delta(tool_calls=[begun]), ()
            written = {"index": 0, "function": {"arguments": said.call.arguments}}
            yield self._words.delta(tool_calls=[written]), ()

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
    given = body.get("stop") or ()
    stops = (given,) if isinstance(given, str) else given
    return tuple(stop for stop in stops if isinstance(stop, str) and stop)


def choice_count(body: Mapping[str, Any]) -> int:
    """
    Return how many answers a request asks for.
    """
    number = body.get("n")
    return number if isinstance(number, int) and number > 1 else 1


def _may_think(body: Mapping[str, Any]) -> bool:
    asked = body.get("chat_template_kwargs")
    return not isinstance(asked, dict) or asked.get("enable_thinking") is not False
