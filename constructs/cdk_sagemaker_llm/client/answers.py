"""
What a model answers, whichever container it runs in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from cdk_sagemaker_llm.client.arguments import as_list, refuse


class FinishReason(StrEnum):
    """
    Why an answer ended.
    """

    STOP = "stop"
    """The model came to its end; some engines say so of a stop sequence too."""

    STOP_SEQUENCE = "stop_sequence"
    """One of the texts to stop at was written."""

    LENGTH = "length"
    """As many tokens as were asked for, or as fit; the answer is cut off."""

    TOOL_CALLS = "tool_calls"
    """The model calls tools and waits for what they return."""

    CONTENT_FILTER = "content_filter"
    """A filter of the engine ended it."""

    ABORT = "abort"
    """The engine gave the request up."""

    OTHER = "other"
    """Something that is none of these."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """
    A call of a tool that the model asks for.

    Args:
        name: The tool's name.

        arguments: Its arguments, the JSON text as the model wrote it.

        id: What the tool's answer refers to. If omitted, the engine gave none.
    """

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """
    How many tokens went in and came out, as the engine counted them.

    Args:
        prompt_tokens: Tokens of the prompt. If omitted, the engine did not say.

        completion_tokens: Tokens of the answer. If omitted, the engine did not say.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """
    One token of an answer, or one piece where the engine does not tell tokens apart.

    Args:
        text: What it adds to the answer: nothing if it is special, such as the
            end-of-sequence token.

        token_id: Its number in the vocabulary. If omitted, the engine did not say.

        log_prob: The logarithm of its probability.
            If omitted, the engine did not say.

        special: Whether it is a mark of the vocabulary rather than text.

        reasoning: What it adds to the reasoning before the answer.

        finish_reason: Why the answer ended. Only the last token has one.

        tool_calls: The calls that the model asks for, whole, on the last token.

        usage: What the engine counted, on the last token.

        index: Which of several answers it belongs to.
    """

    text: str
    token_id: int | None = None
    log_prob: float | None = None
    special: bool = False
    reasoning: str = ""
    finish_reason: FinishReason | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    index: int = 0

    @property
    def is_counted(self) -> bool:
        """
        Whether it stands for a token, and not only for the end of an answer.
        """
        return (
            bool(self.text or self.reasoning)
            or self.token_id is not None
            or self.log_prob is not None
        )


@dataclass(frozen=True, slots=True)
class Embeddings:
    """
    What an embedding model answers.

    Args:
        vectors: One for each input, in the order of the inputs.

        usage: What the engine counted. If omitted, it did not say.
    """

    vectors: tuple[tuple[float, ...], ...]
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """
    One text of those that were ranked for a query.

    Args:
        index: Which of the texts it is, counted from 0.

        score: How well it answers the query; the best has the largest.
    """

    index: int
    score: float


@dataclass(frozen=True, slots=True)
class Generation:
    """
    A whole answer.

    Args:
        text: The answer.

        tokens: Its tokens. If omitted, the engine told the text alone.

        finish_reason: Why it ended. If omitted, the engine did not say.

        reasoning: What the model thought before it answered.

        tool_calls: The tools that it wants called.

        usage: What the engine counted. If omitted, it did not say.

        alternatives: The other answers, where several were asked for.

        embeddings: The vectors, where an embedding model answered.

        ranking: The ranked texts, the best first, where a reranker answered.

        requests: How many requests it took.
    """

    text: str
    tokens: tuple[Token, ...] = ()
    finish_reason: FinishReason | None = None
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    alternatives: tuple[Generation, ...] = ()
    embeddings: Embeddings | None = None
    ranking: tuple[Ranked, ...] | None = None
    requests: int = 1

    @property
    def confidence(self) -> float | None:
        """
        How sure the model was, from 0 to 1; ``None`` if no token has a probability.
        """
        return confidence(self.tokens)

    @property
    def completion_tokens(self) -> int:
        """
        How many tokens it has: as the engine counted, or as they came.
        """
        if self.usage is not None and self.usage.completion_tokens is not None:
            return self.usage.completion_tokens
        return len(self.tokens)


def confidence(tokens: Iterable[Token]) -> float | None:
    """
    Return exp of the mean log probability; ``None`` if no token has one.

    NaN and infinity, which broken engines write, are none; minus infinity is one.

    Args:
        tokens: The tokens of an answer.
    """
    items = as_list("answer", tokens, _check_token, "pass what generate() returned")
    found = [
        token.log_prob
        for token in items
        if isinstance(token, Token)
        if token.log_prob is not None and token.log_prob < math.inf
    ]
    if not found:
        return None
    # Rounding may bring a certain token a little above 0.
    return math.exp(min(0.0, sum(found) / len(found)))


def _check_token(name: str, value: object) -> None:
    if not isinstance(value, Token):
        refuse(name, "a token", value)


def gather(
    tokens: Iterable[Token],
    *,
    texts: Mapping[int, str] | None = None,
    pieces: bool = False,
) -> Generation:
    """
    Put the tokens of a stream together.

    Args:
        tokens: All of them, in order.

        texts: The text of each answer, by its index. If omitted, the tokens' texts
            make it up.

        pieces: Whether the tokens are mere pieces, which an answer does not count.
    """
    texts = texts or {}
    by_index: dict[int, list[Token]] = {}
    for number, token in enumerate(tokens):
        _check_token(f"tokens[{number}]", token)
        by_index.setdefault(token.index, []).append(token)
    answers = [
        _one(by_index[index], texts.get(index), pieces=pieces)
        for index in sorted(by_index)
    ]
    if not answers:
        return Generation("")
    first, *others = answers
    if not others:
        return first
    usage = first.usage or next((one.usage for one in others if one.usage), None)
    return replace(first, usage=usage, alternatives=tuple(others))


def _one(tokens: list[Token], text: str | None, *, pieces: bool) -> Generation:
    ends = [token for token in tokens if token.finish_reason]
    calls = tuple(call for token in tokens for call in token.tool_calls)
    usages = [token.usage for token in tokens if token.usage]
    counted = () if pieces else tuple(token for token in tokens if token.is_counted)
    return Generation(
        text="".join(token.text for token in tokens) if text is None else text,
        tokens=counted,
        finish_reason=ends[-1].finish_reason if ends else None,
        reasoning="".join(token.reasoning for token in tokens),
        tool_calls=calls,
        usage=usages[-1] if usages else None,
    )
