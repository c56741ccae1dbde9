"""
A process that does a part of the work.
"""

from __future__ import annotations

from typing import Any

import gevent
from locust import runners

from cdk_sagemaker_llm.load.generating.asking import Asking
from cdk_sagemaker_llm.load.generating.users import environment_of
from cdk_sagemaker_llm.load.settings import LoadSettings

PART, LAST = "load", "load-last"


def work(settings: LoadSettings, port: int, number: int) -> None:
    """
    Ask as much as the leader says, and report to it.

    Args:
        settings: Who asks what.

        port: The leader's.

        number: Which process this is.
    """
    runners.WORKER_REPORT_INTERVAL = 1.0
    asking = Asking(settings, number)
    environment = environment_of(asking)

    def report(data: dict[str, Any], **_: object) -> None:
        data[PART] = asking.take().packed()

    environment.events.report_to_master.add_listener(report)
    runner = environment.create_worker_runner("127.0.0.1", port)

    def finish(**_: object) -> None:
        runner.send_message(LAST, asking.take().packed())

    environment.events.test_stop.add_listener(finish)
    # Until the leader lets go of this process's input.
    gevent.wait()
