"""
When alarms go off.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation.alarms import (
    ALARM,
    INSUFFICIENT_DATA,
    OK,
    Alarm,
    AlarmRule,
    Watch,
    judge,
)
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery, MetricStore

_METRIC = Metric.of_component("ConcurrentRequestsPerCopy", "llama")


def _rule(
    evaluated: int,
    needed: int | None = None,
    *,
    missing: str = "missing",
    comparison: str = "GreaterThanThreshold",
    period: int = 10,
) -> AlarmRule:
    return AlarmRule(
        name="High",
        query=MetricQuery(_METRIC, "Maximum", period),
        comparison=comparison,
        threshold=5.0,
        evaluation_periods=evaluated,
        datapoints_to_alarm=needed,
        treat_missing=missing,
    )


def _points(drawn: str) -> list[float | None]:
    return [{"X": 9.0, "0": 1.0, "-": None}[letter] for letter in drawn]


@pytest.mark.parametrize(
    ("drawn", "missing", "ignore", "breaching", "not_breaching"),
    [
        ("0-X-X", OK, OK, OK, OK),
        ("0XX-X", ALARM, ALARM, ALARM, ALARM),
        ("----0", OK, OK, OK, OK),
        ("-----", INSUFFICIENT_DATA, "before", ALARM, OK),
        ("--X--", ALARM, "before", ALARM, OK),
        ("----X", OK, "before", ALARM, OK),
        ("000XX", OK, OK, OK, OK),
        ("00XXX", ALARM, ALARM, ALARM, ALARM),
        ("XXX--", ALARM, ALARM, ALARM, ALARM),
    ],
)
def test_missing_points_count_as_the_alarm_says(
    drawn: str, missing: str, ignore: str, breaching: str, not_breaching: str
) -> None:
    """
    Three of three points, five looked at: real ones that are older come first.
    """
    points = _points(drawn)

    def state(treatment: str) -> str:
        return judge(_rule(3, missing=treatment), points, "before")

    assert state("missing") == missing
    assert state("ignore") == ignore
    assert state("breaching") == breaching
    assert state("notBreaching") == not_breaching


@pytest.mark.parametrize(
    ("drawn", "missing", "ignore", "breaching", "not_breaching"),
    [
        ("0-X-X", ALARM, ALARM, ALARM, ALARM),
        ("00X0X", ALARM, ALARM, ALARM, ALARM),
        ("0-X--", OK, OK, ALARM, OK),
        ("----0", OK, OK, ALARM, OK),
        ("---X-", ALARM, "before", ALARM, OK),
        ("----X", OK, "before", ALARM, OK),
        ("00X00", OK, OK, OK, OK),
    ],
)
def test_missing_points_count_where_some_are_enough(
    drawn: str, missing: str, ignore: str, breaching: str, not_breaching: str
) -> None:
    """
    Two of three points, five looked at: the guide's other table, and two lines more.
    """
    states = [
        judge(_rule(3, 2, missing=treatment), _points(drawn), "before")
        for treatment in ("missing", "ignore", "breaching", "notBreaching")
    ]

    assert states == [missing, ignore, breaching, not_breaching]


@pytest.mark.parametrize(
    ("drawn", "state"),
    [("000X0X", OK), ("00X0XX", ALARM), ("00XXX0", ALARM), ("0XXX00", OK)],
)
def test_some_of_the_points_can_be_enough(drawn: str, state: str) -> None:
    """
    Three of the last four.
    """
    assert judge(_rule(4, 3), _points(drawn), OK) == state


@pytest.mark.parametrize(
    ("comparison", "below", "equal", "above"),
    [
        ("GreaterThanThreshold", OK, OK, ALARM),
        ("GreaterThanOrEqualToThreshold", OK, ALARM, ALARM),
        ("LessThanThreshold", ALARM, OK, OK),
        ("LessThanOrEqualToThreshold", ALARM, ALARM, OK),
    ],
)
def test_the_threshold_itself_is_on_one_side(
    comparison: str, below: str, equal: str, above: str
) -> None:
    """
    As the comparison says.
    """
    rule = _rule(1, comparison=comparison)

    states = [judge(rule, [None, None, value], OK) for value in (4.9, 5.0, 5.1)]

    assert states == [below, equal, above]


@pytest.mark.parametrize("evaluated", [1, 3, 4])
@pytest.mark.parametrize("missing", ["missing", "ignore", "breaching", "notBreaching"])
@pytest.mark.parametrize(
    "drawn", ["XXXXX0XXXX", "00XXX--XX0", "-----XX0X-", "X-X-X-XXX-X0-0XX-XX"]
)
def test_point_by_point_is_as_all_at_once(
    evaluated: int, missing: str, drawn: str
) -> None:
    """
    The way that is quick for a week of points gives what the rule gives.
    """
    rule = _rule(evaluated, missing=missing)
    alarm = Alarm(rule)
    points: list[float | None] = []
    before = INSUFFICIENT_DATA
    for number, point in enumerate(_points(drawn), start=1):
        points.append(point)
        changed = alarm.evaluate(number * 10.0, lambda _query, _end, p=point: p)  # type: ignore[misc]  # one point
        expected = judge(rule, points[-(evaluated + 2) :], before)

        assert alarm.state == expected
        assert changed == (expected != before)
        before = expected


def test_a_state_has_the_moment_it_began_and_the_value() -> None:
    """
    The end of the period that changed it.
    """
    alarm = Alarm(_rule(1))

    alarm.evaluate(10.0, lambda _query, _end: 7.0)
    alarm.evaluate(20.0, lambda _query, _end: 8.0)
    alarm.evaluate(30.0, lambda _query, _end: None)

    assert (alarm.state, alarm.since, alarm.latest) == (ALARM, 10.0, 8.0)


def test_a_long_period_slides_by_the_minute() -> None:
    """
    Five minutes are looked at anew every minute, each point five minutes long.
    """
    read: list[float] = []

    def reader(_: object, end: float) -> float:
        read.append(end)
        return 1.0

    alarm = Alarm(_rule(1, period=300))
    alarm.evaluate(960.0, reader)
    alarm.evaluate(1020.0, reader)

    assert read == [360.0, 660.0, 960.0, 420.0, 720.0, 1020.0]


def _watched(rule: AlarmRule, values: list[float], delay: float) -> list[float]:
    timeline, store = Timeline(5.0), MetricStore()
    acted: list[float] = []
    Watch(
        timeline,
        Alarm(rule),
        read=store.read,
        delay=delay,
        act=lambda alarm: acted.append(timeline.now) if alarm.state == ALARM else None,
    )
    for number, value in enumerate(values):
        store.record(_METRIC, number * 10.0, value)
    timeline.run_until(1000.0)
    return acted


def test_a_period_is_looked_at_when_it_can_be_read() -> None:
    """
    The third ten seconds above the threshold end at 30, and can be read at 50.
    """
    assert _watched(_rule(3), [9, 9, 9, 1], delay=20)[0] == 50.0


def test_an_alarm_knows_what_was_before_it() -> None:
    """
    Two periods above can be read when it is made, and the third one sets it off.
    """
    timeline, store, alarm = Timeline(), MetricStore(), Alarm(_rule(3))
    for moment in (0.0, 10.0, 20.0, 30.0):
        store.record(_METRIC, moment, 9.0)
    timeline.run_until(25.0)
    Watch(timeline, alarm, read=store.read, delay=2.0, act=lambda _: None)

    timeline.run_until(31.9)
    assert (alarm.state, alarm.points[-2:]) == ("INSUFFICIENT_DATA", (9.0, 9.0))
    timeline.run_until(32.0)

    assert (alarm.state, alarm.evaluated) == ("ALARM", 30.0)


def test_an_alarm_acts_every_minute_while_it_lasts() -> None:
    """
    From the evaluation that set it off, until the values are low again.
    """
    high = [9.0] * 20 + [1.0]

    assert _watched(_rule(3), high, delay=0) == [30.0, 90.0, 150.0]


def test_an_alarm_that_comes_back_acts_at_once() -> None:
    """
    However short ago the last one was.
    """
    assert _watched(_rule(1), [9, 1, 9, 1], delay=0) == [10.0, 30.0]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"comparison": "Above"}, "comparison of alarm High must be one of"),
        ({"missing": "zero"}, "treat_missing of alarm High must be one of"),
        ({"needed": 4}, "needs 4 of 3 points"),
        ({"needed": 0}, "needs 0 of 3 points"),
    ],
)
def test_fails_if_an_alarm_cannot_be(keywords: dict[str, object], message: str) -> None:
    """
    With the value and what there is.
    """
    with pytest.raises(ValueError, match=message):
        _rule(3, **keywords)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="needs 0 of 0 points"):
        _rule(0)


def test_a_rule_says_how_long_it_takes() -> None:
    """
    Three of the last five points of ten seconds, and all of two minutes.
    """
    assert _rule(5, 3).span == 30.0
    assert _rule(2, period=60).span == 120.0


def test_a_minute_is_read_once() -> None:
    """
    What comes in late does not change what was seen.
    """
    read: list[float] = []

    def reader(_: object, end: float) -> float:
        read.append(end)
        return 1.0

    alarm = Alarm(_rule(3, period=60))
    alarm.evaluate(60.0, reader)
    alarm.evaluate(120.0, reader)

    assert read == [60.0, 120.0]


def test_long_periods_breach_one_after_the_other() -> None:
    """
    Each minute that looks at the same five minutes is no further point.

    All that ends after 300 s is high: the third of those that lead to 960 ends at 360.
    """
    alarm = Alarm(_rule(3, period=300))
    states = {}
    for end in range(300, 1500, 60):
        alarm.evaluate(end, lambda _query, at: 9.0 if at > 300 else 1.0)
        states[end] = alarm.state

    assert min(end for end, state in states.items() if state == ALARM) == 960


def test_a_long_period_is_looked_at_every_minute() -> None:
    """
    And not once in it.
    """
    timeline = Timeline()
    seen: list[tuple[float, float]] = []

    def reader(_: object, end: float) -> None:
        seen.append((timeline.now, end))

    Watch(timeline, Alarm(_rule(1, period=300)), read=reader, delay=5, act=print)
    seen.clear()
    timeline.run_until(130)

    looks = [(now, end) for now, end in seen if now - end == 5]
    assert looks == [(5.0, 0.0), (65.0, 60.0), (125.0, 120.0)]


def test_an_alarm_begins_with_the_next_period_that_can_be_read() -> None:
    """
    At 21 s that is the one that ended at 20, with a delay of 2; what is after it is
    not known, and what is before is.
    """
    timeline, store, alarm = Timeline(21.0), MetricStore(), Alarm(_rule(1))
    for moment, value in ((0.0, 1.0), (10.0, 2.0), (20.0, 3.0)):
        store.record(_METRIC, moment, value)
    Watch(timeline, alarm, read=store.read, delay=2.0, act=lambda _: None)

    assert list(alarm.points) == [None, None, 1.0]
    timeline.run_until(22.0)
    assert list(alarm.points) == [None, 1.0, 2.0]
    assert alarm.latest == 2.0


def test_a_watch_that_is_stopped_looks_no_more() -> None:
    """
    However high the values are.
    """
    timeline, alarm = Timeline(), Alarm(_rule(1))
    watch = Watch(timeline, alarm, read=lambda *_: 9.0, delay=0, act=lambda _: None)
    watch.stop()

    timeline.run_until(100)

    assert alarm.state == INSUFFICIENT_DATA


def test_an_alarm_that_lasts_acts_when_it_is_taken_over() -> None:
    """
    At the first look, and a minute later.
    """
    timeline, alarm = Timeline(), Alarm(_rule(1))
    alarm.evaluate(0.0, lambda *_: 9.0)
    acted: list[float] = []
    Watch(
        timeline,
        alarm,
        read=lambda *_: 9.0,
        delay=0,
        act=lambda _: acted.append(timeline.now),
    )

    timeline.run_until(80)

    assert acted == [10.0, 70.0]
