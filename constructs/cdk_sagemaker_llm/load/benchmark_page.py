"""
A benchmark as one web page: throughput and latency over users, and what it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cdk_sagemaker_llm.load.benchmark import BENCHMARK_HEADS, Benchmark, Row
from cdk_sagemaker_llm.load.reading import Reading
from cdk_sagemaker_llm.load.result import asked_of
from cdk_sagemaker_llm.pages.chart import Curve, Panel, chart, numbers
from cdk_sagemaker_llm.pages.shell import bullets, page, table

_TIMES = (
    ("latency p50", "latency", "p50"),
    ("latency p95", "latency", "p95"),
    ("time to first token p50", "first_token", "p50"),
)


def page_of_benchmark(benchmark: Benchmark, reading: Reading) -> str:
    """
    Write the page.

    Args:
        benchmark: What was measured.

        reading: What it says.
    """
    charts = "".join(
        chart(panel) + numbers(panel) for panel in panels_of_benchmark(benchmark.rows)
    )
    remarks = benchmark.remarks()
    # The marks of code are for Markdown.
    sentences = [sentence.replace("`", "") for sentence in reading.sentences()]
    body = (
        f"<p>{escape(introduction(benchmark))}</p>\n"
        f"{table('benchmark', BENCHMARK_HEADS, benchmark.table())}"
        f"<h2>What it says</h2>\n{bullets(sentences)}"
        f"<h2>Over users</h2>\n{charts}"
        + (f"<h2>To know</h2>\n{bullets(remarks)}" if remarks else "")
    )
    return page(title_of(benchmark), body)


def title_of(benchmark: Benchmark) -> str:
    """
    Name it.
    """
    return f"Benchmark of {benchmark.endpoint}"


def introduction(benchmark: Benchmark) -> str:
    """
    Say what was asked, and when.
    """
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
    times: list[Curve] = [
        (name, values)
        for name, kind, percentile in _TIMES
        if any(values := [_time(row, kind, percentile) for row in ordered])
    ]
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


def _time(row: Row, kind: str, percentile: str) -> float | None:
    found = row.facts["figures"][kind]
    return None if found is None else float(found[percentile])
