"""
A sweep over numbers of users: its table, its file, and how sure it is.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk_sagemaker_llm.load.benchmark import Benchmark, compare, row_of
from cdk_sagemaker_llm.load.uncertainty import Estimate, median_of, rate_of, share_of
from tests.unit.load.examples import run_of

TABLE = """\
| concurrent users | requests | requests/s | median latency s | success |
| --- | --- | --- | --- | --- |
| 3 | 9 | 0.70 | 2.00 | 88.89% |
"""
COMPARED = """\
| concurrent users | figure | before | after | change | verdict |
| --- | --- | --- | --- | --- | --- |
| 3 | requests/s | 0.7 (0.354 to 1.05) | 1.4 (1.2 to 1.6) | +100.0% | differs |
| 3 | median latency s | 2 (2 to 4) | 2.5 (2 to 3) | +25.0% | may be chance |
| 3 | median time to first token s | 0.5 (0.5 to 1) | 0.5 (0.5 to 1) | +0.0% | may be \
chance |
| 3 | success | 0.889 (0.565 to 0.98) | 0.889 (0.565 to 0.98) | +0.0% | may be chance |
"""


def benchmark() -> Benchmark:
    """
    Make one of a single row.
    """
    began = "2027-01-17T12:00:00+00:00"
    return Benchmark(endpoint="chat", began=began, rows=(row_of(run_of()),))


def test_the_table() -> None:
    """
    As benchmarks of endpoints are published.
    """
    assert benchmark().to_markdown() == TABLE


@pytest.mark.parametrize(
    ("good", "count", "written"),
    [(3000, 3000, "100%"), (99_999, 100_000, "99.99%"), (97, 100, "97.00%")],
)
def test_a_single_failure_is_seen(good: int, count: int, written: str) -> None:
    """
    No rounding makes it none.
    """
    row = replace(benchmark().rows[0], success=share_of(good, count))

    assert row.cells()[-1] == written


def test_a_benchmark_is_saved_and_read() -> None:
    """
    As it was.
    """
    made = benchmark()
    read = Benchmark.from_json(made.to_json())

    assert read == made
    assert read.remarks()[-1] == "3 users: 1 x ModelError 503: no room <here>"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "cdk-sagemaker-llm/benchmark", "version": 2}']
)
def test_another_file_is_refused(text: str) -> None:
    """
    With how to write one.
    """
    with pytest.raises(ValueError, match="no saved benchmark of this version; write"):
        Benchmark.from_json(text)


def test_two_are_compared() -> None:
    """
    What chance explains is no difference.
    """
    before = benchmark()
    row = replace(
        before.rows[0], rate=Estimate(1.4, 1.2, 1.6), latency=Estimate(2.5, 2.0, 3.0)
    )
    after = replace(before, rows=(row,))

    assert compare(before, after) == COMPARED
    with pytest.raises(ValueError, match="no number of users in common"):
        compare(before, replace(before, rows=(replace(row, users=4),)))


def test_a_median_lies_between_ranks() -> None:
    """
    Of a hundred: ten ranks below and ten above.
    """
    assert median_of([]) is None
    assert median_of([5.0]) == Estimate(5.0, 5.0, 5.0)
    assert median_of([float(n) for n in range(1, 101)]) == Estimate(50.0, 41.0, 61.0)


def test_a_rate_is_as_sure_as_its_parts_are_alike() -> None:
    """
    What is outside of the time does not count.
    """
    steady = [0.5 + number for number in range(10)]

    assert rate_of([-0.1, *steady, 10.0], 0.0, 10.0) == Estimate(1.0, 1.0, 1.0)
    uneven = rate_of(steady[::2] * 2, 0.0, 10.0)
    assert uneven.value == 1.0
    # Parts of 2 and 0: a standard deviation of 1.054 among ten.
    assert uneven.high - 1.0 == pytest.approx(2.262 * 1.0541 / 10**0.5, rel=1e-4)


def test_a_share_has_the_interval_of_wilson() -> None:
    """
    Also where nothing failed.
    """
    assert share_of(0, 0) is None
    half, whole = share_of(50, 100), share_of(100, 100)
    assert half is not None
    assert whole is not None
    assert (half.low, half.high) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert (whole.low, whole.value, whole.high) == pytest.approx(
        (0.9630, 1.0, 1.0), abs=1e-4
    )


@pytest.mark.parametrize(
    ("value", "differs"), [(1.2, False), (1.5, True), (0.8, False), (0.5, True)]
)
def test_a_difference_is_more_than_both_intervals(
    *, value: float, differs: bool
) -> None:
    """
    In either direction.
    """
    one = Estimate(1.0, 0.8, 1.2)
    other = Estimate(value, value - 0.2, value + 0.2)

    assert other.differs_from(one) is differs
    assert one.differs_from(other) is differs
