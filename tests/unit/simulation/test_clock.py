"""
The line of time.
"""

from __future__ import annotations

from cdk_sagemaker_llm.simulation.clock import Planned, Timeline


def test_actions_happen_in_order_at_their_time() -> None:
    """
    Whatever order they were planned in; those of one moment as they were planned.
    """
    timeline = Timeline(100.0)
    seen: list[tuple[float, str]] = []
    timeline.after(20, lambda: seen.append((timeline.now, "later")))
    timeline.at(110, lambda: seen.append((timeline.now, "first")))
    timeline.at(110, lambda: seen.append((timeline.now, "second")))

    timeline.run_until(119.9)

    assert seen == [(110.0, "first"), (110.0, "second")]
    assert timeline.now == 119.9
    assert timeline.next == 120.0


def test_the_past_happens_next() -> None:
    """
    Time never goes back.
    """
    timeline = Timeline(100.0)
    seen: list[float] = []
    timeline.at(5, lambda: seen.append(timeline.now))

    timeline.run_until(100.0)

    assert seen == [100.0]


def test_what_an_action_plans_happens_in_the_same_run() -> None:
    """
    Up to the moment that was asked for, itself included.
    """
    timeline = Timeline()
    seen: list[float] = []

    def tick() -> None:
        seen.append(timeline.now)
        timeline.after(10, tick)

    timeline.at(10, tick)
    timeline.run_until(30)

    assert seen == [10.0, 20.0, 30.0]


def test_a_cancelled_action_does_not_happen() -> None:
    """
    And does not count as the next one.
    """
    timeline = Timeline()
    seen: list[int] = []
    planned = timeline.at(10, lambda: seen.append(1))
    planned.cancel()

    assert timeline.next is None
    timeline.run_until(20)
    assert seen == []


def test_a_cancelled_action_is_passed_over_among_others() -> None:
    """
    Those beside it happen, and one of them may cancel what is due at the same moment.
    """
    timeline = Timeline()
    seen: list[str] = []
    first = timeline.at(5, lambda: seen.append("first"))
    later: list[Planned] = []

    def call_off() -> None:
        later[0].cancel()

    timeline.at(10, call_off)
    later.append(timeline.at(10, lambda: seen.append("last")))
    timeline.at(15, lambda: seen.append("other"))
    first.cancel()

    timeline.run_until(20)

    assert seen == ["other"]


def test_time_does_not_run_back() -> None:
    """
    Running to what is past leaves it where it is.
    """
    timeline = Timeline(100.0)

    timeline.run_until(50.0)

    assert timeline.now == 100.0
