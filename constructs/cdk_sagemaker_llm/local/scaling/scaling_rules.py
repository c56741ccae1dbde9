"""
What Application Auto Scaling refuses of targets and policies of SageMaker.

The rules are those of the API reference and of the user guide's page "Step scaling
policies"; where its words are not known they are this package's own.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from moto.applicationautoscaling.exceptions import AWSValidationException

from cdk_sagemaker_llm.simulation.api_values import moment
from cdk_sagemaker_llm.simulation.scaling.schedules import next_time

VARIANT_DIMENSION = "sagemaker:variant:DesiredInstanceCount"
CONCURRENCY_DIMENSION = "sagemaker:variant:DesiredProvisionedConcurrency"
COMPONENT_DIMENSION = "sagemaker:inference-component:DesiredCopyCount"

_VARIANT = re.compile(r"endpoint/[^/]+/variant/[^/]+")
_RESOURCES = {
    VARIANT_DIMENSION: _VARIANT,
    CONCURRENCY_DIMENSION: _VARIANT,
    COMPONENT_DIMENSION: re.compile(r"inference-component/[^/]+"),
}
# Which predefined metric belongs to which dimension: facts of the service's guide
# "endpoint-auto-scaling-add-code-define".
_METRICS = {
    VARIANT_DIMENSION: (
        "SageMakerVariantInvocationsPerInstance",
        "SageMakerVariantConcurrentRequestsPerModelHighResolution",
    ),
    CONCURRENCY_DIMENSION: ("SageMakerVariantProvisionedConcurrencyUtilization",),
    COMPONENT_DIMENSION: (
        "SageMakerInferenceComponentInvocationsPerCopy",
        "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution",
    ),
}
_CONFIGURATIONS = {
    "StepScaling": "StepScalingPolicyConfiguration",
    "TargetTrackingScaling": "TargetTrackingScalingPolicyConfiguration",
}
# botocore 1.44.5: the documentation of TargetValue.
_TARGET_VALUES = (8.515920e-109, 1.174271e108)
_RATE = re.compile(r"rate\((\d+) (minute|minutes|hour|hours|day|days)\)")
_AT = re.compile(r"at\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\)")
_STEPS = 20  # The service's quota of step adjustments.


def refuse_resource(resource_id: str, dimension: str) -> None:
    form = _RESOURCES.get(dimension)
    if form is None or not form.fullmatch(resource_id):
        raise AWSValidationException(
            "Unsupported service namespace, resource type or scalable dimension"
        )


def refuse_capacity(
    dimension: str, least: int | None, most: int | None, *, to_zero: bool
) -> None:
    """
    Refuse bounds that no target can have.

    Args:
        to_zero: Whether the target's resource can do without capacity.
    """
    if least is None or most is None:
        raise AWSValidationException(
            "Minimum capacity and maximum capacity are required to register a new "
            "scalable target"
        )
    if least < 0 or most < 0:
        raise AWSValidationException("Capacity must be greater than or equal to 0")
    if least > most:
        raise AWSValidationException(
            "Maximum capacity cannot be less than minimum capacity"
        )
    if dimension != COMPONENT_DIMENSION and not to_zero:
        if most == 0:
            raise AWSValidationException("Maximum capacity must be at least 1")
        if least == 0:
            raise AWSValidationException("Minimum capacity must be at least 1")


def refuse_configurations(request: dict[str, Any]) -> None:
    """
    Refuse a policy whose configuration is of another type than the policy.
    """
    members = [
        name for name in _CONFIGURATIONS.values() if request.get(name) is not None
    ]
    if len(members) > 1:
        raise AWSValidationException(f"Specify only one of {' and '.join(members)}")
    own = _CONFIGURATIONS.get(request.get("PolicyType", ""))
    if own and members and members != [own]:
        raise AWSValidationException(
            f"{members[0]} is not supported for policy type: {request['PolicyType']}"
        )


def refuse_policy(
    dimension: str, policy_type: str | None, policy: dict[str, Any]
) -> None:
    name = _CONFIGURATIONS.get(policy_type or "")
    if name is None:
        raise AWSValidationException(
            f"Policy type {policy_type} is not supported for scalable dimension: "
            f"{dimension}"
        )
    if not policy:
        raise AWSValidationException(
            f"{name} is required for policy type: {policy_type}"
        )
    check = _step_faults if policy_type == "StepScaling" else _tracking_faults
    for fault in check(dimension, policy):
        raise AWSValidationException(fault)


def refuse_followed(policy: dict[str, Any], others: Iterable[dict[str, Any]]) -> None:
    """
    Refuse a policy of a predefined metric that another one of the target follows.
    """
    metric = policy.get("PredefinedMetricSpecification")
    if metric and any(
        metric == each.get("PredefinedMetricSpecification") for each in others
    ):
        raise AWSValidationException(
            "Only one TargetTrackingScaling policy for a given metric specification "
            "is allowed."
        )


def _tracking_faults(dimension: str, policy: dict[str, Any]) -> Iterator[str]:
    value = policy.get("TargetValue")
    if value is None:
        yield "TargetValue is required for a target tracking scaling policy"
        return
    least, most = _TARGET_VALUES
    if not least <= value <= most:
        yield f"TargetValue must be between {least} and {most}"
    for name in ("ScaleInCooldown", "ScaleOutCooldown"):
        if policy.get(name, 0) < 0:
            yield f"{name} must be greater than or equal to 0"
    predefined = policy.get("PredefinedMetricSpecification")
    customized = policy.get("CustomizedMetricSpecification")
    if (predefined is None) == (customized is None):
        yield (
            "Specify exactly one of PredefinedMetricSpecification and "
            "CustomizedMetricSpecification"
        )
    elif predefined is not None:
        yield from _predefined_faults(dimension, predefined)
    elif customized is not None:
        yield from _customized_faults(customized)


def _predefined_faults(dimension: str, metric: dict[str, Any]) -> Iterator[str]:
    kind = metric.get("PredefinedMetricType", "")
    if kind not in _METRICS.get(dimension, ()):
        yield (
            f"Predefined metric {kind} is not supported for scalable dimension: "
            f"{dimension}"
        )
    if metric.get("ResourceLabel") is not None:
        yield f"ResourceLabel is not supported for predefined metric {kind}"


def _customized_faults(metric: dict[str, Any]) -> Iterator[str]:
    plain = [k for k in ("MetricName", "Namespace", "Statistic") if metric.get(k)]
    if metric.get("Metrics"):
        if plain:
            yield f"Specify either Metrics or {', '.join(plain)}"
        metrics = [m for m in metric["Metrics"] if m.get("ReturnData", True)]
        if len(metrics) != 1:
            yield "Exactly one of Metrics must have ReturnData set to true"
    elif len(plain) < 3:  # noqa: PLR2004 - the three above
        yield (
            "CustomizedMetricSpecification needs MetricName, Namespace and Statistic, "
            "or Metrics"
        )


def _step_faults(_: str, policy: dict[str, Any]) -> Iterator[str]:
    kind, steps = policy.get("AdjustmentType"), policy.get("StepAdjustments") or []
    if kind is None:
        yield "AdjustmentType is required for a step scaling policy"
    if policy.get("Cooldown", 0) < 0:
        yield "Cooldown must be greater than or equal to 0"
    magnitude = policy.get("MinAdjustmentMagnitude")
    if magnitude is not None and kind != "PercentChangeInCapacity":
        yield f"MinAdjustmentMagnitude is not supported for adjustment type {kind}"
    if magnitude is not None and magnitude < 1:
        yield "MinAdjustmentMagnitude must be greater than 0"
    if not 1 <= len(steps) <= _STEPS:
        yield f"Specify between 1 and {_STEPS} step adjustments"
    if kind == "ExactCapacity" and any(s["ScalingAdjustment"] < 0 for s in steps):
        yield "ScalingAdjustment must not be negative for adjustment type ExactCapacity"
    yield from _interval_faults([_interval(step) for step in steps])


def _interval(step: dict[str, Any]) -> tuple[float, float]:
    lower = step.get("MetricIntervalLowerBound")
    upper = step.get("MetricIntervalUpperBound")
    return (
        float("-inf") if lower is None else lower,
        float("inf") if upper is None else upper,
    )


def _interval_faults(intervals: list[tuple[float, float]]) -> Iterator[str]:
    infinite = float("inf")
    if (-infinite, infinite) in intervals:
        yield "A step adjustment must have a lower bound, an upper bound, or both"
    if any(lower >= upper for lower, upper in intervals):
        yield "A step adjustment's upper bound must be greater than its lower bound"
    for (_, end), (start, _) in pairwise(sorted(intervals)):
        if start < end:
            yield "Step adjustment intervals can't overlap"
        if start > end:
            yield "There must not be a gap between step adjustment intervals"
    lowers = [lower for lower, _ in intervals]
    uppers = [upper for _, upper in intervals]
    if any(-infinite < lower < 0 for lower in lowers) and -infinite not in lowers:
        yield "There must be a step adjustment with an unspecified lower bound"
    if any(0 < upper < infinite for upper in uppers) and infinite not in uppers:
        yield "There must be a step adjustment with an unspecified upper bound"


def refuse_action(
    schedule: str | None,
    timezone: str | None,
    window: tuple[Any, Any],
    action: dict[str, Any] | None,
) -> None:
    """
    Refuse an action that could never run.

    Args:
        schedule: When it runs. ``None`` for an action that keeps its schedule.

        timezone: Where the schedule's clock hangs.

        window: From when on, and until when, it runs; seconds, ISO 8601 or nothing.

        action: The bounds it sets. ``None`` for an action that keeps them.
    """
    if schedule is not None and not _is_schedule(schedule):
        raise AWSValidationException(
            f"Schedule {schedule} is not a valid at, rate or cron expression"
        )
    if timezone and not _is_timezone(timezone):
        raise AWSValidationException(f"Time zone {timezone} is not valid")
    start, end = map(_moment, window)
    if start is not None and end is not None and start >= end:
        raise AWSValidationException("StartTime must be earlier than EndTime")
    if action is None:
        return
    least, most = action.get("MinCapacity"), action.get("MaxCapacity")
    if least is None and most is None:
        raise AWSValidationException(
            "ScalableTargetAction must specify MinCapacity, MaxCapacity or both"
        )
    if min(least or 0, most or 0) < 0:
        raise AWSValidationException("Capacity must be greater than or equal to 0")
    if least is not None and most is not None and least > most:
        raise AWSValidationException(
            "Maximum capacity cannot be less than minimum capacity"
        )


def _is_schedule(text: str) -> bool:
    if found := _RATE.fullmatch(text):
        return int(found[1]) > 0
    if found := _AT.fullmatch(text):
        try:
            dt.datetime.fromisoformat(found[1])
        except ValueError:
            return False
        return True
    try:
        next_time(text, "UTC", 0.0, 0.0)
    except ValueError:
        return False
    return text.startswith("cron(")


def _is_timezone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except zoneinfo.ZoneInfoNotFoundError:
        # Where a machine has no zones at all, nobody can tell.
        return not zoneinfo.available_timezones()
    except (ValueError, OSError):
        return False
    return True


def _moment(value: float | str | None) -> dt.datetime | None:
    try:
        return moment(value)
    except ValueError as error:
        raise AWSValidationException(f"{value} is not a time") from error
