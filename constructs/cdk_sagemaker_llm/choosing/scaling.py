"""
How many copies run: always the same, by the clock, or as requests under way ask for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.choosing.sizing import Sizing
from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.metrics import SAGEMAKER, Metric, MetricQuery
from cdk_sagemaker_llm.simulation.scaling import (
    Bounds,
    Policy,
    ScheduledAction,
    StepAdjustment,
    StepScaling,
    TargetTracking,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.choosing.load import Whole

_MINUTE, _HOURS = 60, 24
_DAY = _MINUTE * _HOURS
# Target tracking removes capacity after so many minutes below its target.
_SCALE_IN_MINUTES = 15
# Of what the objective allows to be under way at a copy, what scaling aims at: the
# rest serves who comes while copies start.
_AIMS = (0.4, 0.6, 0.8)
_ROOM = 1.25
# Instances and images take this long beside the model's own start.
_PROVISION_SECONDS = 201.0 + 213.0
_STEP_MINUTES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Hours:
    """
    The hours of a day in UTC in which more run.

    Args:
        opens: Minutes of the day at which copies begin to start.

        closes: Minutes of the day at which they go.

        copies: How many run between, at least.
    """

    opens: int
    closes: int
    copies: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Scaling:
    """
    How many copies run, and what changes that.

    Args:
        least: How many there are at least, outside of the hours.

        most: How many there are at most.

        target: Requests under way at each copy that scaling aims at.
            If omitted, the load scales nothing.

        hours: When more run. If omitted, the clock scales nothing.
    """

    least: int
    most: int
    target: float | None = None
    hours: Hours | None = None

    @property
    def is_fixed(self) -> bool:
        """
        Whether nothing changes.
        """
        return self.target is None and self.hours is None

    @property
    def bounds(self) -> Bounds | None:
        """
        Between which numbers scaling keeps the copies.
        """
        if self.is_fixed:
            return None
        return Bounds(minimum=self.least, maximum=self.most)

    @property
    def words(self) -> str:
        """
        Say it in a few words.
        """
        if self.hours is not None:
            hours = self.hours
            times = f"{clock(hours.opens)} to {clock(hours.closes)} UTC"
            return f"{hours.copies} from {times}, else {self.least}"
        if self.target is not None:
            return f"{self.least} to {self.most} near {self.target:g} under way"
        return f"{self.most} fixed"

    def policies(
        self, name: str, *, is_component: bool, endpoint: str
    ) -> tuple[Policy, ...]:
        """
        Return the policies that scale the copies of a model by its name, as the
        constructs define them.
        """
        if self.target is None:
            return ()
        metric = Metric.of_variant("ConcurrentRequestsPerModel", endpoint, name)
        if is_component:
            metric = Metric.of_component("ConcurrentRequestsPerCopy", name)
        follow = TargetTracking(
            name="Load", query=MetricQuery(metric, "Maximum", 10), target=self.target
        )
        if self.least or not is_component:
            return (follow,)
        refused = Metric.of(
            SAGEMAKER, "NoCapacityInvocationFailures", {"InferenceComponentName": name}
        )
        wake = StepScaling(
            name="Wake",
            alarm=AlarmRule(
                name="Wake",
                query=MetricQuery(refused, "Maximum", 30),
                comparison="GreaterThanOrEqualToThreshold",
                threshold=1.0,
                evaluation_periods=1,
                datapoints_to_alarm=1,
            ),
            adjustments=(StepAdjustment(lower=0.0, change=1),),
            adjustment_type="ExactCapacity",
            cooldown=60.0,
        )
        return follow, wake

    def schedules(self) -> tuple[ScheduledAction, ...]:
        """
        Return the scheduled actions, as ``office_hours`` defines them.
        """
        hours = self.hours
        if hours is None:
            return ()
        return (
            ScheduledAction(
                name="DayOpens",
                schedule=_cron(hours.opens),
                minimum=hours.copies,
                maximum=self.most,
            ),
            ScheduledAction(
                name="DayCloses",
                schedule=_cron(hours.closes),
                minimum=self.least,
                maximum=self.least,
            ),
        )

    def counts(self, sizing: Sizing, start_seconds: float) -> Whole:
        """
        Estimate how many copies serve in each minute, without playing it out.
        """
        import numpy as np  # noqa: PLC0415 - what chooses nothing starts without it

        load = sizing.load
        late = math.ceil((start_seconds + _PROVISION_SECONDS) / _MINUTE)
        if self.hours is not None:
            opens, closes = self.hours.opens + late, self.hours.closes
            minutes = load.begin + np.arange(len(load.minutes)) - opens
            is_open = minutes % _DAY < (closes - opens) % _DAY
            return np.where(is_open, self.hours.copies, self.least)
        if self.target is None:
            return np.full(len(load.minutes), self.most)
        wanted = np.array([self._wanted(sizing, level) for level in load.levels])
        # It comes late, and stays until it was not needed for long.
        before = np.repeat(wanted[load.minutes[:1]], late + _SCALE_IN_MINUTES - 1)
        found = np.concatenate([before, wanted[load.minutes]])
        found = found[: len(load.minutes) + _SCALE_IN_MINUTES - 1]
        windows = np.lib.stride_tricks.sliding_window_view(found, _SCALE_IN_MINUTES)
        most: Whole = windows.max(axis=1)
        return most

    def _wanted(self, sizing: Sizing, level: float) -> int:
        low, high = max(self.least, 1 if level else 0), self.most
        target = self.target or math.inf
        while low < high:
            middle = (low + high) // 2
            found = sizing.speed(level, middle) if level else None
            if not level or (found is not None and found.sequences <= target):
                high = middle
            else:
                low = middle + 1
        return low


def scalings(
    sizing: Sizing, start_seconds: float, *, to_zero: bool, by: int = 1
) -> Iterator[Scaling]:
    """
    Propose how many copies run, from what the load of minutes and hours needs; in whole
    instances of ``by`` copies where that many fill one.
    """
    load, share = sizing.load, sizing.objective.share
    most = sizing.least(load.peak(share))
    if most is None:
        return
    # Where the minutes that count have no request, one copy serves the few that do.
    most = max(most, 1)
    fixed = _whole(most, by)
    yield Scaling(least=fixed, most=fixed)
    yield Scaling(least=fixed + by, most=fixed + by)
    if len(load.levels) == 1:
        return
    yield from _by_the_clock(sizing, start_seconds, to_zero=to_zero, by=by)
    floor = sizing.least(0) or 0
    lows = {max(floor, 1), *((0,) if to_zero else ())}
    room = max(math.ceil(most * _ROOM), most + 1)
    allowed = sizing.most_sequences(most)
    aims = {max(1, round(allowed * aim)) for aim in _AIMS}
    for least, target in itertools.product(sorted(lows), sorted(aims)):
        yield Scaling(least=least, most=room, target=float(target))


def _by_the_clock(
    sizing: Sizing, start_seconds: float, *, to_zero: bool, by: int
) -> Iterator[Scaling]:
    needs = [sizing.least(number) for number in sizing.load.tops]
    least = 0 if to_zero else 1
    known = [max(_whole(need, by), least) for need in needs if need is not None]
    if len(known) < _HOURS or min(known) == max(known):
        return
    day = max(known)
    lead = math.ceil((start_seconds + _PROVISION_SECONDS) / _MINUTE / _STEP_MINUTES)
    lead = (lead + 1) * _STEP_MINUTES
    found = []
    for first, length in itertools.product(range(_HOURS), range(1, _HOURS)):
        outside = [known[(first + n) % _HOURS] for n in range(length, _HOURS)]
        night = max(outside)
        if night < day:
            cost = day * (length * _MINUTE + lead) + night * (_HOURS - length) * _MINUTE
            found.append((cost, first, length, night))
    if not found:
        return
    _, first, length, night = min(found)
    yield Scaling(
        least=night,
        most=day,
        hours=Hours(
            opens=(first * _MINUTE - lead) % _DAY,
            closes=(first + length) % _HOURS * _MINUTE,
            copies=day,
        ),
    )


def clock(minutes: int) -> str:
    """
    Write minutes of a day as a clock shows them.
    """
    return f"{minutes // _MINUTE:02}:{minutes % _MINUTE:02}"


def _whole(count: int, by: int) -> int:
    return -(-count // by) * by


def _cron(minutes: int) -> str:
    return f"cron({minutes % _MINUTE} {minutes // _MINUTE} ? * * *)"
