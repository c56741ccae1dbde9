"""
What SageMaker says of a model in metrics, every ten seconds: requests, accelerators and
reservations, by instance and by copy.

An accelerator is busy while its copy has something to do: that is what the driver
counts, whatever the batch's size. An engine takes the memory for its KV cache when it
starts, so that memory in use does not follow the load.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from cdk_sagemaker_llm.simulation.fleet import Copy, Instance
from cdk_sagemaker_llm.simulation.fleet.parts import nameplate
from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.metrics import (
    Datapoint,
    Metric,
    MetricQuery,
    MetricStore,
)
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload

_MICROSECONDS = 1e6
_NO_ERRORS = ("Invocation5XXErrors", "InvocationModelErrors", "MidStreamErrors")
FIRSTS = frozenset({"FirstChunkLatency", "FirstChunkModelLatency"})
_OVERHEADS = ("OverheadLatency", "FirstChunkOverheadLatency")

ENDPOINTS = "/aws/sagemaker/Endpoints"
COMPONENTS = "/aws/sagemaker/InferenceComponents"

# Of a variant with a model, of one with components, and of a component: the guide has
# the normalized ones and reservations for endpoints of components alone.
OF_VARIANTS = frozenset({"GPUMemoryUtilization", "GPUUtilization"})
COMPONENT_METRICS = frozenset(
    {"GPUMemoryUtilizationNormalized", "GPUUtilizationNormalized"}
)
HOST_METRICS = (
    OF_VARIANTS
    | COMPONENT_METRICS
    | {"CPUReservation", "GPUReservation", "MemoryReservation"}
)

_PERCENT = 100.0
# So many requests at once are as many as their average, near enough.
_MANY = 500.0

# Which share of some seconds each copy had something to do.
Shares = Mapping[Copy, float]


class Publisher:
    """
    Puts one model's metrics into the store, under the names that policies read.

    A model without traffic has zeros ("if a variant's traffic decreases to zero,
    SageMaker AI emits metrics with a value of zero", endpoint-auto-scaling-
    prerequisites); one without copies has nothing but its refusals. Some metrics are
    published only if one of ``queries`` reads them.
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
            spread = None
            if self.wants_spread:
                spread = Histogram()
                spread.add(values)
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


def spread_of_seconds(values: Iterable[float], times: int = 1) -> Histogram:
    """
    Return single latencies in seconds as metrics keep them for percentiles.
    """
    spread = Histogram()
    spread.add((value * _MICROSECONDS for value in values), times=times)
    return spread


class Gauges:
    """
    Puts utilization and reservations into the store, if anybody reads them.
    """

    def __init__(self, scenario: Scenario, store: MetricStore) -> None:
        self._store = store
        self._endpoint = scenario.endpoint
        self._variant = scenario.variant
        read = (metric for one in scenario.queries for metric in one.metrics())
        names = {metric.namespace for metric in read}
        self.is_read = bool(names & {ENDPOINTS, COMPONENTS}) and bool(scenario.pools)

    def note(
        self,
        time: float,
        instances: Iterable[Instance],
        busy: Sequence[tuple[Workload, Shares]],
    ) -> None:
        """
        Note the last ten seconds, which began at ``time``.
        """
        used: defaultdict[Instance, list[tuple[Workload, Copy, float]]]
        used = defaultdict(list)
        variant = self._variant
        for workload, shares in busy:
            if workload.needs is None:
                variant = workload.name
            else:
                self._component(time, workload, shares)
            for copy, share in shares.items():
                used[copy.instance].append((workload, copy, share))
        for instance in instances:
            values = _values(instance, used.get(instance, ()))
            dimensions = {"EndpointName": self._endpoint, "VariantName": variant}
            self._add(ENDPOINTS, dimensions, instance, time, values)

    def _component(self, time: float, workload: Workload, shares: Shares) -> None:
        for copy, share in shares.items():
            values = {"GPUUtilizationNormalized": _PERCENT * share}
            if workload.memory_share is not None:
                memory = _PERCENT * workload.memory_share
                values["GPUMemoryUtilizationNormalized"] = memory
            dimensions = {"InferenceComponentName": workload.name}
            self._add(COMPONENTS, dimensions, copy.instance, time, values)

    def _add(
        self,
        namespace: str,
        dimensions: Mapping[str, str],
        instance: Instance,
        time: float,
        values: Mapping[str, float],
    ) -> None:
        by_type = {**dimensions, "InstanceType": instance.instance_type}
        for name, value in values.items():
            point = Datapoint(value, 1.0, value, value)
            for each in (dimensions, by_type):
                self._store.add(Metric.of(namespace, name, each), time, point)


def busy_share(running: float, copies: int, *, is_even: bool) -> float:
    """
    Return which share of the time a copy has something to do, on average.

    Requests that come at random are as many at once as Poisson has it; those that go
    to the emptiest copy are on as many copies as there are requests. ``running`` is how
    many all copies have, on average.
    """
    if not is_even:
        return 1 - math.exp(-running / copies)
    if running > _MANY:
        return min(running / copies, 1.0)
    chance = math.exp(-running)
    idle = 0.0
    for count in range(copies):
        idle += (copies - count) * chance
        chance *= running / (count + 1)
    return 1 - idle / copies


def _values(
    instance: Instance, copies: Sequence[tuple[Workload, Copy, float]]
) -> Mapping[str, float]:
    """
    Return the values that one instance publishes.
    """
    whole = nameplate(instance.instance_type)
    if whole is None or not whole.accelerators:
        return {}
    busy = memory = reserved = 0.0
    for workload, copy, share in copies:
        needs = copy.needs
        devices = whole.accelerators if needs is None else needs.accelerators or 0
        busy += share * devices
        # Of one model whose memory is not known, that of the instance is not either.
        memory_share = workload.memory_share
        memory += math.nan if memory_share is None else memory_share * devices
        reserved += devices
    values = _of(busy, "GPUUtilization", whole.accelerators)
    if not math.isnan(memory):
        values |= _of(memory, "GPUMemoryUtilization", whole.accelerators)
    if any(copy.needs is None for _, copy, _ in copies):
        return {name: values[name] for name in values.keys() & OF_VARIANTS}
    reservations = [copy.needs for _, copy, _ in copies if copy.needs is not None]
    cpus = sum(each.cpus or 0.0 for each in reservations)
    mebibytes = sum(each.memory_mib for each in reservations)
    return {
        **values,
        "CPUReservation": _PERCENT * cpus / whole.cpus,
        "GPUReservation": _PERCENT * reserved / whole.accelerators,
        "MemoryReservation": _PERCENT * mebibytes / whole.memory_mib,
    }


def _of(devices: float, name: str, count: float) -> dict[str, float]:
    return {
        name: _PERCENT * devices,
        f"{name}Normalized": _PERCENT * devices / count,
    }
