"""
What one copy does under a steady load, worked out from its service times instead of
played out.

It is what ``run`` comes to once a load has lasted: Little's law, and the shares of time
that prompts and tokens take. What computes is arithmetic without comparisons, so that
the calibration has arrays of loads where an estimate has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from cdk_sagemaker_llm.arguments import kind_of, raise_faults
from cdk_sagemaker_llm.simulation.service.step import larger, smaller
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes

# Each halves what the number of sequences may be off by.
_HALVINGS = 32
_ROUNDS = 16
# From so many waves on, what is written of a burst is no longer in step.
_WAVES = 2.0
# More of its time no copy spends on prompts, as long as it writes answers.
_BUSIEST = 0.97


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
        most = case.most_sequences(prompt_tokens + answer_tokens)
        served = Served(
            pace=case.pace,
            prompt=prompt_tokens * case.prompt_seconds_per_token,
            answer=answer_tokens,
            overhead=case.overhead_seconds,
            most=max(1.0, math.floor(most)),
        )
        found = way(served, load)
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

        in_step: 1 if the engine works off all prompts that it has room for before it
            writes on, and answers are of one length, so that they begin and end
            together; else 0.
    """

    pace: Callable[[float], float]
    prompt: float
    answer: float
    overhead: float
    most: float
    in_step: float = 0.0


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
    first = overhead + _first(requests, prompt, pace(at_once), at_once - 1)
    token = pace(at_once) + (at_once - 1) * prompt / answer
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
    whole = most / (answer * pace(most) + most * prompt)
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
