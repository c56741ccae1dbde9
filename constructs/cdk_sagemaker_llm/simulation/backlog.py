"""
The requests of an asynchronous endpoint: one queue, from which instances take.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

from cdk_sagemaker_llm.simulation.routing import Router
from cdk_sagemaker_llm.simulation.scenario import Routing, Workload
from cdk_sagemaker_llm.simulation.traffic.base import Arrival


class BacklogRouter(Router):
    """
    Keeps requests until an instance has room for them, and follows them.

    What an instance has not finished when it goes is taken up again.

    Args:
        workload: The model.

        routing: To which copy a request goes.

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
        self._limit = workload.queue_concurrency or workload.service.max_sequences
        self._queue: deque[Arrival] = deque()
        self._taken: dict[int, Arrival] = {}
        self._count = 0
        self._now = 0.0

    @property
    def backlog(self) -> int:
        """
        How many requests wait or are worked on.
        """
        return len(self._queue) + len(self._taken)

    @property
    def waiting(self) -> int:
        """
        How many requests are in line.
        """
        return super().waiting + len(self._queue)

    @property
    def under_way(self) -> int:
        """
        How many requests have no answer yet.
        """
        return self.backlog

    def add(self, key: object) -> None:
        """
        Let a copy serve from now on.
        """
        super().add(key)
        self._hand_out(self._now)

    def remove(self, key: object, now: float) -> None:
        """
        Take a copy away; what it had is in line again, before all others.
        """
        if key not in self._keys:
            return
        number = self._keys.index(key)
        self._leaving.discard(key)
        again = [self._taken.pop(whose) for whose in self._copies[number].stop()]
        for each in (self._keys, self._copies, self._loads, self._dues):
            del each[number]
        self._queue.extendleft(sorted(again, reverse=True))
        self._hand_out(now)

    def run_until(self, until: float) -> None:
        """
        Play out all requests up to a moment.
        """
        while True:
            at = self._next[0]
            due = min(self._dues, default=math.inf)
            if due <= at and due <= until:
                self._finish(due, self._dues.index(due))
            elif at < until:
                self._arrive()
            else:
                self._now = until
                return

    def _arrive(self) -> None:
        at, prompt, answer = self._next
        self._next = next(self._arrivals, (math.inf, 0, 0))
        self._tally.arrived += 1
        if prompt + answer > (self._workload.service.kv_tokens or math.inf):
            self._refuse("too long", 0, at)
            return
        self._queue.append((at, prompt, answer))
        self._hand_out(at)

    def _finish(self, now: float, number: int) -> None:
        copy = self._copies[number]
        _, whose = copy.finish()
        self._loads[number] -= 1
        self._tally.latencies.append(now - self._taken.pop(whose)[0])
        self._dues[number] = copy.next
        self._hand_out(now)

    def _hand_out(self, now: float) -> None:
        loads = self._loads
        while self._queue and loads and min(loads) < self._limit:
            number = loads.index(min(loads))
            self._count += 1
            taken = self._taken[self._count] = self._queue.popleft()
            loads[number] += 1
            due = self._copies[number].offer(now, taken[1], taken[2], self._count)
            self._dues[number] = due
