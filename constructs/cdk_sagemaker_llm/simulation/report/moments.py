"""
The moments of a run that its report is about.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from cdk_sagemaker_llm.simulation.fleet.times import seconds
from cdk_sagemaker_llm.simulation.outcome import Outcome, Series
from cdk_sagemaker_llm.simulation.scaling import Activity
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload

_MINUTE = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """
    The way from a load to the capacity for it, in seconds since the start.

    Args:
        activity: What was decided.

        breached: When the first period began that led to it.

        decided: When it was decided.

        read_late: Seconds of that in which the last period could not be read yet.

        running: When the first new instance ran; ``None`` if none had to come.

        serving: When the first new copy served; ``None`` if none did.

        model: Seconds of the model's own start, as the run was told.
    """

    activity: Activity
    breached: float
    decided: float
    read_late: float
    running: float | None = None
    serving: float | None = None
    model: float = 0.0

    @property
    def counted(self) -> float:
        """
        Seconds of breaching points that it took.
        """
        return self.decided - self.breached - self.read_late


def way_of(
    scenario: Scenario, outcome: Outcome, workload: Workload, activity: Activity
) -> Way:
    """
    Follow a change of capacity from what led to it until it was there.
    """
    times = scenario.times or FleetTimes()
    start = workload.start_seconds
    begin = outcome.start.timestamp()
    breached = activity.breached_from or activity.time
    return Way(
        activity=activity,
        breached=breached - begin,
        decided=activity.time - begin,
        read_late=activity.read_late,
        running=_first_more(outcome, "running instances", activity.time),
        serving=_first_more(
            outcome, f"serving copies of {workload.name}", activity.time
        ),
        model=seconds(
            times.model_start if start is None else start,
            scenario.pools[0].instance_type,
        ),
    )


def changes(outcome: Outcome, workload: Workload, *, out: bool) -> list[Activity]:
    """
    Return what was scaled out, or in, by policies; the first one first.
    """
    return [
        one
        for one in outcome.activities.get(workload.name, ())
        if not one.not_scaled and one.breached_from is not None and one.is_out == out
    ]


def in_a_row(activities: list[Activity]) -> list[Activity]:
    """
    Return the first changes that follow on each other, with none the other way between.
    """
    found = activities[:1]
    for one in activities[1:]:
        if one.before != found[-1].after:
            break
        found.append(one)
    return found


def minutes_with(numbers: list[float]) -> tuple[float, float] | None:
    """
    Return when the first minute with something began, and when the last one ended.
    """
    found = [minute for minute, number in enumerate(numbers) if number]
    return (found[0] * _MINUTE, (found[-1] + 1) * _MINUTE) if found else None


def cooled(activities: list[Activity], cooldown: float) -> float:
    """
    Return how many seconds a cooldown held up the next change, all changes together.

    A change that follows within two evaluations of the end of the one before it was
    waiting for that.
    """
    return sum(
        cooldown
        for done, after in _pairs(activities)
        if cooldown and done + cooldown <= after <= done + cooldown + 2 * _MINUTE
    )


def _pairs(activities: list[Activity]) -> Iterator[tuple[float, float]]:
    for one, following in itertools.pairwise(activities):
        yield (one.completed or one.time), following.time


def worst_minute(series: Series) -> tuple[float, float] | None:
    """
    Return when the minute with the highest p95 began, and that p95.
    """
    known = [value for value in series.latency_p95 if value is not None]
    if not known:
        return None
    worst = max(known)
    # The first of several: that is where it began.
    return series.latency_p95.index(worst) * _MINUTE, worst


def mean_latency(series: Series) -> float | None:
    """
    Return the seconds that an answer took on average, over the whole run.
    """
    pairs = [
        (served, mean)
        for served, mean in zip(series.served, series.latency_mean, strict=True)
        if mean is not None
    ]
    total = sum(served for served, _ in pairs)
    return sum(served * mean for served, mean in pairs) / total if total else None


def _first_more(outcome: Outcome, what: str, since: float) -> float | None:
    begin = outcome.start.timestamp()
    for step in outcome.steps:
        if step.what == what and step.time >= since and step.after > step.before:
            return step.time - begin
    return None
