"""
Requests over several copies, by numbers worked out by hand.

A token takes 1 s, whatever the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cdk_sagemaker_llm.simulation import (
    Constant,
    Lengths,
    ServiceTimes,
    Users,
    Workload,
)
from cdk_sagemaker_llm.simulation.routing import Router, UsersRouter
from cdk_sagemaker_llm.simulation.scenario import Routing

SLOW = ServiceTimes(decode=((1, 1.0),), max_sequences=2, kv_tokens=100)
ANY = Constant(rate=1, lengths=Lengths(prompt=1, answer=1))


def router(
    *answers: tuple[float, int],
    copies: Sequence[object] = ("a", "b"),
    routing: Routing = "LEAST_OUTSTANDING_REQUESTS",
    **given: Any,  # noqa: ANN401 - fields of any kind
) -> Router:
    """
    Make a router of requests without prompts that come at some moments.
    """
    workload = Workload(**{"name": "m", "traffic": ANY, "service": SLOW, **given})
    arrivals = ((at, 0, tokens) for at, tokens in answers)
    made = Router(workload, routing, arrivals, seed=1)
    for copy in copies:
        made.add(copy)
    return made


def test_a_request_goes_to_the_copy_with_the_fewest() -> None:
    """
    Of two idle ones to the first.
    """
    made = router((0, 9), (0, 9), (0, 9), (1, 9), (2, 9))

    made.run_until(1)
    assert made.loads == [2, 1]
    made.run_until(2)
    assert made.loads == [2, 2]
    made.run_until(3)
    assert (made.loads, made.waiting, made.under_way) == ([3, 2], 1, 5)


def test_any_copy_may_get_it_at_random() -> None:
    """
    A hundred of a thousand each, within chance.
    """
    arrivals = [(0.0, 50)] * 1000
    made = router(*arrivals, copies=range(10), routing="RANDOM")

    made.run_until(1)
    assert sum(made.loads) == 1000
    assert all(60 < load < 140 for load in made.loads)


def test_what_happened_is_handed_over_once() -> None:
    """
    Two arrive and one is done; later the other one.
    """
    made = router((0, 3), (1, 5), copies="a")
    made.run_until(4)
    first = made.take(4)
    made.run_until(10)
    second = made.take(10)

    assert (first.arrived, first.latencies) == (2, [3.0])
    assert (second.arrived, second.latencies) == (0, [5.0])


def test_nobody_is_served_without_copies() -> None:
    """
    As a component at zero.
    """
    made = router((0, 3), (1, 5), copies=())
    made.run_until(10)

    assert made.take(10).refused == {"no capacity": 2}


@pytest.mark.parametrize(("tokens", "refused"), [(100, {}), (101, {"too long": 1})])
def test_what_no_cache_can_hold_is_refused(
    tokens: int, refused: dict[str, int]
) -> None:
    """
    Instead of waiting for ever.
    """
    made = router((0, tokens), timeout=1000)
    made.run_until(200)

    assert made.take(200).refused == refused


@pytest.mark.parametrize(
    ("limit", "refused"), [(None, {}), (1, {"queue full": 1}), (0, {"queue full": 2})]
)
def test_a_line_may_be_bounded(limit: int | None, refused: dict[str, int]) -> None:
    """
    Two have places, two more would wait.
    """
    made = router(*[(0.0, 9)] * 4, copies="a", queue_limit=limit)
    made.run_until(1)

    assert made.take(1).refused == refused
    assert made.under_way == 4 - sum(refused.values())


def test_who_waits_too_long_is_timed_out_and_so_is_a_late_answer() -> None:
    """
    Two of 12 s with a time-out of 10 s are late; the third waits until it has passed.
    """
    made = router((0, 12), (0, 12), (1, 1), copies="a", timeout=10)
    made.run_until(11.5)
    assert made.take(11.5).timed_out == 1
    made.run_until(20)

    assert made.take(20).timed_out == 2
    assert made.under_way == 0


def test_a_copy_that_leaves_finishes_what_it_has() -> None:
    """
    New requests go to the other one, though it has more.
    """
    made = router((0, 9), (0, 9), (1, 9))
    made.run_until(1)
    made.leave("a")
    made.run_until(2)
    assert (made.serving, made.loads, made.under_way) == (1, [2], 3)
    made.run_until(9)
    made.remove("a", 9)

    assert made.take(9).latencies == [9.0, 9.0]
    assert made.under_way == 1


@pytest.mark.parametrize("again", ["a", "nobody"])
def test_a_copy_leaves_once_and_nobody_else_with_it(again: str) -> None:
    """
    Who is told twice is no further away, and who is not known sends nobody away.
    """
    made = router((0, 9), (0, 9), (1, 9))
    made.run_until(1)
    made.leave("a")
    made.leave(again)
    made.run_until(2)

    assert (made.serving, made.loads, made.under_way) == (1, [2], 3)


def test_a_copy_that_is_gone_takes_its_requests_along() -> None:
    """
    The other copy's go on.
    """
    made = router((0, 9), (0, 9), (0, 9))
    made.run_until(1)
    made.remove("a", 1)
    made.run_until(20)

    found = made.take(20)
    assert (found.refused, found.latencies) == ({"copy gone": 2}, [9.0])


def circle(users: Users, copies: int = 1, **given: Any) -> UsersRouter:  # noqa: ANN401 - fields of any kind
    """
    Make a router of users.
    """
    workload = Workload(**{"name": "m", "traffic": users, "service": SLOW, **given})
    generator = np.random.default_rng(1)
    made = UsersRouter(workload, "LEAST_OUTSTANDING_REQUESTS", users, generator, seed=1)
    for copy in range(copies):
        made.add(copy)
    return made


def test_one_user_goes_round() -> None:
    """
    Two tokens, half a second of overhead, five of thought: 7.5 s, and 480 an hour.
    """
    users = Users(
        count=1,
        think=5,
        thinking="even",
        joining=0,
        lengths=Lengths(prompt=1, answer=2),
    )
    service = ServiceTimes(decode=((1, 1.0),), max_sequences=2, overhead_seconds=0.5)
    made = circle(users, service=service)
    made.run_until(3600)

    found = made.take(3600)
    assert found.arrived == 480
    assert found.latencies == [pytest.approx(2)] * 480


def test_users_and_answers_obey_littles_law() -> None:
    """
    30 users, 20 s of thought, four copies of two places: the rate is 30 / (20 + R).
    """
    users = Users(count=30, think=20, lengths=Lengths(prompt=1, answer=5))
    made = circle(users, copies=4, timeout=1e6)
    made.run_until(1000)
    made.take(1000)
    made.run_until(50_000)
    found = made.take(50_000)

    rate = len(found.latencies) / 49_000
    answer = sum(found.latencies) / len(found.latencies)
    assert answer > 5
    assert rate == pytest.approx(30 / (20 + answer), rel=0.01)


def test_users_slow_down_with_the_service() -> None:
    """
    One copy finishes two in 5 s however many users there are.
    """
    users = Users(count=100, think=1, lengths=Lengths(prompt=1, answer=5))
    made = circle(users, timeout=1e6)
    made.run_until(1000)

    found = made.take(1000)
    assert len(found.latencies) == pytest.approx(400, abs=2)
    assert made.under_way > 95


def test_users_who_are_refused_ask_again() -> None:
    """
    Without thinking once a second, never at the same moment.
    """
    users = Users(count=1, think=0, joining=0, lengths=Lengths(prompt=1, answer=5))
    made = circle(users, copies=0)
    made.run_until(10.5)

    assert made.take(10.5).refused == {"no capacity": 11}


def test_users_who_give_up_ask_again() -> None:
    """
    The second one asks at 0, 11 and 30 s, and each time waits for 10 s: the first one's
    answer takes 50. That somebody has given up is seen every ten seconds.
    """
    users = Users(
        count=2,
        think=1,
        thinking="even",
        joining=0,
        lengths=Lengths(prompt=1, answer=50),
    )
    single = ServiceTimes(decode=((1, 1.0),), max_sequences=1)
    made = circle(users, service=single, timeout=10)
    late = []
    for tick in (10, 20, 30, 40):
        made.run_until(tick)
        late.append(made.take(tick).timed_out)

    assert late == [1, 0, 1, 1]
