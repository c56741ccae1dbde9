"""
What one record of an answer says, whichever format it came in, and which part of its
text each token stands for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from cdk_sagemaker_llm.client.answers import (
    Embeddings,
    FinishReason,
    Ranked,
    Token,
    Usage,
)

# What a container wrote: JSON, of any shape.
Record: TypeAlias = Any

# What stands for a byte that is no character: of vLLM, SGLang, and everyone's decoders.
_UNREADABLE = ("\ufffd", "\\x")

_REASONS = {
    "stop": FinishReason.STOP,
    "eos_token": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP_SEQUENCE,
    "word": FinishReason.STOP_SEQUENCE,
    "length": FinishReason.LENGTH,
    "limit": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.CONTENT_FILTER,
    "abort": FinishReason.ABORT,
}


@dataclass(slots=True)
class Step:
    """
    What one record adds.

    Args:
        tokens: The tokens in it, the last with the finish reason if it has one.

        texts: The whole text of each answer, if it is a document.

        pieces: Whether the tokens are mere pieces of text.

        calls: Parts of tool calls: the answer's index, and the part as it came.

        is_failure: Whether the container failed after this, with no word but that.
    """

    tokens: list[Token]
    ends: bool = False
    texts: dict[int, str] = field(default_factory=dict)
    pieces: bool = False
    usage: Usage | None = None
    calls: list[tuple[int, Record]] = field(default_factory=list)
    embeddings: Embeddings | None = None
    ranking: tuple[Ranked, ...] | None = None
    is_failure: bool = False


class WireFormat(StrEnum):
    """
    The families of formats that containers answer in.
    """

    LMI = "lmi"
    """LMI's own: JSON, JSON lines and SSE, rolling batch and asynchronous."""

    TGI = "tgi"
    """Text Generation Inference: arrays and SSE, and LMI's ``tgi_compat``."""

    OPENAI = "openai"
    """Chat and completions of vLLM, SGLang, llama.cpp, TGI and LMI."""

    LLAMA_CPP = "llama.cpp"
    """llama.cpp's own ``/completion``."""

    EMBEDDINGS = "embeddings"
    """Vectors and rankings: OpenAI's and vLLM's lists, or the bare ones of TEI."""


def finish_reason(
    word: Record, otherwise: FinishReason = FinishReason.OTHER
) -> FinishReason | None:
    """
    Name a container's reason; ``None`` if it gave none.
    """
    if word is None:
        return None
    return _REASONS.get(word, otherwise) if isinstance(word, str) else otherwise


def as_text(value: Record) -> str:
    """
    Return a text; empty for any other kind of value.
    """
    return value if isinstance(value, str) else ""


def as_number(value: Record) -> float | None:
    """
    Return a number; ``None`` for any other kind of value.
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def counted(prompt: Record, completion: Record) -> Usage | None:
    """
    Return the counts of tokens; ``None`` if nothing was counted.
    """
    usage = Usage(as_count(prompt), as_count(completion))
    return None if usage == Usage() else usage


def usage_of(record: dict[str, Record]) -> Usage | None:
    """
    Return what OpenAI's field of that name counts; ``None`` if it counts nothing.
    """
    usage = record.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return counted(usage.get("prompt_tokens"), usage.get("completion_tokens"))


def as_count(value: Record) -> int | None:
    """
    Return a whole number; ``None`` for any other kind of value.

    LMI 0.27 writes ids as lists of one.
    """
    if isinstance(value, list) and value:
        value = value[0]
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count else None


def shared(written: list[str], text: str) -> list[str]:
    """
    Share a text out among its tokens, so that the shares make it up.

    A character may be made of several tokens, whose own texts are no text then, or
    nothing: the first of them has it all. Of tokens that are left out of the text, as
    the stop sequence is, none has any. What fits nowhere is all the first one's.
    """
    if "".join(written) == text:
        return written
    shares, place = [""] * len(written), 0
    unread: int | None = None
    for number, token in enumerate(written):
        if not token or any(sign in token for sign in _UNREADABLE):
            unread = number if unread is None else unread
            continue
        found = place if unread is None else text.find(token, place)
        part = text[found : found + len(token)] if found >= 0 else ""
        if unread is not None and part:
            shares[unread] = text[place:found]
            place, unread = found, None
        if not token.startswith(part):
            break
        shares[number] = part
        place += len(part)
    if unread is not None:
        shares[unread] = text[place:]
    if "".join(shares) == text:
        return shares
    return [text, *[""] * (len(written) - 1)]
