"""
Prompts of exactly so many tokens, as a model's own tokenizer counts them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.load.prompts import EVERYDAY
from cdk_sagemaker_llm.load.settings import LoadSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Write = Callable[[random.Random, int], str]
# With fewer, prompts would be alike, and a cache of beginnings would help.
_ENOUGH = 16
_MOST_LOOKED_AT = 5000
_ATTEMPTS = 20


def tokenizer_of(path: str) -> Tokenizer:
    """
    Load a ``tokenizer.json``, or the one in a folder.
    """
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - an extra
    except ImportError as fault:
        raise ValueError(
            "counting tokens needs tokenizers; install it with: "
            "pip install 'cdk-sagemaker-llm[tokenize]'"
        ) from fault
    file = Path(path)
    file = file / "tokenizer.json" if file.is_dir() else file
    if not file.is_file():
        raise ValueError(f"there is no file {file}; name the model's tokenizer.json")
    try:
        found = Tokenizer.from_file(str(file))
    except Exception as fault:  # it raises nothing more particular
        raise ValueError(f"{file} is no tokenizer.json: {fault}") from fault
    # A file may say so for training; a server does neither.
    found.no_truncation()
    found.no_padding()
    return found


def writer_of(settings: LoadSettings) -> Write | None:
    """
    Return what writes prompts by the settings' tokenizer; ``None`` if they have none.
    """
    if settings.tokenizer is None:
        return None
    found = TokenWriter(
        tokenizer_of(settings.tokenizer), has_specials=not settings.is_chat
    )
    return found.write


class TokenWriter:
    """
    Puts prompts together that have exactly so many tokens.

    Args:
        has_specials: Whether the tokens count that the tokenizer adds to a text, as
            that of its beginning. A chat has others, which its template adds.
    """

    def __init__(self, tokenizer: Tokenizer, *, has_specials: bool) -> None:
        self._tokenizer = tokenizer
        self._has_specials = has_specials
        self._specials = self._count("")
        self._space, self._pieces = " ", self._that_add_one(" ", iter(EVERYDAY))
        if len(self._pieces) < _ENOUGH:
            found = self._that_add_one("", self._vocabulary())
            self._space, self._pieces = "", found or list(EVERYDAY)

    def write(self, chance: random.Random, length: int) -> str:
        """
        Put one together, which has a word at least.
        """
        target = max(length, self._specials + 1)
        for _ in range(_ATTEMPTS):
            pieces: list[str] = []
            short = target - self._specials
            for _ in range(_ATTEMPTS):
                pieces += chance.choices(self._pieces, k=max(short, 0))
                # Tokens may join where pieces meet, so that the whole is counted.
                short = target - self._count(self._space.join(pieces))
                if not short:
                    return self._space.join(pieces)
                del pieces[min(short, 0) or len(pieces) :]
        raise ValueError(
            f"the tokenizer counts no text as {target} tokens; leave it out"
        )

    def _count(self, text: str) -> int:
        try:
            found = self._tokenizer.encode(text, add_special_tokens=self._has_specials)
        except Exception as fault:  # it raises nothing more particular
            raise ValueError(f"the tokenizer reads no English: {fault}") from fault
        return len(found.ids)

    def _that_add_one(self, space: str, pieces: Iterator[str]) -> list[str]:
        begun = space.join(EVERYDAY[:2])
        one_more = self._count(begun) + 1
        return [
            piece
            for piece in pieces
            if self._count(f"{begun}{space}{piece}") == one_more
        ]

    def _vocabulary(self) -> Iterator[str]:
        size = min(self._tokenizer.get_vocab_size(), _MOST_LOOKED_AT)
        for number in range(size):
            text = self._tokenizer.decode([number])
            if text.strip() and text.isprintable() and text.isascii():
                yield text
