"""
Whether copies can be placed at all: a count of what can be used, then a search.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.fit._kinds import (
    Counts,
    Fillings,
    Kinds,
    fits,
    fitting,
    minus,
)
from cdk_sagemaker_llm.fit.placement import Units

# A step is a decision how many copies of a size an instance holds; so many take about
# a tenth of a second.
MOST_STEPS = 20_000
# The filling of an instance goes as deep as there are different sizes on it.
MOST_KINDS = 200
# The memory of the largest instances in MiB has as many amounts.
_MOST_AMOUNTS = 2**22


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """
    The most of a resource that copies of these sizes can use of an instance.

    Args:
        axis: Which resource.

        sizes: How much of it a copy of each kind reserves.

        most: How much of it copies can use together.
    """

    axis: int
    sizes: Counts
    most: int

    def instances_for(self, counts: Counts) -> int:
        """
        Return how many instances copies need at least.
        """
        total: int = sum(map(operator.mul, self.sizes, counts))
        return -(-total // self.most)


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """
    What a search came to.

    Args:
        fillings: What each instance holds, if a packing of all copies was found.

        is_impossible: Whether it is proven that there is none.

        steps: How much work it was.
    """

    fillings: Fillings | None = None
    is_impossible: bool = False
    steps: int = 0


def limits(kinds: Kinds) -> list[Limit]:
    """
    Count what copies can use of the accelerators, cores and memory of an instance.
    """
    found = []
    for axis, has in enumerate(kinds.room):
        sizes = tuple(size[axis] for size in kinds.sizes)
        most = _usable(sizes, kinds.counts, has)
        if most:
            found.append(Limit(axis=axis, sizes=sizes, most=most))
    return found


def search(kinds: Kinds, instances: int, among: Sequence[Limit]) -> Verdict:
    """
    Look for a place for all copies, until the steps run out.

    One instance is filled after the other. Instances are alike, so that the first of
    those to come may be the one that holds a largest copy of those left over; and a
    filling that has room for more need not be tried where the one with more was.
    """
    if len(kinds.sizes) > MOST_KINDS:
        return Verdict()
    steps = _Steps(MOST_STEPS)
    left, filled = kinds.counts, list[Counts]()
    waiting = [(left, _fillings(kinds, left, steps))]
    hopeless: dict[Counts, int] = {}
    while waiting and not steps.are_spent:
        left, fillings = waiting[-1]
        del filled[len(waiting) - 1 :]
        filling = next(fillings, None)
        if filling is None:
            waiting.pop()
            hopeless[left] = instances - len(waiting)
            continue
        filled.append(filling)
        left = tuple(map(operator.sub, left, filling))
        free = instances - len(filled)
        if not any(left):
            empty = [(0,) * len(left)] * free
            return Verdict(fillings=filled + empty, steps=steps.taken)
        may_fit = all(limit.instances_for(left) <= free for limit in among)
        if may_fit and free > hopeless.get(left, 0):
            waiting.append((left, _fillings(kinds, left, steps)))
    return Verdict(is_impossible=not steps.are_spent, steps=steps.taken)


class _Steps:
    """
    How many steps were taken, of the most that may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0

    def take(self) -> bool:
        """
        Take a step; false when none is left.
        """
        if self.are_spent:
            return False
        self.taken += 1
        return True

    @property
    def are_spent(self) -> bool:
        """
        Whether the search gives up, so that what it did not find may exist.
        """
        return self.taken >= self._most


def _usable(sizes: Counts, counts: Counts, has: int) -> int:
    """
    Return the largest sum of sizes that an instance holds, or what it has.
    """
    unit = math.gcd(*sizes)
    if not unit or has // unit > _MOST_AMOUNTS:
        return has
    room = has // unit
    # Bit n says whether copies can use n units; a copy more shifts every sum.
    sums, within = 1, (1 << (room + 1)) - 1
    for size, count in zip(sizes, counts, strict=True):
        for copies in _doubling(min(count, has // size) if size else 0):
            sums |= (sums << (copies * size // unit)) & within
    return (sums.bit_length() - 1) * unit


def _doubling(count: int) -> Iterator[int]:
    """
    Split a count so that the sums of its parts are all numbers up to it.
    """
    part = 1
    while count:
        part = min(part, count)
        yield part
        count -= part
        part *= 2


def _fillings(kinds: Kinds, left: Counts, steps: _Steps) -> Iterator[Counts]:
    """
    List all fillings with the first kind left over that have room for nothing more.
    """
    sizes, chosen = kinds.sizes, [0] * len(left)

    def extend(start: int, room: Units, among: Sequence[int]) -> Iterator[Counts]:
        more = [
            kind
            for kind in among
            if left[kind] > chosen[kind] and fits(sizes[kind], room)
        ]
        if not more:
            yield tuple(chosen)
        for kind in more:
            if kind >= start:
                yield from choose(kind, room, more)

    def choose(kind: int, room: Units, more: Sequence[int]) -> Iterator[Counts]:
        for copies in range(min(left[kind], fitting(sizes[kind], room)), 0, -1):
            if not steps.take():
                return
            chosen[kind] = copies
            yield from extend(kind + 1, minus(room, sizes[kind], copies), more)
        chosen[kind] = 0

    every = [kind for kind, count in enumerate(left) if count]
    return choose(every[0], kinds.room, every)
