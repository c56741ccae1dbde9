"""
Latencies of a whole run, kept in so few numbers that a week of them is none too many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

# Latencies that differ by less than half a per cent are one.
_STEP = math.log(1.005)
# Where what took no time at all is counted: before all that took some.
_NONE = -(2**31)


@dataclass(slots=True)
class Histogram:
    """
    How many latencies there were of each size, within half a per cent.
    """

    count: int = 0
    # By size: how many, and the longest of them.
    _buckets: dict[int, tuple[int, float]] = field(default_factory=dict, repr=False)

    def add(
        self, latencies: Iterable[float], overhead: float = 0.0, times: int = 1
    ) -> None:
        """
        Take in latencies in seconds, each with an overhead, and counted so many times.
        """
        # Each answer of a run goes through here.
        buckets, floor, log, added = self._buckets, math.floor, math.log, 0
        for latency in latencies:
            seconds = latency + overhead
            size = floor(log(seconds) / _STEP) if seconds > 0 else _NONE
            count, longest = buckets.get(size, (0, 0.0))
            most = longest if longest > seconds else seconds  # noqa: FURB136 - quicker
            buckets[size] = count + times, most
            added += times
        self.count += added

    def merge(self, other: Histogram) -> None:
        """
        Take in all that another one has.
        """
        for size, (more, long) in other._buckets.items():
            count, longest = self._buckets.get(size, (0, 0.0))
            self._buckets[size] = (count + more, max(longest, long))
        self.count += other.count

    def at(self, share: float) -> float | None:
        """
        Return the seconds that a share of all latencies took at most; ``None`` of none.
        """
        rank = math.ceil(share * self.count)
        passed = 0
        for size in sorted(self._buckets):
            count, longest = self._buckets[size]
            passed += count
            if passed >= rank:
                return longest
        return None

    def packed(self) -> list[list[float]]:
        """
        Pack it for another process: size, count and longest of each that there is.
        """
        return [[size, *one] for size, one in self._buckets.items()]

    @classmethod
    def unpacked(cls, packed: Iterable[Sequence[float]]) -> Self:
        """
        Unpack it.
        """
        made = cls()
        for size, count, longest in packed:
            made._buckets[int(size)] = (int(count), longest)
            made.count += int(count)
        return made
