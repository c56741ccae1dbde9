"""
Scaling policies as clients put them, and as the engine of time carries them out.
"""

from __future__ import annotations

import uuid
from typing import Any

from moto.applicationautoscaling.models import FakeApplicationAutoscalingPolicy
from moto.cloudwatch.models import Alarm as KeptAlarm
from moto.cloudwatch.models import CloudWatchBackend

from cdk_sagemaker_llm.local.scaling.alarm_rules import rule_of
from cdk_sagemaker_llm.local.scaling.metric_queries import queries_of
from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.metrics import PREDEFINED, SAGEMAKER
from cdk_sagemaker_llm.simulation.scaling import (
    StepAdjustment,
    StepScaling,
    TargetTracking,
)
from cdk_sagemaker_llm.simulation.scaling.policies import high_side, low_side

_DEFAULT_COOLDOWN = 300.0
_MINUTE = 60


def put_alarms(
    cloudwatch: CloudWatchBackend,
    policy: FakeApplicationAutoscalingPolicy,
    names: list[str],
) -> list[KeptAlarm]:
    """
    Make the alarms of a policy of target tracking, as the service does.

    Args:
        cloudwatch: Where they live.

        policy: The policy.

        names: Those that the policy had before; empty for a new one.
    """
    tracking = policy.target_tracking_scaling_policy_configuration or {}
    watched = _watched(policy.resource_id, tracking)
    target = float(tracking["TargetValue"])
    period = int(watched.get("period") or _MINUTE)
    sides = {"High": high_side(target)}
    if not tracking.get("DisableScaleIn"):
        sides["Low"] = low_side(target, period)
    action = f"{policy.policy_arn}:createdBy/{uuid.uuid4()}"
    kept = {name.rpartition("-Alarm")[2].partition("-")[0]: name for name in names}
    return [
        cloudwatch.put_metric_alarm(
            name=kept.get(kind)
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
    rules = [rule_of(alarm) for alarm in policy.alarms]
    high = rules[0] if rules else None
    if high is None:
        return None
    low = rules[1] if len(rules) > 1 else None
    return TargetTracking(
        name=policy.policy_name,
        query=high.query,
        target=float(tracking["TargetValue"]),
        scale_in_cooldown=_cooldown(tracking, "ScaleInCooldown"),
        scale_out_cooldown=_cooldown(tracking, "ScaleOutCooldown"),
        disable_scale_in=low is None,
        alarm_names=(high.name, low.name if low else ""),
    )


def stepping_of(
    policy: FakeApplicationAutoscalingPolicy, rule: AlarmRule
) -> StepScaling:
    """
    Return a policy of steps, which count from the threshold of an alarm.
    """
    steps = policy.step_scaling_policy_configuration or {}
    return StepScaling(
        name=policy.policy_name,
        alarm=rule,
        adjustments=tuple(
            StepAdjustment(
                lower=step.get("MetricIntervalLowerBound"),
                upper=step.get("MetricIntervalUpperBound"),
                change=step["ScalingAdjustment"],
            )
            for step in steps.get("StepAdjustments", ())
        ),
        adjustment_type=steps.get("AdjustmentType") or "ChangeInCapacity",
        cooldown=_cooldown(steps, "Cooldown"),
        minimum_magnitude=steps.get("MinAdjustmentMagnitude"),
    )


def _cooldown(settings: dict[str, Any], name: str) -> float:
    found = settings.get(name)
    return _DEFAULT_COOLDOWN if found is None else float(found)


def _watched(resource_id: str, tracking: dict[str, Any]) -> dict[str, Any]:
    # The part of PutMetricAlarm that says which metric.
    predefined = tracking.get("PredefinedMetricSpecification")
    if predefined:
        kind = predefined["PredefinedMetricType"]
        name, statistic, period = PREDEFINED.get(kind, (kind, "Average", _MINUTE))
        return _single(
            SAGEMAKER, name, statistic, _dimensions(resource_id), period=period
        )
    custom = tracking.get("CustomizedMetricSpecification") or {}
    if custom.get("Metrics"):
        return {
            "namespace": None,
            "metric_name": None,
            "statistic": None,
            "dimensions": [],
            "period": None,
            "metric_data_queries": queries_of(custom["Metrics"], _MINUTE),
        }
    return _single(
        custom.get("Namespace", ""),
        custom.get("MetricName", ""),
        custom.get("Statistic", "Average"),
        custom.get("Dimensions") or [],
        unit=custom.get("Unit"),
    )


def _single(
    namespace: str,
    name: str,
    statistic: str,
    dimensions: list[dict[str, str]],
    *,
    period: int = _MINUTE,
    unit: str | None = None,
) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "metric_name": name,
        "statistic": statistic,
        "dimensions": dimensions,
        "period": period,
        "unit": unit,
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
