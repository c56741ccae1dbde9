"""
When scheduled actions are due.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from cdk_sagemaker_llm.simulation.scaling.schedules import next_time


def _at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def _next(schedule: str, after: str, zone: str = "UTC") -> str | None:
    due = next_time(schedule, zone, _at(after), _at(after))
    return None if due is None else f"{datetime.fromtimestamp(due, UTC):%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("cron(0 8 * * ? *)", "2026-11-21 07:59", "2026-11-21 08:00"),
        ("cron(0 8 * * ? *)", "2026-11-21 08:00", "2026-11-22 08:00"),
        ("cron(0 8 ? * MON-FRI *)", "2026-11-21 07:59", "2026-11-23 08:00"),
        ("cron(0 8 ? nov mon-fri *)", "2026-11-21 07:59", "2026-11-23 08:00"),
        ("cron(0 8 ? * 2 *)", "2026-11-21 07:59", "2026-11-23 08:00"),
        ("cron(0 8 ? * SUN *)", "2026-11-21 07:59", "2026-11-22 08:00"),
        ("cron(0/15 9-17 * * ? *)", "2026-11-21 09:01", "2026-11-21 09:15"),
        ("cron(0/15 9-17 * * ? *)", "2026-11-21 17:46", "2026-11-22 09:00"),
        ("cron(30 6,18 1 JAN ? *)", "2026-11-21 00:00", "2027-01-01 06:30"),
        ("cron(0 0 L * ? *)", "2026-11-21 00:00", "2026-11-30 00:00"),
        ("cron(0 0 15,L * ? *)", "2026-11-01 00:00", "2026-11-15 00:00"),
        # 31 January 2027 is a Sunday, 30 November 2026 a Monday.
        ("cron(0 0 LW * ? *)", "2027-01-01 00:00", "2027-01-29 00:00"),
        ("cron(0 0 LW * ? *)", "2026-11-21 00:00", "2026-11-30 00:00"),
        # 15 November 2026 is a Sunday, 14 a Saturday, 16 a Monday.
        ("cron(0 0 15W * ? *)", "2026-11-01 00:00", "2026-11-16 00:00"),
        ("cron(0 0 14W * ? *)", "2026-11-01 00:00", "2026-11-13 00:00"),
        ("cron(0 0 16W * ? *)", "2026-11-01 00:00", "2026-11-16 00:00"),
        # 1 August 2026 is a Saturday, 31 May 2026 a Sunday: not in another month.
        ("cron(0 0 1W * ? *)", "2026-07-31 00:00", "2026-08-03 00:00"),
        ("cron(0 0 31W * ? *)", "2026-05-01 00:00", "2026-05-29 00:00"),
        # April has no 31st.
        ("cron(0 0 31W * ? *)", "2026-04-01 00:00", "2026-05-29 00:00"),
        ("cron(0 0 ? * L *)", "2026-11-22 00:00", "2026-11-28 00:00"),
        ("cron(0 0 ? * 6L *)", "2026-11-01 00:00", "2026-11-27 00:00"),
        # 31 July 2026 is a Friday, and the 24th is not the last one.
        ("cron(0 0 ? * 6L *)", "2026-07-01 00:00", "2026-07-31 00:00"),
        ("cron(0 0 ? * FRIL *)", "2026-11-01 00:00", "2026-11-27 00:00"),
        ("cron(0 0 ? * 6#3 *)", "2026-11-01 00:00", "2026-11-20 00:00"),
        ("cron(0 0 ? * SUN#1 *)", "2026-11-01 00:00", "2026-12-06 00:00"),
        ("cron(0 0 ? * 1#5 *)", "2026-11-21 00:00", "2026-11-29 00:00"),
        ("cron(0 0 ? * MON,6L *)", "2026-11-24 00:00", "2026-11-27 00:00"),
        ("cron(0 0 29 2 ? *)", "2026-11-21 00:00", "2028-02-29 00:00"),
        ("cron(0 0 1 1 ? 2030)", "2026-11-21 00:00", "2030-01-01 00:00"),
        ("cron(0 0 1 1 ? 2020)", "2026-11-21 00:00", None),
        ("rate(5 minutes)", "2026-11-21 00:00", "2026-11-21 00:05"),
        ("rate(1 hour)", "2026-11-21 00:00", "2026-11-21 01:00"),
        ("rate(2 days)", "2026-11-21 00:00", "2026-11-23 00:00"),
        ("at(2026-12-24T18:00:00)", "2026-11-21 00:00", "2026-12-24 18:00"),
        ("at(2026-11-20T18:00:00)", "2026-11-21 00:00", None),
    ],
)
def test_is_due_next(schedule: str, after: str, due: str | None) -> None:
    """
    Later than the moment, and never if that cannot be. Day 1 of a week is Sunday.
    """
    assert _next(schedule, after) == due


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("cron(0 8 * * ? *)", "2026-11-21 00:00", "2026-11-21 07:00"),
        ("cron(0 8 * * ? *)", "2026-07-01 00:00", "2026-07-01 06:00"),
        # The night the clocks go forward has no half past two.
        ("cron(30 2 * * ? *)", "2026-03-29 00:00", "2026-03-30 00:30"),
        ("at(2026-12-24T18:00:00)", "2026-11-21 00:00", "2026-12-24 17:00"),
    ],
)
def test_a_zone_has_its_own_clock(schedule: str, after: str, due: str) -> None:
    """
    With its summer time.
    """
    assert _next(schedule, after, "Europe/Berlin") == due


@pytest.mark.parametrize(
    ("zone", "after", "due"),
    [
        ("America/New_York", "2026-11-21 02:00", "2026-11-21 03:00"),
        ("Pacific/Kiritimati", "2026-11-21 07:59", "2026-11-21 08:00"),
        ("Pacific/Kiritimati", "2026-11-21 08:00", "2026-11-22 08:00"),
    ],
)
def test_a_day_begins_where_it_is(zone: str, after: str, due: str) -> None:
    """
    Ten at night, at UTC-5 and at UTC+14.
    """
    assert _next("cron(0 22 * * ? *)", after, zone) == due


def test_an_hour_that_comes_twice_counts_once() -> None:
    """
    Clocks in Berlin go back at 01:00 UTC on 25 October 2026.
    """
    zone, schedule = "Europe/Berlin", "cron(30 2 * * ? *)"

    first = next_time(schedule, zone, _at("2026-10-25 00:00"), 0.0)
    assert first == _at("2026-10-25 00:30")
    assert next_time(schedule, zone, first, 0.0) == _at("2026-10-26 01:30")


def test_a_rate_counts_from_its_start() -> None:
    """
    And not from when one asks.
    """
    assert next_time("rate(10 minutes)", "UTC", 1250.0, 0.0) == 1800.0


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("0 8 * * ? *", r"must be cron\(...\), rate\(...\) or at\(...\), got"),
        ("cron(0 8 * * ?)", "has 5 fields; cron needs six"),
        ("cron(0 8 * * * *)", "must have . in either day of month or day of week"),
        ("cron(0 8 ? * ? *)", "must have . in either day of month or day of week"),
        ("cron(60 8 * * ? *)", "has '60', which is not understood"),
        ("cron(0 24 * * ? *)", "has '24', which is not understood"),
        ("cron(0 8 ? * MOON *)", "has 'MOON', which is not understood"),
        ("cron(0 8 32W * ? *)", "has '32W', which is not understood"),
        ("cron(0 8 ? * 8L *)", "has '8L', which is not understood"),
        ("cron(0 8 ? * 6#6 *)", "has '6#6', which is not understood"),
        ("cron(0 8 ? * ABC#1 *)", "has 'ABC#1', which is not understood"),
        ("cron(0/0 8 * * ? *)", "has '0/0', which is not understood"),
        ("rate(0 minutes)", r"must be such as rate\(5 minutes\)"),
        ("rate(5 weeks)", r"must be such as rate\(5 minutes\)"),
        ("at(tomorrow)", r"must be such as at\(2026-12-24T18:00:00\)"),
    ],
)
def test_fails_if_a_schedule_cannot_be_read(schedule: str, message: str) -> None:
    """
    The message has it, and what would do.
    """
    with pytest.raises(ValueError, match=message):
        next_time(schedule, "UTC", 0.0, 0.0)


def test_fails_if_a_zone_does_not_exist() -> None:
    """
    The message has a name that does.
    """
    with pytest.raises(ValueError, match="Europe/Berlin, got 'Mars/North'"):
        next_time("cron(0 8 * * ? *)", "Mars/North", 0.0, 0.0)
