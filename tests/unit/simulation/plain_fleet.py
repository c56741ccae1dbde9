"""
The simplest thing that can be scaled: capacity that comes after a while.
"""

from __future__ import annotations

from cdk_sagemaker_llm.simulation.clock import Timeline


class PlainFleet:
    """
    So many instances; more take ``start`` seconds, fewer go at once.
    """

    def __init__(self, timeline: Timeline, count: int, start: float = 0.0) -> None:
        self.desired = self.running = count
        self.log: list[tuple[float, int]] = []
        self._timeline = timeline
        self._start = start

    @property
    def is_settled(self) -> bool:
        """
        Whether all that was asked for is there.
        """
        return self.desired == self.running

    def set_desired(self, count: int, cause: str) -> None:
        """
        Ask for a capacity.
        """
        assert cause
        self.log.append((self._timeline.now, count))
        self.desired = count
        if count <= self.running or not self._start:
            self.running = count
        else:
            self._timeline.after(self._start, self._arrive)

    def _arrive(self) -> None:
        self.running = self.desired
