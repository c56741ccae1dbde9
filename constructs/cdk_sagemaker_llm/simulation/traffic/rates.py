"""
Traffic at a rate that changes over time: constant, a ramp, a spike, the curve of a day.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Self
from zoneinfo import ZoneInfo

from cdk_sagemaker_llm.arguments import hold_kinds, raise_faults
from cdk_sagemaker_llm.arguments.kinds import Fault
from cdk_sagemaker_llm.simulation.traffic.base import Arrival, Expected, Traffic
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths

if TYPE_CHECKING:
    import numpy as np

    from cdk_sagemaker_llm.simulation.traffic.base import Numbers, Tokens

_HOUR, _DAY = 3600.0, 86400.0
_HOURS = 24
_WEEK, _WORKDAYS = 7, 5

# How many requests are drawn at once: memory grows with this alone.
_AT_ONCE = 8192
# Points at which a rate is looked at while they are drawn; it is straight between.
_POINTS = 513


@dataclass(frozen=True, kw_only=True, slots=True)
class Rated(Traffic):
    """
    Requests at a rate that changes with time.

    Args:
        lengths: How long prompts and answers are.

        spacing: Whether requests come at ``random``, as those of many people do
            (Poisson), or in ``even`` steps. If omitted, they come at random.

        factor: How many times the rate there are. If omitted, it is once.
    """

    lengths: Lengths
    spacing: Literal["random", "even"] = "random"
    factor: float = 1.0

    def __post_init__(self) -> None:
        hold_kinds(self)
        raise_faults(
            Fault(f"{name} must be at least 0, got {value}")
            for name, value in self._least_zero()
            if value < 0
        )

    def scaled(self, factor: float) -> Self:
        return replace(self, factor=self.factor * factor)

    @abc.abstractmethod
    def counted(self, times: Numbers) -> Numbers:
        """
        Return how many requests have come by some moments, ``factor`` aside.

        Args:
            times: The moments, in seconds from the start on.
        """

    def _least_zero(self) -> Iterator[tuple[str, float]]:
        # Every number of a curve is a rate, or seconds.
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float):
                yield each.name, value

    def _breaks(self) -> tuple[float, ...]:
        """
        Name the moments at which the rate jumps or bends.
        """
        return ()

    def expected(self, edges: Numbers) -> Expected:
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        # A hair of rounding must not make it less than nothing.
        requests = np.maximum(np.diff(self.counted(edges)), 0.0) * self.factor
        return Expected(
            requests,
            requests * self.lengths.prompts.mean,
            requests * self.lengths.answers.mean,
        )

    def typical(
        self,
        generator: np.random.Generator,
        count: int,
        duration: float,  # noqa: ARG002 - lengths do not change with time
    ) -> tuple[Tokens, Tokens]:
        prompts = self.lengths.prompts.sample(generator, count)
        return prompts, self.lengths.answers.sample(generator, count)

    def arrivals(
        self, generator: np.random.Generator, duration: float
    ) -> Iterator[Arrival]:
        begin = 0.0
        while begin < duration:
            end = self._few_until(begin, duration)
            times = self._times(generator, begin, end)
            prompts = self.lengths.prompts.sample(generator, len(times))
            answers = self.lengths.answers.sample(generator, len(times))
            yield from zip(
                times.tolist(), prompts.tolist(), answers.tolist(), strict=True
            )
            begin = end

    def _few_until(self, begin: float, duration: float) -> float:
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        # No rate is looked at for longer at once.
        step = min(_HOUR, duration - begin)
        while True:
            first, last = self.counted(np.array([begin, begin + step]))
            if float(last - first) * self.factor <= _AT_ONCE:
                return min(begin + step, duration)
            step /= 2

    def _times(
        self, generator: np.random.Generator, begin: float, end: float
    ) -> Numbers:
        """
        Draw when requests come: those of an even rate, bent by how many have come.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        breaks = [each for each in self._breaks() if begin < each < end]
        grid = np.unique(np.concatenate([np.linspace(begin, end, _POINTS), breaks]))
        counted = self.counted(grid) * self.factor
        first, last = float(counted[0]), float(counted[-1])
        if self.spacing == "even":
            marks = np.arange(math.ceil(first - 0.5), math.ceil(last - 0.5)) + 0.5
        else:
            count = generator.poisson(last - first)
            marks = np.sort(generator.uniform(first, last, count))
        found: Numbers = np.interp(marks, counted, grid)
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Constant(Rated):
    """
    The same rate all the time: ``Constant(rate=10, lengths=...)``.

    Args:
        rate: Requests a second.

        begin: Seconds after the start at which it begins.
            If omitted, it is there from the start.

        end: Seconds after the start at which it ends.
            If omitted, it goes on to the end.
    """

    rate: float
    begin: float = 0.0
    end: float | None = None

    def counted(self, times: Numbers) -> Numbers:
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        end = math.inf if self.end is None else max(self.end, self.begin)
        found: Numbers = self.rate * (np.clip(times, self.begin, end) - self.begin)
        return found

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
            If omitted, it begins at the start.
    """

    start: float
    stop: float
    over: float
    begin: float = 0.0

    def counted(self, times: Numbers) -> Numbers:
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        inside = np.clip(times - self.begin, 0, self.over)
        after = np.clip(times - self.begin - self.over, 0, None)
        part = inside / self.over if self.over else inside
        before: Numbers = self.start * np.minimum(times, self.begin)
        rise = (self.stop - self.start) * part / 2
        bent: Numbers = before + inside * (self.start + rise)
        return bent + self.stop * after

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
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        high = np.clip(times - self.at, 0, self.lasting)
        found: Numbers = self.base * (times - high) + self.peak * high
        return found

    def _breaks(self) -> tuple[float, ...]:
        return (self.at, self.at + self.lasting)


@dataclass(frozen=True, kw_only=True, slots=True)
class DayCurve(Rated):
    """
    A rate that is the same every day, or on all days of work: 24 numbers, and straight
    lines between them.

    ``DayCurve.between(1, 20, busiest=14, time_zone="Europe/Berlin", lengths=...)``

    Args:
        rates: Requests a second at 0:00, at 1:00, and so on to 23:00.

        time_zone: Whose hours they are; clocks are not put back or forward meanwhile.
            If omitted, it is UTC.

        since_midnight: Seconds of the day at which the run starts.
            If omitted, the run says it.

        weekend: How many times these rates Saturdays and Sundays have.
            If omitted, they are days like others.

        weekday: The day on which the run starts, from 0 for a Monday to 6.
            If omitted, the run says it.
    """

    rates: tuple[float, ...]
    time_zone: str = "UTC"
    since_midnight: float = 0.0
    weekend: float = 1.0
    weekday: int = 0

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
        weekend: float = 1.0,
    ) -> DayCurve:
        """
        Draw a day as a wave between a low and a high rate.

        Args:
            low: Requests a second at the quietest hour, twelve hours off the busiest.

            high: Requests a second at the busiest hour.

            lengths: How long prompts and answers are.

            busiest: The busiest hour, 0 to 23. If omitted, it is 14:00.

            time_zone: Whose hours they are. If omitted, it is UTC.

            spacing: ``random`` or ``even``. If omitted, requests come at random.

            weekend: How many times that Saturdays and Sundays have.
                If omitted, they are days like others.
        """
        turns = (2 * math.pi * (hour - busiest) / _HOURS for hour in range(_HOURS))
        rates = tuple(low + (high - low) * (1 + math.cos(turn)) / 2 for turn in turns)
        return cls(
            rates=rates,
            time_zone=time_zone,
            lengths=lengths,
            spacing=spacing,
            weekend=weekend,
        )

    def __post_init__(self) -> None:
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
        local = at.astimezone(ZoneInfo(self.time_zone))
        since = local.hour * _HOUR + local.minute * 60 + local.second
        return replace(self, since_midnight=since, weekday=local.weekday())

    def counted(self, times: Numbers) -> Numbers:
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        begin = self.weekday * _DAY + self.since_midnight
        return self._since_monday(times + begin) - self._since_monday(np.array([begin]))

    def _since_monday(self, times: Numbers) -> Numbers:
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
        weeks, day = np.divmod(days, _WEEK)
        free = np.maximum(day - _WORKDAYS, 0)
        whole = weeks * _WORKDAYS + np.minimum(day, _WORKDAYS)
        whole += (weeks * (_WEEK - _WORKDAYS) + free) * self.weekend
        today = np.where(day < _WORKDAYS, 1.0, self.weekend)
        found: Numbers = whole * before[-1] + (before[hour] + inside) * today
        return found

    def _least_zero(self) -> Iterator[tuple[str, float]]:
        yield "factor", self.factor
        yield "weekend", self.weekend
        yield from ((f"rates[{hour}]", rate) for hour, rate in enumerate(self.rates))
