"""
Other settings than the app's, for one run: ``target=8``, ``scale-out-cooldown=30s``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from cdk_sagemaker_llm.cli.simulating.apps import Hosted, HostedModel
from cdk_sagemaker_llm.cli.simulating.parsing import (
    named_numbers,
    positive,
    seconds,
    whole,
)
from cdk_sagemaker_llm.cli.simulating.targets import Scaling
from cdk_sagemaker_llm.simulation.scaling import Bounds, Policy, TargetTracking

_KNOWN: Mapping[str, str] = {
    "target": "8",
    "scale-out-cooldown": "30s",
    "scale-in-cooldown": "300s",
    "min": "1",
    "max": "6",
    "instances": "2",
    "copies": "2",
    "max-instances": "8",
}


def changed(
    variants: Sequence[Hosted], flag: str, given: Sequence[str]
) -> tuple[Hosted, ...]:
    """
    Return the variants with other settings.

    Args:
        variants: As the app has them.

        flag: Where the settings are from, for messages.

        given: The settings, as ``name=value``.

    Raises:
        ValueError: If there is no such setting, or nothing that it would change.
    """
    wanted = named_numbers(flag, given, _KNOWN)
    found = tuple(_changed(one, flag, wanted) for one in variants)
    policies = {"target", "scale-out-cooldown", "scale-in-cooldown"} & wanted.keys()
    if policies and not any(_tracked(one) for one in variants):
        raise ValueError(
            f"{flag} {', '.join(sorted(policies))} changes a target tracking policy, "
            "and the app has none"
        )
    bounds = {"min", "max"} & wanted.keys()
    if bounds and not any(m.scaling for one in variants for m in one.models):
        raise ValueError(
            f"{flag} {', '.join(sorted(bounds))} changes the bounds of scaling, and "
            "the app scales nothing"
        )
    return found


def _tracked(hosted: Hosted) -> bool:
    return any(
        isinstance(policy, TargetTracking)
        for model in hosted.models
        if model.scaling
        for policy in model.scaling.policies
    )


def _changed(hosted: Hosted, flag: str, wanted: Mapping[str, str]) -> Hosted:
    models = tuple(_model(model, flag, wanted) for model in hosted.models)
    instances, most = hosted.instances, hosted.maximum
    if "instances" in wanted:
        instances = whole(f"{flag} instances", wanted["instances"], 1)
    if "max-instances" in wanted:
        most = whole(f"{flag} max-instances", wanted["max-instances"], 1)
    least = hosted.minimum
    fixed = least == hosted.instances == hosted.maximum and not hosted.managed
    scaling = models[0].scaling if models and models[0].needs is None else None
    if scaling is not None:
        least, most = scaling.bounds.minimum, scaling.bounds.maximum
    elif fixed:
        least = most = instances
    if "instances" in wanted and models and models[0].needs is None:
        models = (replace(models[0], copies=instances), *models[1:])
    return replace(
        hosted,
        instances=instances,
        minimum=min(least, instances),
        maximum=max(most, instances),
        models=models,
    )


def _model(model: HostedModel, flag: str, wanted: Mapping[str, str]) -> HostedModel:
    copies = model.copies
    if "copies" in wanted and model.needs is not None:
        copies = whole(f"{flag} copies", wanted["copies"])
    if model.scaling is None:
        return replace(model, copies=copies)
    return replace(model, copies=copies, scaling=_scaling(model.scaling, flag, wanted))


def _scaling(scaling: Scaling, flag: str, wanted: Mapping[str, str]) -> Scaling:
    bounds = scaling.bounds
    least, most = bounds.minimum, bounds.maximum
    if "min" in wanted:
        least = whole(f"{flag} min", wanted["min"])
    if "max" in wanted:
        most = whole(f"{flag} max", wanted["max"], 1)
    if least > most:
        raise ValueError(f"{flag} must leave min at most max, got {least} and {most}")
    return replace(
        scaling,
        bounds=Bounds(minimum=least, maximum=most),
        policies=tuple(_policy(each, flag, wanted) for each in scaling.policies),
    )


def _policy(policy: Policy, flag: str, wanted: Mapping[str, str]) -> Policy:
    if not isinstance(policy, TargetTracking):
        return policy

    def given(name: str, read: Callable[[str, str], float], otherwise: float) -> float:
        return read(f"{flag} {name}", wanted[name]) if name in wanted else otherwise

    return replace(
        policy,
        target=given("target", positive, policy.target),
        scale_out_cooldown=given(
            "scale-out-cooldown", seconds, policy.scale_out_cooldown
        ),
        scale_in_cooldown=given("scale-in-cooldown", seconds, policy.scale_in_cooldown),
    )
