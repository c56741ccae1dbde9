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
from botocore.exceptions import BotoCoreError
from gevent.event import Event

from cdk_sagemaker_llm.client import ComponentNameError, RefusedError
from cdk_sagemaker_llm.load.generating.asking import Asking
from cdk_sagemaker_llm.load.generating.crews import Alone, Crew, Workers
from cdk_sagemaker_llm.load.settings import LoadSettings

_EVERY = 1.0
_REMEDY = "name a region with --region or AWS_DEFAULT_REGION, or choose an AWS_PROFILE"


def lead(settings: LoadSettings) -> None:
    """
    Run a load test, and write what comes of it to standard output, a line each time.
    """
    try:
        Asking(settings, 0).try_once()
    except BotoCoreError as error:
        _tell("refused", message=f"{error} The settings of AWS are at fault: {_REMEDY}")
        return
    except (ComponentNameError, RefusedError) as error:
        # No load could ever change that.
        _tell("refused", message=str(error))
        return
    except Exception:  # noqa: BLE001, S110 - what may pass is measured, not judged
        pass
    with _interrupts() as ended:
        crew: Crew = (
            Workers(settings) if settings.process_count > 1 else Alone(settings)
        )
        crew.start()
        while not crew.is_complete.wait(_EVERY) and not ended.is_set():
            _progress(crew, "starting", 0.0)
        begin = time.time()
        while (left := begin + settings.run_time - time.time()) > 0:
            if ended.wait(min(_EVERY, left)):
                break
            _progress(crew, "measuring", time.time() - begin)
        end = time.time()
        stopping = gevent.spawn(crew.stop)
        while not stopping.ready():
            stopping.join(_EVERY)
            _progress(crew, "waiting for the last answers", end - begin)
        stopping.get()
    _tell("measured", begin=begin, end=end, measured=crew.measured.packed())


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
    _tell(
        "progress",
        phase=phase,
        seconds=seconds,
        users=crew.user_count,
        recent=[record.packed() for record in crew.recent()],
        requests=len(records),
    )


def _tell(kind: str, **what: object) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **what}) + "\n")
    sys.stdout.flush()
