"""
The clock of the embedded AWS, on a wall that the test moves.
"""

from __future__ import annotations

import threading

from cdk_sagemaker_llm.local.aws.clock import Clock
from cdk_sagemaker_llm.local.hosting.traffic import Served, Traffic


class Wall:
    """
    A clock on a wall.
    """

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        """
        Tell the time.
        """
        return self.time


def test_without_a_speed_everything_happens_at_once() -> None:
    """
    And it is as late as on the wall.
    """
    wall = Wall()
    clock = Clock(wall)
    done: list[float] = []
    clock.after(3600.0, lambda: done.append(clock.moment))
    wall.time = 1005.0

    assert done == [1000.0]
    assert clock.now == clock.moment == 1005.0
    assert clock.wall_seconds(60.0) == 0.0


def test_with_a_speed_it_runs_ahead_and_things_happen_when_they_are_due() -> None:
    """
    Two seconds on the wall are two minutes; each action has its own moment.
    """
    wall = Wall()
    clock = Clock(wall)
    clock.run_at(60.0)
    done: list[float] = []
    clock.after(30.0, lambda: done.append(clock.moment))
    clock.after(200.0, lambda: done.append(clock.moment))
    wall.time = 1002.0

    assert clock.now == 1120.0
    assert clock.moment == 1000.0
    clock.catch_up()
    assert done == [1030.0]
    assert clock.moment == 1120.0
    assert clock.wall_seconds(60.0) == 1.0


def test_a_thread_lets_things_happen_and_wakes_who_waits() -> None:
    """
    On the real wall, ten thousand times as fast.
    """
    clock = Clock()
    clock.run_at(10_000.0)
    clock.follow()
    done = threading.Event()
    with clock.lock:
        clock.after(1000.0, done.set)
        clock.wait_until(done.is_set)

    assert clock.now >= clock.timeline.now


def test_requests_are_counted_while_they_last_and_told_of_afterwards() -> None:
    """
    With when they came, first answered, and ended.
    """
    wall = Wall()
    clock = Clock(wall)
    traffic = Traffic(clock)
    told: list[Served] = []
    traffic.listeners.append(told.append)
    where = ("chat", "AllTraffic", None)
    visit, other = traffic.begin(where), traffic.begin(where)
    assert traffic.in_flight[where] == 2
    wall.time = 1001.0
    visit.first_chunk()
    wall.time = 1002.0
    visit.first_chunk()
    wall.time = 1003.0
    visit.end(200)
    assert traffic.in_flight[where] == 1
    other.end(503)

    assert not traffic.in_flight
    assert told == [
        Served(
            endpoint="chat",
            variant="AllTraffic",
            component=None,
            started=1000.0,
            ended=1003.0,
            status=200,
            first_chunk=1001.0,
        ),
        Served(
            endpoint="chat",
            variant="AllTraffic",
            component=None,
            started=1000.0,
            ended=1003.0,
            status=503,
        ),
    ]


def test_a_request_without_a_copy_counts_as_such() -> None:
    """
    It is never under way.
    """
    traffic = Traffic(Clock(Wall()))
    told: list[Served] = []
    traffic.listeners.append(told.append)
    traffic.note_refusal(("chat", "AllTraffic", "small"), 400)

    assert not traffic.in_flight
    assert [(one.component, one.status, one.no_capacity) for one in told] == [
        ("small", 400, True)
    ]
