"""
How many requests are under way, whose connections they use, and giving one up while it
waits, from another thread or at a deadline.

A thread that waits for a socket does not notice that the socket was closed; it does
notice that the connection was shut down. botocore hands out no connection before the
first byte of an answer, so the connections themselves say who uses them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakMethod

from cdk_sagemaker_llm.client.errors import (
    AnswerTimeoutError,
    CancelledRequestError,
    LlmError,
)

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle

    from cdk_sagemaker_llm.client.arrivals import Arrivals

_LOGGER = logging.getLogger("cdk_sagemaker_llm.client")
# After how many seconds of waiting for a place the log says so, and says so again.
_LONG_WAIT, _SAY_AGAIN = 5.0, 60.0
_FREE_SOME = (
    "read streams to their end, close them, or allow more with max_connections="
)
_CURRENT: ContextVar[Call | None] = ContextVar("_CURRENT", default=None)
# Who uses a connection changes under this lock: a call that is given up late must not
# cut a connection that another one has taken from the pool.
_LOCK = threading.Lock()
# What a child process makes anew: what it got of its parent is its parent's.
_RENEWALS: set[WeakMethod[Callable[[], None]]] = set()


class Places:
    """
    How many calls may be under way at a time; others wait in the order they came.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = count
        self._line: deque[Future[None]] = deque()
        self._said: float | None = None

    def take(self) -> Future[None]:
        """
        Return a place, which is the caller's once it is done.
        """
        place: Future[None] = Future()
        with _LOCK:
            if self._free:
                self._free -= 1
                place.set_result(None)
            else:
                self._line.append(place)
        return place

    def leave(self, place: Future[None]) -> None:
        """
        Give a place back, or stop waiting for it.
        """
        if place.cancel():
            return
        with _LOCK:
            while self._line:
                following = self._line.popleft()
                if following.set_running_or_notify_cancel():
                    following.set_result(None)
                    return
            self._free += 1

    def tell_of_wait(self) -> None:
        """
        Log that requests wait for a place: one line a minute for all of them.
        """
        now = time.monotonic()
        with _LOCK:
            if self._said is not None and now - self._said < _SAY_AGAIN:
                return
            self._said = now
            waiting = sum(not place.cancelled() for place in self._line)
        _LOGGER.warning(
            "all %d connections are in use for %g s, and requests wait for one: %d "
            "by now; %s",
            self.count,
            _LONG_WAIT,
            waiting,
            _FREE_SOME,
        )


class Call:
    """
    What a program waits for: one request, or several in a row.

    Args:
        seconds: How long it may take. If omitted, it may take for ever.

        places: Where it takes a place before it begins. If omitted, it needs none.
    """

    def __init__(
        self, seconds: float | None = None, places: Places | None = None
    ) -> None:
        self.seconds = seconds
        self.is_late = False
        # Of a task that takes a stream: its loop, and what arrives while it is read.
        self.loop: AbstractEventLoop | None = None
        self.arrivals: Arrivals | None = None
        self._places = places
        self._place: Future[None] | None = None
        self._given_up = threading.Event()
        self._connection: _Connections | None = None
        self._timer: threading.Timer | TimerHandle | None = None

    def __enter__(self) -> Self:
        if self.seconds is not None:
            self._timer = threading.Timer(self.seconds, self._expire)
            self._timer.daemon = True
            self._timer.start()
        place = self._begin()
        try:
            if place is not None:
                self._await(place)
        except BaseException as error:
            self._end()
            if isinstance(error, CancelledError):
                raise self.reason() from None
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    async def __aenter__(self) -> Self:
        import asyncio  # noqa: PLC0415 - who gets here has imported it

        loop = asyncio.get_running_loop()
        if self.seconds is not None:
            self._timer = loop.call_later(self.seconds, self._expire)
        place = self._begin()
        if place is None or place.done():
            return self
        telling = loop.call_later(_LONG_WAIT, self._tell_of_wait)
        try:
            await asyncio.wrap_future(place)
        except BaseException:
            self._end()
            if self.is_given_up:
                raise self.reason() from None
            raise
        finally:
            telling.cancel()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def _begin(self) -> Future[None] | None:
        if self._places is not None:
            self._place = self._places.take()
        return self._place

    def _await(self, place: Future[None]) -> None:
        try:
            place.result(_LONG_WAIT)
        except TimeoutError:
            self._tell_of_wait()
            place.result()

    def _tell_of_wait(self) -> None:
        if self._places is not None:
            self._places.tell_of_wait()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with _LOCK:
            self._connection = None
        if self._places is not None and self._place is not None:
            self._places.leave(self._place)

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
        if self._place is not None:
            self._place.cancel()

    def reason(self) -> LlmError:
        """
        Say why it was given up.
        """
        if self.is_late:
            message = f"no whole answer within {self.seconds:g} s"
            if self._places is None or not self._is_waiting:
                return AnswerTimeoutError(message)
            message += f": all {self._places.count} connections were in use"
            return AnswerTimeoutError(message, remedy=_FREE_SOME)
        return CancelledRequestError("the request was given up")

    @property
    def _is_waiting(self) -> bool:
        return self._place is not None and self._place.cancelled()

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


def renew_after_fork(renewal: Callable[[], None]) -> None:
    """
    Call a method in each process that is forked, for as long as its object exists.
    """
    _RENEWALS.add(WeakMethod(renewal, _RENEWALS.discard))


def _renew() -> None:
    # Another thread of the parent may have held it, which the child does not have.
    global _LOCK  # noqa: PLW0603 - one for all calls
    _LOCK = threading.Lock()
    for renewal in list(_RENEWALS):
        method = renewal()
        if method is not None:
            method()


# Not on Windows, which does not fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


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
    _process = 0

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
        # The connection of a parent process is its own to end.
        if self._used is not None and self._process == os.getpid():
            # It may have ended by itself. Not TLS's own way, which waits for an answer.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._used, socket.SHUT_RDWR)

    def _tell(self) -> None:
        # Kept: the connection forgets it once the answer owns it.
        self._used, self._process = self.sock, os.getpid()
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
