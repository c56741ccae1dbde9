"""
Who does the work of a run: this process alone, or others, on this machine or elsewhere,
that report to it.

Both begin the users (``start``), hand over the requests that ended since the last time
(``recent``), end the load and wait for the last answers (``stop``), and send everybody
home (``dismiss``). ``phase`` says who is awaited before the load begins.
"""

from __future__ import annotations

import functools
import json
import socket
import subprocess
import sys
import time
from typing import Any

import gevent
from gevent.event import Event
from locust import runners
from locust.env import Environment
from locust.event import Events
from locust.rpc.protocol import Message

from cdk_sagemaker_llm.load.generating.asking import Asking, HopelessError
from cdk_sagemaker_llm.load.generating.users import furnish, kind_of
from cdk_sagemaker_llm.load.generating.working import (
    HELLO,
    HOPELESS,
    LAST,
    ORDER,
    OVER,
    PART,
    READY,
    versions,
)
from cdk_sagemaker_llm.load.measured import Measured, Record
from cdk_sagemaker_llm.load.running import start_process
from cdk_sagemaker_llm.load.settings import LoadSettings, address_of

_READY = 60.0
_LAST = 15.0
_LINGER = 5000
_HERE = "127.0.0.1"
# Locust would give a lost worker's users to the others after a minute, and begin anew:
# that the load is less from then on is told instead.
runners.HEARTBEAT_DEAD_INTERNAL = -(10**9)


class Alone:
    """
    This process does all of it.
    """

    def __init__(self, settings: LoadSettings) -> None:
        self.measured = Measured()
        self.is_ready, self.is_complete = Event(), Event()
        self.patience = 0.0
        self.is_ready.set()
        self._settings = settings
        self._asking = Asking(settings, 1)
        self._environment = Environment(
            user_classes=[kind_of(settings)], events=Events()
        )
        furnish(self._environment, self._asking)
        self._environment.events.spawning_complete.add_listener(
            lambda **_: self.is_complete.set()
        )
        self._runner = self._environment.create_local_runner()

    @property
    def phase(self) -> str:
        return ""

    @property
    def is_deserted(self) -> bool:
        return False

    @property
    def user_count(self) -> int:
        return int(self._runner.user_count) if self._settings.user_count else 0

    def start(self) -> None:
        self._runner.start(*_ramp_of(self._settings))

    def recent(self) -> list[Record]:
        taken = self._asking.take()
        self.measured.merge(taken)
        return taken.records

    def stop(self) -> None:
        try:
            self._runner.stop()
        finally:
            # Nobody may wait for the last answers any longer.
            self.measured.merge(self._asking.take())

    def dismiss(self, reason: str = "") -> None:
        """
        Do nothing: nobody else is there.
        """


class _Master(runners.MasterRunner):
    """
    Locust's, which takes no more workers than are expected.
    """

    most = 0

    def handle_message(self, client_id: str, msg: Message) -> None:
        """
        Send away a worker that joins too late, instead of giving it users.
        """
        there = sum(one.state != runners.STATE_MISSING for one in self.clients.all)
        if client_id in self.worker_indexes or there < self.most:
            super().handle_message(client_id, msg)
        elif msg.type == "client_ready":
            # So that it says hello, and hears why.
            self.server.send_to_client(Message("ack", {"index": -1}, client_id))
        elif msg.type == HELLO:
            reason = f"this load test has its {self.most} workers already"
            self.server.send_to_client(Message(OVER, {"reason": reason}, client_id))


