"""
A picture of a run: load, copies and instances, the line, latency, and what was lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.cli.app.playing import Played
from cdk_sagemaker_llm.cli.output.runs import Run, instances_of, is_estimated, lost
from cdk_sagemaker_llm.pages.chart import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = ("-", "--", ":", "-.")
# What is drawn in seconds, and well within the pixels that a format can have.
_MOST_MODELS = 24


def draw(runs: Sequence[Run], path: Path) -> None:
    """
    Draw runs into a file, whose ending chooses the format; several share their axes.

    Raises:
        ValueError: If there are more models than a picture has room for.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    shown = [
        (position, place, model)
        for position, played in enumerate(runs[0].played)
        for place, model in enumerate(played.outcome.workloads)
    ]
    if len(shown) > _MOST_MODELS:
        raise ValueError(
            f"--png has room for {_MOST_MODELS} models, got {len(shown)}; choose an "
            "endpoint with --endpoint, or draw them with --html"
        )
    figure = Figure(figsize=(11, 8.5 * len(shown)), layout="constrained")
    axes = figure.subplots(4 * len(shown), 1, sharex=True, squeeze=False)
    for number, (position, place, model) in enumerate(shown):
        rows = [row[0] for row in axes[4 * number : 4 * number + 4]]
        rows[0].set_title(f"{runs[0].played[position].hosted.endpoint}: {model}")
        for run, style in zip(runs, _STYLES * len(runs), strict=False):
            # Another app has other names for the same: places tell what is compared.
            played = run.played[position] if position < len(run.played) else None
            models = list(played.outcome.workloads) if played else []
            if played is not None and place < len(models):
                name = run.name if len(runs) > 1 else ""
                _draw_one(rows, name, played, models[place], style)
    for row in axes[:, 0]:
        row.set_ylim(0, max(row.get_ylim()[1], 1.0))
        row.grid(alpha=0.3)
        row.legend(
            loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small"
        )
    axes[-1][0].set_xlabel("minutes since the start")
    figure.savefig(path)


def panels_of(played: Played, model: str) -> Iterator[tuple[str, list[Curve]]]:
    """
    Return what belongs into one panel each: its unit, and the curves.
    """
    series = played.outcome.workloads[model]
    yield "requests a minute", [("arrived", series.arrived), ("lost", lost(series))]
    curves: list[Curve] = [
        ("copies wanted", _since(series.desired)),
        ("copies that serve", _since(series.copies)),
    ]
    instances = instances_of(played)
    if instances:
        curves.append(("instances that run", _since(instances)))
    yield "copies and instances", curves
    estimate = ", estimated" if is_estimated(played, model) else ""
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
    played: Played,
    model: str,
    style: str,
) -> None:
    for row, (unit, curves) in zip(rows, panels_of(played, model), strict=True):
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
