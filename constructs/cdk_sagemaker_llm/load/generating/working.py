"""
A process that does a part of the work.
"""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gevent.event import AsyncResult
from gevent.timeout import Timeout
from locust import runners
from locust.env import Environment
from locust.event import Events

from cdk_sagemaker_llm.load.generating.asking import Asking, HopelessError, prepared
from cdk_sagemaker_llm.load.generating.users import KINDS, furnish
from cdk_sagemaker_llm.load.settings import LoadSettings

# What the leader and a worker say to each other beside Locust's own messages, in the
# order of a run.
HELLO, ORDER, READY, HOPELESS = (
    "load-hello",
    "load-order",
    "load-ready",
    "load-hopeless",
)
PART, LAST, OVER = "load", "load-last", "load-over"
_SILENCE = 30.0


def work(
    host: str, port: int, within: float, tell: Callable[[str], object] | None = None
) -> str:
    """
    Ask as much as the leader says, and report to it; return what went wrong, if any.
    """
    runners.WORKER_REPORT_INTERVAL = 1.0
    # It tries once, and again so often.
    runners.CONNECT_RETRY_COUNT = max(
        0, math.ceil(within / runners.CONNECT_TIMEOUT) - 1
    )
    try:
        worker = _Worker(host, port)
    except ConnectionError:
        return (
            f"no load test answers at {host}:{port}; start the one that leads with "
            "--expect-workers, and have its --bind name an address that this machine "
            "reaches"
        )
    if tell is not None:
        tell(f"joined the load test at {host}:{port}")
    return worker.run()


def versions() -> str:
    """
    Say what runs here, which has to be the same on all machines.
    """
    try:
        ours = version("cdk-sagemaker-llm")
    except PackageNotFoundError:
        ours = "from its source"
    return f"cdk-sagemaker-llm {ours}, locust {version('locust')}"


class _Worker:
    """
    A worker, which answers the leader's messages.
    """

    def __init__(self, host: str, port: int) -> None:
        self._over: AsyncResult = AsyncResult()
        self._asking: Asking | None = None
        # Which users there are, the order says.
        self._environment = Environment(user_classes=[*KINDS], events=Events())
        self._environment.events.report_to_master.add_listener(self._report)
        self._environment.events.test_stop.add_listener(self._finish)
        self._runner = self._environment.create_worker_runner(host, port)
        # Apart from what reads the messages: the first request may take a while.
        self._runner.register_message(ORDER, self._prepare, concurrent=True)
        self._runner.register_message(OVER, self._end)
        self._say(HELLO, versions=versions(), machine=platform.node())

    def run(self) -> str:
        """
        Work until it is over; return why, if that is not the end of the test.
        """
        while True:
            try:
                return str(self._over.get(timeout=1.0))
            except Timeout:
                heard = self._runner.last_heartbeat_timestamp
                if heard is not None and time.time() - heard > _SILENCE:
                    return f"the leader was not heard of for {_SILENCE:.0f} s"

    def _say(self, kind: str, **what: object) -> None:
        self._runner.send_message(kind, what)

    def _prepare(self, msg: Any, **_: object) -> None:  # noqa: ANN401 - Locust's message
        settings = LoadSettings.unpacked(json.loads(msg.data["settings"]))
        number = msg.data["number"]
        try:
            # On the leader's own machine it has asked already.
            is_elsewhere = settings.workers is not None
            asking = (prepared if is_elsewhere else Asking)(settings, number)
        except HopelessError as error:
            self._say(HOPELESS, message=str(error))
            return
        self._asking = asking
        furnish(self._environment, asking)
        self._say(READY, clock=time.time())

    def _report(self, data: dict[str, Any], **_: object) -> None:
        if self._asking is not None:
            data[PART] = self._asking.take().packed()

    def _finish(self, **_: object) -> None:
        if self._asking is not None:
            self._say(LAST, **self._asking.take().packed())
        # Locust would sleep for that long before it hears of anything else.
        self._environment.stop_timeout = 0.0

    def _end(self, msg: Any, **_: object) -> None:  # noqa: ANN401 - Locust's message
        self._over.set(msg.data["reason"])
