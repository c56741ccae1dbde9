"""
Runs in files: JSON, CSV with a line for each minute, a picture, and a web page.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure

from cdk_sagemaker_llm.cli.output.files import (
    _clock,
    csv_of,
    draw,
    facts_of,
    page_of,
    panels_of,
)
from cdk_sagemaker_llm.cli.output.runs import Run
from cdk_sagemaker_llm.simulation.fleet import Step
from cdk_sagemaker_llm.simulation.scaling import Activity
from tests.unit.cli.output.results import (
    BEGIN,
    NO_PRICES,
    PRICES,
    price_list,
    result,
    series,
)

STEPS = [Step(BEGIN + 60, "running instances", 1, 2, "it was <wanted>")]


def test_json_has_all_there_is_of_a_run() -> None:
    """
    Times of what scaling did count from the start.
    """
    did = Activity(
        time=BEGIN + 60, before=1, after=2, policy="Track", cause="high", value=7.0
    )
    one = result(steps=STEPS, activities={"Blue": (did,)})
    run = Run(name="it", results=[one], left_out=["a shadow"])
    facts = facts_of([run], PRICES)
    (found,) = facts["runs"]
    (variant,) = found.pop("variants")
    (report,) = [part for part in [variant.pop("report")] if part]
    model = variant["models"].pop("Blue")
    minutes = model.pop("minutes")
    (activity,) = model.pop("activities")
    figures = model.pop("figures")

    assert found == {"name": "it", "usd": 4.0, "not_simulated": ["a shadow"]}
    assert variant == {
        "endpoint": "Prod/Chat",
        "variant": "AllTraffic",
        "instance_types": ["ml.g5.xlarge", "ml.g6.xlarge"],
        "method": "requests",
        "start": "2026-01-05T08:30:00+00:00",
        "duration_seconds": 180.0,
        "seed": 7,
        "models": {},
        "instances": {
            "ml.g5.xlarge": [1.0, 2.0, 1.0],
            "ml.g6.xlarge": [0.0, 1.0, 1.0],
        },
        "instance_hours": {"ml.g5.xlarge": 1.5, "ml.g6.xlarge": 0.25},
        "usd": 4.0,
        "steps": [
            {
                "time": 60.0,
                "what": "running instances",
                "before": 1,
                "after": 2,
                "why": "it was <wanted>",
            }
        ],
    }
    assert model == {"traffic": "1/s & more", "is_estimate": False}
    assert figures["requests"] == 210.0
    assert minutes == {
        "arrived": [60.0, 120.0, 30.0],
        "served": [55, 110, 30],
        "timed_out": [1, 3, 0],
        "refused": {"no capacity": [2.0, 0.0, 0.0]},
        "waiting": [4, 9, 0],
        "concurrency": [6, 11, 5],
        "copies": [1, 3, 2],
        "desired": [2, 4, 2],
        "latency_mean": [1.5, 2.5, None],
        "latency_p50": [1.25, 2.25, None],
        "latency_p95": [3.5, 4.5, None],
        "latency_p99": [5.5, 6.5, None],
    }
    assert (activity["time"], activity["before"], activity["after"]) == (60.0, 1, 2)
    assert activity["value"] == 7.0
    assert report[-1]["title"] == "Assumed or estimated"
    assert "this was <assumed>" in report[-1]["sentences"]
    assert facts["prices"] == {
        "ml.g5.xlarge": {
            "usd_per_hour": 2.0,
            "region": "us-east-1",
            "date": "2026",
            "source": "hosting",
        },
        "ml.g6.xlarge": {
            "usd_per_hour": 4.0,
            "region": "us-east-1",
            "date": "2026",
            "source": "hosting",
        },
    }
    json.dumps(facts)


def test_what_has_no_price_costs_null_and_not_nothing() -> None:
    """
    Of a variant, of a run, and of the type itself.
    """
    facts = facts_of(
        [Run(name="it", results=[result()])], price_list({"ml.g5.xlarge": 2.0})
    )
    (found,) = facts["runs"]

    assert found["usd"] is None
    assert found["variants"][0]["usd"] is None
    assert facts["prices"]["ml.g5.xlarge"]["usd_per_hour"] == 2.0
    assert facts["prices"]["ml.g6.xlarge"] is None


def test_a_page_says_where_its_prices_are_from() -> None:
    """
    Beside the money: of what ran there alone, and with the mark of another region's.
    """
    away = price_list(
        {"ml.g5.xlarge": 2.0, "ml.g6.xlarge": 4.0}, elsewhere=["ml.g6.xlarge"]
    )
    text = page_of([Run(name="it", results=[result()])], away)
    unknown = page_of([Run(name="it", results=[result()])], NO_PRICES)

    assert '<td class="text">US dollars</td><td>4.00*</td>' in text
    assert text.count("<p>prices: ") == 1
    assert ("<p>prices: us-east-1 (2026), * us-west-2 (2027-01-01); a list</p>") in text
    assert '<td class="text">US dollars</td><td>no price known</td>' in unknown
    assert "<p>prices: us-east-1 (none); a list</p>" in unknown


def test_a_page_begins_with_the_charts_and_the_money() -> None:
    """
    And what explains them comes after.
    """
    text = page_of([Run(name="it", results=[result(steps=STEPS)])], PRICES)
    places = [
        text.index(part)
        for part in (
            "<figure",
            "US dollars",
            "<p>prices: us-east-1 (2026); a list</p>",
            "<h3>Requests</h3>",
            "<h3>Log</h3>",
        )
    ]

    assert places == sorted(places)
    # The title, the variant, when it starts, and the traffic.
    assert len(text[text.index("<h1>") : places[0]].splitlines()) == 5


def test_a_line_of_csv_is_a_minute_of_a_model() -> None:
    """
    What there is not is empty.
    """
    one = Run(name="one", results=[result()])
    two = Run(name="two", results=[result({"Red": series(), "Tan": series()})])
    text = csv_of([one, two])
    rows = list(csv.DictReader(text.splitlines()))

    assert "\r" not in text
    assert [(row["run"], row["model"], row["arrived"]) for row in rows[2:7]] == [
        ("one", "Blue", "30"),
        ("two", "Red", "60"),
        ("two", "Red", "120"),
        ("two", "Red", "30"),
        ("two", "Tan", "60"),
    ]
    assert rows[1] == {
        "run": "one",
        "endpoint": "Prod/Chat",
        "variant": "AllTraffic",
        "model": "Blue",
        "time": "2026-01-05T08:31:00+00:00",
        "arrived": "120",
        "served": "110",
        "timed_out": "3",
        "waiting": "9",
        "concurrency": "11",
        "copies": "3",
        "desired": "4",
        "latency_mean": "2.5",
        "latency_p50": "2.25",
        "latency_p95": "4.5",
        "latency_p99": "6.5",
        "refused_no_capacity": "0",
        "instances": "3",
    }
    assert rows[2]["latency_mean"] == ""
    (alone,) = csv.DictReader(
        csv_of(
            [
                Run(
                    name="x",
                    results=[result({"B": series(arrived=[1 / 3])}, instances={})],
                )
            ]
        ).splitlines()
    )
    assert (alone["instances"], alone["arrived"]) == ("", "0.333333")


def test_no_runs_are_no_lines() -> None:
    """
    But a file all the same.
    """
    assert csv_of([Run(name="it", results=[])]) == "\n"


def test_curves_of_one_unit_share_a_panel() -> None:
    """
    What there is at the end of a minute is drawn from then on.
    """
    assert dict(panels_of(result(), "Blue")) == {
        "requests a minute": [
            ("arrived", [60.0, 120.0, 30.0]),
            ("lost", [3.0, 3.0, 0.0]),
        ],
        "copies and instances": [
            ("copies wanted", [2, 2, 4]),
            ("copies that serve", [1, 1, 3]),
            ("instances that run", [1.0, 1.0, 3.0]),
        ],
        "requests in line": [("in line", [4, 4, 9])],
        "seconds to an answer": [
            ("p50", [1.25, 2.25, None]),
            ("p95", [3.5, 4.5, None]),
        ],
    }
    estimated = dict(panels_of(result(is_estimate=True, instances={}), "Blue"))
    assert list(estimated)[2:] == [
        "requests in line, estimated",
        "seconds to an answer, estimated",
    ]
    assert [name for name, _ in estimated["copies and instances"]] == [
        "copies wanted",
        "copies that serve",
    ]


@pytest.mark.parametrize(
    ("seconds", "clock"),
    [
        (0, "0:00"),
        (59 * 60, "0:59"),
        (3600, "1:00"),
        (86340, "23:59"),
        (86400, "day 2, 0:00"),
        (2 * 86400 + 3660, "day 3, 1:01"),
    ],
)
def test_a_clock_shows_hours_and_minutes(seconds: float, clock: str) -> None:
    """
    And the day, from the second on.
    """
    assert _clock(seconds) == clock


def headings(text: str) -> list[str]:
    """
    Return the headings of a page, without what the report says.
    """
    return re.findall(r"<h[123]>(.*?)</h[123]>", text)


def test_a_page_of_one_run_shows_each_model() -> None:
    """
    Every text as text, whatever stands in it.
    """
    one = result({"A<b>": series(), "Tan": series()}, steps=STEPS)
    text = page_of([Run(name="it", results=[one], left_out=["a <shadow>"])], PRICES)

    assert headings(text) == [
        "What scaling will do",
        "Prod/Chat (AllTraffic): ml.g5.xlarge or ml.g6.xlarge",
        "A&lt;b&gt;: 1/s &amp; more",
        "Tan: 1/s &amp; more",
        "all models",
        "Requests of A&lt;b&gt;",
        "From load to capacity of A&lt;b&gt;",
        "Requests of Tan",
        "From load to capacity of Tan",
        "Instances",
        "Assumed or estimated",
        "Log",
        "Not simulated",
    ]
    assert "<p>0:00:00 is Monday, 2026-01-05 08:30 UTC</p>" in text
    assert "<li>a &lt;shadow&gt;</li>" in text
    assert "<li>this was &lt;assumed&gt;</li>" in text
    assert text.count("<figure") == 8
    assert text.count("hours and minutes since the start</div>") == 8
    assert re.findall('aria-label="(Prod.*?)"', text) == [
        "Prod/Chat (AllTraffic), A&lt;b&gt;: in all",
        "Prod/Chat (AllTraffic), A&lt;b&gt;: by time",
        "Prod/Chat (AllTraffic), Tan: in all",
        "Prod/Chat (AllTraffic), Tan: by time",
        "Prod/Chat (AllTraffic), all models: in all",
        "Prod/Chat (AllTraffic): log",
    ]
    assert text.count('<td class="text">US dollars</td><td>4.00</td>') == 1
    log = text[text.index("<h3>Log</h3>") :]
    assert re.findall(r"<th scope[^>]*>(.*?)</th>", log) == [
        "time",
        "what",
        "from",
        "to",
        "why",
    ]
    assert re.findall(r"<td[^>]*>(.*?)</td>", log) == [
        "0:01:00",
        "running instances",
        "1",
        "2",
        "it was &lt;wanted&gt;",
    ]
    # Each mark of an axis in time.
    assert '<span style="left:33.33%">0:01</span>' in text


ALONE = ("Requests", "From load to capacity", "Instances", "Assumed or estimated")


def test_a_page_of_several_runs_begins_with_them_side_by_side() -> None:
    """
    Each then by its name; a single model has no part of all models.
    """
    runs = [
        Run(name="one & only", results=[result()]),
        Run(name="two", results=[result({"Red": series()})], left_out=["more"]),
    ]
    text = page_of(runs, PRICES)
    found = headings(text)

    assert found == [
        "What scaling will do",
        "Prod/Chat",
        "one &amp; only: Prod/Chat (AllTraffic): ml.g5.xlarge or ml.g6.xlarge",
        "Blue: 1/s &amp; more",
        *ALONE,
        "Log",
        "two: Prod/Chat (AllTraffic): ml.g5.xlarge or ml.g6.xlarge",
        "Red: 1/s &amp; more",
        *ALONE,
        "Log",
        "two: what is not simulated",
    ]
    assert 'aria-label="Prod/Chat: Blue, Red side by side"' in text
    assert re.findall(r"<th scope[^>]*>(.*?)</th>", text)[:3] == [
        "in all",
        "one &amp; only",
        "two",
    ]
    assert re.findall(r"<td[^>]*>(.*?)</td>", text)[:6] == [
        *("model", "Blue", "Red"),
        *("requests", "210", "210"),
    ]
    assert text.count("<section>") == text.count("</section>") == 2
    # Once for all of them, and once for each.
    assert text.count("<p>prices: us-east-1 (2026); a list</p>") == 3
    assert text.index("<p>prices: ") < text.index("<section>")


def drawn(runs: list[Run]) -> Figure:
    """
    Draw runs, without a file.
    """
    with mock.patch.object(Figure, "savefig", autospec=True) as saved:
        draw(runs, Path("run.png"))
    figure, path = saved.call_args.args
    assert path == Path("run.png")
    assert isinstance(figure, Figure)
    return figure


def test_a_picture_has_four_panels_of_each_model() -> None:
    """
    With their units, the curves' names, and room from zero on.
    """
    (first, *rest) = drawn([Run(name="it", results=[result(is_estimate=True)])]).axes

    assert first.get_title() == "Prod/Chat: Blue"
    assert [axes.get_ylabel() for axes in (first, *rest)] == [
        "requests a minute",
        "copies and instances",
        "requests in line,\nestimated",
        "seconds to an answer,\nestimated",
    ]
    lines = first.get_lines()
    assert [line.get_label() for line in lines] == ["arrived", "lost"]
    assert [np.asarray(line.get_ydata()).tolist() for line in lines] == [
        [60, 120, 30],
        [3, 3, 0],
    ]
    assert [line.get_color() for line in lines] == ["C0", "C1"]
    assert [line.get_drawstyle() for line in lines] == ["steps-post"] * 2
    assert [np.asarray(line.get_xdata()).tolist() for line in lines] == [[0, 1, 2]] * 2
    assert all(axes.get_ylim()[0] == 0 for axes in (first, *rest))
    assert rest[-1].get_xlabel() == "minutes since the start"
    legend = first.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["arrived", "lost"]
    # What has no value is a gap.
    assert np.isnan(np.asarray(rest[-1].get_lines()[0].get_ydata())[-1])


def test_runs_in_a_picture_share_their_panels() -> None:
    """
    Each with strokes and a name of its own; what one does not have is left out.
    """
    runs = [
        Run(
            name=name,
            results=[result({"Blue": series()}), result({"Red": series()})][:count],
        )
        for name, count in (
            ("one", 2),
            ("two", 1),
            ("three", 2),
            ("four", 1),
            ("five", 1),
        )
    ]
    runs[2] = Run(name="three", results=[result({"Tan": series(), "Ash": series()})])
    figure = drawn(runs)
    lines = figure.axes[2].get_lines()

    assert len(figure.axes) == 8
    assert [line.get_label() for line in lines] == [
        f"in line, {name}" for name in ("one", "two", "three", "four", "five")
    ]
    assert [line.get_linestyle() for line in lines] == ["-", "--", ":", "-.", "-"]
    assert figure.axes[4].get_title() == "Prod/Chat: Red"
    assert [line.get_label() for line in figure.axes[6].get_lines()] == ["in line, one"]
    assert list(figure.get_size_inches()) == [11, 17]


def test_an_empty_panel_has_a_height() -> None:
    """
    Up to one at least.
    """
    quiet = series(arrived=[0.0, 0.0], refused={})
    quiet.timed_out[:] = [0.0, 0.0]
    figure = drawn([Run(name="it", results=[result({"Blue": quiet})])])

    assert figure.axes[0].get_ylim() == (0, 1)


def test_a_picture_has_room_for_24_models() -> None:
    """
    One more is refused, with the ways out.
    """

    def draw_models(count: int) -> None:
        one = result({f"M{number}": series() for number in range(count)})
        draw([Run(name="it", results=[one])], Path("run.png"))

    with (
        mock.patch.object(Figure, "subplots", side_effect=KeyError) as subplots,
        pytest.raises(KeyError),
    ):
        draw_models(24)
    subplots.assert_called_once_with(96, 1, sharex=True, squeeze=False)
    with pytest.raises(ValueError, match=".") as raised:
        draw_models(25)
    assert str(raised.value) == (
        "--png has room for 24 models, got 25; choose an endpoint with --endpoint, or "
        "draw them with --html"
    )
