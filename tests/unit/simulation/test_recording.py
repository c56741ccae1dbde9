"""
How minutes add up.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation.outcome import Minute, Minutes, summary


@pytest.mark.parametrize(
    ("latencies", "found"),
    [
        ([], [None, None, None, None]),
        ([2.0], [2.5, 2.5, 2.5, 2.5]),
        ([3.0, 1.0, 2.0], [2.5, 2.5, 3.5, 3.5]),
        ([2.0, 1.0], [2.0, 1.5, 2.5, 2.5]),
        ([float(n) for n in range(100, 0, -1)], [51.0, 50.5, 95.5, 99.5]),
    ],
)
def test_percentiles_are_latencies_that_were(
    latencies: list[float], found: list[float | None]
) -> None:
    """
    The one that the share of all has at most, half a second of overhead on top.
    """
    assert summary(latencies, 0.5) == found


def test_seconds_add_up_to_a_minute_and_minutes_do_not() -> None:
    """
    Every count and every reason; what is not named is none.
    """
    minutes = Minutes()
    for _ in range(2):
        minutes.minute.add(5.0, 3.0, 1.0, {"too long": 2.0})
    minutes.minute.add(1.0, 0.0, 0.0, {"queue full": 4.0})
    latencies = [1.0, 2.0, 3.0, 4.0]
    minutes.close(
        waiting=1.0, under_way=2.0, copies=3.0, desired=4.0, latencies=latencies
    )
    minutes.close(
        waiting=0.0, under_way=0.0, copies=0.0, desired=0.0, latencies=[None] * 4
    )
    series = minutes.series

    assert (series.arrived, series.served) == ([11.0, 0.0], [6.0, 0.0])
    assert series.timed_out == [2.0, 0.0]
    assert series.refused == {
        "no capacity": [0.0, 0.0],
        "queue full": [4.0, 0.0],
        "too long": [4.0, 0.0],
        "copy gone": [0.0, 0.0],
    }
    assert (series.waiting, series.concurrency) == ([1.0, 0.0], [2.0, 0.0])
    assert (series.copies, series.desired) == ([3.0, 0.0], [4.0, 0.0])
    assert [series.latency_mean[0], series.latency_p50[0]] == latencies[:2]
    assert [series.latency_p95[0], series.latency_p99[0]] == latencies[2:]
    assert minutes.minute == Minute()
