"""
Widgets of a dashboard, as CloudWatch reads them.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cdk_sagemaker_llm.catalog.metrics import published_metric
from cdk_sagemaker_llm.hosting.monitoring.charts import Chart, Curve, Level

Widget = dict[str, Any]
_MINUTE = 60
COLUMNS = 24
WIDTH, HEIGHT = 6, 6
_MOST_ALARMS = 100
# CloudWatch takes 500 metrics a widget, and who reads it far fewer.
_MOST_LINES = 50
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """
    The subject of a chart; the label is for charts in which it has one curve.
    """

    dimensions: Mapping[str, str]
    region: str
    label: str = ""


def text(markdown: str, *, height: int = 1) -> Widget:
    """
    Make a widget of text, over the whole width.
    """
    return {
        "type": "text",
        "width": COLUMNS,
        "height": height,
        "properties": {"markdown": markdown},
    }


def alarm_states(arns: Sequence[str]) -> list[Widget]:
    """
    Make widgets of the states of alarms.
    """
    return [
        {
            "type": "alarm",
            "width": COLUMNS,
            "height": 2 + len(some) // 8,
            "properties": {
                "title": "Alarms, those of scaling among them",
                "alarms": list(some),
            },
        }
        for some in parts_of(arns, _MOST_ALARMS)
    ]


def graph(
    title: str,
    rows: Sequence[list[Any]],
    region: str,
    *,
    lines: Sequence[Level] = (),
    most: int | None = None,
) -> Widget:
    """
    Make a widget of curves, with levels, and an axis up to ``most``.
    """
    axis: dict[str, Any] = {"min": 0, "showUnits": False}
    properties: dict[str, Any] = {
        "title": title,
        "view": "timeSeries",
        "stacked": False,
        "region": region,
        "period": _MINUTE,
        "metrics": list(rows),
        "yAxis": {"left": axis if most is None else {**axis, "max": most}},
    }
    if lines:
        levels = [{"label": line.label, "value": line.value} for line in lines]
        properties["annotations"] = {"horizontal": levels}
    return {
        "type": "metric",
        "width": WIDTH,
        "height": HEIGHT,
        "properties": properties,
    }


def charts_of_all(chart: Chart, models: Sequence[Drawn]) -> list[Widget]:
    """
    Draw a chart in which each model has a line.
    """
    (curve,) = chart.curves
    return [
        graph(
            chart.title,
            rows_of([(replace(curve, label=each.label), each) for each in some]),
            some[0].region,
        )
        for some in parts_of(models, _MOST_LINES)
    ]


def parts_of(things: Sequence[T], most: int) -> list[Sequence[T]]:
    """
    Divide things into parts of so many at most.
    """
    return [things[i : i + most] for i in range(0, len(things), most)]


def rows_of(curves: Sequence[tuple[Curve, Drawn]]) -> list[list[Any]]:
    """
    Write curves as the metrics and expressions that they are drawn from.
    """
    return [
        row
        for number, (curve, drawn) in enumerate(curves)
        for row in _rows(curve, drawn, number)
    ]


def _rows(curve: Curve, drawn: Drawn, number: int) -> Iterator[list[Any]]:
    options: dict[str, Any] = {"stat": curve.statistic}
    divisor = curve.divided_by
    if divisor is None:
        yield _metric(curve.metric, drawn, {**options, "label": curve.label})
        return
    over = f"d{number}" if isinstance(divisor, str) else str(divisor)
    expression = {
        "expression": f"m{number} / {over}",
        "id": f"e{number}",
        "label": curve.label,
    }
    yield [expression]
    hidden = {**options, "visible": False}
    yield _metric(curve.metric, drawn, {**hidden, "id": f"m{number}"})
    if isinstance(divisor, str):
        yield _metric(divisor, drawn, {**hidden, "id": over})


def _metric(name: str, drawn: Drawn, options: Mapping[str, Any]) -> list[Any]:
    row = published_metric(name, tuple(drawn.dimensions))
    dimensions = [part for pair in drawn.dimensions.items() for part in pair]
    return [row.namespace, row.name, *dimensions, dict(options)]


def placed(widgets: Sequence[Widget]) -> list[Widget]:
    """
    Give widgets their places, row by row.
    """
    found, x, y, tallest = [], 0, 0, 0
    for widget in widgets:
        if x + widget["width"] > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        found.append({"type": widget["type"], "x": x, "y": y, **widget})
        x += widget["width"]
        tallest = max(tallest, widget["height"])
    return found
