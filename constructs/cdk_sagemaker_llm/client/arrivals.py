"""
What arrives of an answer, read by an event loop as it comes: no thread waits for it.

boto3 sends the request and reads the head of the answer; the body is read here, from
the same connection, which goes back to boto3's pool at its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import Any

from cdk_sagemaker_llm.client.errors import AnswerTimeoutError, ConnectionCutError

_PIECE = 65_536
# How many bytes are kept for a task that does not take them yet.
_AHEAD = 262_144
_LONGEST_LINE = 4_096
_NOT_YET = (
    BlockingIOError,
    InterruptedError,
    ssl.SSLWantReadError,
    ssl.SSLWantWriteError,
)


class Arrivals:
    """
    The body of one answer.

    Args:
        raw: urllib3's response, of which only the head has been read.

        loop: Whose task takes it.

        patience: After how many seconds of silence it is given up.
    """

    def __init__(
        self,
        raw: Any,  # noqa: ANN401 - urllib3 is an extra
        loop: asyncio.AbstractEventLoop,
        patience: float,
    ) -> None:
        self.waited = 0.0
        self._raw = raw
        self._socket: socket.socket = raw.connection.sock
        self._loop = loop
        self._patience = patience
        # Of a body that is neither, the connection is not kept.
        self._framing = (
            _Chunked() if raw.chunked else _Counted(raw.length_remaining or 0)
        )
        self._came: list[bytes] = []
        self._size = 0
        self._failure: Exception | None = None
        self._is_watched = False
        self._waiter: asyncio.Future[None] | None = None
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    def of(
        cls,
        body: Any,  # noqa: ANN401 - botocore's stream, or a stub's
        loop: asyncio.AbstractEventLoop,
        patience: float,
    ) -> Arrivals | None:
        """
        Return the body of botocore's stream; ``None`` if a thread has to wait for it:
        on Windows, by TLS within TLS to a proxy, and where botocore is built otherwise.
        """
        raw = getattr(body, "_raw_stream", None)
        head = getattr(raw, "_original_response", None)
        connected = getattr(getattr(raw, "connection", None), "sock", None)
        is_known = type(connected) in {socket.socket, ssl.SSLSocket}
        is_kept = not getattr(head, "will_close", True)
        can_watch = type(loop).add_reader is not asyncio.AbstractEventLoop.add_reader
        if not (is_known and is_kept and can_watch and getattr(head, "fp", None)):
            return None
        return cls(raw, loop, patience)

    @property
    def has_some(self) -> bool:
        """
        Whether a piece, or the end, can be taken without waiting.
        """
        framing = self._framing
        is_over = framing.is_whole or framing.failure or self._failure
        return bool(is_over or self._came)

    async def more(self) -> None:
        """
        Wait until there is something.
        """
        self._watch()
        if self.has_some:
            return
        self._waiter = self._loop.create_future()
        self._since = self._loop.time()
        try:
            await self._waiter
        finally:
            self._waiter = None
            self.waited = self._loop.time() - self._since

    def pieces(self) -> Iterator[bytes]:
        """
        Walk through the pieces of the body that have come; a piece is empty where none
        has.
        """
        before = self._socket.gettimeout()
        self._socket.settimeout(0)
        # What was read together with the head.
        with contextlib.suppress(*_NOT_YET):
            self._came.append(self._raw._original_response.fp.read1(_PIECE))  # noqa: SLF001 - as the module says
        try:
            while not self._framing.is_whole:
                yield self._framing.feed(self._take())
                # After what came before it.
                self._failure = self._framing.failure or self._failure
        finally:
            self.close()
        self._socket.settimeout(before)
        self._raw._original_response.close()  # noqa: SLF001 - as urllib3 does at the end
        if self._framing.rest or self._came:
            self._raw.close()
        else:
            self._raw.release_conn()

    def close(self) -> None:
        """
        Stop watching the connection.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._unwatch()

    def _take(self) -> bytes:
        came, self._came, self._size, self.waited = self._came, [], 0, 0.0
        data = b"".join(came)
        if not data and self._failure is not None:
            raise self._failure
        return data

    def _watch(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            self._loop.add_reader(self._socket, self._read)
            # What TLS has deciphered already, no socket tells of.
            self._read()
        if self._timer is None:
            self._timer = self._loop.call_later(self._patience, self._look)

    def _unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            # Where the loop has ended, it watches nothing.
            with contextlib.suppress(RuntimeError):
                self._loop.remove_reader(self._socket)

    def _read(self) -> None:
        try:
            self._add(self._socket.recv(_PIECE))
            if isinstance(self._socket, ssl.SSLSocket):
                while self._is_watched:
                    self._add(self._socket.recv(_PIECE))
        except _NOT_YET:
            pass
        except OSError as error:
            self._fail(error)
        if self.has_some and self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _add(self, data: bytes) -> None:
        if not data:
            self._fail(ConnectionCutError("the connection ended in a stream"))
            return
        self._came.append(data)
        self._size += len(data)
        if self._size > _AHEAD:
            self._unwatch()

    def _fail(self, error: Exception) -> None:
        self._failure = error
        self._unwatch()

    def _look(self) -> None:
        """
        Check whether the connection is silent for too long, once for many reads.
        """
        self._timer = None
        is_waiting = self._waiter is not None and not self._waiter.done()
        silence = self._loop.time() - self._since if is_waiting else 0.0
        if silence < self._patience:
            self._timer = self._loop.call_later(self._patience - silence, self._look)
            return
        self._fail(AnswerTimeoutError(f"nothing came for {self._patience:g} s"))
        if self._waiter is not None:
            self._waiter.set_result(None)


class _Chunked:
    """
    Takes a body out of the chunks of HTTP.
    """

    def __init__(self) -> None:
        self.is_whole = False
        self.failure: Exception | None = None
        self.rest = b""
        self._left = 0
        # After a chunk comes the end of its line, after the last one what is left out.
        self._is_after_chunk = False
        self._is_after_last = False

    def feed(self, data: bytes) -> bytes:
        data, self.rest = self.rest + data, b""
        place, parts = 0, []
        while not self.is_whole and self.failure is None:
            if self._left:
                part = data[place : place + self._left]
                parts.append(part)
                place += len(part)
                self._left -= len(part)
                if self._left:
                    break
                self._is_after_chunk = True
            end = data.find(b"\n", place)
            if end < 0:
                break
            self._line(data[place:end].strip())
            place = end + 1
        self.rest = data[place:]
        if len(self.rest) > _LONGEST_LINE and not self.is_whole:
            self._fail(self.rest)
        return b"".join(parts)

    def _line(self, line: bytes) -> None:
        if self._is_after_last:
            self.is_whole = not line
            return
        if self._is_after_chunk:
            self._is_after_chunk = False
            if line:
                self._fail(line)
            return
        try:
            self._left = int(line.partition(b";")[0], 16)
        except ValueError:
            self._left = -1
        if self._left < 0:
            self._fail(line)
        self._is_after_last = not self._left

    def _fail(self, line: bytes) -> None:
        self.failure = ConnectionCutError(
            f"what came is no chunk of HTTP: {line[:60]!r}"
        )


class _Counted:
    """
    Takes a body of a length that is known.
    """

    failure = None

    def __init__(self, length: int) -> None:
        self.rest = b""
        self._left = length

    @property
    def is_whole(self) -> bool:
        return not self._left

    def feed(self, data: bytes) -> bytes:
        body, self.rest = data[: self._left], data[self._left :]
        self._left -= len(body)
        return body
