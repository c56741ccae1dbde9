"""
From how many users on an endpoint answers no more a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.load.benchmark import Row

_NEAR = 0.95
_FEWEST = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Saturation:
    """
    From where on more users only wait longer.

    Args:
        first: The row of the fewest users whose throughput is near the most.

        most: The row of the most throughput.

        fewest: The fewest users tried.

        last: The most users tried.
    """

    first: Row
    most: Row
    fewest: int
    last: int

    @property
    def users(self) -> int | None:
        """
        How many users saturate it; ``None`` if throughput grew to the last row.
        """
        return None if self.first.users == self.last else self.first.users

    def __str__(self) -> str:
        """
        Say it.
        """
        if self.users is None:
            return (
                f"Throughput still grew at {self.last}, the most users tried "
                f"({self.first.rate.value:.2f} requests/s): try more to find where it "
                "is saturated."
            )
        whose = (
            f"already with {self.users} users, the fewest tried"
            if self.users == self.fewest
            else f"from {self.users} users on"
        )
        return (
            f"Throughput is saturated {whose}: {self.first.rate.value:.2f} requests/s, "
            f"within 5 % of the most, {self.most.rate.value:.2f} at "
            f"{self.most.users} users. More users only wait longer."
        )

    def to_facts(self) -> dict[str, Any]:
        """
        Return it as JSON has it.
        """
        return {
            "users": self.users,
            "requests_per_second": self.first.rate.value,
            "most_requests_per_second": self.most.rate.value,
            "most_at_users": self.most.users,
        }


def saturation_of(rows: Sequence[Row]) -> Saturation | None:
    """
    Find where throughput comes within 5 % of the most; ``None`` of a single row.
    """
    ordered = sorted(rows, key=lambda row: row.users)
    most = max(ordered, key=lambda row: row.rate.value, default=None)
    if most is None or len(ordered) < _FEWEST or not most.rate.value:
        return None
    first = next(row for row in ordered if row.rate.value >= most.rate.value * _NEAR)
    return Saturation(
        first=first, most=most, fewest=ordered[0].users, last=ordered[-1].users
    )
