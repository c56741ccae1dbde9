"""
How long the stand-in model takes to answer, where things take time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """
    Embedded seconds that an answer takes; the defaults are an assumption.

    ``Latency(first_token=0.1, per_token=0.01)``

    Args:
        first_token: Until the first token. If left out, it is a quarter of a second.

        per_token: For each token after it. If left out, it is 20 milliseconds.

    Raises:
        ValueError: If one is negative.
    """

    first_token: float = 0.25
    per_token: float = 0.02

    def __post_init__(self) -> None:
        """
        Hold both to what time can be.
        """
        for name, value in (
            ("first_token", self.first_token),
            ("per_token", self.per_token),
        ):
            if not value >= 0:
                raise ValueError(f"{name} must be at least 0, got {value}")

    def seconds(self, tokens: int) -> float:
        """
        Return how long an answer of so many tokens takes.
        """
        return self.first_token + self.per_token * max(0, tokens - 1)
