"""
Whether copies can be placed at all: a count of what can be used, then a search.

Copies are told apart by what they reserve alone: alike ones need not be tried twice.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements, Units

# A step is a decision how many copies of a size an instance holds; so many take about
# a tenth of a second.
MOST_STEPS = 20_000
# The filling of an instance goes as deep as there are different sizes on it.
MOST_KINDS = 200
# The memory of the largest instances in MiB has as many amounts.
_MOST_AMOUNTS = 2**22

Counts = tuple[int, ...]
Fillings = list[Counts]


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


def search(kinds: Kinds, instances: int, among: Sequence[Limit]) -> _Verdict:
    """
    Look for a place for all copies, until the steps run out.

    One instance is filled after the other. Instances are alike, so that the first of
    those to come may be the one that holds a largest copy of those left over; and a
    filling that has room for more need not be tried where the one with more was.
    """
    if len(kinds.sizes) > MOST_KINDS:
        return _Verdict()
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
            return _Verdict(fillings=filled + empty, steps=steps.taken)
        may_fit = all(limit.instances_for(left) <= free for limit in among)
        if may_fit and free > hopeless.get(left, 0):
            waiting.append((left, _fillings(kinds, left, steps)))
    return _Verdict(is_impossible=not steps.are_spent, steps=steps.taken)


class Limit(NamedTuple):
    """
    The most of a resource that copies of these sizes can use of an instance together.
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


class Kinds(NamedTuple):
    """
    Copies counted by what each reserves, the largest kind first; ``names`` has for each
    kind its models and their copies, and ``room`` is what each instance has.
    """

    sizes: tuple[Units, ...]
    counts: Counts
    names: tuple[tuple[tuple[str, int], ...], ...]
    room: Units

    @classmethod
    def of(
        cls, models: Mapping[str, ResourceRequirements], capacity: Capacity
    ) -> Kinds:
        """
        Count copies; the order of the models makes no difference.
        """
        room = capacity.units
        names: dict[Units, list[tuple[str, int]]] = {}
        for name, needs in sorted(models.items()):
            if needs.copies:
                names.setdefault(needs.units, []).append((name, needs.copies))
        sizes = sorted(names, key=lambda size: (share(size, room), size), reverse=True)
        return cls(
            sizes=tuple(sizes),
            counts=tuple(sum(copies for _, copies in names[s]) for s in sizes),
            names=tuple(tuple(names[size]) for size in sizes),
            room=room,
        )

    def by_model(self, fillings: Sequence[Counts]) -> list[dict[str, int]]:
        """
        Say which models' copies stand for the kinds on each instance.
        """
        waiting = [dict(pairs) for pairs in self.names]
        return [
            {
                name: copies
                for kind, count in enumerate(filling)
                for name, copies in _taken(waiting[kind], count)
            }
            for filling in fillings
        ]


def share(size: Units, room: Units) -> float:
    """
    Return how much of an instance a copy takes of what it takes most of.
    """
    return max(
        need / has if has else float(need) for need, has in zip(size, room, strict=True)
    )


def fits(size: Units, room: Units) -> bool:
    """
    Tell whether a copy of a size fits a room.
    """
    return size[0] <= room[0] and size[1] <= room[1] and size[2] <= room[2]


def fitting(size: Units, room: Units) -> int:
    """
    Return how many copies of a size fit a room.
    """
    # Spelled out, as what a search asks most: every copy reserves memory.
    most = room[2] // size[2]
    if size[0]:
        most = min(most, room[0] // size[0])
    if size[1]:
        most = min(most, room[1] // size[1])
    return most


def minus(room: Units, size: Units, copies: int) -> Units:
    """
    Return what is left of a room beside copies of a size.
    """
    return (
        room[0] - copies * size[0],
        room[1] - copies * size[1],
        room[2] - copies * size[2],
    )


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


class _Verdict(NamedTuple):
    """
    What a search came to: what each instance holds, if a packing of all copies was
    found, whether it is proven that there is none, and how much work it was.
    """

    fillings: Fillings | None = None
    is_impossible: bool = False
    steps: int = 0


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


def _taken(waiting: dict[str, int], count: int) -> list[tuple[str, int]]:
    taken = []
    for name in list(waiting):
        copies = min(count, waiting[name])
        count -= copies
        waiting[name] -= copies
        if not waiting[name]:
            del waiting[name]
        if copies:
            taken.append((name, copies))
    return taken


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
