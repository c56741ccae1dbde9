"""
How many users an endpoint bears: within an objective, and before it is saturated.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk_sagemaker_llm.load.objective import Objective
from cdk_sagemaker_llm.load.reading import knee_of
from cdk_sagemaker_llm.load.scaling_target import saturation_of
from cdk_sagemaker_llm.load.settings import SettingsError
from tests.unit.load.sweeps import published, row, sweep

TABLE = """\
1000 prompt words, at most 50 generated, 90 s per row. Tokens counted: 1000 a prompt, \
50 an answer.

| concurrent users | requests | requests/s | median latency s | success |
| --- | --- | --- | --- | --- |
| 100 | 2322 | 24.74 | 3.76 | 100% |
| 150 | 2543 | 26.32 | 5.58 | 100% |
| 200 | 2648 | 26.72 | 7.81 | 100% |
| 250 | 2769 | 25.83 | 8.89 | 97% |
| 300 | 2776 | 25.66 | 9.78 | 100% |
| 350 | 2827 | 26.71 | 12.57 | 100% |
| 400 | 2880 | 24.16 | 12.53 | 100% |
| 450 | 2934 | 26.14 | 15.69 | 100% |
| 500 | 2976 | 26.17 | 16.90 | 100% |
"""


def test_the_published_table_is_written_as_it_is_published() -> None:
    """
    To the letter.
    """
    assert published().to_markdown() == TABLE


@pytest.mark.parametrize(
    ("objective", "users", "above"),
    [
        (3.75, None, 100),
        (3.76, 100, 150),
        (5.58, 150, 200),
        (8.0, 200, 250),
        (10.0, 300, 350),
        # 400 users are faster than 350, which is chance.
        (12.55, 300, 350),
        (16.89, 450, 500),
        (16.90, 500, None),
    ],
)
def test_the_knee_of_the_published_table(
    objective: float, users: int | None, above: int | None
) -> None:
    """
    The most users before the first number of them that is too slow, by medians.
    """
    knee = knee_of(published().rows, Objective(latency=objective, percentile="p50"))

    assert knee.users == users
    assert (knee.above and knee.above.users) == above
    assert knee.again == ((400,) if objective == 12.55 else ())


@pytest.mark.parametrize(
    ("percentile", "seconds"),
    [("p50", 1.0), ("p90", 1.9), ("p95", 2.0), ("p99", 2.1), ("longest", 2.2)],
)
def test_each_percentile_has_its_bound(percentile: str, seconds: float) -> None:
    """
    On both sides of it, whatever the order of the rows.
    """
    rows = [row(20, p50=9.0), row(10, p50=1.0)]
    within = Objective(latency=seconds + 1e-9, percentile=percentile)
    above = Objective(latency=seconds - 1e-6, percentile=percentile)

    assert knee_of(rows, within).users == 10
    assert knee_of(rows, above).users is None


@pytest.mark.parametrize(
    ("failed", "unfinished", "told"),
    [
        (0, 0, "latency p95 2.00 s"),
        (
            4,
            0,
            "latency p99 2.10 s, as 4 of 100 requests were not answered",
        ),
        (
            5,
            0,
            "latency longest 2.20 s, as 5 of 100 requests were not answered",
        ),
        (6, 0, "6 of 100 requests were not answered"),
        (100, 0, "100 of 100 requests were not answered"),
        (0, 5, "latency longest 2.20 s, as 5 of 105 requests were not answered"),
        (0, 6, "6 of 106 requests were not answered"),
    ],
)
def test_what_is_not_answered_is_too_slow(
    failed: int, unfinished: int, told: str
) -> None:
    """
    So that more of the others have to be in time, until even all are too few.
    """
    objective = Objective(latency=3.0)
    one = row(10, failed=failed, unfinished=unfinished)
    knee = knee_of([one], objective)
    judged = knee.within or knee.above

    assert judged is not None
    assert judged.summary == told
    assert judged.is_within is told.startswith("latency")


@pytest.mark.parametrize(
    ("failed", "told"),
    [
        (0, "latency p50 50.00 s"),
        (1, "latency p51 51.00 s, as 1 of 100 requests were not answered"),
        (2, "latency p52 52.00 s, as 2 of 100 requests were not answered"),
        (3, "latency p52 52.00 s, as 3 of 100 requests were not answered"),
        (49, "latency p99 99.00 s, as 49 of 100 requests were not answered"),
        (50, "latency longest 100.00 s, as 50 of 100 requests were not answered"),
        (51, "51 of 100 requests were not answered"),
    ],
)
def test_each_percentile_from_the_median_on_is_kept(failed: int, told: str) -> None:
    """
    Half of all requests are more than half of those that were answered.
    """
    one = row(10, p50=50.0, failed=failed, p95=95.0)
    figures = one.facts["figures"]
    figures["latency"] |= {"p90": 90.0, "p99": 99.0, "longest": 100.0}
    percents = {"latency": [float(percent) for percent in range(50, 101)]}
    kept = replace(one, facts={**one.facts, "percents": percents})
    judged = knee_of([kept], Objective(latency=1.0, percentile="p50")).above

    assert judged is not None
    assert judged.summary == told


def test_a_row_in_which_nothing_ended_is_above() -> None:
    """
    It says so.
    """
    knee = knee_of([row(10, requests=0)], Objective(latency=3.0))

    assert knee.above is not None
    assert knee.above.summary == "no request ended"


@pytest.mark.parametrize(
    ("latency", "first_token", "users"),
    [(9.0, 9.0, 20), (9.0, 1.15, 10), (2.5, 9.0, 10), (9.0, 1.05, None)],
)
def test_both_objectives_have_to_be_met(
    latency: float, first_token: float, users: int | None
) -> None:
    """
    95 of 100: latencies of 2 and 3 seconds, first tokens after 1.1 and 1.2.
    """
    objective = Objective(latency=latency, first_token=first_token)

    assert knee_of([row(10, p50=1.0), row(20, p50=2.0)], objective).users == users


def test_without_streams_there_is_no_first_token() -> None:
    """
    Its objective is refused.
    """
    with pytest.raises(ValueError, match="no time to first token without streams"):
        knee_of([row(10, is_streamed=False)], Objective(first_token=1.0))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [(100, 4.8), (200, 6.1)],
            (
                "Within the objective (latency p95 at most 5 s): at most 100 of the "
                "users tried, latency p95 4.80 s; 200 are above it, latency p95 6.10 s."
            ),
        ),
        (
            [(100, 4.8), (200, 6.1), (300, 4.9), (400, 5.0)],
            (
                "Within the objective (latency p95 at most 5 s): at most 100 of the "
                "users tried, latency p95 4.80 s; 200 are above it, latency p95 6.10 "
                "s. That 300, 400 are within it again is left out."
            ),
        ),
        (
            [(100, 5.1)],
            (
                "None of the numbers of users tried is within the objective (latency "
                "p95 at most 5 s): 100 are above it, latency p95 5.10 s."
            ),
        ),
        (
            [(100, 5.0)],
            (
                "All numbers of users tried are within the objective (latency p95 at "
                "most 5 s): up to 100, latency p95 5.00 s. Where that ends was not "
                "measured; try more users."
            ),
        ),
    ],
)
def test_a_knee_is_said(rows: list[tuple[int, float]], said: str) -> None:
    """
    In a sentence, of what was tried alone.
    """
    made = [row(users, p50=1.0, p95=p95) for users, p95 in rows]

    assert str(knee_of(made, Objective(latency=5.0))) == said


def test_an_objective_of_two_times_is_said() -> None:
    """
    Both of them.
    """
    both = Objective(latency=5.0, first_token=0.5, percentile="p99")

    assert str(both) == (
        "latency p99 at most 5 s and time to first token p99 at most 0.5 s"
    )


@pytest.mark.parametrize(
    ("latency", "first_token", "percentile", "message"),
    [
        (0.0, None, "p95", "latency must be more than 0, got 0.0"),
        (None, 0.0, "p95", "first_token must be more than 0, got 0.0"),
        (float("inf"), None, "p95", "latency must be more than 0, got inf"),
        (1.0, None, "p96", "percentile must be one of p50, p90, p95, p99, longest, g"),
    ],
)
def test_what_is_no_objective_is_refused(
    latency: float | None, first_token: float | None, percentile: str, message: str
) -> None:
    """
    By the name of what is wrong.
    """
    with pytest.raises(SettingsError, match=message):
        Objective(latency=latency, first_token=first_token, percentile=percentile)


def test_the_published_table_is_saturated_at_150() -> None:
    """
    26.32 of 26.72 requests a second, where 24.74 are less than 95 %.
    """
    found = saturation_of(published().rows)

    assert found is not None
    assert found.users == 150
    assert str(found) == (
        "Throughput is saturated from 150 users on: 26.32 requests/s, within 5 % of "
        "the most, 26.72 at 200 users. More users only wait longer."
    )
    assert found.to_facts() == {
        "users": 150,
        "requests_per_second": 26.32,
        "most_requests_per_second": 26.72,
        "most_at_users": 200,
    }


@pytest.mark.parametrize(
    ("rates", "users"),
    [
        ((94.9, 100.0, 100.0), 20),
        ((95.0, 100.0, 100.0), 10),
        # It still grows.
        ((50.0, 94.9, 100.0), None),
        ((50.0, 95.0, 100.0), 20),
        # It falls again.
        ((90.0, 100.0, 50.0), 20),
    ],
)
def test_saturation_is_within_a_twentieth(
    rates: tuple[float, ...], users: int | None
) -> None:
    """
    Of the most, wherever that was.
    """
    rows = [row(10 * at, rate=rate) for at, rate in enumerate(rates, 1)]
    found = saturation_of([*reversed(rows)])

    assert found is not None
    assert found.users == users


def test_saturation_at_either_end_is_said() -> None:
    """
    What the fewest users saturate may be saturated by fewer; what grows, by more.
    """
    falling = saturation_of([row(10, rate=9.0), row(20, rate=8.0)])
    growing = saturation_of([row(10, rate=8.0), row(20, rate=9.0)])

    assert str(falling).startswith("Throughput is saturated already with 10 users, the")
    assert str(growing) == (
        "Throughput still grew at 20, the most users tried (9.00 requests/s): try more "
        "to find where it is saturated."
    )


def test_one_row_tells_nothing_of_saturation() -> None:
    """
    Nor do rows in which nothing was answered.
    """
    one = row(10)

    assert saturation_of([]) is saturation_of([one]) is None
    assert (
        saturation_of([replace(row(n), rate=row(1, rate=0.0).rate) for n in (1, 2)])
        is None
    )
    assert sweep(one).table() == [("10", "100", "1.00", "1.00", "100%")]
