"""
Scaling policies of a template, and the alarms whose action they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.cli.simulating.queries import (
    UnplayableError,
    predefined,
    query_of,
)
from cdk_sagemaker_llm.cli.simulating.resources import (
    Properties,
    Resource,
    Resources,
    map_of,
    maps_of,
    number,
    shown,
    switch,
    whole,
)
from cdk_sagemaker_llm.cli.simulating.targets import Target
from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.scaling import (
    Policy,
    StepAdjustment,
    StepScaling,
    TargetTracking,
)

# AWS documents 300 s for variants and for step policies, and says nothing of
# components: they are taken alike.
_COOLDOWN = 300.0


def policies_of(
    resources: Resources, one: Resource, target: Target, alarms: list[Resource]
) -> Iterator[Policy]:
    """
    Return what a policy of a template does; several where several alarms act on it.

    Raises:
        ValueError: If it cannot be played out.
    """
    kind = one.properties.get("PolicyType")
    name = str(one.properties.get("PolicyName", one.name))
    if kind == "TargetTrackingScaling":
        yield _tracking(resources, one, name, target)
    elif kind == "StepScaling":
        mine = [each for each in alarms if _acts_on(resources, each, one)]
        if not mine:
            resources.tell(one.key, "no alarm of the app has it as its action")
        for alarm in mine:
            # One policy may be the action of several alarms.
            full_name = name if len(mine) == 1 else f"{name} ({alarm.name})"
            yield _step(resources, one, full_name, alarm)
    else:
        raise UnplayableError(f"policies of type {shown(kind)} are not simulated")


def _tracking(
    resources: Resources, one: Resource, name: str, target: Target
) -> TargetTracking:
    given = map_of(one.properties, "TargetTrackingScalingPolicyConfiguration")
    known = map_of(given, "PredefinedMetricSpecification")
    custom = map_of(given, "CustomizedMetricSpecification")
    value = number(given.get("TargetValue"))
    cooldowns = ("ScaleInCooldown", "ScaleOutCooldown")
    if not target.variant and any(key not in given for key in cooldowns):
        resources.assumed.append(
            f"{one.key} leaves a cooldown out, which AWS documents for variants alone: "
            f"{_COOLDOWN:g} s are assumed"
        )
    if value is None:
        raise UnplayableError(f"its TargetValue is {shown(given.get('TargetValue'))}")
    return TargetTracking(
        name=name,
        query=query_of(resources, custom)
        if custom
        else predefined(known.get("PredefinedMetricType"), target.dimensions),
        target=value,
        scale_in_cooldown=_cooldown(given, cooldowns[0]),
        scale_out_cooldown=_cooldown(given, cooldowns[1]),
        disable_scale_in=switch(given.get("DisableScaleIn")),
    )


def _cooldown(given: Properties, key: str) -> float:
    if key not in given:
        return _COOLDOWN
    found = number(given[key])
    if found is None:
        raise UnplayableError(f"its {key} is {shown(given[key])}")
    return found


def _acts_on(resources: Resources, alarm: Resource, policy: Resource) -> bool:
    given = alarm.properties
    actions = given.get("AlarmActions")
    if not isinstance(actions, list) or given.get("ActionsEnabled", True) in (
        False,
        "false",
    ):
        return False
    return any(resources.find(action) == policy.key for action in actions)


def _step(resources: Resources, one: Resource, name: str, alarm: Resource) -> Policy:
    given = map_of(one.properties, "StepScalingPolicyConfiguration")
    least = whole(given.get("MinAdjustmentMagnitude"))
    return StepScaling(
        name=name,
        alarm=_alarm(resources, alarm),
        adjustments=tuple(map(_adjustment, maps_of(given, "StepAdjustments"))),
        adjustment_type=str(given.get("AdjustmentType")),
        cooldown=_cooldown(given, "Cooldown"),
        minimum_magnitude=least,
    )


def _adjustment(given: Properties) -> StepAdjustment:
    change = number(given.get("ScalingAdjustment"))
    if change is None:
        raise UnplayableError(
            f"a ScalingAdjustment is {shown(given.get('ScalingAdjustment'))}"
        )
    return StepAdjustment(
        lower=number(given.get("MetricIntervalLowerBound")),
        upper=number(given.get("MetricIntervalUpperBound")),
        change=change,
    )


def _alarm(resources: Resources, one: Resource) -> AlarmRule:
    given = one.properties
    threshold, periods = (
        number(given.get("Threshold")),
        whole(given.get("EvaluationPeriods")),
    )
    if threshold is None or periods is None:
        key = "Threshold" if threshold is None else "EvaluationPeriods"
        raise UnplayableError(
            f"the {key} of its alarm {one.name} is {shown(given.get(key))}"
        )
    return AlarmRule(
        name=str(given.get("AlarmName", one.name)),
        query=query_of(resources, given),
        comparison=str(given.get("ComparisonOperator")),
        threshold=threshold,
        evaluation_periods=periods,
        datapoints_to_alarm=whole(given.get("DatapointsToAlarm")),
        treat_missing=str(given.get("TreatMissingData", "missing")),
    )
