"""
What an alarm says: why it is in its state, and what its topics are told.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.loaders import Loader

from cdk_sagemaker_llm.simulation.alarms import ALARM, INSUFFICIENT_DATA, Alarm

_COMPARED = {
    "GreaterThanThreshold": "greater than",
    "GreaterThanOrEqualToThreshold": "greater than or equal to",
    "LessThanThreshold": "less than",
    "LessThanOrEqualToThreshold": "less than or equal to",
}
_TREATED = {"breaching": "Breaching", "notBreaching": "NonBreaching"}
_LISTED = 5
_MOST_POINTS = 20  # With more, the data could exceed the API's 4,000 characters.
ACTIONS = {
    "ALARM": "AlarmActions",
    "OK": "OKActions",
    "INSUFFICIENT_DATA": "InsufficientDataActions",
}
"""What an alarm does when it comes into each state."""

_CUT = "..."
_LONGEST_SUBJECT = 100  # SNS API reference: Publish.
Point = tuple[float, float]  # The start of a period, and its value.


def reason(alarm: Alarm) -> str:
    """
    Say why an alarm is in its state.
    """
    rule = alarm.rule
    count = rule.evaluation_periods
    if alarm.state == INSUFFICIENT_DATA:
        return f"Insufficient Data: {_points(count)} {_were(count)} unknown."
    points = [
        point
        for point in _real(alarm)
        if rule.is_breached(point[1]) == (alarm.state == ALARM)
    ]
    if not points:
        periods = "1 period" if count == 1 else f"{count} periods"
        return (
            f"Threshold Crossed: no datapoints were received for {periods} and {count} "
            f"missing {_points(count).split()[1]} {_were(count)} treated as "
            f"[{_TREATED.get(rule.treat_missing, rule.treat_missing)}]."
        )
    return f"Threshold Crossed: {_crossed(alarm, points)}"


def reason_data(alarm: Alarm, now: float) -> str:
    """
    Give the same as JSON, as DescribeAlarms shows it.
    """
    rule = alarm.rule
    real = _real(alarm)
    start_time = real[-1][0] if real else alarm.evaluated - rule.query.period
    query = rule.query
    statistic = {"statistic": query.statistic} if hasattr(query, "statistic") else {}
    data: dict[str, object] = {
        "version": "1.0",
        "queryDate": stamp(now),
        "startDate": stamp(start_time),
        **statistic,
        "period": rule.query.period,
        "recentDatapoints": [value for _, value in reversed(real)],
        "threshold": rule.threshold,
        "evaluatedDatapoints": [
            {"timestamp": stamp(start), "value": value}
            for start, value in real[:_MOST_POINTS]
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


def _crossed(alarm: Alarm, points: list[Point]) -> str:
    rule = alarm.rule
    negated = "" if alarm.state == ALARM else "not "
    compared = f"{negated}{_COMPARED[rule.comparison]} the threshold ({rule.threshold})"
    number = len(points)
    listed = ", ".join(
        f"{value} ({datetime.fromtimestamp(start, UTC):%d/%m/%y %H:%M:%S})"
        for start, value in points[:_LISTED]
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


def stamp(time: float) -> str:
    """
    Write a time, in seconds since 1970, as CloudWatch does.
    """
    moment = datetime.fromtimestamp(time, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}+0000"


def subject(name: str, state: str, region: str) -> str:
    """
    Say in one line of an e-mail what has happened, in at most 100 characters.
    """
    line = f'{state}: "{name}" in {region_name(region)}'
    return (
        line if len(line) <= _LONGEST_SUBJECT else f"{line[: _LONGEST_SUBJECT - 3]}..."
    )


def notification(settings: Mapping[str, Any], change: Mapping[str, str]) -> str:
    """
    Tell a topic of a change of state, as JSON with what the alarm looks at.

    Args:
        settings: The alarm's, as PutMetricAlarm takes them; with a rule it is a
            composite.
        change: What else is known: account, region, times, states and reason, by the
            names that the message has for them.
    """
    message: dict[str, Any] = {
        "AlarmName": settings["AlarmName"],
        "AlarmDescription": settings["AlarmDescription"],
        **change,
        **{name: settings[name] or [] for name in ACTIONS.values()},
    }
    if settings["AlarmRule"] is not None:
        return json.dumps({**message, "AlarmRule": settings["AlarmRule"]})
    trigger = {
        **_measured(settings),
        "EvaluationPeriods": settings["EvaluationPeriods"],
        "ComparisonOperator": settings["ComparisonOperator"],
        "Threshold": settings["Threshold"],
        "TreatMissingData": settings["TreatMissingData"] or "missing",
        "EvaluateLowSampleCountPercentile": settings["EvaluateLowSampleCountPercentile"]
        or "",
    }
    if settings["DatapointsToAlarm"] is not None:
        trigger["DatapointsToAlarm"] = settings["DatapointsToAlarm"]
    return json.dumps({**message, "Trigger": trigger})


def _measured(settings: Mapping[str, Any]) -> dict[str, Any]:
    if settings["Metrics"]:
        return {"Metrics": [_small(each) for each in settings["Metrics"]]}
    extended = settings["ExtendedStatistic"]
    kind = (
        {"StatisticType": "ExtendedStatistic", "ExtendedStatistic": extended}
        if extended
        else {"StatisticType": "Statistic", "Statistic": settings["Statistic"].upper()}
    )
    return {
        "MetricName": settings["MetricName"],
        "Namespace": settings["Namespace"],
        **kind,
        "Unit": settings["Unit"],
        "Dimensions": _small(settings["Dimensions"]),
        "Period": settings["Period"],
    }


def _small(value: object) -> object:
    # Members that are not given are left out, and those of a dimension are in lower
    # case, unlike the API's.
    if isinstance(value, list):
        return [_small(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    if set(value) == {"Name", "Value"}:
        return {"value": value["Value"], "name": value["Name"]}
    return {name: _small(each) for name, each in value.items() if each is not None}


@functools.cache
def region_name(region: str) -> str:
    """
    Return how AWS calls a region for people, or its code if the SDK knows none.
    """
    for partition in Loader().load_data("endpoints")["partitions"]:
        if region in partition["regions"]:
            return str(partition["regions"][region]["description"])
    return region
