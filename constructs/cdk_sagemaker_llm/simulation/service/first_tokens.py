"""
A copy that also knows when the first token of each answer comes.
"""

from __future__ import annotations

import math

from cdk_sagemaker_llm.simulation.service.batching import BatchingCopy
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes


class TimedCopy(BatchingCopy):
    """
    Serves as any copy does, and writes the seconds to first tokens down.

    It is chosen where somebody asks for them: to look at each admission takes time.

    Args:
        times: What requests take.

        timeout: Seconds after which nobody waits for an answer any more.
    """

    __slots__ = ("_firsts",)

    def __init__(self, times: ServiceTimes, timeout: float = math.inf) -> None:
        super().__init__(times, timeout)
        self._firsts: list[float] = []

    def offer(self, now: float, prompt: int, answer: int, whose: int = 0) -> float:
        """
        Take a request that arrives now, and return ``next`` as it is then.
        """
        before = self.running
        due = super().offer(now, prompt, answer, whose)
        if self.running > before:
            self._firsts.append(self._free + self._paces[self.running] - now)
        return due

    def take_firsts(self) -> list[float]:
        """
        Return the seconds to the first tokens of what was admitted since last time.
        """
        firsts, self._firsts = self._firsts, []
        return firsts

    def _admit(self, now: float) -> None:
        self.give_up(now)
        line, free = tuple(self._waiting), self._free
        super()._admit(now)
        for arrived, prompt, _, _ in line[: len(line) - len(self._waiting)]:
            free += prompt * self._prompt
            self._firsts.append(free + self._paces[self.running] - arrived)
