"""
Scaling policies as clients put them, and as the engine of time carries them out.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from moto.applicationautoscaling.models import FakeApplicationAutoscalingPolicy
from moto.cloudwatch.models import Alarm as KeptAlarm
from moto.cloudwatch.models import (
    CloudWatchBackend,
    Dimension,
    Metric,
    MetricDataQuery,
    MetricStat,
)

from cdk_sagemaker_llm.simulation.from_api import target_tracking
from cdk_sagemaker_llm.simulation.metrics import PREDEFINED, SAGEMAKER
from cdk_sagemaker_llm.simulation.scaling import TargetTracking
from cdk_sagemaker_llm.simulation.scaling.policies import high_side, low_side

_MINUTE = 60


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


def queries_of(
    metrics: list[dict[str, Any]], period: int | None = None
) -> list[MetricDataQuery]:
    """
    Return what an alarm reads, with a period where the queries have none of their own.
    """
    return [_query(query, period) for query in metrics]


def _query(query: dict[str, Any], period: int | None) -> MetricDataQuery:
    stat = query.get("MetricStat")
    return MetricDataQuery(
        query_id=query["Id"],
        label=query.get("Label"),  # type: ignore[arg-type]  # moto's own calls pass None
        period=query.get("Period"),  # type: ignore[arg-type]  # the same
        # Left out, it means true; moto's answers would leave it out.
        return_data=query.get("ReturnData", True),
        expression=query.get("Expression"),
        metric_stat=None if stat is None else _stat(stat, period),
    )


def _stat(stat: dict[str, Any], period: int | None) -> MetricStat:
    metric = stat["Metric"]
    dimensions = [
        Dimension(one["Name"], one["Value"]) for one in metric.get("Dimensions") or ()
    ]
    return MetricStat(
        metric=Metric(metric.get("MetricName"), metric.get("Namespace"), dimensions),
        period=stat["Period"] if period is None else str(period),
        stat=stat["Stat"],
        unit=stat.get("Unit"),  # type: ignore[arg-type]  # moto's own calls pass None
    )
