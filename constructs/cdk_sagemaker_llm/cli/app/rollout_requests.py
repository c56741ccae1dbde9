"""
What the service would refuse of how an app's endpoints are updated, by what its
templates say alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.cli.app.hosting import App, EndpointConfig, Resource
from cdk_sagemaker_llm.cli.app.request_values import Refusal, literal, within
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.rules import (
    CANARY_PERCENT,
    EXCLUDED,
    LINEAR_PERCENT,
    ROLLING_PERCENT,
    ROLLOUT_SECONDS,
    SMALL_FLEET,
    UNWATCHED,
    WAIT_SECONDS,
    WAITS_TOO_LONG,
)
from cdk_sagemaker_llm.simulation.api_values import (
    Shape,
    is_open,
    map_of,
    maps_of,
    number,
    whole,
)

# What says which part of the fleet moves at a time, and the bounds of that in per cent.
_PARTS = {
    "CANARY": ("CanarySize", CANARY_PERCENT),
    "LINEAR": ("LinearStepSize", LINEAR_PERCENT),
    "ROLLING": ("MaximumBatchSize", ROLLING_PERCENT),
}
_LEAST_FLEET = 2


def rollout_refusals(app: App) -> list[Refusal]:
    """
    Return what is wrong with how each endpoint of an app is updated; nothing for those
    that are right.
    """
    found = [Refusal(one, list(_rollout(app, one))) for one in app.of_type("Endpoint")]
    return [one for one in found if one.findings]


def _rollout(app: App, endpoint: Resource) -> Iterator[Finding]:
    shape = map_of(endpoint.properties, "DeploymentConfig")
    config = app.config_of(endpoint)
    rolling = map_of(shape, "RollingUpdatePolicy")
    policy = rolling or map_of(shape, "BlueGreenUpdatePolicy")
    routing = map_of(policy, "TrafficRoutingConfiguration")
    kind = "ROLLING" if rolling else str(routing.get("Type", ""))
    waits = rolling or routing
    yield from within("WaitIntervalInSeconds", waits, WAIT_SECONDS)
    yield from within("TerminationWaitInSeconds", policy, WAIT_SECONDS)
    yield from within("MaximumExecutionTimeoutInSeconds", policy, ROLLOUT_SECONDS)
    yield from _waits(shape, policy, waits, kind)
    if kind not in _PARTS:
        return
    key, bounds = _PARTS[kind]
    size = map_of(waits, key)
    if literal(size.get("Type")) == "CAPACITY_PERCENT":
        yield from within("Value", size, bounds)
    if config is not None:
        yield from _fleet(app, endpoint, config, kind)


def _waits(shape: Shape, policy: Shape, waits: Shape, kind: str) -> Iterator[Finding]:
    """
    Check that the waits end before the whole has to, and that alarms see anything.
    """
    between, last = waits.get("WaitIntervalInSeconds", 0), 0.0
    if kind != "ROLLING":
        last = policy.get("TerminationWaitInSeconds", 0)
    if any(is_open(one) or number(one) is None for one in (between, last)):
        return
    waited = (number(between) or 0.0) * (kind in _PARTS) + (number(last) or 0.0)
    limit = number(policy.get("MaximumExecutionTimeoutInSeconds"))
    if limit is not None and limit <= waited:
        yield WAITS_TOO_LONG.finding(
            f"MaximumExecutionTimeoutInSeconds must be above the {waited:g} seconds "
            f"that the update waits at least, got {limit:g}",
            "leave time for instances to start as well, or wait less",
        )
    alarms = maps_of(map_of(shape, "AutoRollbackConfiguration"), "Alarms")
    if alarms and policy and not waited:
        yield UNWATCHED.finding(
            "AutoRollbackConfiguration is watched while the update waits, and it waits "
            "0 seconds",
            "wait for some minutes: alarms see what happened a few minutes later",
        )


def _fleet(
    app: App, endpoint: Resource, config: EndpointConfig, kind: str
) -> Iterator[Finding]:
    """
    Check that the kind and the number of the instances let them move in parts.
    """
    if kind == "ROLLING" and len(config.variants) > 1:
        yield EXCLUDED.finding(
            "RollingUpdatePolicy is for endpoints of one variant, got "
            f"{len(config.variants)}",
            "use BlueGreenUpdatePolicy",
        )
    types = {
        literal(choice.instance_type)
        for variant in config.variants
        for choice in variant.choices
    }
    yield from (
        EXCLUDED.finding(
            f"{kind} is not for {name}: Inf1 moves all at once", "use ALL_AT_ONCE"
        )
        for name in sorted(filter(None, types))
        if name.startswith("ml.inf1.")
    )
    scaled = {
        str(target.variant)
        for one in app.of_type("ScalableTarget", "ApplicationAutoScaling")
        if (target := app.target_of(one)) is not None and target.name == endpoint.key
    }
    for variant in config.variants:
        is_managed = bool(map_of(variant.shape, "ManagedInstanceScaling"))
        count = whole(variant.shape.get("InitialInstanceCount"))
        # What scaling or components decide, the template does not tell.
        if is_managed or variant.name in scaled or count is None:
            continue
        if 0 < count < _LEAST_FLEET:
            yield SMALL_FLEET.finding(
                f"{kind} moves at most half of the instances at a time, and variant "
                f"{variant.name!r} has {count}",
                f"have at least {_LEAST_FLEET} instances, or move ALL_AT_ONCE",
            )
