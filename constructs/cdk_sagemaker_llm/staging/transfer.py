"""
Bringing files from the Hub into S3, several at once, and none twice.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from cdk_sagemaker_llm.staging import hub
from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.progress import say
from cdk_sagemaker_llm.staging.storage import Storage

_GB = 1e9


class Transfer:
    """
    The files of one order on their way.

    Args:
        order: What is staged.

        storage: Where it goes.

        files: The files.
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

        Raises:
            StagingError: If a file cannot be brought; none is begun after it.
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
                if fault.errno == errno.ENOSPC:
                    raise _no_room(file) from fault
                raise
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


def _no_room(file: HubFile) -> StagingError:
    left = shutil.disk_usage(tempfile.gettempdir()).free
    return StagingError(
        f"the disk is full: {file.path} is of {file.size / _GB:.2f} GB, and "
        f"{left / _GB:.2f} GB are free; choose a larger compute_type"
    )
