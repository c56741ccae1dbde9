"""
What the runtime counts of its requests, and what is published of it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.hosting.traffic import Served
from cdk_sagemaker_llm.local.scaling.meter import (
    Meter,
    Subject,
    Work,
    period_of,
    unit_of,
)
from cdk_sagemaker_llm.local.scaling.watching import Publisher
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.metrics import Datapoint, Metric

_VARIANT = Subject("chat", "AllTraffic")
_COMPONENT = Subject("host", "AllTraffic", "llama")
_UNITS = {
    "ApproximateAgeOfOldestRequest": "Seconds",
    "ApproximateBacklogSize": "Count",
    "ApproximateBacklogSizePerInstance": "Count",
    "ConcurrentRequestsPerModel": "None",
    "ExpiredRequests": "Count",
    "FirstChunkLatency": "Microseconds",
    "GPUUtilization": "Percent",
    "GPUUtilizationNormalized": "Percent",
    "HasBacklogWithoutCapacity": "Count",
    "Invocation5XXErrors": "None",
    "InvocationFailures": "Count",
    "Invocations": "None",
    "InvocationsProcessed": "Count",
    "ModelLatency": "Microseconds",
    "NotificationFailures": "Count",
    "OverheadLatency": "Microseconds",
    "RequestDownloadFailures": "Count",
    "TimeInBacklog": "Microseconds",
    "TotalProcessingTime": "Milliseconds",
}

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
        (299, (0.0, 0.0, 0.0)),
        (300, (0.0, 0.0, 1.0)),
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


def test_every_metric_has_its_unit() -> None:
    """
    Those of queues as the guide has them, and none for what is counted otherwise.
    """
    assert {name: unit_of(name) for name in _UNITS} == _UNITS


def test_a_metric_has_the_dimensions_of_its_subject() -> None:
    """
    An endpoint's name alone, a variant's with it, or a component's.
    """
    found = {
        subject: subject.metric("Invocations")
        for subject in (Subject("chat", ""), _VARIANT, _COMPONENT)
    }
    endpoint, variant = ("EndpointName", "chat"), ("VariantName", "AllTraffic")
    assert {subject: metric.dimensions for subject, metric in found.items()} == {
        Subject("chat", ""): (endpoint,),
        _VARIANT: (endpoint, variant),
        _COMPONENT: (("InferenceComponentName", "llama"),),
    }
    assert {one.namespace for one in found.values()} == {"AWS/SageMaker"}
    assert {one.name for one in found.values()} == {"Invocations"}
    assert Subject.of(("chat", "AllTraffic", None)) == _VARIANT
    assert Subject.of(("host", "AllTraffic", "llama")) == _COMPONENT


def test_a_subject_counts_under_names_of_its_kind() -> None:
    """
    By instance and model, or by copy.
    """
    names = [
        (each.utilization, each.invocations_each, each.concurrency)
        for each in (_VARIANT, _COMPONENT)
    ]
    assert names == [
        ("GPUUtilization", "InvocationsPerInstance", "ConcurrentRequestsPerModel"),
        ("GPUUtilizationNormalized", "InvocationsPerCopy", "ConcurrentRequestsPerCopy"),
    ]


@pytest.mark.parametrize(("capacity", "share"), [(0, 1.0), (1, 1.0), (2, 0.5)])
def test_a_request_is_a_share_of_what_there_is(capacity: int, share: float) -> None:
    """
    Of nothing as of one.
    """
    meter = Meter()
    meter.begin(_VARIANT, capacity, 0.0)

    found = _named(meter.take(60))
    assert found["InvocationsPerInstance", 0.0].total == share
    assert found["ConcurrentRequestsPerModel", 0.0].count == max(1, capacity)


def test_what_is_noted_belongs_to_its_minute() -> None:
    """
    Each value as it is, at the endpoint or variant.
    """
    meter, queue = Meter(), Subject("chat", "")
    meter.note(queue, 60.0, {"ExpiredRequests": 1.0, "TimeInBacklog": 5.0})
    meter.note(queue, 119.9, {"ExpiredRequests": 0.5})
    meter.note(queue, 120.0, {"ExpiredRequests": 7.0})
    assert meter.pending == 2

    taken = meter.take(120)
    assert {
        (metric, start, point.total, point.count, point.least, point.most)
        for metric, start, point in taken
    } == {
        (queue.metric("ExpiredRequests"), 60, 1.5, 2.0, 0.5, 1.0),
        (queue.metric("TimeInBacklog"), 60, 5.0, 1.0, 5.0, 5.0),
    }
    assert meter.pending == 1


def test_what_was_asked_publishes_no_zeros() -> None:
    """
    Its minute has the request alone, and the minute after it nothing but zeros.
    """
    meter = Meter()
    _serve(meter, 1.0)
    for start in range(0, 120, 10):
        meter.idle(_VARIANT, 1, float(start))

    found = _named(meter.take(120))
    for name in ("Invocations", "InvocationsPerInstance"):
        assert [found[name, start].count for start in (0.0, 60.0)] == [1.0, 1.0]
        assert [found[name, start].total for start in (0.0, 60.0)] == [1.0, 0.0]


def test_a_refusal_is_no_invocation() -> None:
    """
    It is not under way, has no latency, and ends nobody else's request.
    """
    meter = Meter()
    meter.begin(_COMPONENT, 1, 0.0)
    meter.end(_served(_COMPONENT, 5.0, 5.0, status=400, no_capacity=True))
    assert _named(meter.take(10))["NoCapacityInvocationFailures", 0.0].total == 1.0
    meter.idle(_COMPONENT, 1, 10.0)

    found = _named(meter.take(60))
    assert found["ConcurrentRequestsPerCopy", 10.0].most == 1.0
    assert "ModelLatency" not in {name for name, _ in found}


def test_accelerators_are_never_busier_than_all_of_the_time() -> None:
    """
    Two copies had requests for eight seconds, and one is left.
    """
    meter = Meter(devices=lambda _: 4)
    for _ in range(2):
        meter.begin(_COMPONENT, 2, 0.0)
    meter.end(_served(_COMPONENT, 0.0, 8.0))
    meter.idle(_COMPONENT, 1, 0.0)

    found = _named(meter.take(60))
    assert found["GPUUtilizationNormalized", 0.0].total == 100.0


@pytest.mark.parametrize("meter", [Meter(), Meter(devices=lambda _: 0)])
def test_without_accelerators_nothing_is_said_of_them(meter: Meter) -> None:
    """
    Nobody knows of them, or there are none.
    """
    _serve(meter, 1.0)
    meter.idle(_VARIANT, 1, 0.0)

    names = {name for name, _ in _named(meter.take(60))}
    assert "GPUUtilization" not in names


def test_time_that_was_worked_is_given_once() -> None:
    """
    Of what ends before the moment at which that is known, nothing is taken back.
    """
    work = Work(5.0)
    work.go_on(4.0, 3)
    work.go_on(7.0, 2)
    work.go_on(6.0, 1)
    work.go_on(8.0, 1)

    assert work.take() == 5.0
    assert work.take() == 0.0
