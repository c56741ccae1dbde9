"""
How an app has its capacity scaled: bounds, policies, alarms and schedules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from cdk_sagemaker_llm.cli.simulating.policies import policies_of
from cdk_sagemaker_llm.cli.simulating.resources import (
    Resource,
    Resources,
    map_of,
    maps_of,
    shown,
    switch,
    whole,
)
from cdk_sagemaker_llm.cli.simulating.targets import Scaling, Target
from cdk_sagemaker_llm.simulation.scaling import (
    Bounds,
    Policy,
    ScheduledAction,
    TargetTracking,
)
from cdk_sagemaker_llm.simulation.scaling.schedules import next_time

_AUTO_SCALING = "ApplicationAutoScaling"
# Both names may be ARNs that end in the name proper, or references with a / inside.
_VARIANT = re.compile(r"endpoint/(?P<endpoint>.+)/variant/(?P<variant>[^/]+)\Z")
_COMPONENT = re.compile(r"inference-component/(?P<component>.+)\Z")
_COUNTED = {
    "sagemaker:variant:DesiredInstanceCount",
    "sagemaker:inference-component:DesiredCopyCount",
}


def read_scaling(resources: Resources) -> dict[Target, Scaling]:
    """
    Read how each target of an app is scaled; what cannot be played out is told.
    """
    # None stands for one that another service has, or that was told of.
    targets: dict[str, Target | None] = {}
    found: dict[Target, Scaling] = {}
    state: dict[Target, Resource] = {}
    for one in resources.of_type("ScalableTarget", _AUTO_SCALING):
        target = _target_of(resources, one)
        bounds = _bounds(resources, one) if target else None
        targets[one.key] = target if bounds else None
        if target is not None and bounds is not None:
            schedules = tuple(_schedules(resources, one))
            found[target] = Scaling(bounds=bounds, schedules=schedules)
            state[target] = one
    policies = _policies(resources, targets)
    return {
        target: _suspended(
            state[target],
            replace(scaling, policies=tuple(policies.get(target, ()))),
        )
        for target, scaling in found.items()
    }


def _suspended(one: Resource, scaling: Scaling) -> Scaling:
    """
    Leave out what is switched off.
    """
    state = map_of(one.properties, "SuspendedState")
    is_in, is_out, schedules = (
        switch(state.get(f"{what}Suspended"))
        for what in ("DynamicScalingIn", "DynamicScalingOut", "ScheduledScaling")
    )
    policies: tuple[Policy, ...] = scaling.policies
    if is_in and is_out:
        policies = ()
    elif is_in or is_out:
        policies = tuple(
            replace(each, disable_scale_in=is_in)
            if isinstance(each, TargetTracking) and is_in
            else each
            for each in policies
        )
    off = {"DynamicScalingIn": is_in, "DynamicScalingOut": is_out}
    return replace(
        scaling,
        policies=policies,
        schedules=() if schedules else scaling.schedules,
        suspended=tuple(name for name, is_off in off.items() if is_off),
    )


def _target_of(resources: Resources, one: Resource) -> Target | None:
    given = one.properties
    if given.get("ServiceNamespace", "sagemaker") != "sagemaker":
        return None
    dimension = given.get("ScalableDimension")
    if str(dimension) not in _COUNTED:
        resources.tell(one.key, f"scaling of {shown(dimension)} is not simulated")
        return None
    text = str(given.get("ResourceId"))
    variant = _VARIANT.search(text)
    if variant is not None:
        return Target(resources.find(variant["endpoint"]), variant["variant"])
    component = _COMPONENT.search(text)
    if component is not None:
        return Target(resources.find(component["component"]))
    resources.tell(one.key, f"what it scales is not known: {shown(text)}")
    return None


def _bounds(resources: Resources, one: Resource) -> Bounds | None:
    given = {key: one.properties.get(key) for key in ("MinCapacity", "MaxCapacity")}
    least, most = map(whole, given.values())
    if least is None or most is None:
        open_ = next(key for key, value in given.items() if whole(value) is None)
        resources.tell(one.key, f"its {open_} is {shown(given[open_])}")
        return None
    try:
        return Bounds(minimum=least, maximum=most)
    except ValueError as fault:
        resources.tell(one.key, str(fault))
        return None


def _schedules(resources: Resources, one: Resource) -> Iterator[ScheduledAction]:
    for given in maps_of(one.properties, "ScheduledActions"):
        name = str(given.get("ScheduledActionName", "without a name"))
        bounds = map_of(given, "ScalableTargetAction")
        zone = str(given.get("Timezone", "UTC"))
        try:
            next_time(str(given.get("Schedule")), zone, 0.0, 0.0)
            yield ScheduledAction(
                name=name,
                schedule=str(given.get("Schedule")),
                time_zone=zone,
                minimum=whole(bounds.get("MinCapacity")),
                maximum=whole(bounds.get("MaxCapacity")),
                start=_moment(given.get("StartTime")),
                end=_moment(given.get("EndTime")),
            )
        except ValueError as fault:
            resources.tell(one.key, f"scheduled action {name}: {fault}")


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    found = datetime.fromisoformat(str(value))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _policies(
    resources: Resources, targets: Mapping[str, Target | None]
) -> dict[Target, list[Policy]]:
    alarms = list(resources.of_type("Alarm", "CloudWatch"))
    found: dict[Target, list[Policy]] = {}
    for one in resources.of_type("ScalingPolicy", _AUTO_SCALING):
        target = _owner(resources, one, targets)
        if target is None:
            continue
        try:
            found.setdefault(target, []).extend(
                policies_of(resources, one, target, alarms)
            )
        except ValueError as fault:
            resources.tell(one.key, str(fault))
    return found


def _owner(
    resources: Resources, one: Resource, targets: Mapping[str, Target | None]
) -> Target | None:
    given = one.properties
    if "ScalingTargetId" in given:
        name = resources.find(given["ScalingTargetId"])
        if name not in targets:
            resources.tell(one.key, "its target is not in the app")
        return targets.get(name)
    found = _target_of(resources, one)
    if found is not None and found not in targets.values():
        resources.tell(one.key, f"its target {found} is not in the app")
        return None
    return found
