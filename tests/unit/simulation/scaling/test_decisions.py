"""
What one target does about alarms of one moment, each handed over as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from cdk_sagemaker_llm.simulation.alarms import Alarm, AlarmRule
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.metrics import (
    Metric,
    MetricDelays,
    MetricQuery,
    MetricStore,
)
from cdk_sagemaker_llm.simulation.scaling.autoscaler import Autoscaler
from cdk_sagemaker_llm.simulation.scaling.policies import (
    Activity,
    Bounds,
    Policy,
    ScheduledAction,
    StepAdjustment,
    StepScaling,
    TargetTracking,
)
from tests.unit.simulation.plain_fleet import PlainFleet

_METRIC = Metric.of_variant("InvocationsPerInstance", "chat", "AllTraffic")
_QUERY = MetricQuery(_METRIC, "Sum", 60)


class Stuck(PlainFleet):
    """
    A fleet that settles with less than was asked for: there is no more.
    """

    is_settled = True


def _tracking(
    name: str = "A", *, scale_in: float = 300.0, out: float = 300.0
) -> TargetTracking:
    return TargetTracking(
        name=name,
        query=_QUERY,
        target=5.0,
        scale_in_cooldown=scale_in,
        scale_out_cooldown=out,
    )


def _stepping(change: float = 3, cooldown: float = 60.0) -> StepScaling:
    return StepScaling(
        name="Steps",
        alarm=AlarmRule(
            name="Busy",
            query=_QUERY,
            comparison="GreaterThanThreshold",
            threshold=10.0,
            evaluation_periods=1,
        ),
        adjustments=(StepAdjustment(lower=0, change=change),),
        cooldown=cooldown,
    )


@dataclass
class Desk:
    """
    A target between one and nine, and what came of what it was asked.
    """

    policies: tuple[Policy, ...]
    count: int = 4
    start: float = 0.0
    noted: list[Activity] = field(default_factory=list)

    def __post_init__(self) -> None:
        """
        Set it up.
        """
        self.timeline = Timeline()
        self.fleet = PlainFleet(self.timeline, self.count, self.start)
        self.take(self.fleet)

    def take(self, fleet: PlainFleet) -> None:
        """
        Scale this fleet.
        """
        self.fleet = fleet
        self.scaler = Autoscaler(
            self.timeline,
            fleet,
            Bounds(minimum=1, maximum=9),
            self.policies,
            noted=self.noted.append,
        )

    def hear(
        self,
        policy: Policy,
        value: float | None,
        *,
        low: bool = False,
        asks: bool = True,
    ) -> Alarm:
        """
        Let an alarm be in ALARM with a value, and ask for its policy.
        """
        if isinstance(policy, StepScaling):
            rule = policy.alarm
        else:
            assert policy.low is not None
            rule = policy.low if low else policy.high
        alarm = self.scaler.alarms[rule.name] = Alarm(rule)
        alarm.state, alarm.latest = "ALARM", value
        if asks:
            self.scaler.alarmed(policy, alarm)
        return alarm

    def answer(self, until: float = 0.0) -> list[tuple[float, int]]:
        """
        Decide, and say what has been asked for so far.
        """
        self.timeline.run_until(until)
        return self.fleet.log

    def refusals(self) -> list[str]:
        """
        Say why nothing was done.
        """
        return [activity.not_scaled for activity in self.noted if activity.not_scaled]


def test_who_asks_for_more_is_heard_alone() -> None:
    """
    A policy that would take some away at the same moment waits.
    """
    tracking, stepping = _tracking(), _stepping()
    desk = Desk((tracking, stepping))
    desk.hear(tracking, 0.0, low=True)
    desk.hear(stepping, 80.0)

    assert desk.answer() == [(0.0, 7)]


def test_an_alarm_without_a_step_takes_nothing_away() -> None:
    """
    Though a low alarm lasts, which asks at another moment.
    """
    tracking, stepping = _tracking(), _stepping()
    desk = Desk((tracking, stepping))
    desk.hear(tracking, 0.0, low=True, asks=False)
    desk.hear(stepping, 9.0)

    assert desk.answer() == []


def test_two_low_alarms_take_one_away() -> None:
    """
    Even where no cooldown keeps the second one.
    """
    one, other = _tracking("A", scale_in=0), _tracking("B", scale_in=0)
    desk = Desk((one, other))
    desk.hear(one, 0.0, low=True)
    desk.hear(other, 0.0, low=True)

    assert desk.answer() == [(0.0, 3)]


def test_the_policy_that_needs_more_keeps_it() -> None:
    """
    Both are low; four at 4.4 need 3.52 at a target of 5, so 4.
    """
    one, other = _tracking("A"), _tracking("B")
    desk = Desk((one, other))
    desk.hear(one, 4.4, low=True)
    desk.hear(other, 0.0, low=True)

    assert desk.answer() == []
    assert desk.refusals() == ["AlreadyAtDesiredCapacity"]


@pytest.mark.parametrize(
    ("state", "value", "steps"),
    [("OK", 0.0, []), ("ALARM", None, []), ("ALARM", 0.0, [(0.0, 3)])],
)
def test_a_policy_that_is_not_ready_keeps_what_is_there(
    state: str, value: float | None, steps: list[tuple[float, int]]
) -> None:
    """
    Its alarm has not gone off, or nobody knows at which value.
    """
    one, other = _tracking("A"), _tracking("B")
    desk = Desk((one, other))
    desk.hear(other, value, low=True, asks=False).state = state
    desk.hear(one, 0.0, low=True)

    assert desk.answer() == steps


@pytest.mark.parametrize(("value", "steps"), [(None, []), (9.0, [(0.0, 1)])])
def test_an_alarm_without_a_value_asks_for_nothing(
    value: float | None, steps: list[tuple[float, int]]
) -> None:
    """
    One that goes off because data is missing, which is not zero.
    """
    stepping = replace(
        _stepping(),
        alarm=replace(_stepping().alarm, comparison="LessThanThreshold"),
        adjustments=(StepAdjustment(upper=0, change=-3),),
    )
    desk = Desk((stepping,))
    desk.hear(stepping, value)

    assert desk.answer() == steps


@pytest.mark.parametrize(
    ("running", "value", "steps"),
    [(2, 10.0, []), (2, 10.1, [(0.0, 5)]), (1, 10.0, []), (0, 10.0, [])],
)
def test_what_serves_is_what_was_measured(
    running: int, value: float, steps: list[tuple[float, int]]
) -> None:
    """
    Of four that were asked for two are there: at 10 each they want the four, no fewer.
    """
    tracking = _tracking()
    desk = Desk((tracking,))
    desk.take(Stuck(desk.timeline, 4))
    desk.fleet.running = running
    desk.hear(tracking, value)

    assert desk.answer() == steps


@pytest.mark.parametrize(
    ("count", "low", "value", "reason"),
    [
        (9, False, 50.0, "AlreadyAtMaxCapacity"),
        (1, True, 0.0, "AlreadyAtMinCapacity"),
        (4, True, 4.4, "AlreadyAtDesiredCapacity"),
    ],
)
def test_a_bound_is_the_reason(
    count: int, value: float, reason: str, *, low: bool
) -> None:
    """
    In the service's codes, to whoever is told of activities.
    """
    tracking = _tracking()
    desk = Desk((tracking,), count=count)
    desk.hear(tracking, value, low=low)

    assert desk.answer() == []
    assert desk.refusals() == [reason]


@pytest.mark.parametrize(
    ("suspended", "low"), [("DynamicScalingOut", False), ("DynamicScalingIn", True)]
)
def test_what_is_suspended_is_no_refusal(suspended: str, *, low: bool) -> None:
    """
    Nothing is noted.
    """
    tracking = _tracking()
    desk = Desk((tracking,))
    desk.scaler.suspended = frozenset({suspended})
    desk.hear(tracking, 0.0 if low else 50.0, low=low)

    assert (desk.answer(), desk.noted) == ([], [])


def test_nothing_is_taken_away_while_more_is_coming() -> None:
    """
    The service takes no second change.
    """
    tracking, stepping = _tracking(), _stepping()
    desk = Desk((tracking, stepping), start=100)
    desk.hear(stepping, 80.0)
    desk.answer(50)
    desk.hear(tracking, 0.0, low=True)

    assert desk.answer(60) == [(0.0, 7)]
    assert desk.refusals() == ["TargetServicePutResourceAsUnscalable"]


def test_each_cooldown_starts_from_where_it_began() -> None:
    """
    1 to 4 at 0; the cooldown of a minute is over at 60, and 4 is where the next starts.

    In the second one's cooldown three more are the same three, and four are one more.
    """
    steps = (
        StepAdjustment(lower=0, upper=90, change=3),
        StepAdjustment(lower=90, change=4),
    )
    stepping = replace(_stepping(), adjustments=steps)
    desk = Desk((stepping,), count=1)
    for moment, value in ((0, 80), (59, 80), (60, 80), (100, 80), (119, 100)):
        desk.timeline.run_until(moment)
        desk.hear(stepping, value)

    assert desk.answer(120) == [(0.0, 4), (60.0, 7), (119.0, 8)]


def test_a_change_is_done_when_somebody_asks() -> None:
    """
    Two of 15 were there at 55 s, and are what the cooldown of none leaves to count.
    """
    tracking = _tracking(out=0)
    desk = Desk((tracking,), count=1, start=55)
    desk.hear(tracking, 10.0)
    desk.answer(56)
    desk.hear(tracking, 20.0)

    assert desk.answer(56) == [(0.0, 2), (56.0, 8)]


def test_an_activity_says_how_late_its_metric_was() -> None:
    """
    By the delays that were given: above the target from 0 s on, for three minutes.
    """
    tracking = _tracking()
    desk = Desk((tracking,))
    store = MetricStore()
    for minute in range(3):
        store.record(_METRIC, minute * 60.0, 50.0)
    desk.scaler.watch(store.read, MetricDelays(standard=45))
    desk.timeline.run_until(300)

    activity = desk.noted[0]
    assert (activity.time, activity.breached_from, activity.read_late) == (225, 0, 45)


def _at(text: str, name: str = "Day", **given: object) -> ScheduledAction:
    return ScheduledAction(name=name, schedule=text, minimum=6, **given)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(("end", "steps"), [(599, []), (600, [(600.0, 6)])])
def test_the_last_moment_counts(end: int, steps: list[tuple[float, int]]) -> None:
    """
    An action that is due at its end happens.
    """
    desk = Desk(())
    moment = datetime.fromtimestamp(end, UTC)
    desk.scaler.schedule(_at("rate(10 minutes)", end=moment))

    assert desk.answer(2000) == steps


def test_a_schedule_takes_the_place_of_its_name() -> None:
    """
    And one that is taken off does not happen.
    """
    desk = Desk(())
    desk.scaler.schedule(_at("at(1970-01-01T00:01:00)"))
    desk.scaler.schedule(_at("at(1970-01-01T00:02:00)"))
    desk.scaler.schedule(_at("at(1970-01-01T00:00:30)", "Night"))
    desk.scaler.unschedule("Night")
    desk.scaler.unschedule("Never")
    desk.scaler.schedule(_at("at(1970-01-01T00:00:30)", "Evening"))
    desk.scaler.schedule(_at("at(1969-12-31T00:00:00)", "Evening"))

    assert desk.answer(300) == [(120.0, 6)]


def test_what_is_stopped_does_nothing_more() -> None:
    """
    Neither alarms nor schedules, nor bounds that wait for a change to be done.
    """
    desk = Desk((_tracking(),), start=30)
    desk.scaler.watch(lambda *_: 50.0, MetricDelays())
    desk.scaler.schedule(_at("at(1970-01-01T00:01:00)"))
    desk.fleet.set_desired(5, "by hand")
    desk.scaler.bound(Bounds(minimum=7, maximum=9))
    desk.scaler.bound(Bounds(minimum=8, maximum=9))
    desk.scaler.stop()

    assert desk.answer(1000) == [(0.0, 5)]
