"""
The state of one run: the time, the fleet, what scales it, and the metrics between.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import fields

from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet import (
    Copy,
    Fleet,
    FleetTimes,
    Instance,
    Listener,
)
from cdk_sagemaker_llm.simulation.fluid import Fluid
from cdk_sagemaker_llm.simulation.metrics import (
    MetricDelays,
    MetricQuery,
    MetricStore,
)
from cdk_sagemaker_llm.simulation.outcome import Outcome, Series
from cdk_sagemaker_llm.simulation.routing import Router
from cdk_sagemaker_llm.simulation.scaling import Autoscaler, Bounds
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload

_HOUR = 3600.0


class Stage(Listener):
    """
    Everything of a scenario but its requests.
    """

    def __init__(self, scenario: Scenario, lines: Mapping[str, Fluid | Router]) -> None:
        self.scenario = scenario
        self.begin = scenario.start.timestamp()
        self.timeline = Timeline(self.begin)
        self.store = MetricStore()
        self.instances: dict[str, list[float]] = {}
        self._lines = lines
        self._hours: defaultdict[str, float] = defaultdict(float)
        self._since: dict[Instance, float] = {}
        self.fleet = self._furnish() if scenario.pools else None
        self.scalers: dict[str, Autoscaler] = {}
        for workload in scenario.workloads:
            if self.fleet is None:
                for number in range(workload.copies):
                    lines[workload.name].add(number)
            elif workload.bounds is not None:
                scaler = self._scaler(self.fleet, workload, workload.bounds)
                self.scalers[workload.name] = scaler

    @property
    def now(self) -> float:
        """
        Seconds since the start.
        """
        return self.timeline.now - self.begin

    @property
    def running_instances(self) -> tuple[Instance, ...]:
        """
        The instances that run.
        """
        return self.fleet.running_instances if self.fleet is not None else ()

    def desired(self, workload: Workload) -> int:
        """
        Return how many copies of a model are asked for.
        """
        if self.fleet is None:
            return workload.copies
        return self.fleet.desired(workload.name)

    def copy_serving(self, copy: Copy) -> None:
        """
        Send requests to a copy.
        """
        line = self._lines[copy.name]
        # One that starts anew has lost what it had.
        line.remove(copy, self.now)
        line.add(copy)

    def copy_leaving(self, copy: Copy) -> None:
        """
        Send a copy no more requests.
        """
        self._lines[copy.name].leave(copy)

    def copy_gone(self, copy: Copy) -> None:
        """
        Take a copy away.
        """
        self._lines[copy.name].remove(copy, self.now)

    def instance_gone(self, instance: Instance) -> None:
        """
        Count the time that an instance has run.
        """
        since = self._since.pop(instance, self.timeline.now)
        self._hours[instance.instance_type] += self.timeline.now - since

    def instance_running(self, instance: Instance) -> None:
        """
        Count its time from now on.
        """
        self._since[instance] = self.timeline.now

    def close_minute(self) -> None:
        """
        Write down which instances run.
        """
        if self.fleet is None:
            return
        running = Counter(
            instance.instance_type for instance in self.fleet.running_instances
        )
        for kind in (pool.instance_type for pool in self.scenario.pools):
            self.instances.setdefault(kind, []).append(running[kind])

    def outcome(
        self, method: str, workloads: Mapping[str, Series], *notes: str
    ) -> Outcome:
        """
        Return the outcome of the run.
        """
        for instance in list(self._since):
            self.instance_gone(instance)
        scenario = self.scenario
        return Outcome(
            method=method,
            start=scenario.start,
            duration=scenario.duration,
            workloads=workloads,
            instances=self.instances,
            instance_hours={
                kind: spent / _HOUR for kind, spent in sorted(self._hours.items())
            },
            steps=tuple(self.fleet.log) if self.fleet is not None else (),
            activities={
                name: tuple(scaler.activities) for name, scaler in self.scalers.items()
            },
            notes=(*notes, *notes_of(scenario)),
            watched={query: self._values(query) for query in scenario.watched},
        )

    def _values(self, query: MetricQuery) -> list[float | None]:
        periods = int(self.scenario.duration // query.period)
        ends = (self.begin + (one + 1) * query.period for one in range(periods))
        return [self.store.read(query, end) for end in ends]

    def _furnish(self) -> Fleet:
        scenario = self.scenario
        fleet = Fleet(
            self.timeline,
            pools=scenario.pools,
            instances=scenario.instances,
            minimum=scenario.minimum,
            maximum=scenario.maximum,
            managed=scenario.managed,
            times=scenario.times,
            scale_in=scenario.scale_in,
            capacity=scenario.capacity,
            ready=True,
            listener=self,
        )
        for instance in fleet.running_instances:
            self._since[instance] = self.timeline.now
        for workload in scenario.workloads:
            fleet.add(
                workload.name,
                workload.needs,
                workload.copies,
                start=workload.start_seconds,
                image=workload.image,
                ready=True,
            )
        return fleet

    def _scaler(self, fleet: Fleet, workload: Workload, bounds: Bounds) -> Autoscaler:
        scaler = Autoscaler(
            self.timeline,
            fleet.scalable(None if workload.needs is None else workload.name),
            bounds,
            workload.policies,
            workload.schedules,
        )
        scaler.suspended = frozenset(workload.suspended)
        scaler.watch(self.store.read, self.scenario.delays)
        return scaler


def notes_of(scenario: Scenario) -> list[str]:
    """
    Return warnings for the parts of a scenario that nobody has measured.
    """
    notes = [
        f"the service times of {workload.name} are an estimate: "
        f"{workload.service.source}"
        for workload in scenario.workloads
        if workload.service.is_estimate
    ]
    if not scenario.pools:
        return notes
    usual, times = FleetTimes(), scenario.times or FleetTimes()
    same = [
        each.name
        for each in fields(usual)
        if getattr(times, each.name) == getattr(usual, each.name)
        and (
            each.name != "model_start"
            or any(workload.start_seconds is None for workload in scenario.workloads)
        )
    ]
    if same:
        notes.append(
            f"of the fleet, {', '.join(same)} are the library's defaults, from AWS's "
            "and others' figures of single machines, or assumed: see FleetTimes"
        )
    scales = any(workload.policies for workload in scenario.workloads)
    if scales and scenario.delays == MetricDelays():
        notes.append(
            f"metrics can be read {scenario.delays.standard:g} s late, those in ten "
            f"seconds {scenario.delays.high_resolution:g} s: AWS publishes neither, "
            "both are inferred from users' reports"
        )
    return notes
