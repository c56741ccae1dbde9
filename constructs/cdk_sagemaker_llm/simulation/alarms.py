"""
Alarms as CloudWatch evaluates them: so many points out of so many, some missing.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.metrics import Query, Reader

ALARM, OK, INSUFFICIENT_DATA = "ALARM", "OK", "INSUFFICIENT_DATA"
TREATMENTS = ("missing", "ignore", "breaching", "notBreaching")

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}
# CloudWatch looks at more points than it needs, "the exact number varies"; its guide's
# example, three that are needed and five that are looked at, is what is done here
# (AlarmThatSendsEmail, "Configuring how CloudWatch alarms treat missing data").
_LOOKED_BACK = 2
# While it lasts, an alarm goes on to invoke scaling, "once per minute" (same guide).
_REPEATED = 60.0
_MINUTE = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class AlarmRule:
    """
    When an alarm goes off.

    Args:
        name: The alarm's name.

        query: What it watches.

        comparison: The service's word, such as ``GreaterThanThreshold``.

        threshold: What the value is compared with, in the metric's unit.

        evaluation_periods: How many of the last points are looked at.

        datapoints_to_alarm:
            How many of them must breach. If omitted, all of them.

        treat_missing: How missing points count: missing, ignore, breaching or
            notBreaching.
    """

    name: str
    query: Query
    comparison: str
    threshold: float
    evaluation_periods: int
    datapoints_to_alarm: int | None = None
    treat_missing: str = "missing"

    def __post_init__(self) -> None:
        if self.comparison not in _COMPARISONS:
            raise ValueError(
                f"comparison of alarm {self.name} must be one of "
                f"{', '.join(_COMPARISONS)}, got {self.comparison!r}"
            )
        if self.treat_missing not in TREATMENTS:
            raise ValueError(
                f"treat_missing of alarm {self.name} must be one of "
                f"{', '.join(TREATMENTS)}, got {self.treat_missing!r}"
            )
        if not 1 <= self.needed <= self.evaluation_periods:
            raise ValueError(
                f"alarm {self.name} needs {self.needed} of {self.evaluation_periods} "
                "points; at least one, and no more than are looked at"
            )

    @property
    def needed(self) -> int:
        """
        How many points must breach.
        """
        datapoints = self.datapoints_to_alarm
        return self.evaluation_periods if datapoints is None else datapoints

    @property
    def span(self) -> float:
        """
        How many seconds of breaching it takes.
        """
        return float(self.query.period * self.needed)

    def is_breached(self, value: float) -> bool:
        """
        Compare a value with the threshold.

        Args:
            value: The metric's value of a period.
        """
        return _COMPARISONS[self.comparison](value, self.threshold)


class Alarm:
    """
    The state of one alarm, brought forward period by period.
    """

    __slots__ = ("_points", "_run", "evaluated", "latest", "rule", "since", "state")

    def __init__(self, rule: AlarmRule) -> None:
        self.rule = rule
        self.state = INSUFFICIENT_DATA
        self.since = 0.0
        self.evaluated = 0.0
        self.latest: float | None = None
        self._run = 0
        length = rule.evaluation_periods + _LOOKED_BACK
        self._points: deque[float | None] = deque(maxlen=length)

    @property
    def points(self) -> tuple[float | None, ...]:
        """
        The points that were looked at last, the newest at the end.

        The newest is of the period that ended at ``evaluated``.
        """
        return tuple(self._points)

    def recall(self, end: float, read: Reader) -> None:
        """
        Look back from a moment, so that what was before the alarm counts as well.
        """
        period, length = self.rule.query.period, self._points.maxlen or 0
        ends = (end - period * back for back in reversed(range(length)))
        self._points.extend(read(self.rule.query, moment) for moment in ends)

    def evaluate(self, end: float, read: Reader) -> bool:
        """
        Take in the period that ends at a moment; tell whether the state changed.
        """
        query = self.rule.query
        self.evaluated = end
        if query.period > _MINUTE:
            # A long period slides by the minute, so that every point is another one.
            self.recall(end, read)
            self._run = 0
        else:
            self._points.append(read(query, end))
        newest = self._points[-1]
        if newest is not None:
            self.latest = newest
        before, self.state = self.state, self._judge(newest)
        if self.state != before:
            self.since = end
        return self.state != before

    def _judge(self, newest: float | None) -> str:
        # Most evaluations are settled by the newest point, and by how many before it
        # were alike; a week has a hundred thousand of them.
        rule = self.rule
        if newest is not None and rule.needed == rule.evaluation_periods:
            if not rule.is_breached(newest):
                self._run = 0
                return OK
            self._run += 1
            if self._run >= rule.needed:
                return ALARM
        else:
            self._run = 0
        return judge(rule, tuple(self._points), self.state)


def judge(rule: AlarmRule, points: Sequence[float | None], before: str) -> str:
    """
    Return an alarm's state after its last points, the newest at the end.

    Follows the guide's section on missing data: real points that are older stand in
    for missing ones; only what is still short is filled as the alarm says.
    """
    real = [value for value in points if value is not None]
    breaching = [rule.is_breached(v) for v in real[-rule.evaluation_periods :]]
    missing = rule.evaluation_periods - len(real)
    if sum(breaching) >= rule.needed:
        return ALARM
    if sum(breaching) + missing < rule.needed:
        return OK
    if rule.treat_missing == "missing":
        if not real:
            return INSUFFICIENT_DATA
        # Too few points, and all of them breach: an alarm as soon as the oldest of them
        # is as old as the points that are needed.
        oldest = next(n for n, value in enumerate(points) if value is not None)
        is_old = len(points) - oldest >= rule.needed
        return ALARM if all(breaching) and is_old else OK
    if rule.treat_missing == "ignore":
        # A real point within the threshold is enough (the guide's second table).
        return before if all(breaching) else OK
    return ALARM if rule.treat_missing == "breaching" else OK


class Watch:
    """
    Evaluates an alarm when its periods can be read, for as long as the timeline runs.

    It begins with the next period that can be read, ``delay`` seconds after its end,
    and knows those before it. ``act`` is called with the alarm whenever its state
    changes, and every minute while it is in ALARM.
    """

    def __init__(
        self,
        timeline: Timeline,
        alarm: Alarm,
        *,
        read: Reader,
        delay: float,
        act: Callable[[Alarm], None],
    ) -> None:
        self.alarm = alarm
        self.delay = delay
        self._timeline = timeline
        self._read = read
        self._act = act
        self._step = min(alarm.rule.query.period, _MINUTE)
        self._acted = float("-inf")
        self._end = ((timeline.now - delay) // self._step + 1) * self._step
        alarm.recall(self._end - self._step, read)
        self._next = timeline.at(self._end + delay, self._look)

    def stop(self) -> None:
        """
        Look no more.
        """
        self._next.cancel()

    def _look(self) -> None:
        alarm = self.alarm
        changed = alarm.evaluate(self._end, self._read)
        self._end += self._step
        self._next = self._timeline.at(self._end + self.delay, self._look)
        now = self._timeline.now
        lasting = alarm.state == ALARM and now - self._acted >= _REPEATED
        if changed or lasting:
            self._acted = now
            self._act(alarm)
