"""
What is passed from one step of fitting service times to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Said:
    """
    What is told of figures: how they were found, and what could not be told.
    """

    found: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Single:
    """
    What a request takes alone: outside of the batch, for a token of prompt, and for
    one of the answer.
    """

    overhead: float
    prompt: float
    token: float | None
