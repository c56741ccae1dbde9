"""
What batches settle to at a rate of requests: how many at once, and how long each takes.

It is what ``BatchingCopy`` comes to on average, as long as arrivals are of many people
(Poisson) and few requests wait in line; of a long line it is what the line is worked
off at.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from cdk_sagemaker_llm.simulation.service.times import ServiceTimes

# Between the places of a batch in use and as many requests as there are.
_HAIR = 1e-9


class Steady(NamedTuple):
    """
    One copy at a steady rate.

    Args:
        sequences: How many it has in its batch, on average.

        seconds: How long a request of the average length is there.

        start: Seconds of it until its answer begins.

        token: Seconds of it for each token of the answer.
    """

    sequences: float
    seconds: float
    start: float
    token: float


class Equilibrium:
    """
    The batches of copies that all get the same share of one kind of requests.

    Args:
        times: What requests take.

        prompt: Tokens of the average prompt.

        answer: Tokens of the average answer.

        spread: The variance of prompts by the square of their mean.
    """

    def __init__(
        self, times: ServiceTimes, prompt: float, answer: float, spread: float = 0.0
    ) -> None:
        self.answer = answer
        self.prompt_seconds = prompt * times.prompt_seconds_per_token
        self._spread = spread
        # Rooms that are too small for the next request stay empty.
        most = times.most_sequences(prompt + answer)
        self.most = max(1.0, math.floor(most + _HAIR))
        self._pieces = _pieces(times)
        self._pace = times.pace
        self.full = self._full()

    @property
    def capacity(self) -> float:
        """
        Requests a second that one copy finishes at most.
        """
        return self.full.sequences / self.full.seconds

    def rate(self, sequences: float) -> float:
        """
        Return the requests a second that a copy finishes with so many at once.
        """
        if sequences <= 0:
            return 0.0
        each = self.answer * self._pace(max(sequences, 1.0)) / sequences
        # Below one the copy is idle in between, and no prompt waits for another.
        return 1 / (self.prompt_seconds / min(sequences, 1.0) + each)

    def at(self, rate: float, copies: float) -> Steady | None:
        """
        Return the steady state of each copy; ``None`` if the copies cannot keep up.

        Args:
            rate: Requests a second at one copy.

            copies: How many there are: the more, the more evenly requests are spread.
        """
        busy = rate * self.prompt_seconds
        if busy >= 1:
            return None
        # A sequence finds more beside it than there are on average: batches with many
        # hold more of the sequences. With one copy that is one more, as arrivals are
        # random; requests that go to the emptiest of several find that much less.
        growth = rate * self.answer / (1 - busy)
        decoding = self._solved(growth, 1 / max(copies, 1.0))
        if decoding is None:
            return None
        token = decoding / (rate * self.answer) if decoding > 0 else self._pace(1)
        queued = busy * (1 + self._spread) / (2 * (1 - busy))
        start = self.prompt_seconds * (1 + queued)
        seconds = start + self.answer * token
        if rate * seconds > self.most:
            return None
        return Steady(rate * seconds, seconds, start, token)

    def _solved(self, growth: float, more: float) -> float | None:
        """
        Solve how many decode at once: growth times the pace of so many and some more.
        """
        for upto, start, slope in self._pieces:
            if growth * slope < 1:
                found = growth * (start + slope * more) / (1 - growth * slope)
                if found + more <= upto:
                    return found
        return None

    def _full(self) -> Steady:
        pace = self._pace(self.most)
        each = self.prompt_seconds + self.answer * pace / self.most
        seconds = each * self.most
        token = (seconds - self.prompt_seconds) / self.answer
        return Steady(self.most, seconds, self.prompt_seconds, token)


def _pieces(times: ServiceTimes) -> list[tuple[float, float, float]]:
    """
    Write the pace as straight pieces: up to which number, start and slope.
    """
    first = times.decode[0]
    found = [(float(first[0]), first[1], 0.0)]
    for below, above in itertools.pairwise(times.decode):
        slope = (above[1] - below[1]) / (above[0] - below[0])
        found.append((float(above[0]), below[1] - slope * below[0], slope))
    _, start, slope = found[-1]
    return [*found, (math.inf, start, slope)]
