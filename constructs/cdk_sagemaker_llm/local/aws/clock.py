"""
The server's time: at once, as on the wall, faster, or by hand; and the work that a
request begins and that goes on after its answer.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from cdk_sagemaker_llm.simulation.clock import Action, Timeline

# Seconds on the wall: how often waiting threads look, and the least they wait.
_LONGEST, _SHORTEST = 0.5, 0.005

TURN = threading.RLock()
"""Held while a request is answered: the services look into each other's state."""


class Clock:
    """
    What time it is in the embedded AWS, and what happens when.

    Without a speed nothing takes any time, and its time is the wall's.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._start = wall()
        self.speed: float | None = None
        self.is_by_hand = False
        self.timeline = Timeline(self._start)
        self.lock = threading.Condition(TURN)
        self._awaited: list[Callable[[], bool]] = []
        # What time it was in here after each move by hand, by that on the wall.
        self._moves = [(self._start, self._start)]

    def run_at(self, speed: float | None) -> None:
        """
        Set how many seconds pass in one, from now on.
        """
        self._start = self._wall()
        self.speed = speed
        self.is_by_hand = False
        self.timeline = Timeline(self._start)
        self._moves = [(self._start, self._start)]

    def run_by_hand(self) -> None:
        """
        Let time stand still from now on, but for ``advance``.
        """
        self.run_at(1.0)
        self.is_by_hand = True

    def advance(self, seconds: float) -> None:
        """
        Let time pass by hand, with the lock held and let go meanwhile.

        Each thing happens at its own time, and work that waits for it goes on before
        time does.
        """
        end = self.now + seconds
        while True:
            upcoming = self.timeline.next
            moment = end if upcoming is None else min(end, upcoming)
            self.timeline.run_until(moment)
            self.lock.notify_all()
            while any(is_so() for is_so in self._awaited):
                self.lock.wait(_LONGEST)
            if moment >= end:
                self._moves.append((self.wall, self.now))
                return

    @property
    def now(self) -> float:
        """
        Seconds since the epoch, in the embedded AWS.
        """
        if self.is_by_hand:
            return self.timeline.now
        wall = self._wall()
        if self.speed is None:
            return wall
        return self._start + (wall - self._start) * self.speed

    @property
    def wall(self) -> float:
        """
        Seconds since the epoch on the wall.
        """
        return self._wall()

    def at(self, wall: float) -> float:
        """
        Return what time it was in the embedded AWS at a time on the wall; before it
        ran, both were the same.
        """
        if wall <= self._start or (self.speed is None and not self.is_by_hand):
            return wall
        if not self.is_by_hand:
            return self._start + (wall - self._start) * (self.speed or 1.0)
        return self._moves[bisect_right(self._moves, (wall, math.inf)) - 1][1]

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
        Return how long embedded seconds take on the wall; by hand, nobody knows.
        """
        if self.speed is None or self.is_by_hand:
            return 0.0
        return seconds / self.speed

    def sleep(self, seconds: float) -> None:
        """
        Wait for embedded seconds; others go on meanwhile.
        """
        if self.is_by_hand:
            with self.lock:
                end = self.now + seconds
                self.wait_until(lambda: self.now >= end)
            return
        wall = self.wall_seconds(seconds)
        if wall > 0:
            time.sleep(wall)

    def wait_until(self, done: Callable[[], bool]) -> None:
        """
        Wait, with the lock held and let go meanwhile, until something is so.
        """
        self._awaited.append(done)
        try:
            while not done():
                self.lock.wait(_LONGEST)
        finally:
            self._awaited.remove(done)
            self.lock.notify_all()

    def follow(self) -> None:
        """
        Start a thread that lets things happen when they are due, for as long as it
        lives.
        """
        if self.speed is not None and not self.is_by_hand:
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


@contextmanager
def passed_on() -> Iterator[None]:
    """
    Let other requests be answered while this one waits for something outside.

    What was looked up before may have changed afterwards.
    """
    TURN.release()
    try:
        yield
    finally:
        TURN.acquire()


class _Work(threading.Thread):
    """
    One piece of work, which holds the server's lock except while it waits.
    """

    def __init__(self, action: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._action = action
        self.is_waiting = False
        self.is_done = False
        self.error: Exception | None = None

    def run(self) -> None:
        with CLOCK.lock:
            try:
                self._action()
            except Exception as error:  # noqa: BLE001 - passed on, or shown
                self.error = error
                if self.is_waiting:
                    traceback.print_exc()
            self.is_done = True
            CLOCK.lock.notify_all()


def begin(action: Callable[[], object]) -> None:
    """
    Do something as far as it goes without waiting; the rest goes on by itself.

    Where nothing takes time it is done afterwards, unless it waits for somebody else.
    What is wrong from the start is raised here.
    """
    work = _Work(action)
    work.start()
    CLOCK.lock.wait_for(lambda: work.is_done or work.is_waiting)
    if work.error is not None:
        raise work.error


def wait_until(done: Callable[[], bool]) -> None:
    """
    Wait until something is so, and let the request that began this be answered.

    Where nothing takes time it is so already, or will never be.
    """
    if CLOCK.speed is not None:
        wait_for_others(done)


def wait_for_others(done: Callable[[], bool]) -> None:
    """
    Wait as well where nothing takes time: for somebody who does.
    """
    work = threading.current_thread()
    if isinstance(work, _Work) and not done():
        work.is_waiting = True
        CLOCK.lock.notify_all()
    CLOCK.wait_until(done)
