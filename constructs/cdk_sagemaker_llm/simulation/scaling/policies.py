"""
What a scalable target is told: bounds, policies and scheduled actions; and what
Application Auto Scaling did of it and did not do, in its own words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.metrics import HIGH_RESOLUTION, Query

_ADJUSTMENTS = ("ChangeInCapacity", "PercentChangeInCapacity", "ExactCapacity")
# AWS leaves both to itself; users read them off the alarms it makes: three and fifteen
# minutes (re:Post QUf450Wsd9RROGGOIwaolN9w), and ninety points of ten seconds for
# concurrency (measured July 2026).
_HIGH_POINTS, _LOW_MINUTES = 3, 15
# The same alarms: 1,350 where the target is 1,500.
_LOW_SHARE = 0.9
_MINUTE = 60

# The service's codes for what it did not do (API reference: NotScaledReason).
AT_MAXIMUM = "AlreadyAtMaxCapacity"
AT_MINIMUM = "AlreadyAtMinCapacity"
AT_DESIRED = "AlreadyAtDesiredCapacity"
UNSCALABLE = "TargetServicePutResourceAsUnscalable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """
    Between which numbers capacity stays, both included.

    Args:
        minimum: The least count.

        maximum: The largest count.
    """

    minimum: int
    maximum: int

    def __post_init__(self) -> None:
        if not 0 <= self.minimum <= self.maximum:
            raise ValueError(
                "bounds must be 0 <= minimum <= maximum, got "
                f"minimum={self.minimum} and maximum={self.maximum}"
            )

    def clamp(self, count: int) -> int:
        """
        Bring a number inside.

        Args:
            count: The count that is wanted.
        """
        return max(self.minimum, min(self.maximum, count))


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetTracking:
    """
    Keep a metric near its target, by two alarms of the service's own.

    Args:
        name: The policy's name.

        query: The metric, as the alarms read it.

        target: In the metric's unit.

        scale_in_cooldown: Seconds after a scale-in until the next.

        scale_out_cooldown: Seconds after a scale-out in which only a larger one goes
            through.

        disable_scale_in: Whether it never takes capacity away.

        alarm_names:
            The names of its alarms, the high one first. If omitted, they are made
            of the policy's name.
    """

    name: str
    query: Query
    target: float
    scale_in_cooldown: float = 300.0
    scale_out_cooldown: float = 300.0
    disable_scale_in: bool = False
    alarm_names: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if not self.target > 0 or math.isinf(self.target):
            raise ValueError(
                f"target of policy {self.name} must be more than 0, got {self.target}"
            )
        _check_cooldown("scale_in_cooldown", self.name, self.scale_in_cooldown)
        _check_cooldown("scale_out_cooldown", self.name, self.scale_out_cooldown)

    @property
    def high(self) -> AlarmRule:
        """
        The alarm that adds capacity.
        """
        return self._alarm(self._alarm_names[0], high_side(self.target))

    @property
    def low(self) -> AlarmRule | None:
        """
        The alarm that takes capacity away, if the policy does.
        """
        if self.disable_scale_in:
            return None
        side = low_side(self.target, self.query.period)
        return self._alarm(self._alarm_names[1], side)

    @property
    def is_high_resolution(self) -> bool:
        """
        Whether its metric comes every ten seconds.
        """
        return all(metric.name in HIGH_RESOLUTION for metric in self.query.metrics())

    def _alarm(self, name: str, side: Side) -> AlarmRule:
        return AlarmRule(
            name=name,
            query=self.query,
            comparison=side.comparison,
            threshold=side.threshold,
            evaluation_periods=side.points,
        )

    @property
    def _alarm_names(self) -> tuple[str, str]:
        stem = f"TargetTracking-{self.name}"
        return self.alarm_names or (f"{stem}-AlarmHigh", f"{stem}-AlarmLow")


def high_side(target: float) -> Side:
    """
    Return when the alarm goes off that adds capacity.
    """
    return Side("GreaterThanThreshold", target, _HIGH_POINTS)


def low_side(target: float, period: int) -> Side:
    """
    Return when the alarm goes off that takes capacity away.
    """
    points = _LOW_MINUTES * _MINUTE // period
    return Side("LessThanThreshold", _LOW_SHARE * target, points)


class Side(NamedTuple):
    """
    When one of the two alarms of target tracking goes off.
    """

    comparison: str
    threshold: float
    points: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StepScaling:
    """
    Change capacity by steps while an alarm lasts.

    Args:
        name: The policy's name.

        alarm: The alarm whose action it is.

        adjustments: The steps.

        adjustment_type: ``ChangeInCapacity``, ``PercentChangeInCapacity`` or
            ``ExactCapacity``.

        cooldown: Seconds.

        minimum_magnitude: The least change by per cent. If omitted, one.
    """

    name: str
    alarm: AlarmRule
    adjustments: tuple[StepAdjustment, ...]
    adjustment_type: str = "ChangeInCapacity"
    cooldown: float = 300.0
    minimum_magnitude: int | None = None

    def __post_init__(self) -> None:
        if self.adjustment_type not in _ADJUSTMENTS:
            raise ValueError(
                f"adjustment_type of policy {self.name} must be one of "
                f"{', '.join(_ADJUSTMENTS)}, got {self.adjustment_type!r}"
            )
        _check_cooldown("cooldown", self.name, self.cooldown)


Policy = TargetTracking | StepScaling


@dataclass(frozen=True, kw_only=True, slots=True)
class StepAdjustment:
    """
    What to do when the metric is so far from the alarm's threshold.

    Args:
        lower: From this distance on; ``None`` for no end.

        upper: Up to this distance; ``None`` for no end.

        change: Copies, per cent or the exact capacity, as the policy says.
    """

    lower: float | None = None
    upper: float | None = None
    change: float

    def __post_init__(self) -> None:
        lower = -math.inf if self.lower is None else self.lower
        upper = math.inf if self.upper is None else self.upper
        if not lower < upper:
            raise ValueError(
                f"a step must be lower < upper, got lower={self.lower} and "
                f"upper={self.upper}"
            )
        if not math.isfinite(self.change):
            raise ValueError(f"change of a step must be a number, got {self.change}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduledAction:
    """
    Other bounds from a moment on.

    Args:
        name: The action's name.

        schedule: ``cron(...)``, ``rate(...)`` or ``at(...)``, as the service reads it.

        time_zone: The zone of cron and at, such as ``Europe/Berlin``.

        minimum: The new minimum. If omitted, it stays.

        maximum: The new maximum. If omitted, it stays.

        start: Not before this moment. If omitted, at once.

        end: Not after this moment. If omitted, for ever.
    """

    name: str
    schedule: str
    time_zone: str = "UTC"
    minimum: int | None = None
    maximum: int | None = None
    start: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            moment = getattr(self, name)
            if moment is not None and moment.tzinfo is None:
                raise ValueError(
                    f"{name} of scheduled action {self.name} must have a time zone, "
                    f"got {moment.isoformat()}"
                )
        least = 0 if self.minimum is None else self.minimum
        most = math.inf if self.maximum is None else self.maximum
        if not 0 <= least <= most:
            raise ValueError(
                f"scheduled action {self.name} must have 0 <= minimum <= maximum, got "
                f"minimum={self.minimum} and maximum={self.maximum}"
            )


@dataclass(slots=True, kw_only=True)
class Activity:
    """
    One change of capacity, or one that did not happen.

    Args:
        time: When it was decided.

        before: The capacity then.

        after: The capacity that was asked for.

        policy: Whose doing: a policy's or a scheduled action's name; empty for bounds.

        cause: In the service's words.

        value: The metric's value that led to it.

        breached_from: The start of the first period that led to it.

        read_late: Seconds that it took until the last of those periods could be read.

        completed: When the capacity was there; ``None`` while it is not.

        not_scaled: The service's code of why nothing was done; empty if it was.
    """

    time: float
    before: int
    after: int
    policy: str
    cause: str
    value: float | None = None
    breached_from: float | None = None
    read_late: float = 0.0
    completed: float | None = None
    not_scaled: str = ""

    @property
    def is_out(self) -> bool:
        """
        Whether it added capacity.
        """
        return self.after > self.before


def _check_cooldown(name: str, policy: str, cooldown: float) -> None:
    if not cooldown >= 0:
        raise ValueError(f"{name} of policy {policy} must be 0 or more, got {cooldown}")
