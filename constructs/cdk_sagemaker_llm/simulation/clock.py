"""
What happens when: a line of time on which actions wait for their turn.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

Action = Callable[[], object]


class Planned:
    """
    An action that waits on a timeline; ``cancel()`` takes it off.
    """

    __slots__ = ("action", "time")

    def __init__(self, time: float, action: Action) -> None:
        self.time = time
        self.action: Action | None = action

    def cancel(self) -> None:
        """
        Do not act, if it has not happened yet.
        """
        self.action = None


class Timeline:
    """
    Time as it is computed: it stands still until it is told to run.

    A prediction runs it to its end at once; a server that plays time out runs it to
    what its clock shows. Actions of one moment happen in the order they were planned.
    ``now`` is in seconds since the epoch.
    """

    __slots__ = ("_heap", "_order", "now")

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self._heap: list[tuple[float, int, Planned]] = []
        self._order = itertools.count()

    def at(self, time: float, action: Action) -> Planned:
        """
        Plan an action; what lies in the past happens next.
        """
        planned = Planned(max(time, self.now), action)
        heapq.heappush(self._heap, (planned.time, next(self._order), planned))
        return planned

    def after(self, delay: float, action: Action) -> Planned:
        """
        Plan an action in so many seconds.
        """
        return self.at(self.now + delay, action)

    @property
    def next(self) -> float | None:
        """
        When the next action happens; ``None`` if none is planned.
        """
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run_until(self, time: float) -> None:
        """
        Let everything happen that is planned up to a moment, and stand there.
        """
        heap = self._heap
        while heap and heap[0][0] <= time:
            due, _, planned = heapq.heappop(heap)
            if planned.action is not None:
                self.now = due
                planned.action()
        self.now = max(self.now, time)
