"""
Copying the layers of an image, several at once, and none twice.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass

from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.pausing import pause
from cdk_sagemaker_llm.staging.progress import say
from cdk_sagemaker_llm.staging.registry import ATTEMPTS, BREAKS, BusyError, Registry

_CHUNK = 1024 * 1024
# How often contents may be others than their digest says.
_ARRIVALS = 3
_SHORT = 19


@dataclass(frozen=True, slots=True)
class Blob:
    """
    A layer, or an image's configuration.

    Args:
        digest: Its digest, as ``sha256:...``.

        size: Its bytes.
    """

    digest: str
    size: int


class Copying:
    """
    The layers of one image on their way, from a registry to the other without a disk
    between them.

    Args:
        source: Where they are.

        target: Where they go.

        blobs: The layers.

        threads: How many are brought at the same time.
    """

    def __init__(
        self,
        source: Registry,
        target: Registry,
        blobs: Sequence[Blob],
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

        Raises:
            StagingError: If a layer cannot be brought; none is begun after it.
        """
        ordered = sorted(self._blobs, key=lambda one: -one.size)
        with ThreadPoolExecutor(self._threads) as pool:
            futures = [pool.submit(self._bring, one) for one in ordered]
            done, waiting = wait(futures, return_when=FIRST_EXCEPTION)
            for future in waiting:
                future.cancel()
            for future in done:
                future.result()

    def _bring(self, blob: Blob) -> None:
        began = time.monotonic()
        arrived = 0
        for attempt in range(ATTEMPTS):
            # Of an earlier build, or of an attempt whose answer was lost.
            if self._target.has_blob(blob.digest):
                self._say(blob, "is there already")
                return
            try:
                if self._copy(blob):
                    self._say(blob, _pace(blob.size, time.monotonic() - began))
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

    def _copy(self, blob: Blob) -> bool:
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

    def _say(self, blob: Blob, what: str) -> None:
        with self._lock:
            self._done += 1
            self._bytes += blob.size
            share = self._bytes / self._total if self._total else 1.0
            say(
                f"[{self._done}/{len(self._blobs)}] {blob.digest[:_SHORT]} "
                f"{blob.size / 1e9:.2f} GB {what}, {share:.0%} of "
                f"{self._total / 1e9:.2f} GB"
            )


class _Pieces:
    """
    A layer's bytes as they come, gone on with where the line breaks.
    """

    def __init__(self, source: Registry, blob: Blob) -> None:
        self._source = source
        self._blob = blob
        self._hash = hashlib.sha256()
        self._read = 0

    @property
    def digest(self) -> str:
        """
        The digest of what has come.
        """
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


def _pace(size: int, seconds: float) -> str:
    rate = size / 1e6 / max(seconds, 0.001)
    return f"in {seconds:.0f} s ({rate:.0f} MB/s)"
