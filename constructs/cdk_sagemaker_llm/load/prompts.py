"""
Prompts: those of a file, or as long as they are asked to be.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from cdk_sagemaker_llm.load.settings import lengths_of

# Short words of everyday English, which vocabularies mostly have as one token each.
_WORDS = """
the of and to in is was for on are as with his they at be this from have or one had by
word but not what all were when your can said there use an each which she do how their
if will up other about out many then them these so some her would make like him into
time has look two more write go see number no way could people
"""
EVERYDAY = tuple(_WORDS.split())


def read_prompts(path: Path) -> tuple[str, ...]:
    """
    Read prompts: a line each, or of a ``.jsonl`` file the texts of its lines.

    Such a line is a JSON string, or an object with ``prompt`` or ``inputs``.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    is_json = path.suffix == ".jsonl"
    found = tuple(
        _text(line, f"{path}:{number}") if is_json else line
        for number, line in enumerate(lines, 1)
        if line.strip()
    )
    if not found:
        raise ValueError(f"{path} has no prompts; write one on each line")
    return found


class Prompts:
    """
    Prompts without end.

    Args:
        texts: Those to choose from. If there are none, words are put together at
            random, so that a cache of beginnings does not help.

        words: How many words those have, as ``lengths_of`` reads it.

        seed: Where chance starts from.

        write: What puts so many words together. If omitted, everyday ones are chosen.
    """

    def __init__(
        self,
        texts: Sequence[str],
        words: str,
        seed: int,
        write: Callable[[random.Random, int], str] | None = None,
    ) -> None:
        self._given = texts
        self._length = lengths_of(words)
        self._write = write or _write
        self._chance = random.Random(seed)  # noqa: S311 - no secret

    def draw(self) -> str:
        if self._given:
            return self._chance.choice(self._given)
        return self._write(self._chance, self._length(self._chance))


def _write(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(EVERYDAY, k=count))


def _text(line: str, place: str) -> str:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if isinstance(found, dict):
        found = found.get("prompt", found.get("inputs"))
    if not isinstance(found, str):
        raise ValueError(  # noqa: TRY004 - what a file says
            f'{place} must be a JSON string, or an object such as {{"prompt": "Hello"}}'
        )
    return found
