"""
What every page has: its head, its looks, and how tables and lists are written; and the
formats that a picture can be drawn in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

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
.ys { display: flex; flex-direction: column-reverse; text-align: right;
  justify-content: space-between; margin: -0.5rem 0; }
.xs { grid-column: 2; position: relative; height: 1.5rem; margin-top: 0.3rem; }
.xs span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
.x-unit { grid-column: 2; text-align: center; }
@media (max-width: 40rem) { .xs span:nth-child(even) { display: none; } }
@media print {
  body { max-width: none; padding: 0; }
  .wide { overflow: visible; } .plot { padding-right: 3rem; }
  table { font-size: 8pt; } th, td { padding: 0.1rem 0.3rem; }
  .text { overflow-wrap: anywhere; }
}
"""


def page(title: str, body: str) -> str:
    """
    Write a page.

    Args:
        title: What it is called, in its own head and above its text.

        body: Its markup below that.
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
    """
    Write a list.
    """
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
    kinds = [_kind(place, rows) for place in range(len(names))]
    head = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>'
        for kind, name in zip(kinds, names, strict=True)
    )
    lines = "".join(f"<tr>{_cells(kinds, row)}</tr>\n" for row in rows)
    return (
        '<div class="wide" tabindex="0" role="region" '
        f'aria-label="{escape(label)}">\n<table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>\n</div>\n"
    )


def check_ending(path: Path) -> None:
    """
    Refuse a file of no format that can be drawn, before anything is computed.

    Raises:
        ValueError: If matplotlib is missing, or the ending is of no known format.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase  # noqa: PLC0415 - an extra
    except ImportError as fault:
        raise ValueError(
            "--png needs matplotlib; install it with: "
            "pip install 'cdk-sagemaker-llm[plot]'"
        ) from fault
    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in known:
        raise ValueError(
            f"--png {path} must end in the name of a format: {', '.join(sorted(known))}"
        )


def _kind(place: int, rows: Sequence[Sequence[str]]) -> str:
    is_text = place == 0 or any(len(row[place]) > _LONG for row in rows)
    return ' class="text"' if is_text else ""


def _cells(kinds: Sequence[str], row: Sequence[str]) -> str:
    return "".join(
        f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)
    )
