"""
Running a load test from a program that Locust must not change.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from types import FrameType
from typing import IO, Any

from cdk_sagemaker_llm.load.measured import Measured, Record
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.settings import LoadSettings


class LoadError(Exception):
    """
    There was no load test: the endpoint refuses, or Locust is missing or failed.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """
    How a run goes.

    Args:
        phase: What happens at present, in words.

        seconds: For how long it has been measured.

        users: How many users ask.

        recent: The requests that ended since the last time.

        requests: How many ended in all.
    """

    phase: str
    seconds: float
    users: int
    recent: tuple[Record, ...]
    requests: int


def run_load(
    settings: LoadSettings, on_progress: Callable[[Progress], object] | None = None
) -> LoadResult:
    """
    Run a load test; Ctrl-C ends it early, with what was measured by then.

    Before it begins the endpoint is asked once, which is not counted.

    Args:
        settings: Who asks what, and for how long.

        on_progress: What is told each second how it goes. If omitted, nothing.

    Raises:
        LoadError: If the endpoint refuses any request, or Locust is missing.
    """
    check_packages()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-m", "cdk_sagemaker_llm.load.generating"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )
        with process:
            try:
                found = _follow(process, settings, on_progress)
            finally:
                # It ends when its input does, and so do the others that it started.
                if process.stdin is not None:
                    process.stdin.close()
                process.wait()
        if found is None:
            raise LoadError(f"the load generator failed: {_end_of(complaints)}")
    return LoadResult(
        settings=settings,
        begin=found["begin"],
        end=found["end"],
        measured=Measured.unpacked(found["measured"]),
    )


def check_packages() -> None:
    """
    Refuse to go on without what a load test needs.

    Raises:
        LoadError: If something of it is not installed.
    """
    for package in ("boto3", "locust"):
        if find_spec(package) is None:
            raise LoadError(
                f"a load test needs {package}; install it with: "
                "pip install 'cdk-sagemaker-llm[load]'"
            )


def _follow(
    process: subprocess.Popen[str],
    settings: LoadSettings,
    on_progress: Callable[[Progress], object] | None,
) -> Mapping[str, Any] | None:
    if process.stdin is None or process.stdout is None:
        return None
    process.stdin.write(json.dumps({"settings": settings.packed()}) + "\n")
    process.stdin.flush()
    with _passing_on_interrupts(process):
        for line in process.stdout:
            record = json.loads(line)
            if record["kind"] == "refused":
                raise LoadError(record["message"])
            if record["kind"] == "measured":
                return dict(record)
            if on_progress is not None:
                on_progress(_progress(record))
    return None


@contextmanager
def _passing_on_interrupts(process: subprocess.Popen[str]) -> Iterator[None]:
    """
    Have Ctrl-C end the load, which then hands over what it measured; again, at once.
    """
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread is ever interrupted.
        yield
        return
    count = 0

    def pass_on(number: int, _: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 1:
            raise KeyboardInterrupt
        # A terminal has told it already, which does no harm.
        process.send_signal(number)

    before = signal.signal(signal.SIGINT, pass_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _progress(record: Mapping[str, Any]) -> Progress:
    return Progress(
        phase=record["phase"],
        seconds=record["seconds"],
        users=record["users"],
        recent=tuple(map(Record.unpacked, record["recent"])),
        requests=record["requests"],
    )


def _end_of(complaints: IO[str]) -> str:
    complaints.seek(0)
    lines = complaints.read().strip().splitlines()
    return lines[-1] if lines else "it ended without a word"
