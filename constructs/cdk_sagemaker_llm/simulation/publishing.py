"""
What SageMaker says of a model in metrics, every ten seconds.
"""

from __future__ import annotations

from cdk_sagemaker_llm.simulation.metrics import Datapoint, Metric, MetricStore
from cdk_sagemaker_llm.simulation.scenario import Workload

_MICROSECONDS = 1e6


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
    """

    def __init__(self, workload: Workload, endpoint: str, store: MetricStore) -> None:
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
        self._no_capacity = metric("NoCapacityInvocationFailures")

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
        self, time: float, seconds: float, count: float, least: float, most: float
    ) -> None:
        """
        Note how long answers took.
        """
        if count:
            self._add(
                self._latency,
                time,
                Datapoint(
                    seconds * _MICROSECONDS,
                    count,
                    least * _MICROSECONDS,
                    most * _MICROSECONDS,
                ),
            )

    def failed(self, time: float, no_capacity: float, errors: float) -> None:
        """
        Note the requests that no copy was there for, and those refused or timed out.
        """
        if no_capacity:
            point = Datapoint(no_capacity, no_capacity, 1.0, 1.0)
            self._add(self._no_capacity, time, point)
        if errors:
            self._add(self._client_errors, time, Datapoint(errors, errors, 1.0, 1.0))
