"""
The state of an alarm: why it is in it, and a composite one's out of those of others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime

from cdk_sagemaker_llm.simulation.alarms import ALARM, INSUFFICIENT_DATA, OK, Alarm

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
_TOKEN = re.compile(
    r"\s*(?:(?P<state>ALARM|OK|INSUFFICIENT_DATA)\s*\(\s*"
    r"(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^\")\s]+))\s*\)"
    r"|(?P<word>AND\b|OR\b|NOT\b|TRUE\b|FALSE\b|[()]))"
)
StateOf = Callable[[str], str | None]


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


def composite_state(rule: str, state_of: StateOf) -> str | None:
    """
    Return the state of a composite alarm; ``None`` if its rule cannot be read.

    Args:
        rule: Such as ``ALARM("slow") AND NOT ALARM("deploying")``.

        state_of: Returns an alarm's state by its name.
    """
    try:
        return ALARM if _Reading(rule, state_of).result() else OK
    except (ValueError, IndexError):
        return None


class _Reading:
    """
    One rule, read from left to right; NOT binds closest, then AND, then OR.
    """

    def __init__(self, rule: str, state_of: StateOf) -> None:
        self._tokens = list(_tokens(rule, state_of))

    def result(self) -> bool:
        """
        Tell whether the rule is met.
        """
        value = self._any()
        if self._tokens:
            raise ValueError(self._tokens[0])
        return value

    def _any(self) -> bool:
        value = self._all()
        while self._tokens and self._tokens[0] == "OR":
            del self._tokens[0]
            value = self._all() or value
        return value

    def _all(self) -> bool:
        value = self._one()
        while self._tokens and self._tokens[0] == "AND":
            del self._tokens[0]
            value = self._one() and value
        return value

    def _one(self) -> bool:
        token = self._tokens.pop(0)
        if token == "NOT":  # noqa: S105 - a word of the language
            return not self._one()
        if token == "(":  # noqa: S105 - the same
            value = self._any()
            if self._tokens.pop(0) != ")":
                raise ValueError(token)
            return value
        if token not in {"TRUE", "FALSE"}:
            raise ValueError(token)
        return token == "TRUE"  # noqa: S105 - the same


def _tokens(rule: str, state_of: StateOf) -> list[str]:
    found, place, text = [], 0, rule.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(text[place:])
        if match["state"]:
            name = (match["quoted"] or match["plain"]).rpartition(":alarm:")[2]
            met = state_of(name) == match["state"]
            found.append("TRUE" if met else "FALSE")
        else:
            found.append(match["word"])
        place = match.end()
    return found
