"""
Metrics in periods.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation.metrics import (
    Datapoint,
    MathQuery,
    Metric,
    MetricDelays,
    MetricQuery,
    MetricStore,
)

_SLOW = Metric.of_variant("Invocations", "chat", "AllTraffic")
_FAST = Metric.of_component("ConcurrentRequestsPerCopy", "llama")


def _filled() -> MetricStore:
    store = MetricStore()
    store.record(_SLOW, 60, 2.0, 3)  # The first moment of the second minute.
    store.record(_SLOW, 95, 8.0)
    store.record(_SLOW, 119.9, 5.0)
    return store


@pytest.mark.parametrize(
    ("statistic", "value"),
    [
        ("Sum", 19.0),
        ("SampleCount", 5.0),
        ("Average", 3.8),
        ("Minimum", 2.0),
        ("Maximum", 8.0),
    ],
)
def test_a_period_has_every_statistic(statistic: str, value: float) -> None:
    """
    Of the values from its start on, its end left out.
    """
    assert _filled().read(MetricQuery(_SLOW, statistic, 60), 120) == value


def test_a_period_without_values_has_none() -> None:
    """
    Nothing is not zero; a metric that nobody published is nothing, too.
    """
    query = MetricQuery(_SLOW, "Sum", 60)
    other = MetricQuery(_FAST, "Maximum", 10)

    assert _filled().read(query, 60) is None
    assert _filled().read(query, 180) is None
    assert _filled().read(other, 120) is None


def test_ten_seconds_are_told_apart() -> None:
    """
    By a metric that comes so often.
    """
    store = MetricStore()
    store.record(_FAST, 9.9, 1.0)
    store.record(_FAST, 10.0, 7.0)

    assert store.read(MetricQuery(_FAST, "Maximum", 10), 10) == 1.0
    assert store.read(MetricQuery(_FAST, "Maximum", 10), 20) == 7.0
    assert store.read(MetricQuery(_FAST, "Maximum", 30), 30) == 7.0


def test_a_metric_is_its_dimensions_in_any_order() -> None:
    """
    SageMaker's are of an endpoint and a variant, or of a component.
    """
    one = Metric.of("AWS/SageMaker", "Invocations", {"A": "1", "B": "2"})
    other = Metric.of("AWS/SageMaker", "Invocations", {"B": "2", "A": "1"})

    assert one == other
    assert _SLOW.dimensions == (
        ("EndpointName", "chat"),
        ("VariantName", "AllTraffic"),
    )
    assert _FAST.dimensions == (("InferenceComponentName", "llama"),)


def test_a_period_ends_with_its_last_ten_seconds() -> None:
    """
    What is asked for within them is what ended before.
    """
    query = MetricQuery(_SLOW, "Sum", 60)

    assert _filled().read(query, 129.9) == 13.0 + 6.0
    assert _filled().read(query, 130) == 13.0


def test_no_samples_are_no_data() -> None:
    """
    A value that was seen no times has no average.
    """
    store = MetricStore()
    store.record(_SLOW, 0, 5.0, 0)

    assert store.read(MetricQuery(_SLOW, "Average", 60), 60) is None


def test_values_can_come_in_bulk() -> None:
    """
    The store keeps its own count of what it was given.
    """
    store = MetricStore()
    point = Datapoint(total=6.0, count=2.0, least=1.0, most=5.0)
    store.add(_SLOW, 0, point)
    store.add(_SLOW, 5, point)

    assert point.total == 6.0
    assert store.read(MetricQuery(_SLOW, "Sum", 60), 60) == 12.0


def test_a_day_is_kept() -> None:
    """
    So that memory does not grow with the time that is simulated.
    """
    store = MetricStore()
    for bucket in range(8641):
        store.record(_FAST, bucket * 10.0, 1.0)

    assert store.read(MetricQuery(_FAST, "Sum", 10), 10) is None
    assert store.read(MetricQuery(_FAST, "Sum", 10), 20) == 1.0


def test_metrics_that_ended_can_be_dropped() -> None:
    """
    Those whose last value is from before a moment.
    """
    store, query = _filled(), MetricQuery(_SLOW, "Sum", 60)

    store.forget(119.0)
    assert store.read(query, 120) == 19.0
    store.forget(120.0)

    assert store.read(query, 120) is None


def test_math_reads_its_metrics() -> None:
    """
    Each by its own statistic, in the same period.
    """
    store = _filled()
    most = MetricQuery(_SLOW, "Maximum", 60)
    total = MetricQuery(_SLOW, "Sum", 60)
    ratio = MathQuery("total / most", {"total": total, "most": most}, 60)

    assert store.read(ratio, 120) == 2.375
    assert store.read(ratio, 180) is None
    assert ratio.metrics() == (_SLOW, _SLOW)


def test_metrics_of_ten_seconds_can_be_read_sooner() -> None:
    """
    A query of both kinds waits for the slower one.
    """
    delays = MetricDelays(standard=90, high_resolution=20)
    slow, fast = MetricQuery(_SLOW, "Sum", 60), MetricQuery(_FAST, "Maximum", 10)

    assert delays.of(slow) == 90
    assert delays.of(fast) == 20
    for name in ("ConcurrentRequestsPerModel", "NoCapacityInvocationFailures"):
        metric = Metric.of_variant(name, "chat", "AllTraffic")
        assert delays.of(MetricQuery(metric, "Maximum", 10)) == 20
    assert delays.of(MathQuery("a / b", {"a": slow, "b": fast}, 60)) == 90
    assert (MetricDelays().standard, MetricDelays().high_resolution) == (120, 30)


def test_fails_if_a_percentile_is_asked_for() -> None:
    """
    It cannot be computed from what is kept.
    """
    with pytest.raises(ValueError, match="statistic must be one of .*, got 'p99'"):
        MetricQuery(_SLOW, "p99", 60)


@pytest.mark.parametrize("period", [0, -60, 15])
def test_fails_if_a_period_is_none(period: int) -> None:
    """
    Ten seconds are the least.
    """
    with pytest.raises(ValueError, match=f"multiple of 10 s, got {period}"):
        MetricQuery(_SLOW, "Sum", period)


def test_fails_if_math_names_what_is_not_there() -> None:
    """
    The message says which.
    """
    with pytest.raises(ValueError, match="names m2, which no query has as its id"):
        MathQuery("m1 / m2", {"m1": MetricQuery(_SLOW, "Sum", 60)}, 60)
    with pytest.raises(ValueError, match="names a, b, c, d, which"):
        MathQuery("d + c + b + a", {}, 60)


@pytest.mark.parametrize("period", [0, -60, 15])
def test_fails_if_a_period_of_math_is_none(period: int) -> None:
    """
    As of a metric.
    """
    with pytest.raises(ValueError, match=f"multiple of 10 s, got {period}"):
        MathQuery("1 + 1", {}, period)


@pytest.mark.parametrize("delay", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["standard", "high_resolution"])
def test_fails_if_a_delay_is_none(name: str, delay: float) -> None:
    """
    Values cannot be read before there are any, and must be at some time.
    """
    with pytest.raises(ValueError, match=f"{name} must be 0 s or more, got {delay}"):
        MetricDelays(**{name: delay})
    MetricDelays(standard=0, high_resolution=0)
