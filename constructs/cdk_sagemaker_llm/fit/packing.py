"""
Packing copies of several models onto equal instances, exactly.

Copies of one model are alike, and so are the instances: the search fills one instance
after the other with maximal patterns that hold the largest copy left over ("bin
completion"), remembers what it has failed with, and gives up after a number of steps.
It is exact for the fleets that occur: up to some ten models of many copies, and far
beyond where a greedy placement succeeds or the sums show that none can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.fit.placement import (
    Capacity,
    ResourceRequirements,
    overflow,
    place,
)

# A step is one copy put on an instance; so many take some tenths of a second.
MOST_STEPS = 5_000
# The search goes as deep as there are copies.
_MOST_COPIES = 400

_Vector = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Packing:
    """
    Which copies run on which instance.

    Args:
        capacity: What each instance has.

        needs: What a copy of each model reserves.

        instances: For each instance, its copies by model.

        left_over: Copies that found no place, by model.

        is_proven: Whether no other packing would place all copies either.
    """

    capacity: Capacity
    needs: Mapping[str, ResourceRequirements]
    instances: tuple[Mapping[str, int], ...]
    left_over: Mapping[str, int]
    is_proven: bool

    @property
    def is_complete(self) -> bool:
        """
        Whether every copy has a place.
        """
        return not self.left_over

    @property
    def is_impossible(self) -> bool:
        """
        Whether it is proven that not every copy can have a place.
        """
        return bool(self.left_over) and self.is_proven

    def free(self, index: int) -> Capacity:
        """
        Return what is left of an instance.
        """
        left = self.capacity
        for name, copies in self.instances[index].items():
            left = left.minus(self.needs[name], copies)
        return left

    def explain(self) -> str:
        """
        Show the packing, one instance a line.
        """
        lines = [self._line(index) for index in range(len(self.instances))]
        if self.left_over:
            lines.append(f"no place: {_listed(self.left_over)}")
        return "\n".join(lines)

    def _line(self, index: int) -> str:
        free = self.free(index)
        copies = self.instances[index]
        return (
            f"instance {index + 1}: {_listed(copies) if copies else 'empty'}; free "
            f"{free.accelerators:g} accelerators, {free.cpus:g} CPU cores, "
            f"{free.memory_mib / 1024:.0f} GiB"
        )


def pack(
    models: Mapping[str, ResourceRequirements], capacity: Capacity, instances: int
) -> Packing:
    """
    Place every model's copies on a number of equal instances.

    Args:
        models: What a copy of each model reserves, and how many copies there are.

        capacity: What each instance has.

        instances: How many instances there are.

    Returns:
        A packing of all copies if there is one; else the best that was found, with
        whether it is proven that there is none.
    """
    placed, left = place(models, capacity, instances)
    proven = bool(left) and bool(overflow(models, capacity, instances))
    if left and not proven:
        found, proven = _search(models, capacity, instances)
        if found is not None:
            placed, left = found, {}
    return Packing(
        capacity=capacity,
        needs=dict(models),
        instances=tuple(placed),
        left_over=left,
        is_proven=proven or not left,
    )


def fewest_instances(
    models: Mapping[str, ResourceRequirements], capacity: Capacity
) -> Packing:
    """
    Pack copies onto as few instances as possible.

    Raises:
        ValueError: If a copy of a model is larger than an instance.
    """
    alone = [name for name, needs in models.items() if capacity.limits_for(needs)]
    if alone:
        raise ValueError(f"a copy of {', '.join(alone)} is larger than an instance")
    count = 1
    while True:
        packing = pack(models, capacity, count)
        if packing.is_complete:
            return packing
        count += 1


def _search(
    models: Mapping[str, ResourceRequirements], capacity: Capacity, instances: int
) -> tuple[list[dict[str, int]] | None, bool]:
    """
    Look for a packing; also tell whether the search came to its end.
    """
    room = _room(capacity)
    by_size: dict[_Vector, list[str]] = {}
    for name, needs in models.items():
        by_size.setdefault(_vector(needs), []).extend([name] * needs.copies)
    sizes = sorted(by_size, key=lambda size: _weight(size, room), reverse=True)
    if sum(map(len, by_size.values())) > _MOST_COPIES:
        return None, False
    search = _Search(sizes, [len(by_size[size]) for size in sizes], room)
    if not search.fill(instances):
        return None, not search.is_spent
    placed = [
        dict(Counter(by_size[sizes[index]].pop() for index in chosen))
        for chosen in search.filled
    ]
    return placed + [{} for _ in range(instances - len(placed))], True


class _Search:
    """
    A depth-first search over the fillings of one instance after the other.
    """

    def __init__(
        self, sizes: Sequence[_Vector], counts: list[int], room: _Vector
    ) -> None:
        self._sizes = sizes
        self._counts = counts
        self._room = room
        self._open: list[int] = []
        self._failed: set[tuple[tuple[int, ...], int]] = set()
        self.filled: list[list[int]] = []
        self.steps = 0

    @property
    def is_spent(self) -> bool:
        """
        Whether the search gave up, so that what it did not find may exist.
        """
        return self.steps >= MOST_STEPS

    def fill(self, bins: int) -> bool:
        """
        Place all copies that are left into at most so many bins.
        """
        first = next((i for i, count in enumerate(self._counts) if count), None)
        if first is None:
            return True
        state = (tuple(self._counts), bins)
        if bins == 0 or state in self._failed or self._exceeds(bins):
            return False
        # Some bin holds the largest copy that is left: let it be this one.
        if self._add(first, self._room, bins):
            return True
        if not self.is_spent:
            self._failed.add(state)
        return False

    def _add(self, index: int, room: _Vector, bins: int) -> bool:
        self._counts[index] -= 1
        self._open.append(index)
        if self._extend(index, _minus(room, self._sizes[index]), bins):
            return True
        self._open.pop()
        self._counts[index] += 1
        return False

    def _extend(self, start: int, room: _Vector, bins: int) -> bool:
        self.steps += 1
        if self.is_spent:
            return False
        fitting = [
            index
            for index, size in enumerate(self._sizes)
            if self._counts[index] and _fits(size, room)
        ]
        if not fitting:
            return self._close(bins)
        # A bin that could hold more need not be tried with less: what fits, but comes
        # before, was passed over, and makes this filling no maximal one.
        return any(self._add(i, room, bins) for i in fitting if i >= start)

    def _close(self, bins: int) -> bool:
        self.filled.append(self._open)
        self._open = []
        if self.fill(bins - 1):
            return True
        self._open = self.filled.pop()
        return False

    def _exceeds(self, bins: int) -> bool:
        return any(
            sum(
                count * size[axis]
                for count, size in zip(self._counts, self._sizes, strict=True)
            )
            > has * bins
            for axis, has in enumerate(self._room)
        )


def _vector(needs: ResourceRequirements) -> _Vector:
    # Cores come in fractions; in thousandths they add up without rounding.
    return (
        needs.accelerators or 0,
        round((needs.cpus or 0) * 1000),
        needs.memory_mib,
    )


def _room(capacity: Capacity) -> _Vector:
    return (
        int(capacity.accelerators),
        round(capacity.cpus * 1000),
        int(capacity.memory_mib),
    )


def _weight(size: _Vector, room: _Vector) -> float:
    return max(need / has for need, has in zip(size, room, strict=True) if has)


def _fits(size: _Vector, room: _Vector) -> bool:
    return size[0] <= room[0] and size[1] <= room[1] and size[2] <= room[2]


def _minus(room: _Vector, size: _Vector) -> _Vector:
    return (room[0] - size[0], room[1] - size[1], room[2] - size[2])


def _listed(copies: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in copies.items())
