"""
The scalable targets of a region and their policies: what scales them, and the log of
their activities.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from moto.applicationautoscaling.models import (
    FakeApplicationAutoscalingPolicy,
    FakeScalableTarget,
    FakeScheduledAction,
)
from moto.cloudwatch.models import Alarm as KeptAlarm
from moto.cloudwatch.models import (
    CloudWatchBackend,
    Dimension,
    Metric,
    MetricDataQuery,
    MetricStat,
)

from cdk_sagemaker_llm.local.hosting.service import SageMaker
from cdk_sagemaker_llm.local.scaling.capacity import capacity_of
from cdk_sagemaker_llm.local.scaling.scaling_rules import CONCURRENCY_DIMENSION
from cdk_sagemaker_llm.simulation.alarms import Alarm
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.from_api import (
    bounds_of,
    scheduled_action,
    step_scaling,
    suspended,
    target_tracking,
)
from cdk_sagemaker_llm.simulation.metrics import PREDEFINED, SAGEMAKER
from cdk_sagemaker_llm.simulation.scaling import (
    Activity,
    Autoscaler,
    Bounds,
    TargetTracking,
)
from cdk_sagemaker_llm.simulation.scaling.policies import (
    AT_DESIRED,
    AT_MAXIMUM,
    AT_MINIMUM,
    high_side,
    low_side,
)

NAMESPACE = "sagemaker"
"""What Application Auto Scaling calls the service."""

_MINUTE = 60
# What a reason for not scaling tells beside its code.
_CAPACITIES = {
    AT_MAXIMUM: "MaxCapacity",
    AT_MINIMUM: "MinCapacity",
    AT_DESIRED: "CurrentCapacity",
}
_REMEMBERED = 10_000  # Activities, of all targets together; AWS keeps six weeks.

Key = tuple[str, str]  # A resource id and its dimension.


@dataclass(kw_only=True, slots=True)
class ScalingEntry:
    """
    One activity of one scalable target.
    """

    activity: Activity
    resource_id: str
    dimension: str
    noun: str  # What the service calls the capacity.
    refusal: str = ""  # Why SageMaker refused it.
    reached: int | None = None  # What capacity there was when it was over.
    identity: str = field(default_factory=lambda: str(uuid.uuid4()))

    def as_answer(self) -> dict[str, Any]:
        activity = self.activity
        answer: dict[str, Any] = {
            "ActivityId": self.identity,
            "ServiceNamespace": "sagemaker",
            "ResourceId": self.resource_id,
            "ScalableDimension": self.dimension,
            "Cause": activity.cause,
            "StartTime": activity.time,
        }
        if activity.not_scaled:
            capacity = _CAPACITIES.get(activity.not_scaled)
            capacities = {capacity: activity.after} if capacity else {}
            return {
                **answer,
                "Description": "Attempting to scale due to alarm triggered",
                "StatusCode": "Failed",
                "NotScaledReasons": [{"Code": activity.not_scaled, **capacities}],
            }
        goal = f"{self.noun} count to {activity.after}"
        outcome = f"Successfully set desired {goal}."
        answer["Description"] = f"Setting desired {goal}."
        if self.refusal:
            code, message = "Failed", f"Failed to set desired {goal}."
            message = f"{message} Reason: {self.refusal}"
            answer["Details"] = self.refusal
            answer["EndTime"] = activity.time
        elif activity.completed is None:
            code = "InProgress"
            message = f"{outcome} Waiting for change to be fulfilled by sagemaker."
        elif self.reached in {None, activity.after}:
            code = "Successful"
            message = f"{outcome} Change successfully fulfilled by sagemaker."
            answer["EndTime"] = activity.completed
        else:
            code = "Unfulfilled"
            message = f"{outcome} Change was not fulfilled by sagemaker."
            answer["EndTime"] = activity.completed
        return {**answer, "StatusCode": code, "StatusMessage": message}


class Target:
    """
    One scalable target, and what the engine of time does with it.
    """

    def __init__(
        self,
        timeline: Timeline,
        hosting: SageMaker,
        kept: FakeScalableTarget,
        log: deque[ScalingEntry],
    ) -> None:
        self.kept = kept
        self._capacity = capacity_of(hosting, kept.resource_id)
        self._log = log
        self._open: ScalingEntry | None = None
        self.scaler = Autoscaler(
            timeline, self._capacity, _bounds(kept), noted=self._note
        )
        self.take_over()

    def take_over(self) -> None:
        """
        Take the bounds, and what is suspended, from what the client has registered.
        """
        state: Any = self.kept.suspended_state or {}
        self.scaler.suspended = suspended(state)
        self.scaler.bound(_bounds(self.kept))

    def schedule(self, action: FakeScheduledAction) -> None:
        """
        Plan a scheduled action, unless its cron has what the engine does not read.
        """
        settings: dict[str, Any] = {
            "ScheduledActionName": action.scheduled_action_name,
            "Schedule": action.schedule,
            "Timezone": action.timezone,
            "ScalableTargetAction": action.scalable_target_action or {},
            "StartTime": action.start_time,
            "EndTime": action.end_time,
        }
        try:
            self.scaler.schedule(scheduled_action(settings))
        except ValueError:
            self.scaler.unschedule(action.scheduled_action_name)

    def settle(self) -> None:
        """
        Notice that a change is over, and that a schedule has moved the bounds.
        """
        self.scaler.settle()
        entry = self._open
        if entry is not None and entry.activity.completed is not None:
            entry.reached = self._capacity.running
            self._open = None
        self.kept.min_capacity = self.scaler.bounds.minimum
        self.kept.max_capacity = self.scaler.bounds.maximum

    def _note(self, activity: Activity) -> None:
        # The engine remembers for ever; the log here has an end.
        del self.scaler.activities[:-_REMEMBERED]
        entry = ScalingEntry(
            activity=activity,
            resource_id=self.kept.resource_id,
            dimension=self.kept.scalable_dimension,
            noun=self._capacity.noun,
            refusal="" if activity.not_scaled else self._capacity.refusal,
        )
        self._log.append(entry)
        if not activity.not_scaled and not entry.refusal:
            self._open = entry


class Targets:
    """
    Every scalable target of SageMaker's in a region.
    """

    def __init__(self, timeline: Timeline, hosting: SageMaker) -> None:
        self._timeline = timeline
        self._hosting = hosting
        self._targets: dict[Key, Target] = {}
        self._policies: dict[str, FakeApplicationAutoscalingPolicy] = {}
        self._log: deque[ScalingEntry] = deque(maxlen=_REMEMBERED)

    def register(self, kept: FakeScalableTarget) -> None:
        """
        Take on a target, or its new settings; nothing scales serverless variants.
        """
        if kept.scalable_dimension == CONCURRENCY_DIMENSION:
            return
        key = kept.resource_id, kept.scalable_dimension
        if key in self._targets:
            self._targets[key].take_over()
        else:
            self._targets[key] = Target(self._timeline, self._hosting, kept, self._log)

    def deregister(self, key: Key) -> None:
        target = self._targets.pop(key, None)
        if target is not None:
            target.scaler.stop()

    def put_policy(self, policy: FakeApplicationAutoscalingPolicy) -> None:
        """
        Carry out a policy from now on, in the place of one of its name.
        """
        self.delete_policy(policy)
        self._policies[policy.policy_arn] = policy
        tracking = None
        if policy.policy_type == "TargetTrackingScaling":
            tracking = tracking_of(policy)
        target = self._of(policy)
        if target is not None and tracking is not None:
            target.scaler.policies[policy.policy_name] = tracking

    def delete_policy(self, policy: FakeApplicationAutoscalingPolicy) -> None:
        """
        Carry out a policy no more.
        """
        self._policies.pop(policy.policy_arn, None)
        target = self._of(policy)
        if target is not None:
            target.scaler.policies.pop(policy.policy_name, None)
            for alarm in policy.alarms:
                target.scaler.alarms.pop(alarm.name, None)

    def schedule(self, action: FakeScheduledAction) -> None:
        target = self._targets.get((action.resource_id, action.scalable_dimension))
        if target is not None:
            target.schedule(action)

    def unschedule(self, key: Key, name: str) -> None:
        target = self._targets.get(key)
        if target is not None:
            target.scaler.unschedule(name)

    def act(self, action: str, alarm: Alarm) -> None:
        """
        Carry out an alarm's action, if it is one of the policies.
        """
        arn = action.partition(":createdBy/")[0]
        policy = self._policies.get(arn)
        target = None if policy is None else self._of(policy)
        if policy is None or target is None:
            return
        scaler = target.scaler
        scaler.alarms[alarm.rule.name] = alarm
        if policy.policy_type == "StepScaling":
            steps = policy.step_scaling_policy_configuration or {}
            name = policy.policy_name
            scaler.policies[name] = step_scaling(name, steps, alarm.rule)
        found = scaler.policies.get(policy.policy_name)
        if found is not None:
            scaler.alarmed(found, alarm)

    def settle(self) -> None:
        for target in self._targets.values():
            target.settle()

    def entries(self) -> Iterator[ScalingEntry]:
        """
        Return what was done, the newest first.
        """
        self.settle()
        return reversed(self._log)

    def _of(self, policy: FakeApplicationAutoscalingPolicy) -> Target | None:
        return self._targets.get((policy.resource_id, policy.scalable_dimension))


def _bounds(kept: FakeScalableTarget) -> Bounds:
    least, most = kept.min_capacity or 0, kept.max_capacity or 0
    return bounds_of({"MinCapacity": least, "MaxCapacity": most})


def put_alarms(
    cloudwatch: CloudWatchBackend,
    policy: FakeApplicationAutoscalingPolicy,
    names: list[str],
) -> list[KeptAlarm]:
    """
    Make the alarms of a policy of target tracking, under the names they had before.
    """
    tracking = policy.target_tracking_scaling_policy_configuration or {}
    watched = _watched(policy.resource_id, tracking)
    target = float(tracking["TargetValue"])
    period = int(watched.get("period") or _MINUTE)
    sides = {"High": high_side(target)}
    if not tracking.get("DisableScaleIn"):
        sides["Low"] = low_side(target, period)
    action = f"{policy.policy_arn}:createdBy/{uuid.uuid4()}"
    names_by_kind = {
        name.rpartition("-Alarm")[2].partition("-")[0]: name for name in names
    }
    return [
        cloudwatch.put_metric_alarm(
            name=names_by_kind.get(kind)
            or f"TargetTracking-{policy.resource_id}-Alarm{kind}-{uuid.uuid4()}",
            comparison_operator=side.comparison,
            evaluation_periods=side.points,
            threshold=side.threshold,
            description="DO NOT EDIT OR DELETE. For TargetTrackingScaling policy "
            f"{action}.",
            alarm_actions=[action],
            **watched,
        )
        for kind, side in sides.items()
    ]


def tracking_of(policy: FakeApplicationAutoscalingPolicy) -> TargetTracking | None:
    """
    Return a policy of target tracking with the alarms that were made for it.

    ``None`` if its metric cannot be computed here.
    """
    tracking = policy.target_tracking_scaling_policy_configuration or {}
    if not policy.alarms:
        return None
    dimensions = {
        each["Name"]: each["Value"] for each in _dimensions(policy.resource_id)
    }
    try:
        found = target_tracking(policy.policy_name, tracking, dimensions)
    except ValueError:
        return None
    high, low = [*(alarm.name for alarm in policy.alarms), ""][:2]
    return replace(found, alarm_names=(high, low))


def _watched(resource_id: str, tracking: dict[str, Any]) -> dict[str, Any]:
    # The part of PutMetricAlarm that says which metric.
    predefined = tracking.get("PredefinedMetricSpecification")
    if predefined:
        kind = predefined["PredefinedMetricType"]
        name, statistic, period = PREDEFINED.get(kind, (kind, "Average", _MINUTE))
        return {
            "namespace": SAGEMAKER,
            "metric_name": name,
            "statistic": statistic,
            "dimensions": _dimensions(resource_id),
            "period": period,
        }
    custom = tracking.get("CustomizedMetricSpecification") or {}
    if custom.get("Metrics"):
        unset = dict.fromkeys(("namespace", "metric_name", "statistic", "period"))
        queries = queries_of(custom["Metrics"], _MINUTE)
        return {**unset, "dimensions": [], "metric_data_queries": queries}
    return {
        "namespace": custom.get("Namespace", ""),
        "metric_name": custom.get("MetricName", ""),
        "statistic": custom.get("Statistic", "Average"),
        "dimensions": custom.get("Dimensions") or [],
        "period": _MINUTE,
        "unit": custom.get("Unit"),
    }


def _dimensions(resource_id: str) -> list[dict[str, str]]:
    kind, _, rest = resource_id.partition("/")
    if kind == "inference-component":
        return [{"Name": "InferenceComponentName", "Value": rest}]
    endpoint, _, variant = rest.split("/")
    return [
        {"Name": "EndpointName", "Value": endpoint},
        {"Name": "VariantName", "Value": variant},
    ]


def queries_of(
    metrics: list[dict[str, Any]], period: int | None = None
) -> list[MetricDataQuery]:
    """
    Return what an alarm reads, with a period where the queries have none of their own.
    """
    return [_query(query, period) for query in metrics]


def _query(query: dict[str, Any], period: int | None) -> MetricDataQuery:
    stat, read = query.get("MetricStat"), None
    if stat is not None:
        metric = stat["Metric"]
        each = metric.get("Dimensions") or ()
        dimensions = [Dimension(one["Name"], one["Value"]) for one in each]
        read = MetricStat(
            Metric(metric.get("MetricName"), metric.get("Namespace"), dimensions),
            period=stat["Period"] if period is None else str(period),
            stat=stat["Stat"],
            unit=stat.get("Unit"),
        )
    return MetricDataQuery(
        query_id=query["Id"],
        label=query.get("Label"),  # type: ignore[arg-type]  # moto's own calls pass None
        period=query.get("Period"),  # type: ignore[arg-type]  # the same
        # Left out, it means true; moto's answers would leave it out.
        return_data=query.get("ReturnData", True),
        expression=query.get("Expression"),
        metric_stat=read,
    )
