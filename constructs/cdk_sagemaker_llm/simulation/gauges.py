"""
What CloudWatch is told of accelerators and reservations, by instance and by copy.

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
from cdk_sagemaker_llm.simulation.metrics import Datapoint, Metric, MetricStore
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload

ENDPOINTS = "/aws/sagemaker/Endpoints"
COMPONENTS = "/aws/sagemaker/InferenceComponents"

# Of a variant with a model, of one with components, and of a component: the guide has
# the normalized ones and reservations for endpoints of components alone.
OF_VARIANTS = frozenset({"GPUMemoryUtilization", "GPUUtilization"})
OF_COMPONENTS = frozenset(
    {"GPUMemoryUtilizationNormalized", "GPUUtilizationNormalized"}
)
OF_HOSTS = (
    OF_VARIANTS
    | OF_COMPONENTS
    | {"CPUReservation", "GPUReservation", "MemoryReservation"}
)

_PERCENT = 100.0
# So many requests at once are as many as their average, near enough.
_MANY = 500.0
_INSTANCE_TYPE = "InstanceType"

# Which share of some seconds each copy had something to do.
Shares = Mapping[Copy, float]


class Gauges:
    """
    Puts utilization and reservations into the store, if anybody reads them.

    Args:
        scenario: What is played.

        store: Where the metrics go.
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
        Note the last ten seconds.

        Args:
            time: When they began.

            instances: Those that run.

            busy: Each model's copies.
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
            by_type = {**dimensions, _INSTANCE_TYPE: instance.instance_type}
            for name, value in values.items():
                for each in (dimensions, by_type):
                    self._add(Metric.of(ENDPOINTS, name, each), time, value)

    def _component(self, time: float, workload: Workload, shares: Shares) -> None:
        for copy, share in shares.items():
            values = {"GPUUtilizationNormalized": _PERCENT * share}
            if workload.memory_share is not None:
                memory = _PERCENT * workload.memory_share
                values["GPUMemoryUtilizationNormalized"] = memory
            dimensions = {"InferenceComponentName": workload.name}
            by_type = {**dimensions, _INSTANCE_TYPE: copy.instance.instance_type}
            for name, value in values.items():
                for each in (dimensions, by_type):
                    self._add(Metric.of(COMPONENTS, name, each), time, value)

    def _add(self, metric: Metric, time: float, value: float) -> None:
        self._store.add(metric, time, Datapoint(value, 1.0, value, value))


def _values(
    instance: Instance, copies: Sequence[tuple[Workload, Copy, float]]
) -> Mapping[str, float]:
    """
    Return what one instance says.
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
        known = workload.memory_share
        memory += math.nan if known is None else known * devices
        reserved += devices
    values = _of(busy, "GPUUtilization", whole.accelerators)
    if not math.isnan(memory):
        values |= _of(memory, "GPUMemoryUtilization", whole.accelerators)
    if any(copy.needs is None for _, copy, _ in copies):
        return {name: values[name] for name in values.keys() & OF_VARIANTS}
    wanted = [copy.needs for _, copy, _ in copies if copy.needs is not None]
    cpus = sum(each.cpus or 0.0 for each in wanted)
    mebibytes = sum(each.memory_mib for each in wanted)
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


def busy_share(running: float, copies: int, *, is_even: bool) -> float:
    """
    Return which share of the time a copy has something to do, on average.

    Requests that come at random are as many at once as Poisson has it; those that go
    to the emptiest copy are on as many copies as there are requests.

    Args:
        running: How many requests all copies have, on average.

        copies: How many there are.

        is_even: Whether each request goes to the emptiest.
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
