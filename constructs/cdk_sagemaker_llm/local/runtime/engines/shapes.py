"""
The bodies that OpenAI's interface has, as these engines write them.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import Any

from cdk_sagemaker_llm.local.runtime.story import Token
from cdk_sagemaker_llm.local.untyped import Untyped

SSE = "text/event-stream"
DONE = b"data: [DONE]\n\n"
_DIMENSIONS = 16


def dump(body: Untyped) -> bytes:
    """
    Write compact JSON.
    """
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def event(body: Untyped) -> bytes:
    """
    Write one event of a stream.
    """
    return b"data: " + dump(body) + b"\n\n"


def token_count(text: str) -> int:
    """
    Return how many tokens a text counts here: its words, and at least one.
    """
    return max(1, len(text.split()))


def log_probs(tokens: tuple[Token, ...], top: int = 0) -> dict[str, Any]:
    """
    Write the log probabilities of a chat's tokens.

    Args:
        tokens: The tokens.

        top: How many alternatives of each are asked for; the stand-in knows of one,
            which is the token itself.
    """
    return {
        "content": [
            {**_log_prob(token), "top_logprobs": [_log_prob(token)] if top else []}
            for token in tokens
        ]
    }


def _log_prob(token: Token) -> dict[str, Any]:
    return {
        "token": token.text,
        "logprob": token.log_prob,
        "bytes": list(token.text.encode()),
    }


def vector(text: str, dimensions: int | None = None) -> list[float]:
    """
    Return a text's embedding: of length one, and the same each time.
    """
    size = dimensions or _DIMENSIONS
    raw = [zlib.crc32(f"{index}{text}".encode()) / 2**31 - 1 for index in range(size)]
    length = math.sqrt(sum(value * value for value in raw)) or 1.0
    return [round(value / length, 6) for value in raw]


def relevance(query: str, document: str) -> float:
    """
    Return how much a document has to do with a query: the words that both have.
    """
    asked, there = set(query.lower().split()), set(document.lower().split())
    if not asked:
        return 0.0
    share = len(asked & there) / len(asked)
    return round(0.01 + 0.98 * share, 6)
