"""
Runs as one web page: curves, tables and sentences, with nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from cdk_sagemaker_llm.cli.simulating.comparing import (
    ALL_MODELS,
    costs,
    figures,
    shares,
    side_by_side,
)
from cdk_sagemaker_llm.cli.simulating.picture import Curve, panels_of
from cdk_sagemaker_llm.cli.simulating.playing import Played
from cdk_sagemaker_llm.cli.simulating.results import (
    HEADS,
    Prices,
    Run,
    cells,
    events_of,
    rows_of,
    sections_of,
    start_of,
)
from cdk_sagemaker_llm.simulation.report.words import moment

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 720, 200, 48, 24, 12
# Told apart by their strokes too, for whoever does not see the colours.
_STROKES = (("#0b62a4", ""), ("#b3400e", "7 4"), ("#2e7d32", "2 3"))
_STYLE = """
:root { color-scheme: light; background: #fff; color: #1a1a1a; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem;
  padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; } h3 { font-size: 1.05rem; }
svg { width: 100%; height: auto; }
svg text { fill: currentColor; font-size: 12px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.6rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td.text, th.text { text-align: left; }
"""


def page_of(runs: Sequence[Run], prices: Prices) -> str:
    """
    Write the page.
    """
    is_one = len(runs) == 1
    compared = "" if is_one else "".join(_compared(runs, prices))
    body = compared + "".join(_run(run, prices, not is_one) for run in runs)
    title = "What scaling will do"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


def _compared(runs: Sequence[Run], prices: Prices) -> Iterator[str]:
    names = [run.name for run in runs]
    for one in side_by_side(runs, prices):
        rows = [("model", *one.models), *one.rows]
        yield f"<h2>{escape(one.endpoint)}</h2>\n{_table(('', *names), rows)}"


def _run(run: Run, prices: Prices, is_named: bool) -> str:  # noqa: FBT001 - of several
    name = f"<p><strong>{escape(run.name)}</strong></p>\n" if is_named else ""
    parts = [name, *(_variant(played, prices) for played in run.played)]
    if run.left_out:
        parts.append(f"<h3>Not simulated</h3>\n{_list(run.left_out)}")
    return f"<section>\n{''.join(parts)}</section>\n"


def _variant(played: Played, prices: Prices) -> str:
    hosted = played.hosted
    kinds = " or ".join(pool.instance_type for pool in hosted.pools)
    head = f"{hosted.endpoint} ({hosted.variant}): {kinds}"
    parts = [f"<h2>{escape(head)}</h2>\n<p>{escape(start_of(played))}</p>\n"]
    parts += [
        f"<h3>{escape(section.title)}</h3>\n{_list(section.sentences)}"
        for section in sections_of(played)
    ]
    for model in played.outcome.workloads:
        words = f"{model}: {played.traffic[model]}"
        parts.append(f"<h3>{escape(words)}</h3>\n")
        parts += [_chart(unit, curves) for unit, curves in panels_of(played, model)]
        parts.append(_figures(played, model, prices))
        parts.append(_by_time(played, model))
    if shares(played.outcome.workloads):
        parts.append(f"<h3>{ALL_MODELS}</h3>\n")
        parts.append(_table(("in all", "value"), list(costs(played, prices))))
    parts.append(_log(played))
    return "".join(parts)


def _list(sentences: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(each)}</li>\n" for each in sentences)
    return f"<ul>\n{items}</ul>\n"


def _chart(unit: str, curves: Sequence[Curve]) -> str:
    known = [v for _, numbers in curves for v in numbers if v is not None]
    most = max([*known, 0.0]) or 1.0
    said = ", ".join(
        f"{name} up to {max([v for v in numbers if v is not None] or [0.0]):.4g}"
        for name, numbers in curves
    )
    minutes = len(curves[0][1])
    lines = "".join(
        _curve(numbers, most, *_STROKES[index % len(_STROKES)])
        for index, (_, numbers) in enumerate(curves)
    )
    return (
        f'<figure class="chart">\n<figcaption>{escape(unit)}: {_legend(curves)}'
        f'</figcaption>\n<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(unit)}: {escape(said)}">\n{_axes(most, minutes)}{lines}'
        "</svg>\n</figure>\n"
    )


def _legend(curves: Sequence[Curve]) -> str:
    return ", ".join(
        f'<svg viewBox="0 0 30 8" style="width:30px;height:8px" aria-hidden="true">'
        f'<path d="M0 4H30" stroke="{colour}" stroke-dasharray="{dash}" '
        f'stroke-width="2"/></svg> {escape(name)}'
        for (name, _), (colour, dash) in zip(curves, _STROKES, strict=False)
    )


def _axes(most: float, minutes: int) -> str:
    bottom = _HEIGHT - _BOTTOM
    frame = f'<path d="M{_LEFT} {_TOP}V{bottom}H{_WIDTH}" fill="none" '
    marks = [
        f'{frame}stroke="currentColor"/>\n',
        _text(_LEFT - 4, _TOP + 8, "end", f"{most:.4g}"),
        _text(_LEFT - 4, bottom, "end", "0"),
    ]
    for part, anchor in enumerate(("start", "middle", "middle", "middle", "end")):
        x = _LEFT + (_WIDTH - _LEFT) * part / 4
        marks.append(_text(x, _HEIGHT - 6, anchor, moment(minutes * 60 * part / 4)))
    return "".join(marks)


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{text}</text>\n'


def _curve(numbers: Sequence[float | None], most: float, colour: str, dash: str) -> str:
    path = " ".join(_points(numbers, most))
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{dash}"/>\n'
    )


def _points(numbers: Sequence[float | None], most: float) -> Iterator[str]:
    # A week has ten thousand minutes, and no screen as many pixels.
    step = max(1, len(numbers) // _WIDTH)
    is_drawn = False
    for begin in range(0, len(numbers), step):
        known = [v for v in numbers[begin : begin + step] if v is not None]
        if not known:
            is_drawn = False
            continue
        x = _LEFT + (_WIDTH - _LEFT) * begin / max(len(numbers), 1)
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * max(known) / most
        yield f"{'L' if is_drawn else 'M'}{x:.1f} {y:.1f}"
        is_drawn = True


def _figures(played: Played, model: str, prices: Prices) -> str:
    rows = list(figures(played, model, prices))
    return _table(("in all", "value"), rows)


def _by_time(played: Played, model: str) -> str:
    return _table(HEADS, [cells(row) for row in rows_of(played, model)])


def _log(played: Played) -> str:
    rows = [
        (moment(one.time), one.what, str(one.before), str(one.after), one.why)
        for one in events_of(played)
    ]
    return f"<h3>Log</h3>\n{_table(('time', 'what', 'from', 'to', 'why'), rows)}"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n"
        for row in rows
    )
    label = escape(", ".join(name for name in names if name))
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{label}">\n<table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>\n</div>\n"
    )
