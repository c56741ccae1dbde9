"""
A run request by request: each one arrives, waits, and is served or is not.

The requests of an asynchronous endpoint all wait in one queue before its copies.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from cdk_sagemaker_llm.simulation.circling import UsersRouter
from cdk_sagemaker_llm.simulation.fleet import Copy
from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.metrics import (
    SAGEMAKER,
    Datapoint,
    Metric,
    MetricStore,
)
from cdk_sagemaker_llm.simulation.outcome import Minutes, Outcome, summary
from cdk_sagemaker_llm.simulation.publishing import (
    FIRSTS,
    Gauges,
    Publisher,
    spread_of_seconds,
)
from cdk_sagemaker_llm.simulation.routing import LEAVING, Router, Tally
from cdk_sagemaker_llm.simulation.scenario import Routing, Scenario, Workload
from cdk_sagemaker_llm.simulation.service.batching import BatchingCopy, TimedCopy
from cdk_sagemaker_llm.simulation.stage import Stage
from cdk_sagemaker_llm.simulation.traffic.base import Arrival
from cdk_sagemaker_llm.simulation.traffic.users import Users

TICK = 10.0
_MINUTE = 60.0

# How long a request may wait, where its caller says nothing (API reference,
# InvokeEndpointAsync, RequestTTLSeconds).
LIFETIME = 21_600.0


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
        _play_until(stage, lines, tick)
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
        users = UsersRouter(workload, scenario.routing, traffic, generator, seed)
        users.copy_kind = _copy_kind(scenario)
        return users
    arrivals = traffic.starting(scenario.start).arrivals(generator, scenario.duration)
    kind = Router if workload.at_once is None else QueueRouter
    router = kind(workload, scenario.routing, arrivals, seed)
    router.copy_kind = _copy_kind(scenario)
    return router


class BacklogPublisher:
    """
    Puts what waits for an endpoint into the store, under the names of the guide's.

    Args:
        endpoint: The endpoint's name, which is the metrics' only dimension.

        store: Where the metrics go.
    """

    def __init__(self, endpoint: str, store: MetricStore) -> None:
        self._endpoint = endpoint
        self._store = store

    def publish(self, time: float, router: QueueRouter) -> None:
        """
        Note what waits since a moment.

        Where there is no copy, the guide says that target tracking starts one once
        more waits than its target: the backlog is divided by one then.
        """
        size, copies = router.under_way, router.serving
        values = {
            "ApproximateBacklogSize": float(size),
            "ApproximateBacklogSizePerInstance": size / max(1, copies),
            "ApproximateAgeOfOldestRequest": router.oldest,
            "HasBacklogWithoutCapacity": float(bool(size) and not copies),
        }
        for name, value in values.items():
            metric = Metric.of(SAGEMAKER, name, {"EndpointName": self._endpoint})
            self._store.add(metric, time, Datapoint(value, 1.0, value, value))


class QueueRouter(Router):
    """
    Lets requests wait until a copy has a place for them, and refuses none.

    Those of a copy that goes away are put back to the front.

    Args:
        workload: The model.

        routing: To which copy a request goes; of no effect.

        arrivals: The requests, in order.

        seed: What chance follows.
    """

    def __init__(
        self,
        workload: Workload,
        routing: Routing,
        arrivals: Iterator[Arrival],
        seed: int,
    ) -> None:
        super().__init__(workload, routing, arrivals, seed)
        self._places = workload.at_once or 1
        self._queue: deque[_Request] = deque()
        self._working: dict[int, _Request] = {}
        self._numbers = 0
        self._now = 0.0

    @property
    def under_way(self) -> int:
        """
        How many requests have no answer yet: the backlog.
        """
        return super().under_way + len(self._queue)

    @property
    def waiting(self) -> int:
        """
        How many of them are in line.
        """
        return super().waiting + len(self._queue)

    @property
    def oldest(self) -> float:
        """
        For how many seconds the oldest one has been there.
        """
        arrivals = [each.arrived for each in (*self._working.values(), *self._queue)]
        return self._now - min(arrivals, default=self._now)

    def remove(self, key: object, now: float) -> None:
        """
        Take a copy away; what it has not answered is worked on anew.
        """
        if key not in self._keys:
            return
        number = self._keys.index(key)
        self._leaving.discard(key)
        unanswered = [self._working.pop(who) for who in self._copies[number].stop()]
        for each in (self._keys, self._copies, self._loads, self._dues):
            del each[number]
        self._queue.extendleft(reversed(unanswered))
        self._hand_out(now)

    def run_until(self, until: float) -> None:
        """
        Play out all requests up to a moment.
        """
        self._hand_out(self._now)
        at, prompt, answer = self._next
        while True:
            due = min(self._dues, default=math.inf)
            if min(at, due) >= until:
                break
            if due <= at:
                self._finish(due)
            else:
                self._take_in(_Request(at, prompt, answer))
                self._hand_out(at)
                at, prompt, answer = next(self._arrivals, (math.inf, 0, 0))
        self._next = at, prompt, answer
        self._now = until

    def _take_in(self, request: _Request) -> None:
        self._tally.arrived += 1
        room = self._workload.service.kv_tokens or math.inf
        if request.prompt + request.answer > room:
            self._refuse("too long", 0, request.arrived)
        else:
            self._queue.append(request)

    def _finish(self, now: float) -> None:
        number = self._dues.index(now)
        copy = self._copies[number]
        started, who = copy.finish()
        self._dues[number] = copy.next
        self._loads[number] -= 1
        request = self._working.pop(who)
        if now - started <= self._patience:
            self._tally.latencies.append(now - request.arrived)
        else:
            self._tally.timed_out += 1
        if copy.dropped:
            self._drop(number, now)
        self._hand_out(now)

    def _drop(self, number: int, now: float) -> None:
        for *_, who in self._copies[number].dropped:
            del self._working[who]
        super()._drop(number, now)

    def _hand_out(self, now: float) -> None:
        queue, loads = self._queue, self._loads
        while queue and now - queue[0].arrived >= LIFETIME:
            queue.popleft()
            self._tally.timed_out += 1
        while queue:
            load = min(loads, default=LEAVING)
            if load >= self._places:
                return
            request, number = queue.popleft(), loads.index(load)
            self._numbers += 1
            self._working[self._numbers] = request
            loads[number] += 1
            self._dues[number] = self._copies[number].offer(
                now, request.prompt, request.answer, self._numbers
            )


class _Line:
    """
    One model: its requests, and what is written down of them.
    """

    def __init__(self, workload: Workload, router: Router, stage: Stage) -> None:
        self.workload = workload
        self.router = router
        self.all_latencies = Histogram()
        self.minutes = Minutes(self.all_latencies)
        self._stage = stage
        self._latencies: list[float] = []
        endpoint = stage.scenario.endpoint
        queries = stage.scenario.queries
        self._publisher = Publisher(workload, endpoint, stage.store, queries)
        self._backlog = BacklogPublisher(endpoint, stage.store)

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
            self._backlog.publish(since, router)
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
            publisher.begun(since, self.router.take_firsts())
        refused = sum(tally.refused.values()) - no_capacity
        publisher.failed(since, no_capacity, refused + tally.timed_out)

    def close_minute(self) -> None:
        """
        End a minute.
        """
        router = self.router
        overhead = self.workload.service.overhead_seconds
        self.all_latencies.add(self._latencies, overhead)
        self.minutes.close(
            waiting=router.waiting,
            under_way=router.under_way,
            copies=router.serving,
            desired=self._stage.desired(self.workload),
            latencies=summary(self._latencies, overhead),
        )
        self._latencies.clear()


def _play_until(stage: Stage, lines: list[_Line], tick: float) -> None:
    """
    Play out requests, and before each moment at which something else happens, that.
    """
    timeline, begin = stage.timeline, stage.begin
    while (due := timeline.next) is not None and due - begin < tick:
        for line in lines:
            line.router.run_until(due - begin)
        timeline.run_until(due)
    for line in lines:
        line.router.run_until(tick)


def _copy_kind(scenario: Scenario) -> type[BatchingCopy]:
    read = {query.metric.name for query in scenario.queries}
    return TimedCopy if read & FIRSTS else BatchingCopy


@dataclass(slots=True)
class _Request:
    """
    One request, from its arrival on.
    """

    arrived: float
    prompt: int
    answer: int
