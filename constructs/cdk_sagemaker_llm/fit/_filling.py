"""
Filling instances with copies: quickly by rules of thumb, exactly by search.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from cdk_sagemaker_llm.fit._kinds import Counts, Kinds, fits, fitting, minus
from cdk_sagemaker_llm.fit._proofs import Budget, Cut, dearest, moved
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


def by_price(
    kinds: Kinds, instances: int, worth: Counts, budget: Budget
) -> Fillings | None:
    """
    Fill one instance after the other with the copies that are worth most.

    Prices that nearly prove that the copies do not fit are high for what is hard to
    place; they move with what is left over.
    """
    left, filled = kinds.counts, list[Counts]()
    while any(left) and len(filled) < instances and not budget.is_spent:
        rest, free = replace(kinds, counts=left), instances - len(filled)
        worth = moved(worth, left, dearest(rest, worth, budget)[1], free)
        # Copies without a price are placed as well, where they cost no room.
        filling = dearest(rest, tuple(max(price, 1) for price in worth), budget)[1]
        left = tuple(map(operator.sub, left, filling))
        filled.append(filling)
    return None if any(left) else _padded(filled, instances)


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
            return _padded(filled, instances)
        free = instances - len(filled)
        if free > hopeless.get(left, 0) and _may_fit(left, free, cuts):
            waiting.append((left, _fillings(kinds, left, budget)))
    return None


def _padded(filled: Fillings, instances: int) -> Fillings:
    return filled + [(0,) * len(filled[0])] * (instances - len(filled))


def _may_fit(left: Counts, free: int, cuts: Sequence[Cut]) -> bool:
    return all(cut.instances_for(left) <= free for cut in cuts)


def _fillings(kinds: Kinds, left: Counts, budget: Budget) -> Iterator[Counts]:
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
            if not budget.spend():
                return
            chosen[kind] = copies
            yield from extend(kind + 1, minus(room, sizes[kind], copies), more)
        chosen[kind] = 0

    every = [kind for kind, count in enumerate(left) if count]
    return choose(every[0], kinds.room, every)


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
