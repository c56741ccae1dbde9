"""
Saying at once, where the embedded AWS was started, what would be found in a log later.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

_streams: list[TextIO] = []
_said: set[tuple[str, tuple[str, ...]]] = set()


def report_to(descriptor: int) -> None:
    """
    Report to an open file.
    """
    _streams.append(os.fdopen(descriptor, "w", encoding="utf-8"))


def report(group: str, lines: Sequence[str]) -> None:
    """
    Report what a container said that does not start; the same once, of all its copies.

    Args:
        group: The log group that has it as well.

        lines: What it said.
    """
    one = (group, tuple(lines))
    if one in _said:
        return
    _said.add(one)
    text = "\n".join([f"A container does not start ({group}):", *lines])
    for stream in _streams:
        print(text.replace("\n", "\n  "), file=stream, flush=True)
