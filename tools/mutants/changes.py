"""
One small change of a module, and all that the operators can make.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from itertools import takewhile

from tools.mutants.source import Source, Span


@dataclass(frozen=True)
class Change:
    """
    A change that has not been made yet.

    Args:
        span: What the operator replaces.

        operator: Its name.

        make: Returns the text of the whole changed module.
    """

    source: Source
    span: Span
    operator: str
    make: Callable[[], str]

    @property
    def is_words(self) -> bool:
        """
        Whether it changes a text for people, which few tests hold to the letter.
        """
        start, end = self.span
        text = self.source.text[start:end]
        is_text = text.rstrip().endswith(("'", '"')) and text.lstrip("fFrRbB")[:1] in (
            "'",
            '"',
        )
        formatted = self.source.formatted
        return is_text and (" " in text or any(a <= start < b for a, b in formatted))


@dataclass(frozen=True)
class Mutant:
    """
    A module with one change made.

    Args:
        line: Where it stands.

        removed: The lines that it changes, as they were and without indentation.

        added: The lines that take their place.
    """

    path: str
    operator: str
    text: str
    line: int
    removed: tuple[str, ...]
    added: tuple[str, ...]
    diff: str

    @property
    def key(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """
        What stays the same when lines elsewhere come and go.
        """
        return self.path, self.removed, self.added


def made(change: Change) -> Mutant | None:
    """
    Make a change; return None if that is no other program, or none at all.
    """
    text = change.make()
    if change.source.is_barren(_edited(change.source.text, text)):
        return None
    try:
        if ast.dump(ast.parse(text)) == ast.dump(change.source.tree):
            return None
    except SyntaxError:
        return None
    before, after = change.source.text.splitlines(), text.splitlines()
    line, removed, added = _differing(before, after)
    return Mutant(
        change.source.path,
        change.operator,
        text,
        line,
        tuple(map(str.strip, removed)),
        tuple(map(str.strip, added)),
        "\n".join(list(unified_diff(before, after, lineterm="", n=2))[2:]),
    )


def _edited(before: str, after: str) -> Span:
    start = _alike(before, after)
    return start, len(before) - _alike(before[start:][::-1], after[start:][::-1])


def _alike(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _differing(before: list[str], after: list[str]) -> tuple[int, list[str], list[str]]:
    first = 0
    removed: list[str] = []
    added: list[str] = []
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for tag, a, b, c, d in codes:
        if tag != "equal":
            first = first or a + 1
            removed += before[a:b]
            added += after[c:d]
    return first, removed, added


def fertile(changes: Iterator[Change]) -> list[Change]:
    """
    Return those that a test could and should see, in the order of the text.
    """
    kept = [change for change in changes if not change.source.is_barren(change.span)]
    return sorted(kept, key=lambda change: (change.span, change.operator))
