"""
The picture in the documentation: every widget is drawn, or named as left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery
from tests.deployments import ROOT, synthesised
from tools.dashboard import (
    EXAMPLE,
    Panel,
    Values,
    body_in,
    curves_of,
    draw,
    filled,
    left_out,
    panels,
    panels_of,
)

MINUTES = 24 * 60


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthesised(EXAMPLE, tmp_path_factory.mktemp("app") / "cdk.out")


@pytest.fixture(name="drawn", scope="module")
def _drawn(folder: Path) -> list[Panel]:
    return panels(folder)


@pytest.mark.whole
def test_every_widget_is_drawn_or_named(drawn: list[Panel], folder: Path) -> None:
    """
    Each visible curve has its values for a day, or stands among what is missing.
    """
    widgets = body_in(folder / "Watched.template.json")["widgets"]

    assert len(drawn) == len(widgets) == 4 + 1 + 3 + 8
    for panel, widget in zip(drawn, widgets, strict=True):
        rows = widget["properties"].get("metrics", ())
        labels = {row[-1]["label"] for row in rows if row[-1].get("visible", True)}
        if widget["type"] == "metric":
            assert {*panel.curves, *panel.missing} == labels
            assert labels
        elif widget["type"] == "alarm":
            assert panel.missing == ("the states of 8 alarms",)
        else:
            assert panel.is_text
            assert panel.title
        assert {len(values) for values in panel.curves.values()} <= {MINUTES}


def test_this_is_simulated(drawn: list[Panel]) -> None:
    """
    What the simulation computes is not said to be missing.
    """
    shown = {panel.title: sorted(panel.curves) for panel in drawn if panel.curves}

    assert shown == {
        "Reserved by components (%)": ["CPU", "GPUs", "memory"],
        "Instances: GPUs (%)": ["memory", "use"],
        "Requests a minute": ["all copies", "each copy"],
        "Requests under way on a copy": ["at most"],
        "Copies that serve": ["copies"],
        "Time to an answer (ms)": [
            "95 % of answers",
            "99 % of answers",
            "half of answers",
        ],
        "Requests that fail, a minute": [
            "4xx",
            "5xx",
            "broken streams",
            "no copy there",
            "the container's",
        ],
        "Time beside the container, and to a stream's first part (ms)": [
            "beside the container",
            "first part, 99 %",
        ],
        "GPUs (%)": ["memory", "use"],
    }
    assert {panel.title: panel.missing for panel in drawn if panel.missing} == {
        "Alarms, those of scaling among them": ("the states of 8 alarms",),
        "Instances: CPU, memory and disk (%)": ("CPU", "memory", "disk"),
        "CPU and memory (%)": ("CPU", "memory"),
    }


def test_the_day_is_between_the_bounds(drawn: list[Panel]) -> None:
    """
    One to four copies, each of a quarter of the instance's GPUs.
    """
    by_title = {panel.title: panel for panel in drawn}
    copies = by_title["Copies that serve"]
    reserved = by_title["Reserved by components (%)"].curves["GPUs"]

    serving = [each for each in copies.curves["copies"] if each is not None]
    assert min(serving) == 1
    assert max(serving) == 4
    assert copies.levels == {"scaling's least": 1, "scaling's most": 4}
    assert {25, 50, 75, 100} <= {*reserved}


def test_latency_is_drawn_in_milliseconds(drawn: list[Panel]) -> None:
    """
    As the widget's expression makes it of microseconds.
    """
    (panel,) = (each for each in drawn if each.title == "Time to an answer (ms)")
    halves = [each for each in panel.curves["half of answers"] if each is not None]

    assert 1000 < min(halves) < max(halves) < 60_000


def test_it_is_drawn(drawn: list[Panel], tmp_path: Path) -> None:
    """
    And the documentation has it.
    """
    path = tmp_path / "dashboard.png"
    draw(drawn, path)

    assert path.read_bytes().startswith(b"\x89PNG")
    assert (ROOT / "docs" / "dashboard.png").read_bytes().startswith(b"\x89PNG")
    text = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    assert "(dashboard.png)" in text


def test_what_is_not_simulated_has_no_box_and_is_named(drawn: list[Panel]) -> None:
    """
    The rest moves up, in the order of the dashboard.
    """
    shown = filled(drawn)
    rows = [each.place[1] for each in shown]

    assert len(shown) == len(drawn) - 3
    assert all(each.is_text or each.curves for each in shown)
    assert rows == sorted(rows)
    assert set(rows) == {0, 3, 4, 10, 11, 12, 18}
    assert left_out(drawn) == (
        "Left out, since it is not simulated: Alarms, those of scaling among them (the "
        "states of 8 alarms); Instances: CPU, memory and disk (%) (CPU, memory, disk); "
        "CPU and memory (%) (CPU, memory)"
    )
    assert left_out(shown) == ""


def test_a_curve_is_missing_where_one_of_its_metrics_is() -> None:
    """
    A quotient of two needs both.
    """
    rows: list[list[Any]] = [
        [{"expression": "m0 / d0", "id": "e0", "label": "copies"}],
        ["N", "A", "D", "x", {"id": "m0", "stat": "Sum", "visible": False}],
        ["N", "B", "D", "x", {"id": "d0", "stat": "Sum", "visible": False}],
        ["N", "A", "D", "x", {"label": "all", "stat": "Sum"}],
    ]
    first = MetricQuery(Metric.of("N", "A", {"D": "x"}), "Sum", 60)
    second = MetricQuery(Metric.of("N", "B", {"D": "x"}), "Sum", 60)
    one: dict[MetricQuery, Values] = {first: [4.0, None, 6.0]}
    both: dict[MetricQuery, Values] = {**one, second: [2.0, 1.0, 0.0]}

    assert curves_of(rows, one) == {"copies": None, "all": [4.0, None, 6.0]}
    assert curves_of(rows, both)["copies"] == [2.0, None, None]


def test_a_percentile_that_is_not_simulated_is_named() -> None:
    """
    A run keeps single values of latencies alone.
    """
    rows = [["N", "Invocations", "D", "x", {"label": "some", "stat": "p99"}]]

    assert curves_of(rows, {}) == {"some": None}


@pytest.mark.parametrize("count", [0, 2])
def test_a_template_of_another_number_of_dashboards_is_refused(
    tmp_path: Path, count: int
) -> None:
    """
    Which of them should be drawn?
    """
    one = {"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardBody": "{}"}}
    path = tmp_path / "template.json"
    path.write_text(json.dumps({"Resources": {str(n): one for n in range(count)}}))

    with pytest.raises(ValueError, match=f"must have one dashboard, got {count}"):
        body_in(path)


def test_what_is_not_understood_is_named(tmp_path: Path) -> None:
    """
    A new intrinsic function is not drawn as a name.
    """
    body = {"Fn::Sub": "{}"}
    one = {"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardBody": body}}
    path = tmp_path / "template.json"
    path.write_text(json.dumps({"Resources": {"It": one}}))

    with pytest.raises(ValueError, match="which is not understood"):
        body_in(path)


def test_nothing_is_drawn_of_an_empty_page() -> None:
    """
    There are no panels.
    """
    assert list(panels_of({"widgets": []}, {})) == []
