"""
Traffic at a rate: what every curve of rates over time has in common.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from cdk_sagemaker_llm.arguments import hold_kinds, raise_faults
from cdk_sagemaker_llm.arguments.kinds import Fault
from cdk_sagemaker_llm.simulation.traffic.base import Arrival, Expected, Traffic
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths

if TYPE_CHECKING:
    import numpy as np

    from cdk_sagemaker_llm.simulation.traffic.base import Numbers, Tokens

# No rate is looked at for longer than this at once.
_HOUR = 3600.0
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
            (Poisson), or in ``even`` steps. If left out, they come at random.

        factor: How many times the rate there are. If left out, it is once.
    """

    lengths: Lengths
    spacing: Literal["random", "even"] = "random"
    factor: float = 1.0

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, and the rates to what rates can be.
        """
        hold_kinds(self)
        raise_faults(
            Fault(f"{name} must be at least 0, got {value}")
            for name, value in (("factor", self.factor), *self._least_zero())
            if value < 0
        )

    def scaled(self, factor: float) -> Self:
        """
        Return the same traffic with so many times the requests.
        """
        return replace(self, factor=self.factor * factor)

    @abc.abstractmethod
    def counted(self, times: Numbers) -> Numbers:
        """
        Return how many requests have come by some moments, ``factor`` aside.
        """

    @abc.abstractmethod
    def _least_zero(self) -> tuple[tuple[str, float], ...]:
        """
        Name the numbers that are at least 0.
        """

    def _breaks(self) -> tuple[float, ...]:
        """
        Name the moments at which the rate jumps or bends.
        """
        return ()

    def expected(self, edges: Numbers) -> Expected:
        """
        Return what comes between each two of some moments, on average.
        """
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
        """
        Draw the lengths of about so many requests: of prompts, and of answers.
        """
        prompts = self.lengths.prompts.sample(generator, count)
        return prompts, self.lengths.answers.sample(generator, count)

    def arrivals(
        self, generator: np.random.Generator, duration: float
    ) -> Iterator[Arrival]:
        """
        Draw the requests, one after the other in the order in which they come.
        """
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
        step = min(_HOUR, duration - begin)
        while self._between(begin, begin + step) > _AT_ONCE:
            step /= 2
        return min(begin + step, duration)

    def _between(self, begin: float, end: float) -> float:
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        first, last = self.counted(np.array([begin, end]))
        return float(last - first) * self.factor

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
