"""
Runs in files: JSON, CSV with a line for each minute, a picture, and a web page.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.cli.app.playing import VariantResult
from cdk_sagemaker_llm.cli.output.prices import Prices
from cdk_sagemaker_llm.cli.output.runs import (
    ALL_MODELS,
    HEADS,
    Run,
    all_costs,
    cost_of,
    costs,
    events_of,
    figures,
    figures_of,
    instances_of,
    is_estimated,
    kinds_of,
    lost,
    rows_of,
    sections_of,
    shares,
    side_by_side,
    start_of,
)
from cdk_sagemaker_llm.pages import Curve, Panel, bullets, chart, page, table
from cdk_sagemaker_llm.simulation.outcome import Series
from cdk_sagemaker_llm.simulation.report import moment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = (
    "arrived",
    "served",
    "timed_out",
    "waiting",
    "concurrency",
    "copies",
    "desired",
    "latency_mean",
    "latency_p50",
    "latency_p95",
    "latency_p99",
)
_HOUR = 60
_DAY = 24 * _HOUR
_IN_ALL = ("in all", "value")
_LOG = ("time", "what", "from", "to", "why")
_SINCE = "hours and minutes since the start"
_STYLES = ("-", "--", ":", "-.")
# What is drawn in seconds, and well within the pixels that a format can have.
_MOST_MODELS = 24


def facts_of(runs: Sequence[Run], prices: Prices) -> dict[str, Any]:
    """
    Return all there is of the runs, for JSON.
    """
    return {
        "runs": [
            {
                "name": run.name,
                "variants": [_variant_facts(result, prices) for result in run.results],
                "usd": all_costs(run, prices),
                "not_simulated": list(run.left_out),
            }
            for run in runs
        ],
        "prices": {kind: prices.facts(kind) for kind in kinds_of(runs)},
    }


def csv_of(runs: Sequence[Run]) -> str:
    """
    Return a line for each minute of each model.
    """
    rows = [row for run in runs for result in run.results for row in _rows(run, result)]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _variant_facts(result: VariantResult, prices: Prices) -> dict[str, Any]:
    outcome, hosted = result.outcome, result.hosted
    begin = outcome.start.timestamp()
    return {
        "endpoint": hosted.endpoint,
        "variant": hosted.variant,
        "instance_types": [pool.instance_type for pool in hosted.pools],
        "method": outcome.method,
        "start": outcome.start.isoformat(),
        "duration_seconds": outcome.duration,
        "seed": result.scenario.seed,
        "models": {
            name: {
                "traffic": result.traffic[name],
                "is_estimate": is_estimated(result, name),
                "figures": figures_of(result, name),
                # What is not by the minute is among the figures.
                "minutes": _minutes(series),
                "activities": [
                    {**asdict(one), "time": one.time - begin}
                    for one in outcome.activities.get(name, ())
                ],
            }
            for name, series in outcome.workloads.items()
        },
        "instances": {kind: list(each) for kind, each in outcome.instances.items()},
        "instance_hours": dict(outcome.instance_hours),
        "usd": cost_of(result, prices),
        "steps": [asdict(event) for event in events_of(result)],
        "report": [
            {"title": section.title, "sentences": list(section.sentences)}
            for section in sections_of(result)
        ],
    }


def _minutes(series: Series) -> dict[str, Any]:
    return asdict(
        replace(series, latencies=None, firsts=None), dict_factory=_without_none
    )


def _without_none(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if value is not None}


def _rows(run: Run, result: VariantResult) -> Iterator[dict[str, object]]:
    instances = instances_of(result)
    for name, series in result.outcome.workloads.items():
        for minute in range(len(series.arrived)):
            time = result.outcome.start + timedelta(minutes=minute)
            yield {
                "run": run.name,
                "endpoint": result.hosted.endpoint,
                "variant": result.hosted.variant,
                "model": name,
                "time": time.isoformat(),
                **{
                    column: _cell(getattr(series, column)[minute])
                    for column in _COLUMNS
                },
                **{
                    f"refused_{why.replace(' ', '_')}": _cell(numbers[minute])
                    for why, numbers in series.refused.items()
                },
                "instances": _cell(instances[minute] if instances else None),
            }


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def draw(runs: Sequence[Run], path: Path) -> None:
    """
    Draw runs into a file, whose ending chooses the format; several share their axes.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    panels = [
        (position, place, model)
        for position, result in enumerate(runs[0].results)
        for place, model in enumerate(result.outcome.workloads)
    ]
    if len(panels) > _MOST_MODELS:
        raise ValueError(
            f"--png has room for {_MOST_MODELS} models, got {len(panels)}; choose an "
            "endpoint with --endpoint, or draw them with --html"
        )
    figure = Figure(figsize=(11, 8.5 * len(panels)), layout="constrained")
    axes = figure.subplots(4 * len(panels), 1, sharex=True, squeeze=False)
    for number, (position, place, model) in enumerate(panels):
        rows = [row[0] for row in axes[4 * number : 4 * number + 4]]
        rows[0].set_title(f"{runs[0].results[position].hosted.endpoint}: {model}")
        for run, style in zip(runs, _STYLES * len(runs), strict=False):
            # Another app has other names for the same: places tell what is compared.
            result = run.results[position] if position < len(run.results) else None
            models = list(result.outcome.workloads) if result else []
            if result is not None and place < len(models):
                name = run.name if len(runs) > 1 else ""
                _draw_one(rows, name, result, models[place], style)
    for row in axes[:, 0]:
        row.set_ylim(0, max(row.get_ylim()[1], 1.0))
        row.grid(alpha=0.3)
        row.legend(
            loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small"
        )
    axes[-1][0].set_xlabel("minutes since the start")
    figure.savefig(path)


