"""
What ``simulate`` reads of its options, each with what it is where it is omitted.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from cdk_sagemaker_llm.cli.app.playing import RunSettings
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings
from cdk_sagemaker_llm.cli.commands import _runs
from cdk_sagemaker_llm.cli.commands.simulate import (
    FileOptions,
    TimeOptions,
    TrafficOptions,
)
from cdk_sagemaker_llm.simulation.metrics import MetricDelays
from tests.unit.cli.app.templates import template, variant
from tests.unit.cli.commands.simulations import simulate
from tests.unit.cli.output.results import NO_PRICES

CONSTANT = {"traffic": "constant"}


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (
            {},
            {
                "shape": "spike",
                "rate": None,
                "peak": None,
                "begin": None,
                "lasting": None,
                "scale": 1.0,
                "users": None,
                "think": None,
                "prompt": 500,
                "answer": 150,
                "spread": 0.0,
                "even": False,
                "busiest": 14,
                "time_zone": "UTC",
                "weekend": 1.0,
                "timeout": 60.0,
            },
        ),
        (
            {
                "traffic": "day",
                "rate": "30/min",
                "peak": "2/s",
                "begin": "5m",
                "lasting": "1h",
                "scale": 2.5,
                "prompt_tokens": 700,
                "answer_tokens": 70,
                "spread": 0.5,
                "even": True,
                "busiest": 0,
                "time_zone": "Asia/Tokyo",
                "weekend": 0.0,
                "timeout": "90s",
            },
            {
                "shape": "day",
                "rate": 0.5,
                "peak": 2.0,
                "begin": 300.0,
                "lasting": 3600.0,
                "scale": 2.5,
                "users": None,
                "think": None,
                "prompt": 700,
                "answer": 70,
                "spread": 0.5,
                "even": True,
                "busiest": 0,
                "time_zone": "Asia/Tokyo",
                "weekend": 0.0,
                "timeout": 90.0,
            },
        ),
    ],
    ids=["omitted", "written"],
)
def test_traffic_is_what_is_written(
    options: dict[str, Any], settings: dict[str, Any]
) -> None:
    """
    In seconds, and by the second.
    """
    assert asdict(TrafficOptions(**options).settings()) == settings


def test_users_think_as_long_as_they_are_told() -> None:
    """
    Nobody thinks for nothing.
    """
    found = TrafficOptions(users=7, think="0s").settings()

    assert (found.users, found.think) == (7, 0.0)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"rate": "5"}, "--rate must be a rate"),
        ({"peak": "5"}, "--peak must be a rate"),
        ({"begin": "5"}, "--begin must be a time"),
        ({"lasting": "5"}, "--lasting must be a time"),
        ({"think": "5"}, "--think-time must be a time"),
        ({"timeout": "5"}, "--timeout must be a time"),
    ],
)
def test_a_value_without_its_unit_is_told_by_its_option(
    options: dict[str, Any], why: str
) -> None:
    """
    Whichever of them it is.
    """
    with pytest.raises(ValueError, match=f"^{why}"):
        TrafficOptions(**options).settings()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rate": "1/s", "peak": "2/s", "begin": "1m", "lasting": "1m"},
        {"traffic": "ramp", "rate": "1/s", "peak": "2/s", "begin": "1m"},
        {"traffic": "ramp", "lasting": "1m"},
        {"traffic": "constant", "rate": "1/s", "begin": "1m", "lasting": "1m"},
        {"traffic": "day", "rate": "1/s", "peak": "2/s", "busiest": 3},
        {"traffic": "day", "time_zone": "Asia/Tokyo"},
        {"traffic": "calls.csv", "scale": 2.0},
        {"users": 3, "think": "5s", "prompt_tokens": 9, "spread": 1.0, "even": True},
        {"begin": "119m59s"},
        {"begin": "59s", "duration": "1m"},
        {"lasting": "5h"},
    ],
    ids=str,
)
def test_what_shapes_a_traffic_is_taken(options: dict[str, Any]) -> None:
    """
    Each of them alone and together.
    """
    TrafficOptions(**options).check()


ONLY = "; leave one of the two out"


@pytest.mark.parametrize(
    ("options", "faults"),
    [
        (
            {
                "users": 2,
                "rate": "1/s",
                "peak": "1/s",
                "begin": "1m",
                "lasting": "1m",
                "busiest": 0,
                "time_zone": "UTC",
                "weekend": 0.0,
            },
            [
                f"{flag} has no effect on --users{ONLY}"
                for flag in (
                    *("--rate", "--peak", "--begin", "--lasting"),
                    *("--busiest", "--time-zone", "--weekend"),
                )
            ],
        ),
        (
            {"traffic": "spike", "users": 2, "think": "1s"},
            ["--users come instead of a traffic, got --traffic spike besides"],
        ),
        (
            {
                "traffic": "calls.csv",
                "rate": "1/s",
                "peak": "1/s",
                "begin": "1m",
                "lasting": "1m",
                "busiest": 0,
                "time_zone": "UTC",
                "think": "1s",
            },
            [
                (
                    "--think-time is how long users think; say how many there are "
                    "with --users"
                ),
                (
                    "--rate has no effect on --traffic calls.csv; it shapes constant, "
                    "ramp, spike, day"
                ),
                (
                    "--peak has no effect on --traffic calls.csv; it shapes ramp, "
                    "spike, day"
                ),
                (
                    "--begin has no effect on --traffic calls.csv; it shapes "
                    "constant, ramp, spike"
                ),
                (
                    "--lasting has no effect on --traffic calls.csv; it shapes "
                    "constant, ramp, spike"
                ),
                "--busiest has no effect on --traffic calls.csv; it shapes day",
                "--time-zone has no effect on --traffic calls.csv; it shapes day",
            ],
        ),
        (
            {"traffic": "day", "begin": "1m", "lasting": "1m"},
            [
                (
                    "--begin has no effect on --traffic day; it shapes constant, "
                    "ramp, spike"
                ),
                (
                    "--lasting has no effect on --traffic day; it shapes constant, "
                    "ramp, spike"
                ),
            ],
        ),
        (
            {"time_zone": "UTC"},
            ["--time-zone has no effect on --traffic spike; it shapes day"],
        ),
        (
            {"begin": "1m", "duration": "1m"},
            ["--begin must be before the end, got 1m of --duration 1m"],
        ),
        (
            {"duration": "93d"},
            [
                (
                    "--duration must be at most 92d, got 93d: a day takes seconds to "
                    "play out, and tells what a year of such days would"
                )
            ],
        ),
    ],
)
def test_what_has_no_effect_is_refused(
    options: dict[str, Any], faults: list[str]
) -> None:
    """
    All of it together.
    """
    with pytest.raises(ValueError, match=".") as raised:
        TrafficOptions(**options).check()
    assert str(raised.value).splitlines() == faults


def test_times_are_read_where_they_are_written() -> None:
    """
    By the fields of the fleet; the others keep what is usual.
    """
    every = TimeOptions(
        instance_start="4m",
        image_pull="3m",
        model_start="9m",
        drain="20s",
        release="1h",
        refusal="0s",
    )

    assert TimeOptions().times() == {}
    assert every.times() == {
        "provision": 240.0,
        "image_pull": 180.0,
        "model_start": 540.0,
        "drain": 20.0,
        "release": 3600.0,
        "refusal": 0.0,
    }


@pytest.mark.parametrize(
    "name",
    ["instance_start", "image_pull", "model_start", "drain", "release", "refusal"],
)
def test_a_time_without_its_unit_is_told_by_its_option(name: str) -> None:
    """
    Whichever of them it is.
    """
    flag = f"--{name.replace('_', '-')}"
    options: dict[str, Any] = {name: "5"}

    with pytest.raises(ValueError, match=f"^{flag} must be a time with its unit"):
        TimeOptions(**options).times()


def test_metrics_are_as_late_as_they_are_told_to_be() -> None:
    """
    Each kind by itself; at once is a delay too.
    """
    assert TimeOptions().delays() == MetricDelays(standard=120.0, high_resolution=30.0)
    slow, quick = TimeOptions(metric_delay="0s"), TimeOptions(fast_metric_delay="5s")
    assert slow.delays() == MetricDelays(standard=0.0, high_resolution=30.0)
    assert quick.delays() == MetricDelays(standard=120.0, high_resolution=5.0)
    with pytest.raises(ValueError, match="^--metric-delay must be a time"):
        TimeOptions(metric_delay="5").delays()
    with pytest.raises(ValueError, match="^--fast-metric-delay must be a time"):
        TimeOptions(fast_metric_delay="5").delays()


def run_settings(path: Path, *options: str) -> RunSettings:
    """
    Return what a run is made of, without running it.
    """
    with mock.patch.object(_runs, "play", return_value=[]) as play:
        done = simulate(path, *options)
    assert done.exit_code == 0, done.stderr
    found: RunSettings = play.call_args.args[1]
    return found


def test_a_run_is_made_of_all_that_is_written(tmp_path: Path) -> None:
    """
    And of what is usual where nothing is.
    """
    path = template(tmp_path, variant())

    assert run_settings(path) == RunSettings(
        traffic=TrafficSettings(prompt=500, answer=150), duration=7200.0
    )
    found = run_settings(
        path,
        *("--traffic", "constant", "--rate", "1/s", "--duration", "1h"),
        *("--seed", "9", "--method", "aggregate", "--drain", "5s"),
        *("--metric-delay", "1m", "--model-start", "3m"),
        *("--available", "ml.g5.xlarge=4", "--start", "2026-03-02T08:00:59+01:00"),
    )
    assert found == RunSettings(
        traffic=TrafficSettings(shape="constant", rate=1.0, prompt=500, answer=150),
        duration=3600.0,
        start=datetime(2026, 3, 2, 8, tzinfo=timezone(timedelta(hours=1))),
        seed=9,
        method="aggregate",
        times={"drain": 5.0, "model_start": 180.0},
        delays=MetricDelays(standard=60.0, high_resolution=30.0),
        model_start=180.0,
        available={"ml.g5.xlarge": 4},
    )
    assert run_settings(path).start == datetime(2026, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("option", "wrong", "right"),
    [
        ("--scale", ("-0.1", "1000000.1"), ("0", "1000000")),
        ("--users", ("0",), ("1",)),
        ("--prompt-tokens", ("0",), ("1",)),
        ("--answer-tokens", ("0",), ("1",)),
        ("--spread", ("-0.1", "3.1"), ("0", "3")),
        ("--seed", ("-1",), ("0",)),
    ],
)
def test_a_number_has_its_limits(
    option: str, wrong: tuple[str, ...], right: tuple[str, ...], tmp_path: Path
) -> None:
    """
    On both sides, where it has two.
    """
    path = template(tmp_path, variant())

    for value in right:
        run_settings(path, option, value)
    for value in wrong:
        done = simulate(path, option, value)
        assert done.exit_code == 2
        assert f"Invalid value for '{option}'" in done.stderr


def test_an_hour_of_the_day_is_one_of_twenty_four(tmp_path: Path) -> None:
    """
    From midnight to eleven.
    """
    path = template(tmp_path, variant())

    for hour in (0, 23):
        found = run_settings(path, "--traffic", "day", "--busiest", str(hour))
        assert found.traffic.busiest == hour
    for hour in (-1, 24):
        done = simulate(path, "--traffic", "day", "--busiest", str(hour))
        assert done.exit_code == 2
        assert "Invalid value for '--busiest'" in done.stderr


def test_each_fault_is_a_line_of_its_own(tmp_path: Path) -> None:
    """
    With the command before it.
    """
    path = template(tmp_path, variant())
    done = simulate(path, "--busiest", "3", "--think-time", "4s")

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        (
            "sagemaker-llm simulate: --think-time is how long users think; say how "
            "many there are with --users"
        ),
        (
            "sagemaker-llm simulate: --busiest has no effect on --traffic spike; it "
            "shapes day"
        ),
    ]


def test_only_the_files_that_are_named_are_written(tmp_path: Path) -> None:
    """
    Each with its own content.
    """
    path = template(tmp_path, variant())
    (tmp_path / "out").mkdir()
    short = ("--duration", "2m", "--traffic", "constant", "--rate", "1/min", "--even")
    FileOptions().write([], NO_PRICES)
    assert list((tmp_path / "out").iterdir()) == []
    page, rows = tmp_path / "out" / "é.html", tmp_path / "out" / "é.csv"
    done = simulate(path, *short, "--html", page, "--csv", rows, "--json")

    assert done.exit_code == 0, done.stderr
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert rows.read_text(encoding="utf-8").startswith("run,")
    assert set(json.loads(done.stdout)) == {"runs", "prices"}
