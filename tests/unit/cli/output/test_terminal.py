"""
Runs for the terminal: tables by time, small curves, the log, and the report.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cdk_sagemaker_llm.cli.output.runs import Event, Run
from cdk_sagemaker_llm.cli.output.terminal import (
    _sparkline,
    _told_once,
    show,
    show_compared,
)
from cdk_sagemaker_llm.simulation.fleet import Step
from tests.unit.cli.output.results import (
    BEGIN,
    NO_PRICES,
    PRICES,
    price_list,
    result,
    series,
)

ORIGIN = "prices: us-east-1 (2026); a list"
ESTIMATED = (
    "latencies, the line and what is lost are ESTIMATES: no service times were "
    "measured (--service-times)"
)

TOTALS = (
    ("requests", "210"),
    ("answered in time", "195"),
    ("refused, no capacity", "2"),
    ("not answered in time", "4"),
    ("under way at the end", "5"),
    ("mean latency, s", "2.17"),
    ("p50 of all, s", "2.00"),
    ("p95 of all, s", "4.00"),
    ("p99 of all, s", "4.00"),
    ("p50 of the worst minute, s", "2.25"),
    ("p95 of the worst minute, s", "4.50"),
    ("p99 of the worst minute, s", "6.50"),
    ("longest line", "9"),
    ("most copies", "3"),
    ("instance hours, ml.g5.xlarge", "1.50"),
    ("instance hours, ml.g6.xlarge", "0.25"),
    ("US dollars", "4.00"),
)


@pytest.fixture(name="shown")
def _shown(
    capsys: pytest.CaptureFixture[str],
) -> Callable[[], list[str]]:
    """
    Return the lines that were shown, without what fills them up.
    """
    return lambda: [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("numbers", "cells", "line"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], 9, " ▁▂▃▄▅▆▇█"),
        # The least of something is something.
        ([0, 0.001, 8], 3, " ▁█"),
        ([0, 0], 5, "  "),
        ([], 5, ""),
        # A cell has the highest of what it stands for.
        ([1, 8, 4, 0], 2, "█▄"),
        ([1, 8, 4, 0, 2], 2, "█▄"),
        ([1, 8, 4], 2, "█▄"),
    ],
)
def test_a_curve_is_drawn_in_bars(numbers: list[float], cells: int, line: str) -> None:
    """
    Of eighths, in no more cells than there are.
    """
    assert _sparkline(numbers, cells) == line


def test_a_curve_has_sixty_cells() -> None:
    """
    Where it has as many numbers.
    """
    assert len(_sparkline([1.0] * 61)) == 60
    assert len(_sparkline([1.0] * 59)) == 59


def test_a_variant_is_shown_from_its_traffic_to_its_report(
    shown: Callable[[], list[str]],
) -> None:
    """
    Every line of it.
    """
    steps = [Step(BEGIN + 60, "running instances", 1, 2, "it was [b]:key:[/b]")]
    show(Run(name="it", results=[result(steps=steps)], left_out=["[i]x"]), PRICES)
    lines = shown()
    report = lines.index("Requests")

    assert lines[:report] == [
        ("Prod/Chat (AllTraffic): 2 x ml.g5.xlarge or ml.g6.xlarge, 1 to 4"),
        "0:00:00 is Monday, 2026-01-05 08:30 UTC",
        "traffic of Blue: 1/s & more",
        (
            "   time  requests/min  copies  wanted  instances  in line  p50 s  p95 s  "
            "lost"
        ),
        (
            "0:00:00          60.0       1       2          1        4    1.2    3.5  "
            "   3"
        ),
        (
            "0:01:00         120.0       3       4          3        9    2.2    4.5  "
            "   3"
        ),
        "0:02:00          30.0       2       2          2        0",
        "requests/min ▄█▂ up to 120",
        "      copies ▃█▆ up to 3",
        "   instances ▃█▆ up to 3",
        "     in line ▄█  up to 9",
        "       p95 s ▇█  up to 4.5",
        "        lost ██  up to 3",
        *(f"{name:<28}  {value:>4}" for name, value in TOTALS),
        "",
        "   time  what               from  to  why",
        "0:01:00  running instances     1   2  it was [b]:key:[/b]",
        "",
    ]
    assert [line for line in lines[report:] if not line.startswith("  - ")] == [
        "Requests",
        "From load to capacity",
        "Instances",
        "Assumed or estimated",
        ORIGIN,
        "Not simulated",
    ]
    assert lines[-4:] == [
        "  - this was <assumed>",
        ORIGIN,
        "Not simulated",
        "  - [i]x",
    ]
    assert ESTIMATED not in lines


def test_only_what_there_is_has_a_curve(shown: Callable[[], list[str]]) -> None:
    """
    And what nobody measured is called an estimate.
    """
    quiet = series(arrived=[0.0], refused={})
    for each in (quiet.timed_out, quiet.waiting):
        each[:] = [0.0]
    quiet.latency_p95[:] = [None]
    show(
        Run(
            name="it",
            results=[result({"Blue": quiet}, instances={}, is_estimate=True)],
        ),
        NO_PRICES,
    )
    lines = shown()

    assert lines[3] == ESTIMATED
    assert [line for line in lines if " up to " in line] == ["      copies █ up to 1"]
    assert [line for line in lines if "US dollars" in line] == [
        "US dollars                    no price known"
    ]
    assert lines[-1] == "prices: us-east-1 (none); a list"


def test_models_that_share_instances_pay_together(
    shown: Callable[[], list[str]],
) -> None:
    """
    After all of them; and all variants after these.
    """
    two = result({"Blue": series(), "Red": series()})
    show(Run(name="it", results=[two, result()]), PRICES)
    lines = shown()
    begin = lines.index("all models")

    assert lines[begin : begin + 5] == [
        "all models",
        "instance hours, ml.g5.xlarge  1.50",
        "instance hours, ml.g6.xlarge  0.25",
        "US dollars                    4.00",
        "",
    ]
    assert lines.count("all models") == 1
    assert lines[-2:] == ["US dollars of all endpoints and variants: 8.00", ORIGIN]
    show(Run(name="it", results=[two, result(hours={"ml.g7.xlarge": 1.0})]), PRICES)
    assert shown()[-2:] == [
        "US dollars of all endpoints and variants: no price known",
        ORIGIN,
    ]
    show(Run(name="it", results=[two]), PRICES)
    assert not [line for line in shown() if line.startswith("US dollars of all")]
    away = price_list(
        {"ml.g5.xlarge": 2.0, "ml.g6.xlarge": 4.0}, elsewhere=["ml.g6.xlarge"]
    )
    show(Run(name="it", results=[two, two]), away)
    assert shown()[-2:] == [
        "US dollars of all endpoints and variants: 8.00*",
        "prices: us-east-1 (2026), * us-west-2 (2027-01-01); a list",
    ]


def test_a_reason_not_to_scale_is_told_once() -> None:
    """
    For each of its kinds; anything else as often as it happens.
    """
    first = Event(1.0, "not scaled: Blue", 1, 1, "Max; high")
    other = Event(2.0, "not scaled: Blue", 1, 1, "Max; low")
    step = Event(3.0, "copies", 1, 2, "high")

    assert list(_told_once([first, first, other, step, step, first])) == [
        first,
        other,
        step,
        step,
    ]


@pytest.mark.parametrize(("count", "more"), [(40, 0), (41, 1), (50, 10)])
def test_a_log_has_forty_lines(
    count: int, more: int, shown: Callable[[], list[str]]
) -> None:
    """
    And says how many more there are.
    """
    steps = [
        Step(BEGIN + 60 * number, "copies", number, number + 1, "more")
        for number in range(1, count + 1)
    ]
    show(Run(name="it", results=[result(steps=steps)]), NO_PRICES)
    lines = shown()

    assert sum(line.endswith("  more") for line in lines) == 40
    told = [line for line in lines if line.endswith("--json has them all")]
    assert told == ([f"and {more} more; --json has them all"] if more else [])


def test_without_events_there_is_no_log(shown: Callable[[], list[str]]) -> None:
    """
    Nor its heads.
    """
    show(Run(name="it", results=[result()]), NO_PRICES)

    assert not [line for line in shown() if line.endswith("why")]


def test_runs_are_shown_side_by_side_and_then_each(
    shown: Callable[[], list[str]],
) -> None:
    """
    With its curves and its report, and what it leaves out.
    """
    few = series(refused={}, latencies=None)
    runs = [
        Run(name="one", results=[result()], left_out=["a"]),
        Run(name="two", results=[result({"Red": few}, is_estimate=True)]),
    ]
    show_compared(runs, PRICES)
    lines = shown()

    assert lines[:6] == [
        "Prod/Chat",
        "                               one   two",
        "                              Blue   Red",
        "requests                       210   210",
        "answered in time               195   195",
        "refused, no capacity             2",
    ]
    first, second = lines.index("one"), lines.index("two")
    assert lines[first - 4 : first] == [
        "US dollars                    4.00  4.00",
        "",
        ORIGIN,
        "",
    ]
    assert lines[first + 1] == "requests/min ▄█▂ up to 120"
    assert lines[second - 3 : second] == ["Not simulated", "  - a", ""]
    assert lines[second + 1] == ESTIMATED
    assert lines[second + 2] == "requests/min ▄█▂ up to 120"
    for title in ("Requests", "Instances", "Assumed or estimated"):
        assert lines.count(title) == 2
