"""
How scalable targets, their policies and schedules, and alarms are written with this
library's constructs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cdk_sagemaker_llm.adoption.code import Call, Name, call
from cdk_sagemaker_llm.adoption.hosting import seconds
from cdk_sagemaker_llm.adoption.resources import (
    ALARM,
    COMPONENT,
    ENDPOINT,
    POLICY,
    TARGET,
    AdoptedResource,
)
from cdk_sagemaker_llm.adoption.writing import Block, Form, Writer

_SELF = Name("self")
_TRACKING, _STEPS = "TargetTrackingScaling", "StepScaling"
_WAKES = "NoCapacityInvocationFailures"
_VARIANTS = "sagemaker:variant:DesiredInstanceCount"
_ADJUSTMENTS = {
    "ChangeInCapacity": "CHANGE_IN_CAPACITY",
    "PercentChangeInCapacity": "PERCENT_CHANGE_IN_CAPACITY",
    "ExactCapacity": "EXACT_CAPACITY",
}
_COMPARISONS = {
    "GreaterThanOrEqualToThreshold": "GREATER_THAN_OR_EQUAL_TO_THRESHOLD",
    "GreaterThanThreshold": "GREATER_THAN_THRESHOLD",
    "LessThanThreshold": "LESS_THAN_THRESHOLD",
    "LessThanOrEqualToThreshold": "LESS_THAN_OR_EQUAL_TO_THRESHOLD",
}
_MISSING = {
    "missing": "MISSING",
    "breaching": "BREACHING",
    "notBreaching": "NOT_BREACHING",
    "ignore": "IGNORE",
}
_LEAST_PERIOD = 60


def together(
    resources: Sequence[AdoptedResource],
) -> Iterator[Sequence[AdoptedResource]]:
    """
    Return resources in the order in which they are written, those together that one
    construct makes: a policy by steps with its alarm, and what wakes a component with
    its target.
    """
    alarms: dict[str, list[AdoptedResource]] = {}
    for one in resources:
        if one.type == ALARM:
            for arn in one.properties.get("AlarmActions", ()):
                alarms.setdefault(arn, []).append(one)
    paired: dict[str, AdoptedResource] = {}
    for one in resources:
        own = alarms.get(one.physical_id, [])
        is_step = one.type == POLICY and one.properties.get("PolicyType") == _STEPS
        # One that goes off for others too is written by itself.
        actions = own[0].properties["AlarmActions"] if len(own) == 1 else []
        if is_step and actions == [one.physical_id]:
            paired[one.physical_id] = own[0]
    waking = {
        one.scaled: one
        for one in resources
        if one.type == POLICY
        and one.physical_id in paired
        and paired[one.physical_id].properties.get("MetricName") == _WAKES
    }
    taken: set[int] = set()
    for one in resources:
        if id(one) in taken or (one.type == ALARM and one in [*paired.values()]):
            continue
        group = [one]
        if one.type == TARGET and one.scaled in waking and _reaches_zero(one):
            wake = waking[one.scaled]
            group += [wake, paired[wake.physical_id]]
        elif one.type == POLICY and one.physical_id in paired:
            group.append(paired[one.physical_id])
        taken.update(map(id, group))
        yield group


def target_form(writer: Writer, block: Block) -> Form | None:
    """
    Write a target by the method of what it scales.
    """
    target, *waking = block.resources
    kind, _, rest = target.scaled.partition("/")
    name, _, place = rest.partition("/")
    owner = writer.block_of(ENDPOINT if kind == "endpoint" else COMPONENT, name)
    if owner is None or writer.is_plain(owner):
        return None
    bounds = {
        "min_capacity": target.properties.get("MinCapacity"),
        "max_capacity": target.properties.get("MaxCapacity"),
    }
    if kind == "endpoint":
        made = call(
            f"{owner.variable}.auto_scale_instance_count",
            **bounds,
            variant_name=place.removeprefix("variant/"),
        )
    else:
        made = call(f"{owner.variable}.auto_scale_copy_count", **bounds)
    claims = [(f"{block.variable}.cfn_scalable_target", target)]
    if waking:
        claims += [
            (f"{block.variable}.waking.cfn_scaling_policy", waking[0]),
            (f"{block.variable}.waking.cfn_alarm", waking[1]),
        ]
    return Form(made, claims, [*_schedules(block, target)])


def bare_target_form(writer: Writer, block: Block) -> Form | None:
    """
    Write a target by itself, which makes nothing that wakes.
    """
    if len(block.resources) > 1:
        return None
    (target,) = block.resources
    properties = target.properties
    made = call(
        "ScalableTarget",
        _SELF,
        block.id,
        resource_id=writer.scaled(target.scaled),
        scalable_dimension=properties["ScalableDimension"],
        min_capacity=properties["MinCapacity"],
        max_capacity=properties["MaxCapacity"],
        is_asynchronous=True
        if properties["ScalableDimension"] == _VARIANTS
        and properties["MinCapacity"] == 0
        else None,
    )
    claims = [(f"{block.variable}.cfn_scalable_target", target)]
    return Form(made, claims, [*_schedules(block, target)])


def policy_form(writer: Writer, block: Block) -> Form | None:
    """
    Write a policy by the method of its target.
    """
    policy = block.resources[0]
    target = writer.block_of(TARGET, policy.scaled)
    if target is None or writer.is_plain(target):
        return None
    if policy.properties.get("PolicyType") == _TRACKING:
        return _tracking(block, policy, target)
    if len(block.resources) > 1:
        return _steps(block, policy, block.resources[1], target)
    return None


def alarm_form(_: Writer, block: Block) -> Form | None:
    """
    Write an alarm on one metric with the CDK's class.
    """
    (alarm,) = block.resources
    properties = alarm.properties
    metric = _metric(properties)
    if metric is None or properties.get("ComparisonOperator") not in _COMPARISONS:
        return None
    missing = properties.get("TreatMissingData")
    made = call(
        "cloudwatch.Alarm",
        _SELF,
        block.id,
        alarm_name=alarm.name,
        alarm_description=properties.get("AlarmDescription"),
        metric=metric,
        threshold=properties.get("Threshold"),
        evaluation_periods=properties.get("EvaluationPeriods"),
        datapoints_to_alarm=properties.get("DatapointsToAlarm"),
        comparison_operator=Name(
            "cloudwatch.ComparisonOperator."
            f"{_COMPARISONS[properties['ComparisonOperator']]}"
        ),
        treat_missing_data=Name(f"cloudwatch.TreatMissingData.{_MISSING[missing]}")
        if missing in _MISSING
        else None,
    )
    return Form(made, [(f"{block.variable}.node.default_child", alarm)])


FORMS: Mapping[str, Sequence[Callable[[Writer, Block], Form | None]]] = {
    TARGET: (target_form, bare_target_form),
    POLICY: (policy_form,),
    ALARM: (alarm_form,),
}


def _reaches_zero(target: AdoptedResource) -> bool:
    actions = [
        one.get("ScalableTargetAction") or {}
        for one in target.properties.get("ScheduledActions", ())
    ]
    return any(one.get("MinCapacity") == 0 for one in (target.properties, *actions))


def _schedules(block: Block, target: AdoptedResource) -> Iterator[tuple[str, Call]]:
    for one in target.properties.get("ScheduledActions", ()):
        action = one.get("ScalableTargetAction") or {}
        yield (
            "",
            call(
                f"{block.variable}.scale_on_schedule",
                one["ScheduledActionName"],
                schedule=one["Schedule"],
                time_zone=one.get("Timezone"),
                min_capacity=action.get("MinCapacity"),
                max_capacity=action.get("MaxCapacity"),
                start=_moment(one.get("StartTime")),
                end=_moment(one.get("EndTime")),
            ),
        )


def _moment(text: object) -> Call | None:
    return None if text is None else call("datetime.fromisoformat", text)


def _tracking(block: Block, policy: AdoptedResource, target: Block) -> Form | None:
    config = policy.properties.get("TargetTrackingScalingPolicyConfiguration") or {}
    predefined = config.get("PredefinedMetricSpecification") or {}
    custom = config.get("CustomizedMetricSpecification") or {}
    cooldowns = {
        "scale_in_cooldown": seconds(config.get("ScaleInCooldown")),
        "scale_out_cooldown": seconds(config.get("ScaleOutCooldown")),
        "disable_scale_in": config.get("DisableScaleIn") or None,
    }
    if predefined:
        made = call(
            f"{target.variable}.scale_to_track_metric",
            policy.name,
            predefined_metric=predefined["PredefinedMetricType"],
            target_value=config.get("TargetValue"),
            **cooldowns,
        )
    else:
        metric = _metric({"Period": _LEAST_PERIOD, **custom})
        if metric is None:
            return None
        made = call(
            f"{target.variable}.scale_on_metric",
            policy.name,
            metric=metric,
            target_value=config.get("TargetValue"),
            **cooldowns,
        )
    return Form(made, [(f"{block.variable}.cfn_scaling_policy", policy)])


def _steps(
    block: Block, policy: AdoptedResource, alarm: AdoptedResource, target: Block
) -> Form | None:
    config = policy.properties.get("StepScalingPolicyConfiguration") or {}
    watched = alarm.properties
    metric = _metric(watched)
    kind = config.get("AdjustmentType")
    if metric is None or kind not in _ADJUSTMENTS or "Threshold" not in watched:
        return None
    start = watched["Threshold"]
    steps = [
        call(
            "ScalingStep",
            change=one["ScalingAdjustment"],
            lower=_moved(start, one.get("MetricIntervalLowerBound")),
            upper=_moved(start, one.get("MetricIntervalUpperBound")),
        )
        for one in config.get("StepAdjustments", ())
    ]
    aggregation = config.get("MetricAggregationType")
    missing = watched.get("TreatMissingData")
    made = call(
        f"{target.variable}.scale_by_steps",
        policy.name,
        metric=metric,
        steps=steps,
        adjustment_type=Name(f"appscaling.AdjustmentType.{_ADJUSTMENTS[kind]}")
        if kind != "ChangeInCapacity"
        else None,
        cooldown=seconds(config.get("Cooldown")),
        metric_aggregation_type=Name(
            f"appscaling.MetricAggregationType.{aggregation.upper()}"
        )
        if aggregation in {"Average", "Minimum", "Maximum"}
        else None,
        min_adjustment_magnitude=config.get("MinAdjustmentMagnitude"),
        evaluation_periods=watched.get("EvaluationPeriods"),
        datapoints_to_alarm=watched.get("DatapointsToAlarm"),
        treat_missing_data=Name(f"cloudwatch.TreatMissingData.{_MISSING[missing]}")
        if missing in _MISSING
        else None,
    )
    return Form(
        made,
        [
            (f"{block.variable}.cfn_scaling_policy", policy),
            (f"{block.variable}.cfn_alarm", alarm),
        ],
    )


def _moved(start: float, bound: float | None) -> float | None:
    if bound is None:
        return None
    moved = start + bound
    return int(moved) if float(moved).is_integer() else moved


def _metric(properties: Mapping[str, Any]) -> Call | None:
    statistic = properties.get("Statistic") or properties.get("ExtendedStatistic")
    if not properties.get("MetricName") or not statistic:
        return None
    return call(
        "cloudwatch.Metric",
        namespace=properties.get("Namespace"),
        metric_name=properties["MetricName"],
        dimensions_map={
            one["Name"]: one["Value"] for one in properties.get("Dimensions", ())
        }
        or None,
        statistic=statistic,
        period=seconds(properties.get("Period")),
    )
