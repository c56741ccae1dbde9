"""
What is asked of a model: traffic of requests, whatever it is made of, or users who
wait for each answer, think, and ask again, a closed loop.
"""

from __future__ import annotations

import abc
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from cdk_sagemaker_llm.arguments import hold_kinds, raise_faults
from cdk_sagemaker_llm.arguments.kinds import Fault
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Tokens = npt.NDArray[np.int64]
    Numbers = npt.NDArray[np.float64]

# seconds since the start, tokens of the prompt, tokens of the answer
Arrival = tuple[float, int, int]


class Expected(NamedTuple):
    """
    What a traffic comes to in each of some steps of time, on average: how many requests
    arrive, and tokens of their prompts and of their answers together.
    """

    requests: Numbers
    prompts: Numbers
    answers: Numbers


class Traffic(abc.ABC):
    """
    Requests that come whatever becomes of those before them.
    """

    __slots__ = ()

    @abc.abstractmethod
    def scaled(self, factor: float) -> Traffic:
        """
        Return the same traffic with so many times the requests.

        Args:
            factor: How many times the requests.
        """

    def starting(self, at: datetime) -> Self:  # noqa: ARG002 - most do not care
        """
        Return the traffic as it is for a run that starts then.

        Args:
            at: When the run starts.
        """
        return self

    @abc.abstractmethod
    def arrivals(
        self, generator: np.random.Generator, duration: float
    ) -> Iterator[Arrival]:
        """
        Draw the requests, one after the other in the order in which they come.

        Args:
            generator: Where chance comes from.

            duration: How long the run takes, in seconds.
        """

    @abc.abstractmethod
    def expected(self, edges: Numbers) -> Expected:
        """
        Return the average number of requests between each two consecutive moments.

        Args:
            edges: The moments, in seconds from the start on.
        """

    @abc.abstractmethod
    def typical(
        self, generator: np.random.Generator, count: int, duration: float
    ) -> tuple[Tokens, Tokens]:
        """
        Draw the lengths of about so many requests: of prompts, and of answers.

        Args:
            generator: Where chance comes from.

            count: How many requests.

            duration: How long the run takes, in seconds.
        """

    def __add__(self, other: Traffic) -> Traffic:
        """
        Add another traffic of the same model.
        """
        if not isinstance(other, Traffic):
            return NotImplemented
        return Together((self, other))


@dataclass(frozen=True, slots=True)
class Together(Traffic):
    """
    Several traffics of one model at the same time: ``Constant(...) + Spike(...)``.

    Args:
        parts: The traffics that come together.
    """

    parts: tuple[Traffic, ...]

    def scaled(self, factor: float) -> Self:
        return replace(self, parts=tuple(part.scaled(factor) for part in self.parts))

    def starting(self, at: datetime) -> Self:
        return replace(self, parts=tuple(part.starting(at) for part in self.parts))

    def arrivals(
        self, generator: np.random.Generator, duration: float
    ) -> Iterator[Arrival]:
        own = generator.spawn(len(self.parts))
        streams = (
            part.arrivals(each, duration)
            for part, each in zip(self.parts, own, strict=True)
        )
        return heapq.merge(*streams)

    def expected(self, edges: Numbers) -> Expected:
        found = [part.expected(edges) for part in self.parts]
        requests, prompts, answers = (sum(rows) for rows in zip(*found, strict=True))
        return Expected(requests, prompts, answers)

    def typical(
        self, generator: np.random.Generator, count: int, duration: float
    ) -> tuple[Tokens, Tokens]:
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        whole = np.array([0.0, duration])
        sizes = [float(part.expected(whole).requests[0]) for part in self.parts]
        total = sum(sizes)
        drawn = [
            part.typical(
                generator, round(count * size / total) if total else count, duration
            )
            for part, size in zip(self.parts, sizes, strict=True)
        ]
        prompts, answers = zip(*drawn, strict=True)
        return np.concatenate(prompts), np.concatenate(answers)


@dataclass(frozen=True, kw_only=True, slots=True)
class Users:
    """
    So many users, each with one request at a time.

    Unlike traffic at a rate they slow down with the service: the longer answers take,
    the fewer requests there are. A refused request is tried anew after thinking.

    ``Users(count=50, think=20, lengths=...)``

    Args:
        count: How many users there are.

        think: Seconds between an answer and the user's next request, on average.

        lengths: How long prompts and answers are.

        thinking: Whether that time is ``random`` (exponential) or ``even``.
            If omitted, it is random.

        joining: Seconds over which the users come, one after the other.
            If omitted, they come within one time of thinking.
    """

    count: int
    think: float
    lengths: Lengths
    thinking: Literal["random", "even"] = "random"
    joining: float | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)
        least = (("count", self.count), ("think", self.think))
        raise_faults(
            Fault(f"{name} must be at least 0, got {value}")
            for name, value in (*least, ("joining", self.joining or 0))
            if value < 0
        )

    @property
    def joined_over(self) -> float:
        """
        Seconds over which the users come.
        """
        return self.think if self.joining is None else self.joining

    def scaled(self, factor: float) -> Self:
        """
        Return the same with so many times the users.

        Args:
            factor: How many times the users.
        """
        return replace(self, count=round(self.count * factor))
