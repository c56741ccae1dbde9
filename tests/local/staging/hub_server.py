"""
A server that speaks the Hub's protocol, and holds small repositories.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

REVISION = "0123456789abcdef0123456789abcdef01234567"
# What the Hub keeps in Git itself is smaller.
_LARGE = 10_000
_FILE = re.compile(r"/(?P<model>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
_INFO = re.compile(r"/api/models/(?P<model>[^/]+/[^/]+)/revision/(?P<revision>[^/?]+)")


@dataclass(slots=True)
class Repository:
    """
    A repository of one commit.

    Args:
        files: Its files, by path.

        token: What opens it, if it is gated; empty if it is not.

        revision: Its commit.
    """

    files: Mapping[str, bytes]
    token: str = ""
    revision: str = REVISION


@dataclass(slots=True)
class Hub:
    """
    The server, with what it does wrong on purpose.

    Args:
        repositories: What it has, by id.

        busy: How many requests it answers with 429 first.

        broken: For each path, how many times it breaks off in the middle.

        corrupted: For each path, how many times it gives other contents.

        on_file: What is called at each file that is asked for, before the answer.
    """

    repositories: dict[str, Repository]
    busy: int = 0
    broken: dict[str, int] = field(default_factory=dict)
    corrupted: dict[str, int] = field(default_factory=dict)
    on_file: Callable[[str], None] = lambda _: None
    asked: list[str] = field(default_factory=list)
    url: str = ""
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        """
        Serve on a free port.
        """
        handler = type("Handler", (_Handler,), {"of": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """
        Stop.
        """
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    of: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        """
        Answer what a file is.
        """
        self._answer(with_body=False)

    def do_GET(self) -> None:
        """
        Answer a file, or what a repository holds.
        """
        self._answer(with_body=True)

    def log_message(self, format: str, *args: object) -> None:
        """
        Say nothing.
        """

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        if with_body and self.of.busy:
            self.of.busy -= 1
            self._refuse(429, "", "Too Many Requests", with_body=with_body)
            return
        info, file = _INFO.match(path), _FILE.match(path)
        found = info or file
        repository = self.of.repositories.get(found["model"]) if found else None
        if found is None or repository is None:
            # The Hub does not tell what is private from what is not there.
            self._refuse(401, "RepoNotFound", "Repository Not Found", with_body)
        elif found["revision"] != repository.revision:
            self._refuse(404, "RevisionNotFound", "Invalid rev id", with_body)
        elif info:
            # What each file is is told to who asks for it alone.
            is_full = "blobs=true" in self.path.partition("?")[2].lower()
            told = _info(found["model"], repository, is_full=is_full)
            self._send(json.dumps(told).encode(), {})
        elif file:
            self._file(repository, file["path"], with_body=with_body)

    def _file(self, repository: Repository, path: str, *, with_body: bool) -> None:
        told = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repository.token and told != repository.token:
            self._refuse(403, "GatedRepo", "Access to model is restricted", with_body)
            return
        data = repository.files[path]
        digest = _digest(data)
        headers = {"ETag": f'"{digest}"', "X-Repo-Commit": REVISION}
        if len(data) >= _LARGE:
            headers |= {
                "X-Linked-Etag": f'"{digest}"',
                "X-Linked-Size": str(len(data)),
            }
        if not with_body:
            self._send(b"", {**headers, "Content-Length": str(len(data))})
            return
        self.of.asked.append(path)
        self.of.on_file(path)
        if self.of.corrupted.get(path, 0):
            self.of.corrupted[path] -= 1
            data = bytes(len(data))
        self._send(data, headers, breaks=self._breaks(path))

    def _breaks(self, path: str) -> bool:
        left = self.of.broken.get(path, 0)
        self.of.broken[path] = max(left - 1, 0)
        return left > 0

    def _send(
        self, body: bytes, headers: Mapping[str, str], *, breaks: bool = False
    ) -> None:
        start = self._start() if body else 0
        self.send_response(206 if start else 200)
        for name, value in {
            "Content-Length": str(len(body) - start),
            **headers,
        }.items():
            self.send_header(name, value)
        if start:
            span = f"bytes {start}-{len(body) - 1}/{len(body)}"
            self.send_header("Content-Range", span)
        self.end_headers()
        if breaks:
            self.wfile.write(body[start : start + (len(body) - start) // 2])
            self.close_connection = True
            return
        self.wfile.write(body[start:])

    def _start(self) -> int:
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(found[1]) if found else 0

    def _refuse(self, status: int, code: str, words: str, with_body: bool) -> None:  # noqa: FBT001 - its own calls
        body = json.dumps({"error": words}).encode()
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", words)
        self.send_header("Content-Length", str(len(body) if with_body else 0))
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _info(model: str, repository: Repository, *, is_full: bool) -> dict[str, Any]:
    return {
        "id": model,
        "modelId": model,
        "sha": repository.revision,
        "private": False,
        "gated": "manual" if repository.token else False,
        "tags": [],
        "downloads": 0,
        "likes": 0,
        "siblings": [
            _sibling(path, data) if is_full else {"rfilename": path}
            for path, data in repository.files.items()
        ],
    }


def _sibling(path: str, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {
        "rfilename": path,
        "size": len(data),
        "blobId": _git(data),
    }
    if len(data) >= _LARGE:
        found["lfs"] = {
            "sha256": hashlib.sha256(data).hexdigest(),
            "size": len(data),
            "pointerSize": 134,
        }
    return found


def _digest(data: bytes) -> str:
    large = len(data) >= _LARGE
    return hashlib.sha256(data).hexdigest() if large else _git(data)


def _git(data: bytes) -> str:
    head = f"blob {len(data)}\0".encode()
    return hashlib.sha1(head + data, usedforsecurity=False).hexdigest()
