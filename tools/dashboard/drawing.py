"""
Drawing a dashboard's widgets where CloudWatch would put them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tools.dashboard.series import Known, Values, curves_of

_COLUMNS = 24
_INCHES = 0.72
_HOUR = 60
NOT_SIMULATED = "not simulated"


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

    Args:
        body: The dashboard's body.

        known: What is simulated.
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


def draw(panels: Sequence[Panel], path: Path) -> None:
    """
    Draw panels into a file, whose ending chooses the format.
    """
    rows = max(panel.place[1] + panel.place[3] for panel in panels)
    figure = Figure(figsize=(_COLUMNS * _INCHES, rows * _INCHES / 1.3), dpi=80)
    for panel in panels:
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
    axes.text(0, 0.8, head.lstrip("# "), size=19 - 3 * level, weight="bold", va="top")
    axes.text(0, 0.5, textwrap.fill(rest, 190), size=9, va="top")


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
    if panel.missing:
        _name_missing(axes, panel)
    if not panel.curves:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    minutes = max(map(len, panel.curves.values()))
    axes.set_xlim(0, minutes)
    axes.set_xticks(range(0, minutes + 1, 4 * _HOUR))
    axes.set_xticklabels(
        [f"{minute // _HOUR:02}:00" for minute in range(0, minutes + 1, 4 * _HOUR)]
    )
    axes.set_ylim(0, max(axes.get_ylim()[1], *panel.levels.values(), 1) * 1.1)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="best", frameon=False)


def _name_missing(axes: Axes, panel: Panel) -> None:
    names = textwrap.fill(f"{NOT_SIMULATED}: {', '.join(panel.missing)}", 44)
    where = (0.02, 0.96) if panel.curves else (0.5, 0.5)
    axes.text(
        *where,
        names,
        transform=axes.transAxes,
        size=8,
        color="grey",
        ha="left" if panel.curves else "center",
        va="top" if panel.curves else "center",
    )
