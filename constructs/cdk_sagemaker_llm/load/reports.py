"""
Pictures and pages of results: of a run its course and the percentiles, of a benchmark
what follows the number of users, and what it says.

A page is one file, with nothing loaded from elsewhere.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from cdk_sagemaker_llm.load.benchmark import BENCHMARK_HEADS, Benchmark, Row
from cdk_sagemaker_llm.load.reading import Reading
from cdk_sagemaker_llm.load.result import RUN_HEADS, LoadResult, asked_of
from cdk_sagemaker_llm.pages import (
    Curve,
    Panel,
    bullets,
    chart,
    numbers,
    page,
    table,
)
from cdk_sagemaker_llm.text import counted

_TIMES = (
    ("latency p50", "latency", "p50"),
    ("latency p95", "latency", "p95"),
    ("time to first token p50", "first_token", "p50"),
)

_STYLES = ("-", "--", ":")
# So few points are measurements, each worth a dot.
_FEW = 24
# What a line of a title has room for.
_LETTERS = 130


def draw(result: LoadResult, path: Path) -> None:
    """
    Draw a run into a file, whose ending chooses the format.
    """
    title = f"{result.settings.endpoint}: {_introduction(result)}"
    _draw_panels(title, panels_of(result), path)


def draw_benchmark(benchmark: Benchmark, path: Path) -> None:
    """
    Draw a benchmark into a file, likewise.
    """
    # A sentence a line, as the picture is no wider.
    request = _request(benchmark).replace(". ", ".\n")
    title = f"Benchmark of {benchmark.endpoint}\n{request}"
    _draw_panels(title, panels_of_benchmark(benchmark.rows), path)


def _draw_panels(title: str, panels: Sequence[Panel], path: Path) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    figure = Figure(figsize=(10, 2.4 * len(panels)), layout="constrained")
    lines = [textwrap.fill(line, _LETTERS) for line in title.splitlines()]
    figure.suptitle("\n".join(lines), fontsize="medium")
    rows = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for row, panel in zip(rows, panels, strict=True):
        marker = "." if len(panel.xs) <= _FEW else ""
        for (name, ys), style in zip(panel.curves, _STYLES, strict=False):
            values = [float("nan") if each is None else each for each in ys]
            row.plot(panel.xs, values, style, marker=marker, label=name)
        row.set_ylabel(panel.unit.replace(", ", ",\n"))
        row.set_xlabel(panel.x_unit)
        row.set_ylim(0, 1.05 * row.get_ylim()[1])
        row.set_xlim(0, max(*panel.xs, 1.0))
        row.grid(alpha=0.3)
        row.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    figure.savefig(path)


def page_of(result: LoadResult) -> str:
    charts = "".join(chart(panel) + numbers(panel) for panel in panels_of(result))
    body = (
        f"<p>{escape(_introduction(result))}</p>\n"
        f"{table('figures', ('figure', 'value'), result.rows())}"
        "<h2>How long it takes</h2>\n"
        f"{table('how long it takes', RUN_HEADS, result.distribution_rows())}"
        f"<h2>To know</h2>\n{bullets(result.remarks())}"
        f"<h2>Its course</h2>\n{charts}"
    )
    return page(f"Load test of {result.settings.endpoint}", body)


def panels_of(result: LoadResult) -> list[Panel]:
    """
    Return what belongs into one panel each: the course first, then the percentiles.
    """
    # What is left of a second at the end would look like a fall.
    whole = math.floor(result.end - result.begin + 0.01)
    course = result.seconds[:whole] or result.seconds
    xs = [float(one.second) for one in course]
    latencies: list[Curve] = [("latency", [one.latency for one in course])]
    if any(one.first_token is not None for one in course):
        firsts = [one.first_token for one in course]
        latencies.append(("time to first token", firsts))
    ended: list[Curve] = [
        ("ended well", [one.requests for one in course]),
        ("failed", [one.failures for one in course]),
    ]
    by_unit: list[tuple[str, list[Curve]]] = [
        ("requests a second", ended),
        ("tokens a second", [("tokens", [one.tokens for one in course])]),
        ("requests under way", [("under way", [one.in_flight for one in course])]),
        ("seconds, median of each second", latencies),
    ]
    since = "seconds since the beginning"
    panels = [Panel(unit, curves, xs, since) for unit, curves in by_unit]
    return [*panels, _percentiles(result)]


def page_of_benchmark(benchmark: Benchmark, reading: Reading) -> str:
    """
    Write the page of a benchmark, with what it says.
    """
    charts = "".join(
        chart(panel) + numbers(panel) for panel in panels_of_benchmark(benchmark.rows)
    )
    remarks = benchmark.remarks()
    # The marks of code are for Markdown.
    sentences = [sentence.replace("`", "") for sentence in reading.sentences()]
    body = (
        f"<p>{escape(_request(benchmark))}</p>\n"
        f"{table('benchmark', BENCHMARK_HEADS, benchmark.table())}"
        f"<h2>What it says</h2>\n{bullets(sentences)}"
        f"<h2>Over users</h2>\n{charts}"
        + (f"<h2>To know</h2>\n{bullets(remarks)}" if remarks else "")
    )
    return page(f"Benchmark of {benchmark.endpoint}", body)


def _request(benchmark: Benchmark) -> str:
    request = asked_of([row.facts for row in benchmark.rows])
    return f"{request} Begun {benchmark.began}."


def panels_of_benchmark(rows: Sequence[Row]) -> list[Panel]:
    """
    Return what belongs into one panel each, over users.
    """
    ordered = sorted(rows, key=lambda row: row.users)
    xs = [float(row.users) for row in ordered]
    rates = [("ended well", [row.rate.value for row in ordered])]
    tokens = [row.facts["figures"]["tokens_per_second"] for row in ordered]
    times: list[Curve] = []
    for name, kind, percentile in _TIMES:
        found = [row.facts["figures"][kind] for row in ordered]
        values = [None if one is None else float(one[percentile]) for one in found]
        if any(values):
            times.append((name, values))
    by_unit: list[tuple[str, Sequence[Curve]]] = [
        ("requests a second", rates),
        ("seconds", times),
        ("tokens a second", [("tokens", tokens)]),
    ]
    return [
        Panel(unit, curves, xs, "concurrent users")
        for unit, curves in by_unit
        if curves
    ]


def _introduction(result: LoadResult) -> str:
    settings = result.settings
    load = (
        f"{len(settings.trace)} requests of a trace"
        if settings.trace
        else counted(settings.user_count, "user")
        if settings.user_count
        else f"{settings.arrival_rate:g} requests a second arriving at random"
    )
    how = "token by token" if settings.is_streamed else "whole answers"
    began = datetime.fromtimestamp(result.begin, UTC)
    return (
        f"{load}, {how}, measured for {result.end - result.begin:.0f} s from "
        f"{began:%Y-%m-%d %H:%M:%S} UTC on."
    )


def _percentiles(result: LoadResult) -> Panel:
    shares = [float(share) for share in range(101)]
    good = [
        one
        for one in result.measured.records
        if one.is_success and result.begin <= one.start < result.end
    ]
    firsts = [one.first_token for one in good if one.first_token is not None]
    curves: list[Curve] = [("latency", _at_each([one.latency for one in good]))]
    if firsts:
        curves.append(("time to first token", _at_each(firsts)))
    return Panel(
        "seconds at most", curves, shares, "percentile of the requests that ended well"
    )


def _at_each(seconds: Sequence[float]) -> list[float | None]:
    found = sorted(seconds)
    if not found:
        return [None] * 101
    return [found[max(0, -(-len(found) * share // 100) - 1)] for share in range(101)]
