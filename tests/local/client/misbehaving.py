"""
A server on loopback that answers as a test tells it to, down to the byte.
"""

from __future__ import annotations

import json
import select
import socket
import ssl
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from cdk_sagemaker_llm.local.aws import protocols

_HEAD = "HTTP/1.1 {status} Any\r\n{fields}\r\n"
_LONG = 10.0

Behaviour = Callable[["Peer"], object]


class Peer:
    """
    The other end of a connection, for the length of one request.
    """

    def __init__(self, connection: socket.socket, body: bytes) -> None:
        self.connection = connection
        self.body = body

    def send(self, data: bytes) -> None:
        """
        Send bytes as they are.
        """
        self.connection.sendall(data)

    def head(self, status: int = 200, **fields: str) -> None:
        """
        Send the head of an answer.
        """
        named = {name.replace("_", "-"): value for name, value in fields.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        self.send(_HEAD.format(status=status, fields=lines).encode())

    def begin(self) -> None:
        """
        Begin a stream.
        """
        self.head(Content_Type=protocols.EVENT_STREAM, Transfer_Encoding="chunked")

    def chunk(self, data: bytes) -> None:
        """
        Send a chunk of HTTP.
        """
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def part(self, payload: bytes) -> None:
        """
        Send a part of a stream.
        """
        self.chunk(protocols.payload_part(payload))

    def end(self) -> None:
        """
        End a stream.
        """
        self.send(b"0\r\n\r\n")

    def whole(self, body: bytes, status: int = 200, **fields: str) -> None:
        """
        Send a whole answer.
        """
        length = str(len(body))
        self.head(
            status, Content_Type="application/json", Content_Length=length, **fields
        )
        self.send(body)

    def refuse(self, code: str, message: str, status: int, **fields: object) -> None:
        """
        Refuse as SageMaker does.
        """
        body = json.dumps({"Message": message, "message": message, **fields}).encode()
        self.whole(body, status, x_amzn_ErrorType=code)

    def cut(self) -> None:
        """
        End the connection.
        """
        self.connection.shutdown(socket.SHUT_RDWR)

    def left(self, seconds: float = _LONG) -> bool:
        """
        Wait for the client to end the connection.
        """
        ready, _, _ = select.select([self.connection], [], [], seconds)
        if not ready:
            return False
        try:
            return self.connection.recv(1) == b""
        except ConnectionError:
            return True


class Misbehaving:
    """
    Answers each request with the next behaviour, and the last of them for ever.

    Args:
        behaviours: The behaviours.

        tls: Its certificate. If left out, it talks plainly.
    """

    def __init__(
        self, *behaviours: Behaviour, tls: ssl.SSLContext | None = None
    ) -> None:
        self._tls = tls
        self._behaviours = list(behaviours)
        self.requests: list[bytes] = []
        self.fields: list[dict[str, str]] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []

    @property
    def url(self) -> str:
        """
        Where it answers.
        """
        scheme = "https" if self._tls else "http"
        return f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        """
        Begin to answer.
        """
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """
        End every connection.
        """
        # Not close alone: a thread that waits for a client would not notice.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join(_LONG)

    def _start(self, function: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            self._start(self._secure if self._tls else self._serve, connection)

    def _secure(self, connection: socket.socket) -> None:
        if self._tls is None:
            return
        try:
            secured = self._tls.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()
            return
        self._open.append(secured)
        self._serve(secured)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while (request := _request(connection)) is not None:
                    fields, body = request
                    self.fields.append(fields)
                    self.requests.append(body)
                    more = len(self._behaviours) > 1
                    behave = self._behaviours.pop(0) if more else self._behaviours[0]
                    behave(Peer(connection, body))
            except (OSError, ValueError):
                return


def _request(connection: socket.socket) -> tuple[dict[str, str], bytes] | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    pairs = (line.lower().partition(": ") for line in head.decode().split("\r\n")[1:])
    fields = {name: value for name, _, value in pairs}
    while len(body) < int(fields.get("content-length", 0)):
        body += connection.recv(65536)
    return fields, body
