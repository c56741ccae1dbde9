"""
The requests of an asynchronous endpoint: all wait in one queue before its copies.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from cdk_sagemaker_llm.simulation.metrics import (
    SAGEMAKER,
    Datapoint,
    Metric,
    MetricStore,
)
from cdk_sagemaker_llm.simulation.routing import LEAVING, Router
from cdk_sagemaker_llm.simulation.scenario import Routing, Workload
from cdk_sagemaker_llm.simulation.traffic.base import Arrival

# How long a request may wait, where its caller says nothing (API reference,
# InvokeEndpointAsync, RequestTTLSeconds).
LIFETIME = 21_600.0


@dataclass(slots=True)
class _Request:
    """
    One request, from its arrival on.
    """

    arrived: float
    prompt: int
    answer: int


class QueueRouter(Router):
    """
    Lets requests wait until a copy has a place for them, and refuses none.

    Those of a copy that goes away are put back to the front.

    Args:
        workload: The model.

        routing: To which copy a request goes; of no effect.

        arrivals: The requests, in order.

        seed: What chance follows.
    """

    def __init__(
        self,
        workload: Workload,
        routing: Routing,
        arrivals: Iterator[Arrival],
        seed: int,
    ) -> None:
        super().__init__(workload, routing, arrivals, seed)
        self._places = workload.at_once or 1
        self._queue: deque[_Request] = deque()
        self._working: dict[int, _Request] = {}
        self._numbers = 0
        self._now = 0.0

    @property
    def under_way(self) -> int:
        """
        How many requests have no answer yet: the backlog.
        """
        return super().under_way + len(self._queue)

    @property
    def waiting(self) -> int:
        """
        How many of them are in line.
        """
        return super().waiting + len(self._queue)

    @property
    def oldest(self) -> float:
        """
        For how many seconds the oldest one has been there.
        """
        arrivals = [each.arrived for each in (*self._working.values(), *self._queue)]
        return self._now - min(arrivals, default=self._now)

    def remove(self, key: object, now: float) -> None:
        """
        Take a copy away; what it has not answered is worked on anew.
        """
        if key not in self._keys:
            return
        number = self._keys.index(key)
        self._leaving.discard(key)
        unanswered = [self._working.pop(who) for who in self._copies[number].stop()]
        for each in (self._keys, self._copies, self._loads, self._dues):
            del each[number]
        self._queue.extendleft(reversed(unanswered))
        self._hand_out(now)

    def run_until(self, until: float) -> None:
        """
        Play out all requests up to a moment.
        """
        self._hand_out(self._now)
        at, prompt, answer = self._next
        while True:
            due = min(self._dues, default=math.inf)
            if min(at, due) >= until:
                break
            if due <= at:
                self._finish(due)
            else:
                self._take_in(_Request(at, prompt, answer))
                self._hand_out(at)
                at, prompt, answer = next(self._arrivals, (math.inf, 0, 0))
        self._next = at, prompt, answer
        self._now = until

    def _take_in(self, request: _Request) -> None:
        self._tally.arrived += 1
        room = self._workload.service.kv_tokens or math.inf
        if request.prompt + request.answer > room:
            self._refuse("too long", 0, request.arrived)
        else:
            self._queue.append(request)

    def _finish(self, now: float) -> None:
        number = self._dues.index(now)
        copy = self._copies[number]
        started, who = copy.finish()
        self._dues[number] = copy.next
        self._loads[number] -= 1
        request = self._working.pop(who)
        if now - started <= self._patience:
            self._tally.latencies.append(now - request.arrived)
        else:
            self._tally.timed_out += 1
        if copy.dropped:
            self._drop(number, now)
        if copy.next > now:
            # Others that end with the same token come before what is next.
            self._hand_out(now)

    def _drop(self, number: int, now: float) -> None:
        for *_, who in self._copies[number].dropped:
            del self._working[who]
        super()._drop(number, now)

    def _hand_out(self, now: float) -> None:
        queue, loads = self._queue, self._loads
        while queue and now - queue[0].arrived >= LIFETIME:
            queue.popleft()
            self._tally.timed_out += 1
        while queue:
            load = min(loads, default=LEAVING)
            if load >= self._places:
                return
            request, number = queue.popleft(), loads.index(load)
            self._numbers += 1
            self._working[self._numbers] = request
            loads[number] += 1
            self._dues[number] = self._copies[number].offer(
                now, request.prompt, request.answer, self._numbers
            )


class BacklogPublisher:
    """
    Puts what waits for an endpoint into the store, under the names of the guide's.

    Args:
        endpoint: The endpoint's name, which is the metrics' only dimension.

        store: Where the metrics go.
    """

    def __init__(self, endpoint: str, store: MetricStore) -> None:
        self._endpoint = endpoint
        self._store = store

    def publish(self, time: float, router: QueueRouter) -> None:
        """
        Note what waits since a moment.

        Where there is no copy, the guide says that target tracking starts one once
        more waits than its target: the backlog is divided by one then.
        """
        size, copies = router.under_way, router.serving
        values = {
            "ApproximateBacklogSize": float(size),
            "ApproximateBacklogSizePerInstance": size / max(1, copies),
            "ApproximateAgeOfOldestRequest": router.oldest,
            "HasBacklogWithoutCapacity": float(bool(size) and not copies),
        }
        for name, value in values.items():
            metric = Metric.of(SAGEMAKER, name, {"EndpointName": self._endpoint})
            self._store.add(metric, time, Datapoint(value, 1.0, value, value))
