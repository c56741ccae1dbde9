"""
How busy accelerators are, what they hold, and what is reserved, in numbers.
"""

from __future__ import annotations

import math

import pytest

from cdk_sagemaker_llm.fit import ResourceRequirements
from cdk_sagemaker_llm.simulation import (
    Bounds,
    Metric,
    MetricQuery,
    Pool,
    Scenario,
    TargetTracking,
)
from cdk_sagemaker_llm.simulation.fleet import Copy, Instance
from cdk_sagemaker_llm.simulation.metrics import MetricStore
from cdk_sagemaker_llm.simulation.publishing import (
    COMPONENTS,
    ENDPOINTS,
    HOST_METRICS,
    Gauges,
    busy_share,
)
from cdk_sagemaker_llm.simulation.scenario import Workload
from cdk_sagemaker_llm.simulation.service.batching import BatchingCopy
from tests.unit.simulation.scenarios import TIMES, of_rate

NEEDS = ResourceRequirements(accelerators=2, cpus=12, memory_mib=48 * 1024)
HOST = {"EndpointName": "endpoint", "VariantName": "AllTraffic"}
TYPED = {**HOST, "InstanceType": "ml.g5.12xlarge"}
COMPONENT = {"InferenceComponentName": "chat"}


def follower(needs: ResourceRequirements | None, share: float | None) -> Workload:
    """
    A model whose policy follows utilization, so that it is recorded.
    """
    metric = Metric.of(COMPONENTS, "GPUUtilizationNormalized", COMPONENT)
    policy = TargetTracking(
        name="t", query=MetricQuery(metric, "Average", 60), target=5
    )
    return of_rate(
        1,
        needs=needs,
        bounds=Bounds(minimum=1, maximum=2),
        policies=(policy,),
        memory_share=share,
    )


def noted(workload: Workload) -> MetricStore:
    """
    Note one copy that was busy half of ten seconds, on four A10G.
    """
    store = MetricStore()
    scenario = Scenario(
        workloads=(workload,), duration=60, pools=(Pool("ml.g5.12xlarge"),)
    )
    gauges = Gauges(scenario, store)
    assert gauges.is_read
    needs = workload.needs
    assert needs is None or isinstance(needs, ResourceRequirements)
    instance = Instance("ml.g5.12xlarge", 0.0, "running")
    copy = Copy("chat", instance, needs, 0.0, "serving")
    instance.copies.append(copy)
    gauges.note(0.0, [instance], [(workload, {copy: 0.5})])
    return store


def read(
    store: MetricStore, namespace: str, name: str, dimensions: dict[str, str]
) -> float | None:
    """
    Read the average of the ten seconds.
    """
    metric = Metric.of(namespace, name, dimensions)
    return store.read(MetricQuery(metric, "Average", 10), 10)


@pytest.mark.parametrize("dimensions", [HOST, TYPED], ids=["all", "by type"])
def test_a_host_says_what_its_components_do_and_reserve(
    dimensions: dict[str, str],
) -> None:
    """
    Two of four devices, half of the time; 12 of 48 cores; 48 of 192 GiB.
    """
    store = noted(follower(NEEDS, 0.9))

    assert {
        name: read(store, ENDPOINTS, name, dimensions) for name in HOST_METRICS
    } == {
        "CPUReservation": 25.0,
        "GPUMemoryUtilization": 180.0,
        "GPUMemoryUtilizationNormalized": 45.0,
        "GPUReservation": 50.0,
        "GPUUtilization": 100.0,
        "GPUUtilizationNormalized": 25.0,
        "MemoryReservation": 25.0,
    }


def test_a_component_says_it_of_its_own_devices() -> None:
    """
    Over what it reserves.
    """
    store = noted(follower(NEEDS, 0.9))

    assert read(store, COMPONENTS, "GPUUtilizationNormalized", COMPONENT) == 50.0
    assert read(store, COMPONENTS, "GPUMemoryUtilizationNormalized", COMPONENT) == 90.0


def test_a_model_of_the_variant_has_all_devices() -> None:
    """
    Only the raw metrics are published, under the variant's own name.
    """
    store = noted(follower(None, 0.9))
    own = {"EndpointName": "endpoint", "VariantName": "chat"}

    found = {name: read(store, ENDPOINTS, name, own) for name in HOST_METRICS}
    assert {name: value for name, value in found.items() if value is not None} == {
        "GPUUtilization": 200.0,
        "GPUMemoryUtilization": 360.0,
    }


def test_memory_that_is_not_known_is_not_said() -> None:
    """
    The rest is.
    """
    store = noted(follower(NEEDS, None))

    assert read(store, ENDPOINTS, "GPUMemoryUtilization", HOST) is None
    assert read(store, COMPONENTS, "GPUMemoryUtilizationNormalized", COMPONENT) is None
    assert read(store, ENDPOINTS, "GPUUtilization", HOST) == 100.0


def test_what_nobody_reads_is_not_recorded() -> None:
    """
    Nor without instances.
    """
    store = MetricStore()
    pools = (Pool("ml.g5.xlarge"),)

    assert not Gauges(
        Scenario(workloads=(of_rate(1),), duration=60, pools=pools), store
    ).is_read


@pytest.mark.parametrize(
    ("running", "copies", "is_even", "share"),
    [
        (0.0, 1, True, 0.0),
        (1.0, 1, True, 0.632),
        (1.0, 1, False, 0.632),
        (1.0, 2, True, 0.448),
        (1.0, 2, False, 0.393),
        (20.0, 2, True, 1.0),
        (1000.0, 1250, True, 0.8),
        (1000.0, 500, True, 1.0),
    ],
)
def test_a_copy_is_busy_while_it_has_a_request(
    running: float, copies: int, *, is_even: bool, share: float
) -> None:
    """
    With so many at once on average, which come as they please.
    """
    found = busy_share(running, copies, is_even=is_even)

    assert found == pytest.approx(share, abs=0.0006)


def test_the_seconds_with_something_to_do_are_counted() -> None:
    """
    An answer of 100 tokens takes 2 s; one that is not done yet counts up to now.
    """
    copy = BatchingCopy(TIMES)
    copy.offer(1.0, 0, 100)
    copy.finish()
    assert copy.take_worked(10.0) == pytest.approx(2.0)

    copy.offer(17.0, 0, 200)
    assert copy.take_worked(20.0) == pytest.approx(3.0)
    copy.finish()
    assert copy.take_worked(30.0) == pytest.approx(1.0)
    assert copy.take_worked(40.0) == 0.0


def test_first_tokens_are_timed_from_the_arrival() -> None:
    """
    One place: 0.04 s of prompt and a token of 0.02 s; the second waits for the first,
    which takes 2.04 s, from its arrival at 1 s on.
    """
    one_place = type(TIMES)(
        decode=((1, 0.02),), max_sequences=1, prompt_seconds_per_token=0.0001
    )
    firsts: list[float] = []
    copy = BatchingCopy(one_place, firsts=firsts)
    copy.offer(0.0, 400, 100)
    copy.offer(1.0, 400, 100)
    assert firsts == [pytest.approx(0.06)]

    copy.finish()
    assert firsts[1:] == [pytest.approx(2.04 - 1.0 + 0.06)]
    copy.finish()
    assert len(firsts) == 2
    assert math.isinf(copy.next)
