"""
One process of a run: ``python -m cdk_sagemaker_llm.load.generating``.

Its first line of input says which. When its input ends, so does the process: nobody
waits for it any longer.
"""

# Before anything that opens a socket: this import has gevent take them over.
import locust  # noqa: F401, I001 - as the line above says

import json
import logging
import os
import sys
import traceback
from collections.abc import Mapping
from functools import partial
from typing import Any

import gevent
from gevent.fileobject import FileObjectThread

from cdk_sagemaker_llm.load.generating.leading import lead, tell
from cdk_sagemaker_llm.load.generating.working import work
from cdk_sagemaker_llm.load.settings import LoadSettings


def main() -> None:
    """
    Do what the first line of input says.
    """
    # What Locust prints, such as a name that it cannot resolve, is no message of ours.
    sys.stdout = sys.stderr
    logging.basicConfig(level=logging.WARNING)
    orders = FileObjectThread(sys.stdin.buffer)
    order = json.loads(orders.readline())
    gevent.spawn(_end_with, orders)
    status = 0
    try:
        if "settings" in order:
            lead(LoadSettings.unpacked(order["settings"]))
        else:
            _join(order)
    except Exception:  # noqa: BLE001 - told to whoever started this process
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    # Not by sys.exit(), which would wait for the thread that reads the input.
    os._exit(status)


def _join(order: Mapping[str, Any]) -> None:
    joined = partial(tell, "joined") if order["tells"] else None
    reason = work(order["host"], order["port"], order["within"], joined)
    if order["tells"]:
        tell("over", reason)


def _end_with(orders: FileObjectThread) -> None:
    orders.read()
    os._exit(1)


if __name__ == "__main__":
    main()
