"""
Scheduled actions: bounds that change with the time of day.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from aws_cdk import aws_applicationautoscaling as appscaling

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.limits import IMPOSSIBLE_COUNT, bounds_findings
from cdk_sagemaker_llm.hosting.scaling.limits import least_capacity_findings

if TYPE_CHECKING:
    from aws_cdk import TimeZone

WRONG_SCHEDULE = Rule(
    "LLM304",
    "a schedule, its time zone or its time span cannot be read, or never holds",
    "API reference, PutScheduledAction",
)

_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = (
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)
_RANGE = re.compile(r"\b(\w+)-(\w+)\b")
_BEFORE_LAST = re.compile(r"\bL-\d+")

_Target = appscaling.CfnScalableTarget


def expression_of(schedule: str | appscaling.Schedule) -> str:
    """
    Return a schedule as the service writes it.
    """
    return schedule if isinstance(schedule, str) else schedule.expression_string


def zone_of(time_zone: str | TimeZone | None) -> str | None:
    """
    Return a time zone's name.
    """
    if time_zone is None or isinstance(time_zone, str):
        return time_zone
    return time_zone.timezone_name


def schedule_findings(expression: str, zone: str | None) -> list[Finding]:
    """
    Check that the service can read a schedule and knows its time zone.
    """
    return zone_findings(zone) or _expression_findings(expression)


def zone_findings(zone: str | None) -> list[Finding]:
    """
    Check that there is a time zone of a name.
    """
    if zone is None or is_unresolved(zone):
        return []
    try:
        ZoneInfo(zone)
    except ZoneInfoNotFoundError:
        # Where a machine has no zones at all, nobody can tell.
        if not available_timezones():
            return []
    except (ValueError, OSError):
        pass
    else:
        return []
    return [
        WRONG_SCHEDULE.finding(
            f"time_zone must be a name of the time zone database, got {zone!r}",
            "write such as Europe/Berlin",
        )
    ]


def span_findings(start: datetime | None, end: datetime | None) -> list[Finding]:
    """
    Check that a schedule begins before it ends.
    """
    if start is None or end is None or in_utc(start) < in_utc(end):
        return []
    return [
        WRONG_SCHEDULE.finding(
            f"end must be later than start, got end={end} and start={start}"
        )
    ]


def action_bounds_findings(
    least: int | None, most: int | None, *, may_be_zero: bool
) -> list[Finding]:
    """
    Check the bounds of one action by themselves.
    """
    if least is None and most is None:
        return [
            IMPOSSIBLE_COUNT.finding(
                "a scheduled action must set min_capacity, max_capacity or both, got "
                "neither"
            )
        ]
    given = {"min_capacity": least, "max_capacity": most}
    found = []
    for parameter, value in given.items():
        if value is not None:
            found += least_capacity_findings(parameter, value, may_be_zero=may_be_zero)
    if found or least is None or most is None:
        return found
    return bounds_findings("min_capacity", least, "max_capacity", most)


def in_utc(moment: datetime) -> datetime:
    """
    Return a moment in UTC, which one without a time zone is taken for.

    The machine's own zone would make another template elsewhere.
    """
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def action_of(
    name: str,
    *,
    expression: str,
    zone: str | None,
    least: int | None,
    most: int | None,
    start: datetime | None,
    end: datetime | None,
) -> _Target.ScheduledActionProperty:
    """
    Render one action.
    """
    return _Target.ScheduledActionProperty(
        scheduled_action_name=name,
        schedule=expression,
        timezone=zone,
        scalable_target_action=_Target.ScalableTargetActionProperty(
            min_capacity=least, max_capacity=most
        ),
        start_time=None if start is None else in_utc(start),
        end_time=None if end is None else in_utc(end),
    )


def _expression_findings(expression: str) -> list[Finding]:
    if is_unresolved(expression):
        return []
    from cdk_sagemaker_llm.simulation.scaling.schedules import (  # noqa: PLC0415 - who has a schedule has it
        next_time,
    )

    try:
        next_time(_certain(expression), "UTC", 0.0, 0.0)
    except ValueError as fault:
        return [WRONG_SCHEDULE.finding(str(fault))]
    return []


def _certain(expression: str) -> str:
    """
    Leave out of a cron expression what is not documented to be refused.

    Quartz, whose language it is, reads ranges around the end, such as FRI-MON, and
    days before the last.
    """
    if not expression.startswith("cron("):
        return expression
    shortened = _BEFORE_LAST.sub("L", expression.upper())
    return "cron" + _RANGE.sub(_beginning, shortened)[len("cron") :]


def _beginning(found: re.Match[str]) -> str:
    first, last = (_place(one) for one in found.groups())
    wraps = first is not None and last is not None and first > last
    return found[1] if wraps else found[0]


def _place(text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    names = next((names for names in (_DAYS, _MONTHS) if text in names), ())
    return names.index(text) if text in names else None
