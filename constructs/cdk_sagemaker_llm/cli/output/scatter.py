"""
A picture of points: what costs how much, and how long it takes.

Both axes are logarithmic, with marks that double: what costs twice as much stands as
far from its half everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

# The drawing's own units: it is stretched to the page.
_WIDTH, _HEIGHT = 720, 200
_MOST_X, _MOST_Y = 6, 5
_ROUND = (1.0, 2.0, 5.0)
_LARGE = 10_000


@dataclass(frozen=True, slots=True)
class Point:
    """
    One point.

    Args:
        x: Where it stands from left to right; not negative.

        y: Where it stands from below; not negative.

        title: What it is, for whoever points at it.
    """

    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True)
class Group:
    """
    Points that are alike, and how they look.

    Args:
        name: What they have in common.

        look: How the page draws them.

        points: The points.

        is_joined: Whether steps lead from one to the next.
    """

    name: str
    look: str
    points: Sequence[Point]
    is_joined: bool = False


@dataclass(frozen=True, slots=True)
class Scatter:
    """
    Groups of points over the same axes.

    Args:
        x_unit: What counts from left to right.

        y_unit: What counts from below.

        groups: The points, those that are drawn first in front.
    """

    x_unit: str
    y_unit: str
    groups: Sequence[Group]

    def draw(self) -> str:
        """
        Draw the points, and say in words what cannot be seen; nothing without points.
        """
        groups = [one for one in self.groups if one.points]
        if not groups:
            return ""
        points = [point for one in groups for point in one.points]
        across = Axis.of([point.x for point in points], _MOST_X)
        up = Axis.of([point.y for point in points], _MOST_Y)
        summary = "; ".join(
            f"{one.name}: {_span([point.x for point in one.points])} {self.x_unit}, "
            f"{_span([point.y for point in one.points])} {self.y_unit}"
            for one in groups
        )
        drawn = "".join(self._drawn(one, across, up) for one in reversed(groups))
        ys = "".join(f"<span>{written(mark)}</span>" for mark in up.marks)
        xs = "".join(
            f'<span style="left:{100 * across.place(mark):.2f}%">{written(mark)}</span>'
            for mark in across.marks
        )
        lines = "".join(f"M0 {_down(up.place(y)):.1f}H{_WIDTH}" for y in up.marks)
        lines += "".join(
            f"M{_WIDTH * across.place(x):.1f} 0V{_HEIGHT}" for x in across.marks
        )
        return (
            f'<figure class="chart">\n<figcaption><span>{escape(self.y_unit)}</span>'
            f'{_legend(groups)}</figcaption>\n<div class="plot">\n'
            f'<div class="ys" aria-hidden="true">{ys}</div>\n'
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" '
            f'role="img" aria-label="{escape(summary)}">\n'
            f'<path class="grid" d="{lines}"/>\n{drawn}</svg>\n'
            f'<div class="xs" aria-hidden="true">{xs}</div>\n'
            f'<div class="x-unit">{escape(self.x_unit)}</div>\n</div>\n</figure>\n'
        )

    def _drawn(self, group: Group, across: Axis, up: Axis) -> str:
        places = [
            (_WIDTH * across.place(point.x), _down(up.place(point.y)), point.title)
            for point in group.points
        ]
        line = ""
        if group.is_joined and len(places) > 1:
            # The cost of one buys its time until the next one's is paid.
            steps = f"M{places[0][0]:.1f} {places[0][1]:.1f}" + "".join(
                f"H{x:.1f}V{y:.1f}" for x, y, _ in places[1:]
            )
            line = f'<path class="curve {group.look}" d="{steps}"/>\n'
        return line + "".join(
            f'<path class="dots {group.look}" d="M{x:.1f} {y:.1f}h0">'
            f"<title>{escape(title)}</title></path>\n"
            for x, y, title in places
        )


@dataclass(frozen=True, slots=True)
class Axis:
    """
    A logarithmic axis.

    Args:
        marks: Round numbers, each as many times the one before.
    """

    marks: Sequence[float]

    @classmethod
    def of(cls, values: Sequence[float], most: int) -> Axis:
        """
        Return the axis of some values, with at most so many steps.

        Args:
            values: Where points stand; not negative.

            most: How many steps there may be.
        """
        positives = [value for value in values if value > 0] or [1.0]
        unit = 10.0 ** math.floor(math.log10(min(positives)))
        start = max(unit * n for n in _ROUND if unit * n <= min(positives) * (1 + 1e-9))
        doublings = max(math.log2(max(positives) / start), 1e-9)
        each = math.ceil(round(doublings / most, 9)) or 1
        count = max(math.ceil(round(doublings / each, 9)), 1)
        return cls([start * 2.0 ** (each * n) for n in range(count + 1)])

    def place(self, value: float) -> float:
        """
        Return where a value stands, from 0 to 1; nothing stands at the start.
        """
        first, last = self.marks[0], self.marks[-1]
        if value <= first:
            return 0.0
        return math.log(value / first) / math.log(last / first)


def written(value: float) -> str:
    """
    Write the number of a mark.
    """
    return f"{value:.4g}" if value < _LARGE else f"{value:,.0f}"


def _span(values: Sequence[float]) -> str:
    low, high = written(min(values)), written(max(values))
    return low if low == high else f"{low} to {high}"


def _down(place: float) -> float:
    return _HEIGHT * (1 - place)


def _legend(groups: Sequence[Group]) -> str:
    return "".join(_key(one) for one in groups)


def _key(group: Group) -> str:
    return (
        '\n<span class="key"><svg viewBox="0 0 30 8" aria-hidden="true">'
        f'<path class="dots {group.look}" d="M15 4h0"/></svg> '
        f"{escape(group.name)}</span>"
    )


def front_of(points: Sequence[Point]) -> Iterator[Point]:
    """
    Give the points that no other beats in both, from the left.
    """
    lowest = math.inf
    for one in sorted(points, key=lambda point: (point.x, point.y)):
        if one.y < lowest:
            lowest = one.y
            yield one
