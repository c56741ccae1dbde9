"""
Scheduled actions: bounds that change with the time of day, one by one or as office
hours.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from aws_cdk import aws_applicationautoscaling as appscaling

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.limits import IMPOSSIBLE_COUNT, bounds_findings
from cdk_sagemaker_llm.hosting.common.reporting import at_synth, checked, report
from cdk_sagemaker_llm.hosting.common.rules import WRONG_SCHEDULE
from cdk_sagemaker_llm.hosting.scaling.target_base import (
    Action,
    ScalableTargetBase,
    action_name_findings,
    contents_of,
    least_capacity_findings,
)
from cdk_sagemaker_llm.serving.parameters import UNREADABLE
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import IResolvable, TimeZone


_CRON_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = (
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)
_RANGE = re.compile(r"\b(\w+)-(\w+)\b")
_BEFORE_LAST = re.compile(r"\bL-\d+")

_Target = appscaling.CfnScalableTarget

_WEEK = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\Z")
_NO_HOURS = ("", "")


class ScheduledTarget(ScalableTargetBase):
    """
    A number whose bounds may change with the clock.
    """

    _may_be_zero: bool
    _actions: list[_Target.ScheduledActionProperty]

    @checked
    def scale_on_schedule(
        self,
        id: str,
        *,
        schedule: str | appscaling.Schedule,
        time_zone: str | TimeZone | None = None,
        min_capacity: int | None = None,
        max_capacity: int | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> None:
        """
        Change the bounds at a time, or again and again.

        They hold until something else changes them. A deployment sets the target's own
        bounds again only where those change.

        Args:
            id: The action's name, unique within the target.

            schedule:
                ``cron(0 20 * * ? *)`` with six fields, ``rate(1 day)`` or
                ``at(2026-12-24T18:00:00)``, or a ``Schedule`` of the CDK.

            time_zone:
                Where the clock hangs, such as ``Europe/Berlin``.
                If omitted, it is UTC.

            min_capacity:
                The least from then on.
                If omitted, it stays as it is.

            max_capacity:
                The most from then on.
                If omitted, it stays as it is.

            start:
                When the schedule begins to hold; UTC where it has no time zone.
                If omitted, it holds at once.

            end:
                When it ends; UTC where it has no time zone.
                If omitted, it does not.

        Raises:
            ValueError: If the schedule cannot be read, or sets no bounds that the
                target may have; all reasons at once.
        """
        expression = (
            schedule if isinstance(schedule, str) else schedule.expression_string
        )
        zone = _zone_of(time_zone)
        action = Action(id, min_capacity, max_capacity)
        found = zone_findings(zone) or _expression_findings(expression)
        if start is not None and end is not None and _in_utc(start) >= _in_utc(end):
            found.append(
                WRONG_SCHEDULE.finding(
                    f"end must be later than start, got end={end} and start={start}"
                )
            )
        report(self, id, [*found, *self._action_findings(action)])
        self._schedule(action, expression, zone, start, end)

    @checked
    def office_hours(
        self,
        id: str,
        *,
        opens: str,
        closes: str,
        min_capacity: int,
        closed_capacity: int,
        time_zone: str | TimeZone | None = None,
        days: str = "MON-FRI",
        max_capacity: int | None = None,
    ) -> None:
        """
        Keep capacity while people work, and little or none while they do not.

        ``office_hours("Office", opens="08:00", closes="18:00", min_capacity=2,
        closed_capacity=0, time_zone="Europe/Berlin")``

        Two scheduled actions set the bounds, so that the first of them counts from the
        first time that it is due. Capacity begins to start at ``opens``: let it open
        as much earlier as a start takes.

        Args:
            id: What the names of both actions begin with.

            opens: When, such as ``08:00``.

            closes: When; on the next day where that is not later than ``opens``.

            min_capacity: The least while it is open.

            closed_capacity: The least and the most while it is closed.

            time_zone:
                Where the clock hangs, such as ``Europe/Berlin``.
                If omitted, it is UTC.

            days: On which days it opens, such as ``TUE,THU,SAT``; ``*`` for all.

            max_capacity:
                The most while it is open.
                If omitted, it is the target's.

        Raises:
            ValueError: If hours, days or bounds are wrong; all reasons at once.
        """
        most = contents_of(self).most if max_capacity is None else max_capacity
        zone = _zone_of(time_zone)
        (opening, closing), found = _hours_of(opens, closes, days)
        found += zone_findings(zone)
        openness = Action(f"{id}Opens", min_capacity, most)
        closure = Action(f"{id}Closes", closed_capacity, closed_capacity)
        found += [*self._action_findings(openness), *self._action_findings(closure)]
        report(self, id, found)
        self._schedule(openness, opening, zone)
        self._schedule(closure, closing, zone)

    def _action_findings(self, action: Action) -> list[Finding]:
        return [
            *action_name_findings(action.name),
            *contents_of(self).action_findings(action.name),
            *_bounds_findings(action, may_be_zero=self._may_be_zero),
        ]

    def _schedule(
        self,
        action: Action,
        expression: str,
        zone: str | None,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> None:
        contents = contents_of(self)
        if not contents.actions:
            at_synth(self, contents.bounds_findings)
        contents.actions[action.name] = action
        written = _Target.ScheduledActionProperty(
            scheduled_action_name=action.name,
            schedule=expression,
            timezone=zone,
            scalable_target_action=_Target.ScalableTargetActionProperty(
                min_capacity=action.least, max_capacity=action.most
            ),
            start_time=None if start is None else _in_utc(start),
            end_time=None if end is None else _in_utc(end),
        )
        self._actions.append(written)
        actions: list[IResolvable | _Target.ScheduledActionProperty] = [*self._actions]
        self.cfn_scalable_target.scheduled_actions = actions
        self._scheduled(action)

    def _scheduled(self, action: Action) -> None:
        """
        Do what else an action asks for, which depends on what is scaled.
        """


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


def _zone_of(time_zone: str | TimeZone | None) -> str | None:
    if time_zone is None or isinstance(time_zone, str):
        return time_zone
    return time_zone.timezone_name


def _hours_of(
    opens: str, closes: str, days: str
) -> tuple[tuple[str, str], list[Finding]]:
    """
    Return when it opens and closes, as cron expressions, or why these cannot be read.

    Hours that end at or before the time that they begin at end on the next day.
    """
    if is_unresolved([opens, closes, days]):
        return _NO_HOURS, [
            UNREADABLE.finding(
                "opens, closes and days must be known at synth, got a placeholder",
                "use scale_on_schedule, whose expressions may be placeholders",
            )
        ]
    times = {"opens": _TIME.match(opens), "closes": _TIME.match(closes)}
    found = [
        WRONG_SCHEDULE.finding(f"{name} must be a time such as 08:00, got {text!r}")
        for (name, read), text in zip(times.items(), (opens, closes), strict=True)
        if read is None
    ]
    numbers = _numbers(days)
    if not numbers:
        found.append(
            WRONG_SCHEDULE.finding(
                "days must be days such as MON-FRI or TUE,THU,SAT, or * for all, got "
                f"{days!r}"
            )
        )
    begin, end = times["opens"], times["closes"]
    if found or begin is None or end is None:
        return _NO_HOURS, found
    from_, until = (int(each[1]) * 60 + int(each[2]) for each in (begin, end))
    if from_ == until:
        return _NO_HOURS, [
            WRONG_SCHEDULE.finding(
                f"closes must be another time than opens, got {opens!r}"
            )
        ]
    overnight = until < from_
    closing = frozenset((day + overnight) % len(_WEEK) for day in numbers)
    return (_cron(from_, numbers), _cron(until, closing)), []


def _bounds_findings(action: Action, *, may_be_zero: bool) -> list[Finding]:
    least, most = action.least, action.most
    if least is None and most is None:
        return [
            IMPOSSIBLE_COUNT.finding(
                "a scheduled action must set min_capacity, max_capacity or both, got "
                "neither"
            )
        ]
    bounds = {"min_capacity": least, "max_capacity": most}
    found = []
    for parameter, value in bounds.items():
        if value is not None:
            found += least_capacity_findings(parameter, value, may_be_zero=may_be_zero)
    if found or least is None or most is None:
        return found
    return bounds_findings("min_capacity", least, "max_capacity", most)


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


def _in_utc(moment: datetime) -> datetime:
    """
    Return a moment in UTC, whatever the machine's own zone: one without a zone is in
    UTC.
    """
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def _numbers(days: str) -> frozenset[int]:
    """
    Return days by their numbers, from 0 for Monday; none where one is unknown.
    """
    if days.strip() == "*":
        return frozenset(range(len(_WEEK)))
    found: set[int] = set()
    for part in days.upper().replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        if first not in _WEEK or (dash and last not in _WEEK):
            return frozenset()
        begin = _WEEK.index(first)
        length = (_WEEK.index(last) - begin) % len(_WEEK) if dash else 0
        found.update((begin + each) % len(_WEEK) for each in range(length + 1))
    return frozenset(found)


def _cron(minutes: int, days: frozenset[int]) -> str:
    return f"cron({minutes % 60} {minutes // 60} ? * {_named(days)} *)"


def _certain(expression: str) -> str:
    """
    Keep those parts of a cron expression that the service is documented to refuse.

    Quartz, whose language it is, reads ranges around the end, such as FRI-MON, and
    days before the last.
    """
    if not expression.startswith("cron("):
        return expression
    shortened = _BEFORE_LAST.sub("L", expression.upper())
    return "cron" + _RANGE.sub(_beginning, shortened)[len("cron") :]


def _named(days: frozenset[int]) -> str:
    if len(days) == len(_WEEK):
        return "*"
    ordered = sorted(days)
    first, last = ordered[0], ordered[-1]
    is_run = last - first + 1 == len(ordered)
    # The service's week begins on Sunday, so that a range must not lead up to it.
    if is_run and len(ordered) > 1 and _WEEK[last] != "SUN":
        return f"{_WEEK[first]}-{_WEEK[last]}"
    return ",".join(_WEEK[day] for day in ordered)


def _beginning(found: re.Match[str]) -> str:
    first, last = (_place(one) for one in found.groups())
    wraps = first is not None and last is not None and first > last
    return found[1] if wraps else found[0]


def _place(text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    names = next((names for names in (_CRON_DAYS, _MONTHS) if text in names), ())
    return names.index(text) if text in names else None
