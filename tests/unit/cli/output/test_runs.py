"""
A run as rows and numbers, and several runs side by side.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk_sagemaker_llm.cli.output.runs import (
    Comparison,
    Event,
    Run,
    all_costs,
    cost_of,
    costs,
    events_of,
    figures,
    figures_of,
    instances_of,
    is_estimated,
    lost,
    rows_of,
    shares,
    side_by_side,
    start_of,
)
from cdk_sagemaker_llm.simulation.fleet import Step
from cdk_sagemaker_llm.simulation.outcome import FirstTokens
from cdk_sagemaker_llm.simulation.scaling import Activity
from tests.unit.cli.output.results import (
    BEGIN,
    NO_PRICES,
    PRICES,
    price_list,
    result,
    series,
)


def test_a_row_of_each_minute_has_what_there_was() -> None:
    """
    Copies and instances at its end; what is not there, and no loss, is empty.
    """
    assert rows_of(result(), "Blue") == [
        ("0:00:00", "60.0", "1", "2", "1", "4", "1.2", "3.5", "3"),
        ("0:01:00", "120.0", "3", "4", "3", "9", "2.2", "4.5", "3"),
        ("0:02:00", "30.0", "2", "2", "2", "0", "", "", ""),
    ]
    (first, *_) = rows_of(result(instances={}), "Blue")
    assert first[4] == "0"


@pytest.mark.parametrize(
    ("minutes", "rows", "second"),
    [
        (30, 30, "0:01:00"),
        (31, 16, "0:02:00"),
        (60, 30, "0:02:00"),
        (61, 13, "0:05:00"),
        (150, 30, "0:05:00"),
        (151, 16, "0:10:00"),
        (301, 21, "0:15:00"),
        (451, 16, "0:30:00"),
        (901, 16, "1:00:00"),
        (1801, 16, "2:00:00"),
        (3601, 16, "4:00:00"),
        (7201, 21, "6:00:00"),
        (10801, 16, "12:00:00"),
        (21601, 16, "day 2, 0:00:00"),
        (43201, 31, "day 2, 0:00:00"),
    ],
)
def test_there_are_not_too_many_rows(minutes: int, rows: int, second: str) -> None:
    """
    At most thirty, of as many minutes each as need be, but of no more than a day.
    """
    one = result({"Blue": series(arrived=[1.0] * minutes, refused={})}, instances={})
    found = rows_of(one, "Blue")

    assert len(found) == rows
    assert found[1][0] == second


def test_a_row_of_several_minutes_is_put_together() -> None:
    """
    Requests on average, the worst of the line and the latencies, and all losses.
    """
    arrived = [60.0, 120.0, *[0.0] * 29]
    one = result({"Blue": series(arrived=arrived, refused={})}, instances={})
    found = rows_of(one, "Blue")

    assert found[0] == ("0:00:00", "90.0", "3", "4", "0", "9", "2.2", "4.5", "4")
    assert found[1] == ("0:02:00", "0.0", "2", "2", "0", "0", "", "", "")
    # The last one is of a single minute.
    assert found[-1][:2] == ("0:30:00", "0.0")


def test_instances_of_all_types_are_added_up() -> None:
    """
    Minute by minute.
    """
    assert instances_of(result()) == [1.0, 3.0, 2.0]
    assert instances_of(result(instances={})) == []


def test_what_is_lost_is_refused_or_too_late() -> None:
    """
    For whatever reason.
    """
    refused = {"no capacity": [2.0, 0.0, 1.0], "queue full": [4.0, 0.0, 0.0]}

    assert lost(series(refused=refused)) == [7.0, 3.0, 1.0]


def test_times_count_from_a_moment() -> None:
    """
    With its day and its zone.
    """
    assert start_of(result()) == "0:00:00 is Monday, 2026-01-05 08:30 UTC"


def test_what_happened_is_told_in_order() -> None:
    """
    What was there at the start did not happen; changes of one kind at once are one.
    """
    found = events_of(
        result(
            steps=[
                Step(BEGIN, "running instances", 0, 1, "it was there"),
                Step(BEGIN + 120, "running instances", 3, 4, "more"),
                Step(BEGIN + 60, "running instances", 1, 2, "more"),
                Step(BEGIN + 60, "running instances", 2, 3, "more"),
                Step(BEGIN + 60, "running instances", 3, 4, "for another reason"),
                Step(BEGIN + 60, "serving copies", 1, 2, "more"),
                Step(BEGIN + 60, "running instances", 5, 6, "more"),
            ],
            activities={
                "Blue": (
                    Activity(
                        time=BEGIN + 90,
                        before=4,
                        after=4,
                        policy="Track",
                        cause="an alarm",
                        not_scaled="Max",
                    ),
                    Activity(
                        time=BEGIN + 30, before=1, after=4, policy="Track", cause="high"
                    ),
                )
            },
        )
    )

    assert found == [
        Event(60.0, "running instances", 5, 6, "more"),
        Event(60.0, "running instances", 3, 4, "for another reason"),
        Event(60.0, "serving copies", 1, 2, "more"),
        Event(90.0, "not scaled: Blue", 4, 4, "Max; an alarm"),
        Event(120.0, "running instances", 3, 4, "more"),
    ]


def test_changes_at_different_times_are_lines_of_their_own() -> None:
    """
    Even where one goes on from another.
    """
    steps = [
        Step(BEGIN + 60, "copies", 1, 2, "w"),
        Step(BEGIN + 61, "copies", 2, 3, "w"),
    ]

    assert events_of(result(steps=steps)) == [
        Event(60.0, "copies", 1, 2, "w"),
        Event(61.0, "copies", 2, 3, "w"),
    ]
    both = [
        Step(BEGIN + 60, "copies", 1, 2, "w"),
        Step(BEGIN + 60, "copies", 2, 4, "w"),
    ]
    assert events_of(result(steps=both)) == [Event(60.0, "copies", 1, 4, "w")]


def test_the_figures_of_a_model_are_sums_and_the_worst() -> None:
    """
    What was refused by its reason, where anything was.
    """
    refused = {"no capacity": [2.0, 0.0, 1.0], "queue full": [0.0, 0.0, 0.0]}
    one = result({"Blue": series(refused=refused)})

    assert figures_of(one, "Blue") == {
        "requests": 210.0,
        "answered in time": 195.0,
        "refused, no capacity": 3.0,
        "not answered in time": 4.0,
        "under way at the end": 5.0,
        # 55 of 1.5 s and 110 of 2.5 s.
        "mean latency, s": pytest.approx(357.5 / 165),
        "p50 of all, s": 2.0,
        "p95 of all, s": 4.0,
        "p99 of all, s": 4.0,
        "p50 of the worst minute, s": 2.25,
        "p95 of the worst minute, s": 4.5,
        "p99 of the worst minute, s": 6.5,
        "longest line": 9.0,
        "most copies": 3.0,
    }


def test_the_time_to_the_first_token_is_shown_where_it_is_known() -> None:
    """
    Of half of the answers, and of 95 %.
    """
    firsts = FirstTokens(overhead=0.5)
    firsts.add([0.25 * each for each in range(20, 0, -1)])
    seen = replace(series(), firsts=firsts)
    found = figures_of(result({"Blue": seen}), "Blue")

    assert found["first token, p50 of all, s"] == pytest.approx(3.0)
    assert found["first token, p95 of all, s"] == pytest.approx(5.25)


def test_without_answers_there_are_no_latencies() -> None:
    """
    Nor percentiles of the whole run, where no single request was followed.
    """
    quiet = series(arrived=[0.0], latencies=None)
    quiet.latency_mean[:] = quiet.latency_p50[:] = [None]
    quiet.latency_p95[:] = quiet.latency_p99[:] = [None]
    found = figures_of(result({"Blue": quiet}), "Blue")

    assert [name for name in found if name.endswith("of all, s")] == []
    assert [name for name, value in found.items() if value is None] == [
        "mean latency, s",
        "p50 of the worst minute, s",
        "p95 of the worst minute, s",
        "p99 of the worst minute, s",
    ]


def test_figures_are_shown_with_instances_and_money() -> None:
    """
    Seconds with their hundredths; money says so where no price is known.
    """
    big = series(arrived=[12345.0, 0.0, 0.0], refused={}, latencies=None)
    shown = dict(figures(result({"Blue": big}), "Blue", PRICES))

    assert shown == {
        "requests": "12,345",
        "answered in time": "195",
        "not answered in time": "4",
        "under way at the end": "5",
        "mean latency, s": "2.17",
        "p50 of the worst minute, s": "2.25",
        "p95 of the worst minute, s": "4.50",
        "p99 of the worst minute, s": "6.50",
        "longest line": "9",
        "most copies": "3",
        "instance hours, ml.g5.xlarge": "1.50",
        "instance hours, ml.g6.xlarge": "0.25",
        "US dollars": "4.00",
    }
    unpaid = dict(figures(result({"Blue": big}), "Blue", NO_PRICES))
    assert unpaid["US dollars"] == "no price known"
    two = result({"Blue": big, "Green": big})
    assert list(dict(figures(two, "Blue", PRICES)))[-1] == "most copies"
    quiet = series(arrived=[0.0])
    quiet.latency_p50[:] = [None]
    assert dict(figures(result({"B": quiet}), "B", NO_PRICES))[
        "p50 of the worst minute, s"
    ] == ("none")


def test_money_is_hours_times_prices() -> None:
    """
    Not known where one price is missing, of one variant or of all.
    """
    cheap, free = result(hours={"ml.g5.xlarge": 1000.0}), result(hours={})
    unknown = result(hours={"ml.g7.xlarge": 1.0, "ml.g5.xlarge": 1.0})

    assert cost_of(result(), PRICES) == 4.0
    assert (cost_of(free, NO_PRICES), cost_of(unknown, PRICES)) == (0, None)
    assert dict(costs(cheap, PRICES))["US dollars"] == "2,000.00"
    assert list(costs(unknown, PRICES)) == [
        ("instance hours, ml.g7.xlarge", "1.00"),
        ("instance hours, ml.g5.xlarge", "1.00"),
        ("US dollars", "no price known"),
    ]
    assert list(costs(free, NO_PRICES)) == [("US dollars", "0.00")]
    away = price_list({"ml.g5.xlarge": 2.0}, elsewhere=["ml.g5.xlarge"])
    assert dict(costs(cheap, away))["US dollars"] == "2,000.00*"
    assert all_costs(Run(name="it", results=[cheap, result()]), PRICES) == 2004.0
    assert all_costs(Run(name="it", results=[cheap, unknown]), PRICES) is None


def test_what_was_not_measured_is_an_estimate() -> None:
    """
    Model by model.
    """
    assert not is_estimated(result(), "Blue")
    assert is_estimated(result(is_estimate=True), "Blue")
    assert (shares(["a"]), shares(["a", "b"])) == (False, True)


def test_runs_are_compared_by_their_places() -> None:
    """
    Whatever their models are called; what one has and another has not is empty there.
    """
    short = series(refused={}, latencies=None)
    one = Run(name="one", results=[result({"Blue": series()})])
    two = Run(
        name="two",
        results=[
            result({"Red": short, "Green": short}, endpoint="Test/Talk"),
            result({"Last": short}, endpoint="Test/Last"),
        ],
    )
    first, second, shared, last = side_by_side([one, two], PRICES)

    assert (first.endpoint, first.models) == ("Prod/Chat", ("Blue", "Red"))
    assert first.rows[:3] == (
        ("requests", "210", "210"),
        ("answered in time", "195", "195"),
        ("refused, no capacity", "2", ""),
    )
    assert first.rows[-1] == ("US dollars", "4.00", "")
    assert (second.endpoint, second.models) == ("Prod/Chat", ("", "Green"))
    assert second.rows[0] == ("requests", "", "210")
    assert shared == Comparison(
        endpoint="Prod/Chat",
        models=("", "all models"),
        rows=(
            ("instance hours, ml.g5.xlarge", "", "1.50"),
            ("instance hours, ml.g6.xlarge", "", "0.25"),
            ("US dollars", "", "4.00"),
        ),
    )
    assert (last.endpoint, last.models) == ("Test/Last", ("", "Last"))
    assert last.rows[-1] == ("US dollars", "", "4.00")
