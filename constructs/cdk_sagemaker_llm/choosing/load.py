"""
What a traffic asks for, minute by minute, as few levels of load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.simulation.traffic.base import Users
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Whole = npt.NDArray[np.int64]
    Numbers = npt.NDArray[np.float64]

_MINUTE, _HOURS = 60.0, 24
# How many requests' lengths stand for those of all.
_SAMPLE = 4096
# So many levels of load stand for all minutes, each for what lies just below it.
_LEVELS = 64


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Load:
    """
    The load of each minute, by level.

    Args:
        levels: Requests a second, from the least to the most; of users, how many there
            are.

        minutes: The number of its level, for each minute.

        begin: The minute of the day in UTC at which it begins.

        counts: How many minutes are at each level.

        tops: The number of the highest level of each hour of the day in UTC.

        think: Seconds that users think; ``None`` for requests at a rate.

        prompt: Tokens of a prompt, on average.

        answer: Tokens of an answer, on average.

        spread: The variance of prompts by the square of their mean.

        longest: Tokens of prompt and answer of the longest request that was drawn.
    """

    levels: tuple[float, ...]
    minutes: Whole
    begin: int
    counts: tuple[int, ...]
    tops: tuple[int, ...]
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
        begin = int(question.start.timestamp() // _MINUTE) % (_HOURS * 60)
        traffic, think = question.traffic, None
        if isinstance(traffic, Users):
            prompts = traffic.lengths.prompts.sample(generator, _SAMPLE)
            answers = traffic.lengths.answers.sample(generator, _SAMPLE)
            levels = np.array([traffic.count * factor])
            minutes = np.zeros(count, dtype=np.int64)
            think = traffic.think
        else:
            played = traffic.starting(question.start)
            prompts, answers = played.typical(generator, _SAMPLE, question.duration)
            edges = np.minimum(np.arange(count + 1) * _MINUTE, question.duration)
            requests = played.expected(edges).requests
            rates = requests / np.maximum(np.diff(edges), 1.0) * factor
            levels, minutes = _in_levels(rates)
        hours = (begin + np.arange(count)) // 60 % _HOURS
        tops = np.zeros(_HOURS, dtype=np.int64)
        np.maximum.at(tops, hours, minutes)
        mean, answer = float(prompts.mean()), float(answers.mean())
        spread = float(prompts.var() / max(mean, 1.0) ** 2)
        lengths = getattr(traffic, "lengths", None)
        if isinstance(lengths, Lengths):
            mean, answer = lengths.prompts.mean, lengths.answers.mean
        else:
            # A simulation of the same trace is told whole tokens.
            mean, answer = float(round(mean)), float(round(answer))
        return cls(
            levels=tuple(levels.tolist()),
            minutes=minutes,
            begin=begin,
            counts=tuple(np.bincount(minutes, minlength=len(levels)).tolist()),
            tops=tuple(tops.tolist()),
            think=think,
            prompt=mean,
            answer=answer,
            spread=spread,
            longest=int((prompts + answers).max()),
        )

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


def _in_levels(rates: Numbers) -> tuple[Numbers, Whole]:
    import numpy as np  # noqa: PLC0415 - as above

    # Sums of floats that differ in their last digits are one rate.
    levels, minutes = np.unique(rates.round(9), return_inverse=True)
    if len(levels) > _LEVELS:
        step = float(levels[-1]) / _LEVELS
        numbers = np.ceil((rates / step).round(6))
        found, minutes = np.unique(numbers, return_inverse=True)
        levels = found * step
    return levels, minutes
