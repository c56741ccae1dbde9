"""
One queue before all copies, by numbers worked out by hand.

A token takes 1 s, whatever the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cdk_sagemaker_llm.simulation import (
    AlarmRule,
    Bounds,
    Constant,
    FleetTimes,
    Lengths,
    Metric,
    MetricQuery,
    Pool,
    Scenario,
    ServiceTimes,
    StepAdjustment,
    StepScaling,
    TargetTracking,
    Users,
    Workload,
    run,
)
from cdk_sagemaker_llm.simulation.metrics import MetricStore
from cdk_sagemaker_llm.simulation.requests import publish_backlog
from cdk_sagemaker_llm.simulation.routing import QueueRouter

SLOW = ServiceTimes(decode=((1, 1.0),), max_sequences=2, kv_tokens=100)
ANY = Constant(rate=1, lengths=Lengths(prompt=1, answer=1))
USERS = Users(count=1, think=1, lengths=Lengths(prompt=1, answer=1))


def router(
    *answers: tuple[float, int],
    copies: Sequence[object] = ("a",),
    **given: Any,  # noqa: ANN401 - fields of any kind
) -> QueueRouter:
    """
    Make a queue of requests without prompts that come at some moments.
    """
    fields = {"name": "m", "traffic": ANY, "service": SLOW, "at_once": 1, **given}
    arrivals = ((at, 0, tokens) for at, tokens in answers)
    made = QueueRouter(Workload(**fields), "RANDOM", arrivals, seed=1)
    for copy in copies:
        made.add(copy)
    return made


def test_each_copy_has_one_and_the_others_wait() -> None:
    """
    In the order in which they came; what they waited for is in their latency.
    """
    made = router((0, 4), (0, 4), (1, 4))

    made.run_until(2)
    assert (made.loads, made.waiting, made.under_way) == ([1], 2, 3)
    assert made.oldest == 2
    made.run_until(5)
    assert (made.loads, made.waiting, made.under_way) == ([1], 1, 2)
    made.run_until(20)
    tally = made.take(20)
    assert tally.latencies == [4, 8, 11]
    assert (tally.arrived, tally.timed_out, tally.refused) == (3, 0, {})
    assert made.oldest == 0


def test_a_copy_has_as_many_as_were_said() -> None:
    """
    Which it answers in one batch.
    """
    made = router((0, 4), (0, 4), (0, 4), at_once=2)

    made.run_until(1)
    assert (made.loads, made.waiting) == ([2], 1)
    made.run_until(20)
    assert made.take(20).latencies == [4, 4, 8]


def test_without_copies_they_wait_for_one() -> None:
    """
    Nothing is refused; the first copy takes the oldest.
    """
    made = router((0, 4), (1, 4), copies=())

    made.run_until(10)
    assert (made.waiting, made.under_way, made.serving) == (2, 2, 0)
    made.add("a")
    made.run_until(30)
    assert made.take(30).latencies == [14, 17]


def test_what_a_copy_takes_away_is_worked_on_anew() -> None:
    """
    Before all that came later; one that is leaving ends what it has.
    """
    made = router((0, 8), (1, 2), copies=("a",))
    made.run_until(4)
    made.remove("a", 4)
    made.remove("a", 4)
    assert (made.waiting, made.under_way) == (2, 2)
    made.add("b")
    made.run_until(5)
    made.leave("b")
    made.run_until(20)

    assert made.take(20).latencies == [12]
    assert (made.waiting, made.serving) == (1, 0)


def test_one_that_is_put_back_goes_to_another_copy() -> None:
    """
    At once, where one has a place.
    """
    made = router((0, 8), copies=("a", "b"))
    made.run_until(4)
    made.remove("a", 4)

    assert (made.loads, made.waiting) == ([1], 0)
    made.run_until(20)
    assert made.take(20).latencies == [12]


@pytest.mark.parametrize(("came", "timed_out"), [(0.5, 0), (0, 1)])
def test_one_that_has_waited_six_hours_is_given_up(came: float, timed_out: int) -> None:
    """
    As its caller would be told.
    """
    made = router((came, 4), copies=())
    made.run_until(21_600)
    made.add("a")
    made.run_until(21_700)

    assert made.take(21_700).timed_out == timed_out


@pytest.mark.parametrize(("timeout", "served"), [(4, 2), (3.9, 0)])
def test_a_copy_has_so_long_for_each(timeout: float, served: int) -> None:
    """
    Counted from when it was sent, not from when it came.
    """
    made = router((0, 4), (0, 4), timeout=timeout)
    made.run_until(20)
    tally = made.take(20)

    assert (len(tally.latencies), tally.timed_out) == (served, 2 - served)


def test_one_that_waits_at_a_copy_too_long_is_dropped() -> None:
    """
    Where a copy is sent more than its batch takes.
    """
    made = router((0, 10), (0, 10), (0, 4), at_once=3, timeout=5)
    made.run_until(30)
    tally = made.take(30)

    assert (tally.latencies, tally.timed_out) == ([], 3)
    assert (made.under_way, made.oldest) == (0, 0)


def test_one_that_no_copy_holds_is_refused() -> None:
    """
    Its tokens are more than the cache has.
    """
    made = router((0, 101), (0, 4))
    made.run_until(20)
    tally = made.take(20)

    assert tally.refused == {"too long": 1}
    assert tally.latencies == [4]


def test_what_waits_is_published_by_the_endpoints_name() -> None:
    """
    Without a copy the whole backlog stands for that of an instance.
    """
    made = router((0, 4), (0, 4), (0, 4), copies=())
    made.run_until(3)
    store = MetricStore()
    publish_backlog(store, "chat", 0, made)

    def read(name: str) -> object:
        metric = Metric.of("AWS/SageMaker", name, {"EndpointName": "chat"})
        return store.read(MetricQuery(metric, "Average", 60), 60)

    assert read("ApproximateBacklogSize") == 3
    assert read("ApproximateBacklogSizePerInstance") == 3
    assert read("ApproximateAgeOfOldestRequest") == 3
    assert read("HasBacklogWithoutCapacity") == 1


def test_the_backlog_is_divided_among_the_copies() -> None:
    """
    What is being worked on counts, too.
    """
    made = router(*[(0, 9)] * 6, copies=("a", "b"))
    made.run_until(3)
    store = MetricStore()
    publish_backlog(store, "chat", 0, made)

    assert store.read(backlog("ApproximateBacklogSize"), 60) == 6
    assert store.read(backlog("ApproximateBacklogSizePerInstance"), 60) == 3
    assert store.read(backlog("HasBacklogWithoutCapacity"), 60) == 0


def backlog(name: str) -> MetricQuery:
    """
    Return a metric of the queue, by the minute.
    """
    metric = Metric.of("AWS/SageMaker", name, {"EndpointName": "chat"})
    return MetricQuery(metric, "Average", 60)


def scenario(**given: Any) -> Scenario:  # noqa: ANN401 - fields of any kind
    """
    Return an endpoint that goes to zero, and one request a minute for ten minutes.
    """
    track = TargetTracking(
        name="Backlog", query=backlog("ApproximateBacklogSizePerInstance"), target=5
    )
    alarm = AlarmRule(
        name="Wake",
        query=backlog("HasBacklogWithoutCapacity"),
        comparison="GreaterThanOrEqualToThreshold",
        threshold=1,
        evaluation_periods=2,
    )
    step = StepAdjustment(lower=0, change=1)
    wake = StepScaling(name="Wake", alarm=alarm, adjustments=(step,), cooldown=300)
    lengths = Lengths(prompt=1, answer=10)
    traffic = Constant(
        rate=1 / 60, begin=3600, end=4200, lengths=lengths, spacing="even"
    )
    fields = {
        "name": "AllTraffic",
        "traffic": traffic,
        "service": SLOW,
        "bounds": Bounds(minimum=0, maximum=4),
        "policies": (track, wake),
        "at_once": 1,
        "timeout": 900.0,
        **given,
    }
    return Scenario(
        workloads=(Workload(**fields),),
        duration=3 * 3600,
        endpoint="chat",
        pools=(Pool("ml.g5.xlarge"),),
        minimum=0,
        maximum=4,
        times=FleetTimes(),
    )


def test_it_goes_to_zero_and_wakes_for_what_waits() -> None:
    """
    Every request is answered, none is refused, and it sleeps again.
    """
    outcome = run(scenario())
    series = outcome.workloads["AllTraffic"]
    done = [
        (each.before, each.after)
        for each in outcome.activities["AllTraffic"]
        if not each.not_scaled
    ]

    assert done[:2] == [(1, 0), (0, 1)]
    assert done[-1][1] == 0
    assert series.totals.served == series.totals.arrived == 10
    assert sum(series.totals.refused.values()) == 0
    assert series.copies[-1] == 0


def test_a_queue_is_always_played_request_by_request() -> None:
    """
    No rate of requests waits in a line.
    """
    assert run(scenario()).method == "requests"
    with pytest.raises(ValueError, match="where requests wait in a queue, got 'aggr"):
        run(scenario(), "aggregate")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at_once": 0}, "at_once must be at least 1, got 0"),
        ({"at_once": 1, "traffic": USERS}, "users wait for answers"),
        ({"at_once": 1, "queue_limit": 5}, "queue_limit has no effect"),
        ({"at_once": "one"}, "at_once must be a whole number"),
    ],
)
def test_fails_if_a_queue_makes_no_sense(given: dict[str, Any], message: str) -> None:
    """
    In the caller's words.
    """
    fields: dict[str, Any] = {"name": "m", "traffic": ANY, "service": SLOW, **given}
    with pytest.raises(ValueError, match=message):
        Workload(**fields)
