"""
What the runtime counts of its requests, and what is published of it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.hosting.traffic import Served
from cdk_sagemaker_llm.local.scaling.meter import Meter, Subject, period_of, unit_of
from cdk_sagemaker_llm.local.scaling.watching import Publisher
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.metrics import Datapoint, Metric

_VARIANT = Subject("chat", "AllTraffic")
_COMPONENT = Subject("host", "AllTraffic", "llama")

Published = dict[tuple[str, float], Datapoint]


def _named(taken: list[tuple[Metric, int, Datapoint]]) -> Published:
    return {(metric.name, float(start)): point for metric, start, point in taken}


def _served(
    subject: Subject, started: float, ended: float, **others: Untyped
) -> Served:
    endpoint, variant, component = subject
    return Served(
        endpoint=endpoint,
        variant=variant,
        component=component or None,
        started=started,
        ended=ended,
        **{"status": 200, **others},
    )


def _serve(
    meter: Meter, begin: float, *, capacity: int = 1, subject: Subject = _VARIANT
) -> None:
    meter.begin(subject, capacity, begin)
    meter.end(_served(subject, begin, begin + 1.5))


def test_a_request_counts_for_its_share_of_an_instance() -> None:
    """
    One that four instances could have answered is a quarter of one for each.
    """
    meter = Meter()
    _serve(meter, 61.0, capacity=4)
    _serve(meter, 71.0, capacity=2)

    found = _named(meter.take(120))

    assert found["Invocations", 60.0].total == 2.0
    assert found["InvocationsPerInstance", 60.0].total == 0.75
    assert found["InvocationsPerInstance", 60.0].count == 2.0


def test_a_component_counts_by_copy() -> None:
    """
    Under the names and the dimension of components.
    """
    meter = Meter()
    _serve(meter, 0.0, capacity=2, subject=_COMPONENT)

    taken = meter.take(60)

    assert {metric.dimensions for metric, _, _ in taken} == {
        (("InferenceComponentName", "llama"),)
    }
    names = {metric.name for metric, _, _ in taken}
    assert {"InvocationsPerCopy", "ConcurrentRequestsPerCopy"} <= names
    assert "InvocationsPerInstance" not in names


def test_latencies_are_microseconds() -> None:
    """
    One and a half seconds until it is done; the service adds nothing here.
    """
    meter = Meter()
    _serve(meter, 0.0)

    found = _named(meter.take(60))

    assert found["ModelLatency", 0.0].most == pytest.approx(1_500_000)
    assert found["OverheadLatency", 0.0].most == 0.0
    assert unit_of("ModelLatency") == "Microseconds"
    assert unit_of("Invocations") == "None"
    assert ("FirstChunkLatency", 0.0) not in found


@pytest.mark.parametrize(
    ("status", "errors"),
    [
        (200, (0.0, 0.0, 0.0)),
        (399, (0.0, 0.0, 1.0)),
        (400, (1.0, 0.0, 1.0)),
        (499, (1.0, 0.0, 1.0)),
        (500, (0.0, 1.0, 1.0)),
        (0, (0.0, 0.0, 1.0)),
    ],
)
def test_errors_are_the_containers(
    status: int, errors: tuple[float, float, float]
) -> None:
    """
    A sample for every request, so that the average is a rate.
    """
    meter = Meter()
    meter.begin(_VARIANT, 1, 0.0)
    meter.end(_served(_VARIANT, 0.0, 0.0, status=status))

    found = _named(meter.take(60))

    kinds = ("Invocation4XXErrors", "Invocation5XXErrors", "InvocationModelErrors")
    assert tuple(found[kind, 0.0].total for kind in kinds) == errors
    assert all(found[kind, 0.0].count == 1.0 for kind in kinds)


def test_a_stream_has_a_first_part() -> None:
    """
    Its latencies, and whether it broke off.
    """
    meter = Meter()
    meter.begin(_VARIANT, 1, 0.0)
    meter.end(_served(_VARIANT, 0.0, 9.0, first_chunk=3.0, is_cut=True))

    found = _named(meter.take(60))

    assert found["FirstChunkLatency", 0.0].total == 3_000_000
    assert found["FirstChunkModelLatency", 0.0].total == 3_000_000
    assert found["FirstChunkOverheadLatency", 0.0].total == 0.0
    assert found["MidStreamErrors", 0.0].total == 1.0


def test_a_stream_is_there_until_its_last_token() -> None:
    """
    Two at once on two copies, one of them for three periods: one copy has it.
    """
    timeline, meter, seen = Timeline(), Meter(), {}
    Publisher(
        timeline,
        meter,
        lambda: [(_COMPONENT, 2)],
        lambda metric, start, point: seen.update({(metric.name, start): point}),
    )
    timeline.run_until(12)
    meter.begin(_COMPONENT, 2, 12.0)
    _serve(meter, 13.0, capacity=2, subject=_COMPONENT)
    timeline.run_until(35)
    meter.end(_served(_COMPONENT, 12.0, 35.0))
    timeline.run_until(60)

    points = {
        start: (point.least, point.most)
        for (name, start), point in seen.items()
        if name == "ConcurrentRequestsPerCopy"
    }
    assert points == {
        0: (0.0, 0.0),
        10: (0.0, 1.0),
        20: (0.0, 1.0),
        30: (0.0, 1.0),
        40: (0.0, 0.0),
        50: (0.0, 0.0),
    }


def test_requests_are_spread_over_the_copies() -> None:
    """
    Five on two copies: two here and three there, two and a half on the average.
    """
    meter = Meter()
    for _ in range(5):
        meter.begin(_COMPONENT, 2, 0.0)
    meter.take(60)
    meter.idle(_COMPONENT, 2, 60.0)

    point = _named(meter.take(70))["ConcurrentRequestsPerCopy", 60.0]

    assert (point.least, point.most, point.value("Average")) == (2.0, 3.0, 2.5)


def test_what_serves_and_is_not_asked_publishes_zeros() -> None:
    """
    Invocations by the minute and concurrency in ten seconds; nothing else.
    """
    timeline, meter, seen = Timeline(), Meter(), []
    Publisher(
        timeline,
        meter,
        lambda: [(_VARIANT, 1)],
        lambda metric, start, point: seen.append((metric.name, start, point.total)),
    )

    timeline.run_until(59.9)
    assert seen == [("ConcurrentRequestsPerModel", s, 0.0) for s in range(0, 50, 10)]
    timeline.run_until(60)

    assert seen[5:] == [
        ("ConcurrentRequestsPerModel", 50, 0.0),
        ("Invocations", 0, 0.0),
        ("InvocationsPerInstance", 0, 0.0),
    ]


def test_without_capacity_only_failures_are_published() -> None:
    """
    In ten seconds, and only while there are any.
    """
    timeline, meter, seen = Timeline(), Meter(), []
    Publisher(
        timeline,
        meter,
        list,
        lambda metric, start, point: seen.append((metric.name, start, point.total)),
    )
    timeline.run_until(65)
    for moment in (65.0, 66.0):
        refused = _served(_COMPONENT, moment, moment, status=400, no_capacity=True)
        meter.end(refused)
    timeline.run_until(600)

    assert seen == [("NoCapacityInvocationFailures", 60, 2.0)]


def test_a_period_is_published_when_it_has_ended() -> None:
    """
    Not before: a request at its last moment belongs to it.
    """
    meter = Meter()
    _serve(meter, 59.9)

    assert meter.take(59.95) == []
    assert {start for _, start, _ in meter.take(60)} == {0, 50}
    # What is known at its end belongs to the minute in which it ended.
    assert _named(meter.take(120))["ModelLatency", 60.0].count == 1.0


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("Invocations", 60),
        ("ConcurrentRequestsPerModel", 10),
        ("NoCapacityInvocationFailures", 10),
    ],
)
def test_the_periods_are_the_services(name: str, seconds: int) -> None:
    """
    Concurrency and refusals come every ten seconds.
    """
    assert period_of(name) == seconds


def _utilized(subject: Subject, capacity: int) -> list[float]:
    """
    Publish the first ten seconds of four accelerators; return their utilization.
    """
    meter = Meter(devices=lambda _: 4)
    meter.begin(subject, capacity, 1.0)
    meter.begin(subject, capacity, 2.0)
    meter.end(_served(subject, 1.0, 4.0))
    meter.end(_served(subject, 2.0, 6.0))
    meter.idle(subject, capacity, 0.0)
    name = subject.utilization
    return [p.total for metric, _, p in meter.take(60) if metric.name == name]


def test_accelerators_are_busy_while_there_is_a_request() -> None:
    """
    One instance for five of ten seconds; of two copies one for 3 s and both for 2 s.
    """
    assert _utilized(_VARIANT, 1) == [200.0]
    assert _utilized(_VARIANT, 2) == [140.0]
    assert _utilized(_COMPONENT, 2) == [35.0]


def test_utilization_has_its_own_namespaces() -> None:
    """
    Raw by variant, normalized by component, both in per cent.
    """
    assert _VARIANT.metric("GPUUtilization") == Metric.of(
        "/aws/sagemaker/Endpoints",
        "GPUUtilization",
        {"EndpointName": "chat", "VariantName": "AllTraffic"},
    )
    assert _COMPONENT.metric("GPUUtilizationNormalized") == Metric.of(
        "/aws/sagemaker/InferenceComponents",
        "GPUUtilizationNormalized",
        {"InferenceComponentName": "llama"},
    )
    assert unit_of("GPUUtilization") == "Percent"


def test_latencies_have_percentiles() -> None:
    """
    Single values of them are kept.
    """
    meter = Meter()
    _serve(meter, 0.0)
    point = _named(meter.take(60))["ModelLatency", 0.0]

    assert point.value("p90") == 1_500_000.0
