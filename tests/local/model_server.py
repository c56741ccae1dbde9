"""
A server with OpenAI's routes on loopback, as vLLM and its kin have them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAIT = 30.0


class ModelServer(ThreadingHTTPServer):
    """
    Answers as a test tells it to.

    ``go_on`` is what a stream waits for before its second part; ``left`` is set when a
    client has gone in the middle of one.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.model: str | None = "tiny"
        self.status = 200
        self.behaviour = "well"
        self.go_on = threading.Event()
        self.left = threading.Event()

    @property
    def url(self) -> str:
        """
        Where it answers.
        """
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reset(self) -> None:
        """
        Answer well again.
        """
        self.seen.clear()
        self.model, self.status, self.behaviour = "tiny", 200, "well"
        self.go_on.clear()
        self.left.clear()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, *_: object) -> None:
        """
        Say nothing.
        """

    def do_GET(self) -> None:
        """
        List the models.
        """
        model = self.server.model
        self._whole({"data": [{"id": model}]} if model else {}, 200 if model else 404)

    def do_POST(self) -> None:
        """
        Answer a request.
        """
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fields = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.path, body, fields))
        if self.server.status == 404 and self.path != "/v1/chat/completions":
            self._whole({"detail": "Not Found"}, 404)
        elif self.server.status != 200:
            refused = {"error": {"message": "too hot", "type": "Overheated"}}
            self._whole(refused, self.server.status)
        elif self.server.behaviour == "pinned" and body.get("model"):
            self._whole({"detail": f"I am not {body['model']!r}."}, 400)
        elif self.server.behaviour == "slow":
            self.server.go_on.wait(WAIT)
            self.close_connection = True
        elif self.server.behaviour == "silent":
            self.close_connection = True
        elif body.get("stream"):
            self._stream()
        else:
            self._whole(self._answer(body))

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        if "input" in body:
            rows = [{"index": 0, "embedding": [0.5, 0.25]}]
            return {"object": "list", "data": rows}
        text = f"by {body.get('model')}"
        said = {"text": text} if "prompt" in body else {"message": {"content": text}}
        return {"choices": [{**said, "finish_reason": "stop"}]}

    def _whole(self, answer: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(answer).encode()
        cut = self.server.behaviour == "cut"
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body) + 100 * cut))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = cut

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self._chunk(_event("Hel"))
            if not self.server.go_on.wait(WAIT):
                return
            if self.server.behaviour == "cut":
                self.close_connection = True
                return
            while self.server.behaviour == "endless":
                self._chunk(_event("!"))
            self._chunk(_event("lo", "stop"))
            self._chunk(b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            self.close_connection = True
            self.server.left.set()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _event(text: str, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """
    Run one.
    """
    with ModelServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.go_on.set()
            server.shutdown()
            thread.join(WAIT)
