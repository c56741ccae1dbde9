"""
When scheduled actions happen: ``cron(...)``, ``rate(...)`` and ``at(...)``.

The service's cron has six fields: minutes, hours, day of month, month, day of week
(1 is Sunday) and year (docs: scheduled-scaling-using-cron-expressions). Its days that
are no numbers, ``L``, ``LW``, ``15W``, ``6L`` and ``6#3``, are those of Quartz.
"""

from __future__ import annotations

import calendar
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_FORM = re.compile(r"(cron|rate|at)\((.*)\)", re.DOTALL)
_RATE = re.compile(r"(\d+)\s+(minute|hour|day)s?")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86400}
_MONTHS = {name.upper(): n for n, name in enumerate(calendar.month_abbr) if name}
_DAYS = {"SUN": 1, "MON": 2, "TUE": 3, "WED": 4, "THU": 5, "FRI": 6, "SAT": 7}
_FIELDS = 6
_FIRST_YEAR, _LAST_YEAR = 1970, 2199
_HORIZON = timedelta(days=366 * 8)  # Past the longest wait, for a 29 February.
_DAY_OF_MONTH, _DAY_OF_WEEK = 2, 4

DayRule = Callable[[date], bool]

_NEAREST = re.compile(r"(\d{1,2})W")
_LAST = re.compile(r"([1-7]|[A-Z]{3})L")
_NTH = re.compile(r"([1-7]|[A-Z]{3})#([1-5])")
_WEEK, _LONGEST = 7, 31
_SATURDAY, _SUNDAY = 5, 6  # As date.weekday() counts.


