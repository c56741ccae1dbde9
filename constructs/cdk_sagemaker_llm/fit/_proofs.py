"""
Proofs that copies need more instances than there are.

Give each kind of copy a worth. If no instance can hold copies worth more than some
most, then all copies need at least their worth divided by it. This is true of any
worths: accelerators, cores and memory are the obvious ones, and prices that rise for
what is scarce lead to the bound of linear programming. Everything is counted in whole
numbers, so that a proof is one.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.fit._kinds import Counts, Kinds, fits, fitting, minus, share
from cdk_sagemaker_llm.fit.placement import Units

# Prices prove something within a hundred rounds, or not soon.
_ROUNDS = 100
_PRICE = 10**6

_Density = tuple[int, int]


class Budget:
    """
    How many steps a search may still take.
    """

    def __init__(self, steps: int) -> None:
        self.left = self._most = steps

    @property
    def taken(self) -> int:
        """
        How many steps were taken.
        """
        return self._most - max(self.left, 0)

    def spend(self) -> bool:
        """
        Take a step; false when none is left.
        """
        self.left -= 1
        return self.left >= 0

    @property
    def is_spent(self) -> bool:
        """
        Whether a search gave up, so that what it did not find may exist.
        """
        return self.left < 0


@dataclass(frozen=True, slots=True)
class Cut:
    """
    What a copy of each kind is worth, and the most worth that an instance can hold.

    Args:
        worth: By kind.

        most: An upper bound, not always reached.

        axis: The resource of which worth is the amount; ``None`` for prices.
    """

    worth: Counts
    most: int
    axis: int | None = None

    def instances_for(self, counts: Sequence[int]) -> int:
        """
        Return how many instances copies need at least.
        """
        return -(-self._total(counts) // self.most) if self.most else 0

    def load(self, counts: Sequence[int]) -> float:
        """
        Return how many instances the worth of copies fills.
        """
        return self._total(counts) / self.most if self.most else 0.0

    def _total(self, counts: Sequence[int]) -> int:
        return sum(map(operator.mul, self.worth, counts))


def sums(kinds: Kinds) -> list[Cut]:
    """
    Take what instances have in accelerators, cores and memory.
    """
    return [
        Cut(tuple(size[axis] for size in kinds.sizes), has, axis)
        for axis, has in enumerate(kinds.room)
        if has
    ]


def cuts(kinds: Kinds, instances: int, budget: Budget) -> Iterator[Cut]:
    """
    Find cuts, the simple ones first, until they prove something or steps run out.
    """
    for simple in sums(kinds):
        yield Cut(simple.worth, dearest(kinds, simple.worth, budget)[0], simple.axis)
    yield from _prices(kinds, instances, budget)


def _prices(kinds: Kinds, instances: int, budget: Budget) -> Iterator[Cut]:
    worth = scaled([share(size, kinds.room) for size in kinds.sizes])
    for _ in range(_ROUNDS):
        if budget.is_spent or not any(worth):
            return
        most, filling = dearest(kinds, worth, budget)
        yield Cut(worth, most)
        worth = moved(worth, kinds.counts, filling, instances)


def moved(worth: Counts, counts: Counts, filling: Counts, instances: int) -> Counts:
    """
    Lower the prices of what the dearest filling has much of; raise all others.
    """
    # The reflection method: twice the step after which this filling, on every
    # instance, would be worth no more than all copies. Prices that prove something
    # are not always there; where they leave some play, they are reached in the end.
    ways = [
        count - instances * have for count, have in zip(counts, filling, strict=True)
    ]
    excess = 1 - sum(map(operator.mul, worth, ways))
    step = 2 * excess / (sum(way * way for way in ways) or 1)
    return scaled([price + step * way for price, way in zip(worth, ways, strict=True)])


def scaled(prices: Sequence[float]) -> Counts:
    """
    Round prices to whole numbers, of which the highest is always the same.
    """
    top = max([*prices, 0.0])
    return tuple(round(max(p, 0.0) / top * _PRICE) if top else 0 for p in prices)


def dearest(kinds: Kinds, worth: Counts, budget: Budget) -> tuple[int, Counts]:
    """
    Find the copies of the most worth that one instance can hold.

    Returns:
        An upper bound on what any copies on an instance are worth, which is reached
        unless the steps ran out, and the best copies that were found.
    """
    search = _Dearest(kinds, worth, budget)
    ceiling = search.ceiling(0, kinds.room)
    search.fill(0, kinds.room, 0)
    return (ceiling if budget.is_spent else search.best), tuple(search.filling)


class _Dearest:
    """
    A knapsack of three sizes, by branch and bound.
    """

    def __init__(self, kinds: Kinds, worth: Counts, budget: Budget) -> None:
        self._kinds = kinds
        self._worth = worth
        self._budget = budget
        self._order = sorted(
            (kind for kind, price in enumerate(worth) if price),
            key=lambda kind: worth[kind] / share(kinds.sizes[kind], kinds.room),
            reverse=True,
        )
        self._densest = [self._densest_from_each(axis) for axis in range(3)]
        self._chosen = [0] * len(worth)
        self.best = 0
        self.filling = list(self._chosen)

    def _densest_from_each(self, axis: int) -> list[_Density | None]:
        """
        For each place in the order, find the most worth per size from there on.
        """
        found: list[_Density | None] = []
        densest: _Density | None = (0, 1)
        for kind in reversed(self._order):
            worth, size = self._worth[kind], self._kinds.sizes[kind][axis]
            # Compared in whole numbers: a rounded ratio would be no bound.
            if densest and worth * densest[1] > densest[0] * size:
                densest = (worth, size) if size else None
            found.append(densest)
        return found[::-1]

    def ceiling(self, start: int, room: Units) -> int:
        """
        Bound what the kinds from a place in the order on can add.
        """
        if start >= len(self._order):
            return 0
        most: int | None = None
        for has, densest in zip(room, self._densest, strict=True):
            found = densest[start]
            if found is not None:
                value = has * found[0] // found[1]
                most = value if most is None or value < most else most
        return most or 0

    def fill(self, start: int, room: Units, value: int) -> None:
        """
        Add copies of the kinds from a place in the order on.
        """
        if value > self.best:
            self.best, self.filling = value, list(self._chosen)
        for at in range(start, len(self._order)):
            kind = self._order[at]
            size = self._kinds.sizes[kind]
            if not fits(size, room):
                continue
            if value + self.ceiling(at, room) <= self.best:
                return
            most = min(self._kinds.counts[kind], fitting(size, room))
            for copies in range(most, 0, -1):
                if not self._budget.spend():
                    return
                self._chosen[kind] = copies
                price = copies * self._worth[kind]
                self.fill(at + 1, minus(room, size, copies), value + price)
            self._chosen[kind] = 0
