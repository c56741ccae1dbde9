"""
What Application Auto Scaling refuses of scheduled actions.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from typing import Any

from moto.applicationautoscaling.exceptions import AWSValidationException

from cdk_sagemaker_llm.simulation.api_values import moment
from cdk_sagemaker_llm.simulation.scaling.schedules import next_time

_RATE = re.compile(r"rate\((\d+) (minute|minutes|hour|hours|day|days)\)")
_AT = re.compile(r"at\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\)")


def refuse_action(
    schedule: str | None,
    timezone: str | None,
    window: tuple[Any, Any],
    action: dict[str, Any] | None,
) -> None:
    """
    Refuse an action that could never run.

    Args:
        schedule: When it runs. ``None`` for an action that keeps its schedule.

        timezone: Where the schedule's clock hangs.

        window: From when on, and until when, it runs; seconds, ISO 8601 or nothing.

        action: The bounds it sets. ``None`` for an action that keeps them.
    """
    if schedule is not None and not _is_schedule(schedule):
        raise AWSValidationException(
            f"Schedule {schedule} is not a valid at, rate or cron expression"
        )
    if timezone and not _is_timezone(timezone):
        raise AWSValidationException(f"Time zone {timezone} is not valid")
    start, end = map(_moment, window)
    if start is not None and end is not None and start >= end:
        raise AWSValidationException("StartTime must be earlier than EndTime")
    if action is not None:
        _refuse_bounds(action)


def _refuse_bounds(action: dict[str, Any]) -> None:
    least, most = action.get("MinCapacity"), action.get("MaxCapacity")
    if least is None and most is None:
        raise AWSValidationException(
            "ScalableTargetAction must specify MinCapacity, MaxCapacity or both"
        )
    if min(least or 0, most or 0) < 0:
        raise AWSValidationException("Capacity must be greater than or equal to 0")
    if least is not None and most is not None and least > most:
        raise AWSValidationException(
            "Maximum capacity cannot be less than minimum capacity"
        )


def _is_schedule(text: str) -> bool:
    if found := _RATE.fullmatch(text):
        return int(found[1]) > 0
    if found := _AT.fullmatch(text):
        try:
            dt.datetime.fromisoformat(found[1])
        except ValueError:
            return False
        return True
    try:
        next_time(text, "UTC", 0.0, 0.0)
    except ValueError:
        return False
    return text.startswith("cron(")


def _is_timezone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except zoneinfo.ZoneInfoNotFoundError:
        # Where a machine has no zones at all, nobody can tell.
        return not zoneinfo.available_timezones()
    except (ValueError, OSError):
        return False
    return True


def _moment(value: float | str | None) -> dt.datetime | None:
    try:
        return moment(value)
    except ValueError as error:
        raise AWSValidationException(f"{value} is not a time") from error
