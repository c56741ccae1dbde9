"""
Rates, times and settings as they are written on the command line.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cdk_sagemaker_llm.cli.commands._options import (
    moment,
    named_numbers,
    positive,
    rate,
    seconds,
    whole,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("20/min", 20 / 60),
        ("20/m", 20 / 60),
        ("5/s", 5.0),
        ("0.5 / sec", 0.5),
        ("3600/h", 1.0),
        ("0/min", 0.0),
    ],
)
def test_a_rate_has_its_unit(text: str, found: float) -> None:
    """
    By the second, the minute or the hour.
    """
    assert rate("--rate", text) == pytest.approx(found)


@pytest.mark.parametrize("text", ["20", "20/day", "-1/s", "many/s", ""])
def test_fails_if_a_rate_is_none(text: str) -> None:
    """
    And says what to write.
    """
    with pytest.raises(ValueError, match=r"--rate must be a rate such as 20/min"):
        rate("--rate", text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("90s", 90),
        ("4m", 240),
        ("1h30m", 5400),
        ("1d 2h", 93600),
        ("0s", 0),
        ("1.5m", 90),
    ],
)
def test_a_time_has_its_unit(text: str, found: float) -> None:
    """
    Days, hours, minutes and seconds, in this order.
    """
    assert seconds("--duration", text) == found


@pytest.mark.parametrize("text", ["90", "", "5m4h", "-5m", "5 minutes"])
def test_fails_if_a_time_is_none(text: str) -> None:
    """
    And says what to write.
    """
    with pytest.raises(ValueError, match="--duration must be a time with its unit"):
        seconds("--duration", text)


def test_a_moment_without_a_zone_is_utc() -> None:
    """
    Otherwise it is in its own.
    """
    assert moment("--start", "2026-01-05T08:00") == datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert moment("--start", "2026-01-05T08:00+01:00").hour == 8
    with pytest.raises(ValueError, match="--start must be a moment such as"):
        moment("--start", "noon")


def test_settings_have_names_that_are_known() -> None:
    """
    A name that is not known is told with those that are.
    """
    known = {"target": "8", "max": "6"}

    assert named_numbers("--set", ["max=3"], known) == {"max": "3"}
    for wrong in ("maximum=3", "max", ""):
        with pytest.raises(ValueError, match="--set must be one of target=8, max=6"):
            named_numbers("--set", [wrong], known)


def test_numbers_stay_in_their_range() -> None:
    """
    Both sides of each bound.
    """
    assert whole("--set max", "1", 1) == 1
    assert positive("--set target", "0.1") == 0.1
    for text in ("0", "1.5", "x"):
        with pytest.raises(ValueError, match="whole number of at least 1"):
            whole("--set max", text, 1)
    for text in ("0", "inf", "nan", "x"):
        with pytest.raises(ValueError, match="a number above 0"):
            positive("--set target", text)
