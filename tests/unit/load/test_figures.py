"""
Figures of a run: exact percentiles, and what counts.
"""

from __future__ import annotations

import json
import random

import pytest

from cdk_sagemaker_llm.load.figures import Distribution, figures_of, seconds_of
from cdk_sagemaker_llm.load.measured import UNFINISHED, GeneratorDelay, Measured, Record
from cdk_sagemaker_llm.simulation.histogram import Histogram
from tests.unit.load.examples import histogram, run_of


@pytest.mark.parametrize(
    ("count", "p50", "p90", "p95", "p99"),
    [
        (1, 1, 1, 1, 1),
        (2, 1, 2, 2, 2),
        (10, 5, 9, 10, 10),
        (11, 6, 10, 11, 11),
        (100, 50, 90, 95, 99),
        (101, 51, 91, 96, 100),
    ],
)
def test_percentiles_are_samples(
    count: int, p50: float, p90: float, p95: float, p99: float
) -> None:
    """
    The smallest sample that so large a share of all does not exceed.
    """
    samples = [float(number) for number in range(1, count + 1)]
    random.Random(0).shuffle(samples)  # noqa: S311 - no secret

    assert Distribution.of(samples) == Distribution(
        count=count, p50=p50, p90=p90, p95=p95, p99=p99, longest=count
    )


def test_nothing_has_no_percentiles() -> None:
    """
    Neither of samples nor of a histogram.
    """
    assert Distribution.of([]) is None
    assert Distribution.of_histogram(Histogram()) is None


def test_a_histogram_joins_what_processes_measured() -> None:
    """
    It is not the mean of their percentiles; it holds within half a per cent.
    """
    fast = [0.001 * number for number in range(1, 1000)]
    slow = [10.0]
    first, second = Measured(gaps=histogram(*fast)), Measured(gaps=histogram(*slow))
    first.merge(second)

    found = Distribution.of_histogram(first.gaps)
    exact = Distribution.of(fast + slow)
    assert found is not None
    assert exact is not None
    assert found.count == 1000
    assert found.p99 == pytest.approx(exact.p99, rel=0.005)
    assert found.longest == 10.0


def test_what_was_measured_travels_whole() -> None:
    """
    As JSON, from one process to another.
    """
    measured = run_of().measured
    measured.lost = {2: 4.5}
    packed = json.loads(json.dumps(measured.packed()))

    assert Measured.unpacked(packed) == measured


def test_parts_are_joined() -> None:
    """
    Requests, delays by process, the busiest core, the first message of a kind.
    """
    whole = Measured(
        records=[Record(1.0, 1.0)],
        delays={1: histogram(0.5)},
        cpus={1: 0.2},
        messages={"A": "first"},
        lost={1: 5.0},
    )
    whole.merge(
        Measured(
            records=[Record(2.0, 1.0)],
            delays={1: histogram(0.25), 2: histogram(0.75)},
            cpus={1: 0.4, 2: 0.3},
            messages={"A": "second", "B": "other"},
            lost={2: 7.5},
        )
    )

    assert whole.records == [Record(1.0, 1.0), Record(2.0, 1.0)]
    assert whole.delay == GeneratorDelay(p50=0.75, p99=0.75, longest=0.75, cpu=0.4)
    assert whole.delays[1].count == 2
    assert whole.messages == {"A": "first", "B": "other"}
    assert whole.lost == {1: 5.0, 2: 7.5}


def test_the_clock_of_another_machine_is_set_right() -> None:
    """
    What began there at 1 began here at 3.5.
    """
    measured = Measured(records=[Record(1.0, 0.5)], cpus={1: 0.2})

    assert measured.shifted(2.5) == Measured(records=[Record(3.5, 0.5)], cpus={1: 0.2})


