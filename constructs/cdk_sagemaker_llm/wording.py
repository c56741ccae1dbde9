"""
How messages name things: ``a, b or c``, and the known name that was likely meant.

What belongs here is text alone; it knows nothing of the field.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

_LIKELY = 12
_LIKENESS = 0.6
# A name that is longer than this times another is less like it than that.
_LONGEST = 2 / _LIKENESS - 1


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """
    Return the known names most like the given one, best first.
    """
    names = tuple(known)
    if len(name) > _LONGEST * max(map(len, names), default=0):
        return []
    return list(_nearest(name, names, count))


@functools.lru_cache(maxsize=4096)
def _nearest(name: str, known: tuple[str, ...], count: int) -> tuple[str, ...]:
    import difflib  # noqa: PLC0415 - few names are wrong

    # The exact measure takes milliseconds for some hundred names: pairs of letters
    # in common leave it a handful.
    pairs = _pairs(name)
    likely = sorted(known, key=lambda other: -len(pairs & _pairs(other)))[:_LIKELY]
    return tuple(difflib.get_close_matches(name, likely, n=count, cutoff=_LIKENESS))


@functools.lru_cache(maxsize=4096)
def _pairs(name: str) -> frozenset[str]:
    return frozenset(map("".join, itertools.pairwise(name)))


def any_of(names: Iterable[str]) -> str:
    """
    Join names as a sentence does: ``a, b or c``.
    """
    *rest, last = names
    return f"{', '.join(rest)} or {last}" if rest else last
