"""
Tables and lists of words, as Markdown has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """
    Return a table.
    """
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, cells))} |\n" for cells in lines)


def code(text: str) -> str:
    """
    Return a word in the letters of code; nothing of nothing.
    """
    return f"`{text}`" if text else ""


def codes(texts: Iterable[str]) -> str:
    """
    Return words in the letters of code, with commas between.
    """
    return ", ".join(map(code, texts))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