class Workers:
    """
    Processes that Locust leads.
    """

    def __init__(self, settings: LoadSettings) -> None:
        self.measured = Measured()
        self.is_ready, self.is_complete = Event(), Event()
        self._is_elsewhere = settings.workers is not None
        self.patience = settings.join_within if self._is_elsewhere else _READY
        self._settings = settings
        self._count = settings.process_count
        self._recent: list[Record] = []
        self._numbers: dict[str, int] = {}
        self._offsets: dict[str, float] = {}
        self._heard: dict[str, float] = {}
        self._finished: set[str] = set()
        self._failure = ""
        self._runner = self._lead()
        self._processes = [] if self._is_elsewhere else self._started()

    @property
    def phase(self) -> str:
        """
        The workers that are awaited before the load begins.
        """
        if self._failure:
            raise HopelessError(self._failure)
        # Another may take the place of one that did not live to see the beginning.
        for one in filter(self._is_lost, [*self._offsets]):
            del self._offsets[one]
        return f"{len(self._offsets)} of {self._count} workers have joined"

    @property
    def is_deserted(self) -> bool:
        """
        Whether nobody is left who could ask.
        """
        return all(map(self._is_lost, self._offsets))

    @property
    def user_count(self) -> int:
        return int(self._runner.user_count) if self._settings.user_count else 0

    def start(self) -> None:
        gevent.spawn(self._runner.start, *_ramp_of(self._settings))

    def recent(self) -> list[Record]:
        taken, self._recent = self._recent, []
        return taken

    def stop(self) -> None:
        stopping = gevent.spawn(self._runner.stop)
        with gevent.Timeout(self._settings.drain + _LAST, exception=False):
            while any(not self._is_lost(one) for one in self._unfinished):
                gevent.sleep(0.05)
        stopping.kill()
        lost = self._unfinished
        if lost and not self._is_elsewhere:
            # Without their last requests every figure would be too good.
            raise RuntimeError(
                f"{len(lost)} of {self._count} processes did not report; use fewer "
                "users, or more memory"
            )
        if len(lost) == self._count:
            raise HopelessError(
                "all workers were lost; see what they say on their own machines"
            )
        self.measured.lost = {self._numbers[one]: self._heard[one] for one in lost}

    def dismiss(self, reason: str = "") -> None:
        for one in self._numbers:
            self._runner.send_message(OVER, {"reason": reason}, one)
        # What is sent at last has to get there before this process ends.
        self._runner.server.socket.context.destroy(linger=_LINGER)
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()

    @property
    def _unfinished(self) -> list[str]:
        return [one for one in self._offsets if one not in self._finished]

    def _is_lost(self, one: str) -> bool:
        node = self._runner.clients.get(one)
        return node is not None and node.state == runners.STATE_MISSING

    def _lead(self) -> _Master:
        host, port = (
            address_of(self._settings.bind) if self._is_elsewhere else (_HERE, 0)
        )
        _try_to_bind(host, port)
        events = Events()
        events.spawning_complete.add_listener(lambda **_: self.is_complete.set())
        events.worker_report.add_listener(self._take)
        environment = Environment(
            user_classes=[kind_of(self._settings)],
            events=events,
            stop_timeout=self._settings.drain,
        )
        runner = _Master(environment, host, port)
        environment.runner = runner
        runner.most = self._count
        for kind, listener in (
            (HELLO, self._greet),
            (READY, self._note_ready),
            (HOPELESS, self._note_hopeless),
            (LAST, self._take_last),
        ):
            runner.register_message(kind, listener)
        return runner

    def _started(self) -> list[subprocess.Popen[str]]:
        port = self._runner.server.port
        order = {"host": _HERE, "port": port, "within": _READY, "tells": False}
        # Ctrl-C is for the leader, who ends the others.
        return [
            start_process(order, stdout=sys.stderr, start_new_session=True)
            for _ in range(self._count)
        ]

    def _greet(self, msg: Any, **_: object) -> None:  # noqa: ANN401 - Locust's message
        theirs, ours = msg.data["versions"], versions()
        self._numbers[msg.node_id] = len(self._numbers) + 1
        if theirs != ours:
            self._failure = (
                f"{msg.data['machine']} has {theirs}, and this machine {ours}; install "
                "the same on both"
            )
            return
        order = {"settings": self._order, "number": self._numbers[msg.node_id]}
        self._runner.send_message(ORDER, order, msg.node_id)

    @functools.cached_property
    def _order(self) -> str:
        """
        Return the order for all workers, written once: a trace is long.
        """
        # Each machine has credentials of its own, but they ask the same endpoint.
        packed = self._settings.packed()
        packed["region"] = self._settings.session().region_name
        if self._is_elsewhere:
            packed["profile"] = None
        return json.dumps(packed)

    def _note_ready(self, msg: Any, **_: object) -> None:  # noqa: ANN401 - as above
        # Clocks of machines differ by more than anything that is measured here: a
        # request's times are one process's own, and when it began is told by ours.
        offset = time.time() - msg.data["clock"] if self._is_elsewhere else 0.0
        self._offsets[msg.node_id] = offset
        self._heard[msg.node_id] = time.time()
        if len(self._offsets) == self._count:
            self.is_ready.set()

    def _note_hopeless(self, msg: Any, **_: object) -> None:  # noqa: ANN401 - as above
        number = self._numbers.get(msg.node_id, 0)
        self._failure = f"worker {number} cannot ask: {msg.data['message']}"

    def _take(self, client_id: str, data: dict[str, Any]) -> None:
        if PART in data:
            self._merge(client_id, data[PART])

    def _take_last(self, msg: Any, **_: object) -> None:  # noqa: ANN401 - as above
        self._merge(msg.node_id, msg.data)
        self._finished.add(msg.node_id)

    def _merge(self, client_id: str, packed: dict[str, Any]) -> None:
        self._heard[client_id] = time.time()
        part = Measured.unpacked(packed).shifted(self._offsets.get(client_id, 0.0))
        self.measured.merge(part)
        self._recent += part.records


def _try_to_bind(host: str, port: int) -> None:
    # Locust would end this process without a word that is for people.
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        raise HopelessError(
            f"--bind {host}:{port} is no address of this machine that is free: "
            f"{error.strerror or error}; name another"
        ) from error


def _ramp_of(settings: LoadSettings) -> tuple[int, float]:
    # Where requests arrive by themselves, each process needs one to see to it.
    count = settings.user_count or settings.process_count
    rate = settings.users_a_second if settings.user_count else count
    return count, max(rate, 0.01)
