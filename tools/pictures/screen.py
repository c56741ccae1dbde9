"""
What a terminal showed, as a picture.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from matplotlib.figure import Figure
from rich.ansi import AnsiDecoder
from rich.style import Style
from rich.text import Text

_PAPER, _INK, _DIM = "#1b1d23", "#e6e6e6", "#9aa0ab"
# By a terminal's own numbers: red, yellow and magenta.
_COLOURS = {1: "#ff7b86", 3: "#e5c07b", 5: "#d292e6"}
# Letters of ten points are eight pixels wide at this resolution.
_SIZE, _DPI = 10.0, 100
_ACROSS, _DOWN = 8, 20

# Where a text begins, the text, and its colour.
Piece = tuple[int, str, str]


def lines_of(shown: str, columns: int) -> list[list[Piece]]:
    """
    Break what was shown into lines as a terminal does: where it is full.
    """
    found = []
    for text in AnsiDecoder().decode(shown.replace("\r\n", "\n")):
        cells = _cells(text)
        found += [
            _pieces(cells[begin : begin + columns])
            for begin in range(0, max(len(cells), 1), columns)
        ]
    return found


def draw(shown: str, columns: int, path: Path) -> None:
    """
    Draw what was shown into a file.
    """
    lines = lines_of(shown, columns)
    width, height = (columns + 4) * _ACROSS, (len(lines) + 2) * _DOWN
    figure = Figure(figsize=(width / _DPI, height / _DPI), facecolor=_PAPER, dpi=_DPI)
    for row, line in enumerate(lines):
        for column, text, colour in line:
            figure.text(
                (column + 2) * _ACROSS / width,
                1 - (row + 1.7) * _DOWN / height,
                text.replace("$", r"\$"),
                color=colour,
                family="DejaVu Sans Mono",
                size=_SIZE,
            )
    figure.savefig(path)


def _cells(text: Text) -> list[tuple[str, str]]:
    colours = [_INK] * len(text.plain)
    for span in text.spans:
        colour = _colour(span.style)
        colours[span.start : span.end] = [colour] * (span.end - span.start)
    return list(zip(text.plain, colours, strict=True))


def _colour(style: str | Style) -> str:
    known = Style.parse(style) if isinstance(style, str) else style
    if known.color is not None and known.color.number is not None:
        return _COLOURS[known.color.number]
    return _DIM if known.dim else _INK


def _pieces(cells: list[tuple[str, str]]) -> list[Piece]:
    found, column = [], 0
    for colour, group in groupby(cells, key=lambda cell: cell[1]):
        text = "".join(letter for letter, _ in group)
        found.append((column, text, colour))
        column += len(text)
    return found
