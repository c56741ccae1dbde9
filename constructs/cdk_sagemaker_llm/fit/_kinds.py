"""
Copies by what they reserve: a search need not tell alike copies apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements, Units

Counts = tuple[int, ...]
Fillings = list[Counts]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kinds:
    """
    Copies counted by what each reserves, the largest kind first.

    Args:
        sizes: What a copy of each kind reserves.

        counts: How many copies there are of each kind.

        names: For each kind, its models and their copies, by name.

        room: What each instance has.
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
