"""
Waiting for the embedded AWS by its answers, where time passes in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cdk_sagemaker_llm.local.aws.untyped import Untyped


def until(found: Callable[[], object], limit: float = 30.0) -> None:
    """
    Poll until something is so, for some seconds at most.
    """
    deadline = time.monotonic() + limit
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def endpoint_status(sagemaker: Untyped, name: str) -> str:
    """
    Return an endpoint's state.
    """
    return str(sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"])
