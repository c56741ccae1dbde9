"""
The turn that requests wait for, and a way to pass it on while one waits itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

TURN = threading.RLock()
"""Held while a request is answered: the services look into each other's state."""


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
