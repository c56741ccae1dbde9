"""
Work that a request starts and that goes on after its answer.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from cdk_sagemaker_llm.local.aws.clock import CLOCK


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
        """
        Work to the end.
        """
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
