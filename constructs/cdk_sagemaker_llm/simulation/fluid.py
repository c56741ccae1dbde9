"""
The requests of one model as an amount that flows: so many arrive, wait in line, first
come, first served, and leave, in the time that batches settle to.
"""

from __future__ import annotations

import bisect
import math
from collections import deque
from dataclasses import dataclass, field

from cdk_sagemaker_llm.simulation.outcome import Refusal
from cdk_sagemaker_llm.simulation.scenario import Routing, Workload
from cdk_sagemaker_llm.simulation.service.performance import Equilibrium, Steady

# How finely the lengths of prompts count: a mix that changes is solved anew.
_DIGITS = 3
_MOST_EQUILIBRIA = 1000
_LEAST = 1e-9


class Fluid:
    """
    One model's requests over its copies, step by step.
    """

    def __init__(self, workload: Workload, lot: Lot, routing: Routing) -> None:
        service = workload.service
        self.waiting = 0.0
        self.lot = lot
        # How many are in the batches of the copies that serve.
        self.running = 0.0
        self._workload = workload
        # What comes to copies at random is as uneven at each as at one alone.
        self._is_even = routing != "RANDOM"
        self._patience = workload.timeout - service.overhead_seconds
        self._serving: set[object] = set()
        # What copies that take no more still have.
        self._leaving: dict[object, float] = {}
        self._cut_off = 0.0
        self._now = 0.0
        self._line = _WaitingLine()
        self._equilibria: dict[tuple[float, float], Equilibrium] = {}

    @property
    def serving(self) -> int:
        """
        How many copies take requests.
        """
        return len(self._serving)

    @property
    def under_way(self) -> float:
        """
        How many requests have no answer yet.
        """
        leaving = self._cut_off + sum(self._leaving.values())
        return self.waiting + self.running + leaving

    @property
    def load(self) -> float:
        """
        How many requests the copies that serve have under way.
        """
        return self.waiting + self.running

    @property
    def keys(self) -> tuple[object, ...]:
        """
        The copies that serve.
        """
        return tuple(self._serving)

    def add(self, copy: object) -> None:
        """
        Let a copy serve from now on.
        """
        self._serving.add(copy)

    def leave(self, copy: object) -> None:
        """
        Send a copy nothing more; it keeps its share of what is under way.
        """
        if copy in self._serving:
            share = 1 / len(self._serving)
            self._serving.remove(copy)
            self._leaving[copy] = self.load * share
            self.waiting *= 1 - share
            self._line.shrink(1 - share)
            self.running *= 1 - share

    def remove(self, copy: object, now: float) -> None:  # noqa: ARG002 - as any line of requests
        """
        Take a copy away, with the requests it still has.
        """
        self.leave(copy)
        self._cut_off += self._leaving.pop(copy, 0.0)

    def equilibrium(self, prompt: float, answer: float) -> Equilibrium:
        """
        Return the steady state of batches with requests of such lengths.
        """
        key = round(prompt, _DIGITS), round(answer, _DIGITS)
        found = self._equilibria.get(key)
        if found is None:
            lot = self.lot
            if len(self._equilibria) > _MOST_EQUILIBRIA:
                self._equilibria.clear()
            found = self._equilibria[key] = Equilibrium(
                self._workload.service,
                prompt * lot.kept_prompts,
                answer * lot.kept_answers,
                lot.spread,
            )
        return found

    def settled(self, rate: float, kind: Equilibrium) -> Steady | None:
        """
        Return the steady state of each copy at a rate of all of them, of which there is
        one at least; ``None`` if the copies cannot keep up.
        """
        copies = len(self._serving)
        return kind.at(rate / copies, copies if self._is_even else 1)

    def asked(self, users: float, pause: float, kind: Equilibrium) -> float:
        """
        Return the rate at which users ask all copies, of which there is one at least.
        """
        return kind.asked(users, pause, len(self._serving), is_even=self._is_even)

    def step(self, seconds: float, arrived: float, kind: Equilibrium) -> Flow:
        """
        Let requests of one kind arrive and be served for some seconds.
        """
        self._now += seconds
        flow = Flow(arrived)
        refused = flow.refused
        if self._cut_off:
            refused["copy gone"], self._cut_off = self._cut_off, 0.0
        if self._leaving:
            self._drain(seconds, kind, flow)
        copies = len(self._serving)
        if not copies:
            if arrived:
                refused["no capacity"] = arrived
            return flow
        if self.lot.too_long and arrived:
            refused["too long"] = arrived * self.lot.too_long
            arrived -= refused["too long"]
        steady = None
        if not self.waiting:
            steady = self.settled(arrived / seconds, kind)
        if steady is None:
            self._full(seconds, arrived, copies, kind, flow)
        else:
            self._even(seconds, arrived, copies, steady, flow)
        return flow

    def _even(
        self, seconds: float, arrived: float, copies: int, steady: Steady, flow: Flow
    ) -> None:
        target = steady.sequences * copies
        left = math.exp(-seconds / steady.seconds)
        running = target + (self.running - target) * left
        done = arrived + self.running - running
        if done < 0:
            running, done = self.running + arrived, 0.0
        self.running = running
        self._finish(done, 0.0, steady, flow)

    def _full(
        self, seconds: float, arrived: float, copies: int, kind: Equilibrium, flow: Flow
    ) -> None:
        """
        Fill the batches, and let wait who finds no place.
        """
        full, before = kind.full, self.running
        gone = min(self._line.give_up(self._now - self._patience), self.waiting)
        flow.timed_out += gone
        self.waiting -= gone
        target = full.sequences * copies
        left = math.exp(-seconds / full.seconds)
        there = before + self.waiting + arrived
        running = target + (before - target) * left
        average = target + (before - target) * (1 - left) * full.seconds / seconds
        done = min(kind.rate(average / copies) * copies * seconds, there)
        running = max(min(running, there - done), 0.0)
        # Whoever comes or is admitted in a step does so in its middle, on average.
        middle = self._now - seconds / 2
        self._line.join(middle, arrived)
        wait = self._line.admit(done + running - before, middle)
        self.running = running
        waiting = max(there - done - running, 0.0)
        limit = self._workload.queue_limit
        if limit is not None and waiting > limit * copies:
            flow.refused["queue full"] = waiting - limit * copies
            self._line.refuse(waiting - limit * copies)
            waiting = float(limit * copies)
        self.waiting = waiting
        if waiting <= _LEAST:
            self.running += waiting
            self.waiting = 0.0
            self._line.clear()
        # Whoever is admitted while others give up was about to.
        self._finish(done, self._patience if gone else wait, full, flow)

    def _finish(self, done: float, wait: float, steady: Steady, flow: Flow) -> None:
        slack = self._patience - wait - steady.start
        answers = self.lot.answers
        on_time = bisect.bisect_right(answers, slack / steady.token)
        late = done * (1 - on_time / len(answers))
        flow.served += done - late
        flow.timed_out += late
        flow.wait, flow.steady = wait, steady

    def _drain(self, seconds: float, kind: Equilibrium, flow: Flow) -> None:
        for copy, load in self._leaving.items():
            done = min(kind.rate(min(load, kind.most)) * seconds, load)
            self._leaving[copy] = load - done
            flow.served += done


