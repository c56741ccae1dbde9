"""
Draw ``docs/dashboard.png``, the example's dashboard as a simulated day fills it:
``python -m tools.dashboard``.

What belongs here reads the dashboard's body out of the template, and computes nothing
of time: what happens in the day is the simulation's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cdk_sagemaker_llm.cli.app.playing import RunSettings, VariantResult
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings
from cdk_sagemaker_llm.cli.commands._runs import Subject
from cdk_sagemaker_llm.simulation.metric_math import evaluate, names_in
from cdk_sagemaker_llm.simulation.metrics import (
    LATENCIES,
    STATISTICS,
    Metric,
    MetricQuery,
)
from cdk_sagemaker_llm.simulation.running import run

_ENDING = ".template.json"
_KIND = "AWS::CloudWatch::Dashboard"
Values = Sequence[float | None]
Known = Mapping[MetricQuery, Values]
_MINUTE = 60
# What has no value while nothing of it happens.
_EVENTS = frozenset({"NoCapacityInvocationFailures"})
_COLUMNS = 24
_INCHES = 0.72
_HOUR = 60
ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "dashboard" / "app.py"
TARGET = ROOT / "docs" / "dashboard.png"
_DAY = 24 * 60 * 60.0


def body_in(template: Path) -> dict[str, Any]:
    """
    Read the body of a template's only dashboard.

    A name that is known only at deployment is its resource's stack and logical id, as
    the simulation calls it.
    """
    resources = json.loads(template.read_text(encoding="utf-8"))["Resources"].values()
    found = [each["Properties"] for each in resources if each["Type"] == _KIND]
    if len(found) != 1:
        raise ValueError(f"{template} must have one dashboard, got {len(found)}")
    body: dict[str, Any] = json.loads(_text(found[0]["DashboardBody"], template))
    return body


def _text(value: str | Mapping[str, Any], template: Path) -> str:
    match value:
        case str():
            return value
        case {"Fn::Join": [str(between), parts]}:
            return between.join(_text(part, template) for part in parts)
        case {"Fn::Select": [_, {"Fn::Split": [_, inner]}]}:
            return _text(inner, template)
        case {"Fn::GetAtt": [str(name), _]} | {"Ref": str(name)}:
            return f"{template.name.removesuffix(_ENDING)}/{name}"
    raise ValueError(f"a dashboard's body has {value!r}, which is not understood")


def query_of(row: Sequence[Any]) -> MetricQuery | None:
    """
    Return what a widget's row reads; ``None`` for what the simulation cannot.
    """
    *names, options = row
    if not names:
        return None
    namespace, name, *dimensions = names
    statistic = options["stat"]
    if statistic not in STATISTICS and name not in LATENCIES:
        return None
    by_name = dict(zip(dimensions[::2], dimensions[1::2], strict=True))
    return MetricQuery(Metric.of(namespace, name, by_name), statistic, _MINUTE)


def simulated(
    results: Sequence[VariantResult], widgets: Iterable[Mapping[str, Any]]
) -> dict[MetricQuery, Values]:
    """
    Play each variant again, watched by a dashboard's widgets.
    """
    rows = (row for each in widgets for row in each["properties"].get("metrics", ()))
    queries = tuple(dict.fromkeys(filter(None, map(query_of, rows))))
    found: dict[MetricQuery, Values] = {}
    for each in results:
        outcome = run(replace(each.scenario, watched=queries))
        for query, values in outcome.watched.items():
            has_some = any(value is not None for value in values)
            if has_some or query.metric.name in _EVENTS:
                found[query] = values
    return found


def curves_of(rows: Sequence[Sequence[Any]], known: Known) -> dict[str, Values | None]:
    """
    Return what a widget shows, by label; ``None`` for what is not simulated.
    """
    by_id = {row[-1]["id"]: _read(row, known) for row in rows if "id" in row[-1]}
    found: dict[str, Values | None] = {}
    for row in rows:
        options = row[-1]
        if options.get("visible", True):
            is_metric = len(row) > 1
            values = _read(row, known) if is_metric else _computed(options, by_id)
            found[options["label"]] = values
    return found


def _read(row: Sequence[Any], known: Known) -> Values | None:
    query = query_of(row)
    return None if query is None else known.get(query)


def _computed(
    options: Mapping[str, Any], by_id: Mapping[str, Values | None]
) -> Values | None:
    expression = options["expression"]
    used = {name: by_id.get(name) for name in names_in(expression)}
    inputs = {name: values for name, values in used.items() if values is not None}
    if len(inputs) < len(used):
        return None
    minutes = zip(*inputs.values(), strict=True)
    return [
        evaluate(expression, dict(zip(inputs, minute, strict=True)))
        for minute in minutes
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """
    One widget, as it is drawn.

    Args:
        place: Its first column and row, its width and its height.

        title: Its title; for text, what it says.

        curves: What is drawn, by label.

        missing: What is named, and not drawn.

        levels: The lines in it, by label.

        is_text: Whether it is text alone.
    """

    place: tuple[int, int, int, int]
    title: str
    curves: Mapping[str, Values]
    missing: tuple[str, ...]
    levels: Mapping[str, float]
    is_text: bool = False


def panels_of(body: Mapping[str, Any], known: Known) -> Iterator[Panel]:
    """
    Yield every widget of a dashboard.
    """
    for widget in body["widgets"]:
        place = (widget["x"], widget["y"], widget["width"], widget["height"])
        properties = widget["properties"]
        curves = curves_of(properties.get("metrics", ()), known)
        levels = properties.get("annotations", {}).get("horizontal", ())
        missing = [label for label, values in curves.items() if values is None]
        if widget["type"] == "alarm":
            missing = [f"the states of {len(properties['alarms'])} alarms"]
        yield Panel(
            place=place,
            title=properties.get("title", properties.get("markdown", "")),
            curves={k: v for k, v in curves.items() if v is not None},
            missing=tuple(missing),
            levels={each["label"]: each["value"] for each in levels},
            is_text=widget["type"] == "text",
        )


def filled(panels: Sequence[Panel]) -> list[Panel]:
    """
    Return the panels that have something to show, moved up where a row has none.
    """
    found, top = [], 0
    for _, group in groupby(panels, key=lambda panel: panel.place[1]):
        row = [each for each in group if each.is_text or each.curves]
        found += [
            replace(each, place=(each.place[0], top, *each.place[2:])) for each in row
        ]
        top += max((each.place[3] for each in row), default=0)
    return found


def left_out(panels: Sequence[Panel]) -> str:
    """
    Say in a line what is in the dashboard and not in the picture.
    """
    names = [
        f"{each.title} ({', '.join(each.missing)})" for each in panels if each.missing
    ]
    return f"Left out, since it is not simulated: {'; '.join(names)}" if names else ""


def draw(panels: Sequence[Panel], path: Path) -> None:
    """
    Draw panels into a file, whose ending chooses the format.
    """
    shown = filled(panels)
    rows = max(panel.place[1] + panel.place[3] for panel in shown) + 1
    figure = Figure(figsize=(_COLUMNS * _INCHES, rows * _INCHES / 1.3), dpi=80)
    figure.text(0.55 / _COLUMNS, 0.4 / rows, left_out(panels), size=9, color="grey")
    for panel in shown:
        x, y, width, height = panel.place
        axes = figure.add_axes(
            (
                (x + 0.55) / _COLUMNS,
                1 - (y + height - (0 if panel.is_text else 0.9)) / rows,
                (width - 0.8) / _COLUMNS,
                (height - (0 if panel.is_text else 1.6)) / rows,
            )
        )
        if panel.is_text:
            _write(axes, panel.title)
        else:
            _draw_one(axes, panel)
    figure.savefig(path)


def _write(axes: Axes, markdown: str) -> None:
    axes.axis("off")
    head, _, rest = markdown.partition("\n")
    level = len(head) - len(head.lstrip("#"))
    if level:
        size = 19 - 3 * level
        axes.text(0, 0.8, head.lstrip("# "), size=size, weight="bold", va="top")
    else:
        rest = markdown
    # A dollar is no formula.
    axes.text(0, 0.5, textwrap.fill(rest, 190), size=9, va="top", parse_math=False)


def _draw_one(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title, size=9, loc="left")
    axes.tick_params(labelsize=7)
    for number, (label, values) in enumerate(panel.curves.items()):
        numbers = [float("nan") if each is None else each for each in values]
        axes.plot(range(len(numbers)), numbers, label=label, color=f"C{number}", lw=1)
    for label, level in panel.levels.items():
        axes.axhline(level, color="C3", ls="--", lw=1)
        axes.annotate(
            f"{label}: {level:g}", (0, level), size=7, color="C3", va="bottom"
        )
    minutes = max(map(len, panel.curves.values()))
    axes.set_xlim(0, minutes)
    axes.set_xticks(range(0, minutes + 1, 4 * _HOUR))
    axes.set_xticklabels(
        [f"{minute // _HOUR:02}:00" for minute in range(0, minutes + 1, 4 * _HOUR)]
    )
    axes.set_ylim(0, max(axes.get_ylim()[1], *panel.levels.values(), 1) * 1.1)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="best", frameon=False)


def panels(folder: Path) -> list[Panel]:
    """
    Play a day of the example synthesised in a folder: what its dashboard shows then.
    """
    (template,) = folder.glob("*.template.json")
    run = Subject(folder, None, (), None, ()).run(
        RunSettings(traffic=TrafficSettings(shape="day"), duration=_DAY)
    )
    body = body_in(template)
    return list(panels_of(body, simulated(run.results, body["widgets"])))


def main() -> None:
    """
    Draw the picture of the documentation.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CDK_OUTDIR": folder}
        subprocess.run([sys.executable, EXAMPLE], env=environment, check=True)
        draw(panels(Path(folder)), TARGET)


if __name__ == "__main__":
    main()
