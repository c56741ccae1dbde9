"""
Mirroring an image in a build: ``python3 -m cdk_sagemaker_llm.staging.images``.

It reads which image is wanted where, logs in to both registries, and copies the layers,
several at once and none twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from http.client import HTTPException

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from cdk_sagemaker_llm.staging.order import VARIABLE
from cdk_sagemaker_llm.staging.registry import (
    ATTEMPTS,
    BREAKS,
    INDEXES,
    BusyError,
    Manifest,
    Registry,
)
from cdk_sagemaker_llm.staging.signalling import StagingError, ended, pause, say

_CHUNK = 1024 * 1024
# How often contents may be others than their digest says.
_ARRIVALS = 3
_SHORT = 19

_SECONDS = 60
_PART = re.compile(r'(\w+)="([^"]*)"')

_THREADS = 4


def main() -> int:
    """
    Mirror what the environment asks for, and signal how it went.
    """
    return ended(
        _ImageOrder.from_environment,
        _mirror,
        named=lambda order: order.digest,
        otherwise="image",
        failed="not mirrored",
    )


def source_of(order: _ImageOrder) -> Registry:
    """
    Return where an image is mirrored from.
    """
    if order.source_url:
        return Registry(order.source_url, order.source_repository, _OpenLogin())
    login = _EcrLogin(order.source_account, order.source_region)
    return Registry(login.url, order.source_repository, login)


def target_of(order: _ImageOrder) -> Registry:
    """
    Return where an image is mirrored to.
    """
    login = _EcrLogin()
    return Registry(login.url, order.repository, login)


@dataclass(frozen=True, kw_only=True, slots=True)
class _ImageOrder:
    """
    One image by its digest, and the repository that it goes to.

    Args:
        platform: What it must be built for, such as ``linux/amd64``.

        source_account: Whose registry in Amazon ECR it is in; empty for another one.

        source_url: Another registry's address; empty for one in Amazon ECR.

        source_tag: The tag that it had when its digest was taken.
    """

    source_repository: str
    digest: str
    platform: str
    repository: str
    tag: str
    source_account: str = ""
    source_region: str = ""
    source_url: str = ""
    source_tag: str = ""
    threads: int = _THREADS

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ
    ) -> _ImageOrder:
        try:
            return cls(**json.loads(environment[VARIABLE]))
        except (KeyError, ValueError, TypeError) as fault:
            raise StagingError(f"{VARIABLE} is not what it should be: {fault}") from (
                fault
            )

    @property
    def title(self) -> str:
        return f"{self.source_repository}@{self.digest[:_SHORT]}"


def _mirror(order: _ImageOrder) -> None:
    """
    Mirror an image, unless it is there: what has the tag, which is put last, is whole.
    """
    target = target_of(order)
    if target.digest_at(order.tag) == order.digest:
        say(f"{order.title} is mirrored already")
        return
    source = source_of(order)
    manifests = list(_manifests(source, order.digest))
    built_for = sorted(_platforms(source, manifests[-1]))
    if order.platform not in built_for:
        # It would fail at its start.
        raise StagingError(
            f"{order.title} is built for {', '.join(built_for)}, and {order.platform} "
            "is wanted; name the digest of that one"
        )
    now = source.digest_at(order.source_tag) if order.source_tag else order.digest
    if now != order.digest:
        state = now or "nothing"
        say(f"{order.source_tag} of {source.title} stands for {state} now")
    _Copying(source, target, _blobs(manifests), order.threads).run()
    for one in manifests[:-1]:
        target.put_manifest(one.digest, one)
    target.put_manifest(order.tag, manifests[-1])
    say(f"{order.title} is mirrored: {target.title}:{order.tag}")


class _OpenLogin:
    """
    A login to a registry that lets everybody read, after it has handed out a token.
    """

    def __call__(self, challenge: str) -> str:
        """
        Return the header, as the registry's challenge says where to get it.
        """
        parts = dict(_PART.findall(challenge))
        if not challenge.lower().startswith("bearer ") or "realm" not in parts:
            return ""
        realm = parts.pop("realm")
        if not realm.startswith(("https://", "http://")):
            raise StagingError(f"a registry hands out tokens at no address: {realm!r}")
        address = f"{realm}?{urllib.parse.urlencode(parts)}"
        try:
            with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310 - held just above
                found = json.loads(answer.read())
        except (OSError, HTTPException, ValueError) as fault:
            raise BusyError(f"no token from {realm}: {fault}") from fault
        return f"Bearer {found.get('token') or found.get('access_token', '')}"


class _EcrLogin:
    """
    A login to a registry of Amazon ECR, as good as its role for twelve hours.

    Args:
        account: Whose registry it is; empty for the role's own.

        region: Where it is; empty for the build's own.
    """

    def __init__(self, account: str = "", region: str = "") -> None:
        self._account = account
        self._region = region
        self.url, self._header = self._ask()

    def __call__(self, challenge: str) -> str:
        """
        Return the header, a new one where the old one is refused.
        """
        if challenge:
            self.url, self._header = self._ask()
        return self._header

    def _ask(self) -> tuple[str, str]:
        # The account changes nothing of the login; the address comes with it.
        registries = {"registryIds": [self._account]} if self._account else {}
        try:
            client = boto3.client("ecr", region_name=self._region or None)
            (found,) = client.get_authorization_token(**registries)["authorizationData"]
        except (BotoCoreError, ClientError) as fault:
            where = f"of {self._region}" if self._region else "of this region"
            raise StagingError(
                f"Amazon ECR {where} does not let the role log in: {fault}; a region "
                "of another partition never does"
            ) from fault
        return found["proxyEndpoint"], f"Basic {found['authorizationToken']}"


def _manifests(source: Registry, digest: str) -> Iterator[Manifest]:
    """
    Return what a digest stands for, and before it the images that it names: a registry
    takes an index only after these.
    """
    found = source.manifest(digest)
    if found.media_type in INDEXES:
        for one in found.parsed.get("manifests", []):
            yield from _manifests(source, one["digest"])
    yield found


class _Copying:
    """
    The layers of one image on their way, from a registry to the other without a disk
    between them.
    """

    def __init__(
        self,
        source: Registry,
        target: Registry,
        blobs: Sequence[_Blob],
        threads: int,
    ) -> None:
        self._source = source
        self._target = target
        self._blobs = blobs
        self._threads = threads
        self._total = sum(one.size for one in blobs)
        self._lock = threading.Lock()
        self._done = 0
        self._bytes = 0

    def run(self) -> None:
        """
        Bring what is missing, the largest first.
        """
        ordered = sorted(self._blobs, key=lambda one: -one.size)
        with ThreadPoolExecutor(self._threads) as pool:
            futures = [pool.submit(self._bring, one) for one in ordered]
            done, waiting = wait(futures, return_when=FIRST_EXCEPTION)
            for future in waiting:
                future.cancel()
            for future in done:
                future.result()

    def _bring(self, blob: _Blob) -> None:
        began = time.monotonic()
        arrived = 0
        for attempt in range(ATTEMPTS):
            # Of an earlier build, or of an attempt whose answer was lost.
            if self._target.has_blob(blob.digest):
                self._say(blob, "is there already")
                return
            try:
                if self._copy(blob):
                    seconds = max(time.monotonic() - began, 0.001)
                    rate = blob.size / 1e6 / seconds
                    self._say(blob, f"in {seconds:.0f} s ({rate:.0f} MB/s)")
                    return
                arrived += 1
                last = BusyError("other contents than the digest says")
            except BusyError as fault:
                last = fault
            if arrived == _ARRIVALS:
                raise StagingError(
                    f"{blob.digest} of {self._source.title} arrived {_ARRIVALS} times "
                    "with other contents than its digest says, and was not put in place"
                )
            pause(attempt)
        raise self._target.gave_up(last) from last

    def _copy(self, blob: _Blob) -> bool:
        """
        Copy a layer; return whether it arrived as its digest says.
        """
        pieces = _Pieces(self._source, blob)
        place = self._target.send_blob(self._target.begin_blob(), iter(pieces))
        if pieces.digest != blob.digest:
            # What is never finished is never there.
            return False
        self._target.finish_blob(place, blob.digest)
        return True

    def _say(self, blob: _Blob, what: str) -> None:
        with self._lock:
            self._done += 1
            self._bytes += blob.size
            share = self._bytes / self._total if self._total else 1.0
            say(
                f"[{self._done}/{len(self._blobs)}] {blob.digest[:_SHORT]} "
                f"{blob.size / 1e9:.2f} GB {what}, {share:.0%} of "
                f"{self._total / 1e9:.2f} GB"
            )


def _blobs(manifests: Sequence[Manifest]) -> list[_Blob]:
    found = {
        one["digest"]: _Blob(one["digest"], one["size"])
        for manifest in manifests
        if manifest.media_type not in INDEXES
        for one in (manifest.parsed["config"], *manifest.parsed["layers"])
    }
    return list(found.values())


def _platforms(source: Registry, root: Manifest) -> set[str]:
    if root.media_type in INDEXES:
        found = [one.get("platform", {}) for one in root.parsed.get("manifests", [])]
    else:
        found = [json.loads(source.read_blob(root.parsed["config"]["digest"]))]
    return {
        f"{one.get('os', 'unknown')}/{one.get('architecture', 'unknown')}"
        for one in found
    }


@dataclass(frozen=True, slots=True)
class _Blob:
    """
    A layer, or an image's configuration.
    """

    digest: str
    size: int


class _Pieces:
    """
    A layer's bytes as they come, gone on with where the line breaks.
    """

    def __init__(self, source: Registry, blob: _Blob) -> None:
        self._source = source
        self._blob = blob
        self._hash = hashlib.sha256()
        self._read = 0

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def __iter__(self) -> Iterator[bytes]:
        broken = 0
        while self._read < self._blob.size:
            try:
                yield from self._some()
                last = BusyError("the connection was closed")
            except BusyError as fault:
                last = fault
            if self._read >= self._blob.size:
                return
            if broken == ATTEMPTS:
                raise self._source.gave_up(last) from last
            pause(broken)
            broken += 1

    def _some(self) -> Iterator[bytes]:
        with self._source.open_blob(self._blob.digest, self._read) as stream:
            while piece := _next_of(stream):
                self._hash.update(piece)
                self._read += len(piece)
                yield piece


def _next_of(stream: object) -> bytes:
    # Only reading is tried here: what breaks where it is sent is another's matter.
    try:
        piece: bytes = stream.read(_CHUNK)  # type: ignore[attr-defined] # an answer
    except BREAKS as fault:
        raise BusyError(str(fault) or type(fault).__name__) from fault
    return piece


if __name__ == "__main__":
    sys.exit(main())
