"""
Waiting for the embedded AWS by its answers, where time passes in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.local.aws.untyped import Untyped

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.local.by_hand import HandRunAws

# Seconds that pass by hand between two looks, and how many looks there are: a day.
_STEP, _MOST = 10.0, 8640


def until(
    found: Callable[[], object],
    limit: float = 300.0,
    *,
    by: EmbeddedAws | HandRunAws | None = None,
) -> None:
    """
    Poll until something is so, for some seconds at most.

    Args:
        found: Whether it is so.

        limit: How many seconds on the wall, where time passes by itself: more than a
            busy machine needs, since only a test that fails waits for it.

        by: What is run by hand: ten seconds pass there between two looks.
            If omitted, time passes by itself.
    """
    deadline = time.monotonic() + limit
    steps = 0
    while not found():
        if by is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        else:
            assert steps < _MOST
            steps += 1
            by.advance(_STEP)


def endpoint_status(sagemaker: Untyped, name: str) -> str:
    """
    Return an endpoint's state.
    """
    return str(sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"])
