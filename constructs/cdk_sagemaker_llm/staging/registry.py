"""
A repository of a container registry, by the protocol that all of them speak.

OCI distribution specification 1.1. What Amazon ECR does otherwise is said where it is
met: it answers a layer's PATCH with 201 in place of 202, and keeps the first of several
(aws/containers-roadmap issue 2831), so that a layer is sent in one, as docker push and
skopeo send it.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from cdk_sagemaker_llm.staging.signalling import StagingError, pause

ATTEMPTS = 6
INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
IMAGES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
BREAKS = (OSError, http.client.HTTPException)
"""What a connection that breaks off ends with."""
_ACCEPT = {"Accept": ", ".join((*INDEXES, *IMAGES))}
_BYTES = {"Content-Type": "application/octet-stream"}
_SECONDS = 120
_ERROR_LENGTH = 300
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class BusyError(Exception):
    """
    What another attempt may get past: 429, a server's fault, a broken line.
    """


class Login(Protocol):
    """
    Who may in.
    """

    def __call__(self, challenge: str) -> str:
        """
        Return the header that lets in, for the ``WWW-Authenticate`` that a registry
        asked with; before it was asked that is empty.
        """


@dataclass(frozen=True, slots=True)
class Manifest:
    """
    What an image is made of, or which images an index has.
    """

    content: bytes
    media_type: str

    @property
    def digest(self) -> str:
        """
        The digest of the bytes.
        """
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"

    @property
    def parsed(self) -> dict[str, Any]:
        """
        What they say.
        """
        parsed: dict[str, Any] = json.loads(self.content)
        return parsed


@dataclass(frozen=True, slots=True)
class _Answer:
    headers: http.client.HTTPMessage
    content: bytes


class Registry:
    """
    One repository of a registry.
    """

    def __init__(self, url: str, repository: str, login: Login) -> None:
        self._url = url.rstrip("/")
        self._base = f"{self._url}/v2/{repository}"
        self._login = login
        self._authorization = ""
        self.title = f"{urllib.parse.urlsplit(url).netloc}/{repository}"

    def manifest(self, reference: str) -> Manifest:
        """
        Return a manifest by its digest or tag.
        """
        path = f"{self._base}/manifests/{reference}"
        answer = self._whole("GET", path, _ACCEPT)
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        found = Manifest(answer.content, kind)
        if reference.startswith("sha256:") and found.digest != reference:
            raise StagingError(
                f"{self.title} gave another manifest than {reference}: it is "
                f"{found.digest}; nothing of it was taken"
            )
        if found.media_type not in (*INDEXES, *IMAGES):
            raise StagingError(
                f"{reference} of {self.title} is of the kind {found.media_type}, and "
                "no image"
            )
        return found

    def digest_at(self, reference: str) -> str | None:
        """
        Return the digest of what is at a tag; ``None`` where nothing is.
        """
        path = f"{self._base}/manifests/{reference}"
        found = self._head(path, _ACCEPT)
        return None if found is None else found.get("Docker-Content-Digest", "")

    def has_blob(self, digest: str) -> bool:
        """
        Whether a layer or a configuration is there.
        """
        return self._head(f"{self._base}/blobs/{digest}", {}) is not None

    def read_blob(self, digest: str) -> bytes:
        """
        Return an image's configuration.
        """
        found = self._whole("GET", f"{self._base}/blobs/{digest}", {}).content
        if f"sha256:{hashlib.sha256(found).hexdigest()}" != digest:
            raise StagingError(f"{self.title} gave other contents than {digest}")
        return found

    def open_blob(self, digest: str, start: int = 0) -> http.client.HTTPResponse:
        """
        Return a reader of a layer, from a byte on.

        Raises:
            StagingError: If it is not given.
            BusyError: If another attempt may do.
        """
        headers = {"Range": f"bytes={start}-"} if start else {}
        answer = self._ask("GET", f"{self._base}/blobs/{digest}", headers)
        if answer.status != HTTPStatus.PARTIAL_CONTENT:
            # Who knows no ranges begins anew.
            while start:
                piece = answer.read(min(start, 1024 * 1024))
                if not piece:
                    raise BusyError("the connection was closed")
                start -= len(piece)
        return answer

    def begin_blob(self) -> str:
        """
        Return the address that a layer is sent to.
        """
        answer = self._whole("POST", f"{self._base}/blobs/uploads/", _BYTES, b"")
        return self._location(answer.headers)

    def send_blob(self, place: str, pieces: Iterable[bytes]) -> str:
        """
        Send a layer, and return where it is finished.

        Raises:
            StagingError: If it is not taken.
            BusyError: If another attempt may do.
        """
        with self._ask("PATCH", place, _BYTES, pieces) as answer:
            return self._location(answer.headers)

    def finish_blob(self, place: str, digest: str) -> None:
        """
        Say that a layer is there, and what its digest is: the registry holds it to it.

        Raises:
            StagingError: If it is not taken.
            BusyError: If another attempt may do.
        """
        mark = "&" if "?" in place else "?"
        path = f"{place}{mark}digest={urllib.parse.quote(digest, safe='')}"
        # Once alone: where the answer is lost, the layer may be there.
        with self._ask("PUT", path, _BYTES, b""):
            pass

    def put_manifest(self, reference: str, manifest: Manifest) -> None:
        """
        Put a manifest there, whose layers are there already.
        """
        headers = {"Content-Type": manifest.media_type}
        path = f"{self._base}/manifests/{reference}"
        self._whole("PUT", path, headers, manifest.content)

    def gave_up(self, last: BusyError) -> StagingError:
        """
        Say that no further attempt is made.
        """
        return StagingError(
            f"{self.title} failed in {ATTEMPTS} attempts, and said last: {last}; "
            "deploy again to go on from here"
        )

    def _head(
        self, url: str, headers: Mapping[str, str]
    ) -> http.client.HTTPMessage | None:
        try:
            return self._whole("HEAD", url, headers).headers
        except _MissingError:
            return None

    def _whole(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> _Answer:
        """
        Ask, and again where the registry is busy or breaks off; raise
        ``StagingError`` if it refuses, or stays so.
        """
        for attempt in range(ATTEMPTS):
            try:
                with self._ask(method, url, headers, body) as answer:
                    return _Answer(answer.headers, answer.read())
            except BusyError as fault:
                last = fault
            except BREAKS as fault:
                last = BusyError(_reason(fault))
            pause(attempt)
        raise self.gave_up(last) from last

    def _ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes] | None = None,
    ) -> http.client.HTTPResponse:
        if not self._authorization:
            self._authorization = self._login("")
        try:
            return self._once(method, url, headers, body)
        except _ChallengedError as fault:
            # The login was for less, or is too old.
            self._authorization = self._login(fault.challenge)
        if not isinstance(body, bytes | None):
            raise BusyError("the login had ended")
        try:
            return self._once(method, url, headers, body)
        except _ChallengedError as fault:
            raise self._refusal(method, str(fault)) from fault

    def _once(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes] | None,
    ) -> http.client.HTTPResponse:
        if not url.startswith(("https://", "http://")):
            raise StagingError(f"{self.title} named an address that is none: {url!r}")
        request = urllib.request.Request(  # noqa: S310 - held just above
            url,
            data=body,
            headers=dict(headers),
            method=method,
        )
        if self._authorization and url.startswith(f"{self._url}/"):
            # Not passed on: where a layer is kept, another signature is in the address.
            request.add_unredirected_header("Authorization", self._authorization)
        try:
            answer: http.client.HTTPResponse = urllib.request.urlopen(  # noqa: S310
                request, timeout=_SECONDS
            )
        except urllib.error.HTTPError as fault:
            raise self._fault(request, fault) from fault
        except BREAKS as fault:
            raise BusyError(_reason(fault)) from fault
        return answer

    def _location(self, headers: http.client.HTTPMessage) -> str:
        return urllib.parse.urljoin(f"{self._url}/", headers.get("Location", ""))

    def _fault(
        self, request: urllib.request.Request, fault: urllib.error.HTTPError
    ) -> Exception:
        code, message = _error(fault)
        status = f"{fault.code} {fault.reason}" + (f": {message}" if message else "")
        method = request.get_method()
        challenge = fault.headers.get("WWW-Authenticate", "")
        if fault.code == HTTPStatus.UNAUTHORIZED and challenge:
            return _ChallengedError(status, challenge)
        too_many = fault.code == HTTPStatus.TOO_MANY_REQUESTS
        if too_many or fault.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return BusyError(status)
        if fault.code in _REFUSED:
            return self._refusal(method, status)
        if code == "NAME_UNKNOWN":
            return StagingError(f"there is no repository {self.title}")
        what = request.full_url.partition("?")[0].rpartition("/")[2]
        if fault.code == HTTPStatus.NOT_FOUND:
            return _MissingError(
                f"{self.title} has no {what}; name a digest of that repository, as it "
                "is in that region"
            )
        return StagingError(f"{self.title} answered {method} {what} with {status}")

    def _refusal(self, method: str, status: str) -> StagingError:
        does = "read from" if method in {"GET", "HEAD"} else "write to"
        return StagingError(
            f"the role may not {does} {self.title} ({status}); let it in by its own "
            "policy and by the repository's"
        )


class _ChallengedError(Exception):
    """
    A registry asks for a login.
    """

    def __init__(self, status: str, challenge: str) -> None:
        super().__init__(status)
        self.challenge = challenge


class _MissingError(StagingError):
    """
    What was asked for is not there.
    """


def _error(fault: urllib.error.HTTPError) -> tuple[str, str]:
    try:
        text = fault.read().decode(errors="replace")
    except BREAKS:
        return "", ""
    try:
        first = json.loads(text)["errors"][0]
        return str(first.get("code", "")), str(first.get("message", ""))[:_ERROR_LENGTH]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return "", " ".join(text.split())[:_ERROR_LENGTH]


def _reason(fault: Exception) -> str:
    return str(getattr(fault, "reason", fault)) or type(fault).__name__
