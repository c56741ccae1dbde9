"""
The requests of one model, each from its arrival to its end, over the model's copies:
those that come at a rate, those of users who wait for answers, and those in a queue.

Between two moments at which anything else can happen, such as a copy that comes, a
model's requests concern nobody else: they are played out here at one go.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.simulation.outcome import Refusal
from cdk_sagemaker_llm.simulation.scenario import Routing, Workload
from cdk_sagemaker_llm.simulation.service.batching import BatchingCopy
from cdk_sagemaker_llm.simulation.traffic.base import Arrival, Users

if TYPE_CHECKING:
    import numpy as np

_AT_ONCE = 1024
# Nobody asks again at the very moment of a refusal, not even without thinking.
REFUSED_PAUSE = 1.0
# How long a request may wait, where its caller says nothing (API reference,
# InvokeEndpointAsync, RequestTTLSeconds).
LIFETIME = 21_600.0
_NEVER: Arrival = (math.inf, 0, 0)
LEAVING = 1 << 40
"""Added to the load of a copy that takes no more requests: never the least."""


@dataclass(slots=True)
class Tally:
    """
    What happened to requests since it was last asked for; latencies are in seconds.
    """

    arrived: int = 0
    latencies: list[float] = field(default_factory=list)
    timed_out: int = 0
    refused: dict[Refusal, int] = field(default_factory=dict)


class Router:
    """
    Sends requests that come at a rate to the copies that serve, and follows them.
    """

    def __init__(
        self,
        workload: Workload,
        routing: Routing,
        arrivals: Iterator[Arrival],
        seed: int,
    ) -> None:
        self._workload = workload
        self._is_random = routing == "RANDOM"
        self._arrivals = arrivals
        self._next = next(arrivals, _NEVER)
        self._random = random.Random(seed)  # noqa: S311 - nothing secret hangs on it
        self._tally = Tally()
        self._patience = workload.timeout - workload.service.overhead_seconds
        self._firsts: list[float] = []
        self._keys: list[object] = []
        self._copies: list[BatchingCopy] = []
        self._loads: list[int] = []
        self._leaving: set[object] = set()
        # When each copy is due. To look through all of them costs less than a heap of
        # what changes with every request, for as many copies as there can be.
        self._dues: list[float] = []

    @property
    def serving(self) -> int:
        """
        How many copies take requests.
        """
        return len(self._copies) - len(self._leaving)

    @property
    def loads(self) -> list[int]:
        """
        How many requests each copy that serves has under way.
        """
        return [load for load in self._loads if load < LEAVING]

    @property
    def under_way(self) -> int:
        """
        How many requests have no answer yet.
        """
        return sum(load % LEAVING for load in self._loads)

    @property
    def waiting(self) -> int:
        """
        How many of them are in line.
        """
        return sum(copy.waiting for copy in self._copies)

    def take_worked(self, now: float) -> dict[object, float]:
        """
        Return for how many seconds each copy had something to do since the last time.
        """
        pairs = zip(self._keys, self._copies, strict=True)
        return {key: copy.take_worked(now) for key, copy in pairs}

    def take_firsts(self) -> list[float]:
        """
        Return the seconds to the first tokens of what was admitted since the last time.
        """
        firsts = self._firsts[:]
        self._firsts.clear()
        return firsts

    def add(self, key: object) -> None:
        """
        Let a copy serve from now on.
        """
        workload = self._workload
        self._keys.append(key)
        self._copies.append(
            BatchingCopy(workload.service, workload.timeout, self._firsts)
        )
        self._loads.append(0)
        self._dues.append(math.inf)

    def leave(self, key: object) -> None:
        """
        Send a copy nothing more; what it has it serves to the end.
        """
        if key in self._keys and key not in self._leaving:
            self._leaving.add(key)
            self._loads[self._keys.index(key)] += LEAVING

    def remove(self, key: object, now: float) -> None:
        """
        Take a copy away, with the requests it still has.
        """
        if key not in self._keys:
            return
        number = self._keys.index(key)
        self._leaving.discard(key)
        cut_off = self._copies[number].stop()
        for each in (self._keys, self._copies, self._loads, self._dues):
            del each[number]
        self._cut_off(cut_off, now)

    def take(self, now: float) -> Tally:
        """
        Hand over what happened since the last time.
        """
        for number, copy in enumerate(self._copies):
            copy.give_up(now)
            if copy.dropped:
                self._drop(number, now)
        tally, self._tally = self._tally, Tally()
        return tally

    def run_until(self, until: float) -> None:
        """
        Play out all requests up to a moment.
        """
        # A day of ten requests a second goes through here 864,000 times.
        copies, loads, dues = self._copies, self._loads, self._dues
        workload, patience = self._workload, self._patience
        served = self._tally.latencies.append
        room = workload.service.kv_tokens or math.inf
        is_plain = not self._is_random and workload.queue_limit is None and self.serving
        arrivals, (at, prompt, answer) = self._arrivals, self._next
        soonest = min(dues, default=math.inf)
        arrived = 0
        while True:
            stop = at if at < until else until  # noqa: FURB136 - twice as fast
            while soonest <= stop:
                number = dues.index(soonest)
                copy = copies[number]
                latency = soonest - copy.finish()[0]
                loads[number] -= 1
                if latency <= patience:
                    served(latency)
                else:
                    self._tally.timed_out += 1
                if copy.dropped:
                    self._drop(number, soonest)
                dues[number] = copy.next
                soonest = min(dues)
            if at >= until:
                break
            arrived += 1
            if is_plain and prompt + answer <= room:
                number = loads.index(min(loads))
            else:
                number = self._choose(at, prompt + answer)
            if number >= 0:
                loads[number] += 1
                due = copies[number].offer(at, prompt, answer)
                if due < soonest:
                    dues[number] = soonest = due
                elif dues[number] == soonest:
                    dues[number] = due
                    soonest = min(dues)
                else:
                    dues[number] = due
            at, prompt, answer = next(arrivals, _NEVER)
        self._next = at, prompt, answer
        self._tally.arrived += arrived

    def _choose(self, now: float, tokens: int, whose: int = 0) -> int:
        """
        Choose a copy by number; -1 if the request is refused.
        """
        workload, loads = self._workload, self._loads
        if not self.serving:
            return self._refuse("no capacity", whose, now)
        if tokens > (workload.service.kv_tokens or math.inf):
            return self._refuse("too long", whose, now)
        if self._is_random:
            able = [number for number, load in enumerate(loads) if load < LEAVING]
            number = able[int(self._random.random() * len(able))]
        else:
            number = loads.index(min(loads))
        copy, limit = self._copies[number], workload.queue_limit
        if limit is not None and copy.waiting >= limit and copy.must_wait(tokens):
            return self._refuse("queue full", whose, now)
        return number

    def _cut_off(self, whose: list[int], now: float) -> None:
        for each in whose:
            self._refuse("copy gone", each, now)

    def _refuse(self, why: Refusal, whose: int, now: float) -> int:  # noqa: ARG002 - users ask again
        refused = self._tally.refused
        refused[why] = refused.get(why, 0) + 1
        return -1

    def _drop(self, number: int, now: float) -> None:  # noqa: ARG002 - users ask again
        dropped = self._copies[number].dropped
        self._tally.timed_out += len(dropped)
        self._loads[number] -= len(dropped)
        dropped.clear()


class UsersRouter(Router):
    """
    Has users send requests, each of whom waits for the answer, thinks and asks again.
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
        self._lengths = self._drawn(generator)
        over = users.joined_over
        self._asking = [(over * (n + 0.5) / users.count, n) for n in range(users.count)]

    def run_until(self, until: float) -> None:
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

    def _drawn(self, generator: np.random.Generator) -> Iterator[tuple[int, int]]:
        lengths = self._users.lengths
        while True:
            prompts = lengths.prompts.sample(generator, _AT_ONCE).tolist()
            answers = lengths.answers.sample(generator, _AT_ONCE).tolist()
            yield from zip(prompts, answers, strict=True)


