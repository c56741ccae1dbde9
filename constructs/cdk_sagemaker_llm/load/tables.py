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


def percent(share: float) -> str:
    """
    Write a share; a single failure among thousands does not read as none.
    """
    if share in {0, 1}:
        return f"{share:.0%}"
    written = f"{min(max(share, 0.0001), 0.9999):.2%}"
    return written.replace(".00%", "%")
