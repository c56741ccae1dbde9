"""
What SageMaker says of a model in metrics, every ten seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.metrics import (
    Datapoint,
    Metric,
    MetricQuery,
    MetricStore,
)
from cdk_sagemaker_llm.simulation.scenario import Workload

_MICROSECONDS = 1e6
_NO_ERRORS = ("Invocation5XXErrors", "InvocationModelErrors", "MidStreamErrors")
FIRSTS = frozenset({"FirstChunkLatency", "FirstChunkModelLatency"})
_OVERHEADS = ("OverheadLatency", "FirstChunkOverheadLatency")


class Publisher:
    """
    Puts one model's metrics into the store, under the names that policies read.

    A model without traffic has zeros ("if a variant's traffic decreases to zero,
    SageMaker AI emits metrics with a value of zero", endpoint-auto-scaling-
    prerequisites); one without copies has nothing but its refusals.

    Args:
        workload: The model.

        endpoint: The endpoint's name.

        store: Where the metrics go.

        queries: What anybody reads: some metrics are told to those alone who ask.
    """

    def __init__(
        self,
        workload: Workload,
        endpoint: str,
        store: MetricStore,
        queries: Sequence[MetricQuery] = (),
    ) -> None:
        is_component = workload.needs is not None

        def metric(name: str) -> Metric:
            if is_component:
                return Metric.of_component(name, workload.name)
            return Metric.of_variant(name, endpoint, workload.name)

        self._add = store.add
        self._invocations = metric("Invocations")
        each = "InvocationsPerCopy" if is_component else "InvocationsPerInstance"
        self._invocations_each = metric(each)
        each = "PerCopy" if is_component else "PerModel"
        self._concurrency = metric(f"ConcurrentRequests{each}")
        self._latency = metric("ModelLatency")
        self._client_errors = metric("Invocation4XXErrors")
        # Nothing fails in a run, so that of answers there are zeros alone.
        self._errors = [metric(name) for name in _NO_ERRORS]
        self._no_capacity = metric("NoCapacityInvocationFailures")
        self._overhead = workload.service.overhead_seconds * _MICROSECONDS
        self._overheads = [metric(name) for name in _OVERHEADS]
        self._first = metric("FirstChunkModelLatency")
        self._first_seen = metric("FirstChunkLatency")
        read = {query.metric.name for query in queries}
        self.wants_firsts = bool(read & FIRSTS)
        self.wants_spread = any(query.is_percentile for query in queries)

    def invoked(self, time: float, count: float, copies: float) -> None:
        """
        Note the requests that copies were sent since a moment.
        """
        if copies:
            one = 1.0 if count else 0.0
            point = Datapoint(count, max(count, 1.0), one, one)
            self._add(self._invocations, time, point)
            share = count / copies
            self._add(self._invocations_each, time, Datapoint(share, 1.0, share, share))

    def concurrent(
        self, time: float, total: float, copies: float, least: float, most: float
    ) -> None:
        """
        Note how many requests copies have under way: one sample from each.
        """
        if copies:
            self._add(self._concurrency, time, Datapoint(total, copies, least, most))

    def answered(
        self,
        time: float,
        seconds: float,
        count: float,
        least: float,
        most: float,
        *,
        spread: Histogram | None = None,
    ) -> None:
        """
        Note how long answers took.
        """
        if not count:
            return
        point = Datapoint(
            seconds * _MICROSECONDS,
            count,
            least * _MICROSECONDS,
            most * _MICROSECONDS,
            spread,
        )
        self._add(self._latency, time, point)
        none = Datapoint(0.0, count, 0.0, 0.0)
        for metric in (self._client_errors, *self._errors):
            self._add(metric, time, none)
        each = self._overhead
        for metric in self._overheads:
            self._add(metric, time, Datapoint(each * count, count, each, each))

    def begun(self, time: float, firsts: Sequence[float]) -> None:
        """
        Note the seconds until the first tokens of answers.
        """
        if not firsts:
            return
        microseconds = [first * _MICROSECONDS for first in firsts]
        for metric, more in ((self._first, 0.0), (self._first_seen, self._overhead)):
            values = [each + more for each in microseconds]
            spread = spread_of(values) if self.wants_spread else None
            point = Datapoint(
                sum(values), len(values), min(values), max(values), spread
            )
            self._add(metric, time, point)

    def failed(self, time: float, no_capacity: float, errors: float) -> None:
        """
        Note the requests that no copy was there for, and those refused or timed out.
        """
        if no_capacity:
            point = Datapoint(no_capacity, no_capacity, 1.0, 1.0)
            self._add(self._no_capacity, time, point)
        if errors:
            self._add(self._client_errors, time, Datapoint(errors, errors, 1.0, 1.0))


def spread_of(values: Iterable[float], scale: float = 1.0, times: int = 1) -> Histogram:
    """
    Return single values as they are kept for percentiles.
    """
    spread = Histogram()
    spread.add((value * scale for value in values), times=times)
    return spread


def spread_of_seconds(values: Iterable[float], times: int = 1) -> Histogram:
    """
    Return single latencies in seconds as those metrics have them.
    """
    return spread_of(values, _MICROSECONDS, times)
