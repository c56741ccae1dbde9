"""
The requests that wait for an endpoint of asynchronous inference, and those in work.

Everything here happens with the server's lock held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.sagemaker.world import Endpoint, World

# The API: "If no value is provided, SageMaker chooses an optimal value", which is not
# told; the stand-in model answers one at a time.
_AT_ONCE = 1


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


def instances_of(endpoint: Endpoint) -> int:
    """
    Return how many instances of an endpoint serve.
    """
    names = [
        variant["VariantName"] for variant in endpoint.config["ProductionVariants"]
    ]
    return sum(endpoint.fleets[name].serving(name) for name in names)


def put(world: World, endpoint: Endpoint, request: Request) -> None:
    """
    Let a request wait for its turn, which may be now.
    """
    endpoint.backlog.waiting.append(request)
    work(world, endpoint)


def work(world: World, endpoint: Endpoint) -> None:
    """
    Start as many requests as the instances take.
    """
    backlog = endpoint.backlog
    _expire(backlog, world.clock.moment)
    while backlog.waiting and len(backlog.working) < _places(endpoint):
        request = backlog.waiting.popleft()
        backlog.working.append(request)
        seconds, finish = request.start()
        world.clock.after(seconds, partial(_end, world, endpoint, request, finish))


def work_everywhere(world: World) -> None:
    """
    Start what waits, wherever instances have come.
    """
    for endpoint in list(world.endpoints):
        if endpoint.backlog.waiting:
            work(world, endpoint)


def _end(
    world: World, endpoint: Endpoint, request: Request, finish: Callable[[], object]
) -> None:
    endpoint.backlog.working.remove(request)
    finish()
    # Where nothing takes time, who started this one goes on with the next.
    if world.clock.speed is not None:
        work(world, endpoint)


def _expire(backlog: Backlog, now: float) -> None:
    late = [request for request in backlog.waiting if request.expires <= now]
    for request in late:
        backlog.waiting.remove(request)
        request.expire()


def _places(endpoint: Endpoint) -> int:
    client = endpoint.config.get("AsyncInferenceConfig", {}).get("ClientConfig", {})
    each = client.get("MaxConcurrentInvocationsPerInstance", _AT_ONCE)
    return instances_of(endpoint) * int(each)
