"""
Placing copies by rules of thumb: quick, and nearly always enough.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence

from cdk_sagemaker_llm.fit._kinds import Counts, Fillings, Kinds, fitting, minus
from cdk_sagemaker_llm.fit.placement import Units

_Order = Callable[[Sequence[Units]], Sequence[int]]


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


def _orders(kinds: Kinds) -> Iterator[list[int]]:
    numbers = list(range(len(kinds.sizes)))
    yield numbers
    for axes in ((0, 2, 1), (0, 1, 2), (2, 0, 1), (1, 0, 2)):
        first = operator.itemgetter(*axes)
        yield sorted(numbers, key=lambda n: first(kinds.sizes[n]), reverse=True)


def _place(
    kinds: Kinds, instances: int, order: Sequence[int], where: _Order
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
