"""
How long a model takes to load, from the bytes to download and to read.
"""

from __future__ import annotations

from cdk_sagemaker_llm.demand import Demand

# Published deployments: 93 GB came up within 30 minutes and 26 GB within 15 to 25, the
# instance included. This rate is slower than each of them.
BYTES_PER_SECOND = 50_000_000
# Starting the container, compiling or recording graphs, and warming up.
_FIXED_SECONDS = 600
_STEP_SECONDS = 300
LONGEST_SECONDS = 3600
# Up to here the defaults will do: SageMaker is told to wait 30 minutes.
LONG_SECONDS = 1800
# What a download is granted at least, and where its size is not known.
_SHORTEST_DOWNLOAD_SECONDS = 600
_UNKNOWN_DOWNLOAD_SECONDS = 1800


def loading_seconds(weight_bytes: int) -> int:
    """
    Return how long to wait for a model, in whole steps of five minutes.

    Args:
        weight_bytes: What is downloaded and loaded.

    Returns:
        Seconds, at most the 3600 that SageMaker waits.
    """
    seconds = _FIXED_SECONDS + weight_bytes / BYTES_PER_SECOND
    steps = -(-seconds // _STEP_SECONDS)
    return min(int(steps) * _STEP_SECONDS, LONGEST_SECONDS)


def download_seconds(weight_bytes: int | None) -> int:
    """
    Return how long to wait for a download, in whole steps of five minutes.

    Args:
        weight_bytes: What is downloaded; ``None`` if that is not known.

    Returns:
        Seconds, from 600 to the 3600 that SageMaker waits.
    """
    if weight_bytes is None:
        return _UNKNOWN_DOWNLOAD_SECONDS
    steps = -(-weight_bytes // (BYTES_PER_SECOND * _STEP_SECONDS))
    seconds = max(steps * _STEP_SECONDS, _SHORTEST_DOWNLOAD_SECONDS)
    return min(seconds, LONGEST_SECONDS)


def start_up_seconds(demand: Demand | None) -> int | None:
    """
    Return how long to wait for a model that takes longer than the default.

    ``None`` where the default will do, or the size is not known.
    """
    if demand is None or demand.architecture is None:
        return None
    seconds = loading_seconds(demand.architecture.weight_bytes(demand.weight_bits))
    return seconds if seconds > LONG_SECONDS else None
