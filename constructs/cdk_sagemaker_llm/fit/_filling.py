"""
Filling instances with copies: quickly by rules of thumb, exactly by search.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence

from cdk_sagemaker_llm.fit._kinds import Counts, Kinds, fitting, minus
from cdk_sagemaker_llm.fit._proofs import Budget, Cut
from cdk_sagemaker_llm.fit.placement import Units

Fillings = list[Counts]


def greedily(kinds: Kinds, instances: int) -> tuple[Fillings, Counts]:
    """
    Place the largest copies first, in several orders; keep what leaves least over.

    Returns:
        What each instance holds, and the copies left over.
    """
    best: tuple[Fillings, Counts] = [], kinds.counts
    for order in _orders(kinds):
        for where in (_first, _fullest):
            found = _place(kinds, instances, order, where)
            if not best[0] or sum(found[1]) < sum(best[1]):
                best = found
            if not any(found[1]):
                return found
    return best


def exactly(
    kinds: Kinds, instances: int, cuts: Sequence[Cut], budget: Budget
) -> Fillings | None:
    """
    Look for a place for all copies; there is none unless the budget was spent.

    One instance is filled after the other. Instances are alike, so that the first of
    those to come may be the one that holds a largest copy of those left over; and a
    filling that has room for more need not be tried where the one with more was.
    """
    left, filled = kinds.counts, list[Counts]()
    waiting = [(left, _fillings(kinds, left, budget))]
    hopeless: dict[Counts, int] = {}
    while waiting and not budget.is_spent:
        left, fillings = waiting[-1]
        del filled[len(waiting) - 1 :]
        filling = next(fillings, None)
        if filling is None:
            waiting.pop()
            hopeless[left] = instances - len(waiting)
            continue
        filled.append(filling)
        left = tuple(map(operator.sub, left, filling))
        if not any(left):
            return filled + [(0,) * len(left)] * (instances - len(filled))
        free = instances - len(filled)
        if free > hopeless.get(left, 0) and _may_fit(left, free, cuts):
            waiting.append((left, _fillings(kinds, left, budget)))
    return None


def _may_fit(left: Counts, free: int, cuts: Sequence[Cut]) -> bool:
    return all(cut.instances_for(left) <= free for cut in cuts)


def _fillings(kinds: Kinds, left: Counts, budget: Budget) -> Iterator[Counts]:
    """
    List all fillings with the first kind left over that have room for nothing more.
    """
    chosen = [0] * len(left)
    first = next(kind for kind, count in enumerate(left) if count)

    def extend(start: int, room: Units) -> Iterator[Counts]:
        more = [
            (kind, min(count - chosen[kind], fitting(kinds.sizes[kind], room)))
            for kind, count in enumerate(left)
            if count > chosen[kind]
        ]
        more = [(kind, most) for kind, most in more if most]
        if not more:
            yield tuple(chosen)
        for kind, most in more:
            if kind >= start:
                yield from choose(kind, most, room)

    def choose(kind: int, most: int, room: Units) -> Iterator[Counts]:
        for copies in range(most, 0, -1):
            if not budget.spend():
                return
            chosen[kind] = copies
            yield from extend(kind + 1, minus(room, kinds.sizes[kind], copies))
        chosen[kind] = 0

    most = min(left[first], fitting(kinds.sizes[first], kinds.room))
    return choose(first, most, kinds.room)


def _orders(kinds: Kinds) -> Iterator[list[int]]:
    numbers = list(range(len(kinds.sizes)))
    yield numbers
    for axes in ((0, 2, 1), (0, 1, 2), (2, 0, 1), (1, 0, 2)):
        first = operator.itemgetter(*axes)
        yield sorted(numbers, key=lambda n: first(kinds.sizes[n]), reverse=True)


def _place(
    kinds: Kinds,
    instances: int,
    order: Sequence[int],
    where: Callable[[Sequence[Units]], Sequence[int]],
) -> tuple[Fillings, Counts]:
    free = [kinds.room] * instances
    filled = [[0] * len(kinds.sizes) for _ in free]
    left = list(kinds.counts)
    for kind in order:
        size = kinds.sizes[kind]
        for index in where(free):
            copies = min(left[kind], fitting(size, free[index]))
            free[index] = minus(free[index], size, copies)
            filled[index][kind] = copies
            left[kind] -= copies
    return [tuple(filling) for filling in filled], tuple(left)


def _first(free: Sequence[Units]) -> Sequence[int]:
    return range(len(free))


def _fullest(free: Sequence[Units]) -> Sequence[int]:
    return sorted(range(len(free)), key=lambda index: free[index])
