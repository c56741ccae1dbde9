"""
What is in the metrics of ten seconds, statistic by statistic.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.fit import ResourceRequirements
from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery, MetricStore
from cdk_sagemaker_llm.simulation.publishing import Publisher
from tests.unit.simulation.scenarios import of_rate


@pytest.mark.parametrize(
    ("name", "total", "average", "count", "least", "most"),
    [
        ("Invocations", 12.0, 1.0, 12.0, 1.0, 1.0),
        ("InvocationsPerCopy", 3.0, 3.0, 1.0, 3.0, 3.0),
        ("ConcurrentRequestsPerCopy", 10.0, 2.5, 4.0, 1.0, 4.0),
        ("ModelLatency", 6e6, 2e6, 3.0, 1e6, 4e6),
        ("NoCapacityInvocationFailures", 5.0, 1.0, 5.0, 1.0, 1.0),
        # Of five requests that were answered or refused: the average is a rate.
        ("Invocation4XXErrors", 2.0, 0.4, 5.0, 0.0, 1.0),
        ("Invocation5XXErrors", 0.0, 0.0, 3.0, 0.0, 0.0),
        ("InvocationModelErrors", 0.0, 0.0, 3.0, 0.0, 0.0),
        ("MidStreamErrors", 0.0, 0.0, 3.0, 0.0, 0.0),
        # 50 ms each.
        ("OverheadLatency", 150_000.0, 50_000.0, 3.0, 50_000.0, 50_000.0),
        ("FirstChunkOverheadLatency", 150_000.0, 50_000.0, 3.0, 50_000.0, 50_000.0),
        ("FirstChunkModelLatency", 750_000.0, 375_000.0, 2.0, 250_000.0, 500_000.0),
        ("FirstChunkLatency", 850_000.0, 425_000.0, 2.0, 300_000.0, 550_000.0),
    ],
)
def test_each_metric_has_its_statistics(
    name: str, total: float, average: float, count: float, least: float, most: float
) -> None:
    """
    Twelve requests to four copies; three answers in 6 s; five and two refused; two
    first tokens.
    """
    store = MetricStore()
    workload = of_rate(1, needs=ResourceRequirements(accelerators=1))
    publisher = Publisher(workload, "endpoint", store)
    publisher.invoked(0, 12.0, 4)
    publisher.concurrent(0, 10.0, 4, 1.0, 4.0)
    publisher.answered(0, 6.0, 3.0, 1.0, 4.0)
    publisher.failed(0, 5.0, 2.0)
    publisher.begun(0, [0.25, 0.5])

    metric = Metric.of_component(name, "chat")
    found = [
        store.read(MetricQuery(metric, statistic, 10), 10)
        for statistic in ("Sum", "Average", "SampleCount", "Minimum", "Maximum")
    ]
    assert found == [total, average, count, least, most]


@pytest.mark.parametrize(
    ("statistics", "expected"),
    [((), False), (("Average",), False), (("Average", "p99"), True)],
)
def test_values_are_kept_where_anybody_reads_a_percentile(
    statistics: tuple[str, ...], *, expected: bool
) -> None:
    """
    Beside others, who read sums.
    """
    metric = Metric.of_component("ModelLatency", "chat")
    queries = [MetricQuery(metric, statistic, 60) for statistic in statistics]
    workload = of_rate(1, needs=ResourceRequirements(accelerators=1))

    publisher = Publisher(workload, "endpoint", MetricStore(), queries)
    assert publisher.wants_spread is expected


def test_requests_under_way_on_instances_are_those_of_each_model() -> None:
    """
    A variant has another name for them than a component.
    """
    store = MetricStore()
    Publisher(of_rate(1), "endpoint", store).concurrent(0, 10.0, 4, 1.0, 4.0)

    metric = Metric.of_variant("ConcurrentRequestsPerModel", "endpoint", "chat")
    assert store.read(MetricQuery(metric, "Maximum", 10), 10) == 4.0
