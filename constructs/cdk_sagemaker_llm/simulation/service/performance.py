"""
What one copy does under a steady load, worked out from its service times instead of
played out.

It is what ``run`` comes to once a load has lasted: Little's law, and the shares of time
that prompts and tokens take. What ``Served`` goes through is arithmetic without
comparisons, so that the calibration has arrays of loads where an estimate has one;
``Equilibrium`` solves one load exactly, of copies beside each other too, and is what
runs in aggregate and choosing ask.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from cdk_sagemaker_llm.arguments import kind_of, raise_faults
from cdk_sagemaker_llm.simulation.service.step import larger, smaller
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes

# Each halves what the number of sequences may be off by, or the rate of users.
_HALVINGS = 32
_HALVINGS_OF_RATES = 40
_ROUNDS = 16
# From so many waves on, what is written of a burst is no longer in step.
_WAVES = 2.0
# How many of the prompts that come together are worked off before a first token comes:
# all of them where they share a step, and half of them on average where they do not.
_TOGETHER = 0.75
# More of its time no copy spends on prompts, as long as it writes answers.
_BUSIEST = 0.97
# Between the places of a batch in use and as many requests as there are.
_HAIR = 1e-9


@dataclass(frozen=True, slots=True)
class Figure:
    """
    A figure and its 90 % interval.

    Args:
        value: What is to be expected.

        low: The lower end; ``None`` if the spread of the times is not known.

        high: The upper end, likewise.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Performance:
    """
    What a copy does under a load.

    Args:
        time_per_output_token: Seconds between two tokens of an answer, on average, with
            the time that others' prompts take.

        time_to_first_token: Seconds, on average; infinite where more comes than can be
            served, and the line grows.

        requests_per_second: How many answers are done in a second.

        output_tokens_per_second: The tokens of those.

        is_saturated: Whether more comes than can be served at once: requests wait in
            line.
    """

    time_per_output_token: Figure
    time_to_first_token: Figure
    requests_per_second: Figure
    output_tokens_per_second: Figure
    is_saturated: bool


