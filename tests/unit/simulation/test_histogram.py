"""
Percentiles of a whole run, without its latencies.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from cdk_sagemaker_llm.simulation.histogram import Histogram


def of(*latencies: float, overhead: float = 0.0) -> Histogram:
    """
    Take some in.
    """
    found = Histogram()
    found.add(latencies, overhead)
    return found


def test_percentiles_are_within_half_a_per_cent() -> None:
    """
    Of the latency that has that rank, and never below it.
    """
    latencies = np.random.default_rng(1).lognormal(1.0, 1.0, 5000).tolist()
    found = of(*latencies)

    for share in (0.01, 0.5, 0.95, 0.99, 1.0):
        exact = sorted(latencies)[math.ceil(share * 5000) - 1]
        assert exact <= (found.at(share) or 0) <= exact * 1.005


def test_what_is_the_same_for_all_stays_so() -> None:
    """
    No rounding makes four and a half seconds more of them.
    """
    found = of(4.5, 4.5, 4.5)

    assert [found.at(share) for share in (0.5, 0.99)] == [4.5, 4.5]


def test_overhead_comes_on_top() -> None:
    """
    Of each.
    """
    assert of(1.0, 2.0, overhead=0.5).at(1.0) == 2.5


def test_two_are_merged() -> None:
    """
    As if they had been one.
    """
    one, whole = of(1.0, 3.0, 3.001), of(1.0, 3.0, 3.001, 2.0, 3.002)
    one.merge(of(2.0, 3.002))

    assert one.count == whole.count == 5
    for share in (0.2, 0.4, 0.6, 1.0):
        assert one.at(share) == whole.at(share)


@pytest.mark.parametrize(("latencies", "found"), [((), None), ((0.0,), 0.0)])
def test_nothing_and_no_time_at_all_have_their_place(
    latencies: tuple[float, ...], found: float | None
) -> None:
    """
    Without a latency there is no percentile.
    """
    assert of(*latencies).at(0.5) == found
