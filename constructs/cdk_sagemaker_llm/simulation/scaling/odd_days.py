"""
The days of cron that are no numbers: ``L``, ``LW``, ``15W``, ``6L`` and ``6#3``.

As Quartz has them, whose language AWS's cron expressions are.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import date

DayRule = Callable[[date], bool]

_NEAREST = re.compile(r"(\d{1,2})W")
_LAST = re.compile(r"([1-7]|[A-Z]{3})L")
_NTH = re.compile(r"([1-7]|[A-Z]{3})#([1-5])")
_WEEK, _LONGEST = 7, 31
_SATURDAY, _SUNDAY = 5, 6  # As date.weekday() counts.


def of_month(part: str) -> DayRule | None:
    """
    Read a day of the month; ``None`` if it is one by its number.
    """
    if part == "L":
        return lambda day: day.day == _end(day)
    if part == "LW":
        return lambda day: day.day == _nearest(day, _end(day))
    found = _NEAREST.fullmatch(part)
    if found is None or not 1 <= (wanted := int(found[1])) <= _LONGEST:
        return None
    return lambda day: wanted <= _end(day) and day.day == _nearest(day, wanted)


def of_week(part: str, names: Mapping[str, int]) -> DayRule | None:
    """
    Read a day of the week; ``None`` if it is one by its number or name.

    Args:
        part: The expression's part.

        names: The numbers of the names; 1 is Sunday.
    """
    if part == "L":
        return lambda day: day.weekday() == _SATURDAY
    found = _LAST.fullmatch(part) or _NTH.fullmatch(part)
    if found is None or not (found[1] in names or found[1].isdecimal()):
        return None
    wanted = names.get(found[1]) or int(found[1])
    if part.endswith("L"):
        return lambda day: weekday(day) == wanted and day.day > _end(day) - _WEEK
    nth = int(found[2])
    return lambda day: weekday(day) == wanted and (day.day - 1) // _WEEK == nth - 1


def weekday(day: date) -> int:
    """
    Return a day's number in its week, from 1 for Sunday.
    """
    return day.isoweekday() % _WEEK + 1


def _end(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def _nearest(day: date, wanted: int) -> int:
    # The nearest day from Monday to Friday, never in another month.
    on = day.replace(day=wanted).weekday()
    if on == _SATURDAY:
        return wanted - 1 if wanted > 1 else wanted + 2
    if on == _SUNDAY:
        return wanted + 1 if wanted < _end(day) else wanted - 2
    return wanted
