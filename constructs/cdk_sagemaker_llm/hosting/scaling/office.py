"""
Office hours: two schedules, one that opens and one that closes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.scaling.schedules import WRONG_SCHEDULE
from cdk_sagemaker_llm.serving.rules import UNREADABLE

_DAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\Z")


@dataclass(frozen=True, slots=True)
class Hours:
    """
    When it opens and closes, as cron expressions.
    """

    opening: str
    closing: str


_NONE = Hours("", "")


def hours_of(opens: str, closes: str, days: str) -> tuple[Hours, list[Finding]]:
    """
    Read office hours, and say where they cannot be read.

    Hours that end at or before the time that they begin at end on the next day.

    Args:
        opens: Such as ``08:00``.

        closes: Such as ``18:00``.

        days: On which days it opens, such as ``MON-FRI`` or ``TUE,THU,SAT``.
    """
    if is_unresolved([opens, closes, days]):
        return _NONE, [
            UNREADABLE.finding(
                "opens, closes and days must be known at synth, got a placeholder",
                "use scale_on_schedule, whose expressions may be placeholders",
            )
        ]
    times = {"opens": _TIME.match(opens), "closes": _TIME.match(closes)}
    found = [
        WRONG_SCHEDULE.finding(f"{name} must be a time such as 08:00, got {given!r}")
        for (name, read), given in zip(times.items(), (opens, closes), strict=True)
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
        return _NONE, found
    from_, until = (_minutes(each) for each in (begin, end))
    if from_ == until:
        return _NONE, [
            WRONG_SCHEDULE.finding(
                f"closes must be another time than opens, got {opens!r}"
            )
        ]
    overnight = until < from_
    closing = frozenset((day + overnight) % len(_DAYS) for day in numbers)
    return Hours(_cron(from_, numbers), _cron(until, closing)), []


def _minutes(read: re.Match[str]) -> int:
    return int(read[1]) * 60 + int(read[2])


def _numbers(days: str) -> frozenset[int]:
    """
    Return days by their numbers, from 0 for Monday; none where one is unknown.
    """
    if days.strip() == "*":
        return frozenset(range(len(_DAYS)))
    found: set[int] = set()
    for part in days.upper().replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        if first not in _DAYS or (dash and last not in _DAYS):
            return frozenset()
        begin = _DAYS.index(first)
        length = (_DAYS.index(last) - begin) % len(_DAYS) if dash else 0
        found.update((begin + each) % len(_DAYS) for each in range(length + 1))
    return frozenset(found)


def _cron(minutes: int, days: frozenset[int]) -> str:
    return f"cron({minutes % 60} {minutes // 60} ? * {_named(days)} *)"


def _named(days: frozenset[int]) -> str:
    if len(days) == len(_DAYS):
        return "*"
    ordered = sorted(days)
    first, last = ordered[0], ordered[-1]
    is_run = last - first + 1 == len(ordered)
    # The service's week begins on Sunday, so that a range must not lead up to it.
    if is_run and len(ordered) > 1 and _DAYS[last] != "SUN":
        return f"{_DAYS[first]}-{_DAYS[last]}"
    return ",".join(_DAYS[day] for day in ordered)
