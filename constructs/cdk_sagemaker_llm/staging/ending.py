"""
How a worker ends: with a line in its log, its signal and its exit status.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.order import HANDLE
from cdk_sagemaker_llm.staging.progress import say
from cdk_sagemaker_llm.staging.signalling import signal

Work = TypeVar("Work")


def ended(
    read: Callable[[], Work],
    do: Callable[[Work], None],
    *,
    named: Callable[[Work], str],
    otherwise: str,
    failed: str,
) -> int:
    """
    Do what the environment asks for, and tell the wait condition how it went.

    Args:
        read: Reads the order.

        do: Does it.

        named: What is signalled of an order.

        otherwise: What is signalled of one that cannot be read.

        failed: What the log says before the reason of a failure.

    Returns:
        The exit status.
    """
    reason, unique_id = "", otherwise
    try:
        order = read()
        unique_id = named(order)
        do(order)
    except StagingError as fault:
        reason = str(fault)
    except Exception as fault:  # noqa: BLE001 - the stack's event must say what it was
        reason = f"{type(fault).__name__}: {fault}"
    if reason:
        say(f"{failed}: {reason}")
    handle = os.environ.get(HANDLE)
    if handle:
        signal(handle, unique_id=unique_id, reason=reason)
    return 1 if reason else 0
