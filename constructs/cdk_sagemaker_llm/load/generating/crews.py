"""
Who does the work of a run: one process, or several that Locust leads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Protocol

import gevent
from gevent.event import Event
from locust.env import Environment
from locust.event import Events

from cdk_sagemaker_llm.load.generating.asking import Asking
from cdk_sagemaker_llm.load.generating.users import Arriving, Looping, environment_of
from cdk_sagemaker_llm.load.generating.working import LAST, PART
from cdk_sagemaker_llm.load.measured import Measured
from cdk_sagemaker_llm.load.records import Record
from cdk_sagemaker_llm.load.settings import LoadSettings

_READY = 60.0
_LAST = 15.0


class Crew(Protocol):
    """
    Whoever does the work.
    """

    measured: Measured
    is_complete: Event

    @property
    def user_count(self) -> int:
        """
        How many users ask at present.
        """

    def start(self) -> None:
        """
        Have the users begin, one after another.
        """

    def recent(self) -> list[Record]:
        """
        Hand over the requests that ended since the last time.
        """

    def stop(self) -> None:
        """
        End the load, and wait for the last answers.
        """


class Alone:
    """
    This process does all of it.
    """

    def __init__(self, settings: LoadSettings) -> None:
        self.measured = Measured()
        self.is_complete = Event()
        self._settings = settings
        self._asking = Asking(settings, 1)
        self._environment = environment_of(self._asking)
        self._environment.events.spawning_complete.add_listener(
            lambda **_: self.is_complete.set()
        )
        self._runner = self._environment.create_local_runner()

    @property
    def user_count(self) -> int:
        """
        How many users ask at present.
        """
        return int(self._runner.user_count) if self._settings.user_count else 0

    def start(self) -> None:
        """
        Have the users begin, one after another.
        """
        self._runner.start(*_ramp(self._settings))

    def recent(self) -> list[Record]:
        """
        Hand over the requests that ended since the last time.
        """
        taken = self._asking.take()
        self.measured.merge(taken)
        return taken.records

    def stop(self) -> None:
        """
        End the load, and wait for the last answers.
        """
        self._runner.stop()
        self.measured.merge(self._asking.take())


class Workers:
    """
    Other processes do it, and report to this one.
    """

    def __init__(self, settings: LoadSettings) -> None:
        self.measured = Measured()
        self.is_complete = Event()
        self._settings = settings
        self._recent: list[Record] = []
        self._finished = 0
        events = Events()
        events.spawning_complete.add_listener(lambda **_: self.is_complete.set())
        events.worker_report.add_listener(self._take)
        kind = Looping if settings.arrival_rate is None else Arriving
        self._runner = Environment(
            user_classes=[kind], events=events, stop_timeout=settings.drain
        ).create_master_runner("127.0.0.1", 0)
        self._runner.register_message(LAST, self._take_last)
        self._processes = [
            _start(settings, self._runner.server.port, number)
            for number in range(1, settings.process_count + 1)
        ]

    @property
    def user_count(self) -> int:
        """
        How many users ask at present.
        """
        return int(self._runner.user_count) if self._settings.user_count else 0

    def start(self) -> None:
        """
        Have the users begin, one after another.
        """
        with gevent.Timeout(_READY, RuntimeError("the processes do not start")):
            while len(self._runner.clients.ready) < len(self._processes):
                gevent.sleep(0.05)
        gevent.spawn(self._runner.start, *_ramp(self._settings))

    def recent(self) -> list[Record]:
        """
        Hand over the requests that ended since the last time.
        """
        taken, self._recent = self._recent, []
        return taken

    def stop(self) -> None:
        """
        End the load, and wait for the last answers.
        """
        stopping = gevent.spawn(self._runner.stop)
        with gevent.Timeout(self._settings.drain + _LAST, exception=False):
            while self._finished < len(self._processes):
                gevent.sleep(0.05)
        stopping.kill()
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()
        if self._finished < len(self._processes):
            # Without their last requests every figure would be too good.
            raise RuntimeError(
                f"{len(self._processes) - self._finished} of {len(self._processes)} "
                "processes did not report; use fewer users, or more memory"
            )

    def _take(self, data: dict[str, Any], **_: object) -> None:
        if PART in data:
            self._merge(data[PART])

    def _take_last(self, msg: Any, **_: object) -> None:  # noqa: ANN401 - Locust's message
        self._merge(msg.data)
        self._finished += 1

    def _merge(self, packed: dict[str, Any]) -> None:
        part = Measured.unpacked(packed)
        self.measured.merge(part)
        self._recent += part.records


def _ramp(settings: LoadSettings) -> tuple[int, float]:
    # Where requests arrive by themselves, each process needs one to see to it.
    count = settings.user_count or settings.process_count
    rate = settings.users_a_second if settings.user_count else count
    return count, max(rate, 0.01)


def _start(settings: LoadSettings, port: int, number: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "cdk_sagemaker_llm.load.generating"],
        stdin=subprocess.PIPE,
        stdout=sys.stderr,
        text=True,
        # Ctrl-C is for the leader, who ends the others.
        start_new_session=True,
    )
    if process.stdin is not None:
        order = {"settings": settings.packed(), "port": port, "number": number}
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
    return process
