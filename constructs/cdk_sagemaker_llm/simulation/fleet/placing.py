"""
Where copies go: the first instance with room, or the one with the fewest of its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from cdk_sagemaker_llm.fit.placement import Capacity
from cdk_sagemaker_llm.simulation.fleet.parts import (
    Copy,
    Instance,
    Needs,
    has_room,
    nameplate,
    needs_on,
)

Strategy = Literal["BINPACK", "SPREAD"]

NO_ROOM_FOR_COPY = (
    "There is not enough hardware resources on the instances for this endpoint to "
    "create a copy of the inference component."
)


def choose(
    instances: Iterable[Instance], name: str, needs: Needs, strategy: Strategy
) -> Instance | None:
    """
    Return the instance for one more copy; ``None`` if none has room.
    """
    roomy = (
        instance
        for instance in instances
        if instance.takes_copies
        and has_room(instance.free, needs_on(needs, instance.instance_type))
    )
    if strategy == "BINPACK":
        return next(roomy, None)
    # The first of those with the fewest copies of the name, then of any.
    return min(
        roomy, key=lambda i: (_count(i.copies, name), len(i.copies)), default=None
    )


def shortfall(
    frees: Sequence[tuple[str, Capacity | None]], needs: Needs, copies: int
) -> list[str] | None:
    """
    Say what is short if copies are put where there is room; ``None`` if all fit.

    Args:
        frees: Types and what is free of each place, the first one first.

        needs: What a copy reserves.

        copies: How many more.

    Returns:
        The resources that the best of the places lacks; empty if there is no place.
    """
    places = [(free, needs_on(needs, kind)) for kind, free in frees]
    for _ in range(copies):
        for index, (free, own) in enumerate(places):
            if has_room(free, own):
                if free is not None and own is not None:
                    places[index] = (free.minus(own), own)
                break
        else:
            limits = [f.limits_for(n) for f, n in places if f and n]
            return min(limits, key=len, default=[])
    return None


def moves_off(
    instance: Instance, others: dict[Instance, Capacity | None]
) -> list[tuple[Copy, Instance]] | None:
    """
    Find other instances for every copy of one; ``None`` if they do not all fit.

    Args:
        instance: The one to empty.

        others: What is free on each of the others; what the copies take is taken off.
    """
    found = []
    for copy in instance.copies:
        # The same hardware: what a copy needs elsewhere is not known here.
        roomy = (
            other
            for other, free in others.items()
            if other.instance_type == instance.instance_type
            and has_room(free, copy.needs)
        )
        target = next(roomy, None)
        if target is None:
            return None
        free = others[target]
        if free is not None and copy.needs is not None:
            others[target] = free.minus(copy.needs)
        found.append((copy, target))
    return found


def new_place(kinds: Sequence[str], needs: Needs) -> tuple[str, Capacity | None]:
    """
    Return the type and the room of an instance that could be asked for.

    The first type on which a copy fits at all; the first one if it fits on none.
    """
    for kind in kinds:
        if has_room(nameplate(kind), needs_on(needs, kind)):
            return kind, nameplate(kind)
    return kinds[0], nameplate(kinds[0])


def _count(copies: Iterable[Copy], name: str) -> int:
    return sum(copy.name == name for copy in copies)
