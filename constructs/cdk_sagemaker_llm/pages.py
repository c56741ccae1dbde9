"""
Reports as web pages that need nothing from elsewhere: no script, no font, no request.

What belongs here knows markup, charts, tables and the formats of pictures, and nothing
of what they show. A chart is stretched with the page, while its words do not; the marks
of an axis stand at round numbers, few enough to be read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle
from pathlib import Path

Curve = tuple[str, Sequence[float | None]]

# The drawing's own units: it is stretched to the page.
_WIDTH, _HEIGHT = 720, 200
_MOST_X, _MOST_Y = 6, 4
# Told apart by their strokes too, for whoever does not see the colours; what has more
# than three curves begins again.
_LOOKS = ("c0", "c1", "c2")
# So few points are measurements, each worth a dot.
_FEW = 24
_MOST_ROWS = 120
_LARGE = 10_000

_MINUTE = 60.0
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_SPANS = (
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 20, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 4, 6, 12)),
)

# Longer texts are read from the left, like sentences.
_LONG = 24
# The browser itself refuses whatever a page might ask for.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light; --paper: #fff; --ink: #1a1a1a; --rule: #c4c4c4;
  --focus: #0b62a4; --c0: #0b62a4; --c1: #b3400e; --c2: #2e7d32; }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --paper: #141414; --ink: #e8e8e8; --rule: #555;
    --focus: #7cc0ff; --c0: #7cc0ff; --c1: #ffab70; --c2: #8fd694; }
}
html { background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem;
  padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; } h3 { font-size: 1.05rem; }
h1, h2, h3 { line-height: 1.25; break-after: avoid; }
ul { padding-left: 1.25rem; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.wide { overflow-x: auto; margin: 0.5rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  overflow-wrap: break-word; }
th, td { padding: 0.15rem 0.6rem; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
th.text, td.text { text-align: left; }
tr { break-inside: avoid; }
summary { cursor: pointer; }
.chart { margin: 1rem 0 1.5rem; break-inside: avoid; }
figcaption { display: flex; flex-wrap: wrap; gap: 0 1rem; margin-bottom: 0.75rem; }
.key svg { width: 30px; height: 8px; vertical-align: middle; }
.plot { display: grid; grid-template-columns: minmax(2rem, max-content) 1fr;
  column-gap: 0.4rem; padding-right: 2.5rem; font-size: 0.8rem; line-height: 1rem;
  font-variant-numeric: tabular-nums; }
.plot svg { width: 100%; height: 12rem; display: block; overflow: visible; }
.plot path { fill: none; vector-effect: non-scaling-stroke; }
.grid { stroke: var(--rule); stroke-width: 1px; }
.curve { stroke-width: 2px; stroke-linecap: round; }
.dots { stroke-width: 7px; stroke-linecap: round; }
.c0 { stroke: var(--c0); }
.c1 { stroke: var(--c1); } .curve.c1 { stroke-dasharray: 7 5; }
.c2 { stroke: var(--c2); } .curve.c2 { stroke-dasharray: 2 5; }
.square { stroke-linecap: square; } .small { stroke-width: 5px; }
.best { stroke-width: 14px; }
pre { margin: 0.5rem 0; user-select: all; }
.ys { display: flex; flex-direction: column-reverse; text-align: right;
  justify-content: space-between; margin: -0.5rem 0; }
.xs { grid-column: 2; position: relative; height: 1.5rem; margin-top: 0.3rem; }
.xs span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
.x-unit { grid-column: 2; text-align: center; }
@media (max-width: 40rem) { .xs span:nth-child(even) { display: none; } }
@media print {
  body { max-width: none; padding: 0; }
  .wide { overflow: visible; } .plot { padding-right: 3rem; }
  pre { white-space: pre-wrap; }
  table { font-size: 8pt; } th, td { padding: 0.1rem 0.3rem; }
  .text { overflow-wrap: anywhere; }
}
"""


