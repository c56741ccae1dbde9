"""
Users who wait for each answer, think, and ask again: a closed loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

from cdk_sagemaker_llm.arguments import hold_kinds, raise_faults
from cdk_sagemaker_llm.arguments.kinds import Fault
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths


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
        """
        Hold each field to its kind and range.
        """
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
        """
        return replace(self, count=round(self.count * factor))
