"""
The log of a fleet, and the clock it is kept by.
"""

from __future__ import annotations

from cdk_sagemaker_llm.simulation.clock import Action, Planned, Timeline
from cdk_sagemaker_llm.simulation.fleet.parts import Listener, Step


class Journal:
    """
    Where the parts of a fleet note what they do and plan what comes.
    """

    def __init__(self, timeline: Timeline, listener: Listener) -> None:
        self.timeline = timeline
        self.listener = listener
        self.log: list[Step] = []

    @property
    def now(self) -> float:
        """
        The time.
        """
        return self.timeline.now

    def note(self, what: str, before: int, after: int, why: str) -> None:
        """
        Add a line to the log.
        """
        self.log.append(Step(self.timeline.now, what, before, after, why))

    def later(self, delay: float, action: Action) -> Planned | None:
        """
        Plan an action; what takes no time is done before this returns.
        """
        if delay > 0:
            return self.timeline.after(delay, action)
        action()
        return None
