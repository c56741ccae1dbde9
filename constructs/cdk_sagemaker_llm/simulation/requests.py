"""
A run request by request: each one arrives, waits, and is served or is not.

The requests of an asynchronous endpoint all wait in one queue before its copies.
"""

from __future__ import annotations

import math

from cdk_sagemaker_llm.simulation.fleet import Copy
from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.metrics import (
    SAGEMAKER,
    Datapoint,
    Metric,
    MetricStore,
)
from cdk_sagemaker_llm.simulation.outcome import FirstTokens, Minutes, Outcome, summary
from cdk_sagemaker_llm.simulation.publishing import (
    Gauges,
    Publisher,
    spread_of_seconds,
)
from cdk_sagemaker_llm.simulation.routing import (
    QueueRouter,
    Router,
    Tally,
    UsersRouter,
)
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload
from cdk_sagemaker_llm.simulation.stage import Stage
from cdk_sagemaker_llm.simulation.traffic.base import Users

TICK = 10.0
_MINUTE = 60.0


def run(scenario: Scenario) -> Outcome:
    """
    Play a scenario out, request by request.
    """
    routers = {
        workload.name: router_of(scenario, number)
        for number, workload in enumerate(scenario.workloads)
    }
    stage = Stage(scenario, routers)
    gauges = Gauges(scenario, stage.store)
    lines = [
        _Line(workload, routers[workload.name], stage)
        for workload in scenario.workloads
    ]
    tick = 0.0
    while tick < scenario.duration:
        since, tick = tick, min(tick + TICK, scenario.duration)
        timeline, begin = stage.timeline, stage.begin
        # Requests, and before each moment at which something else happens, that.
        while (due := timeline.next) is not None and due - begin < tick:
            for line in lines:
                line.router.run_until(due - begin)
            timeline.run_until(due)
        for line in lines:
            line.router.run_until(tick)
        # What happened is in the metrics before anybody reads them at this moment.
        for line in lines:
            line.note(tick)
        if gauges.is_read:
            busy = [(line.workload, line.busy(tick, tick - since)) for line in lines]
            gauges.note(stage.begin + since, stage.running_instances, busy)
        stage.timeline.run_until(stage.begin + tick)
        if tick % _MINUTE == 0 or tick == scenario.duration:
            stage.close_minute()
            for line in lines:
                line.close_minute()
    series = {line.workload.name: line.minutes.series for line in lines}
    return stage.outcome("requests", series)


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
        router: Router = UsersRouter(
            workload, scenario.routing, traffic, generator, seed
        )
    else:
        traffic = traffic.starting(scenario.start)
        arrivals = traffic.arrivals(generator, scenario.duration)
        kind = Router if workload.at_once is None else QueueRouter
        router = kind(workload, scenario.routing, arrivals, seed)
    return router


def publish_backlog(
    store: MetricStore, endpoint: str, time: float, router: QueueRouter
) -> None:
    """
    Note what waits for an endpoint since a moment, under the names of the guide's.

    Where there is no copy, the guide says that target tracking starts one once more
    waits than its target: the backlog is divided by one then.
    """
    size, copies = router.under_way, router.serving
    values = {
        "ApproximateBacklogSize": float(size),
        "ApproximateBacklogSizePerInstance": size / max(1, copies),
        "ApproximateAgeOfOldestRequest": router.oldest,
        "HasBacklogWithoutCapacity": float(bool(size) and not copies),
    }
    for name, value in values.items():
        metric = Metric.of(SAGEMAKER, name, {"EndpointName": endpoint})
        store.add(metric, time, Datapoint(value, 1.0, value, value))


class _Line:
    """
    One model: its requests, and what is written down of them.
    """

    def __init__(self, workload: Workload, router: Router, stage: Stage) -> None:
        self.workload = workload
        self.router = router
        self.all_latencies = Histogram()
        self.firsts = FirstTokens(workload.service.overhead_seconds)
        # Those of a queue count from when a copy took the request.
        known = None if isinstance(router, QueueRouter) else self.firsts
        self.minutes = Minutes(self.all_latencies, known)
        self._stage = stage
        self._latencies: list[float] = []
        scenario = stage.scenario
        self._publisher = Publisher(
            workload, scenario.endpoint, stage.store, scenario.queries
        )

    def busy(self, tick: float, seconds: float) -> dict[Copy, float]:
        """
        Return for which share of the last seconds each copy had something to do.
        """
        worked = self.router.take_worked(tick).items()
        return {c: each / seconds for c, each in worked if isinstance(c, Copy)}

    def note(self, tick: float) -> None:
        """
        Write down what happened in the last ten seconds.
        """
        router = self.router
        tally = router.take(tick)
        latencies = tally.latencies
        self.minutes.minute.add(
            tally.arrived, len(latencies), tally.timed_out, tally.refused
        )
        self._latencies += latencies
        # Metrics of ten seconds stand under the moment at which those begin.
        since = self._stage.begin + math.ceil(tick / TICK - 1) * TICK
        if isinstance(router, QueueRouter):
            stage = self._stage
            publish_backlog(stage.store, stage.scenario.endpoint, since, router)
        else:
            self._publish(since, tally)

    def _publish(self, since: float, tally: Tally) -> None:
        publisher, latencies = self._publisher, tally.latencies
        loads = self.router.loads
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
                spread=spread_of_seconds(latencies) if publisher.wants_spread else None,
            )
        if publisher.wants_firsts:
            firsts = self.router.take_firsts()
            self.firsts.add(firsts)
            publisher.begun(since, firsts)
        refused = sum(tally.refused.values()) - no_capacity
        publisher.failed(since, no_capacity, refused + tally.timed_out)

    def close_minute(self) -> None:
        router = self.router
        overhead = self.workload.service.overhead_seconds
        self.all_latencies.add(self._latencies, overhead)
        self.firsts.add(router.take_firsts())
        self.minutes.close(
            waiting=router.waiting,
            under_way=router.under_way,
            copies=router.serving,
            desired=self._stage.desired(self.workload),
            latencies=summary(self._latencies, overhead),
        )
        self._latencies.clear()
