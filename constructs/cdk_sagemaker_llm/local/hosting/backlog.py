"""
The requests that wait for an endpoint of asynchronous inference, and those in work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


class Request(Protocol):
    """
    One request of a queue.
    """

    received: float
    expires: float

    def start(self) -> tuple[float, Callable[[], object]]:
        """
        Have it answered; return the seconds that takes, and what to do then.
        """

    def expire(self) -> None:
        """
        Give up: it has waited too long.
        """


@dataclass
class Backlog:
    """
    What an endpoint has to do.
    """

    waiting: deque[Request] = field(default_factory=deque)
    working: list[Request] = field(default_factory=list)

    @property
    def size(self) -> int:
        """
        How many requests wait, or are being processed.
        """
        return len(self.waiting) + len(self.working)

    def age(self, now: float) -> float:
        """
        Return for how many seconds the oldest one has been there.
        """
        every = (*self.working, *self.waiting)
        return max((now - each.received for each in every), default=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Processed:
    """
    One request of a queue, after its end.

    Args:
        endpoint: The endpoint's name.

        variant: The variant's name.

        received: When it came, in embedded seconds since the epoch.

        started: When it was taken out of the queue.

        ended: When its answer was written.

        status: What the container answered; 0 if it was not asked.

        failed: Whether it failed, however.

        expired: Whether it had waited too long.

        downloaded: Whether the request could be read.

        notified: Whether every topic could be told.
    """

    endpoint: str
    variant: str
    received: float
    started: float
    ended: float
    status: int
    failed: bool = False
    expired: bool = False
    downloaded: bool = True
    notified: bool = True