def page(title: str, body: str) -> str:
    """
    Write a page.
    """
    name = escape(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n<h1>{name}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def bullets(sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(each)}</li>\n" for each in sentences)
    return f"<ul>\n{items}</ul>\n"


def table(label: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """
    Write a table that scrolls by itself where it is wider than the page.

    Args:
        label: What it shows, for whoever does not see what stands above it.

        names: The names of its columns.

        rows: Its cells.
    """
    kinds = [
        ' class="text"'
        if place == 0 or any(len(row[place]) > _LONG for row in rows)
        else ""
        for place in range(len(names))
    ]
    head = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>'
        for kind, name in zip(kinds, names, strict=True)
    )
    cells = (
        "".join(
            f"<td{kind}>{escape(cell)}</td>"
            for kind, cell in zip(kinds, row, strict=True)
        )
        for row in rows
    )
    lines = "".join(f"<tr>{each}</tr>\n" for each in cells)
    return (
        '<div class="wide" tabindex="0" role="region" '
        f'aria-label="{escape(label)}">\n<table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>\n</div>\n"
    )


def check_ending(path: Path) -> None:
    """
    Refuse a file of no format that can be drawn, before anything is computed.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase  # noqa: PLC0415 - an extra
    except ImportError as fault:
        raise ValueError(
            "--png needs matplotlib; install it with: "
            "pip install 'cdk-sagemaker-llm[plot]'"
        ) from fault
    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in formats:
        raise ValueError(
            f"--png {path} must end in the name of a format: "
            f"{', '.join(sorted(formats))}"
        )


def chart(panel: Panel) -> str:
    """
    Draw curves, and say in words what cannot be seen.
    """
    most = max(max(_numbers(values)) for _, values in panel.curves) or 1.0
    step = step_of(most, _MOST_Y)
    top = step * _steps(most, step)
    summary = ", ".join(
        f"{name} up to {_written(max(_numbers(values)))}"
        for name, values in panel.curves
    )
    drawn = "".join(
        _curve(panel, values, top, look)
        for (_, values), look in zip(panel.curves, cycle(_LOOKS), strict=False)
    )
    ys = "".join(f"<span>{y:.10g}</span>" for y in marks(top, step))
    across = "".join(f"M0 {_y(y, top):.1f}H{_WIDTH}" for y in marks(top, step))
    x_step = span_of if panel.clock else step_of
    x_marks = marks(panel.last, x_step(panel.last, _MOST_X))
    down = "".join(f"M{_WIDTH * x / panel.last:.1f} 0V{_HEIGHT}" for x in x_marks)
    xs = "".join(
        f'<span style="left:{100 * x / panel.last:.2f}%">{panel.write(x)}</span>'
        for x in x_marks
    )
    return (
        f'<figure class="chart">\n<figcaption><span>{escape(panel.unit)}</span>'
        f'{_legend(panel.curves)}</figcaption>\n<div class="plot">\n'
        f'<div class="ys" aria-hidden="true">{ys}</div>\n'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(panel.unit)}: {escape(summary)}">\n'
        f'<path class="grid" d="{across}{down}"/>\n{drawn}</svg>\n'
        f'<div class="xs" aria-hidden="true">{xs}</div>\n'
        f'<div class="x-unit">{escape(panel.x_unit)}</div>\n</div>\n</figure>\n'
    )


def numbers(panel: Panel) -> str:
    """
    Write what a chart draws as a table that is folded away.
    """
    step = -(-len(panel.xs) // _MOST_ROWS) or 1
    rows = [
        (
            panel.write(panel.xs[begin]),
            *(_most_of(values[begin : begin + step]) for _, values in panel.curves),
        )
        for begin in range(0, len(panel.xs), step)
    ]
    of = f", the most of each {step}" if step > 1 else ""
    label = f"Numbers: {panel.unit}{of}"
    heads = (panel.x_unit, *(name for name, _ in panel.curves))
    return (
        f"<details>\n<summary>{escape(label)}</summary>\n"
        f"{table(label, heads, rows)}</details>\n"
    )


@dataclass(frozen=True, slots=True)
class Panel:
    """
    Curves of one unit.

    Args:
        unit: What they count.

        curves: Their names and values.

        xs: Where the values stand, from small to large.

        x_unit: What that counts.

        end: Where it ends. If omitted, it ends with the last value.

        clock: Writes a moment, for xs that are seconds. If omitted, they are numbers.
    """

    unit: str
    curves: Sequence[Curve]
    xs: Sequence[float]
    x_unit: str
    end: float | None = None
    clock: Callable[[float], str] | None = None

    @property
    def last(self) -> float:
        return max([*self.xs, 1.0]) if self.end is None else self.end

    def write(self, x: float) -> str:
        return f"{x:g}" if self.clock is None else self.clock(x)


def step_of(end: float, most: int) -> float:
    """
    Return the smallest round step that leads to an end in at most so many steps.

    Args:
        end: A positive number.

        most: How many steps there may be.
    """
    unit = 10.0 ** math.floor(math.log10(end / most))
    # Ten of them are the next unit, so that one is always enough.
    return next(unit * n for n in (1, 2, 5, 10) if unit * n * most >= end * (1 - 1e-9))


def span_of(seconds: float, most: int) -> float:
    """
    Return the same for time: minutes, hours or days.
    """
    for span in _SPANS:
        if span * most >= seconds:
            return span
    return _DAY * max(1.0, math.ceil(seconds / _DAY / most))


def marks(end: float, step: float) -> list[float]:
    """
    Return the marks from zero to an end.
    """
    return [step * number for number in range(math.floor(end / step + 1e-9) + 1)]


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None] or [0.0]


def _steps(end: float, step: float) -> int:
    return next(n for n in range(1, _MOST_Y + 1) if step * n >= end * (1 - 1e-9))


def _written(value: float) -> str:
    # Nobody reads 1.235e+04.
    return f"{value:.4g}" if value < _LARGE else f"{value:.0f}"


def _curve(panel: Panel, values: Sequence[float | None], top: float, look: str) -> str:
    points = list(_points(panel, values, top))
    line = " ".join(
        # A line to itself, so that a lone point is seen too.
        f"L{x:.1f} {y:.1f}" if is_joined else f"M{x:.1f} {y:.1f}h0"
        for x, y, is_joined in points
    )
    written = f'<path class="curve {look}" d="{line}"/>\n' if line else ""
    if 0 < len(points) <= _FEW:
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y, _ in points)
        written += f'<path class="dots {look}" d="{dots}"/>\n'
    return written


def _legend(curves: Sequence[Curve]) -> str:
    return "".join(
        f'\n<span class="key"><svg viewBox="0 0 30 8" aria-hidden="true">'
        f'<path class="curve {look}" d="M1 4H29"/></svg> {escape(name)}</span>'
        for (name, _), look in zip(curves, cycle(_LOOKS), strict=False)
    )


def _most_of(values: Sequence[float | None]) -> str:
    numbers = [value for value in values if value is not None]
    return _written(max(numbers)) if numbers else ""


def _points(
    panel: Panel, values: Sequence[float | None], top: float
) -> Iterator[tuple[float, float, bool]]:
    # A week has ten thousand minutes, and no screen as many pixels.
    step = max(1, len(values) // _WIDTH)
    is_joined = False
    for begin in range(0, len(values), step):
        numbers = [v for v in values[begin : begin + step] if v is not None]
        if numbers:
            x = _WIDTH * panel.xs[begin] / panel.last
            yield x, _y(max(numbers), top), is_joined
        is_joined = bool(numbers)


def _y(value: float, top: float) -> float:
    return _HEIGHT - _HEIGHT * value / top
