"""
Metrics that a run is asked for, period by period.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery
from cdk_sagemaker_llm.simulation.running import run
from cdk_sagemaker_llm.simulation.scenario import Method, Scenario
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
