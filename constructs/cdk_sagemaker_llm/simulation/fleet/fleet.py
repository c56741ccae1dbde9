"""
The instances behind a variant and the copies on them, as they change in time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet.copies import (
    NO_ROOM_FOR_COPY,
    Consolidation,
    Copies,
    Strategy,
    Work,
    choose,
    new_place,
    shortfall,
)
from cdk_sagemaker_llm.simulation.fleet.parts import (
    Available,
    Copy,
    Instance,
    Journal,
    Listener,
    Needs,
    Pool,
    ScaleIn,
    Step,
    Trouble,
    has_room,
    nameplate,
    needs_on,
    unlimited,
)
from cdk_sagemaker_llm.simulation.fleet.racks import Racks
from cdk_sagemaker_llm.simulation.fleet.times import FleetTimes, Seconds


class Fleet:
    """
    Instances and copies of one variant, which take their time to come and to go.

    What takes no time is done before a call returns; everything else happens on the
    timeline, which somebody has to run.

    Args:
        timeline: The time.

        pools: The instance types, by priority.

        instances: How many there are at first.

        minimum: How many there are at least. If omitted, as many as at first.

        maximum: How many there are at most. If omitted, as many as at first.

        managed: Whether copies bring instances along and take them with them.
            If omitted, there are as many as ``set_instances`` says.

        times: How long things take. If omitted, the defaults of ``FleetTimes``.

        scale_in: The policy of managed instance scaling.
            If omitted, instances without copies go after ``times.release``.

        capacity: How many instances of a type the region gives this fleet in all.
            If omitted, there is no end of them.

        provision_timeout: How many seconds to wait for capacity.
            If omitted, it is ``times.refusal``.

        trouble: What keeps a copy from serving. If omitted, nothing does.

        ready: Whether the first instances run already. If omitted, they are asked for.

        listener: Who is told what happens. If omitted, nobody is.
    """

    def __init__(
        self,
        timeline: Timeline,
        *,
        pools: Sequence[Pool],
        instances: int,
        minimum: int | None = None,
        maximum: int | None = None,
        managed: bool = False,
        times: FleetTimes | None = None,
        scale_in: ScaleIn | None = None,
        capacity: Available = unlimited,
        provision_timeout: float | None = None,
        trouble: Callable[[Copy], Trouble | None] | None = None,
        ready: bool = False,
        listener: Listener | None = None,
    ) -> None:
        self.managed = managed
        self._times = times or FleetTimes()
        self._listener = listener or Listener()
        self._journal = Journal(timeline, self._listener)
        self._is_settling = self._is_due = False
        floor = minimum if managed and minimum is not None else instances
        ceiling = maximum if managed and maximum is not None else instances
        self._racks = Racks(
            self._journal,
            pools=pools,
            minimum=floor,
            maximum=ceiling,
            managed=managed,
            times=self._times,
            capacity=capacity,
            provision_timeout=provision_timeout,
            runs=self._run,
            changes=self._settle,
        )
        self._copies = Copies(
            self._journal,
            self._racks,
            times=self._times,
            trouble=trouble or (lambda _: None),
            changes=self._settle,
        )
        self._works = self._copies.works
        self._consolidation = Consolidation(
            self._journal, self._racks, self._copies, scale_in
        )
        count = max(instances, floor)
        if ready:
            self._racks.start(count)
        else:
            self._racks.fill(count, "at the start")

    @property
    def log(self) -> list[Step]:
        """
        What has happened, in order.
        """
        return self._journal.log

    @property
    def instances(self) -> tuple[Instance, ...]:
        """
        All instances that are asked for or there, those on their way out included.
        """
        return tuple(self._racks.instances)

    @property
    def running_instances(self) -> tuple[Instance, ...]:
        """
        The instances that run, and are paid for.
        """
        return tuple(i for i in self._racks.instances if i.state != "asked")

    @property
    def wanted_instances(self) -> int:
        """
        How many instances there shall be.
        """
        return len(self._racks.usable) if self.managed else self._racks.minimum

    @property
    def bounds(self) -> tuple[int, int]:
        """
        How few and how many instances there may be.
        """
        return self._racks.minimum, self._racks.maximum

    @property
    def instance_type(self) -> str:
        """
        The type that is tried first.
        """
        return self._racks.kinds[0]

    @property
    def instance_types(self) -> tuple[str, ...]:
        """
        The types that may be used, the first one first.
        """
        return tuple(self._racks.kinds)

    @property
    def names(self) -> tuple[str, ...]:
        """
        What is hosted here.
        """
        return tuple(self._works)

    def add(
        self,
        name: str,
        needs: Needs,
        copies: int = 0,
        *,
        start: Seconds | None = None,
        image: str = "",
        placement: Strategy = "BINPACK",
        ready: bool = False,
    ) -> None:
        """
        Host a model.

        Args:
            name: What it is called here.

            needs: What each copy reserves. With ``None`` there is one copy on each
                instance, as of a variant with a model.

            copies: How many copies; of no effect without needs.

            start: Seconds from a container with its image until it serves.
                If omitted, it is ``times.model_start``.

            image: What is pulled once for each instance.
                If omitted, all models here have the same.

            placement: ``SPREAD`` to keep copies apart.
                If omitted, the first instance with room is taken.

            ready: Whether copies that find an instance that runs serve at once.
                If omitted, they start.

        Raises:
            ValueError: If the name is taken.
        """
        if name in self._works:
            raise ValueError(f"{name} is hosted already")
        work = self._works[name] = Work(
            name=name,
            needs=needs,
            desired=copies,
            start=self._times.model_start if start is None else start,
            image=image,
            placement=placement,
            is_ready=ready,
        )
        if copies and needs is not None:
            self._journal.note(f"copies of {name}", 0, copies, "added")
        if needs is not None:
            # Its copies may bring other instances along.
            self._racks.refusal = None
        self._settle()
        work.is_ready = False

    def set_copies(self, name: str, count: int, why: str = "asked for") -> None:
        """
        Change how many copies there shall be; what was refused is tried again.
        """
        work = self._works[name]
        if count != work.desired:
            self._journal.note(f"copies of {name}", work.desired, count, why)
            self._consolidation.cancel()
        work.desired = count
        self.retry(name)

    def set_instances(self, count: int, why: str = "asked for") -> None:
        """
        Change how many instances there shall be; what was refused is tried again.
        """
        racks = self._racks
        racks.refusal = None
        if self.managed:
            count = max(racks.minimum, min(count, racks.maximum))
        else:
            if count != racks.minimum:
                self._journal.note("desired instances", racks.minimum, count, why)
            racks.minimum = racks.maximum = count
        # Only when all has been asked for is there something to tell.
        self._is_settling = True
        for _ in range(count - len(racks.usable)):
            racks.ask(why)
        self._consolidation.cancel()
        for instance in list(reversed(racks.usable))[: len(racks.usable) - count]:
            self._copies.dismiss(instance, why)
        self._is_settling = False
        for work in self._works.values():
            work.is_held = False
        self._settle()

    def retry(self, name: str | None = None) -> None:
        """
        Try again what was refused or failed of a model, or of all of them.
        """
        self._racks.refusal = None
        for work in self._works.values():
            if name in {None, work.name}:
                work.is_held = False
        self._settle()

    def remove(self, name: str) -> None:
        """
        Host a model no more; its copies finish what they have.
        """
        work = self._works[name]
        if work.desired and work.needs is not None:
            self._journal.note(f"copies of {name}", work.desired, 0, "removed")
        self._consolidation.cancel()
        work.desired = 0
        # Before it is forgotten, or its copies would be started again.
        del self._works[name]
        for copy in reversed(work.copies[:]):
            self._copies.take(copy, "removed", work)
        self._settle()

    def close(self) -> None:
        """
        Let everything go: no bounds hold any more.
        """
        self._racks.minimum = self._racks.maximum = 0
        for name in self.names:
            self.remove(name)
        for instance in reversed(self.instances):
            if instance.state != "gone":
                self._copies.dismiss(instance, "closed")

    def restart(self, copy: Copy, why: str) -> None:
        """
        Have a copy's container start again: it takes no requests until it has.
        """
        self._copies.restart(copy, why)

    def is_settled(self, name: str | None = None) -> bool:
        """
        Tell whether nothing of a model is under way, or of all and the instances.
        """
        return self._copies.is_settled(name)

    def desired(self, name: str) -> int:
        """
        Return how many copies there shall be.
        """
        work = self._works[name]
        return self.wanted_instances if work.needs is None else work.desired

    def serving(self, name: str | None = None) -> int:
        """
        Return how many copies of a model take requests; without a name, on how many
        instances all do that have a copy on each.
        """
        if name is not None:
            return self._copies.serving(name)
        filling = (work.name for work in self._works.values() if work.needs is None)
        return min(map(self._copies.serving, filling), default=self._racks.running)

    def copies(self, name: str) -> tuple[Copy, ...]:
        """
        Return the copies there are, those on their way in and out included.
        """
        return tuple(self._works[name].copies)

    def refusal(self, name: str | None = None) -> str | None:
        """
        Return why copies of a model are not there, or without a name, why instances
        are not; ``None`` if none is missing.
        """
        if name is None:
            return self._racks.refusal
        return self._works[name].refusal

    def shortfall(self, needs: Needs, copies: int) -> str | None:
        """
        Say why so many more copies do not fit in the fleet at its largest: the
        service's words and what is short; ``None`` if they fit.
        """
        racks = self._racks
        places = [(i.instance_type, i.free) for i in racks.usable]
        more = racks.maximum - len(racks.instances)
        places += [new_place(racks.kinds, needs)] * more
        short = shortfall(places, needs, copies)
        if short is None:
            return None
        size = f"{len(racks.usable)} x {self.instance_type}"
        limits = "; ".join(short)
        return f"{NO_ROOM_FOR_COPY} On {size} (at most {racks.maximum}): {limits}."

    def scalable(self, name: str | None = None) -> ScalableFleet:
        """
        Return the scalable target of a model's copies; without a name, that of the
        instances.
        """
        return ScalableFleet(self, name)

    def _run(self, instance: Instance) -> None:
        self._copies.start_waiting(instance)
        self._settle()

    def _settle(self) -> None:
        # What happens at once happens inside: it asks for another round instead.
        if self._is_settling:
            self._is_due = True
            return
        self._is_settling = True
        try:
            self._is_due = True
            while self._is_due:
                self._is_due = False
                if self.managed:
                    self._racks.fill(self._racks.minimum, "fewer than the minimum")
                for work in list(self._works.values()):
                    self._bring(work)
                if self._times.release:
                    self._racks.release()
        finally:
            self._is_settling = False
        self._consolidation.look()
        self._listener.changed()

    def _bring(self, work: Work) -> None:
        # Copies whose instance never came are forgotten.
        for copy in [each for each in work.copies if each.instance.state == "gone"]:
            copy.state = "gone"
            work.copies.remove(copy)
        if work.is_held:
            return
        work.refusal = None
        if work.needs is None:
            self._fill(work)
            return
        live = [c for c in work.copies if c.state not in {"leaving", "gone"}]
        surplus = sum(c.replaces is None for c in live) - work.desired
        for copy in reversed(live):
            if surplus > 0:
                self._copies.take(copy, "fewer copies are wanted")
                surplus -= 1
        for _ in range(-surplus):
            instance = choose(
                self._racks.instances, work.name, work.needs, work.placement
            ) or self._more(work)
            if instance is None:
                work.refusal = self._racks.refusal or NO_ROOM_FOR_COPY
                break
            self._copies.put(work.name, instance)
            if work.is_held:
                break

    def _fill(self, work: Work) -> None:
        for instance in self._racks.usable:
            if not any(c.name == work.name for c in instance.copies):
                self._copies.put(work.name, instance)
        if self._racks.refusal is not None:
            work.refusal = self._racks.refusal

    def _more(self, work: Work) -> Instance | None:
        racks = self._racks
        kinds = [
            kind
            for kind in racks.kinds
            if has_room(nameplate(kind), needs_on(work.needs, kind))
        ]
        is_full = len(racks.instances) >= racks.maximum or racks.refusal is not None
        if not kinds or not self.managed or is_full:
            return None
        return racks.ask(f"no room for a copy of {work.name}", kinds)


class ScalableFleet:
    """
    The copies of one model, or the instances of a variant, as a scalable target.
    """

    def __init__(self, fleet: Fleet, name: str | None) -> None:
        self._fleet = fleet
        self._name = name

    @property
    def desired(self) -> int:
        """
        How many were asked for last.
        """
        if self._name is None:
            return self._fleet.wanted_instances
        return self._fleet.desired(self._name)

    @property
    def running(self) -> int:
        """
        How many serve.
        """
        return self._fleet.serving(self._name)

    @property
    def is_settled(self) -> bool:
        """
        Whether no change is under way.
        """
        return self._fleet.is_settled(self._name)

    def set_desired(self, count: int, cause: str) -> None:
        """
        Ask for so many.
        """
        if self._name is None:
            self._fleet.set_instances(count, cause)
        else:
            self._fleet.set_copies(self._name, count, cause)
