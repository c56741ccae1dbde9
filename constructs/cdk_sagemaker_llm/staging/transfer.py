"""
The way of a whole repository from the Hub into S3: which of its files, several at once,
none twice.
"""

from __future__ import annotations

import errno
import fnmatch
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from cdk_sagemaker_llm.staging import hub
from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.signalling import StagingError, say
from cdk_sagemaker_llm.staging.storage import Storage

_GB = 1e9

SAFE = (".safetensors",)
# Formats that run code when they are read, or that no engine of SageMaker's reads.
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_OTHERS = (".h5", ".msgpack", ".onnx", ".onnx_data", ".ot", ".tflite", ".mlmodel")
_GGUF = ".gguf"
_UNWANTED = (*PICKLES, *_OTHERS, _GGUF)
# The same weights once more, in their makers' own form.
_TWICE = ("original/*", "consolidated*", "metal/*")


class Transfer:
    """
    The files of one order on their way.
    """

    def __init__(
        self, order: Order, storage: Storage, files: Sequence[HubFile]
    ) -> None:
        self._order = order
        self._storage = storage
        self._files = files
        self._total = sum(one.size for one in files)
        self._lock = threading.Lock()
        self._done = 0
        self._brought = 0
        self._bytes = 0
        self._began = time.monotonic()

    def run(self) -> None:
        """
        Bring what is missing, the largest first.
        """
        ordered = sorted(self._files, key=lambda one: -one.size)
        with ThreadPoolExecutor(self._order.threads) as pool:
            futures = [pool.submit(self._bring, one) for one in ordered]
            done, waiting = wait(futures, return_when=FIRST_EXCEPTION)
            for future in waiting:
                future.cancel()
            for future in done:
                future.result()

    def _bring(self, file: HubFile) -> None:
        if self._storage.has(file):
            self._say(file, "is there already")
            return
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="staging-") as folder:
            try:
                local = hub.fetch(self._order, file, Path(folder))
                self._storage.put(local, file)
            except OSError as fault:
                if fault.errno != errno.ENOSPC:
                    raise
                left = shutil.disk_usage(tempfile.gettempdir()).free
                raise StagingError(
                    f"the disk is full: {file.path} is of {file.size / _GB:.2f} GB, "
                    f"and {left / _GB:.2f} GB are free; choose a larger compute_type"
                ) from fault
        seconds = max(time.monotonic() - began, 0.001)
        self._brought += file.size
        rate = file.size / 1e6 / seconds
        self._say(file, f"in {seconds:.0f} s ({rate:.0f} MB/s)")

    def _say(self, file: HubFile, what: str) -> None:
        with self._lock:
            self._done += 1
            self._bytes += file.size
            share = self._bytes / self._total if self._total else 1.0
            say(
                f"[{self._done}/{len(self._files)}] {file.path} "
                f"{file.size / _GB:.2f} GB {what}, {share:.0%} of "
                f"{self._total / _GB:.2f} GB{self._left()}"
            )

    def _left(self) -> str:
        seconds = time.monotonic() - self._began
        missing = self._total - self._bytes
        if not self._brought or not missing:
            return ""
        minutes = missing * seconds / self._brought / 60
        return f", about {minutes:.0f} min left"


def select(
    files: Sequence[HubFile], include: Sequence[str], exclude: Sequence[str]
) -> list[HubFile]:
    """
    Choose by the user's patterns, or else what an engine needs: weights as safetensors
    where there are any, and all small files.
    """
    left = [one for one in files if not _matches(one.path, exclude)]
    for pattern in include:
        if not any(_matches(one.path, [pattern]) for one in left):
            raise StagingError(
                f"include={pattern!r} matches no file of the repository, which holds "
                f"{_some(one.path for one in left)}"
            )
    if include:
        return [one for one in left if _matches(one.path, include)]
    small = [one for one in left if not one.path.endswith(_UNWANTED)]
    found = [one for one in small if not _matches(one.path, _TWICE)]
    if any(one.path.endswith(SAFE) for one in found):
        return found
    if any(one.path.endswith(SAFE) for one in small):
        return small
    raise _no_weights([one.path for one in left])


def _matches(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def _no_weights(paths: Sequence[str]) -> StagingError:
    pickles = [path for path in paths if path.endswith(PICKLES)]
    if pickles:
        return StagingError(
            f"the repository holds its weights as pickles alone ({_some(pickles)}), "
            "which run code when they are read; pass include=['*'] to take them"
        )
    ggufs = [path for path in paths if path.endswith(_GGUF)]
    if ggufs:
        return StagingError(
            f"the repository holds GGUF files ({_some(ggufs)}); pass "
            f"include={[ggufs[0]]} with the one that is to be served"
        )
    return StagingError(f"the repository holds no weights, but {_some(paths)}")


def _some(paths: Iterable[str]) -> str:
    names = sorted(paths)
    examples = ", ".join(names[:3])
    more = len(names) - 3
    return f"{examples} and {more} more" if more > 0 else examples or "none"