def next_time(
    schedule: str, time_zone: str, after: float, start: float
) -> float | None:
    """
    Return when a schedule is due next after a moment, in seconds since the epoch;
    ``None`` if it never is again. A rate counts from ``start``.

    Raises:
        ValueError: If the service could not read the expression or the zone.
    """
    kind, body = _parsed(schedule)
    if kind == "rate":
        every = _rate(schedule, body)
        return start + (max(0, (after - start) // every) + 1) * every
    zone = _zone(time_zone)
    if kind == "at":
        at = _moment(schedule, body).replace(tzinfo=zone).timestamp()
        return at if at > after else None
    begin = datetime.fromtimestamp(after, UTC)
    for local in _occurrences(_cron(schedule), begin.astimezone(zone)):
        moment = _real(local, zone)
        if moment is not None and moment > after:
            return moment
    return None


def _parsed(schedule: str) -> tuple[str, str]:
    found = _FORM.fullmatch(schedule.strip())
    if found is None:
        raise ValueError(
            f"schedule must be cron(...), rate(...) or at(...), got {schedule!r}"
        )
    return found[1], found[2].strip()


def _rate(schedule: str, body: str) -> int:
    found = _RATE.fullmatch(body)
    if found is None or not int(found[1]):
        raise ValueError(
            f"schedule must be such as rate(5 minutes), got {schedule!r}: a number of "
            "1 or more, and minutes, hours or days"
        )
    return int(found[1]) * _SECONDS[found[2]]


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            f"time zone must be a name such as Europe/Berlin, got {name!r}"
        ) from error


def _moment(schedule: str, body: str) -> datetime:
    try:
        return datetime.strptime(body, "%Y-%m-%dT%H:%M:%S")  # noqa: DTZ007 - the zone is another field
    except ValueError as error:
        raise ValueError(
            f"schedule must be such as at(2026-12-24T18:00:00), got {schedule!r}"
        ) from error


def _occurrences(cron: _Cron, begin: datetime) -> Iterator[datetime]:
    day = begin.date()
    last = day + _HORIZON
    while day <= last:
        if cron.is_due(day):
            for hour in sorted(cron.hours):
                for minute in sorted(cron.minutes):
                    yield datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001 - local
        day += timedelta(days=1)


@functools.cache
def _cron(schedule: str) -> _Cron:
    fields = _parsed(schedule)[1].upper().split()
    if len(fields) != _FIELDS:
        raise ValueError(
            f"schedule {schedule!r} has {len(fields)} fields; cron needs six: minutes, "
            "hours, day of month, month, day of week and year"
        )
    if (fields[_DAY_OF_MONTH] == "?") == (fields[_DAY_OF_WEEK] == "?"):
        raise ValueError(
            f"schedule {schedule!r} must have ? in either day of month or day of week"
        )
    parts = [field.split(",") for field in fields]
    odd: list[DayRule] = []
    parts[_DAY_OF_MONTH] = _without_odd(parts[_DAY_OF_MONTH], _of_month, odd)
    in_week = functools.partial(_of_week, names=_DAYS)
    parts[_DAY_OF_WEEK] = _without_odd(parts[_DAY_OF_WEEK], in_week, odd)
    bounds = ((0, 59), (0, 23), (1, 31), (1, 12), (1, 7), (_FIRST_YEAR, _LAST_YEAR))
    names: tuple[dict[str, int], ...] = ({}, {}, {}, _MONTHS, _DAYS, {})
    minutes, hours, days, months, weekdays, years = (
        _field(schedule, field, bound, known)
        for field, bound, known in zip(parts, bounds, names, strict=True)
    )
    return _Cron(minutes, hours, days, months, weekdays, years, tuple(odd))


def _real(local: datetime, zone: ZoneInfo) -> float | None:
    # An hour that the clocks leave out does not happen.
    moment = local.replace(tzinfo=zone)
    there = moment.astimezone(UTC).astimezone(zone)
    return moment.timestamp() if there.replace(tzinfo=None) == local else None


@dataclass(frozen=True, slots=True)
class _Cron:
    """
    The fields of an expression as numbers, and the days that are none.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    years: frozenset[int]
    odd: tuple[DayRule, ...]

    def is_due(self, day: date) -> bool:
        if day.month not in self.months or day.year not in self.years:
            return False
        # Of the two kinds of days one is open, and has every number.
        by_number = day.day in self.days and _weekday(day) in self.weekdays
        return by_number or any(rule(day) for rule in self.odd)


def _without_odd(
    parts: list[str], read: Callable[[str], DayRule | None], odd: list[DayRule]
) -> list[str]:
    plain = []
    for part in parts:
        rule = read(part)
        if rule is None:
            plain.append(part)
        else:
            odd.append(rule)
    return plain


def _of_month(part: str) -> DayRule | None:
    """
    Read a day of the month; ``None`` if it is one by its number.
    """
    if part == "L":
        return lambda day: day.day == _end(day)
    if part == "LW":
        return lambda day: day.day == _nearest(day, _end(day))
    found = _NEAREST.fullmatch(part)
    if found is None or not 1 <= (target := int(found[1])) <= _LONGEST:
        return None
    return lambda day: target <= _end(day) and day.day == _nearest(day, target)


def _of_week(part: str, names: Mapping[str, int]) -> DayRule | None:
    """
    Read a day of the week; ``None`` if it is one by its number or name.
    """
    if part == "L":
        return lambda day: day.weekday() == _SATURDAY
    found = _LAST.fullmatch(part) or _NTH.fullmatch(part)
    if found is None or not (found[1] in names or found[1].isdecimal()):
        return None
    target = names.get(found[1]) or int(found[1])
    if part.endswith("L"):
        return lambda day: _weekday(day) == target and day.day > _end(day) - _WEEK
    nth = int(found[2])
    return lambda day: _weekday(day) == target and (day.day - 1) // _WEEK == nth - 1


def _field(
    schedule: str, parts: list[str], bound: tuple[int, int], names: dict[str, int]
) -> frozenset[int]:
    values: set[int] = set()
    for part in parts:
        span, _, every = part.partition("/")
        try:
            step = int(every) if every else 1
            if span in {"*", "?"}:
                first, last = bound
            else:
                low, _, high = span.partition("-")
                first = names.get(low) or int(low)
                last = names.get(high) or int(high or (bound[1] if every else first))
        except ValueError as error:
            raise _unreadable(schedule, part) from error
        if step < 1 or not bound[0] <= first <= last <= bound[1]:
            raise _unreadable(schedule, part)
        values.update(range(first, last + 1, step))
    return frozenset(values)


def _weekday(day: date) -> int:
    """
    Return a day's number in its week, from 1 for Sunday.
    """
    return day.isoweekday() % _WEEK + 1


def _end(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def _nearest(day: date, target: int) -> int:
    # The nearest day from Monday to Friday, never in another month.
    on = day.replace(day=target).weekday()
    if on == _SATURDAY:
        return target - 1 if target > 1 else target + 2
    if on == _SUNDAY:
        return target + 1 if target < _end(day) else target - 2
    return target


def _unreadable(schedule: str, part: str) -> ValueError:
    return ValueError(
        f"schedule {schedule!r} has {part!r}, which is not understood; numbers, names, "
        "*, ranges, steps and lists are, and the days L, LW, 15W, 6L and 6#3"
    )
