"""
A run as one web page: curves, tables and sentences, with nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

from cdk_sagemaker_llm.load.curves import Curve, Panel, panels_of
from cdk_sagemaker_llm.load.result import HEADS, LoadResult

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 720, 220, 56, 40, 12
# Told apart by their strokes too, for whoever does not see the colours.
_STROKES = (("#0b62a4", ""), ("#b3400e", "7 4"))
_STYLE = """
:root { color-scheme: light; background: #fff; color: #1a1a1a; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem;
  padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; }
figure { margin: 1rem 0; } svg { width: 100%; height: auto; }
svg text { fill: currentColor; font-size: 12px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.6rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
"""


def page_of(result: LoadResult) -> str:
    """
    Write the page.
    """
    title = f"Load test of {result.settings.endpoint}"
    charts = "".join(map(_chart, panels_of(result)))
    remarks = "".join(f"<li>{escape(each)}</li>\n" for each in result.remarks())
    body = (
        f"<p>{escape(introduction(result))}</p>\n"
        f"{_table(('figure', 'value'), result.rows())}"
        f"<h2>How long it takes</h2>\n{_table(HEADS, result.distribution_rows())}"
        f"<h2>To know</h2>\n<ul>\n{remarks}</ul>\n"
        f"<h2>Its course</h2>\n{charts}"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n<h1>{escape(title)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def introduction(result: LoadResult) -> str:
    """
    Say in a sentence what was done.
    """
    settings = result.settings
    load = (
        f"{settings.user_count} users"
        if settings.user_count
        else f"{settings.arrival_rate:g} requests a second arriving at random"
    )
    how = "token by token" if settings.is_streamed else "whole answers"
    began = datetime.fromtimestamp(result.begin, UTC)
    return (
        f"{load}, {how}, measured for {result.end - result.begin:.0f} s from "
        f"{began:%Y-%m-%d %H:%M:%S} UTC on."
    )


def _chart(panel: Panel) -> str:
    known = [v for _, numbers in panel.curves for v in numbers if v is not None]
    most = max([*known, 0.0]) or 1.0
    said = ", ".join(
        f"{name} up to {max([v for v in numbers if v is not None] or [0.0]):.4g}"
        for name, numbers in panel.curves
    )
    lines = "".join(
        _curve(panel.xs, numbers, most, *_STROKES[index % len(_STROKES)])
        for index, (_, numbers) in enumerate(panel.curves)
    )
    return (
        f'<figure class="chart">\n<figcaption>{escape(panel.unit)}: '
        f"{_legend(panel.curves)}</figcaption>\n"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(panel.unit)}: {escape(said)}">\n'
        f"{_axes(panel, most)}{lines}</svg>\n</figure>\n"
    )


def _legend(curves: Sequence[Curve]) -> str:
    return ", ".join(
        f'<svg viewBox="0 0 30 8" style="width:30px;height:8px" aria-hidden="true">'
        f'<path d="M0 4H30" stroke="{colour}" stroke-dasharray="{dash}" '
        f'stroke-width="2"/></svg> {escape(name)}'
        for (name, _), (colour, dash) in zip(curves, _STROKES, strict=False)
    )


def _axes(panel: Panel, most: float) -> str:
    bottom = _HEIGHT - _BOTTOM
    frame = f'<path d="M{_LEFT} {_TOP}V{bottom}H{_WIDTH}" fill="none" '
    last = max([*panel.xs, 1.0])
    marks = [
        f'{frame}stroke="currentColor"/>\n',
        _text(_LEFT - 4, _TOP + 8, "end", f"{most:.4g}"),
        _text(_LEFT - 4, bottom, "end", "0"),
        _text((_LEFT + _WIDTH) / 2, _HEIGHT - 6, "middle", escape(panel.x_unit)),
    ]
    for part, anchor in enumerate(("start", "middle", "middle", "middle", "end")):
        x = _LEFT + (_WIDTH - _LEFT) * part / 4
        marks.append(_text(x, _HEIGHT - 24, anchor, f"{last * part / 4:g}"))
    return "".join(marks)


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{text}</text>\n'


def _curve(
    xs: Sequence[float],
    numbers: Sequence[float | None],
    most: float,
    colour: str,
    dash: str,
) -> str:
    path = " ".join(_points(xs, numbers, most))
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" '
        f'stroke-linecap="round" stroke-dasharray="{dash}"/>\n'
    )


def _points(
    xs: Sequence[float], numbers: Sequence[float | None], most: float
) -> Iterator[str]:
    last = max([*xs, 1.0])
    # An hour has thousands of seconds, and no screen as many pixels.
    step = max(1, len(numbers) // _WIDTH)
    is_drawn = False
    for begin in range(0, len(numbers), step):
        known = [v for v in numbers[begin : begin + step] if v is not None]
        if not known:
            is_drawn = False
            continue
        x = _LEFT + (_WIDTH - _LEFT) * xs[begin] / last
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * max(known) / most
        # A line to itself, so that a lone point is seen too.
        yield f"{'L' if is_drawn else 'M'}{x:.1f} {y:.1f}" + ("" if is_drawn else "h0")
        is_drawn = True


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n"
        for row in rows
    )
    label = escape(", ".join(names))
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{label}">\n<table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>\n</div>\n"
    )
