"""
How many seconds instances or copies have had something to do.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Work:
    """
    The seconds of all of them together that nobody has asked for yet.
    """

    _since: float
    _seconds: float = 0.0

    def go_on(self, now: float, busy: int) -> None:
        """
        Count the time since the last change, in which so many were busy.
        """
        # A request may end a little before the moment at which that is known.
        passed = max(0.0, now - self._since)
        self._seconds += busy * passed
        self._since = max(self._since, now)

    def take(self) -> float:
        """
        Return the seconds since the last time.
        """
        seconds, self._seconds = self._seconds, 0.0
        return seconds
