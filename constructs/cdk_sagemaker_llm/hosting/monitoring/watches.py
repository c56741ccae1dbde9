"""
What the alarms of a language model watch, and which thresholds make sense.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.limits import (
    UNCOUNTABLE,
    least_findings,
    range_findings,
)

_MICROSECONDS = 1e6
Kind = Literal["share", "seconds", "percent", "count", "ratio"]
Subjects = Literal["components", "variants"]
_MOST: Mapping[Kind, float] = {"share": 1, "percent": 100}


@dataclass(frozen=True, slots=True)
class Watch:
    """
    What one threshold is held against.

    Args:
        metric: The service's metric.

        statistic: How it is read.

        kind: What the threshold counts.

        words: What is watched, as the alarm describes it.

        at_least: Whether the threshold itself is too much already.

        divided_by: A metric that it is divided by; empty for none.

        of_endpoint: Whether it is the endpoint's, whatever the variant.
    """

    metric: str
    statistic: str
    kind: Kind
    words: str
    at_least: bool = False
    divided_by: str = ""
    of_endpoint: bool = False

    def value(self, threshold: float) -> float:
        """
        Turn a threshold into the metric's unit.
        """
        return threshold * _MICROSECONDS if self.kind == "seconds" else threshold

    def findings(self, name: str, threshold: float) -> list[Finding]:
        """
        Check a threshold.

        Args:
            name: The keyword.

            threshold: What was given for it.
        """
        if self.kind == "seconds" and is_unresolved(threshold):
            return [
                UNCOUNTABLE.finding(
                    f"{name} must be known at synth: it is written in microseconds"
                )
            ]
        if self.kind in _MOST:
            return range_findings(name, threshold, 0, _MOST[self.kind])
        return least_findings(name, threshold, 1 if self.kind == "count" else 0)


_OF_REQUESTS = {
    "server_error_rate": Watch(
        "Invocation5XXErrors",
        "Average",
        "share",
        "The share of requests that end with a 5xx status",
    ),
    "model_error_rate": Watch(
        "InvocationModelErrors",
        "Average",
        "share",
        "The share of requests that the container does not answer",
    ),
    "mid_stream_error_rate": Watch(
        "MidStreamErrors",
        "Average",
        "share",
        "The share of requests whose stream breaks",
    ),
    "client_error_rate": Watch(
        "Invocation4XXErrors",
        "Average",
        "share",
        "The share of requests that end with a 4xx status",
    ),
    "model_latency_seconds": Watch(
        "ModelLatency",
        "p99",
        "seconds",
        "The time to an answer that 99 of 100 requests get, in microseconds",
    ),
    "first_chunk_latency_seconds": Watch(
        "FirstChunkLatency",
        "p99",
        "seconds",
        "The time to a first part that 99 of 100 streams get, in microseconds",
    ),
    # The service lists no percentiles of it.
    "overhead_latency_seconds": Watch(
        "OverheadLatency",
        "Average",
        "seconds",
        "The time that requests take beside the container, in microseconds",
    ),
}
_GPU_MEMORY = Watch(
    "GPUMemoryUtilizationNormalized",
    "Maximum",
    "percent",
    "The use of GPU memory, in percent",
)
_OF_COMPONENTS: Mapping[str, Watch] = {
    **_OF_REQUESTS,
    "gpu_memory_percent": _GPU_MEMORY,
    "concurrency": Watch(
        "ConcurrentRequestsPerCopy",
        "Maximum",
        "count",
        "The requests under way on a copy",
    ),
    "copies": Watch(
        "Invocations",
        "Sum",
        "count",
        "The copies that serve, by requests and requests of each copy",
        at_least=True,
        divided_by="InvocationsPerCopy",
    ),
    "no_capacity_failures": Watch(
        "NoCapacityInvocationFailures",
        "Sum",
        "count",
        "The requests that come while no copy is there",
        at_least=True,
    ),
}
_OF_VARIANTS: Mapping[str, Watch] = {
    **_OF_REQUESTS,
    "gpu_memory_percent": _GPU_MEMORY,
    "concurrency": Watch(
        "ConcurrentRequestsPerModel",
        "Maximum",
        "count",
        "The requests under way on an instance",
    ),
    "instances": Watch(
        "Invocations",
        "Sum",
        "count",
        "The instances that serve, by requests and requests of each instance",
        at_least=True,
        divided_by="InvocationsPerInstance",
    ),
    "backlog_per_instance": Watch(
        "ApproximateBacklogSizePerInstance",
        "Maximum",
        "ratio",
        "The requests in the queue, for each instance",
        of_endpoint=True,
    ),
}
WATCHES: Mapping[Subjects, Mapping[str, Watch]] = {
    "components": _OF_COMPONENTS,
    "variants": _OF_VARIANTS,
}
