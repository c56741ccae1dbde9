"""
The requests of endpoints: under way, in a queue, and ended.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from cdk_sagemaker_llm.local.aws.clock import Clock

Where = tuple[str, str, str | None]
"""An endpoint, its variant, and the component if it was one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """
    One request, after its end.

    Args:
        started: When it came, in embedded seconds since the epoch.

        ended: When its last byte was given.

        status: What the container answered, or the service in its place.

        first_chunk: When the first part of a stream was given.

        no_capacity: Whether the component had no copy to answer.
    """

    endpoint: str
    variant: str
    component: str | None
    started: float
    ended: float
    status: int
    first_chunk: float | None = None
    no_capacity: bool = False
    is_cut: bool = False


Arrival = Callable[[Where], None]
Listener = Callable[[Served], None]


class Traffic:
    """
    Counts what is under way, and tells of what has ended.

    Everything here happens with the server's lock held.
    """

    def __init__(self, clock: Clock) -> None:
        self.in_flight: Counter[Where] = Counter()
        self.arrivals: list[Arrival] = []
        self.listeners: list[Listener] = []
        self.later: list[Callable[[Processed], None]] = []
        self._clock = clock

    def begin(self, where: Where) -> Visit:
        """
        Note that a request has come.
        """
        self.in_flight[where] += 1
        for arrival in self.arrivals:
            arrival(where)
        return Visit(self, where, self._clock)

    def processed(self, done: Processed) -> None:
        """
        Tell of a request that nobody waited for.
        """
        for listener in self.later:
            listener(done)

    def note_refusal(self, where: Where, status: int) -> None:
        """
        Note a request that found no copy of its component.
        """
        now, (endpoint, variant, component) = self._clock.moment, where
        self.tell(
            Served(
                endpoint=endpoint,
                variant=variant,
                component=component,
                started=now,
                ended=now,
                status=status,
                no_capacity=True,
            )
        )

    def tell(self, served: Served) -> None:
        """
        Tell of a request that has ended.
        """
        for listener in self.listeners:
            listener(served)


class Visit:
    """
    One request that is under way.
    """

    def __init__(self, traffic: Traffic, where: Where, clock: Clock) -> None:
        self._traffic = traffic
        self._where = where
        self._clock = clock
        self._started = clock.moment
        self._first_chunk: float | None = None

    def first_chunk(self) -> None:
        """
        Note that the first part of a stream is on its way.
        """
        if self._first_chunk is None:
            self._first_chunk = self._clock.moment

    def end(self, status: int, *, is_cut: bool = False) -> None:
        """
        Note that it has ended, with the container's status, or that its stream broke
        off.
        """
        flight = self._traffic.in_flight
        flight[self._where] -= 1
        if not flight[self._where]:
            del flight[self._where]
        endpoint, variant, component = self._where
        self._traffic.tell(
            Served(
                endpoint=endpoint,
                variant=variant,
                component=component,
                started=self._started,
                ended=self._clock.moment,
                status=status,
                first_chunk=self._first_chunk,
                is_cut=is_cut,
            )
        )


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
        received: When it came, in embedded seconds since the epoch.

        started: When it was taken out of the queue.

        ended: When its answer was written.

        status: What the container answered; 0 if it was not asked.

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
