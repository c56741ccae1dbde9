"""
What Application Auto Scaling refuses of scheduled actions.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from typing import Any

from moto.applicationautoscaling.exceptions import AWSValidationException

_RATE = re.compile(r"rate\((\d+) (minute|minutes|hour|hours|day|days)\)")
_AT = re.compile(r"at\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\)")
_CRON = re.compile(r"cron\((\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\)")

_MONTHS = [
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
]
_DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

# The fields of a cron expression: lowest and highest value, and names, which count
# from the lowest on.
_FIELDS: tuple[tuple[int, int, list[str]], ...] = (
    (0, 59, []),
    (0, 23, []),
    (1, 31, []),
    (1, 12, _MONTHS),
    (1, 7, _DAYS),
    (1970, 2199, []),
)
_DAY_OF_MONTH, _DAY_OF_WEEK = 2, 4


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
    start, end = (_seconds(moment) for moment in window)
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
    found = _CRON.fullmatch(text)
    return found is not None and _is_cron(list(found.groups()))


def _is_cron(fields: list[str]) -> bool:
    # One of the two days is left open.
    days = fields[_DAY_OF_MONTH], fields[_DAY_OF_WEEK]
    if days.count("?") != 1:
        return False
    return all(
        all(_is_part(part, index) for part in field.split(","))
        for index, field in enumerate(fields)
    )


def _is_part(part: str, index: int) -> bool:
    if index == _DAY_OF_MONTH and re.fullmatch(r"\?|L|LW|[0-9]+W", part):
        return True
    if index == _DAY_OF_WEEK and re.fullmatch(r"\?|L|[1-7A-Z]+L|[1-7A-Z]+#[1-5]", part):
        return True
    values, _, step = part.partition("/")
    if "/" in part and not (step.isdigit() and int(step) > 0):
        return False
    ends = values.split("-")
    return values == "*" or (
        len(ends) in {1, 2} and all(_is_value(end, index) for end in ends)
    )


def _is_value(text: str, index: int) -> bool:
    least, most, names = _FIELDS[index]
    if text.upper() in names:
        return True
    return text.isascii() and text.isdigit() and least <= int(text) <= most


def _is_timezone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except zoneinfo.ZoneInfoNotFoundError:
        # Where a machine has no zones at all, nobody can tell.
        return not zoneinfo.available_timezones()
    except (ValueError, OSError):
        return False
    return True


def _seconds(moment: float | str | None) -> float | None:
    if not moment:
        return None
    if isinstance(moment, str):
        try:
            read = dt.datetime.fromisoformat(moment)
        except ValueError as error:
            raise AWSValidationException(f"{moment} is not a time") from error
        return (read if read.tzinfo else read.replace(tzinfo=dt.UTC)).timestamp()
    return moment
