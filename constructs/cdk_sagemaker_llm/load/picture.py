"""
Pictures: of a run its course and the percentiles, of a benchmark what follows users.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from cdk_sagemaker_llm.load.benchmark import Benchmark
from cdk_sagemaker_llm.load.benchmark_page import introduction as asked_in
from cdk_sagemaker_llm.load.benchmark_page import panels_of_benchmark, title_of
from cdk_sagemaker_llm.load.curves import panels_of
from cdk_sagemaker_llm.load.page import introduction
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.pages.chart import Panel

_STYLES = ("-", "--", ":")
# So few points are measurements, each worth a dot.
_FEW = 24
# What a line of a title has room for.
_LETTERS = 130


def draw(result: LoadResult, path: Path) -> None:
    """
    Draw a run into a file, whose ending chooses the format.
    """
    title = f"{result.settings.endpoint}: {introduction(result)}"
    draw_panels(title, panels_of(result), path)


def draw_benchmark(benchmark: Benchmark, path: Path) -> None:
    """
    Draw a benchmark into a file, likewise.
    """
    # A sentence a line, as the picture is no wider.
    asked = asked_in(benchmark).replace(". ", ".\n")
    draw_panels(
        f"{title_of(benchmark)}\n{asked}", panels_of_benchmark(benchmark.rows), path
    )


def draw_panels(title: str, panels: Sequence[Panel], path: Path) -> None:
    """
    Draw panels one below the other.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    figure = Figure(figsize=(10, 2.4 * len(panels)), layout="constrained")
    lines = [textwrap.fill(line, _LETTERS) for line in title.splitlines()]
    figure.suptitle("\n".join(lines), fontsize="medium")
    rows = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for row, panel in zip(rows, panels, strict=True):
        marker = "." if len(panel.xs) <= _FEW else ""
        for (name, numbers), style in zip(panel.curves, _STYLES, strict=False):
            values = [float("nan") if each is None else each for each in numbers]
            row.plot(panel.xs, values, style, marker=marker, label=name)
        row.set_ylabel(panel.unit.replace(", ", ",\n"))
        row.set_xlabel(panel.x_unit)
        row.set_ylim(0, 1.05 * row.get_ylim()[1])
        row.set_xlim(0, max(*panel.xs, 1.0))
        row.grid(alpha=0.3)
        row.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    figure.savefig(path)
