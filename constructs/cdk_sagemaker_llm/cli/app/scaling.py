"""
How an app has its capacity scaled: targets, policies, their alarms, and schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cdk_sagemaker_llm.cli.app.hosting import App, Resource, Target
from cdk_sagemaker_llm.simulation import from_api
from cdk_sagemaker_llm.simulation.api_values import map_of, maps_of, value_text
from cdk_sagemaker_llm.simulation.from_api import UnplayableError
from cdk_sagemaker_llm.simulation.metrics import SAGEMAKER, Metric
from cdk_sagemaker_llm.simulation.publishing import (
    COMPONENT_METRICS,
    COMPONENTS,
    ENDPOINTS,
    HOST_METRICS,
)
from cdk_sagemaker_llm.simulation.scaling import (
    Bounds,
    Policy,
    ScheduledAction,
    TargetTracking,
)
from cdk_sagemaker_llm.simulation.scaling.schedules import next_time

_AUTO_SCALING = "ApplicationAutoScaling"
_COUNTED = {
    "sagemaker:variant:DesiredInstanceCount",
    "sagemaker:inference-component:DesiredCopyCount",
}
_VARIANT = frozenset({"EndpointName", "VariantName"})
_COMPONENT = frozenset({"InferenceComponentName"})
_TYPE = frozenset({"InstanceType"})
_REFERRING = {"EndpointName", "InferenceComponentName"}
_OF_EACH = frozenset(
    {
        "FirstChunkLatency",
        "FirstChunkModelLatency",
        "FirstChunkOverheadLatency",
        "Invocation4XXErrors",
        "Invocation5XXErrors",
        "InvocationModelErrors",
        "Invocations",
        "MidStreamErrors",
        "ModelLatency",
        "OverheadLatency",
    }
)
_OF_QUEUE = frozenset(
    {
        "ApproximateAgeOfOldestRequest",
        "ApproximateBacklogSize",
        "ApproximateBacklogSizePerInstance",
        "HasBacklogWithoutCapacity",
    }
)
_OF_VARIANT = {"ConcurrentRequestsPerModel", "InvocationsPerInstance"}
_OF_COMPONENT = {
    "ConcurrentRequestsPerCopy",
    "InvocationsPerCopy",
    "NoCapacityInvocationFailures",
}
# What a run records: names by namespace and dimensions.
RECORDED: Mapping[tuple[str, frozenset[str]], frozenset[str]] = {
    (SAGEMAKER, frozenset({"EndpointName"})): _OF_QUEUE,
    (SAGEMAKER, _VARIANT): _OF_EACH | _OF_VARIANT,
    (SAGEMAKER, _COMPONENT): _OF_EACH | _OF_COMPONENT,
    (ENDPOINTS, _VARIANT): HOST_METRICS,
    (ENDPOINTS, _VARIANT | _TYPE): HOST_METRICS,
    (COMPONENTS, _COMPONENT): COMPONENT_METRICS,
    (COMPONENTS, _COMPONENT | _TYPE): COMPONENT_METRICS,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Scaling:
    """
    How one target is scaled.

    Args:
        suspended: What of its scaling is switched off, by the service's names.
    """

    bounds: Bounds
    policies: tuple[Policy, ...] = ()
    schedules: tuple[ScheduledAction, ...] = ()
    suspended: tuple[str, ...] = ()


def read_scaling(app: App) -> dict[Target, Scaling]:
    """
    Read how each target of an app is scaled; what cannot be played out is told.
    """
    # None stands for one that another service has, or that was told of.
    targets: dict[str, Target | None] = {}
    found: dict[Target, Scaling] = {}
    state: dict[Target, Resource] = {}
    for one in app.of_type("ScalableTarget", _AUTO_SCALING):
        target = _target_of(app, one)
        bounds = _bounds(app, one) if target else None
        targets[one.key] = target if bounds else None
        if target is not None and bounds is not None:
            schedules = tuple(_schedules(app, one))
            found[target] = Scaling(bounds=bounds, schedules=schedules)
            state[target] = one
    policies = _policies(app, targets)
    return {
        target: _suspended(
            state[target],
            replace(scaling, policies=tuple(policies.get(target, ()))),
        )
        for target, scaling in found.items()
    }


def _suspended(one: Resource, scaling: Scaling) -> Scaling:
    off = from_api.suspended(map_of(one.properties, "SuspendedState"))
    ways = [way for way in ("DynamicScalingIn", "DynamicScalingOut") if way in off]
    policies: tuple[Policy, ...] = scaling.policies
    if len(ways) > 1:
        policies = ()
    elif "DynamicScalingIn" in ways:
        policies = tuple(
            replace(each, disable_scale_in=True)
            if isinstance(each, TargetTracking)
            else each
            for each in policies
        )
    return replace(
        scaling,
        policies=policies,
        schedules=() if "ScheduledScaling" in off else scaling.schedules,
        suspended=tuple(ways),
    )


def _target_of(app: App, one: Resource) -> Target | None:
    shape = one.properties
    if shape.get("ServiceNamespace", "sagemaker") != "sagemaker":
        return None
    dimension = shape.get("ScalableDimension")
    if str(dimension) not in _COUNTED:
        app.tell(one.key, f"scaling of {value_text(dimension)} is not simulated")
        return None
    found = app.target_of(one)
    if found is None:
        text = str(shape.get("ResourceId"))
        app.tell(one.key, f"what it scales is not known: {value_text(text)}")
    return found


def _bounds(app: App, one: Resource) -> Bounds | None:
    try:
        return from_api.bounds_of(one.properties)
    except ValueError as fault:
        app.tell(one.key, str(fault))
        return None


def _schedules(app: App, one: Resource) -> Iterator[ScheduledAction]:
    for shape in maps_of(one.properties, "ScheduledActions"):
        try:
            zone = str(shape.get("Timezone", "UTC"))
            next_time(str(shape.get("Schedule")), zone, 0.0, 0.0)
            yield from_api.scheduled_action(shape)
        except ValueError as fault:
            name = str(shape.get("ScheduledActionName", "without a name"))
            app.tell(one.key, f"scheduled action {name}: {fault}")


def _policies(
    app: App, targets: Mapping[str, Target | None]
) -> dict[Target, list[Policy]]:
    found: dict[Target, list[Policy]] = {}
    for one in app.of_type("ScalingPolicy", _AUTO_SCALING):
        target = _owner(app, one, targets)
        if target is None:
            continue
        try:
            found.setdefault(target, []).extend(_policies_of(app, one, target))
        except ValueError as fault:
            app.tell(one.key, str(fault))
    return found


def _owner(
    app: App, one: Resource, targets: Mapping[str, Target | None]
) -> Target | None:
    shape = one.properties
    if "ScalingTargetId" in shape:
        name = app.find(shape["ScalingTargetId"])
        if name not in targets:
            app.tell(one.key, "its target is not in the app")
        return targets.get(name)
    found = _target_of(app, one)
    if found is not None and found not in targets.values():
        app.tell(one.key, f"its target {found} is not in the app")
        return None
    return found


def _policies_of(app: App, one: Resource, target: Target) -> Iterator[Policy]:
    """
    Return what a policy of a template does; several where several alarms act on it.
    """
    kind = one.properties.get("PolicyType")
    name = str(one.properties.get("PolicyName", one.name))
    if kind == "TargetTrackingScaling":
        yield _tracking(app, one, name, target)
    elif kind == "StepScaling":
        alarms = app.of_type("Alarm", "CloudWatch")
        mine = [alarm for alarm in alarms if _acts_on(app, alarm, one)]
        if not mine:
            app.tell(one.key, "no alarm of the app has it as its action")
        for alarm in mine:
            # One policy may be the action of several alarms.
            full_name = name if len(mine) == 1 else f"{name} ({alarm.name})"
            steps = map_of(one.properties, "StepScalingPolicyConfiguration")
            rule = from_api.alarm_rule(alarm.properties, alarm.name, _Naming(app))
            yield from_api.step_scaling(full_name, steps, rule)
    else:
        raise UnplayableError(f"policies of type {value_text(kind)} are not simulated")


def _tracking(app: App, one: Resource, name: str, target: Target) -> TargetTracking:
    shape = map_of(one.properties, "TargetTrackingScalingPolicyConfiguration")
    if not target.variant and any(key not in shape for key in from_api.COOLDOWNS):
        app.assumed.append(
            f"{one.key} leaves a cooldown out, which AWS documents for variants alone: "
            f"{from_api.COOLDOWN:g} s are assumed"
        )
    return from_api.target_tracking(name, shape, target.dimensions, _Naming(app))


def _acts_on(app: App, alarm: Resource, policy: Resource) -> bool:
    shape = alarm.properties
    actions = shape.get("AlarmActions")
    is_silent = str(shape.get("ActionsEnabled")).lower() == "false"
    if not isinstance(actions, list) or is_silent:
        return False
    return any(app.find(action) == policy.key for action in actions)


@dataclass(frozen=True, slots=True)
class _Naming:
    """
    Names the subject of a metric as the app does, and refuses what no run computes.
    """

    app: App

    def __call__(self, metric: Metric) -> Metric:
        space, name = metric.namespace, metric.name
        dimensions = {
            key: self.app.find(value) if key in _REFERRING else value
            for key, value in metric.dimensions
        }
        if name in RECORDED.get((space, frozenset(dimensions)), ()):
            return Metric.of(space, name, dimensions)
        is_known = any(
            name in names for (other, _), names in RECORDED.items() if other == space
        )
        names = ", ".join(sorted(dimensions)) or "no dimension"
        by = f" by {names}" if is_known else ""
        raise UnplayableError(
            f"it follows {name} of {space}{by}, which no run computes"
        )