def test_what_counts() -> None:
    """
    Latency of what began in time, throughput of what ended in time.
    """
    figures = run_of().figures

    assert figures.requests == 9
    assert figures.unfinished == 1
    assert figures.failures == {"ModelError 503": 1}
    assert figures.success_rate == pytest.approx(8 / 10)
    # The one before, and six; the last two end at the very end or after it.
    assert figures.requests_per_second == pytest.approx(0.7)
    assert figures.tokens_per_second == pytest.approx(6.7)
    assert figures.tokens == pytest.approx(90 / 8)
    assert figures.prompt_tokens == 5
    assert figures.latency == Distribution(
        count=8, p50=2.0, p90=4.0, p95=4.0, p99=4.0, longest=4.0
    )
    assert figures.first_token == Distribution(
        count=8, p50=0.5, p90=1.0, p95=1.0, p99=1.0, longest=1.0
    )
    assert figures.between_tokens == Distribution(
        count=3, p50=0.1, p90=0.2, p95=0.2, p99=0.2, longest=0.2
    )


def test_the_course_of_a_run() -> None:
    """
    Second by second: what ended, and what was under way when it began.
    """
    course = run_of().seconds

    assert [one.requests for one in course] == [1, 0, 1, 1, 1, 1, 1, 1, 0, 0]
    assert [one.failures for one in course] == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]
    assert [one.tokens for one in course] == [7, 0, 10, 10, 10, 10, 10, 10, 0, 0]
    assert [one.latency for one in course][:3] == [1.0, None, 2.0]
    assert [one.in_flight for one in course] == [2, 2, 2, 2, 2, 2, 2, 2, 1, 2]


def test_what_ended_outside_of_a_run_is_in_none_of_its_seconds() -> None:
    """
    Nor is what nobody waited for a failure.
    """
    records = [
        Record(-1.0, 0.5, tokens=7),
        Record(-1.0, 0.9, failure="ModelError 503"),
        Record(0.0, 0.5, failure=UNFINISHED),
        Record(1.0, 1.5, tokens=9),
    ]
    course = list(seconds_of(records, 0.0, 2.0))

    assert [one.second for one in course] == [0, 1]
    assert [(one.requests, one.failures, one.tokens) for one in course] == [
        (0, 0, 0),
        (0, 0, 0),
    ]


def test_a_prompt_of_no_tokens_is_counted() -> None:
    """
    Nothing is a number; what was not counted is none.
    """
    records = [
        Record(0.0, 1.0, prompt_tokens=0),
        Record(0.0, 1.0, prompt_tokens=10),
        Record(0.0, 1.0),
    ]

    assert figures_of(Measured(records=records), 0.0, 2.0).prompt_tokens == 5


@pytest.mark.parametrize(
    ("p50", "p99", "shown"),
    [
        (0.05, 0.2, ()),
        (0.051, 0.2, ("p50",)),
        (0.05, 0.201, ("p99",)),
        (0.051, 0.201, ("p50", "p99")),
    ],
)
def test_a_delay_is_held_against_the_same_percentile(
    *, p50: float, p99: float, shown: tuple[str, ...]
) -> None:
    """
    More than a tenth of the median, or of what one in a hundred exceeds.
    """
    delay = GeneratorDelay(p50=p50, p99=p99, longest=1.0, cpu=1.0)

    assert delay.shown_in(0.5, 2.0) == shown


@pytest.mark.parametrize(("late", "shown"), [(0.010, ()), (0.011, ("p99",))])
def test_ten_milliseconds_show_nowhere(*, late: float, shown: tuple[str, ...]) -> None:
    """
    However fast the endpoint is.
    """
    delay = GeneratorDelay(p50=0.0, p99=late, longest=late, cpu=0.0)

    assert delay.shown_in(0.001, 0.002) == shown


@pytest.mark.parametrize(("cpu", "is_exhausted"), [(0.9, False), (0.91, True)])
def test_a_core_that_is_nearly_full(*, cpu: float, is_exhausted: bool) -> None:
    """
    Nine tenths of it are not.
    """
    delay = GeneratorDelay(p50=0.0, p99=0.0, longest=0.0, cpu=cpu)

    assert delay.is_exhausted is is_exhausted
