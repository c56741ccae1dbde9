"""
What the stand-in model says: the same continuation for the same prompt, always.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from itertools import accumulate

_STORIES = (
    (
        "The endpoint answered before the coffee was ready. It had been asked a "
        "small question, and it took its time to be brief: a model is a file, a "
        "replica is a promise, and a queue is the distance between them. "
        "Somewhere a scaling policy woke up, counted the requests twice, and "
        "added an instance. By the time it was in service, the question had been "
        "answered and everybody had gone home."
    ),
    (
        "Once there was a tensor that did not fit. It tried one accelerator, and "
        "then four of them side by side, and found that a quarter of a thing is "
        "lighter than the whole. The weights came over the wire in the early "
        "hours. The health check knocked, waited, and knocked again. At last the "
        "log said that the server was ready, and nobody was awake to read it."
    ),
    (
        "On the first day the copies were placed, one to an accelerator, until "
        "there was no room left. On the second day the traffic came. It came in "
        "waves, as it does, and the copies took turns. On the third day somebody "
        "changed a single line, and new copies stood beside the old ones until "
        "the old ones were not needed any more. That is all there is to tell."
    ),
)
_PIECES = re.compile(r"\s*\w+|\s*[^\w\s]")
_TOLD = tuple(tuple(_PIECES.findall(f" {story}")) for story in _STORIES)
# Each story as far as it may have been told: of every length, the shortest first.
_BEGINNINGS = tuple(tuple(accumulate(pieces, initial="")) for pieces in _TOLD)
_END_ID = 2  # </s> of the Llama and Mistral vocabularies.


@dataclass(frozen=True, slots=True)
class Token:
    """
    One generated token.
    """

    id: int
    text: str
    log_prob: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """
    What a model made of a prompt.

    Args:
        prompt: What it was given.

        tokens: What it wrote.

        end: The end-of-sequence token, if it came to its end.

        full_text: Whether the text starts with the prompt.
    """

    prompt: str
    tokens: tuple[Token, ...]
    end: Token | None = None
    full_text: bool = False

    @property
    def text(self) -> str:
        """
        The generated text.
        """
        written = "".join(token.text for token in self.tokens)
        return self.prompt + written if self.full_text else written

    @property
    def all_tokens(self) -> tuple[Token, ...]:
        """
        What it wrote, and the end if it came to it.
        """
        return (*self.tokens, self.end) if self.end else self.tokens


def continue_prompt(
    prompt: str, max_new_tokens: int, *, full_text: bool = False
) -> Generation:
    """
    Go on with a prompt, from where the story stands in it.

    A prompt that ends in the beginning of its story is continued there, so that asking
    again with the text so far comes to the end.
    """
    pieces, told = _story(prompt)
    rest = [_token(piece, told + i) for i, piece in enumerate(pieces[told:])]
    written = tuple(rest[:max_new_tokens])
    finished = len(rest) < max_new_tokens
    return Generation(
        prompt=prompt,
        tokens=written,
        end=Token(_END_ID, "", _log_prob("", len(pieces))) if finished else None,
        full_text=full_text,
    )


def _story(prompt: str) -> tuple[tuple[str, ...], int]:
    # The story that the prompt is in the middle of, or one that its text chooses.
    told = [_told(prompt, beginnings) for beginnings in _BEGINNINGS]
    if any(told):
        index = told.index(max(told))
        return _TOLD[index], told[index]
    return _TOLD[zlib.crc32(prompt.encode()) % len(_TOLD)], 0


def _told(prompt: str, beginnings: tuple[str, ...]) -> int:
    for count in range(len(beginnings) - 1, 0, -1):
        if prompt.endswith(beginnings[count]):
            return count
    return 0


def _token(text: str, index: int) -> Token:
    token_id = 3 + zlib.crc32(text.encode()) % 31_997
    return Token(token_id, text, _log_prob(text, index))


def _log_prob(text: str, index: int) -> float:
    return -(1 + zlib.crc32(f"{index}{text}".encode()) % 1500) / 1000
