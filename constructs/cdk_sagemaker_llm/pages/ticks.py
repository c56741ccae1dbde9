"""
Where the marks of an axis stand: at round numbers, few enough to be read.
"""

from __future__ import annotations

import math

_MINUTE = 60.0
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_SPANS = (
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 20, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 4, 6, 12)),
)


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
