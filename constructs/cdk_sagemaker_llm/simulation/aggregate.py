"""
A run in aggregate: amounts of requests in steps of ten seconds, at any rate.

The fleet, the scaling and the metrics are those of a run request by request. What
chance does to single requests is not played out: latencies are what they come to on
average, and percentiles are those of the answers' lengths. Where the two ways agree,
and within what, is stated and held in tests/unit/simulation/test_agreement.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.simulation.fleet import Copy
from cdk_sagemaker_llm.simulation.fluid import Flow, Fluid, Lot
from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.outcome import SHARES, Minutes, Outcome
from cdk_sagemaker_llm.simulation.publishing import (
    Gauges,
    Publisher,
    busy_share,
    spread_of_seconds,
)
from cdk_sagemaker_llm.simulation.requests import TICK
from cdk_sagemaker_llm.simulation.routing import REFUSED_PAUSE
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload
from cdk_sagemaker_llm.simulation.service.performance import Equilibrium
from cdk_sagemaker_llm.simulation.stage import Stage
from cdk_sagemaker_llm.simulation.traffic.base import Users

if TYPE_CHECKING:
    from cdk_sagemaker_llm.simulation.traffic.base import Tokens

_MINUTE = 60.0
# How many requests' lengths stand for those of all.
_SAMPLE = 8192
# A little more than users ask for: whether copies could serve it.
_MORE = 1.01
# A copy's load that is a whole number but for rounding is that number.
_HAIR = 1e-6
# At so many points the lengths of answers stand for all of them in percentiles.
_POINTS = 200
_NOTE = (
    "computed in aggregate, in steps of ten seconds: latencies are approximated by the "
    "batches' equilibrium, and their percentiles by those of the answers' lengths"
)


def run(scenario: Scenario) -> Outcome:
    """
    Play a scenario out in aggregate.
    """
    lines = [_Line(scenario, number) for number in range(len(scenario.workloads))]
    stage = Stage(scenario, {line.workload.name: line.fluid for line in lines})
    queries = scenario.queries
    publishers = [
        Publisher(line.workload, scenario.endpoint, stage.store, queries)
        for line in lines
    ]
    gauges = Gauges(scenario, stage.store)
    tick = 0.0
    while tick < scenario.duration:
        since, tick = tick, min(tick + TICK, scenario.duration)
        is_minute = tick % _MINUTE == 0 or tick == scenario.duration
        for line, publisher in zip(lines, publishers, strict=True):
            line.step(tick - since)
            line.publish(publisher, stage.begin + since)
            if is_minute:
                line.publish_minute(publisher, stage.begin + since)
        if gauges.is_read:
            busy = [(line.workload, line.busy()) for line in lines]
            gauges.note(stage.begin + since, stage.running_instances, busy)
        stage.timeline.run_until(stage.begin + tick)
        if is_minute:
            stage.close_minute()
            for line in lines:
                line.close_minute(stage.desired(line.workload))
    series = {line.workload.name: line.minutes.series for line in lines}
    return stage.outcome("aggregate", series, _NOTE)


class _Line:
    """
    One model: what arrives, where it flows, and what is written down of it.
    """

    def __init__(self, scenario: Scenario, number: int) -> None:
        self.workload = scenario.workloads[number]
        self.minutes = Minutes()
        lot, arriving = _traffic(scenario, number)
        self.fluid = Fluid(self.workload, lot, scenario.routing)
        self._arriving = arriving(self.fluid)
        self._flow = Flow()
        self._latencies = [0.0] * (1 + len(SHARES))
        self._answered = self._invoked = self._shares = self._errors = 0.0
        self._quantiles = [lot.quantile(share) for share in SHARES]
        self._many = [lot.quantile((n + 0.5) / _POINTS) for n in range(_POINTS)]
        self._is_even = scenario.routing != "RANDOM"
        self._firsts = 0.0

    def busy(self) -> dict[Copy, float]:
        """
        Return for which share of the last seconds each copy had something to do.
        """
        fluid = self.fluid
        keys = [key for key in fluid.keys if isinstance(key, Copy)]
        if not keys:
            return {}
        share = 1.0
        if not fluid.waiting:
            share = busy_share(fluid.running, len(keys), is_even=self._is_even)
        return dict.fromkeys(keys, share)

    def step(self, seconds: float) -> None:
        arrived, kind = next(self._arriving)
        self._flow = flow = self.fluid.step(seconds, arrived, kind)
        self.minutes.minute.add(flow.arrived, flow.served, flow.timed_out, flow.refused)
        steady = flow.steady
        if steady is not None and flow.served > 0:
            workload, latencies = self.workload, self._latencies
            before = workload.service.overhead_seconds + flow.wait
            times = [before + steady.seconds]
            before += steady.start
            times += [before + steady.token * tokens for tokens in self._quantiles]
            for place, latency in enumerate(times):
                # What takes longer is not among the answers.
                latencies[place] += flow.served * min(latency, workload.timeout)
            self._answered += flow.served
            self._firsts += flow.served * (flow.wait + steady.start + steady.token)

    def publish(self, publisher: Publisher, since: float) -> None:
        """
        Put the last step into the metrics that come every ten seconds.
        """
        flow, fluid, copies = self._flow, self.fluid, self.fluid.serving
        no_capacity = flow.refused.get("no capacity", 0.0)
        if no_capacity:
            publisher.failed(since, no_capacity, 0.0)
        if copies:
            load = fluid.load
            # Requests go to the emptiest copy: no two differ by more than one.
            each = load / copies
            least = math.floor(each) if copies > 1 else each
            most = math.ceil(each - _HAIR) if copies > 1 else each
            publisher.concurrent(since, load, copies, least, most)
            self._invoked += flow.arrived - no_capacity
            self._shares += (flow.arrived - no_capacity) / copies
        self._errors += sum(flow.refused.values()) - no_capacity + flow.timed_out

    def publish_minute(self, publisher: Publisher, since: float) -> None:
        """
        Put the last minute into the metrics that come by the minute.
        """
        invoked, shares = self._invoked, self._shares
        copies = invoked / shares if shares else self.fluid.serving
        publisher.invoked(since, invoked, copies)
        if self._answered:
            overhead = self.workload.service.overhead_seconds
            seconds = self._latencies[0] - overhead * self._answered
            latency = seconds / self._answered
            spread = self._spread() if publisher.wants_spread else None
            publisher.answered(
                since, seconds, self._answered, latency, latency, spread=spread
            )
            if publisher.wants_firsts:
                # Of all answers of the minute their average is known, and it alone.
                mean = self._firsts / self._answered
                publisher.begun(since, [mean] * math.ceil(self._answered))
        publisher.failed(since, 0.0, self._errors)
        self._invoked = self._shares = self._errors = self._firsts = 0.0

    def _spread(self) -> Histogram | None:
        """
        Return the latencies of the last minute, by the lengths of answers.
        """
        flow = self._flow
        if flow.steady is None:
            return None
        steady, before = flow.steady, flow.wait + flow.steady.start
        seconds = (before + steady.token * tokens for tokens in self._many)
        return spread_of_seconds(seconds, max(1, round(self._answered / _POINTS)))

    def close_minute(self, desired: int) -> None:
        fluid, answered = self.fluid, self._answered
        latencies: list[float | None] = [None] * len(self._latencies)
        if answered:
            latencies = [each / answered for each in self._latencies]
        self.minutes.close(
            waiting=fluid.waiting,
            under_way=fluid.under_way,
            copies=fluid.serving,
            desired=desired,
            latencies=latencies,
        )
        self._latencies = [0.0] * len(self._latencies)
        self._answered = 0.0


_Arriving = Iterator[tuple[float, Equilibrium]]


def _traffic(
    scenario: Scenario, number: int
) -> tuple[Lot, Callable[[Fluid], _Arriving]]:
    import numpy as np  # noqa: PLC0415 - what plays nothing out starts without it

    workload, duration = scenario.workloads[number], scenario.duration
    generator = np.random.default_rng([scenario.seed, number])
    if isinstance(workload.traffic, Users):
        users = workload.traffic
        prompts = users.lengths.prompts.sample(generator, _SAMPLE)
        answers = users.lengths.answers.sample(generator, _SAMPLE)
        mean = float(prompts.mean()), float(answers.mean())
        return (
            _lot(workload, prompts, answers),
            lambda fluid: _users(workload, users, fluid, *mean),
        )
    traffic = workload.traffic.starting(scenario.start)
    prompts, answers = traffic.typical(generator, _SAMPLE, duration)
    # The very steps that are played, to the last digit.
    edges = [0.0]
    while edges[-1] < duration:
        edges.append(min(edges[-1] + TICK, duration))
    expected = traffic.expected(np.array(edges))
    # The mean of a step without requests is of no account, and must not be 0.
    some = np.maximum(expected.requests, _HAIR)
    columns = (expected.requests, expected.prompts / some, expected.answers / some)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return _lot(workload, prompts, answers), lambda fluid: _rated(rows, fluid)


def _rated(rows: list[tuple[float, float, float]], fluid: Fluid) -> _Arriving:
    kind = fluid.equilibrium(1.0, 1.0)
    for requests, prompt, answer in rows:
        # A step without requests has no lengths: those of the last ones hold.
        if requests > _HAIR:
            kind = fluid.equilibrium(prompt, answer)
        yield requests, kind


def _users(
    workload: Workload, users: Users, fluid: Fluid, prompt: float, answer: float
) -> _Arriving:
    """
    Give as many requests as users ask who are not waiting for an answer.
    """
    kind = fluid.equilibrium(prompt, answer)
    pause = users.think + workload.service.overhead_seconds
    joined = 0.0
    while True:
        joined += TICK
        over = users.joined_over
        count = users.count * (min(joined / over, 1.0) if over else 1.0)
        if not fluid.serving:
            yield count * TICK / (pause + REFUSED_PAUSE), kind
            continue
        rate = fluid.asked(count, pause, kind)
        asking = rate * TICK
        if fluid.settled(rate * _MORE, kind) is None:
            # At the most that copies can serve the rest of the users is in line.
            asking += max(count - rate * pause - fluid.load, 0.0)
        yield asking, kind


def _lot(workload: Workload, prompts: Tokens, answers: Tokens) -> Lot:
    room = workload.service.kv_tokens
    fits = prompts + answers <= (math.inf if room is None else room)
    kept = fits if fits.any() else ~fits
    few = prompts[kept]
    return Lot(
        answers=sorted(answers[kept].tolist()),
        spread=float(few.var() / max(few.mean(), 1.0) ** 2),
        too_long=float(1 - fits.mean()),
        kept_prompts=float(few.mean() / prompts.mean()),
        kept_answers=float(answers[kept].mean() / answers.mean()),
    )
