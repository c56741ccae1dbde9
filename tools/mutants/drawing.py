"""
A sample of all changes, the same for the same seed, with a share for each room.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tools.mutants.changes import Change, Mutant, made

_LEAST = 25  # The part of all mutants, one in so many, that any room has at least.
_WORDS = 0.1  # How often words are changed, against anything else.


def shares(lines: Mapping[str, int], count: int) -> dict[str, int]:
    """
    Divide a number of mutants between rooms by their lines, with a least share.
    """
    total = sum(lines.values())
    return {
        room: max(count // _LEAST, round(count * size / total)) if size else 0
        for room, size in lines.items()
    }


def draw(changes: Sequence[Change], count: int, seed: str) -> list[Mutant]:
    """
    Draw mutants of one room.

    Rare operators are drawn more often than their number would have it, and no line is
    changed twice, so that few mutants see much.
    """
    lines: set[tuple[str, int]] = set()
    drawn: list[Mutant] = []
    for change in _shuffled(changes, random.Random(seed)):  # noqa: S311 - a sample
        if len(drawn) == count:
            break
        mutant = made(change)
        if mutant is not None and (mutant.path, mutant.line) not in lines:
            lines.add((mutant.path, mutant.line))
            drawn.append(mutant)
    return drawn


def _shuffled(changes: Sequence[Change], luck: random.Random) -> Iterator[Change]:
    # Drawing without replacement by weights: the key of a heavy one tends to be small.
    numbers = Counter(change.operator for change in changes)
    keys = [luck.expovariate(_weight(change, numbers)) for change in changes]
    for index in sorted(range(len(changes)), key=keys.__getitem__):
        yield changes[index]


def _weight(change: Change, numbers: Mapping[str, int]) -> float:
    weight = 1 / math.sqrt(numbers[change.operator])
    return weight * _WORDS if change.is_words else weight
