"""
Runs for the terminal: tables by time, small curves, the log, and the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from cdk_sagemaker_llm.cli.app.playing import VariantResult
from cdk_sagemaker_llm.cli.output.plans import plain_console
from cdk_sagemaker_llm.cli.output.prices import Prices, dollars
from cdk_sagemaker_llm.cli.output.runs import (
    ALL_MODELS,
    HEADS,
    NOT_SCALED,
    Event,
    Run,
    all_costs,
    costs,
    events_of,
    figures,
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
from cdk_sagemaker_llm.simulation.report import moment

_BARS = " ▁▂▃▄▅▆▇█"
_CELLS = 60
_MOST_EVENTS = 40
_ESTIMATED = (
    "latencies, the line and what is lost are ESTIMATES: no service times were "
    "measured (--service-times)"
)


def show(run: Run, prices: Prices) -> None:
    console = plain_console()
    for result in run.results:
        _show_variant(console, result, prices)
    if len(run.results) > 1:
        cost = dollars(all_costs(run, prices), prices.mark(kinds_of([run])))
        console.print(
            f"US dollars of all endpoints and variants: {cost}", highlight=False
        )
    console.print(prices.explain(kinds_of([run])))
    _show_left_out(console, run)


def show_compared(runs: Sequence[Run], prices: Prices) -> None:
    """
    Print runs side by side, then the report of each.
    """
    console = plain_console()
    for one in side_by_side(runs, prices):
        console.print(one.endpoint, style="bold")
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for run in runs:
            table.add_column(run.name, justify="right")
        table.add_row("", *one.models, style="bold")
        for row in one.rows:
            table.add_row(*row)
        console.print(table)
        console.print()
    console.print(prices.explain(kinds_of(runs)))
    for run in runs:
        for result in run.results:
            console.print(f"\n{run.name}", style="bold")
            for model in result.outcome.workloads:
                _estimate(console, result, model)
                _curves(console, result, model)
            _report(console, result)
        _show_left_out(console, run)


def _show_variant(console: Console, result: VariantResult, prices: Prices) -> None:
    hosted = result.hosted
    kinds = " or ".join(pool.instance_type for pool in hosted.pools)
    console.print(
        f"{hosted.endpoint} ({hosted.variant}): {hosted.instances} x {kinds}, "
        f"{hosted.minimum} to {hosted.maximum}",
        style="bold",
    )
    console.print(start_of(result))
    for model, words in result.traffic.items():
        console.print(f"traffic of {model}: {words}")
        _estimate(console, result, model)
        table = Table(box=None, pad_edge=False)
        for name in HEADS:
            table.add_column(name, justify="right")
        for row in rows_of(result, model):
            table.add_row(*row)
        console.print(table)
        _curves(console, result, model)
        console.print(_totals(figures(result, model, prices)))
        console.print()
    if shares(result.outcome.workloads):
        console.print(ALL_MODELS, style="bold")
        console.print(_totals(costs(result, prices)))
        console.print()
    _log(console, result)
    _report(console, result)


def _estimate(console: Console, result: VariantResult, model: str) -> None:
    if is_estimated(result, model):
        console.print(_ESTIMATED)


def _curves(console: Console, result: VariantResult, model: str) -> None:
    series = result.outcome.workloads[model]
    latencies = [value or 0.0 for value in series.latency_p95]
    for name, numbers in (
        ("requests/min", series.arrived),
        ("copies", series.copies),
        ("instances", instances_of(result)),
        ("in line", series.waiting),
        ("p95 s", latencies),
        ("lost", lost(series)),
    ):
        if any(numbers):
            line = f"{name:>12} {_sparkline(numbers)} up to {max(numbers):.4g}"
            console.print(line)


def _sparkline(numbers: Sequence[float], cells: int = _CELLS) -> str:
    count = min(cells, len(numbers))
    most = max(numbers, default=0.0)
    bars = []
    for cell in range(count):
        begin, end = (round(n * len(numbers) / count) for n in (cell, cell + 1))
        highest = max(numbers[begin:end])
        level = -(-highest * (len(_BARS) - 1) // most) if most else 0
        bars.append(_BARS[int(level)])
    return "".join(bars)


def _totals(numbers: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("what")
    table.add_column("value", justify="right")
    for name, value in numbers:
        table.add_row(name, value)
    return table


def _log(console: Console, result: VariantResult) -> None:
    found = events_of(result)
    events = list(_told_once(found))
    if not events:
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("time", justify="right")
    for name in ("what", "from", "to", "why"):
        table.add_column(name, justify="right" if name in {"from", "to"} else "left")
    for event in events[:_MOST_EVENTS]:
        table.add_row(
            moment(event.time),
            event.what,
            str(event.before),
            str(event.after),
            event.why,
        )
    console.print(table)
    more = len(found) - len(events[:_MOST_EVENTS])
    if more:
        console.print(f"and {more} more; --json has them all")
    console.print()


def _told_once(events: Sequence[Event]) -> Iterator[Event]:
    reasons = set()
    for event in events:
        key = (event.what, event.why)
        if event.what.startswith(NOT_SCALED):
            if key in reasons:
                continue
            reasons.add(key)
        yield event


def _report(console: Console, result: VariantResult) -> None:
    for section in sections_of(result):
        console.print(section.title, style="bold")
        for sentence in section.sentences:
            console.print(f"  - {sentence}")


def _show_left_out(console: Console, run: Run) -> None:
    if run.left_out:
        console.print("Not simulated", style="bold")
        for one in run.left_out:
            console.print(f"  - {one}")
