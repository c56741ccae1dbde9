"""
What is published of a region and what is not, and the capacity that scaling sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.hosting.traffic import Processed
from cdk_sagemaker_llm.local.scaling.capacity import (
    Counts,
    capacity_of,
    devices,
    live,
    serving,
)
from cdk_sagemaker_llm.local.scaling.meter import Subject
from cdk_sagemaker_llm.local.scaling.watching import Watching
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.metrics import Datapoint, Metric, MetricQuery
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import make_config, make_endpoint, make_model, unique
from tests.local.scaled import Scaled, scaled_component, scaled_variant

_MICROSECONDS = 1e6


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    """
    Give an AWS in which nothing takes time.
    """
    with hand_run_aws(takes_time=False) as aws:
        yield aws


@pytest.fixture(name="variant", scope="module")
def _variant(aws: HandRunAws) -> Scaled:
    return scaled_variant(aws, count=2)


@pytest.fixture(name="component", scope="module")
def _component(aws: HandRunAws) -> Scaled:
    return scaled_component(aws, copies=3)


def watched(
    aws: HandRunAws, timeline: Timeline | None = None
) -> tuple[Watching, list[tuple[Metric, float, Datapoint]]]:
    """
    Watch a region once more; return what is published, too.
    """
    published: list[tuple[Metric, float, Datapoint]] = []

    def publish(*one: Any) -> None:  # noqa: ANN401 - a metric, a moment and a value
        published.append(one)

    return Watching(aws.hosting, publish, aws.wall, timeline), published


_DONE: dict[str, Any] = {"received": 10.0, "started": 70.0, "ended": 72.5}


@pytest.mark.parametrize(
    ("done", "values"),
    [
        (
            {"status": 200},
            {"Invocation4XXErrors": 0, "Invocation5XXErrors": 0, "ModelLatency": 2.5e6},
        ),
        (
            {"status": 399, "failed": True},
            {
                "InvocationFailures": 1,
                "Invocation4XXErrors": 0,
                "Invocation5XXErrors": 0,
                "ModelLatency": 2.5e6,
            },
        ),
        (
            {"status": 400},
            {"Invocation4XXErrors": 1, "Invocation5XXErrors": 0, "ModelLatency": 2.5e6},
        ),
        (
            {"status": 499},
            {"Invocation4XXErrors": 1, "Invocation5XXErrors": 0, "ModelLatency": 2.5e6},
        ),
        (
            {"status": 500},
            {"Invocation4XXErrors": 0, "Invocation5XXErrors": 1, "ModelLatency": 2.5e6},
        ),
        ({"status": 0, "expired": True}, {"ExpiredRequests": 1}),
        ({"status": 0, "downloaded": False}, {"RequestDownloadFailures": 1}),
        ({"status": 0, "notified": False}, {"NotificationFailures": 1}),
    ],
)
def test_a_request_of_a_queue_is_counted(
    aws: HandRunAws, done: dict[str, Any], values: dict[str, float]
) -> None:
    """
    In the minute of its end; of a container that was not asked there is no latency.
    """
    watching, _ = watched(aws)
    aws.hosting.world.traffic.processed(
        Processed(endpoint="queued", variant="AllTraffic", **_DONE, **done)
    )

    taken = watching.meter.take(120.0)
    assert {(start, metric.dimensions) for metric, start, _ in taken} == {
        (60, Subject("queued", "AllTraffic").metric("any").dimensions)
    }
    assert {metric.name: point.total for metric, _, point in taken} == {
        "InvocationsProcessed": 1,
        "InvocationFailures": 0,
        "ExpiredRequests": 0,
        "RequestDownloadFailures": 0,
        "NotificationFailures": 0,
        "TimeInBacklog": 60 * _MICROSECONDS,
        "TotalProcessingTime": 62_500,
        **values,
    }


def test_what_nobody_reads_does_not_pile_up(aws: HandRunAws, variant: Scaled) -> None:
    """
    Where no time runs, it is published when there is much of it.
    """
    watching, published = watched(aws)

    def ask(times: int) -> None:
        for _ in range(times):
            variant.ask()
            aws.run(60)

    ask(501)
    assert published == []
    assert watching.meter.pending == 1002
    ask(1)
    assert watching.meter.pending == 2
    watching.publish_now()
    assert watching.meter.pending == 0
    asked = [point for metric, _, point in published if metric.name == "Invocations"]
    assert sum(point.total for point in asked) == 502


def test_what_is_published_is_what_alarms_read(
    aws: HandRunAws, variant: Scaled
) -> None:
    """
    Its share is of the two instances that serve; what runs in time is not given early.
    """
    watching, published = watched(aws)
    variant.ask()
    watching.publish_now()

    metric = variant.subject.metric("InvocationsPerInstance")
    ((_, start, point),) = [one for one in published if one[0] == metric]
    assert (start, point.total) == (aws.wall() // 60 * 60, 0.5)
    query = MetricQuery(metric, "Sum", 60)
    assert watching.store.read(query, start + 60) == 0.5
    assert watching.targets is None
    assert watching.alarms is None


def test_time_publishes_when_a_period_is_over(aws: HandRunAws) -> None:
    """
    Nobody else does; and what has had no value for a day is forgotten, by the hour.
    """
    timeline = Timeline(aws.wall() // 3600 * 3600)
    start = timeline.now
    watching, published = watched(aws, timeline)
    watching.meter.note(Subject("queued", ""), start, {"ExpiredRequests": 1.0})
    watching.publish_now()
    timeline.run_until(start + 59)
    names = {metric.name for metric, _, _ in published}
    assert "ExpiredRequests" not in names
    timeline.run_until(start + 60)
    assert "ExpiredRequests" in {metric.name for metric, _, _ in published}

    old, newer = (Metric("Shop", name) for name in ("Old", "Newer"))
    day_ago = start - 86_400
    watching.store.record(old, day_ago + 3590, 1.0)
    watching.store.record(newer, day_ago + 3600, 1.0)
    timeline.run_until(start + 3599)
    assert watching.store.read(MetricQuery(old, "Sum", 60), day_ago + 3600) == 1.0
    timeline.run_until(start + 3600)
    assert watching.store.read(MetricQuery(old, "Sum", 60), day_ago + 3600) is None
    assert watching.store.read(MetricQuery(newer, "Sum", 60), day_ago + 3660) == 1.0


def test_scaling_sees_a_variants_instances(aws: HandRunAws, variant: Scaled) -> None:
    """
    What is wanted, what serves, and whether it is at rest.
    """
    capacity = variant.capacity
    assert (capacity.noun, capacity.refusal) == ("instance", "")
    assert (capacity.desired, capacity.running, capacity.is_settled) == (2, 2, True)
    endpoint = variant.subject.endpoint
    other = capacity_of(aws.hosting, f"endpoint/{endpoint}/variant/Other")
    gone = capacity_of(aws.hosting, "endpoint/gone/variant/AllTraffic")
    for nothing in (other, gone):
        found = Counts(nothing.desired, nothing.running, nothing.is_settled)
        assert found == Counts(0, 0, is_settled=False)


def test_scaling_sees_a_components_copies(aws: HandRunAws, component: Scaled) -> None:
    """
    And none of one that is gone.
    """
    capacity = component.capacity
    assert (capacity.noun, capacity.refusal) == ("copy", "")
    assert (capacity.desired, capacity.running, capacity.is_settled) == (3, 3, True)
    gone = capacity_of(aws.hosting, "inference-component/gone")
    assert (gone.desired, gone.running, gone.is_settled) == (0, 0, False)


def test_a_refusal_lasts_until_the_next_change(
    aws: HandRunAws, component: Scaled
) -> None:
    """
    In the words of the service; what it takes has none.
    """
    capacity = component.capacity
    capacity.set_desired(99, "why")
    assert capacity.refusal.startswith("There is not enough hardware resources")
    assert capacity.desired == 3
    capacity.set_desired(2, "why")
    assert (capacity.refusal, capacity.desired) == ("", 2)
    capacity.set_desired(3, "why")

    gone = capacity_of(aws.hosting, "inference-component/gone")
    gone.set_desired(1, "why")
    assert gone.refusal.startswith('Could not find inference component "')
    other = capacity_of(
        aws.hosting, f"endpoint/{component.subject.endpoint}/variant/Other"
    )
    other.set_desired(1, "why")
    assert other.refusal.startswith('Could not find variant "Other"')


def test_what_is_wanted_is_there_later() -> None:
    """
    Until then the endpoint, or the component, is not at rest.
    """
    with hand_run_aws(TIMES) as aws:
        variant, component = scaled_variant(aws), scaled_component(aws)
        aws.run(3600)
        for scaled in (variant, component):
            capacity = scaled.capacity
            assert capacity.is_settled
            capacity.set_desired(2, "why")
            found = Counts(capacity.desired, capacity.running, capacity.is_settled)
            assert found == Counts(2, 1, is_settled=False)
            aws.run(600)
            found = Counts(capacity.desired, capacity.running, capacity.is_settled)
            assert found == Counts(2, 2, is_settled=True)


def test_serving_counts_instances_or_copies(
    aws: HandRunAws, variant: Scaled, component: Scaled
) -> None:
    """
    What is not there serves nothing.
    """
    world = aws.hosting.world
    endpoint, host = variant.subject.endpoint, component.subject.endpoint
    assert serving(world, (endpoint, "AllTraffic", None)) == 2
    assert serving(world, (host, "AllTraffic", component.subject.component)) == 3
    for where in (
        (endpoint, "Other", None),
        ("gone", "AllTraffic", None),
        (host, "AllTraffic", "gone"),
    ):
        assert serving(world, where) == 0


def test_what_serves_without_a_queue_is_live(
    aws: HandRunAws, variant: Scaled, component: Scaled
) -> None:
    """
    Variants with a model and components, neither hosts nor what has no capacity.
    """
    idle = scaled_component(aws, copies=0)
    queue = {"OutputConfig": {"S3OutputPath": "s3://there/out"}}
    model = {"ModelName": make_model(aws), "InstanceType": "ml.g5.xlarge"}
    make_endpoint(aws, make_config(aws, variant=model, AsyncInferenceConfig=queue))

    found = dict(live(aws.hosting.world))
    assert found == {variant.subject: 2, component.subject: 3}
    assert idle.subject not in found


@pytest.mark.parametrize(
    ("instance_type", "count"),
    [("ml.g5.xlarge", 1), ("ml.g5.12xlarge", 4), ("ml.m5.xlarge", 0)],
)
def test_an_instance_has_the_accelerators_of_its_type(
    aws: HandRunAws, instance_type: str, count: int
) -> None:
    """
    One without any has none.
    """
    model = {"ModelName": make_model(aws), "InstanceType": instance_type}
    name = make_endpoint(aws, make_config(aws, variant=model))

    assert devices(aws.hosting.world, Subject(name, "AllTraffic")) == count
    assert devices(aws.hosting.world, Subject(name, "Other")) == 0
    assert devices(aws.hosting.world, Subject(unique("gone"), "AllTraffic")) == 0
    aws.client("sagemaker").delete_endpoint(EndpointName=name)


def test_without_instances_there_are_no_accelerators(aws: HandRunAws) -> None:
    """
    Neither where all have gone, nor where there never are any.
    """
    serverless = {"MaxConcurrency": 1, "MemorySizeInMB": 1024}
    name = unique("config")
    sagemaker = aws.client("sagemaker")
    sagemaker.create_endpoint_config(
        EndpointConfigName=name,
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "ModelName": make_model(aws),
                "ServerlessConfig": serverless,
            }
        ],
    )
    none = make_endpoint(aws, name)
    gone = scaled_variant(aws)
    gone.capacity.set_desired(0, "why")

    for endpoint in (none, gone.subject.endpoint):
        assert devices(aws.hosting.world, Subject(endpoint, "AllTraffic")) == 0
        sagemaker.delete_endpoint(EndpointName=endpoint)
