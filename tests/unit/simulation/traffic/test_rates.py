"""
Rates over time, by numbers worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.simulation import Constant, DayCurve, Lengths, Ramp, Spike

L = Lengths(prompt=100, answer=20)


def expected(traffic: Any, *edges: float) -> list[float]:  # noqa: ANN401 - any traffic
    """
    Return how many requests come between each two moments.
    """
    found: list[float] = traffic.expected(
        np.array(edges, dtype=float)
    ).requests.tolist()
    return found


@pytest.mark.parametrize(
    ("traffic", "edges", "requests"),
    [
        (Constant(rate=2, lengths=L), (0, 10, 15), [20, 10]),
        (Constant(rate=2, lengths=L, begin=5, end=12), (0, 10, 20), [10, 4]),
        (Ramp(start=1, stop=3, over=10, lengths=L), (0, 5, 10, 20), [7.5, 12.5, 30]),
        (Ramp(start=1, stop=3, over=10, begin=10, lengths=L), (0, 10, 20), [10, 20]),
        (Ramp(start=1, stop=3, over=0, begin=5, lengths=L), (0, 10), [20]),
        (Spike(base=1, peak=5, at=10, lasting=4, lengths=L), (0, 10, 20), [10, 26]),
        (Constant(rate=2, lengths=L).scaled(3).scaled(2), (0, 10), [120]),
        (
            Constant(rate=2, lengths=L)
            + Spike(base=0, peak=5, at=0, lasting=4, lengths=L),
            (0, 10),
            [40],
        ),
        (
            (Constant(rate=2, lengths=L) + Constant(rate=1, lengths=L)).scaled(2),
            (0, 10),
            [60],
        ),
        (
            DayCurve(rates=(0.0, 1.0, *[0.0] * 22), lengths=L),
            (0, 3600, 7200, 86400, 86400 + 3600),
            [1800, 1800, 0, 1800],
        ),
    ],
)
def test_rates_add_up(traffic: Any, edges: Any, requests: list[float]) -> None:  # noqa: ANN401 - any traffic
    """
    Over any times.
    """
    assert expected(traffic, *edges) == pytest.approx(requests)


def test_tokens_add_up_as_well() -> None:
    """
    100 and 20 for each request.
    """
    found = Constant(rate=2, lengths=L).expected(np.array([0.0, 10.0]))

    assert (found.prompts.tolist(), found.answers.tolist()) == ([2000.0], [400.0])


def test_even_requests_come_at_equal_steps() -> None:
    """
    Two a second from the tenth second on.
    """
    traffic = Constant(rate=2, lengths=L, begin=10, end=12, spacing="even")

    found = list(traffic.arrivals(np.random.default_rng(0), 100))
    assert [at for at, *_ in found] == pytest.approx([10.25, 10.75, 11.25, 11.75])
    assert {(prompt, answer) for _, prompt, answer in found} == {(100, 20)}


TRAFFICS = st.one_of(
    st.builds(Constant, rate=st.floats(0, 50), lengths=st.just(L)),
    st.builds(
        Ramp,
        start=st.floats(0, 50),
        stop=st.floats(0, 50),
        over=st.floats(0, 1000),
        begin=st.floats(0, 1000),
        lengths=st.just(L),
    ),
    st.builds(
        Spike,
        base=st.floats(0, 9),
        peak=st.floats(0, 50),
        at=st.floats(0, 500),
        lasting=st.floats(0, 500),
        lengths=st.just(L),
    ),
)


@given(traffic=TRAFFICS, duration=st.floats(1, 2000), is_even=st.booleans())
def test_what_is_drawn_is_in_order_and_as_much_as_expected(
    traffic: Any,  # noqa: ANN401 - any traffic
    duration: float,
    *,
    is_even: bool,
) -> None:
    """
    Evenly to the last request; at random within six standard deviations.
    """
    drawn = replace(traffic, spacing="even" if is_even else "random")
    times = [at for at, *_ in drawn.arrivals(np.random.default_rng(7), duration)]
    count = expected(traffic, 0, duration)[0]

    assert times == sorted(times)
    assert all(0 <= at <= duration for at in times)
    slack = 1.0 if is_even else 6 * count**0.5 + 6
    assert abs(len(times) - count) <= slack


def test_random_requests_come_as_those_of_many_people() -> None:
    """
    Counts of seconds vary as much as their mean (Poisson).
    """
    arrivals = Constant(rate=10, lengths=L).arrivals(np.random.default_rng(3), 10_000)
    counts = np.bincount([int(at) for at, *_ in arrivals], minlength=10_000)

    assert counts.mean() == pytest.approx(10, rel=0.02)
    assert counts.var() == pytest.approx(10, rel=0.05)


def test_a_sum_gives_each_part_in_order() -> None:
    """
    Both parts' requests, by time.
    """
    long = Lengths(prompt=900, answer=20)
    both = Constant(rate=1, lengths=L, spacing="even") + Constant(
        rate=1, lengths=long, spacing="even", begin=0.25
    )

    found = list(both.arrivals(np.random.default_rng(0), 2))
    assert [at for at, *_ in found] == pytest.approx([0.5, 0.75, 1.5, 1.75])
    assert [prompt for _, prompt, _ in found] == [100, 900, 100, 900]


@pytest.mark.parametrize(
    ("start", "zone", "rate"),
    [
        (datetime(2026, 1, 5, 14, tzinfo=UTC), "UTC", 20),
        (datetime(2026, 1, 5, 2, tzinfo=UTC), "UTC", 1),
        (datetime(2026, 1, 5, 13, tzinfo=UTC), "Europe/Berlin", 20),
        (datetime(2026, 7, 6, 12, tzinfo=UTC), "Europe/Berlin", 20),
        (datetime(2026, 1, 5, 9, tzinfo=timezone(timedelta(hours=-5))), "UTC", 20),
    ],
)
def test_a_day_follows_the_start_and_its_time_zone(
    start: datetime, zone: str, rate: float
) -> None:
    """
    The busiest hour is 14:00 there, the quietest 2:00.
    """
    curve = DayCurve.between(1, 20, lengths=L, time_zone=zone).starting(start)

    assert expected(curve, 0, 1)[0] == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize(
    ("start", "days"),
    [
        # From Monday on, with a quarter of a day's requests at the weekend.
        (datetime(2026, 1, 5, tzinfo=UTC), [4, 4, 4, 4, 4, 1, 1, 4]),
        (datetime(2026, 1, 11, tzinfo=UTC), [1, 4, 4, 4, 4, 4, 1, 1]),
        # Half of Friday, and half of Saturday.
        (datetime(2026, 1, 9, 12, tzinfo=UTC), [2.5, 1, 2.5, 4, 4, 4, 4, 2.5]),
    ],
    ids=["monday", "sunday", "friday noon"],
)
def test_weekends_have_a_part_of_the_requests(
    start: datetime, days: list[float]
) -> None:
    """
    Saturdays and Sundays of the calendar, whenever the run starts; three times the
    traffic is three times on all days.
    """
    rates = (4 / 86400,) * 24
    curve = DayCurve(rates=rates, lengths=L, weekend=0.25).starting(start)
    edges = [86400.0 * day for day in range(9)]

    assert expected(curve, *edges) == pytest.approx(days)
    assert expected(curve.scaled(3), *edges) == pytest.approx(
        [3 * each for each in days]
    )


def test_a_weekend_is_that_of_the_time_zone() -> None:
    """
    At six in the evening of a Friday in Berlin it is Saturday in Auckland.
    """
    start = datetime(2026, 1, 9, 17, tzinfo=UTC)
    here, there = (
        DayCurve(rates=(1.0,) * 24, lengths=L, weekend=0.0, time_zone=zone).starting(
            start
        )
        for zone in ("Europe/Berlin", "Pacific/Auckland")
    )

    assert expected(here, 0, 3600) == pytest.approx([3600])
    assert expected(there, 0, 3600) == pytest.approx([0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: DayCurve(rates=(1.0,) * 24, lengths=L, weekend=-0.5),
            "weekend must be at least 0, got -0.5",
        ),
        (lambda: Constant(rate=-1, lengths=L), "rate must be at least 0, got -1"),
        (
            lambda: Constant(rate=1, lengths=L).scaled(-1),
            "factor must be at least 0, got -1.0",
        ),
        (
            lambda: Ramp(start=1, stop=-2, over=-3, lengths=L),
            "stop must be at least 0, got -2; over must be at least 0, got -3",
        ),
        (
            lambda: DayCurve(rates=(1.0,), lengths=L),
            "rates must be 24 numbers, got 1",
        ),
        (
            lambda: DayCurve(rates=(1.0,) * 24, lengths=L, time_zone="Berlin"),
            (
                "time_zone must be the name of a time zone such as 'Europe/Berlin', "
                "got 'Berlin'"
            ),
        ),
        (
            lambda: Constant(rate=1, lengths=L, spacing="odd"),  # type: ignore[arg-type] # the mistake
            "spacing must be 'random' or 'even', got 'odd' (str)",
        ),
    ],
)
def test_fails_if_it_is_no_rate(make: Any, message: str) -> None:  # noqa: ANN401 - builds anything
    """
    The field, the rule and the value.
    """
    with pytest.raises(ValueError, match="must") as caught:
        make()

    assert str(caught.value) == message


def test_a_traffic_is_added_to_another_alone() -> None:
    """
    Anything else is no traffic.
    """
    one = Constant(rate=1, lengths=Lengths(prompt=1, answer=1))

    assert one.__add__(1) is NotImplemented  # type: ignore[operator] # on purpose
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = one + 1  # type: ignore[operator] # on purpose
