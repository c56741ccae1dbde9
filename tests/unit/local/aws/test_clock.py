"""
The clock of the embedded AWS, on a wall that the test moves.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import pytest

from cdk_sagemaker_llm.local.aws import clock as clocks
from cdk_sagemaker_llm.local.aws.clock import CLOCK, Clock
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


def test_another_speed_counts_from_now_on() -> None:
    """
    What was planned before is forgotten, and time does not jump.
    """
    wall = Wall()
    clock = Clock(wall)
    clock.run_at(60.0)
    done: list[str] = []
    clock.after(30.0, lambda: done.append("before"))
    wall.time = 1100.0
    clock.run_at(2.0)
    clock.after(30.0, lambda: done.append("after"))
    wall.time = 1115.0

    assert clock.now == 1130.0
    clock.catch_up()
    assert done == ["after"]
    assert clock.wall_seconds(60.0) == 30.0
    clock.run_at(None)
    assert (clock.now, clock.speed) == (1115.0, None)


@pytest.mark.parametrize("delay", [0, -1.0])
def test_what_is_due_happens_now(delay: float) -> None:
    """
    With a speed too.
    """
    clock = Clock(Wall())
    clock.run_at(60.0)
    done: list[float] = []
    clock.after(delay, lambda: done.append(clock.moment))

    assert done == [1000.0]


def test_by_hand_time_stands_still() -> None:
    """
    Until it is advanced; each thing happens at its moment, what it plans as well.
    """
    wall = Wall()
    clock = Clock(wall)
    clock.run_by_hand()
    done: list[float] = []

    def twice() -> None:
        done.append(clock.now)
        clock.after(5.0, lambda: done.append(clock.now))

    clock.after(10.0, twice)
    clock.after(16.0, lambda: done.append(clock.now))
    wall.time = 2000.0

    assert (clock.now, clock.moment, clock.is_by_hand) == (1000.0, 1000.0, True)
    assert clock.wall_seconds(60.0) == 0.0
    with clock.lock:
        clock.advance(9.0)
        assert (done, clock.now) == ([], 1009.0)
        clock.advance(6.0)
        assert (done, clock.now) == ([1010.0, 1015.0], 1015.0)
        clock.advance(0.0)
        clock.advance(1.0)
    assert (done, clock.now) == ([1010.0, 1015.0, 1016.0], 1016.0)
    clock.run_at(None)
    assert (clock.is_by_hand, clock.now) == (False, 2000.0)


def test_what_waits_by_hand_goes_on_before_time_does() -> None:
    """
    A sleeper sees the moment at which its sleep is over, and nothing later.
    """
    clock = Clock(Wall())
    clock.run_by_hand()
    seen: list[float] = []
    asleep = threading.Event()

    def sleeper() -> None:
        with clock.lock:
            clock.after(10.0, lambda: None)
            asleep.set()
            clock.sleep(10.0)
            seen.append(clock.now)

    thread = threading.Thread(target=sleeper)
    thread.start()
    asleep.wait(5.0)
    with clock.lock:
        clock.advance(30.0)
    thread.join(5.0)

    assert seen == [1010.0]
    assert clock.now == 1030.0


def test_a_sleep_takes_its_part_of_the_wall() -> None:
    """
    Two thousand seconds a second; without a speed it takes none.
    """
    clock = Clock()
    began = time.monotonic()
    clock.sleep(3600.0)
    assert time.monotonic() - began < 1.0

    clock.run_at(2000.0)
    began = time.monotonic()
    clock.sleep(100.0)
    assert 0.05 <= time.monotonic() - began < 1.0


@pytest.mark.parametrize("is_by_hand", [True, False])
def test_nobody_follows_where_time_does_not_pass(*, is_by_hand: bool) -> None:
    """
    By hand and where nothing takes time.
    """
    clock = Clock()
    if is_by_hand:
        clock.run_by_hand()
    before = threading.active_count()
    clock.follow()

    assert threading.active_count() == before


def test_a_mishap_does_not_stop_time(capfd: pytest.CaptureFixture[str]) -> None:
    """
    It is shown, and what comes later happens.
    """
    clock = Clock()
    clock.run_at(10_000.0)
    clock.follow()
    done = threading.Event()
    with clock.lock:
        clock.after(100.0, lambda: 1 / 0)
        clock.after(200.0, done.set)
        clock.wait_until(done.is_set)

    assert "ZeroDivisionError" in capfd.readouterr().err


def test_the_time_of_the_process_is_a_date_too() -> None:
    """
    In UTC.
    """
    before = time.time()
    now, date = clocks.now(), clocks.current()

    assert before <= now <= date.timestamp() <= time.time()
    assert date.tzinfo is UTC
    assert isinstance(date, datetime)


class TestWork:
    """
    What a request begins, on the clock of the process.
    """

    def test_it_is_done_when_the_request_goes_on(self) -> None:
        """
        And what is wrong from the start is raised there.
        """
        done: list[bool] = []
        with CLOCK.lock:
            clocks.begin(lambda: done.append(threading.current_thread().daemon))
            assert done == [True]
            with pytest.raises(ZeroDivisionError):
                clocks.begin(lambda: 1 / 0)

    def test_what_waits_goes_on_by_itself(
        self, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """
        The request is answered meanwhile; a mishap later is shown, not raised.
        """
        steps: list[str] = []
        is_time = threading.Event()

        def work() -> None:
            steps.append("begun")
            clocks.wait_for_others(is_time.is_set)
            steps.append("gone on")
            raise ValueError("too late")

        with CLOCK.lock:
            clocks.begin(work)
            assert steps == ["begun"]
            is_time.set()
            CLOCK.lock.notify_all()
            CLOCK.lock.wait_for(lambda: len(steps) == 2, 5.0)
        deadline = time.monotonic() + 5.0
        shown = ""
        while "too late" not in shown and time.monotonic() < deadline:
            time.sleep(0.01)
            shown += capfd.readouterr().err

        assert steps == ["begun", "gone on"]
        assert "ValueError: too late" in shown

    def test_without_a_speed_nobody_waits_for_time(self) -> None:
        """
        What is not so at once will never be.
        """
        with CLOCK.lock:
            clocks.begin(lambda: clocks.wait_until(lambda: False))

    def test_others_are_answered_meanwhile(self) -> None:
        """
        Where a request waits for something outside.
        """
        held = threading.Event()

        def other() -> None:
            with CLOCK.lock:
                held.set()

        with CLOCK.lock:
            thread = threading.Thread(target=other)
            thread.start()
            assert not held.wait(0.05)
            with clocks.passed_on():
                assert held.wait(5.0)
            # It is this one's turn again.
            held.clear()
            again = threading.Thread(target=other)
            again.start()
            assert not held.wait(0.05)
        thread.join(5.0)
        again.join(5.0)
        assert held.is_set()


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


def test_it_knows_what_time_it_was() -> None:
    """
    Before it ran, both clocks agreed; afterwards its own runs at its speed.
    """
    wall = Wall()
    clock = Clock(wall)
    wall.time = 2000.0
    unhurried = clock.at(1500.0)
    clock.run_at(60.0)
    wall.time = 2010.0

    assert unhurried == 1500.0
    assert [clock.at(one) for one in (1999.0, 2000.0, 2001.0, 2010.0)] == [
        1999.0,
        2000.0,
        2060.0,
        clock.now,
    ]


def test_it_knows_when_it_was_moved_by_hand() -> None:
    """
    From that time on the wall on, it stood where it was moved to.
    """
    wall = Wall()
    clock = Clock(wall)
    clock.run_by_hand()
    for wall.time in (1010.0, 1020.0):
        with clock.lock:
            clock.advance(3600.0)

    assert [clock.at(one) for one in (900.0, 1009.0, 1010.0, 1019.0, 1020.0, 1e9)] == [
        900.0,
        1000.0,
        4600.0,
        4600.0,
        8200.0,
        8200.0,
    ]
