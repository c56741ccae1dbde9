"""
Percentiles of latencies, which are kept where somebody asks for them.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.metrics import (
    Datapoint,
    Metric,
    MetricQuery,
    MetricStore,
)

LATENCY = Metric.of_component("ModelLatency", "chat")


def point(*values: float) -> Datapoint:
    """
    Keep single values of ten seconds.
    """
    spread = Histogram()
    spread.add(values)
    return Datapoint(sum(values), len(values), min(values), max(values), spread)


@pytest.mark.parametrize(
    ("statistic", "value"),
    [("p0", 1.0), ("p50", 5.0), ("p90", 9.0), ("p99.9", 10.0), ("p100", 10.0)],
)
def test_a_percentile_is_of_all_periods_together(statistic: str, value: float) -> None:
    """
    One to ten seconds, of two periods of ten seconds.
    """
    store = MetricStore()
    store.add(LATENCY, 0, point(1.0, 2.0, 3.0, 4.0, 5.0))
    store.add(LATENCY, 10, point(6.0, 7.0, 8.0))
    store.add(LATENCY, 10, point(9.0, 10.0))

    assert store.read(MetricQuery(LATENCY, statistic, 60), 60) == value


def test_there_is_none_of_what_was_not_kept() -> None:
    """
    As of a metric without data.
    """
    store = MetricStore()
    store.record(LATENCY, 0, 5.0)

    assert store.read(MetricQuery(LATENCY, "p90", 60), 60) is None


@pytest.mark.parametrize("statistic", ["p101", "p-1", "p", "q90", "p9.999", "tm90"])
def test_what_is_no_percentile_is_refused(statistic: str) -> None:
    """
    Nor is any other statistic.
    """
    with pytest.raises(ValueError, match="statistic must be one of"):
        MetricQuery(LATENCY, statistic, 60)


def test_of_counts_there_are_none() -> None:
    """
    Single values are kept of latencies alone.
    """
    with pytest.raises(ValueError, match="percentiles are not computed here"):
        MetricQuery(Metric.of_component("Invocations", "chat"), "p90", 60)
