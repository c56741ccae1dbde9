"""
Giving a request up while it waits, from another thread or at a deadline.

A thread that waits for a socket does not notice that the socket was closed; it does
notice that the connection was shut down. botocore hands out no connection before the
first byte of an answer, so the connections themselves say who uses them.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

_CURRENT: ContextVar[Call | None] = ContextVar("_CURRENT", default=None)
# Who uses a connection changes under this lock: a call that is given up late must not
# cut a connection that another one has taken from the pool.
_LOCK = threading.Lock()


class Call:
    """
    What a program waits for: one request, or several in a row.

    Args:
        seconds: How long it may take. If omitted, it may take for ever.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.is_late = False
        self._given_up = threading.Event()
        self._connection: _Connections | None = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if self.seconds is not None:
            self._timer = threading.Timer(self.seconds, self._expire)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with _LOCK:
            self._connection = None

    @property
    def is_given_up(self) -> bool:
        return self._given_up.is_set()

    def give_up(self) -> None:
        """
        End the call, wherever it is.
        """
        with _LOCK:
            self._given_up.set()
            connection = self._connection
            if connection is not None and connection.call is self:
                connection.shut_down()

    def wait(self, seconds: float) -> None:
        """
        Sleep, unless it is given up.
        """
        self._given_up.wait(seconds)

    def uses(self, connection: _Connections) -> None:
        """
        Take a connection.
        """
        with _LOCK:
            connection.call = self
            self._connection = connection
            if self.is_given_up:
                connection.shut_down()

    def _expire(self) -> None:
        self.is_late = True
        self.give_up()


@contextlib.contextmanager
def under_way(call: Call) -> Iterator[None]:
    """
    Have the connections that this thread uses belong to a call.
    """
    token = _CURRENT.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(token)


class _Connections:
    """
    A connection that tells the call on whose behalf it is used.
    """

    call: Call | None = None
    sock: socket.socket | None
    _used: socket.socket | None = None

    def connect(self) -> None:
        """
        Connect, and say so before anything is sent.
        """
        super().connect()  # type: ignore[misc]  # beside a connection of botocore
        self._tell()

    def request(self, *args: object, **kwargs: object) -> None:
        """
        Send a request on a connection that may be an old one.
        """
        self._tell()
        super().request(*args, **kwargs)  # type: ignore[misc]  # as above

    def shut_down(self) -> None:
        """
        End the connection for whoever waits for it.
        """
        if self._used is not None:
            # It may have ended by itself. Not TLS's own way, which waits for an answer.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._used, socket.SHUT_RDWR)

    def _tell(self) -> None:
        # Kept: the connection forgets it once the answer owns it.
        self._used = self.sock
        call = _CURRENT.get()
        if call is not None and self.sock is not None:
            call.uses(self)


def make_known(runtime: Any) -> None:  # noqa: ANN401 - boto3's clients have no class
    """
    Make a boto3 client's connections tell the call that uses them.

    There is no public way to them. Where botocore is built otherwise nothing changes,
    but that a request that is given up ends with its next byte or its time-out.
    """
    http = getattr(getattr(runtime, "_endpoint", None), "http_session", None)
    pools = getattr(http, "_pool_classes_by_scheme", None)
    if not isinstance(pools, dict):
        return
    for scheme, pool in pools.items():
        connection = type("KnownConnection", (_Connections, pool.ConnectionCls), {})
        pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": connection})
