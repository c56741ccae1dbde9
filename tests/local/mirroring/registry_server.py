"""
A server that speaks the protocol of container registries as Amazon ECR does, and holds
small images.

Where ECR differs from the specification, so does it: a PATCH is answered with 201, the
second one of a layer is dropped (aws/containers-roadmap issue 2831), layers are read
from another address that takes no further signature, and an index is taken after the
images that it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

INDEX = "application/vnd.oci.image.index.v1+json"
IMAGE = "application/vnd.docker.distribution.manifest.v2+json"
_PATH = re.compile(r"/v2/(?P<repository>.+?)/(?P<kind>manifests|blobs)/(?P<rest>.+)")
# What crane, docker and skopeo read at once at most is far more; so is what breaks off.
_PIECE = 64 * 1024


def digest_of(content: bytes) -> str:
    """
    Return the digest of bytes.
    """
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass(slots=True)
class Repository:
    """
    A repository.

    Args:
        is_open: Whether everybody may read, with a token that everybody gets.

        is_closed: Whether nobody may.
    """

    is_open: bool = False
    is_closed: bool = False
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def add_image(
        self, *layers: bytes, architecture: str = "amd64", tag: str = ""
    ) -> str:
        """
        Put an image there, and return its digest.
        """
        config = json.dumps({"os": "linux", "architecture": architecture}).encode()
        every = [self._add(one) for one in (config, *layers)]
        said = {
            "schemaVersion": 2,
            "mediaType": IMAGE,
            "config": every[0],
            "layers": every[1:],
        }
        return self._add_manifest(IMAGE, said, tag)

    def add_index(self, **images: str) -> str:
        """
        Put an index of images there, by their architectures; return its digest.
        """
        said = {
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": [
                {
                    "mediaType": IMAGE,
                    "digest": digest,
                    "size": len(self.manifests[digest][1]),
                    "platform": {"os": "linux", "architecture": architecture},
                }
                for architecture, digest in images.items()
            ],
        }
        return self._add_manifest(INDEX, said, "")

    def _add(self, content: bytes) -> dict[str, object]:
        digest = digest_of(content)
        self.blobs[digest] = content
        return {"mediaType": "any", "digest": digest, "size": len(content)}

    def _add_manifest(self, kind: str, said: object, tag: str) -> str:
        # With spaces, as nobody would write it again: the bytes are what counts.
        content = json.dumps(said, indent=3).encode()
        digest = digest_of(content)
        self.manifests[digest] = (kind, content)
        if tag:
            self.tags[tag] = digest
        return digest


@dataclass(slots=True)
class RegistryServer:
    """
    The server, with what it does wrong on purpose.

    Args:
        repositories: What it has, by name.

        busy: How many requests it answers with ``busy_status`` first.

        broken: For each digest, how many times reading it breaks off.

        unsent: For each digest, how many times sending it breaks off.

        corrupted: For each digest, how many times it gives other contents.

        lost: For each digest, how many times the answer to its end is lost.

        knows_ranges: Whether it goes on from a byte that is asked for.

        on_blob: What is called at each layer that is read, before the answer.

        on_manifest: What is called when a manifest was put: repository, tag, content.
    """

    repositories: dict[str, Repository]
    busy: int = 0
    busy_status: int = 429
    logins: int = 0
    broken: dict[str, int] = field(default_factory=dict)
    unsent: dict[str, int] = field(default_factory=dict)
    corrupted: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    knows_ranges: bool = True
    on_blob: Callable[[str], None] = lambda _: None
    on_manifest: Callable[[str, str, bytes], None] = lambda *_: None
    read: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    asked_of_ecr: list[dict[str, Any]] = field(default_factory=list)
    uploads: dict[str, bytes | None] = field(default_factory=dict)
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

    @property
    def password(self) -> str:
        """
        The login that is good now.
        """
        return base64.b64encode(f"AWS:password-{self.logins}".encode()).decode()


class _Handler(BaseHTTPRequestHandler):
    of: RegistryServer

    def log_message(self, format: str, *args: object) -> None:
        """
        Say nothing.
        """

    def do_HEAD(self) -> None:
        """
        Answer whether something is there.
        """
        self._answer(self._shown)

    def do_GET(self) -> None:
        """
        Answer what is there.
        """
        if self.path.startswith("/token?"):
            assert "service=open" in self.path
            self._send(200, json.dumps({"token": "everybody"}).encode())
        elif self.path.startswith("/storage/"):
            self._stored()
        else:
            self._answer(self._shown)

    def do_POST(self) -> None:
        """
        Begin an upload, or log in.
        """
        if self.path == "/":
            self._log_in()
        else:
            self._answer(self._begun)

    def do_PATCH(self) -> None:
        """
        Take the bytes of a layer.
        """
        self._answer(self._taken)

    def do_PUT(self) -> None:
        """
        End an upload, or take a manifest.
        """
        self._answer(self._put)

    def _log_in(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.of.asked_of_ecr.append(json.loads(content))
        data = {
            "authorizationToken": self.of.password,
            "proxyEndpoint": self.of.url,
            "expiresAt": 0,
        }
        self._send(200, json.dumps({"authorizationData": [data]}).encode())

    def _answer(self, act: Callable[[Repository, str, str, str], None]) -> None:
        if self.of.busy:
            self.of.busy -= 1
            self._refuse(self.of.busy_status, "TOOMANYREQUESTS", "slow down")
            return
        match = _PATH.match(self.path)
        assert match is not None, self.path
        name, kind, rest = match["repository"], match["kind"], match["rest"]
        repository = self.of.repositories.get(name)
        if repository is None:
            self._refuse(404, "NAME_UNKNOWN", f"no repository {name}")
        elif repository.is_closed:
            self._refuse(403, "DENIED", "no policy allows it")
        elif not self._may_in(repository):
            self._challenge(repository)
        else:
            act(repository, name, kind, rest)

    def _may_in(self, repository: Repository) -> bool:
        wanted = f"Basic {self.of.password}"
        if repository.is_open:
            wanted = "Bearer everybody"
        return self.headers.get("Authorization") == wanted

    def _challenge(self, repository: Repository) -> None:
        said = 'Basic realm="ecr"'
        if repository.is_open:
            said = f'Bearer realm="{self.of.url}/token",service="open",scope="aws"'
        self._refuse(401, "UNAUTHORIZED", "who is there?", {"WWW-Authenticate": said})

    def _shown(self, repository: Repository, name: str, kind: str, rest: str) -> None:
        if kind == "blobs":
            if rest not in repository.blobs:
                self._refuse(404, "BLOB_UNKNOWN", "no such layer")
            elif self.command == "HEAD":
                self._send(200, repository.blobs[rest])
            else:
                place = {"Location": f"{self.of.url}/storage/{name}/{rest}?signed=yes"}
                self._send(307, b"", place)
            return
        digest = repository.tags.get(rest, rest)
        if digest not in repository.manifests:
            self._refuse(404, "MANIFEST_UNKNOWN", "no such image")
            return
        kind, content = repository.manifests[digest]
        assert kind in self.headers["Accept"]
        if self.of.corrupted.get(digest, 0):
            content = content.replace(b"2", b"3")
        headers = {"Content-Type": kind, "Docker-Content-Digest": digest}
        self._send(200, content, headers)

    def _stored(self) -> None:
        # Only one signature is taken, and that of the address it is.
        assert "Authorization" not in self.headers
        name, _, digest = self.path[len("/storage/") : -len("?signed=yes")].rpartition(
            "/"
        )
        self.of.read.append(digest)
        self.of.on_blob(digest)
        content = self.of.repositories[name].blobs[digest]
        if self._counts_down(self.of.corrupted, digest):
            content = bytes(reversed(content))
        said = self.headers.get("Range", "")
        start = 0
        if said and self.of.knows_ranges:
            start = int(said.removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if self._counts_down(self.of.broken, digest):
            self.wfile.write(content[start : start + (len(content) - start) // 2])
            self.close_connection = True
            return
        self.wfile.write(content[start:])

    def _begun(self, repository: Repository, name: str, kind: str, rest: str) -> None:
        assert (kind, rest) == ("blobs", "uploads/")
        assert repository is self.of.repositories[name]
        key = uuid.uuid4().hex
        self.of.uploads[key] = None
        self._send(202, b"", {"Location": f"/v2/{name}/blobs/uploads/{key}"})

    def _taken(self, repository: Repository, name: str, kind: str, rest: str) -> None:
        assert (repository, kind) == (self.of.repositories[name], "blobs")
        key = rest.removeprefix("uploads/")
        content = self._chunks()
        if self._counts_down(self.of.unsent, digest_of(content)):
            self.close_connection = True
            return
        if self.of.uploads[key] is None:
            self.of.uploads[key] = content
        self._send(201, b"", {"Location": f"/v2/{name}/blobs/uploads/{key}"})

    def _put(self, repository: Repository, name: str, kind: str, rest: str) -> None:
        if kind == "manifests":
            self._put_manifest(repository, name, rest)
            return
        rest, _, digest = rest.partition("?digest=sha256%3A")
        digest = f"sha256:{digest}"
        content = self.of.uploads.pop(rest.removeprefix("uploads/"), None)
        if content is None or digest_of(content) != digest:
            self._refuse(400, "DIGEST_INVALID", "not what was said")
            return
        repository.blobs[digest] = content
        self.of.written.append(digest)
        if self._counts_down(self.of.lost, digest):
            self.close_connection = True
            return
        self._send(201, b"")

    def _put_manifest(self, repository: Repository, name: str, rest: str) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        said, digest = json.loads(content), digest_of(content)
        images = [one["digest"] for one in said.get("manifests", [])]
        blobs = [one["digest"] for one in said.get("layers", [])]
        if set(images) - set(repository.manifests):
            self._refuse(404, "MANIFEST_UNKNOWN", "an image is not there")
        elif set(blobs) - set(repository.blobs):
            self._refuse(404, "BLOB_UNKNOWN", "a layer is not there")
        elif repository.tags.get(rest, digest) != digest:
            self._refuse(400, "TAG_INVALID", "the tag exists, and is immutable")
        else:
            repository.manifests[digest] = (self.headers["Content-Type"], content)
            if not rest.startswith("sha256:"):
                repository.tags[rest] = digest
            self.of.written.append(rest)
            self.of.on_manifest(name, rest, content)
            self._send(201, b"", {"Docker-Content-Digest": digest})

    def _chunks(self) -> bytes:
        assert self.headers["Transfer-Encoding"] == "chunked"
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _refuse(
        self,
        status: int,
        code: str,
        message: str,
        headers: dict[str, str] | None = None,
    ) -> None:
        said = {"errors": [{"code": code, "message": message}]}
        self._send(status, json.dumps(said).encode(), headers)

    def _send(
        self, status: int, content: bytes, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    @staticmethod
    def _counts_down(counts: dict[str, int], digest: str) -> bool:
        left = counts.get(digest, 0)
        counts[digest] = max(left - 1, 0)
        return left > 0