class QueueRouter(Router):
    """
    Lets requests wait until a copy has a place for them, and refuses none.

    Those of a copy that goes away are put back to the front.
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
        return super().under_way + len(self._queue)

    @property
    def waiting(self) -> int:
        return super().waiting + len(self._queue)

    @property
    def oldest(self) -> float:
        """
        For how many seconds the oldest one has been there.
        """
        arrivals = [each.arrived for each in (*self._working.values(), *self._queue)]
        return self._now - min(arrivals, default=self._now)

    def run_until(self, until: float) -> None:
        self._hand_out(self._now)
        room = self._workload.service.kv_tokens or math.inf
        at, prompt, answer = self._next
        while True:
            due = min(self._dues, default=math.inf)
            if min(at, due) >= until:
                break
            if due <= at:
                self._finish(due)
            else:
                self._tally.arrived += 1
                if prompt + answer > room:
                    self._refuse("too long", 0, at)
                else:
                    self._queue.append(_Request(at, prompt, answer))
                self._hand_out(at)
                at, prompt, answer = next(self._arrivals, _NEVER)
        self._next = at, prompt, answer
        self._now = until

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
        self._hand_out(now)

    def _drop(self, number: int, now: float) -> None:
        for *_, who in self._copies[number].dropped:
            del self._working[who]
        super()._drop(number, now)

    def _cut_off(self, whose: list[int], now: float) -> None:
        self._queue.extendleft(reversed([self._working.pop(who) for who in whose]))
        self._hand_out(now)

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


@dataclass(slots=True)
class _Request:
    arrived: float
    prompt: int
    answer: int
