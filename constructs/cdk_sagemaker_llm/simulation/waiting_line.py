"""
Amounts of requests that wait in line, first come, first served.
"""

from __future__ import annotations

from collections import deque


class WaitingLine:
    """
    Since when how many wait.
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[float, float]] = deque()

    def join(self, since: float, amount: float) -> None:
        """
        Add so many to the end.
        """
        self._queue.append((since, amount))

    def give_up(self, until: float) -> float:
        """
        Drop those who came up to a moment; return how many.
        """
        queue, gone = self._queue, 0.0
        while queue and queue[0][0] <= until:
            gone += queue.popleft()[1]
        return gone

    def admit(self, amount: float, now: float) -> float:
        """
        Take so many from the head; return how long they waited on average.
        """
        queue, waited, left = self._queue, 0.0, amount
        while queue and left > 0:
            since, count = queue.popleft()
            taken = min(count, left)
            waited += taken * max(now - since, 0.0)
            left -= taken
            if taken < count:
                queue.appendleft((since, count - taken))
        return waited / amount if amount > 0 else 0.0

    def refuse(self, amount: float) -> None:
        """
        Take so many from the end.
        """
        queue = self._queue
        while queue and amount > 0:
            since, count = queue.pop()
            if count > amount:
                queue.append((since, count - amount))
            amount -= count

    def shrink(self, share: float) -> None:
        """
        Keep such a share of everybody.
        """
        self._queue = deque((since, count * share) for since, count in self._queue)

    def clear(self) -> None:
        """
        Let nobody wait.
        """
        self._queue.clear()
