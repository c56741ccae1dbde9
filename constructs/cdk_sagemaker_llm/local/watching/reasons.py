"""
Why an alarm is in its state, in CloudWatch's words.

The words are those of notifications that users show: up to four points in one
sentence, from five on the newest five in a second one; "out of the last" where the
alarm says how many points it needs (DatapointsToAlarm), without where it does not.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from cdk_sagemaker_llm.simulation.alarms import ALARM, INSUFFICIENT_DATA, Alarm

_COMPARED = {
    "GreaterThanThreshold": "greater than",
    "GreaterThanOrEqualToThreshold": "greater than or equal to",
    "LessThanThreshold": "less than",
    "LessThanOrEqualToThreshold": "less than or equal to",
}
_TREATED = {"breaching": "Breaching", "notBreaching": "NonBreaching"}
_LISTED = 5
_SHOWN = 20  # With more, the data could exceed the API's 4,000 characters.

Point = tuple[float, float]  # The start of a period, and its value.


def reason(alarm: Alarm) -> str:
    """
    Say why an alarm is in its state.
    """
    rule = alarm.rule
    count = rule.evaluation_periods
    if alarm.state == INSUFFICIENT_DATA:
        return f"Insufficient Data: {_points(count)} {_were(count)} unknown."
    told = [
        point
        for point in _real(alarm)
        if rule.is_breached(point[1]) == (alarm.state == ALARM)
    ]
    if not told:
        periods = "1 period" if count == 1 else f"{count} periods"
        return (
            f"Threshold Crossed: no datapoints were received for {periods} and {count} "
            f"missing {_points(count).split()[1]} {_were(count)} treated as "
            f"[{_TREATED.get(rule.treat_missing, rule.treat_missing)}]."
        )
    return f"Threshold Crossed: {_crossed(alarm, told)}"


def reason_data(alarm: Alarm, now: float) -> str:
    """
    Give the same as JSON, as DescribeAlarms shows it.
    """
    rule = alarm.rule
    real = _real(alarm)
    started = real[-1][0] if real else alarm.evaluated - rule.query.period
    query = rule.query
    statistic = {"statistic": query.statistic} if hasattr(query, "statistic") else {}
    data: dict[str, object] = {
        "version": "1.0",
        "queryDate": _stamp(now),
        "startDate": _stamp(started),
        **statistic,
        "period": rule.query.period,
        "recentDatapoints": [value for _, value in reversed(real)],
        "threshold": rule.threshold,
        "evaluatedDatapoints": [
            {"timestamp": _stamp(start), "value": value}
            for start, value in real[:_SHOWN]
        ],
    }
    return json.dumps(data, separators=(",", ":"))


def _real(alarm: Alarm) -> list[Point]:
    # The newest first.
    period = alarm.rule.query.period
    dated = [
        (alarm.evaluated - (n + 1) * period, value)
        for n, value in enumerate(reversed(alarm.points))
        if value is not None
    ]
    return dated[: alarm.rule.evaluation_periods]


def _crossed(alarm: Alarm, told: list[Point]) -> str:
    rule = alarm.rule
    negated = "" if alarm.state == ALARM else "not "
    compared = f"{negated}{_COMPARED[rule.comparison]} the threshold ({rule.threshold})"
    number = len(told)
    listed = ", ".join(
        f"{value} ({datetime.fromtimestamp(start, UTC):%d/%m/%y %H:%M:%S})"
        for start, value in told[:_LISTED]
    )
    if number >= _LISTED:
        return (
            f"{number} datapoints were {compared}. The most recent datapoints which "
            f"crossed the threshold: [{listed}]."
        )
    if rule.datapoints_to_alarm is None:
        return f"{_points(number)} [{listed}] {_were(number)} {compared}."
    if alarm.state == ALARM:
        least, change = rule.needed, "OK -> ALARM"
    else:
        least, change = rule.evaluation_periods - rule.needed + 1, "ALARM -> OK"
    return (
        f"{number} out of the last {rule.evaluation_periods} datapoints [{listed}] "
        f"{_were(number)} {compared} (minimum {_points(least)} for {change} "
        "transition)."
    )


def _points(count: int) -> str:
    return "1 datapoint" if count == 1 else f"{count} datapoints"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _stamp(time: float) -> str:
    moment = datetime.fromtimestamp(time, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}+0000"