def estimate_performance(
    times: ServiceTimes,
    *,
    prompt_tokens: float,
    answer_tokens: float,
    users: float | None = None,
    rate: float | None = None,
    burst: float | None = None,
) -> Performance:
    """
    Work out what one copy does under a load, with the interval that the times have.

    ``estimate_performance(times, prompt_tokens=500, answer_tokens=200, users=16)``

    Args:
        times: What the copy takes.

        prompt_tokens: Tokens of a prompt.

        answer_tokens: Tokens of an answer.

        users: So many ask again as soon as they have their answer.

        rate: So many requests come in a second, by chance.

        burst: So many requests come at once, and no others.

    Raises:
        ValueError: If there is not exactly one load, or a figure is not above 0.
    """
    if not isinstance(times, ServiceTimes):
        raise ValueError(  # noqa: TRY004 - as any argument of another kind
            "times must be ServiceTimes(...), got a value of type "
            f"{type(times).__name__}"
        )
    loads = {"users": users, "rate": rate, "burst": burst}
    given = {name: value for name, value in loads.items() if value is not None}
    if len(given) != 1:
        raise ValueError(
            "exactly one of users, rate and burst must be given, got "
            f"{' and '.join(given) or 'none'}"
        )
    lengths = {"prompt_tokens": prompt_tokens, "answer_tokens": answer_tokens}
    for name, value in (lengths | given).items():
        raise_faults(kind_of("float").faults(name, value))
        if value <= 0:
            raise ValueError(f"{name} must be above 0, got {value}")
    (name, load), *_ = given.items()
    way = {"users": of_users, "rate": at_rate, "burst": of_burst}[name]

    def at(stretch: float) -> Loaded:
        case = times if stretch == 1 else times.stretched(stretch)
        found = way(Served.of(case, prompt_tokens, answer_tokens), load)
        grows = name == "rate" and found.line
        return replace(found, first=math.inf) if grows else found

    usual = at(1)
    ends = [at(factor) for factor in times.spread or ()]

    def figure(of: Callable[[Loaded], float]) -> Figure:
        return Figure(of(usual), *sorted(map(of, ends)))

    return Performance(
        time_per_output_token=figure(lambda one: one.token),
        time_to_first_token=figure(lambda one: one.first),
        requests_per_second=figure(lambda one: one.requests),
        output_tokens_per_second=figure(lambda one: one.requests * answer_tokens),
        is_saturated=usual.line > 0,
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """
    What comes of a load.

    Args:
        token: Seconds between two tokens.

        first: Seconds to the first one.

        requests: Answers in a second.

        line: How many wait in line; of a rate, whether it grows without end.
    """

    token: float
    first: float
    requests: float
    line: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """
    What a copy takes for requests of one kind.

    Args:
        pace: The seconds to the next token, of so many sequences.

        prompt: The seconds that a prompt takes.

        answer: The tokens of an answer.

        overhead: The seconds that a request takes outside of the batch.

        most: How many sequences are written at once, at most.

        in_step: 1 if answers begin and end together: all are of one length, and come of
            users who ask again at once, or of a burst whose prompts the engine works
            off before it writes on; else 0.
    """

    pace: Callable[[float], float]
    prompt: float
    answer: float
    overhead: float
    most: float
    in_step: float = 0.0

    @classmethod
    def of(cls, times: ServiceTimes, prompt: float, answer: float) -> Served:
        """
        Return what a copy takes for prompts and answers of so many tokens.
        """
        # Rooms that are too small for the next request stay empty.
        most = times.most_sequences(prompt + answer)
        return cls(
            pace=times.pace,
            prompt=prompt * times.prompt_seconds_per_token,
            answer=answer,
            overhead=times.overhead_seconds,
            most=max(1.0, math.floor(most + _HAIR)),
        )

    @property
    def full_seconds(self) -> float:
        """
        The seconds of an answer in a batch that is always full.
        """
        return self.answer * self.pace(self.most) + self.most * self.prompt


def of_users(served: Served, users: float) -> Loaded:
    """
    Work out a closed loop: each of the users asks again at once.
    """
    pace, prompt, answer = served.pace, served.prompt, served.answer
    most, overhead = served.most, served.overhead
    written = smaller(users, most)
    for _ in range(_ROUNDS):
        at_once = larger(written, 1.0)
        cycle = answer * pace(at_once) + at_once * prompt
        requests = written / cycle
        outside = requests * overhead
        written = (written + smaller(users - outside, most)) / 2
    line = larger(users - outside - written - 1e-6 * users, 0.0)
    others = (at_once - 1) * prompt
    apart = _first(requests, prompt, pace(at_once), at_once - 1)
    together = _TOGETHER * others + prompt + pace(at_once)
    first = overhead + apart + served.in_step * (together - apart)
    token = pace(at_once) + (1 - served.in_step / 2) * others / answer
    return Loaded(token, first + line / requests, requests, line)


def at_rate(served: Served, rate: float) -> Loaded:
    """
    Work out requests that come at a rate, by chance.
    """
    pace, prompt, answer = served.pace, served.prompt, served.answer
    most, overhead = served.most, served.overhead
    busy = smaller(rate * prompt, _BUSIEST)
    low, high = 0.0 * rate, most + 0.0 * rate
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        first = _first(rate, prompt, pace(larger(middle, 1.0)), middle)
        seconds = first + answer * pace(larger(middle, 1.0)) / (1 - busy)
        is_more = (rate * seconds > middle) * 1.0
        low, high = (
            low + (middle - low) * is_more,
            high + (middle - high) * (1 - is_more),
        )
    written = larger(high, 1.0)
    whole = most / served.full_seconds
    grows = (rate > whole) * 1.0
    token = (1 - grows) * pace(written) / (1 - busy) + grows * (
        pace(most) + (most - 1) * prompt / answer
    )
    first = overhead + _first(rate, prompt, pace(written), high)
    return Loaded(token, first, smaller(rate, whole), grows)


def of_burst(served: Served, burst: float) -> Loaded:
    """
    Work out requests that come all at once.
    """
    pace, prompt, answer = served.pace, served.prompt, served.answer
    most, overhead = served.most, served.overhead
    together = smaller(burst, most)
    waves = burst // together
    rest = burst - waves * together
    has_rest = (rest > 0) * 1.0
    wave = together * prompt + answer * pace(together)
    last = has_rest * (rest * prompt + answer * pace(larger(rest, 1.0)))
    seconds = overhead + waves * wave + last
    # In a wave those who come first wait for the prompts of all others: half of them on
    # average, as long as the waves do not run into each other.
    apart = smaller(larger((burst / together - 1) / _WAVES, 0.0), 1.0)
    share = 0.5 + 0.5 * apart * (1 - served.in_step)
    token = pace(together) + share * (together - 1) * prompt / answer
    before = (waves - 1) / 2 * wave * (waves * together / burst) + waves * wave * (
        rest / burst
    )
    first = overhead + before + (together + 1) / 2 * prompt + pace(together)
    return Loaded(token, first, burst / seconds, burst - together)


def _first(requests: float, prompt: float, pace: float, others: float) -> float:
    """
    Return the seconds from a request's turn to its first token.

    A step works off all prompts that came during the step before, and writes a token of
    each sequence, so that steps grow with the rate. Who comes waits for half of a step,
    of a longer one more likely, and then for the prompts that came during it, as
    their step is one.
    """
    busy = smaller(requests * prompt, _BUSIEST)
    met = pace / (1 - busy) + requests * prompt**2 / (1 - busy**2)
    met = smaller(met, pace + others * prompt)
    return smaller(others, 1.0) * (0.5 + busy) * met + prompt + pace


class Steady(NamedTuple):
    """
    One copy at a steady rate: how many it has in its batch on average, the seconds that
    a request of the average length is there, those of them until its answer begins, and
    those for each token of the answer.
    """

    sequences: float
    seconds: float
    start: float
    token: float


class Equilibrium:
    """
    What batches settle to at a rate of requests: how many at once, and how long each
    takes, of copies that all get the same share of one kind of requests.

    It is what ``BatchingCopy`` comes to on average, as long as arrivals are of many
    people (Poisson) and few requests wait in line; of a long line it is what the line
    is worked off at. ``spread`` is the variance of prompts by the square of their mean.
    """

    def __init__(
        self, times: ServiceTimes, prompt: float, answer: float, spread: float = 0.0
    ) -> None:
        served = Served.of(times, prompt, answer)
        self.answer = answer
        self.prompt_seconds = served.prompt
        self.most = served.most
        self._spread = spread
        self._pieces = _pieces(times)
        self._pace = times.pace
        seconds = served.full_seconds
        token = (seconds - served.prompt) / answer
        self.full = Steady(served.most, seconds, served.prompt, token)

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
        Return the steady state of each copy at a rate of its own; ``None`` if it cannot
        keep up. The more copies there are, the more evenly requests are spread.
        """
        busy = rate * self.prompt_seconds
        if busy >= 1:
            return None
        # A sequence finds more beside it than there are on average: batches with many
        # hold more of the sequences. With one copy that is one more, as arrivals are
        # random; requests that go to the emptiest of several find that much less.
        growth = rate * self.answer / (1 - busy)
        more = 1 / max(copies, 1.0)
        decoding = None
        # How many decode at once: growth times the pace of so many and some more.
        for upto, start, slope in self._pieces:
            if growth * slope < 1:
                found = growth * (start + slope * more) / (1 - growth * slope)
                if found + more <= upto:
                    decoding = found
                    break
        if decoding is None:
            return None
        token = decoding / (rate * self.answer) if decoding > 0 else self._pace(1)
        queued = busy * (1 + self._spread) / (2 * (1 - busy))
        begin = self.prompt_seconds * (1 + queued)
        seconds = begin + self.answer * token
        if rate * seconds > self.most:
            return None
        return Steady(rate * seconds, seconds, begin, token)

    def asked(
        self, users: float, pause: float, copies: int, *, is_even: bool = True
    ) -> float:
        """
        Return the rate at which users ask who wait for each answer and then pause, when
        answers take as long as that makes them; at most what the copies finish.
        """

        def is_asked(rate: float) -> bool:
            steady = self.at(rate / copies, copies if is_even else 1)
            return steady is not None and rate * (pause + steady.seconds) <= users

        return highest(self.capacity * copies, is_asked)


def highest(most: float, holds: Callable[[float], bool]) -> float:
    """
    Return up to which rate something holds; 0 if it never does.
    """
    low, high = 0.0, most
    for _ in range(_HALVINGS_OF_RATES):
        rate = (low + high) / 2
        low, high = (rate, high) if holds(rate) else (low, rate)
    return low


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
