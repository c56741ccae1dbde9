"""
Reading what checks are to say, word for word, from the files in ``told/``.

A line is a case, each line after it with ``>`` a finding, in order; ``#`` begins a
comment. Parts of a case stand between bars, and the first says what reads the rest::

    djl-lmi 0.36.0 accelerators=4 | engine=Python | option.dtype=fp4
    > LLM136 option.dtype must be one of auto, fp32, fp16, got 'fp4'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Told:
    """
    A case: what reads it, what it is, and all that is found.
    """

    head: list[str]
    parts: list[str]
    findings: list[str] = field(default_factory=list)

    def known(self, name: str) -> str | None:
        """
        Return what the head says of a name; ``None`` if it says nothing.
        """
        given = dict(word.split("=", 1) for word in self.head if "=" in word)
        return given.get(name)

    def __str__(self) -> str:
        """
        Render as the line in the file, for the test's name.
        """
        return " | ".join([" ".join(self.head), *self.parts])


def read(path: Path) -> list[Told]:
    """
    Read a file's cases.
    """
    cases: list[Told] = []
    for line in lines_of(path):
        if line.startswith("> "):
            cases[-1].findings.append(line.removeprefix("> "))
        else:
            head, *parts = line.split(" | ")
            cases.append(Told(head.split(), parts))
    return cases


def lines_of(path: Path) -> Iterator[str]:
    """
    Return a file's lines, without comments and empty ones.
    """
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line