@dataclass(slots=True)
class Flow:
    """
    What became of requests in some seconds; those that were taken waited ``wait``
    seconds in line, and were served as ``steady`` says.
    """

    arrived: float = 0.0
    served: float = 0.0
    timed_out: float = 0.0
    refused: dict[Refusal, float] = field(default_factory=dict)
    wait: float = 0.0
    steady: Steady | None = None


@dataclass(slots=True)
class Lot:
    """
    The lengths of a model's requests, as far as they matter together.

    ``answers`` is a sample in order, ``spread`` the variance of prompts by the square
    of their mean, and ``too_long`` the part of requests that no copy has room for; of
    the others are the kept tokens, by those of all.
    """

    answers: list[float]
    spread: float
    too_long: float
    kept_prompts: float
    kept_answers: float

    def quantile(self, share: float) -> float:
        """
        Return how many tokens such a share of the answers has at most.
        """
        return self.answers[max(math.ceil(share * len(self.answers)) - 1, 0)]


class _WaitingLine:
    """
    Since when how many wait.
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[float, float]] = deque()

    def join(self, since: float, amount: float) -> None:
        self._queue.append((since, amount))

    def give_up(self, until: float) -> float:
        """
        Drop those who came up to a moment; return how many.
        """
        queue, gone = self._queue, 0.0
        while queue and queue[0][0] <= until:
            gone += queue.popleft()[1]
        return gone

    def admit(self, amount: float, now: float) -> float:
        """
        Take so many from the head; return how long they waited on average.
        """
        queue, waited, left = self._queue, 0.0, amount
        while queue and left > 0:
            since, count = queue.popleft()
            taken = min(count, left)
            waited += taken * max(now - since, 0.0)
            left -= taken
            if taken < count:
                queue.appendleft((since, count - taken))
        return waited / amount if amount > 0 else 0.0

    def refuse(self, amount: float) -> None:
        """
        Take so many from the end.
        """
        queue = self._queue
        while queue and amount > 0:
            since, count = queue.pop()
            if count > amount:
                queue.append((since, count - amount))
            amount -= count

    def shrink(self, share: float) -> None:
        """
        Keep such a share of everybody.
        """
        self._queue = deque((since, count * share) for since, count in self._queue)

    def clear(self) -> None:
        self._queue.clear()
