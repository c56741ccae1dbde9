"""
One scalable target: the capacity that target tracking and steps ask for, and its
alarms, schedules, cooldowns and bounds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cdk_sagemaker_llm.simulation.alarms import ALARM, Alarm, AlarmRule, Watch
from cdk_sagemaker_llm.simulation.clock import Planned, Timeline
from cdk_sagemaker_llm.simulation.metrics import MetricDelays, Reader
from cdk_sagemaker_llm.simulation.scaling.policies import (
    AT_DESIRED,
    AT_MAXIMUM,
    AT_MINIMUM,
    UNSCALABLE,
    Activity,
    Bounds,
    Policy,
    ScheduledAction,
    StepAdjustment,
    StepScaling,
    TargetTracking,
)
from cdk_sagemaker_llm.simulation.scaling.schedules import next_time

# A target that takes no change is asked again; AWS publishes no interval.
_RETRIED = 60.0
# How often it is asked whether a change is done; AWS publishes no interval either.
_ASKED = 10.0
# No scheduled action can be called that.
_CHANGE = " "
# Before the first moment at which a schedule may be due, that moment included.
_HAIR = 1e-3


class Autoscaler:
    """
    Application Auto Scaling for one scalable target.

    What the API reference of TargetTrackingScalingPolicyConfiguration and
    StepScalingPolicyConfiguration says of cooldowns, and of PutScalingPolicy of several
    policies (the largest capacity wins, in both directions), is what is done here.
    ``noted`` is called with every activity.
    """

    def __init__(
        self,
        timeline: Timeline,
        scalable: Scalable,
        bounds: Bounds,
        policies: Iterable[Policy] = (),
        schedules: Iterable[ScheduledAction] = (),
        *,
        noted: Callable[[Activity], object] = lambda _: None,
    ) -> None:
        self.bounds = bounds
        self.policies: dict[str, Policy] = {p.name: p for p in policies}
        self.activities: list[Activity] = []
        self.alarms: dict[str, Alarm] = {}
        self.suspended: frozenset[str] = frozenset()
        self._timeline = timeline
        self._scalable = scalable
        self._noted = noted
        self._out: _Cooldown | None = None
        self._in: _Cooldown | None = None
        self._open: Activity | None = None
        self._asking: list[tuple[Policy, Alarm]] = []
        self._watches: list[Watch] = []
        self._planned: dict[str, Planned] = {}
        self._refused: set[tuple[str, str]] = set()
        self._delays = MetricDelays()
        for action in schedules:
            self.schedule(action)

    def watch(self, read: Reader, delays: MetricDelays) -> None:
        """
        Evaluate the policies' alarms from now on.

        A service that evaluates alarms of its own calls ``alarmed`` instead.
        """
        self._delays = delays
        for policy in self.policies.values():
            for rule in alarms_of(policy):
                alarm = self.alarms[rule.name] = Alarm(rule)
                self._watches.append(
                    Watch(
                        self._timeline,
                        alarm,
                        read=read,
                        delay=delays.of(rule.query),
                        act=functools.partial(self.alarmed, policy),
                    )
                )
        self.bound(self.bounds)

    def stop(self) -> None:
        """
        Watch no more, and do nothing of what is planned.
        """
        for watch in self._watches:
            watch.stop()
        for planned in self._planned.values():
            planned.cancel()

    def bound(self, bounds: Bounds, policy: str = "", cause: str = "") -> None:
        """
        Take on other bounds; capacity outside them is brought inside at once.
        """
        self.bounds = bounds
        desired = self._scalable.desired
        count = bounds.clamp(desired)
        if count != desired and not self._scalable.is_settled:
            self._plan(
                "",
                self._timeline.now + _RETRIED,
                lambda: self.bound(self.bounds, policy, cause),
            )
        elif count != desired:
            limit = "minimum" if count > desired else "maximum"
            self._scale(
                Activity(
                    time=self._timeline.now,
                    before=desired,
                    after=count,
                    policy=policy,
                    cause=cause or f"{limit} capacity was set to {count}",
                )
            )

    def schedule(self, action: ScheduledAction) -> None:
        """
        Plan a scheduled action's next time, and from then on the one after it.

        It takes the place of another one of its name.
        """
        self._schedule(action, -_HAIR)

    def _schedule(self, action: ScheduledAction, since: float) -> None:
        self.unschedule(action.name)
        begin = action.start.timestamp() if action.start else self._timeline.now
        after = max(begin, self._timeline.now) + since
        due = next_time(action.schedule, action.time_zone, after, begin)
        if due is None or (action.end and due > action.end.timestamp()):
            return
        self._plan(action.name, due, lambda: self._due(action))

    def unschedule(self, name: str) -> None:
        """
        Forget a scheduled action.
        """
        planned = self._planned.pop(name, None)
        if planned is not None:
            planned.cancel()

    def _plan(self, name: str, time: float, act: Callable[[], None]) -> None:
        # The bounds' own next try has no name, and replaces the one before.
        self.unschedule(name)
        self._planned[name] = self._timeline.at(time, act)

    def alarmed(self, policy: Policy, alarm: Alarm) -> None:
        """
        Act on an alarm of a policy's, as often as the alarm asks to.

        What other alarms of the same moment ask for is heard first.
        """
        if alarm.state != ALARM or alarm.latest is None:
            return
        if not self._asking:
            self._timeline.at(self._timeline.now, self._decide)
        self._asking.append((policy, alarm))

    def _decide(self) -> None:
        self.settle()
        asking, self._asking = self._asking, []
        raised = [
            self._activity(policy, alarm, count)
            for policy, alarm in asking
            if (count := self._raised(policy, alarm)) is not None
        ]
        if raised:
            # Of several policies the one with the largest capacity wins.
            best = max(raised, key=lambda activity: activity.after)
            self._carry_out(self.policies[best.policy], best)
            return
        lowered = self._lowered()
        for policy, alarm in asking:
            if lowered is not None and _is_low(policy, alarm):
                self._carry_out(policy, self._activity(policy, alarm, lowered))
                return

    def _carry_out(self, policy: Policy, activity: Activity) -> None:
        is_out = activity.is_out
        if activity.after == activity.before:
            self._refuse(activity, self._reason(activity))
            return
        if ("DynamicScalingOut" if is_out else "DynamicScalingIn") in self.suspended:
            return
        if not is_out and self._in is not None and self._in.lasts(self._timeline.now):
            return
        if not self._scalable.is_settled:
            self._refuse(activity, UNSCALABLE)
            return
        base = self._base(activity.before)
        self._scale(activity)
        if isinstance(policy, StepScaling):
            length = policy.cooldown
        else:
            length = policy.scale_out_cooldown if is_out else policy.scale_in_cooldown
        cooldown = _Cooldown(length, activity, base)
        if is_out:
            # "the scale-in cooldown period stops and doesn't complete"
            self._out, self._in = cooldown, None
        else:
            self._in = cooldown

    def settle(self) -> None:
        """
        Note that the last change is done, if it is; cooldowns begin then.
        """
        if self._open is not None and self._scalable.is_settled:
            self._open.completed = self._timeline.now
            self._open = None

    def _activity(self, policy: Policy, alarm: Alarm, target: int) -> Activity:
        rule = alarm.rule
        late = self._delays.of(rule.query)
        return Activity(
            time=self._timeline.now,
            before=self._scalable.desired,
            after=self.bounds.clamp(target),
            policy=policy.name,
            cause=f"monitor alarm {rule.name} in state ALARM triggered policy "
            f"{policy.name}",
            value=alarm.latest,
            breached_from=self._timeline.now - late - rule.span,
            read_late=late,
        )

    def _raised(self, policy: Policy, alarm: Alarm) -> int | None:
        value = alarm.latest or 0.0
        if _is_low(policy, alarm):
            return None
        if isinstance(policy, TargetTracking):
            # What serves now is what the metric was measured over.
            count = tracked_up(policy, value, self._base(self._scalable.running))
            return max(count, self._scalable.desired)
        try:
            return self._stepped(policy, value)
        except LookupError:
            return None

    def _stepped(self, policy: StepScaling, value: float) -> int:
        # Where a scale-out started matters to what adds more, and takes nothing away.
        desired = self._scalable.desired
        count = stepped(policy, value, desired)
        if count <= desired:
            return count
        return max(stepped(policy, value, self._base(desired)), desired)

    def _base(self, now: int) -> int:
        # Capacity that a scale-out added counts towards the next one while it cools
        # down: both start from where the first one started.
        if self._out is not None and self._out.lasts(self._timeline.now):
            return self._out.base
        return now

    def _lowered(self) -> int | None:
        # Capacity goes only when every policy that takes any is ready to.
        counts = []
        for policy in self.policies.values():
            if isinstance(policy, TargetTracking) and policy.low is not None:
                low = self.alarms.get(policy.low.name)
                if low is None or low.state != ALARM or low.latest is None:
                    return None
                counts.append(tracked_down(policy, low.latest, self._scalable.desired))
        return max(counts, default=None)

    def _scale(self, activity: Activity) -> None:
        self.settle()
        self.activities.append(activity)
        self._open = activity
        self._refused.clear()
        self._scalable.set_desired(activity.after, activity.cause)
        self._noted(activity)
        self._follow()

    def _follow(self) -> None:
        # Cooldowns begin when the change is done, and not when an alarm asks again.
        self.settle()
        if self._open is not None:
            self._plan(_CHANGE, self._timeline.now + _ASKED, self._follow)

    def _reason(self, activity: Activity) -> str:
        if activity.after == self.bounds.maximum:
            return AT_MAXIMUM
        return AT_MINIMUM if activity.after == self.bounds.minimum else AT_DESIRED

    def _refuse(self, activity: Activity, reason: str) -> None:
        # Once after each change, not every minute for as long as alarms last.
        if (reason, activity.policy) in self._refused:
            return
        self._refused.add((reason, activity.policy))
        refused = replace(activity, not_scaled=reason)
        self.activities.append(refused)
        self._noted(refused)

    def _due(self, action: ScheduledAction) -> None:
        if "ScheduledScaling" not in self.suspended:
            minimum, maximum = action.minimum, action.maximum
            least = self.bounds.minimum if minimum is None else minimum
            most = self.bounds.maximum if maximum is None else maximum
            # One that is given moves the other out of its way (docs: scheduled
            # scaling, "min and max capacity").
            if maximum is None:
                most = max(least, most)
            else:
                least = min(least, most)
            what = f"scheduled action name {action.name} was triggered"
            self.bound(Bounds(minimum=least, maximum=most), action.name, what)
        self._schedule(action, 0.0)


class Scalable(Protocol):
    """
    What has a capacity: the instances of a variant, or the copies of a component.
    """

    @property
    def desired(self) -> int:
        """
        The capacity that was asked for last.
        """

    @property
    def running(self) -> int:
        """
        The capacity that serves now.
        """

    @property
    def is_settled(self) -> bool:
        """
        Whether the service takes another change: none is under way.
        """

    def set_desired(self, count: int, cause: str) -> None:
        """
        Ask for a capacity.
        """


def alarms_of(policy: Policy) -> Sequence[AlarmRule]:
    """
    Return the alarms whose action a policy is.
    """
    if isinstance(policy, TargetTracking):
        return [policy.high, *([policy.low] if policy.low else [])]
    return [policy.alarm]


def tracked_down(policy: TargetTracking, value: float, running: int) -> int:
    """
    Return the capacity after a scale-in: one less, and never too few for the target.

    AWS says that it "scales in more gradually" and publishes no amount; one at a time
    is the most cautious reading.
    """
    return max(running - 1, tracked_up(policy, value, running))


def tracked_up(policy: TargetTracking, value: float, running: int) -> int:
    """
    Return the capacity that brings the metric back to its target, in proportion.

    Nothing comes of nothing: a target at zero is not woken by target tracking (docs:
    endpoint-auto-scaling-zero-instances).
    """
    # A hair of rounding must not ask for one more.
    return math.ceil(round(running * value / policy.target, 9))


def stepped(policy: StepScaling, value: float, capacity: int) -> int:
    """
    Return the capacity that the step of a value leads to; raise ``LookupError`` where
    there is none, which the service logs and ignores.
    """
    change = _step(policy, value - policy.alarm.threshold).change
    if policy.adjustment_type == "ExactCapacity":
        return int(change)
    if policy.adjustment_type == "PercentChangeInCapacity":
        # The guide: values above 1 are rounded down, between 0 and 1 up to 1; below 0
        # the same towards zero.
        exact = capacity * change / 100
        least = policy.minimum_magnitude or 1
        size = max(least, math.floor(abs(exact))) if exact else 0
        change = math.copysign(size, exact)
    return max(0, capacity + int(change))


@dataclass(slots=True)
class _Cooldown:
    """
    The time after a change: how long, and from what capacity it started.
    """

    length: float
    activity: Activity
    base: int

    def lasts(self, now: float) -> bool:
        """
        Tell whether it is on; it begins when the change is done.
        """
        done = self.activity.completed
        return done is None or now < done + self.length


def _is_low(policy: Policy, alarm: Alarm) -> bool:
    low = policy.low if isinstance(policy, TargetTracking) else None
    return low is not None and alarm.rule.name == low.name


def _step(policy: StepScaling, distance: float) -> StepAdjustment:
    rising = policy.alarm.comparison.startswith("GreaterThan")
    for step in policy.adjustments:
        lower = -math.inf if step.lower is None else step.lower
        upper = math.inf if step.upper is None else step.upper
        # The bound towards the threshold belongs to the step (StepAdjustment, API
        # reference: lower inclusive above the threshold, upper inclusive below it).
        if rising and lower <= distance < upper:
            return step
        if not rising and lower < distance <= upper:
            return step
    raise LookupError(f"policy {policy.name} has no step for {distance:+g}")
