"""
The copies of models in a fleet: placed, started, served from, moved together so that
instances can go, and taken out of service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from cdk_sagemaker_llm.fit.placement import Capacity
from cdk_sagemaker_llm.simulation.clock import Planned
from cdk_sagemaker_llm.simulation.fleet.parts import (
    Copy,
    Instance,
    Journal,
    Needs,
    ScaleIn,
    Trouble,
    has_room,
    nameplate,
    needs_on,
)
from cdk_sagemaker_llm.simulation.fleet.racks import Racks
from cdk_sagemaker_llm.simulation.fleet.times import FleetTimes, Seconds, seconds

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

    def crowded(instance: Instance) -> tuple[int, int]:
        of_name = sum(copy.name == name for copy in instance.copies)
        return of_name, len(instance.copies)

    # The first of those with the fewest copies of the name, then of any.
    return min(roomy, key=crowded, default=None)


def shortfall(
    frees: Sequence[tuple[str, Capacity | None]], needs: Needs, copies: int
) -> list[str] | None:
    """
    Say which resources the best of some places lacks if so many more copies are put
    where there is room; ``None`` if all fit, and empty if there is no place.
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
    Find other instances for every copy of one; ``None`` if they do not all fit. What
    the copies take is taken off what is free on the others.
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
    Return the type and the room of an instance that could be asked for: the first on
    which a copy fits at all, or else the first.
    """
    for kind in kinds:
        if has_room(nameplate(kind), needs_on(needs, kind)):
            return kind, nameplate(kind)
    return kinds[0], nameplate(kinds[0])


class Consolidation:
    """
    The CONSOLIDATION strategy of managed instance scaling.

    A copy serves in its new place before it leaves the old one.
    """

    def __init__(
        self, journal: Journal, racks: Racks, copies: Copies, policy: ScaleIn | None
    ) -> None:
        self._journal = journal
        self._racks = racks
        self._copies = copies
        consolidates = policy is not None and policy.strategy == "CONSOLIDATION"
        self._policy = policy if consolidates else None
        self._planned: Planned | None = None
        # Instances whose copies are on their way to others.
        self._emptying: list[Instance] = []

    def look(self) -> None:
        """
        Look for instances to free when nothing has changed for the cooldown.
        """
        if self._policy is None:
            return
        if self._planned is not None:
            self._planned.cancel()
        self._planned = self._journal.timeline.after(
            self._policy.cooldown, self._consolidate
        )

    def cancel(self) -> None:
        """
        Leave copies where they are: something else is wanted now.
        """
        for instance in self._emptying:
            if instance.state == "leaving":
                instance.state = "running"
        self._emptying = []
        for instance in self._racks.instances[:]:
            for copy in instance.copies[:]:
                if copy.replaces is not None:
                    self._copies.take(copy, "not moved after all")

    def _consolidate(self) -> None:
        self._planned = None
        if self._policy is None or not self._copies.is_settled():
            return
        self._emptying = []
        racks = self._racks
        frees = {i: i.free for i in racks.usable if i.copies}
        step = min(self._policy.maximum_step, racks.running - racks.minimum)
        for instance in sorted(racks.usable, key=lambda i: len(i.copies)):
            if len(self._emptying) < step:
                self._empty(instance, frees)

    def _empty(
        self, instance: Instance, frees: dict[Instance, Capacity | None]
    ) -> None:
        others = {i: free for i, free in frees.items() if i is not instance}
        moves = moves_off(instance, others)
        if moves is None or any(c.replaces is not None for c in instance.copies):
            return
        frees.pop(instance, None)
        frees.update(others)
        self._emptying.append(instance)
        if not instance.copies:
            self._copies.dismiss(instance, "consolidated")
            return
        instance.state = "leaving"
        for copy, other in moves:
            self._copies.put(copy.name, other, copy)


class Copies:
    """
    The copies of one fleet and what happens to each; ``changes`` is called when
    something has happened by itself.
    """

    def __init__(
        self,
        journal: Journal,
        racks: Racks,
        *,
        times: FleetTimes,
        trouble: Callable[[Copy], Trouble | None],
        changes: Callable[[], None],
    ) -> None:
        self.works: dict[str, Work] = {}
        self._journal = journal
        self._racks = racks
        self._times = times
        self._trouble = trouble
        self._changes = changes

    def serving(self, name: str) -> int:
        """
        Return how many copies take requests.
        """
        return sum(copy.state == "serving" for copy in self.works[name].copies)

    def is_settled(self, name: str | None = None) -> bool:
        """
        Tell whether nothing of a model is under way, or of all and the instances.
        """
        copies = [
            copy
            for instance in self._racks.instances
            for copy in instance.copies
            if name in {None, copy.name}
        ]
        moving = any(copy.state != "serving" for copy in copies)
        coming = any(i.state in {"asked", "leaving"} for i in self._racks.instances)
        return not moving and not (name is None and coming)

    def put(self, name: str, instance: Instance, replaces: Copy | None = None) -> None:
        """
        Place one more copy on an instance.
        """
        work = self.works[name]
        needs = needs_on(work.needs, instance.instance_type)
        copy = Copy(name, instance, needs, self._journal.now, replaces=replaces)
        instance.copies.append(copy)
        work.copies.append(copy)
        if instance.state == "running":
            self._start(copy)

    def take(self, copy: Copy, why: str, work: Work | None = None) -> None:
        """
        Take a copy out of service; it ends when it has finished what it has.
        """
        serves = copy.state == "serving"
        if copy.planned is not None:
            copy.planned.cancel()
        if copy.state in {"leaving", "gone"}:
            return
        work = work or self.works[copy.name]
        if not serves:
            self._end(copy, work)
            return
        serving = sum(c.state == "serving" for c in work.copies)
        copy.state = "leaving"
        what = f"serving copies of {copy.name}"
        self._journal.note(what, serving, serving - 1, why)
        self._journal.listener.copy_leaving(copy)
        drain = seconds(self._times.drain, copy.instance.instance_type)
        self._journal.later(drain, partial(self._end, copy, work))

    def dismiss(self, instance: Instance, why: str) -> None:
        """
        Let an instance go as soon as its copies have ended.
        """
        if instance.state == "asked" or not instance.copies:
            self._racks.drop(instance, why)
            return
        instance.state = "leaving"
        for copy in reversed(instance.copies[:]):
            work = self.works.get(copy.name)
            if work is not None:
                self.take(copy, why, work)

    def restart(self, copy: Copy, why: str) -> None:
        """
        Have a copy's container start again: it takes no requests until it has.
        """
        serving = self.serving(copy.name)
        copy.state = "starting"
        self._journal.note(f"serving copies of {copy.name}", serving, serving - 1, why)
        self._journal.listener.copy_leaving(copy)
        work = self.works[copy.name]
        delay = seconds(work.start, copy.instance.instance_type)
        copy.planned = self._journal.later(delay, partial(self._serve, copy))
        self._journal.listener.changed()

    def start_waiting(self, instance: Instance) -> None:
        """
        Start the copies of an instance that has come.
        """
        for copy in instance.copies[:]:
            if copy.state == "waiting":
                self._start(copy)

    def _start(self, copy: Copy) -> None:
        copy.state = "starting"
        work, instance = self.works[copy.name], copy.instance
        if work.is_ready:
            instance.images[work.image] = self._journal.now
            self._serve(copy)
            return
        trouble = self._trouble(copy)
        if trouble is not None:
            fail = partial(self._fail, copy, trouble.why)
            copy.planned = self._journal.later(trouble.after, fail)
            return
        kind, now = instance.instance_type, self._journal.now
        pulled = now + seconds(self._times.image_pull, kind)
        pulled = instance.images.setdefault(work.image, pulled)
        delay = max(0.0, pulled - now) + seconds(work.start, kind)
        copy.planned = self._journal.later(delay, partial(self._serve, copy))

    def _serve(self, copy: Copy) -> None:
        serving = self.serving(copy.name)
        copy.state, copy.planned = "serving", None
        what = f"serving copies of {copy.name}"
        self._journal.note(what, serving, serving + 1, copy.instance.instance_type)
        self._journal.listener.copy_serving(copy)
        moved, copy.replaces = copy.replaces, None
        if moved is not None:
            self.take(moved, "moved to another instance")
        self._changes()

    def _fail(self, copy: Copy, why: str) -> None:
        work = self.works[copy.name]
        work.refusal, work.is_held = why, True
        self._journal.note(f"failed copies of {copy.name}", 0, 1, why)
        self._journal.listener.copy_failed(copy, why)
        self._end(copy, work)
        if self._times.retry:
            again = partial(self._retry_failed, work)
            self._journal.timeline.after(self._times.retry, again)

    def _retry_failed(self, work: Work) -> None:
        if self.works.get(work.name) is work:
            work.is_held = False
            self._changes()

    def _end(self, copy: Copy, work: Work) -> None:
        copy.state, copy.planned = "gone", None
        copy.instance.copies.remove(copy)
        work.copies.remove(copy)
        self._journal.listener.copy_gone(copy)
        self._racks.left(copy.instance)
        self._changes()


@dataclass(eq=False, kw_only=True, slots=True)
class Work:
    """
    A model in a fleet: how many copies are wanted, and those there are.
    """

    name: str
    needs: Needs
    desired: int
    start: Seconds
    image: str
    placement: Strategy
    is_ready: bool
    copies: list[Copy] = field(default_factory=list)
    refusal: str | None = None
    # Copies failed: no more are started until it is tried again.
    is_held: bool = False
