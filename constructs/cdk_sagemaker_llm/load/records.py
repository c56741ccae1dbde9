"""
What is kept of each request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

UNFINISHED = "unfinished"
"""The failure of a request that nobody waited for any longer: neither good nor bad."""


@dataclass(frozen=True, slots=True)
class Record:
    """
    One request.

    Args:
        start: When it was due, in seconds since 1970.

        latency: Seconds from then to its end.

        first_token: Seconds from then to its first token. If left out, there was none,
            or it was not streamed.

        tokens: How many tokens its answer had.

        prompt_tokens: How many its prompt had, as the engine counted.
            If left out, it did not say.

        failure: What kind of failure it ended with. If left out, with none.
    """

    start: float
    latency: float
    first_token: float | None = None
    tokens: int = 0
    prompt_tokens: int | None = None
    failure: str = ""

    @property
    def end(self) -> float:
        """
        When it ended.
        """
        return self.start + self.latency

    @property
    def is_success(self) -> bool:
        """
        Whether its whole answer came.
        """
        return not self.failure

    @property
    def is_finished(self) -> bool:
        """
        Whether it ended by itself, well or not.
        """
        return self.failure != UNFINISHED

    def packed(self) -> list[Any]:
        """
        Pack it for another process.
        """
        return [
            self.start,
            self.latency,
            self.first_token,
            self.tokens,
            self.prompt_tokens,
            self.failure,
        ]

    @classmethod
    def unpacked(cls, values: Sequence[Any]) -> Self:
        """
        Unpack it.
        """
        return cls(*values)
