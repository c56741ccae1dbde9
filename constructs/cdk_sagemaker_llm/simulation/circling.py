"""
Users who ask, wait for the answer, think and ask again, over a model's copies.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.simulation.outcome import Refusal
from cdk_sagemaker_llm.simulation.routing import Router
from cdk_sagemaker_llm.simulation.scenario import Routing, Workload
from cdk_sagemaker_llm.simulation.traffic.users import Users

if TYPE_CHECKING:
    import numpy as np

_AT_ONCE = 1024
# Nobody asks again at the very moment of a refusal, not even without thinking.
REFUSED_PAUSE = 1.0


class UsersRouter(Router):
    """
    Has users send requests, each of which waits for the answer and thinks.

    Args:
        workload: The model.

        routing: To which copy a request goes.

        users: The users.

        generator: Where lengths and pauses are drawn from.

        seed: What else chance follows.
    """

    def __init__(
        self,
        workload: Workload,
        routing: Routing,
        users: Users,
        generator: np.random.Generator,
        seed: int,
    ) -> None:
        super().__init__(workload, routing, iter(()), seed)
        self._users = users
        self._lengths = _drawn(users, generator)
        over = users.joined_over
        self._asking = [(over * (n + 0.5) / users.count, n) for n in range(users.count)]

    def run_until(self, until: float) -> None:
        """
        Play out all requests up to a moment.
        """
        dues = self._dues
        while True:
            at = self._asking[0][0] if self._asking else math.inf
            due = min(dues, default=math.inf)
            if due <= at and due <= until:
                self._finish(due, dues.index(due))
            elif at < until:
                self._ask(*heapq.heappop(self._asking))
            else:
                return

    def _ask(self, now: float, user: int) -> None:
        prompt, answer = next(self._lengths)
        self._tally.arrived += 1
        number = self._choose(now, prompt + answer, user)
        if number >= 0:
            self._loads[number] += 1
            self._dues[number] = self._copies[number].offer(now, prompt, answer, user)

    def _finish(self, now: float, number: int) -> None:
        copy = self._copies[number]
        arrived, user = copy.finish()
        self._loads[number] -= 1
        latency = now - arrived
        if latency <= self._patience:
            self._tally.latencies.append(latency)
        else:
            self._tally.timed_out += 1
        self._think(arrived + min(latency, self._patience), now, user)
        if copy.dropped:
            self._drop(number, now)
        self._dues[number] = copy.next

    def _think(self, answered: float, now: float, user: int) -> None:
        users = self._users
        is_random = users.thinking == "random" and users.think > 0
        pause = self._random.expovariate(1 / users.think) if is_random else users.think
        # The client has its answer, or gives up, when the overhead is spent as well.
        again = answered + self._workload.service.overhead_seconds + pause
        heapq.heappush(self._asking, (max(again, now), user))

    def _refuse(self, why: Refusal, whose: int, now: float) -> int:
        self._think(now + REFUSED_PAUSE, now, whose)
        return super()._refuse(why, whose, now)

    def _drop(self, number: int, now: float) -> None:
        copy = self._copies[number]
        for arrived, _, _, user in copy.dropped:
            self._think(arrived + self._patience, now, user)
        super()._drop(number, now)


def _drawn(users: Users, generator: np.random.Generator) -> Iterator[tuple[int, int]]:
    lengths = users.lengths
    for _ in itertools.count():
        prompts = lengths.prompts.sample(generator, _AT_ONCE).tolist()
        yield from zip(
            prompts, lengths.answers.sample(generator, _AT_ONCE).tolist(), strict=True
        )
