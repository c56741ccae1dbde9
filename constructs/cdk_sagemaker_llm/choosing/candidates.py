"""
A deployment that may be chosen: a setup, and how many copies of it run when; what it
comes to by queueing theory, and as the scenario that a simulation plays out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.prices import HOURS_A_MONTH
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.scaling import Scaling
from cdk_sagemaker_llm.choosing.setups import Setup
from cdk_sagemaker_llm.choosing.sizing import Sizing, Speed
from cdk_sagemaker_llm.simulation.fleet import Pool
from cdk_sagemaker_llm.simulation.outcome import Outcome, Series
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload

_MINUTE, _HOUR = 60.0, 3600.0
_ENDPOINT, _VARIANT, _COMPONENT = "endpoint", "AllTraffic", "model"
# Less than half a request that is lost is rounding.
_LOST = 0.5
_P95 = 0.95
# More than any number of copies.
_MANY = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """
    What a deployment comes to.

    Args:
        monthly_cost: US dollars in 730 hours; ``None`` without a known price.

        instance_hours: Hours of instances in the time that was looked at.

        kept: The part of the minutes that kept the objective.

        ttft: Seconds to the first token, for half of the requests, and for 95 %.

        tpot: Seconds for each further token, likewise.

        lost: Requests that were refused or given up.

        method: ``estimate`` by queueing theory, or how it was simulated.
    """

    monthly_cost: float | None
    instance_hours: float
    kept: float
    ttft: tuple[float, float]
    tpot: tuple[float, float]
    lost: float
    method: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """
    A setup, and how many copies of it run when.
    """

    setup: Setup
    scaling: Scaling

    @property
    def name(self) -> str:
        """
        Say it in one line.
        """
        return f"{self.setup.model} on {self.setup.words}; {self.scaling.words}"

    @property
    def instances(self) -> tuple[int, int, int]:
        """
        How many instances there are at the start, at least and at most.

        A host has room for one more, where an update starts copies beside the old ones.
        """
        scaling = self.scaling
        if not self.setup.shares:
            return scaling.least, scaling.least, scaling.most
        each = self.setup.copies
        least, most = (
            math.ceil(count / each) for count in (scaling.least, scaling.most)
        )
        return max(least, 1), least, most + 1 if scaling.is_fixed else most

    @property
    def copies(self) -> int:
        """
        How many copies there are at the start.
        """
        return self.scaling.least

    def estimate(self, sizing: Sizing, question: Question) -> Result:
        """
        Estimate what it comes to, minute by minute, without playing it out.
        """
        import numpy as np  # noqa: PLC0415 - what chooses nothing starts without it

        load, setup = sizing.load, self.setup
        counts = self.scaling.counts(sizing, setup.start_seconds)
        each = setup.copies if setup.shares else 1
        # Few of them differ: a level of load, and how many copies there are then.
        keys, times = np.unique(load.minutes * _MANY + counts, return_counts=True)
        hours, kept, speeds = 0, 0, []
        for key, count in zip(keys.tolist(), times.tolist(), strict=True):
            number, copies = divmod(key, _MANY)
            hours += math.ceil(copies / each) * count
            level = load.levels[number]
            kept += count if sizing.keeps(level, copies) else 0
            if level and copies and (speed := sizing.speed(level, copies)):
                speeds.append((speed, speed.rate * count))
        spent = hours * _MINUTE / _HOUR
        return Result(
            monthly_cost=self._monthly(spent, question.duration),
            instance_hours=spent,
            kept=kept / len(load.minutes),
            **_percentiles(speeds),
            lost=0.0,
            method="estimate",
        )

    def scenario(self, question: Question) -> Scenario:
        """
        Return what a simulation plays out: the same that ``simulate`` reads of the app
        that the candidate's construct call makes.
        """
        setup = self.setup
        start, least, most = self.instances
        name = _COMPONENT if setup.shares else _VARIANT
        return Scenario(
            workloads=(self.workload(question, name),),
            duration=question.duration,
            start=question.start,
            seed=question.seed,
            endpoint=_ENDPOINT,
            variant=_VARIANT,
            pools=(Pool(setup.instance_type),),
            instances=start,
            minimum=least,
            maximum=most,
            managed=setup.shares,
        )

    def workload(self, question: Question, name: str) -> Workload:
        """
        Return the model in such a scenario, by its name there.
        """
        setup, scaling = self.setup, self.scaling
        usual = setup.plan.expected
        held = usual.terms.fixed + usual.terms.cuda_graphs + max(usual.kv_cache_room, 0)
        return Workload(
            name=name,
            traffic=question.traffic,
            service=setup.times,
            needs=setup.plan.resources if setup.shares else None,
            copies=self.copies,
            bounds=scaling.bounds,
            policies=scaling.policies(
                name, is_component=setup.shares, endpoint=_ENDPOINT
            ),
            schedules=scaling.schedules(),
            start_seconds=setup.start_seconds,
            timeout=question.timeout,
            memory_share=min(held / setup.plan.capacity, 1.0),
        )

    def judge(self, outcome: Outcome, sizing: Sizing) -> Result:
        """
        Return what a simulation of it came to.

        The simulation knows how long whole answers took. Of each minute the first
        token is as late as it is with so many copies at such a rate, and what answers
        took longer than that, they waited for before it.
        """
        (series,) = outcome.workloads.values()
        spent = sum(outcome.instance_hours.values())
        return result_of(
            series,
            sizing,
            monthly_cost=self._monthly(spent, outcome.duration),
            instance_hours=spent,
            method=outcome.method,
        )

    def _monthly(self, hours: float, duration: float) -> float | None:
        price = self.setup.price
        if price is None:
            return None
        return hours * price * HOURS_A_MONTH * _HOUR / duration


def result_of(
    series: Series,
    sizing: Sizing,
    *,
    monthly_cost: float | None,
    instance_hours: float,
    method: str,
) -> Result:
    """
    Return what the minutes of one model come to.

    Args:
        series: Its minutes, as a simulation recorded them.

        sizing: How fast its copies answer.

        monthly_cost: US dollars in 730 hours; ``None`` without a known price.

        instance_hours: Hours of instances in the time that was simulated.

        method: How it was simulated.
    """
    kept, speeds = _kept(series, sizing)
    totals = series.totals
    return Result(
        monthly_cost=monthly_cost,
        instance_hours=instance_hours,
        kept=kept,
        **_percentiles(speeds),
        lost=totals.timed_out + sum(totals.refused.values()),
        method=method,
    )


def _kept(series: Series, sizing: Sizing) -> tuple[float, list[tuple[Speed, float]]]:
    kept, speeds = 0, []
    aim = sizing.objective
    lost = [
        timed_out + sum(each[minute] for each in series.refused.values())
        for minute, timed_out in enumerate(series.timed_out)
    ]
    for minute, arrived in enumerate(series.arrived):
        if not arrived:
            kept += lost[minute] < _LOST
            continue
        # As many as were to come: that by chance more did shows in how long they took.
        level = sizing.load.levels[sizing.load.minutes[minute]]
        speed = sizing.speed(level, round(series.copies[minute]))
        mean = series.latency_mean[minute]
        if speed is None or lost[minute] >= _LOST:
            continue
        late = max((mean or 0.0) - speed.mean, 0.0)
        kept += speed.ttft + late <= aim.ttft and speed.tpot <= aim.tpot
        speeds.append((speed.later(late), arrived))
    return kept / len(series.arrived), speeds


def _percentiles(
    speeds: Sequence[tuple[Speed, float]],
) -> Mapping[str, tuple[float, float]]:
    """
    Return the median and the slow end of both times, over all requests.
    """
    if not speeds:
        return {"ttft": (math.inf, math.inf), "tpot": (math.inf, math.inf)}
    return {
        "ttft": (
            _at(0.5, [(each.median_ttft, weight) for each, weight in speeds]),
            _at(_P95, [(each.ttft, weight) for each, weight in speeds]),
        ),
        "tpot": (
            _at(0.5, [(each.median_tpot, weight) for each, weight in speeds]),
            _at(_P95, [(each.tpot, weight) for each, weight in speeds]),
        ),
    }


def _at(share: float, weighted: Sequence[tuple[float, float]]) -> float:
    wanted = share * sum(weight for _, weight in weighted)
    passed, value = 0.0, math.inf
    for value, weight in sorted(weighted):
        passed += weight
        if passed >= wanted:
            return value
    return value
