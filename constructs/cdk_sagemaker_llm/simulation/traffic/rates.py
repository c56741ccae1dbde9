"""
Curves of rates over time: constant, a ramp, a spike, the curve of a day.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Self
from zoneinfo import ZoneInfo

from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths
from cdk_sagemaker_llm.simulation.traffic.rated import Rated

if TYPE_CHECKING:
    from cdk_sagemaker_llm.simulation.traffic.base import Numbers

_HOUR, _DAY = 3600.0, 86400.0
_HOURS = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Constant(Rated):
    """
    The same rate all the time: ``Constant(rate=10, lengths=...)``.

    Args:
        rate: Requests a second.

        begin: Seconds after the start at which it begins.
            If left out, it is there from the start.

        end: Seconds after the start at which it ends.
            If left out, it goes on to the end.
    """

    rate: float
    begin: float = 0.0
    end: float | None = None

    def counted(self, times: Numbers) -> Numbers:
        """
        Return how many requests have come by some moments.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        end = math.inf if self.end is None else max(self.end, self.begin)
        found: Numbers = self.rate * (np.clip(times, self.begin, end) - self.begin)
        return found

    def _least_zero(self) -> tuple[tuple[str, float], ...]:
        return (("rate", self.rate), ("begin", self.begin), ("end", self.end or 0))

    def _breaks(self) -> tuple[float, ...]:
        return (self.begin,) if self.end is None else (self.begin, self.end)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ramp(Rated):
    """
    A rate that rises, or falls, evenly and then stays.

    ``Ramp(start=1, stop=20, over=1800, lengths=...)``

    Args:
        start: Requests a second before it.

        stop: Requests a second after it.

        over: Seconds that it takes.

        begin: Seconds after the start at which it begins.
            If left out, it begins at the start.
    """

    start: float
    stop: float
    over: float
    begin: float = 0.0

    def counted(self, times: Numbers) -> Numbers:
        """
        Return how many requests have come by some moments.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        inside = np.clip(times - self.begin, 0, self.over)
        after = np.clip(times - self.begin - self.over, 0, None)
        part = inside / self.over if self.over else inside
        before: Numbers = self.start * np.minimum(times, self.begin)
        rise = (self.stop - self.start) * part / 2
        bent: Numbers = before + inside * (self.start + rise)
        return bent + self.stop * after

    def _least_zero(self) -> tuple[tuple[str, float], ...]:
        names = ("start", "stop", "over", "begin")
        return tuple((name, getattr(self, name)) for name in names)

    def _breaks(self) -> tuple[float, ...]:
        return (self.begin, self.begin + self.over)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spike(Rated):
    """
    A rate that is higher for a while.

    ``Spike(base=2, peak=40, at=3600, lasting=600, lengths=...)``

    Args:
        base: Requests a second before and after.

        peak: Requests a second meanwhile.

        at: Seconds after the start at which it begins.

        lasting: Seconds that it lasts.
    """

    base: float
    peak: float
    at: float
    lasting: float

    def counted(self, times: Numbers) -> Numbers:
        """
        Return how many requests have come by some moments.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        high = np.clip(times - self.at, 0, self.lasting)
        found: Numbers = self.base * (times - high) + self.peak * high
        return found

    def _least_zero(self) -> tuple[tuple[str, float], ...]:
        names = ("base", "peak", "at", "lasting")
        return tuple((name, getattr(self, name)) for name in names)

    def _breaks(self) -> tuple[float, ...]:
        return (self.at, self.at + self.lasting)


@dataclass(frozen=True, kw_only=True, slots=True)
class DayCurve(Rated):
    """
    A rate that is the same every day: 24 numbers, and straight lines between them.

    ``DayCurve.between(1, 20, busiest=14, time_zone="Europe/Berlin", lengths=...)``

    Args:
        rates: Requests a second at 0:00, at 1:00, and so on to 23:00.

        time_zone: Whose hours they are; clocks are not put back or forward meanwhile.
            If left out, it is UTC.

        since_midnight: Seconds of the day at which the run starts.
            If left out, the run says it.
    """

    rates: tuple[float, ...]
    time_zone: str = "UTC"
    since_midnight: float = 0.0

    @classmethod
    def between(
        cls,
        low: float,
        high: float,
        *,
        lengths: Lengths,
        busiest: int = 14,
        time_zone: str = "UTC",
        spacing: Literal["random", "even"] = "random",
    ) -> DayCurve:
        """
        Draw a day as a wave between a low and a high rate.

        Args:
            low: Requests a second at the quietest hour, twelve hours off the busiest.

            high: Requests a second at the busiest hour.

            lengths: How long prompts and answers are.

            busiest: The busiest hour, 0 to 23. If left out, it is 14:00.

            time_zone: Whose hours they are. If left out, it is UTC.

            spacing: ``random`` or ``even``. If left out, requests come at random.
        """
        turns = (2 * math.pi * (hour - busiest) / _HOURS for hour in range(_HOURS))
        rates = tuple(low + (high - low) * (1 + math.cos(turn)) / 2 for turn in turns)
        return cls(rates=rates, time_zone=time_zone, lengths=lengths, spacing=spacing)

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, and the rates to a day's.
        """
        # Data classes with slots are made anew: a bare super() is not that class's.
        super(DayCurve, self).__post_init__()
        if len(self.rates) != _HOURS:
            raise ValueError(f"rates must be 24 numbers, got {len(self.rates)}")
        try:
            ZoneInfo(self.time_zone)
        except (OSError, ValueError, LookupError):
            raise ValueError(
                "time_zone must be the name of a time zone such as 'Europe/Berlin', "
                f"got {self.time_zone!r}"
            ) from None

    def starting(self, at: datetime) -> Self:
        """
        Return the traffic as it is for a run that starts then.
        """
        local = at.astimezone(ZoneInfo(self.time_zone))
        since = local.hour * _HOUR + local.minute * 60 + local.second
        return replace(self, since_midnight=since)

    def counted(self, times: Numbers) -> Numbers:
        """
        Return how many requests have come by some moments.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        return self._since_first_day(times + self.since_midnight) - (
            self._since_first_day(np.array([self.since_midnight]))
        )

    def _since_first_day(self, times: Numbers) -> Numbers:
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        rates = np.array([*self.rates, self.rates[0]], dtype=float)
        hours = (rates[:-1] + rates[1:]) / 2 * _HOUR
        before = np.concatenate([[0.0], np.cumsum(hours)])
        days = np.floor(times / _DAY)
        passed = (times - days * _DAY) / _HOUR
        hour = np.clip(passed.astype(int), 0, _HOURS - 1)
        part = passed - hour
        bend = (rates[hour + 1] - rates[hour]) * part / 2
        inside = (rates[hour] + bend) * part * _HOUR
        found: Numbers = days * before[-1] + before[hour] + inside
        return found

    def _least_zero(self) -> tuple[tuple[str, float], ...]:
        return tuple((f"rates[{hour}]", rate) for hour, rate in enumerate(self.rates))
