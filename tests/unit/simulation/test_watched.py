"""
Metrics that a run is asked for, period by period.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery
from cdk_sagemaker_llm.simulation.running import run
from cdk_sagemaker_llm.simulation.scenario import Method, Scenario
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths
from cdk_sagemaker_llm.simulation.traffic.rates import Constant
from tests.unit.simulation.scenarios import of_rate

DAY = 24 * 60 * 60


def of(name: str, statistic: str, period: int = 60) -> MetricQuery:
    """
    Return a query of the variant's.
    """
    return MetricQuery(Metric.of_variant(name, "endpoint", "chat"), statistic, period)


@pytest.mark.parametrize("method", ["requests", "aggregate"])
def test_what_is_watched_is_in_the_outcome(method: Method) -> None:
    """
    A value for each period, also of what no policy reads.
    """
    each_minute, each_five = of("Invocations", "Sum"), of("Invocations", "Sum", 300)
    overhead, nothing = of("OverheadLatency", "Average"), of("Nothing", "Sum")
    queries = (each_minute, each_five, overhead, nothing)
    scenario = Scenario(workloads=(of_rate(1),), duration=600, watched=queries)
    outcome = run(scenario, method)
    minutes = [value or 0 for value in outcome.watched[each_minute]]
    served = outcome.workloads["chat"].arrived

    assert list(outcome.watched) == list(queries)
    assert minutes == pytest.approx(served)
    assert outcome.watched[each_five] == pytest.approx(
        [sum(minutes[:5]), sum(minutes[5:])]
    )
    assert [value for value in outcome.watched[overhead] if value is not None]
    assert outcome.watched[nothing] == [None] * 10


def test_watching_changes_nothing() -> None:
    """
    The same requests come, and are answered as fast.
    """
    scenario = Scenario(workloads=(of_rate(1),), duration=600)
    watched = Scenario(
        workloads=scenario.workloads,
        duration=600,
        watched=(of("ModelLatency", "p99"), of("FirstChunkLatency", "p99")),
    )

    plain, seen = run(scenario), run(watched)
    assert plain.workloads["chat"].arrived == seen.workloads["chat"].arrived
    assert plain.workloads["chat"].latency_p99 == seen.workloads["chat"].latency_p99
    assert plain.watched == {}


def test_a_day_is_watched_and_no_more() -> None:
    """
    Metrics are kept for a day.
    """
    query = of("Invocations", "Sum")
    Scenario(workloads=(of_rate(1),), duration=DAY, watched=(query,))
    Scenario(workloads=(of_rate(1),), duration=DAY + 1)

    with pytest.raises(ValueError, match="duration must be at most 86400 s where"):
        Scenario(workloads=(of_rate(1),), duration=DAY + 1, watched=(query,))


@pytest.mark.parametrize(
    ("method", "first", "whole", "most"),
    [
        # Of its own prompt 0.1 s and a token; two prompts of others hold up the rest.
        ("requests", 0.11, 1.3, 3.0),
        # With 0.0125 s of those before it, and what they stretch.
        ("aggregate", 0.125, 1.3625, 2.725),
    ],
)
def test_each_metric_of_a_steady_rate_comes_to_its_hand_count(
    method: Method, first: float, whole: float, most: float
) -> None:
    """
    In microseconds, with what the request takes besides and without.
    """
    service = ServiceTimes(
        decode=((1, 0.01),),
        max_sequences=1000,
        prompt_seconds_per_token=0.001,
        overhead_seconds=0.25,
    )
    lengths = Lengths(prompt=100, answer=100)
    traffic = Constant(rate=2, lengths=lengths, spacing="even")
    expected = {
        of("FirstChunkLatency", "Average"): (first + 0.25) * 1e6,
        of("FirstChunkModelLatency", "Average"): first * 1e6,
        of("FirstChunkOverheadLatency", "Average"): 0.25e6,
        of("ModelLatency", "Average"): whole * 1e6,
        of("ModelLatency", "Maximum"): whole * 1e6,
        of("ModelLatency", "SampleCount"): 120.0,
        of("OverheadLatency", "Average"): 0.25e6,
        of("Invocations", "Sum"): 120.0,
        of("InvocationsPerInstance", "Sum"): 120.0,
        of("ConcurrentRequestsPerModel", "Maximum"): most,
        of("Invocation4XXErrors", "Sum"): 0.0,
        of("Invocation5XXErrors", "Sum"): 0.0,
    }
    scenario = Scenario(
        workloads=(of_rate(0, traffic=traffic, service=service),),
        duration=660,
        watched=tuple(expected),
    )
    outcome = run(scenario, method)

    found = {query: values[-1] for query, values in outcome.watched.items()}
    assert found == {query: pytest.approx(value) for query, value in expected.items()}
    latency = outcome.workloads["chat"].latency_mean[-1]
    assert latency == pytest.approx(whole + 0.25)
