"""
Application Auto Scaling of one target, on timelines worked out by hand.

Values by the minute can be read two minutes after it in these tests, those of ten
seconds after half a minute: the defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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

_PER_INSTANCE = Metric.of_variant("InvocationsPerInstance", "chat", "AllTraffic")
_PER_COPY = Metric.of_component("ConcurrentRequestsPerCopy", "llama")
_REFUSED = Metric.of_component("NoCapacityInvocationFailures", "llama")

Load = Callable[[float], float]


@dataclass
class Bench:
    """
    A target under a load, which is shared by what runs.

    Args:
        load: The load at a moment: invocations a minute, or concurrent requests.

        start: Seconds until more capacity is there.

        count: The capacity at the beginning.

        metric: What is published.

        period: Every how many seconds.
    """

    load: Load
    start: float = 0.0
    count: int = 1
    metric: Metric = _PER_INSTANCE
    period: int = 60
    timeline: Timeline = field(default_factory=Timeline)
    store: MetricStore = field(default_factory=MetricStore)

    def run(
        self,
        seconds: float,
        bounds: Bounds,
        *policies: Policy,
        schedules: tuple[ScheduledAction, ...] = (),
    ) -> Autoscaler:
        """
        Run for so long.
        """
        self.fleet = PlainFleet(self.timeline, self.count, self.start)
        scaler = Autoscaler(self.timeline, self.fleet, bounds, policies, schedules)
        scaler.watch(self.store.read, MetricDelays())
        self.timeline.after(self.period, self._publish)
        self.timeline.run_until(self.timeline.now + seconds)
        return scaler

    def steps(self) -> list[tuple[float, int]]:
        """
        Return what was asked for, and when, in minutes.
        """
        return [(round(time / 60, 3), count) for time, count in self.fleet.log]

    def _publish(self) -> None:
        # Of the period that ends now.
        moment = self.timeline.now - 1
        if self.fleet.running:
            value = self.load(moment) / self.fleet.running
            self.store.record(self.metric, moment, value)
        self.timeline.after(self.period, self._publish)


def _tracking(
    target: float, *, name: str = "Traffic", scale_in: float = 300, out: float = 60
) -> TargetTracking:
    return TargetTracking(
        name=name,
        query=MetricQuery(_PER_INSTANCE, "Sum", 60),
        target=target,
        scale_in_cooldown=scale_in,
        scale_out_cooldown=out,
    )


def _between(start: float, end: float, load: float, otherwise: float = 0.0) -> Load:
    return lambda time: load if start <= time < end else otherwise


_ONE_TO_FOUR = Bounds(minimum=1, maximum=4)


def test_a_published_experiment_takes_the_published_time() -> None:
    """
    Target 5 a minute, cooldowns 300 and 60 s, 16 a minute from minute 10 to minute 40.

    By hand: minutes 10 to 12 are above 5, the last ends at 13 and can be read at 15:
    one instance at 16 wants 16 / 5 = 3.2, so 4. They come 6 minutes later, at 21: 4 a
    minute each, which is below nine tenths of 5, but for 15 minutes not before minute
    36; that can be read at 38: one less would have 5.33, so nothing is done. Minutes
    below go on: at 43 (readable) the metric is 0, so 3; the cooldown of 300 s ends at
    48, 53, and each leads to one less.
    """
    bench = Bench(_between(600, 2400, 16), start=360)

    scaler = bench.run(3600, _ONE_TO_FOUR, _tracking(5))

    assert bench.steps() == [(15.0, 4), (43.0, 3), (48.0, 2), (53.0, 1)]
    first = scaler.activities[0]
    assert (first.before, first.after, first.value) == (1, 4, 16.0)
    assert (first.breached_from, first.read_late) == (600.0, 120.0)
    assert first.completed == pytest.approx(1260, abs=60)
    assert first.cause == (
        "monitor alarm TargetTracking-Traffic-AlarmHigh in state ALARM triggered "
        "policy Traffic"
    )


def test_a_report_of_users_comes_out() -> None:
    """
    Target 1,500 a minute, 20,000 come, cooldowns 100 and 10 s (re:Post).

    They saw more than 5 minutes until the first scale-out, and more than 25 until the
    scale-in after the end: here 5 and 17, of which 2 are the metric's delay.
    """
    bench = Bench(_between(0, 1800, 20_000), start=360)

    bench.run(4000, _ONE_TO_FOUR, _tracking(1500, scale_in=100, out=10))

    assert bench.steps()[0] == (5.0, 4)
    # 30 minutes and fifteen below 1,350, readable after two more.
    assert bench.steps()[1] == (47.0, 3)


@pytest.mark.parametrize(("load", "steps"), [(5.0, []), (5.1, [(5.0, 2)])])
def test_the_target_itself_is_met(load: float, steps: list[tuple[float, int]]) -> None:
    """
    Only above it is more asked for.
    """
    bench = Bench(lambda _: load)

    bench.run(320, _ONE_TO_FOUR, _tracking(5))

    assert bench.steps() == steps


def test_a_short_cooldown_acts_on_what_was_measured_before() -> None:
    """
    A minute after the second instance the readable minute is still that of one.
    """
    hasty, patient = Bench(lambda _: 5.1), Bench(lambda _: 5.1)

    hasty.run(1000, _ONE_TO_FOUR, _tracking(5, out=60))
    patient.run(1000, _ONE_TO_FOUR, _tracking(5, out=180))

    assert hasty.steps() == [(5.0, 2), (6.0, 3), (7.0, 4)]
    assert patient.steps() == [(5.0, 2)]


@pytest.mark.parametrize(("load", "steps"), [(9.0, []), (8.9, [])])
def test_nine_tenths_of_the_target_keep_what_is_there(
    load: float, steps: list[tuple[float, int]]
) -> None:
    """
    Two instances at 4.5 are no alarm; at 4.45 they are, and one could not do it.
    """
    bench = Bench(lambda _: load, count=2)

    scaler = bench.run(1200, _ONE_TO_FOUR, _tracking(5))

    assert bench.steps() == steps
    low = scaler.alarms["TargetTracking-Traffic-AlarmLow"]
    assert low.state == ("OK" if load == 9.0 else "ALARM")


def test_two_minutes_above_are_not_enough() -> None:
    """
    Three in a row are.
    """
    bench = Bench(lambda time: 50.0 if time % 240 < 120 else 4.6)

    bench.run(1200, _ONE_TO_FOUR, _tracking(5))

    assert bench.steps() == []


def test_ten_seconds_react_sooner() -> None:
    """
    Three points of ten seconds, readable after thirty; ninety to go back.

    By hand: 14 concurrent requests from minute 1; above 5 in the periods that end at
    70, 80 and 90 s, read at 120 s: 14 / 5 = 2.8, so 3 copies. From minute 10 none: 900
    and 30 s later the first goes, and the other after the cooldown of a minute.
    """
    query = MetricQuery(_PER_COPY, "Maximum", 10)
    policy = TargetTracking(
        name="Load",
        query=query,
        target=5,
        scale_in_cooldown=60,
        scale_out_cooldown=60,
    )
    bench = Bench(_between(60, 600, 14), metric=_PER_COPY, period=10)

    bench.run(1800, _ONE_TO_FOUR, policy)

    assert bench.steps() == [(2.0, 3), (25.5, 2), (26.5, 1)]


def test_a_target_at_zero_is_not_woken() -> None:
    """
    Target tracking multiplies, and nothing times anything is nothing.
    """
    bench = Bench(lambda _: 50.0, count=0)
    for minute in range(20):
        bench.store.record(_PER_INSTANCE, minute * 60.0, 50.0)

    bench.run(1200, Bounds(minimum=0, maximum=4), _tracking(5))

    assert bench.steps() == []


def _wake(cooldown: float = 60.0) -> StepScaling:
    return StepScaling(
        name="Wake",
        alarm=AlarmRule(
            name="NoCapacity",
            query=MetricQuery(_REFUSED, "Maximum", 30),
            comparison="GreaterThanOrEqualToThreshold",
            threshold=1.0,
            evaluation_periods=1,
        ),
        adjustments=(StepAdjustment(lower=0, change=1),),
        cooldown=cooldown,
    )


def test_a_step_policy_wakes_it() -> None:
    """
    A request refused at 65 s is in the period that ends at 90, readable at 120.
    """
    bench = Bench(lambda _: 0.0, count=0, start=400)
    bench.store.record(_REFUSED, 65.0, 1.0)

    bench.run(900, Bounds(minimum=0, maximum=4), _wake())

    assert bench.steps() == [(2.0, 1)]


def test_requests_refused_while_it_wakes_ask_for_no_more() -> None:
    """
    The service takes no second change while one is under way, and says so once.
    """
    bench = Bench(lambda _: 0.0, count=0, start=400)
    for second in range(65, 500, 30):
        bench.store.record(_REFUSED, float(second), 1.0)

    scaler = bench.run(515, Bounds(minimum=0, maximum=4), _wake())

    assert bench.steps() == [(2.0, 1)]
    assert [a.not_scaled for a in scaler.activities] == [
        "",
        "AlreadyAtDesiredCapacity",
    ]


def test_more_waits_until_the_service_takes_it() -> None:
    """
    Two at minute 5, there at 11; what is asked for meanwhile is refused, once.

    The cooldown begins at 11, and does not hold back what is more than was added.
    """
    bench = Bench(_between(300, 9000, 80, 10), start=360)

    scaler = bench.run(700, Bounds(minimum=1, maximum=99), _tracking(5))

    assert bench.steps() == [(5.0, 2), (11.0, 16)]
    assert [(a.time / 60, a.not_scaled) for a in scaler.activities] == [
        (5.0, ""),
        (6.0, "AlreadyAtDesiredCapacity"),
        (8.0, "TargetServicePutResourceAsUnscalable"),
        (11.0, ""),
    ]


def _busy(change: float, cooldown: float) -> StepScaling:
    rule = AlarmRule(
        name="Busy",
        query=MetricQuery(_PER_INSTANCE, "Sum", 60),
        comparison="GreaterThanOrEqualToThreshold",
        threshold=10.0,
        evaluation_periods=1,
    )
    steps = (
        StepAdjustment(lower=0, upper=20, change=change),
        StepAdjustment(lower=20, change=change + 2),
    )
    return StepScaling(name="Steps", alarm=rule, adjustments=steps, cooldown=cooldown)


def test_capacity_added_in_the_cooldown_counts() -> None:
    """
    Plus one at minute 3; in its cooldown plus three means two more, and not three.
    """
    bench = Bench(lambda time: 15.0 if time < 120 else 80.0)

    bench.run(360, Bounds(minimum=1, maximum=9), _busy(1, 600))

    assert bench.steps() == [(3.0, 2), (5.0, 4)]


def test_a_step_that_adds_takes_nothing_away_in_the_cooldown() -> None:
    """
    Plus three at minute 3; plus one from where that started would be two: four stay.
    """
    bench = Bench(lambda _: 80.0)

    bench.run(420, Bounds(minimum=1, maximum=9), _busy(1, 600))

    assert bench.steps() == [(3.0, 4)]


def test_a_step_that_takes_away_starts_from_what_is_there() -> None:
    """
    Minus one of four at minute 6, though the cooldown of plus three lasts.
    """
    bench = Bench(lambda time: 80.0 if time < 180 else 0.0)
    rule = AlarmRule(
        name="Quiet",
        query=MetricQuery(_PER_INSTANCE, "Sum", 60),
        comparison="LessThanThreshold",
        threshold=5.0,
        evaluation_periods=1,
    )
    fewer = StepScaling(
        name="Fewer", alarm=rule, adjustments=(StepAdjustment(upper=0, change=-1),)
    )

    bench.run(390, Bounds(minimum=1, maximum=9), _busy(1, 600), fewer)

    assert bench.steps() == [(3.0, 4), (6.0, 3)]


def test_after_the_cooldown_steps_start_anew() -> None:
    """
    Plus one again from where it stands, as long as the alarm lasts.
    """
    bench = Bench(lambda time: 15.0 * (bench.fleet.running if time else 1))

    bench.run(420, Bounds(minimum=1, maximum=9), _busy(1, 120))

    assert bench.steps() == [(3.0, 2), (5.0, 3), (7.0, 4)]


def test_tracking_counts_what_the_cooldown_added() -> None:
    """
    At minute 5 the metric is still that of one instance: two are wanted, and there.
    """
    bench = Bench(lambda time: 10.0 if time < 300 else 19.0)

    bench.run(700, Bounds(minimum=1, maximum=9), _tracking(5, out=600))

    # From minute 5 on two have 9.5 each; in the cooldown that counts for the one.
    assert bench.steps() == [(5.0, 2)]


def test_the_largest_capacity_wins() -> None:
    """
    Of two policies that both ask for more.
    """
    bench = Bench(lambda _: 20.0)

    scaler = bench.run(
        320,
        Bounds(minimum=1, maximum=9),
        _tracking(10, name="A"),
        _tracking(4, name="B"),
    )

    assert bench.steps() == [(5.0, 5)]
    assert scaler.activities[0].policy == "B"


def test_capacity_goes_when_all_policies_let_it() -> None:
    """
    One whose metric is high keeps it; one that takes none away has no say.
    """
    never = TargetTracking(
        name="C",
        query=MetricQuery(_PER_INSTANCE, "Sum", 60),
        target=100.0,
        disable_scale_in=True,
    )
    held, free = Bench(lambda _: 8.0, count=2), Bench(lambda _: 8.0, count=2)

    held.run(1200, _ONE_TO_FOUR, _tracking(100, name="A"), _tracking(4, name="B"))
    free.run(1200, Bounds(minimum=1, maximum=2), _tracking(100, name="A"), never)

    assert held.steps() == []
    assert free.steps() == [(17.0, 1)]


def test_a_scale_out_ends_the_scale_in_cooldown() -> None:
    """
    The next scale-in does not wait for what is left of it.

    By hand: nothing until minute 18, read at 17: 3. Then 30 a minute in minutes 18 to
    20, read at 23: three at 10 want 6, so 4. Nothing again from minute 21; at 38 the
    first goes, though the cooldown of an hour from minute 17 would last.
    """
    bench = Bench(_between(18 * 60, 21 * 60, 30), count=4)

    bench.run(2400, _ONE_TO_FOUR, _tracking(5, scale_in=3600))

    assert bench.steps() == [(17.0, 3), (23.0, 4), (38.0, 3)]


@pytest.mark.parametrize(
    ("count", "bounds", "step"),
    [(1, Bounds(minimum=2, maximum=4), 2), (9, Bounds(minimum=2, maximum=4), 4)],
)
def test_capacity_is_brought_inside_its_bounds(
    count: int, bounds: Bounds, step: int
) -> None:
    """
    At once, whatever the metrics say.
    """
    bench = Bench(lambda _: 0.0, count=count)

    scaler = bench.run(60, bounds)

    assert bench.steps() == [(0.0, step)]
    limit = "minimum" if step == 2 else "maximum"
    assert scaler.activities[0].cause == f"{limit} capacity was set to {step}"


def test_a_scheduled_action_sets_bounds() -> None:
    """
    Four from 8 to 18, one at night; the metric decides in between.
    """
    start = datetime(2026, 11, 23, 7, 0, tzinfo=UTC).timestamp()
    bench = Bench(lambda _: 4.6, timeline=Timeline(start))
    day = ScheduledAction(
        name="Day", schedule="cron(0 8 * * ? *)", minimum=4, maximum=4
    )
    night = ScheduledAction(
        name="Night", schedule="cron(0 18 * * ? *)", minimum=0, maximum=0
    )

    scaler = bench.run(
        86400 * 1.5, Bounds(minimum=0, maximum=0), schedules=(day, night)
    )

    hours = [((time - start) / 3600 + 7, count) for time, count in bench.fleet.log]
    assert hours == [(7.0, 0), (8.0, 4), (18.0, 0), (32.0, 4), (42.0, 0)]
    assert scaler.activities[1].cause == "scheduled action name Day was triggered"
    assert scaler.activities[1].policy == "Day"


@pytest.mark.parametrize(
    ("minimum", "maximum", "bounds"),
    [(3, None, (3, 4)), (6, None, (6, 6)), (None, 3, (2, 3)), (None, 1, (1, 1))],
)
def test_one_bound_moves_the_other_out_of_its_way(
    minimum: int | None, maximum: int | None, bounds: tuple[int, int]
) -> None:
    """
    Only as far as it must.
    """
    action = ScheduledAction(
        name="Now", schedule="rate(1 minute)", minimum=minimum, maximum=maximum
    )
    bench = Bench(lambda _: 0.0, count=2)

    scaler = bench.run(61, Bounds(minimum=2, maximum=4), schedules=(action,))

    assert (scaler.bounds.minimum, scaler.bounds.maximum) == bounds


def test_a_schedule_has_a_beginning_and_an_end() -> None:
    """
    It counts from the one, and is over after the other.
    """
    action = ScheduledAction(
        name="Grow",
        schedule="rate(10 minutes)",
        minimum=3,
        start=datetime.fromtimestamp(1000, UTC),
        end=datetime.fromtimestamp(1700, UTC),
    )
    bench = Bench(lambda _: 0.0)
    scaler = bench.run(1599, _ONE_TO_FOUR, schedules=(action,))
    assert bench.steps() == []

    bench.timeline.run_until(1600)
    assert bench.fleet.log == [(1600.0, 3)]

    scaler.bound(_ONE_TO_FOUR)
    bench.fleet.set_desired(1, "by hand")
    bench.timeline.run_until(4000)
    assert bench.fleet.log[2:] == []


@pytest.mark.parametrize(
    ("suspended", "steps"),
    [
        ("DynamicScalingOut", []),
        ("DynamicScalingIn", [(5.0, 4)]),
        ("ScheduledScaling", [(5.0, 4), (37.0, 3), (42.0, 2)]),
    ],
)
def test_what_is_suspended_does_not_happen(
    suspended: str, steps: list[tuple[float, int]]
) -> None:
    """
    In one direction, in the other, or by schedule.
    """
    bench = Bench(_between(0, 1200, 50))
    action = ScheduledAction(name="Day", schedule="at(1970-01-01T00:44:00)", minimum=4)
    fleet_bounds = Bounds(minimum=1, maximum=4)
    bench.fleet = PlainFleet(bench.timeline, 1)
    scaler = Autoscaler(
        bench.timeline, bench.fleet, fleet_bounds, [_tracking(5)], [action]
    )
    scaler.suspended = frozenset({suspended, "ScheduledScaling"})
    scaler.watch(bench.store.read, MetricDelays())
    bench.timeline.after(60, bench._publish)  # noqa: SLF001 - the test's own

    bench.timeline.run_until(2700)

    assert bench.steps() == steps


def test_bounds_wait_until_the_service_takes_them() -> None:
    """
    While a change is under way it is asked again every minute.
    """
    bench = Bench(lambda _: 0.0, start=150)
    scaler = bench.run(10, Bounds(minimum=2, maximum=4))
    scaler.bound(Bounds(minimum=3, maximum=4))

    bench.timeline.run_until(600)

    assert bench.fleet.log == [(0.0, 2), (190.0, 3)]


@pytest.mark.parametrize(("minimum", "maximum"), [(-1, 4), (3, 2)])
def test_fails_if_nothing_lies_between_bounds(minimum: int, maximum: int) -> None:
    """
    The message has both.
    """
    with pytest.raises(ValueError, match=f"minimum={minimum} and maximum={maximum}"):
        Bounds(minimum=minimum, maximum=maximum)


@pytest.mark.parametrize("name", ["start", "end"])
def test_fails_if_a_moment_has_no_time_zone(name: str) -> None:
    """
    It would be another one on each machine.
    """
    moment = datetime(2026, 1, 1)  # noqa: DTZ001 - wrong on purpose
    with pytest.raises(ValueError, match=f"{name} of scheduled action Day must have"):
        ScheduledAction(name="Day", schedule="rate(1 day)", **{name: moment})  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(("minimum", "maximum"), [(-1, None), (None, -1), (3, 2)])
def test_fails_if_a_schedule_sets_bounds_that_cannot_be(
    minimum: int | None, maximum: int | None
) -> None:
    """
    When it is written, and not when it is due.
    """
    with pytest.raises(ValueError, match=f"minimum={minimum} and maximum={maximum}"):
        ScheduledAction(
            name="Day", schedule="rate(1 day)", minimum=minimum, maximum=maximum
        )
    ScheduledAction(name="Day", schedule="rate(1 day)", minimum=0, maximum=0)


def test_a_cooldown_begins_when_the_change_is_done() -> None:
    """
    And not when an alarm asks again, be it an hour later.

    By hand: 10 in minutes 0 to 2, read at 5: two, which are there at 11. At 65 the
    cooldown of 5 minutes is long over: 40 on two, 20 each, want 2 x 20 / 5 = 8.
    """

    def load(time: float) -> float:
        if time < 300:
            return 10.0
        return 4.8 if time < 660 else 9.4 if time < 3600 else 40.0

    bench = Bench(load, start=360)

    scaler = bench.run(4000, Bounds(minimum=1, maximum=99), _tracking(5, out=300))

    assert bench.steps() == [(5.0, 2), (65.0, 8)]
    assert scaler.activities[0].completed == 660.0


def test_a_change_that_follows_at_once_does_not_hide_that_one_was_done() -> None:
    """
    It was there at 655 s, and other bounds came before anybody looked.
    """
    bench = Bench(_between(0, 300, 10), start=355)
    scaler = bench.run(656, Bounds(minimum=1, maximum=9), _tracking(5))
    scaler.bound(Bounds(minimum=3, maximum=9))

    assert bench.fleet.log == [(300.0, 2), (656.0, 3)]
    assert scaler.activities[0].completed == 656.0


def test_a_smaller_step_in_the_cooldown_takes_nothing_away() -> None:
    """
    Plus three at minute 3; plus one from where that started is less than there is.
    """
    bench = Bench(lambda time: 80.0 if time < 180 else 60.0)

    bench.run(600, Bounds(minimum=1, maximum=9), _busy(1, 600))

    assert bench.steps() == [(3.0, 4)]


def test_a_step_down_in_the_cooldown_starts_from_what_there_is() -> None:
    """
    Plus three at minute 3; from minute 6 on one less each minute, as its cooldown has.
    """
    calm = StepScaling(
        name="Calm",
        alarm=AlarmRule(
            name="Calm",
            query=MetricQuery(_PER_INSTANCE, "Sum", 60),
            comparison="LessThanThreshold",
            threshold=5.0,
            evaluation_periods=1,
        ),
        adjustments=(StepAdjustment(upper=0, change=-1),),
        cooldown=60,
    )
    bench = Bench(lambda time: 80.0 if time < 180 else 4.0)

    bench.run(600, Bounds(minimum=1, maximum=9), _busy(1, 600), calm)

    assert bench.steps() == [(3.0, 4), (6.0, 3), (7.0, 2), (8.0, 1)]


def test_what_is_refused_is_noted_once_by_policy() -> None:
    """
    However long two policies take turns; and anew after a change.
    """
    timeline = Timeline()
    policies = _tracking(5, name="A"), _tracking(5, name="B")
    fleet = PlainFleet(timeline, 4)
    scaler = Autoscaler(timeline, fleet, _ONE_TO_FOUR, policies)

    def ask() -> list[str]:
        for policy in policies * 3:
            alarm = Alarm(policy.high)
            alarm.state, alarm.latest = "ALARM", 100.0
            scaler.alarmed(policy, alarm)
            timeline.run_until(timeline.now + 60)
        return [activity.policy for activity in scaler.activities]

    assert ask() == ["A", "B"]
    scaler.bound(Bounds(minimum=1, maximum=3))
    assert ask() == ["A", "B", "", "A", "B"]


@pytest.mark.parametrize(
    ("schedule", "start", "due"),
    [
        ("at(1970-01-01T00:00:00)", None, [0.0]),
        ("cron(0 0 * * ? *)", None, [0.0, 86400.0]),
        ("cron(0 1 * * ? *)", 3600, [3600.0, 90000.0]),
        ("cron(0 1 * * ? *)", 3601, [90000.0]),
        ("rate(12 hours)", None, [43200.0, 86400.0]),
        ("rate(12 hours)", 3600, [46800.0, 90000.0]),
    ],
)
def test_the_first_moment_counts(
    schedule: str, start: float | None, due: list[float]
) -> None:
    """
    What is due when it begins happens, once.
    """
    begin = None if start is None else datetime.fromtimestamp(start, UTC)
    action = ScheduledAction(name="Now", schedule=schedule, minimum=2, start=begin)
    timeline, fleet = Timeline(), PlainFleet(Timeline(), 1)
    seen: list[float] = []

    def noted(activity: Activity) -> None:
        seen.append(activity.time)
        fleet.desired = fleet.running = 1

    Autoscaler(timeline, fleet, _ONE_TO_FOUR, schedules=[action], noted=noted)
    timeline.run_until(90000)

    assert seen == due


def _idle(bounds: Bounds) -> tuple[Timeline, PlainFleet, Autoscaler]:
    timeline = Timeline()
    fleet = PlainFleet(timeline, 1)
    return timeline, fleet, Autoscaler(timeline, fleet, bounds)


def test_a_scheduled_action_takes_the_place_of_one_of_its_name() -> None:
    """
    And one that is forgotten does not come, however often it was to.
    """
    timeline, fleet, scaler = _idle(_ONE_TO_FOUR)
    scaler.schedule(ScheduledAction(name="A", schedule="rate(1 minute)", minimum=4))
    scaler.schedule(ScheduledAction(name="A", schedule="rate(2 minutes)", minimum=2))
    scaler.schedule(ScheduledAction(name="B", schedule="rate(1 minute)", minimum=3))
    scaler.unschedule("B")
    scaler.unschedule("C")

    timeline.run_until(600)

    assert fleet.log == [(120.0, 2)]


def test_nothing_comes_after_the_end() -> None:
    """
    Neither what is scheduled nor what is to be tried again.
    """
    timeline = Timeline()
    fleet = PlainFleet(timeline, 1, start=90.0)
    scaler = Autoscaler(timeline, fleet, Bounds(minimum=1, maximum=9))
    scaler.schedule(ScheduledAction(name="A", schedule="rate(5 minutes)", minimum=9))
    scaler.bound(Bounds(minimum=2, maximum=9))
    scaler.bound(Bounds(minimum=3, maximum=9))  # Tried again in a minute.

    scaler.stop()
    timeline.run_until(3600)

    assert fleet.log == [(0.0, 2)]


def test_alarms_can_have_names_of_their_own() -> None:
    """
    As a service calls them, the high one first.
    """
    policy = TargetTracking(
        name="Traffic",
        query=MetricQuery(_PER_INSTANCE, "Sum", 60),
        target=5.0,
        alarm_names=("Up", "Down"),
    )

    assert policy.high.name == "Up"
    assert policy.low is not None
    assert policy.low.name == "Down"
