"""
Tables in Markdown.
"""

from __future__ import annotations

from collections.abc import Sequence


def table_of(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """
    Write a table.
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
