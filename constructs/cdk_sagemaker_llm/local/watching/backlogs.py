"""
Counting what waits for endpoints of asynchronous inference, and what was done of it.
"""

from __future__ import annotations

from cdk_sagemaker_llm.local.sagemaker.backlog import Processed
from cdk_sagemaker_llm.local.sagemaker.queueing import instances_of
from cdk_sagemaker_llm.local.sagemaker.world import World
from cdk_sagemaker_llm.local.watching.meter import Meter
from cdk_sagemaker_llm.local.watching.subjects import Subject

_MICROSECONDS, _MILLISECONDS = 1e6, 1e3


def count_backlogs(meter: Meter, world: World, now: float) -> None:
    """
    Count what waits now, at every endpoint with a queue.

    Where there is no instance, the guide says that target tracking starts one once
    more waits than its target: the backlog is divided by one then.
    """
    for endpoint in world.endpoints:
        if not endpoint.is_asynchronous:
            continue
        size, instances = endpoint.backlog.size, instances_of(endpoint)
        values = {
            "ApproximateBacklogSize": float(size),
            "ApproximateBacklogSizePerInstance": size / max(1, instances),
            "ApproximateAgeOfOldestRequest": endpoint.backlog.age(now),
            "HasBacklogWithoutCapacity": float(bool(size) and not instances),
        }
        meter.note(Subject(endpoint.name, ""), now, values)


def count_processed(meter: Meter, done: Processed) -> None:
    """
    Count a request that was taken out of a queue.
    """
    values = {
        "InvocationsProcessed": 1.0,
        "InvocationFailures": float(done.failed),
        "ExpiredRequests": float(done.expired),
        "RequestDownloadFailures": float(not done.downloaded),
        "NotificationFailures": float(not done.notified),
        "TimeInBacklog": _MICROSECONDS * (done.started - done.received),
        "TotalProcessingTime": _MILLISECONDS * (done.ended - done.received),
    }
    if done.status:
        status = done.status
        values["Invocation4XXErrors"] = float(400 <= status < 500)  # noqa: PLR2004 - HTTP's classes
        values["Invocation5XXErrors"] = float(status >= 500)  # noqa: PLR2004 - the same
        values["ModelLatency"] = _MICROSECONDS * (done.ended - done.started)
    meter.note(Subject(done.endpoint, done.variant), done.ended, values)
