"""
The server's time: at once, as on the wall, or faster.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

from cdk_sagemaker_llm.local.aws.turn import TURN
from cdk_sagemaker_llm.simulation.clock import Action, Timeline

# Seconds on the wall: how often waiting threads look, and the least they wait.
_LONGEST, _SHORTEST = 0.5, 0.005


class Clock:
    """
    What time it is in the embedded AWS, and what happens when.

    Without a speed nothing takes any time, and its time is the wall's.

    Args:
        wall: The time on the wall. If left out, it is the machine's.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._start = wall()
        self.speed: float | None = None
        self.timeline = Timeline(self._start)
        self.lock = threading.Condition(TURN)

    def run_at(self, speed: float | None) -> None:
        """
        Set how many seconds pass in one, from now on.
        """
        self._start = self._wall()
        self.speed = speed
        self.timeline = Timeline(self._start)

    @property
    def now(self) -> float:
        """
        Seconds since the epoch, in the embedded AWS.
        """
        wall = self._wall()
        if self.speed is None:
            return wall
        return self._start + (wall - self._start) * self.speed

    @property
    def moment(self) -> float:
        """
        The time of what happens now: where time passes, it was planned to the moment.
        """
        return self.now if self.speed is None else self.timeline.now

    def catch_up(self) -> None:
        """
        Let everything happen that is due.
        """
        self.timeline.run_until(self.now)

    def after(self, delay: float, action: Action) -> None:
        """
        Plan an action; where nothing takes time, it happens now.
        """
        if self.speed is None or delay <= 0:
            action()
        else:
            self.timeline.after(delay, action)

    def wall_seconds(self, seconds: float) -> float:
        """
        Return how long embedded seconds take on the wall.
        """
        return 0.0 if self.speed is None else seconds / self.speed

    def sleep(self, seconds: float) -> None:
        """
        Wait for embedded seconds; others go on meanwhile.
        """
        wall = self.wall_seconds(seconds)
        if wall > 0:
            time.sleep(wall)

    def wait_until(self, done: Callable[[], bool]) -> None:
        """
        Wait, with the lock held and let go meanwhile, until something is so.
        """
        while not done():
            self.lock.wait(_LONGEST)

    def follow(self) -> None:
        """
        Have a thread let things happen when they are due, for as long as it lives.
        """
        if self.speed is not None:
            threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        while True:
            with self.lock:
                try:
                    self.catch_up()
                except Exception:  # noqa: BLE001 - one mishap, and time goes on
                    traceback.print_exc()
                self.lock.notify_all()
                upcoming = self.timeline.next
                away = _LONGEST
                if upcoming is not None:
                    away = self.wall_seconds(upcoming - self.now)
                self.lock.wait(min(_LONGEST, max(_SHORTEST, away)))


CLOCK = Clock()
"""The one of this process; the server sets its speed when it starts."""


def now() -> float:
    """
    Return the time of what happens now in the embedded AWS.
    """
    return CLOCK.moment


def current() -> datetime:
    """
    Return the same time as a date.
    """
    return datetime.fromtimestamp(now(), UTC)
