"""
The instances of a fleet, from the request for one to its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from cdk_sagemaker_llm.simulation.fleet.parts import Available, Instance, Journal, Pool
from cdk_sagemaker_llm.simulation.fleet.times import FleetTimes, seconds

NO_CAPACITY = (
    "Unable to provision requested ML compute capacity due to "
    "InsufficientInstanceCapacity error. Please retry using a different ML instance "
    "type or after some time."
)

# How often a fleet that waits for capacity looks again; the service does not say.
_LOOKS_AGAIN = 60.0


class Racks:
    """
    The instances of one fleet, within its bounds.

    ``runs`` is called with an instance that has come, and ``changes`` when something
    has happened by itself. Without ``provision_timeout`` the fleet waits for capacity
    for as long as it takes the service to refuse.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        pools: Sequence[Pool],
        minimum: int,
        maximum: int,
        managed: bool,
        times: FleetTimes,
        capacity: Available,
        provision_timeout: float | None,
        runs: Callable[[Instance], None],
        changes: Callable[[], None],
    ) -> None:
        self.kinds = [
            pool.instance_type for pool in sorted(pools, key=lambda p: p.priority)
        ]
        self.minimum = minimum
        self.maximum = maximum
        self._is_managed = managed
        self.instances: list[Instance] = []
        self.refusal: str | None = None
        self._journal = journal
        self._times = times
        self._capacity = capacity
        self._patience = times.refusal and (provision_timeout or times.refusal)
        self._runs = runs
        self._changes = changes

    @property
    def usable(self) -> list[Instance]:
        """
        Those that take copies, or will when they are there.
        """
        return [instance for instance in self.instances if instance.takes_copies]

    def ask(self, why: str, kinds: Sequence[str] = ()) -> Instance | None:
        """
        Ask for one more instance, which has yet to come; ``None`` if it is refused at
        once. Without types that will do, the best one first, any of the pools will.
        """
        kinds = kinds or self.kinds
        found = self._available(kinds)
        if found is None and not self._patience:
            self._refuse()
            return None
        instance = Instance(found or kinds[0], self._journal.now)
        count = len(self.instances)
        self.instances.append(instance)
        self._journal.note("instances", count, count + 1, why)
        if found is None:
            instance.is_refused = True
            self._wait(instance, kinds, self._journal.now + self._patience)
        else:
            self._provision(instance)
        return instance

    def start(self, count: int) -> None:
        """
        Have instances run from the beginning.
        """
        for _ in range(count):
            self.instances.append(Instance(self.kinds[0], self._journal.now))
        self._journal.note("instances", 0, count, "at the start")
        for instance in self.usable:
            self._run(instance)

    def fill(self, count: int, why: str) -> None:
        """
        Ask for instances until there are so many, or one is refused.
        """
        while len(self.instances) < count and self.refusal is None:
            self.ask(why)

    def left(self, instance: Instance) -> None:
        """
        Note that a copy of an instance has ended.
        """
        if instance.copies:
            return
        if instance.state == "leaving":
            self.drop(instance, "its copies have ended")
        elif instance.is_refused and self.running >= self.minimum:
            self.drop(instance, "no copy waits for it any more")
        elif instance.state == "running":
            self._rest(instance)
            if not self._times.release:
                self.release()

    def release(self) -> None:
        """
        Let instances go that have been idle long enough, the newest first.
        """
        for instance in reversed(self.usable):
            since = instance.idle_since
            if since is None or instance.copies:
                continue
            # What is only asked for may be refused.
            if self.running <= self.minimum:
                return
            if since + self._times.release <= self._journal.now:
                self.drop(instance, "idle")

    def drop(self, instance: Instance, why: str) -> None:
        """
        Let an instance go at once.
        """
        ran, running = instance.state in {"running", "leaving"}, self.running
        if instance.planned is not None:
            instance.planned.cancel()
        instance.state = "gone"
        count = len(self.instances)
        self.instances.remove(instance)
        self._journal.note("instances", count, count - 1, why)
        if ran:
            self._journal.note("running instances", running, self.running, why)
            self._journal.listener.instance_gone(instance)
        self._changes()

    @property
    def running(self) -> int:
        """
        How many run, and are paid for.
        """
        return sum(i.state in {"running", "leaving"} for i in self.instances)

    def _available(self, kinds: Sequence[str]) -> str | None:
        taken = Counter(i.instance_type for i in self.instances if not i.is_refused)
        now = self._journal.now
        able = (kind for kind in kinds if taken[kind] < self._capacity(kind, now))
        return next(able, None)

    def _wait(self, instance: Instance, kinds: Sequence[str], deadline: float) -> None:
        moment = min(deadline, self._journal.now + _LOOKS_AGAIN)
        instance.planned = self._journal.timeline.at(
            moment, partial(self._look, instance, kinds, deadline)
        )

    def _look(self, instance: Instance, kinds: Sequence[str], deadline: float) -> None:
        kind = self._available(kinds)
        if kind is not None and kind != instance.instance_type:
            # Other hardware: copies are placed anew.
            self.drop(instance, "another type can be had")
            self.ask("another type can be had", kinds)
            self._changes()
        elif kind is not None:
            instance.is_refused = False
            self._provision(instance)
        elif self._journal.now < deadline:
            self._wait(instance, kinds, deadline)
        else:
            self._refuse(instance)

    def _refuse(self, instance: Instance | None = None) -> None:
        self.refusal = NO_CAPACITY
        if not self._is_managed:
            # The update has failed: the variant stays with what it has, and whoever
            # scales it asks again.
            there = sum(not i.is_refused for i in self.usable)
            self.minimum = self.maximum = there
        elif self._times.retry:
            self._journal.timeline.after(self._times.retry, self._try_again)
        if instance is not None:
            self.drop(instance, NO_CAPACITY)

    def _try_again(self) -> None:
        self.refusal = None
        self._changes()

    def _provision(self, instance: Instance) -> None:
        delay = seconds(self._times.provision, instance.instance_type)
        instance.planned = self._journal.later(delay, partial(self._run, instance))

    def _run(self, instance: Instance) -> None:
        running = self.running
        instance.state, instance.planned = "running", None
        kind = instance.instance_type
        self._journal.note("running instances", running, running + 1, kind)
        self._journal.listener.instance_running(instance)
        if not instance.copies:
            self._rest(instance)
        self._runs(instance)

    def _rest(self, instance: Instance) -> None:
        instance.idle_since = self._journal.now
        if self._times.release:
            self._journal.timeline.after(self._times.release, self._changes)
