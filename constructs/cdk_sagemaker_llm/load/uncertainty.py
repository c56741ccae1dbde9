"""
How sure a figure is: 95 % intervals, as if requests did not know of each other.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.96
_PARTS = 10
# Student's t for the mean of ten parts.
_T = 2.262


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    A figure, and between what it lies in 95 of 100 such runs.

    Args:
        value: The figure.

        low: The least it may be.

        high: The most.
    """

    value: float
    low: float
    high: float

    def differs_from(self, other: Estimate) -> bool:
        """
        Tell whether the difference is more than chance explains.
        """
        if self.value >= other.value:
            margin = math.hypot(self.value - self.low, other.high - other.value)
        else:
            margin = math.hypot(self.high - self.value, other.value - other.low)
        return abs(self.value - other.value) > margin


def median_of(samples: Sequence[float]) -> Estimate | None:
    """
    Estimate a median by the ranks that it may have; ``None`` of no samples.
    """
    found = sorted(samples)
    if not found:
        return None
    count = len(found)
    half = _Z * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - half))
    high = min(count - 1, math.ceil(count / 2 + half))
    return Estimate(found[math.ceil(count / 2) - 1], found[low], found[high])


def rate_of(times: Sequence[float], begin: float, end: float) -> Estimate:
    """
    Estimate how many happened a second, by how much ten parts of the time differ.
    """
    part = (end - begin) / _PARTS
    counts = [0] * _PARTS
    for time in times:
        if begin <= time < end:
            counts[min(int((time - begin) / part), _PARTS - 1)] += 1
    rates = [count / part for count in counts]
    value = statistics.fmean(rates)
    margin = _T * statistics.stdev(rates) / math.sqrt(_PARTS)
    return Estimate(value, max(0.0, value - margin), value + margin)


def share_of(good: int, count: int) -> Estimate | None:
    """
    Estimate a share by Wilson's interval; ``None`` of none.
    """
    if not count:
        return None
    share, z2 = good / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    root = math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    margin = _Z * root / (1 + z2 / count)
    return Estimate(share, min(share, middle - margin), max(share, middle + margin))
