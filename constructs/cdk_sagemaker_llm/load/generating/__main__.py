"""
One process of a run: ``python -m cdk_sagemaker_llm.load.generating``.

Its first line of input says which: the one that leads, which begins, tells how it goes,
ends and hands all over, or one that joins. When its input ends, so does the process:
nobody waits for it any longer.
"""

# Before anything that opens a socket: this import has gevent take them over.
import locust  # noqa: F401, I001 - as the line above says

import json
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from functools import partial
from typing import Any

import gevent
from gevent.event import Event
from gevent.fileobject import FileObjectThread

from cdk_sagemaker_llm.load.generating.asking import HopelessError, prepared
from cdk_sagemaker_llm.load.generating.crews import Alone, Workers
from cdk_sagemaker_llm.load.generating.working import work
from cdk_sagemaker_llm.load.settings import LoadSettings

_EVERY = 1.0


def main() -> None:
    # What Locust prints, such as a name that it cannot resolve, is no message of ours.
    sys.stdout = sys.stderr
    logging.basicConfig(level=logging.WARNING)
    orders = FileObjectThread(sys.stdin.buffer)
    order = json.loads(orders.readline())
    gevent.spawn(_end_with, orders)
    status = 0
    try:
        if "settings" in order:
            _lead(LoadSettings.unpacked(order["settings"]))
        else:
            _join(order)
    except Exception:  # noqa: BLE001 - told to whoever started this process
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    # Not by sys.exit(), which would wait for the thread that reads the input.
    os._exit(status)


def _join(order: Mapping[str, Any]) -> None:
    joined = partial(_tell, "joined") if order["tells"] else None
    reason = work(order["host"], order["port"], order["within"], joined)
    if order["tells"]:
        _tell("over", reason)


def _lead(settings: LoadSettings) -> None:
    try:
        prepared(settings, 0)
        ended, hurried = Event(), Event()

        def end() -> None:
            (hurried if ended.is_set() else ended).set()

        for number in (signal.SIGINT, signal.SIGTERM):
            # It ends the load and not the process: what was measured is kept. A second
            # one waits for no more answers.
            gevent.signal_handler(number, end)
        _run(settings, ended, hurried)
    except HopelessError as error:
        _tell("refused", str(error))


def _run(settings: LoadSettings, ended: Event, hurried: Event) -> None:
    is_shared = settings.workers is not None or settings.process_count > 1
    crew = Workers(settings) if is_shared else Alone(settings)
    try:
        _gather(crew, ended)
        begin, end = _measure(crew, settings, ended)
        _finish(crew, hurried, end - begin)
    except HopelessError as error:
        crew.dismiss(str(error))
        raise
    crew.dismiss()
    _write("measured", begin=begin, end=end, measured=crew.measured.packed())


def _gather(crew: Alone | Workers, ended: Event) -> None:
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


def _measure(
    crew: Alone | Workers, settings: LoadSettings, ended: Event
) -> tuple[float, float]:
    crew.start()
    while not crew.is_complete.wait(_EVERY) and not ended.is_set():
        _progress(crew, "starting", 0.0)
    begin = time.time()
    while (left := begin + settings.seconds - time.time()) > 0:
        if ended.wait(min(_EVERY, left)) or crew.is_deserted:
            break
        _progress(crew, "measuring", time.time() - begin)
    return begin, time.time()


def _finish(crew: Alone | Workers, hurried: Event, seconds: float) -> None:
    stopping = gevent.spawn(crew.stop)
    while not stopping.ready() and not hurried.is_set():
        gevent.wait([stopping, hurried], timeout=_EVERY, count=1)
        _progress(crew, "waiting for the last answers", seconds)
    if stopping.ready():
        stopping.get()
    else:
        stopping.kill()


def _progress(crew: Alone | Workers, phase: str, seconds: float) -> None:
    records = crew.measured.records
    _write(
        "progress",
        phase=phase,
        seconds=seconds,
        users=crew.user_count,
        recent=[record.packed() for record in crew.recent()],
        requests=len(records),
    )


def _tell(kind: str, message: str) -> None:
    _write(kind, message=message)


def _write(kind: str, **what: object) -> None:
    # Not what prints write to, which may be standard error by now.
    out = sys.__stdout__ or sys.stdout
    out.write(json.dumps({"kind": kind, **what}) + "\n")
    out.flush()


def _end_with(orders: FileObjectThread) -> None:
    orders.read()
    os._exit(1)


if __name__ == "__main__":
    main()
