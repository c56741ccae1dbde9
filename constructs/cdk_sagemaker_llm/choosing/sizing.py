"""
How fast copies answer at a steady load, and how many are needed for it: queueing theory
in place of a simulation, where a thousand settings are to be compared.

Requests come at random to copies that batch (``Equilibrium``). Before its prompt
is worked off a request waits for other prompts, an M/G/1 queue, and, where all places
in the batches are taken, for one of them: an M/D/c queue, whose waits are half of those
of M/M/c (Erlang C).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.question import Objective
from cdk_sagemaker_llm.simulation.service.performance import (
    Equilibrium,
    Steady,
    highest,
)
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes

MOST_COPIES = 512
"""More copies of one model than anyone asks a quota for."""

# Below that share of places in use nobody waits for one.
_NEVER_FULL = 0.6
# At so much of what copies finish, users ask for more than that.
_FULL = 1 - 1e-9
# Beyond so many places the sum is long, and its limit (Halfin, Whitt) is as good.
_MANY = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """
    How fast copies answer, in seconds.

    Args:
        ttft: Until the first token, for the part of requests that the objective names.

        tpot: For each further token, likewise.

        median_ttft: Until the first token, for half of the requests.

        median_tpot: For each further token, likewise.

        mean: Until the whole answer is there, on average.

        sequences: Requests under way at each copy, on average.

        rate: Requests a second of all copies together.
    """

    ttft: float
    tpot: float
    median_ttft: float
    median_tpot: float
    mean: float
    sequences: float
    rate: float

    def later(self, seconds: float) -> Speed:
        """
        Return the same with so much more of a wait before the first token.
        """
        if not seconds:
            return self
        return replace(
            self,
            ttft=self.ttft + seconds,
            median_ttft=self.median_ttft + seconds,
            mean=self.mean + seconds,
        )


class Line(NamedTuple):
    """
    A line: which part of the requests wait in it, and for how many seconds all do on
    average.
    """

    waiting: float
    mean: float

    def longest(self, share: float) -> float:
        """
        Return the wait that such a share of requests do not exceed; those that do wait
        do so exponentially.
        """
        if self.waiting <= 1 - share or self.mean <= 0:
            return 0.0
        return self.mean / self.waiting * math.log(self.waiting / (1 - share))


class Sizing:
    """
    Copies with the same service times, under one load.
    """

    def __init__(self, times: ServiceTimes, load: Load, objective: Objective) -> None:
        self.load = load
        self.objective = objective
        self._times = times
        self._kind = Equilibrium(times, load.prompt, load.answer, load.spread)
        self._deviations = NormalDist().inv_cdf(objective.requests)
        self._speeds: dict[tuple[float, int], Speed | None] = {}
        self._least: dict[int, int | None] = {}

    def speed(self, level: float, copies: int) -> Speed | None:
        """
        Return how fast so many copies answer at a level of load; ``None`` if they
        cannot keep up.
        """
        key = level, copies
        if key not in self._speeds:
            self._speeds[key] = self._speed(level, copies)
        return self._speeds[key]

    def keeps(self, level: float, copies: int) -> bool:
        """
        Whether so many copies keep the objective at a level of load.
        """
        return not level or self._is_kept(self.speed(level, copies))

    def least(self, number: int) -> int | None:
        """
        Return the fewest copies that keep the objective at the level of that number;
        ``None`` if none do.
        """
        if number not in self._least:
            self._least[number] = self._search(self.load.levels[number])
        return self._least[number]

    def most_sequences(self, copies: int) -> float:
        """
        Return how many requests may be under way at each of some copies, at most, for
        the objective to be kept.
        """
        rate = highest(
            self._kind.capacity * copies,
            lambda each: self._is_kept(self._at_rate(each, copies)),
        )
        speed = self._at_rate(rate, copies) if rate else None
        return 0.0 if speed is None else speed.sequences

    def obstacle(self) -> tuple[str, str, float]:
        """
        Return why no number of copies keeps the objective at the peak, the kind of
        reason, and by how much it misses.
        """
        times, token = self._times, self._times.pace(1)
        first = times.overhead_seconds + self._kind.prompt_seconds + token
        alone, miss = "more than any number of copies that are tried", 0.0
        group = alone
        if token > self.objective.tpot:
            alone, miss = f"a token takes {token * 1000:.0f} ms even alone", token
            group = "a token takes too long even alone"
        elif first > self.objective.ttft:
            alone, miss = f"the first token takes {first:.2f} s even alone", first
            group = "the first token takes too long even alone"
        why = f"no number of copies keeps the objective at the peak: {alone}"
        return why, group, miss

    def _is_kept(self, speed: Speed | None) -> bool:
        aim = self.objective
        return speed is not None and speed.ttft <= aim.ttft and speed.tpot <= aim.tpot

    def _search(self, level: float) -> int | None:
        if not level:
            return 0
        low, high = 0, 1
        while not self.keeps(level, high):
            low, high = high, high * 2
            if high > MOST_COPIES:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.keeps(level, middle) else (middle, high)
        return high

    def _speed(self, level: float, copies: int) -> Speed | None:
        if not copies:
            return None
        think = self.load.think
        if think is None:
            return self._at_rate(level, copies)
        kind, pause = self._kind, think + self._times.overhead_seconds
        rate = kind.asked(level, pause, copies)
        is_full = rate >= kind.capacity * copies * _FULL
        return None if is_full or not rate else self._at_rate(rate, copies)

    def _at_rate(self, rate: float, copies: int) -> Speed | None:
        steady = self._kind.at(rate / copies, copies)
        if steady is None:
            return None
        share = self.objective.requests
        start = self._times.overhead_seconds + self._kind.prompt_seconds
        prompts, places = self._lines(rate, copies, steady)
        if places is None:
            return None
        wait = prompts.longest(share) + places.longest(share)
        usual = prompts.longest(0.5) + places.longest(0.5)
        return Speed(
            ttft=start + wait + steady.token,
            tpot=self._slowest(steady, copies),
            median_ttft=start + usual + steady.token,
            median_tpot=steady.token,
            mean=self._times.overhead_seconds + steady.seconds + places.mean,
            sequences=steady.sequences,
            rate=rate,
        )

    def _lines(
        self, rate: float, copies: int, steady: Steady
    ) -> tuple[Line, Line | None]:
        """
        Return the line for the prompt's turn, and that for a place in a batch; ``None``
        where it grows for ever.
        """
        work = self._kind.prompt_seconds
        prompts = Line(rate / copies * work, steady.start - work)
        servers = math.floor(self._kind.most) * copies
        used = rate * steady.seconds
        if used >= servers:
            return prompts, None
        if servers > _MANY and used < _NEVER_FULL * servers:
            return prompts, Line(0.0, 0.0)
        waiting = erlang_c(servers, used)
        return prompts, Line(waiting, waiting * steady.seconds / (2 * (servers - used)))

    def _slowest(self, steady: Steady, copies: int) -> float:
        """
        Return the seconds for each token of the slowest requests that count.

        How many are in a batch varies as Poisson's numbers do; over the time of an
        answer two thirds of that variance are left (M/D/oo), which several copies
        share.
        """
        sequences = steady.sequences
        deviation = math.sqrt(2 * sequences / (3 * copies))
        more = min(sequences + self._deviations * deviation, self._kind.most)
        pace = self._times.pace
        return steady.token * max(pace(more) / pace(max(sequences, 1e-9)), 1.0)


def erlang_c(servers: int, offered: float) -> float:
    """
    Return the share of requests that find all servers taken (Erlang C).
    """
    if offered <= 0:
        return 0.0
    left = 1 - offered / servers
    if servers > _MANY:
        normal = NormalDist()
        beta = left * math.sqrt(servers)
        return 1 / (1 + beta * normal.cdf(beta) / max(normal.pdf(beta), 1e-300))
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))
