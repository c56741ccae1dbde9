"""
A model server on loopback that answers so many requests at a time: others wait.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_WORDS = ("a ", "model ", "that ", "answers ", "at ", "its ", "own ", "pace ")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, slots: int, pause: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.slots = threading.BoundedSemaphore(slots)
        self.pause = pause


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """
        Say nothing.
        """

    def do_GET(self) -> None:
        """
        List the models.
        """
        self._begin("application/json")
        self._chunk(json.dumps({"data": [{"id": "model"}]}).encode())
        self._chunk(b"")

    def do_POST(self) -> None:
        """
        Stream an answer when it is its turn.
        """
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._begin("text/event-stream")
        with self.server.slots:
            due = time.monotonic()
            for number in range(_length(body)):
                # By the clock: sleeping takes longer than it is told to.
                due += self.server.pause
                time.sleep(max(0.0, due - time.monotonic()))
                self._event(_WORDS[number % len(_WORDS)], None, body)
            self._event("", "length", body)
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _event(self, text: str, reason: str | None, body: dict[str, Any]) -> None:
        said = {"text": text} if "prompt" in body else {"delta": {"content": text}}
        choice = {"index": 0, **said, "finish_reason": reason}
        self._chunk(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _length(body: dict[str, Any]) -> int:
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 16)


@contextmanager
def model_server(slots: int, pause: float) -> Iterator[str]:
    """
    Run one, and yield its address.

    Args:
        slots: How many answers it gives at a time.

        pause: The seconds from token to token.
    """
    with _Server(slots, pause) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
