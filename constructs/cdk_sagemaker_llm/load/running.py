"""
Running a load test, or joining one that another machine leads, from a program that
Locust must not change.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from types import FrameType
from typing import IO, Any

from cdk_sagemaker_llm.arguments import kind_of, raise_faults
from cdk_sagemaker_llm.load.measured import Measured, Record
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.settings import LoadSettings, address_of

# So many times Ctrl-C keeps what was measured.
_PATIENT = 2
_PROGRESS_FIELDS = ("phase", "seconds", "users", "requests")


class LoadError(Exception):
    """
    There was no load test: the endpoint refuses, or Locust is missing or failed.
    """


class MissingPackageError(LoadError):
    """
    What a load test needs is not installed.
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
    Run a load test; Ctrl-C ends it early, with what was measured by then. The second
    one waits for no more answers.

    Before it begins the endpoint is asked once, which is not counted.

    Args:
        settings: Who asks what, and for how long.

        on_progress: What is told each second how it goes. If omitted, nothing.

    Raises:
        LoadError: If the endpoint refuses any request, or Locust is missing.
    """
    raise_faults(kind_of("LoadSettings").faults("settings", settings))
    check_packages()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
        order = {"settings": settings.packed()}
        # Ctrl-C is for this process, which passes it on.
        with start_process(order, stderr=complaints, start_new_session=True) as process:
            try:
                found = _follow(process, on_progress)
            finally:
                # It ends when its input does, and so do the others that it started.
                if process.stdin is not None:
                    process.stdin.close()
                process.wait()
        if found is None:
            complaints.seek(0)
            lines = complaints.read().strip().splitlines()
            last = lines[-1] if lines else "it ended without a word"
            raise LoadError(f"the load generator failed: {last}")
    return LoadResult(
        settings=settings,
        begin=found["begin"],
        end=found["end"],
        measured=Measured.unpacked(found["measured"]),
    )


def join_load(
    address: str,
    *,
    processes: int | None = None,
    within: float = 300.0,
    on_told: Callable[[str], object] | None = None,
) -> None:
    """
    Do a part of a load test's work, until it is over.

    The leader says who asks what; the credentials are this machine's own. Ctrl-C ends
    this part alone, which the leader's result says.

    Args:
        address: Where the leader is: ``HOST`` or ``HOST:PORT``.

        processes: How many processes of this machine join.
            If omitted, one for each core.

        within: For how many seconds the leader is waited for.

        on_told: What is told what happens. If omitted, nothing.

    Raises:
        LoadError: If there is no leader, it refuses, or it was lost.
    """
    raise_faults(kind_of("str").faults("address", address))
    check_packages()
    host, port = address_of(address)
    order = {"host": host, "port": port, "within": within, "tells": True}
    count = processes or os.cpu_count() or 1
    with ExitStack() as running, ThreadPoolExecutor(count) as pool:
        # Ctrl-C is for this process, which ends the others.
        started = [
            running.enter_context(start_process(order, start_new_session=True))
            for _ in range(count)
        ]
        try:
            followed = [pool.submit(_follow_worker, one, on_told) for one in started]
            reasons = [one.result() for one in followed]
        finally:
            # They end when their input does.
            for one in started:
                if one.stdin is not None:
                    one.stdin.close()
    if failed := sorted({*filter(None, reasons)}):
        raise LoadError("\n".join(failed))


def check_packages() -> None:
    """
    Refuse to go on without what a load test needs.
    """
    for package in ("boto3", "locust"):
        if find_spec(package) is None:
            raise MissingPackageError(
                f"a load test needs {package}; install it with: "
                "pip install 'cdk-sagemaker-llm[load]'"
            )


def start_process(
    order: Mapping[str, object],
    *,
    stdout: int | IO[str] = subprocess.PIPE,
    stderr: IO[str] | None = None,
    start_new_session: bool = False,
) -> subprocess.Popen[str]:
    """
    Start a process of a run, which begins with what the order says.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "cdk_sagemaker_llm.load.generating"],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        text=True,
        start_new_session=start_new_session,
    )
    if process.stdin is not None:
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
    return process


def _follow(
    process: subprocess.Popen[str], on_progress: Callable[[Progress], object] | None
) -> Mapping[str, Any] | None:
    with _passing_on_interrupts(process) as interrupts:
        for line in process.stdout or ():
            record = json.loads(line)
            if record["kind"] == "refused":
                raise LoadError(record["message"])
            if record["kind"] == "measured":
                return dict(record)
            if on_progress is not None:
                recent = tuple(map(Record.unpacked, record["recent"]))
                how = {name: record[name] for name in _PROGRESS_FIELDS}
                on_progress(Progress(**how, recent=recent))
        if interrupts:
            raise LoadError("it was ended before anything was measured")
    return None


@contextmanager
def _passing_on_interrupts(process: subprocess.Popen[str]) -> Iterator[list[int]]:
    """
    Have Ctrl-C end the load, which then hands over what it measured; twice, without
    its last answers; a third time, at once. Yields those that came.
    """
    interrupts: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread is ever interrupted.
        yield interrupts
        return

    def pass_on(number: int, _: FrameType | None) -> None:
        interrupts.append(number)
        if len(interrupts) > _PATIENT:
            raise KeyboardInterrupt
        process.send_signal(number)

    before = signal.signal(signal.SIGINT, pass_on)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


def _follow_worker(
    process: subprocess.Popen[str], on_told: Callable[[str], object] | None
) -> str:
    for line in process.stdout or ():
        record = json.loads(line)
        if record["kind"] == "over":
            return str(record["message"])
        if on_told is not None:
            on_told(record["message"])
    return "a process of this machine ended before the load test was over"
