"""
A socket that hears what CloudFormation would be told.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Listener(BaseHTTPRequestHandler):
    """
    Keeps what is put at each path.
    """

    def do_PUT(self) -> None:
        """
        Take it, unless the path has expired.
        """
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = 403 if self.path == "/expired" else 200
        if status == 200:
            self.server.heard.append((self.path, json.loads(body)))  # type: ignore[attr-defined] # set below
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """
        Say nothing.
        """


class Told:
    """
    What was put, and where to put more.
    """

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        server.heard = self.heard  # type: ignore[attr-defined] # for the handler
        self.url = f"http://127.0.0.1:{server.server_port}"

    def at(self, path: str) -> list[dict[str, Any]]:
        """
        Return what was put at one path.
        """
        return [body for place, body in self.heard if place == path]
