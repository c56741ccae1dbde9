"""
Runs as one web page: curves, tables and sentences, with nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from cdk_sagemaker_llm.cli.app.playing import Played
from cdk_sagemaker_llm.cli.output.picture import panels_of
from cdk_sagemaker_llm.cli.output.runs import (
    ALL_MODELS,
    HEADS,
    Prices,
    Run,
    cells,
    costs,
    events_of,
    figures,
    rows_of,
    sections_of,
    shares,
    side_by_side,
    start_of,
)
from cdk_sagemaker_llm.pages.chart import Curve, Panel, chart
from cdk_sagemaker_llm.pages.shell import bullets, page, table
from cdk_sagemaker_llm.simulation.report.sentences import moment

_HOUR = 60
_DAY = 24 * _HOUR
_IN_ALL = ("in all", "value")
_SINCE = "hours and minutes since the start"


def page_of(runs: Sequence[Run], prices: Prices) -> str:
    """
    Write the page.
    """
    is_one = len(runs) == 1
    compared = "" if is_one else "".join(_compared(runs, prices))
    body = compared + "".join(_run(run, prices, not is_one) for run in runs)
    return page("What scaling will do", body)


def _compared(runs: Sequence[Run], prices: Prices) -> Iterator[str]:
    names = [run.name for run in runs]
    for one in side_by_side(runs, prices):
        rows = [("model", *one.models), *one.rows]
        label = f"{one.endpoint}: {', '.join(filter(None, one.models))} side by side"
        yield f"<h2>{escape(one.endpoint)}</h2>\n"
        yield table(label, ("in all", *names), rows)


def _run(run: Run, prices: Prices, is_named: bool) -> str:  # noqa: FBT001 - of several
    name = f"{run.name}: " if is_named else ""
    parts = [_variant(name, played, prices) for played in run.played]
    if run.left_out:
        words = f"{name}what is not simulated" if is_named else "Not simulated"
        parts.append(f"<h2>{escape(words)}</h2>\n{bullets(run.left_out)}")
    return f"<section>\n{''.join(parts)}</section>\n"


def _variant(run: str, played: Played, prices: Prices) -> str:
    hosted = played.hosted
    kinds = " or ".join(pool.instance_type for pool in hosted.pools)
    name = f"{run}{hosted.endpoint} ({hosted.variant})"
    parts = [
        f"<h2>{escape(name)}: {escape(kinds)}</h2>\n<p>{escape(start_of(played))}</p>\n"
    ]
    parts += [
        f"<h3>{escape(section.title)}</h3>\n{bullets(section.sentences)}"
        for section in sections_of(played)
    ]
    for model in played.outcome.workloads:
        parts.append(_model(f"{name}, {model}", played, model, prices))
    if shares(played.outcome.workloads):
        parts.append(f"<h3>{ALL_MODELS}</h3>\n")
        rows = list(costs(played, prices))
        parts.append(table(f"{name}, {ALL_MODELS}: in all", _IN_ALL, rows))
    parts.append(_log(name, played))
    return "".join(parts)


def _model(name: str, played: Played, model: str, prices: Prices) -> str:
    charts = "".join(_chart(*panel) for panel in panels_of(played, model))
    rows = [cells(row) for row in rows_of(played, model)]
    return (
        f"<h3>{escape(f'{model}: {played.traffic[model]}')}</h3>\n{charts}"
        f"{table(f'{name}: in all', _IN_ALL, list(figures(played, model, prices)))}"
        f"{table(f'{name}: by time', HEADS, rows)}"
    )


def _chart(unit: str, curves: Sequence[Curve]) -> str:
    minutes = len(curves[0][1])
    xs = [60.0 * minute for minute in range(minutes)]
    return chart(Panel(unit, curves, xs, _SINCE, 60.0 * minutes, _clock))


def _clock(seconds: float) -> str:
    days, minutes = divmod(round(seconds / 60), _DAY)
    clock = f"{minutes // _HOUR}:{minutes % _HOUR:02}"
    return f"day {days + 1}, {clock}" if days else clock


def _log(name: str, played: Played) -> str:
    rows = [
        (moment(one.time), one.what, str(one.before), str(one.after), one.why)
        for one in events_of(played)
    ]
    heads = ("time", "what", "from", "to", "why")
    return f"<h3>Log</h3>\n{table(f'{name}: log', heads, rows)}"
