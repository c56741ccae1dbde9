"""
What a traffic asks for, minute by minute, as few levels of load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.simulation.traffic.base import Users

_MINUTE, _HOUR, _HOURS = 60.0, 3600.0, 24
# How many requests' lengths stand for those of all.
_SAMPLE = 4096
# So many levels of load stand for all minutes, each for what lies just below it.
_LEVELS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """
    The load of each minute, by level.

    Args:
        levels: Requests a second, from the least to the most; of users, how many there
            are.

        minutes: The number of its level, for each minute.

        hours: The hour of the day in UTC, for each minute.

        think: Seconds that users think; ``None`` for requests at a rate.

        prompt: Tokens of a prompt, on average.

        answer: Tokens of an answer, on average.

        spread: The variance of prompts by the square of their mean.

        longest: Tokens of prompt and answer of the longest request that was drawn.
    """

    levels: tuple[float, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    think: float | None
    prompt: float
    answer: float
    spread: float
    longest: int

    @classmethod
    def of(cls, question: Question, factor: float = 1.0) -> Load:
        """
        Read the load of a question's traffic, or of so many times that.
        """
        import numpy as np  # noqa: PLC0415 - what chooses nothing starts without it

        generator = np.random.default_rng([question.seed, 0])
        count = math.ceil(question.duration / _MINUTE)
        begin = question.start.timestamp()
        hours = tuple(
            int((begin + minute * _MINUTE) // _HOUR) % _HOURS for minute in range(count)
        )
        traffic, think = question.traffic, None
        if isinstance(traffic, Users):
            prompts = traffic.lengths.prompts.sample(generator, _SAMPLE)
            answers = traffic.lengths.answers.sample(generator, _SAMPLE)
            levels, minutes = (traffic.count * factor,), (0,) * count
            think = traffic.think
        else:
            played = traffic.starting(question.start)
            prompts, answers = played.typical(generator, _SAMPLE, question.duration)
            edges = np.minimum(np.arange(count + 1) * _MINUTE, question.duration)
            requests = played.expected(edges).requests
            rates = requests / np.maximum(np.diff(edges), 1.0) * factor
            levels, minutes = _in_levels(rates.tolist())
        mean = float(prompts.mean())
        return cls(
            levels=levels,
            minutes=minutes,
            hours=hours,
            think=think,
            prompt=mean,
            answer=float(answers.mean()),
            spread=float(prompts.var() / max(mean, 1.0) ** 2),
            longest=int((prompts + answers).max()),
        )

    @property
    def counts(self) -> tuple[int, ...]:
        """
        How many minutes are at each level.
        """
        found = [0] * len(self.levels)
        for number in self.minutes:
            found[number] += 1
        return tuple(found)

    def peak(self, share: float) -> int:
        """
        Return the level that such a share of the minutes does not exceed.
        """
        wanted, passed = share * len(self.minutes), 0
        for number, count in enumerate(self.counts):
            passed += count
            if passed >= wanted - 1e-9:
                return number
        return len(self.levels) - 1

    def of_hours(self) -> tuple[int, ...]:
        """
        Return the highest level of each hour of the day.
        """
        found = [0] * _HOURS
        for number, hour in zip(self.minutes, self.hours, strict=True):
            found[hour] = max(found[hour], number)
        return tuple(found)


def _in_levels(rates: Sequence[float]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    # Sums of floats that differ in their last digits are one rate.
    rounded = [round(rate, 9) for rate in rates]
    distinct = sorted(set(rounded))
    if len(distinct) > _LEVELS:
        most = distinct[-1]
        rounded = [
            math.ceil(round(rate / most * _LEVELS, 6)) * most / _LEVELS
            for rate in rounded
        ]
        distinct = sorted(set(rounded))
    places = {rate: number for number, rate in enumerate(distinct)}
    return tuple(distinct), tuple(places[rate] for rate in rounded)
