"""
The process that leads a run: begins, tells how it goes, ends, and hands all over.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import gevent
from gevent.event import Event

from cdk_sagemaker_llm.load.generating.asking import HopelessError, prepared
from cdk_sagemaker_llm.load.generating.crews import Alone, Crew
from cdk_sagemaker_llm.load.generating.workers import Workers
from cdk_sagemaker_llm.load.settings import LoadSettings

_EVERY = 1.0


def lead(settings: LoadSettings) -> None:
    """
    Run a load test, and write what comes of it to standard output, a line each time.
    """
    try:
        prepared(settings, 0)
        with _interrupts() as ended:
            _run(settings, ended)
    except HopelessError as error:
        tell("refused", str(error))


def _run(settings: LoadSettings, ended: Event) -> None:
    crew: Crew = Workers(settings) if _is_shared(settings) else Alone(settings)
    try:
        _gather(crew, ended)
        begin, end = _measure(crew, settings, ended)
    except HopelessError as error:
        crew.dismiss(str(error))
        raise
    crew.dismiss()
    _write("measured", begin=begin, end=end, measured=crew.measured.packed())


def _is_shared(settings: LoadSettings) -> bool:
    return settings.workers is not None or settings.process_count > 1


def _gather(crew: Crew, ended: Event) -> None:
    deadline = time.monotonic() + crew.patience
    while not crew.is_ready.wait(_EVERY):
        _progress(crew, crew.phase, 0.0)
        if ended.is_set():
            raise HopelessError("it was ended before it began")
        if time.monotonic() > deadline:
            raise HopelessError(
                f"{crew.phase} after {crew.patience:g} s; start the others with "
                "sagemaker-llm load-test --join, or wait longer"
            )


def _measure(crew: Crew, settings: LoadSettings, ended: Event) -> tuple[float, float]:
    crew.start()
    while not crew.is_complete.wait(_EVERY) and not ended.is_set():
        _progress(crew, "starting", 0.0)
    begin = time.time()
    while (left := begin + settings.run_time - time.time()) > 0:
        if ended.wait(min(_EVERY, left)) or crew.is_deserted:
            break
        _progress(crew, "measuring", time.time() - begin)
    end = time.time()
    stopping = gevent.spawn(crew.stop)
    while not stopping.ready():
        stopping.join(_EVERY)
        _progress(crew, "waiting for the last answers", end - begin)
    stopping.get()
    return begin, end


@contextmanager
def _interrupts() -> Iterator[Event]:
    """
    Have Ctrl-C end the load and not the process: what was measured is kept.
    """
    ended = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        gevent.signal_handler(number, ended.set)
    yield ended


def _progress(crew: Crew, phase: str, seconds: float) -> None:
    records = crew.measured.records
    _write(
        "progress",
        phase=phase,
        seconds=seconds,
        users=crew.user_count,
        recent=[record.packed() for record in crew.recent()],
        requests=len(records),
    )


def tell(kind: str, message: str) -> None:
    """
    Write a message to whoever started this process.
    """
    _write(kind, message=message)


def _write(kind: str, **what: object) -> None:
    # Not what prints write to, which may be standard error by now.
    out = sys.__stdout__ or sys.stdout
    out.write(json.dumps({"kind": kind, **what}) + "\n")
    out.flush()
