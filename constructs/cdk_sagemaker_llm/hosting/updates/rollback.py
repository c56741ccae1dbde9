"""
What turns an update back: alarms of the user's own, or alarms that are made for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import (
    IMPOSSIBLE_COUNT,
    UNCOUNTABLE,
    count_findings,
    least_findings,
    range_findings,
    seconds,
    time_findings,
)
from cdk_sagemaker_llm.serving.parameters import (
    IMPOSSIBLE_NAME,
    OUTSIDE_RANGE,
    UNREADABLE,
)
from cdk_sagemaker_llm.tokens import is_list_placeholder, is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk.interfaces.aws_cloudwatch import IAlarmRef

# botocore 1.44.5: AlarmList and AlarmName.
_MOST_ALARMS = 10
_LONGEST_NAME = 255
_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_WEEK = 7 * _DAY
_MICROSECONDS = 1_000_000
_STATISTIC = re.compile(r"(Average|Maximum|Minimum|p(?:\d{1,2}(?:\.\d{1,2})?|100))\Z")
_ERROR_RATE = 0.05

NAMELESS = Rule(
    "LLM339",
    "alarms of a rollback, or a rule that tells of it, for what CloudFormation names",
    "CloudFormation, circular dependencies",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """
    What one alarm watches in the namespace ``AWS/SageMaker``, in the metric's own unit.
    """

    id: str
    metric: str
    statistic: str
    value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RollbackAlarms:
    """
    Alarms to be made for a rollout: each update is turned back where one goes off.

    ``RollbackAlarms(first_chunk_latency=Duration.seconds(2))``

    They watch all that the endpoint or the component answers, the old version's
    requests too. SageMaker publishes no metric of containers that restart: what a
    restart breaks counts among the errors.

    Args:
        invocation_5xx_error_rate:
            The part of requests that may end with a status of 500 and above, 0 to 1;
            ``None`` for no such alarm.
            If omitted, it is one in twenty.

        invocation_5xx_error_count:
            How many may, in a period, in place of or beside their part.
            If omitted, there is no such alarm.

        invocation_model_error_rate:
            The part of requests that the container may not answer with a status of
            200 to 299, 0 to 1; ``None`` for no such alarm.
            If omitted, it is one in twenty.

        mid_stream_error_rate:
            The part of streams that may break after their first chunk, 0 to 1.
            If omitted, there is no such alarm.

        first_chunk_latency:
            How long a stream may take to its first chunk.
            If omitted, there is no such alarm.

        model_latency:
            How long an answer may take; that of a stream ends with its last chunk.
            If omitted, there is no such alarm.

        latency_statistic:
            What is taken of latencies: ``Average``, ``Maximum``, ``Minimum``, or a
            percentile such as ``p99``.

        period:
            What each value is taken over, whole minutes.
            If omitted, it is one minute.

        evaluation_periods: How many values in a row must be above.
    """

    invocation_5xx_error_rate: float | None = _ERROR_RATE
    invocation_5xx_error_count: int | None = None
    invocation_model_error_rate: float | None = _ERROR_RATE
    mid_stream_error_rate: float | None = None
    first_chunk_latency: Duration | None = None
    model_latency: Duration | None = None
    latency_statistic: str = "p90"
    period: Duration | None = None
    evaluation_periods: int = 1

    def __post_init__(self) -> None:
        hold_kinds(self)

    @property
    def period_seconds(self) -> float:
        """
        The period of each value, in seconds.
        """
        chosen = seconds(self.period)
        return _MINUTE if chosen is None else chosen


_COUNTED = {
    "invocation_5xx_error_rate": ("Invocation5XXErrors", "Average"),
    "invocation_5xx_error_count": ("Invocation5XXErrors", "Sum"),
    "invocation_model_error_rate": ("InvocationModelErrors", "Average"),
    "mid_stream_error_rate": ("MidStreamErrors", "Average"),
}
_TIMED = {"first_chunk_latency": "FirstChunkLatency", "model_latency": "ModelLatency"}


def thresholds(alarms: RollbackAlarms) -> Iterator[Threshold]:
    """
    Return the thresholds that are watched.
    """
    for name, (metric, statistic) in _COUNTED.items():
        value = getattr(alarms, name)
        if value is not None:
            # There may be one of the share and one of the number.
            own = "Invocation5XXErrorCount" if statistic == "Sum" else metric
            yield Threshold(id=own, metric=metric, statistic=statistic, value=value)
    for name, metric in _TIMED.items():
        time = seconds(getattr(alarms, name))
        if time is not None:
            yield Threshold(
                id=metric,
                metric=metric,
                statistic=alarms.latency_statistic,
                value=time * _MICROSECONDS,
            )


def rollback_findings(
    rollback_on: RollbackAlarms | Sequence[IAlarmRef | str] | None,
    *,
    name: str | None,
    remedy: str,
    subjects: int = 1,
) -> list[Finding]:
    """
    Check what turns an update back.

    The name of what is updated is ``None`` if CloudFormation makes one, and the remedy
    how it is given one. Each of the subjects is watched by alarms of its own.
    """
    if rollback_on is None:
        return []
    if is_list_placeholder(rollback_on):
        return [
            UNREADABLE.finding(
                "rollback_on is a list that is known only at deployment, and each of "
                "its alarms is written out",
                "name each with Fn.select(0, list)",
            )
        ]
    if not isinstance(rollback_on, RollbackAlarms):
        found = [
            IMPOSSIBLE_NAME.finding(
                f"an alarm's name must have 1 to {_LONGEST_NAME} characters, got "
                f"{name!r}"
            )
            for name in rollback_on
            if isinstance(name, str)
            and not is_unresolved(name)
            and not (name.strip() and len(name) <= _LONGEST_NAME)
        ]
        return found + _number_findings(len(rollback_on))
    found = _alarm_findings(rollback_on)
    if not found:
        number = len(list(thresholds(rollback_on)))
        # An imported configuration has variants that are not known here.
        found += _number_findings(number * max(1, subjects))
    if name is None:
        found.append(
            NAMELESS.finding(
                "RollbackAlarms need a name to watch that is known before what they "
                "watch is made, and CloudFormation is to make it",
                remedy,
            )
        )
    return found


def _number_findings(number: int) -> list[Finding]:
    if 1 <= number <= _MOST_ALARMS:
        return []
    return [
        IMPOSSIBLE_COUNT.finding(
            f"rollback_on must be 1 to {_MOST_ALARMS} alarms, got {number}",
            "leave it out for none",
        )
    ]


def _latency_findings(name: str, latency: Duration | None) -> list[Finding]:
    if latency is None:
        return []
    time = seconds(latency)
    if time is None or is_unresolved(time):
        return [
            UNCOUNTABLE.finding(
                f"{name} is known only at deployment, and is needed at synth: the "
                "metric counts microseconds",
                "write Duration.millis(...) of a number",
            )
        ]
    if time > 0:
        return []
    return [OUTSIDE_RANGE.finding(f"{name} must be above 0 seconds, got {time:g}")]


def _alarm_findings(alarms: RollbackAlarms) -> list[Finding]:
    found = []
    for name in _COUNTED:
        value = getattr(alarms, name)
        found += (
            least_findings(name, value, 0)
            if name.endswith("_count")
            else range_findings(name, value, 0, 1)
        )
    for name in _TIMED:
        found += _latency_findings(name, getattr(alarms, name))
    statistic = alarms.latency_statistic
    if not is_unresolved(statistic) and not _STATISTIC.match(statistic):
        found.append(
            OUTSIDE_RANGE.finding(
                "latency_statistic must be Average, Maximum, Minimum or a "
                f"percentile, got {statistic!r}",
                "write 'p90', or 'p99.9'",
            )
        )
    return [
        *found,
        *count_findings("evaluation_periods", alarms.evaluation_periods, 1),
        *_period_findings(alarms),
    ]


def _period_findings(alarms: RollbackAlarms) -> list[Finding]:
    found = time_findings("period", alarms.period)
    period = alarms.period_seconds
    if found or is_unresolved([period, alarms.evaluation_periods]):
        return found
    if period < _MINUTE or period % _MINUTE:
        return [
            OUTSIDE_RANGE.finding(
                f"period must be of whole minutes, got {period:g} seconds",
                "SageMaker publishes these metrics by the minute",
            )
        ]
    # API reference, PutMetricAlarm, at Period.
    most, words = (_DAY, "day") if period < _HOUR else (_WEEK, "week")
    if period * alarms.evaluation_periods <= most:
        return []
    return [
        OUTSIDE_RANGE.finding(
            f"period times evaluation_periods must be at most a {words}, got "
            f"{period * alarms.evaluation_periods:g} seconds"
        )
    ]