def panels_of(result: VariantResult, model: str) -> Iterator[tuple[str, list[Curve]]]:
    """
    Return what belongs into one panel each: its unit, and the curves.
    """
    series = result.outcome.workloads[model]
    yield "requests a minute", [("arrived", series.arrived), ("lost", lost(series))]
    curves: list[Curve] = [
        ("copies wanted", _since(series.desired)),
        ("copies that serve", _since(series.copies)),
    ]
    instances = instances_of(result)
    if instances:
        curves.append(("instances that run", _since(instances)))
    yield "copies and instances", curves
    estimate = ", estimated" if is_estimated(result, model) else ""
    yield f"requests in line{estimate}", [("in line", _since(series.waiting))]
    yield (
        f"seconds to an answer{estimate}",
        [("p50", series.latency_p50), ("p95", series.latency_p95)],
    )


def _since(numbers: Sequence[float]) -> list[float]:
    """
    Turn what there is at the end of each minute into what there is from its start on.
    """
    return [*numbers[:1], *numbers[:-1]]


def _draw_one(
    rows: Sequence[Axes],
    run: str,
    result: VariantResult,
    model: str,
    style: str,
) -> None:
    for row, (unit, curves) in zip(rows, panels_of(result, model), strict=True):
        row.set_ylabel(unit.replace(", ", ",\n"))
        for colour, (name, numbers) in enumerate(curves):
            label = f"{name}, {run}" if run else name
            values = [float("nan") if each is None else each for each in numbers]
            row.step(
                range(len(values)),
                values,
                style,
                where="post",
                label=label,
                color=f"C{colour}",
            )


def page_of(runs: Sequence[Run], prices: Prices) -> str:
    parts = [] if len(runs) == 1 else list(_compared(runs, prices))
    for run in runs:
        name = "" if len(runs) == 1 else f"{run.name}: "
        parts.append("<section>\n")
        parts += [_variant_page(name, result, prices) for result in run.results]
        if run.left_out:
            words = f"{name}what is not simulated" if name else "Not simulated"
            parts.append(f"<h2>{escape(words)}</h2>\n{bullets(run.left_out)}")
        parts.append("</section>\n")
    return page("What scaling will do", "".join(parts))


def _compared(runs: Sequence[Run], prices: Prices) -> Iterator[str]:
    names = [run.name for run in runs]
    for one in side_by_side(runs, prices):
        rows = [("model", *one.models), *one.rows]
        label = f"{one.endpoint}: {', '.join(filter(None, one.models))} side by side"
        yield f"<h2>{escape(one.endpoint)}</h2>\n"
        yield table(label, ("in all", *names), rows)
    yield _origin(kinds_of(runs), prices)


def _origin(kinds: Iterable[str], prices: Prices) -> str:
    return f"<p>{escape(prices.explain(kinds))}</p>\n"


def _variant_page(run: str, result: VariantResult, prices: Prices) -> str:
    hosted = result.hosted
    kinds = " or ".join(pool.instance_type for pool in hosted.pools)
    name = f"{run}{hosted.endpoint} ({hosted.variant})"
    parts = [
        f"<h2>{escape(name)}: {escape(kinds)}</h2>\n<p>{escape(start_of(result))}</p>\n"
    ]
    parts += [
        _model_page(f"{name}, {model}", result, model, prices)
        for model in result.outcome.workloads
    ]
    if shares(result.outcome.workloads):
        parts.append(f"<h3>{ALL_MODELS}</h3>\n")
        spent = list(costs(result, prices))
        parts.append(table(f"{name}, {ALL_MODELS}: in all", _IN_ALL, spent))
    parts.append(_origin(result.outcome.instance_hours, prices))
    parts += [
        f"<h3>{escape(section.title)}</h3>\n{bullets(section.sentences)}"
        for section in sections_of(result)
    ]
    rows = [
        (moment(one.time), one.what, str(one.before), str(one.after), one.why)
        for one in events_of(result)
    ]
    parts.append(f"<h3>Log</h3>\n{table(f'{name}: log', _LOG, rows)}")
    return "".join(parts)


def _model_page(name: str, result: VariantResult, model: str, prices: Prices) -> str:
    charts = ""
    for unit, curves in panels_of(result, model):
        minutes = len(curves[0][1])
        xs = [60.0 * minute for minute in range(minutes)]
        charts += chart(Panel(unit, curves, xs, _SINCE, 60.0 * minutes, _clock))
    return (
        f"<h3>{escape(f'{model}: {result.traffic[model]}')}</h3>\n{charts}"
        f"{table(f'{name}: in all', _IN_ALL, list(figures(result, model, prices)))}"
        f"{table(f'{name}: by time', HEADS, rows_of(result, model))}"
    )


def _clock(seconds: float) -> str:
    days, minutes = divmod(round(seconds / 60), _DAY)
    clock = f"{minutes // _HOUR}:{minutes % _HOUR:02}"
    return f"day {days + 1}, {clock}" if days else clock
