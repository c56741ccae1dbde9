"""
A run request by request: each one arrives, waits, and is served or is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.metrics import MetricStore
from cdk_sagemaker_llm.simulation.outcome import Outcome
from cdk_sagemaker_llm.simulation.publishing import Publisher
from cdk_sagemaker_llm.simulation.recording import Minutes, summary
from cdk_sagemaker_llm.simulation.routing import Router, UsersRouter
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload
from cdk_sagemaker_llm.simulation.traffic.users import Users

TICK = 10.0
_MINUTE = 60.0


def run(scenario: Scenario) -> Outcome:
    """
    Play a scenario out, request by request.
    """
    begin = scenario.start.timestamp()
    timeline = Timeline(begin)
    store = MetricStore()
    lines = [
        _Line(workload, router_of(scenario, number), scenario.endpoint, store)
        for number, workload in enumerate(scenario.workloads)
    ]
    tick = 0.0
    while tick < scenario.duration:
        tick = min(tick + TICK, scenario.duration)
        _play_until(timeline, lines, begin, tick)
        for line in lines:
            line.note(begin, tick)
        timeline.run_until(begin + tick)
        if tick % _MINUTE == 0 or tick == scenario.duration:
            for line in lines:
                line.close_minute()
    return Outcome(
        method="requests",
        start=scenario.start,
        duration=scenario.duration,
        workloads={line.workload.name: line.minutes.series for line in lines},
        notes=tuple(notes_of(scenario)),
    )


def notes_of(scenario: Scenario) -> list[str]:
    """
    Say what of a scenario nobody has measured.
    """
    return [
        f"the service times of {workload.name} are an estimate: "
        f"{workload.service.source}"
        for workload in scenario.workloads
        if workload.service.is_estimate
    ]


def router_of(scenario: Scenario, number: int) -> Router:
    """
    Make the router of a scenario's model, by number.
    """
    import numpy as np  # noqa: PLC0415 - what plays nothing out starts without it

    workload = scenario.workloads[number]
    generator = np.random.default_rng([scenario.seed, number])
    seed = int(generator.integers(2**63))
    traffic = workload.traffic
    if isinstance(traffic, Users):
        return UsersRouter(workload, scenario.routing, traffic, generator, seed)
    arrivals = traffic.starting(scenario.start).arrivals(generator, scenario.duration)
    return Router(workload, scenario.routing, arrivals, seed)


def _play_until(
    timeline: Timeline, lines: list[_Line], begin: float, tick: float
) -> None:
    """
    Play out requests, and before each moment at which something else happens, that.
    """
    while (due := timeline.next) is not None and due - begin < tick:
        for line in lines:
            line.router.run_until(due - begin)
        timeline.run_until(due)
    for line in lines:
        line.router.run_until(tick)


@dataclass(slots=True)
class _Line:
    """
    One model: its requests, and what is written down of them.
    """

    workload: Workload
    router: Router
    endpoint: str
    store: MetricStore
    minutes: Minutes = field(default_factory=Minutes)
    latencies: list[float] = field(default_factory=list)
    publisher: Publisher = field(init=False)

    def __post_init__(self) -> None:
        self.publisher = Publisher(self.workload, self.endpoint, self.store)
        for number in range(self.workload.copies):
            self.router.add(f"{self.workload.name}/{number}")

    def note(self, begin: float, tick: float) -> None:
        """
        Write down what happened in the last ten seconds.
        """
        router, publisher = self.router, self.publisher
        tally = router.take(tick)
        latencies = tally.latencies
        self.minutes.minute.add(
            tally.arrived, len(latencies), tally.timed_out, tally.refused
        )
        self.latencies += latencies
        # Metrics of ten seconds stand under the moment at which those begin.
        since = begin + math.ceil(tick / TICK - 1) * TICK
        loads = router.loads
        no_capacity = tally.refused.get("no capacity", 0)
        publisher.invoked(since, tally.arrived - no_capacity, len(loads))
        if loads:
            publisher.concurrent(since, sum(loads), len(loads), min(loads), max(loads))
        if latencies:
            publisher.answered(
                since,
                math.fsum(latencies),
                len(latencies),
                min(latencies),
                max(latencies),
            )
        refused = sum(tally.refused.values()) - no_capacity
        publisher.failed(since, no_capacity, refused + tally.timed_out)

    def close_minute(self) -> None:
        """
        End a minute.
        """
        router = self.router
        self.minutes.close(
            waiting=router.waiting,
            under_way=router.under_way,
            copies=router.serving,
            desired=self.workload.copies,
            latencies=summary(self.latencies, self.workload.service.overhead_seconds),
        )
        self.latencies.clear()
