"""
Joining a load test that another machine leads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from cdk_sagemaker_llm.load.running import LoadError, check_packages
from cdk_sagemaker_llm.load.settings import address_of


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
    check_packages()
    host, port = address_of(address)
    order = {"host": host, "port": port, "within": within, "tells": True}
    count = processes or os.cpu_count() or 1
    with ExitStack() as running, ThreadPoolExecutor(count) as pool:
        started = [
            running.enter_context(_start(json.dumps(order))) for _ in range(count)
        ]
        try:
            followed = [pool.submit(_follow, one, on_told) for one in started]
            reasons = [one.result() for one in followed]
        finally:
            # They end when their input does.
            for one in started:
                _let_go(one)
    if failed := sorted({*filter(None, reasons)}):
        raise LoadError("\n".join(failed))


def _start(order: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "cdk_sagemaker_llm.load.generating"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C is for this process, which ends the others.
        start_new_session=True,
    )
    if process.stdin is not None:
        process.stdin.write(f"{order}\n")
        process.stdin.flush()
    return process


def _follow(
    process: subprocess.Popen[str], on_told: Callable[[str], object] | None
) -> str:
    for line in process.stdout or ():
        record = json.loads(line)
        if record["kind"] == "over":
            return str(record["message"])
        if on_told is not None:
            on_told(record["message"])
    return "a process of this machine ended before the load test was over"


def _let_go(process: subprocess.Popen[str]) -> None:
    if process.stdin is not None:
        process.stdin.close()
