"""
Moving an endpoint to another configuration: new fleets come, serve, and take over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from cdk_sagemaker_llm.local.aws.errors import validation
from cdk_sagemaker_llm.local.hosting.definitions import variants_of
from cdk_sagemaker_llm.local.hosting.fleet import Watch, new_fleet
from cdk_sagemaker_llm.local.hosting.placement import host
from cdk_sagemaker_llm.local.hosting.states import enter, look, serves_fully, why_not
from cdk_sagemaker_llm.local.hosting.world import Deployment, Endpoint, World
from cdk_sagemaker_llm.simulation.fleet import Fleet
from cdk_sagemaker_llm.simulation.rollout import (
    Rollout,
    Stage,
    blue_green,
    rollback_batch,
    rolling,
)

# The size that each way of shifting has to have, and its percentages.
_SHIFTS = {"CANARY": ("CanarySize", 1, 50), "LINEAR": ("LinearStepSize", 10, 50)}
_BATCH = ("MaximumBatchSize", 5, 50)


def make_fleets(
    world: World,
    endpoint: str,
    config: dict[str, Any],
    watch: Watch,
    counts: dict[str, int],
) -> dict[str, Fleet]:
    """
    Ask for the instances of every variant of a configuration: as many as counted, or
    else as it starts with.
    """
    return {
        variant["VariantName"]: new_fleet(
            world,
            variant,
            endpoint=endpoint,
            watch=watch,
            instances=counts.get(variant["VariantName"]),
        )
        for variant in variants_of(config)
    }


def deploy(
    world: World,
    endpoint: Endpoint,
    *,
    config_name: str,
    config: dict[str, Any],
    counts: dict[str, int],
    guardrails: dict[str, Any],
) -> None:
    """
    Begin to move an endpoint to another configuration; where nothing takes time it has
    moved afterwards.

    Counts say of which variant how many instances there shall be, where it is not as
    many as it starts with.
    """
    first = config["ProductionVariants"][0]
    size = counts.get(first["VariantName"], first.get("InitialInstanceCount", 0))
    batches = guardrails.get("RollingUpdatePolicy")
    policy = guardrails.get("BlueGreenUpdatePolicy") or {}
    stages = rolling(batches, size) if batches else blue_green(policy, size)
    if batches:
        counts = {**counts, first["VariantName"]: stages[0].size}
    enter(endpoint, "Updating")
    watch = Watch()
    deployment = Deployment(
        config_name=config_name,
        config=config,
        fleets=make_fleets(world, endpoint.name, config, watch, counts),
        started=endpoint.modified,
    )
    for component in world.components_on(endpoint):
        fleet = deployment.fleets[component.variant_name]
        host(world, fleet, component.key, component.request, component.copies)
    endpoint.deployment = deployment
    deployment.rollout = Rollout(
        world.clock.after,
        stages,
        _Fleets(
            world,
            endpoint,
            deployment,
            batched=first["VariantName"] if batches else None,
            batches=batches,
        ),
        termination_wait=policy.get("TerminationWaitInSeconds", 0),
        limit=(batches or policy).get("MaximumExecutionTimeoutInSeconds"),
        alarm=rollback_alarm(world, guardrails),
    )
    watch.look = lambda: look(world, endpoint)
    deployment.rollout.start()


def rollback_alarm(
    world: World, guardrails: dict[str, Any]
) -> Callable[[], str | None] | None:
    """
    Return what names an alarm that goes off from now on, in the words of a rollback.

    ``None`` where a deployment watches none.
    """
    alarms = guardrails.get("AutoRollbackConfiguration", {}).get("Alarms", [])
    names = [str(alarm["AlarmName"]) for alarm in alarms]
    start = world.clock.moment

    def tripped() -> str | None:
        for name in names:
            if world.surroundings.has_gone_off(name, start):
                return (
                    f"One or more alarms were triggered during the deployment: {name}."
                )
        return None

    return tripped if names else None


class _Fleets:
    """
    The fleets that serve and those that take over.
    """

    def __init__(
        self,
        world: World,
        endpoint: Endpoint,
        deployment: Deployment,
        *,
        batched: str | None,
        batches: dict[str, Any] | None,
    ) -> None:
        self._world = world
        self._endpoint = endpoint
        self._deployment = deployment
        self._old = endpoint.fleets
        self._new = deployment.fleets
        # The variant that moves batch by batch, and how many instances it had.
        self._batched = batched
        self._size = self._old[batched].wanted_instances if batched in self._old else 0
        self._batch = rollback_batch(batches, self._size)
        # How many of the old instances a rollback has asked for.
        self._target_size = self._size
        self._why: str | None = None

    def grow(self, size: int) -> None:
        if self._batched is not None:
            self._new[self._batched].set_instances(size, "next batch")

    def is_grown(self) -> bool:
        return all(map(serves_fully, self._new.values()))

    def refusal(self) -> str | None:
        return next(filter(None, map(why_not, self._new.values())), None)

    def shift(self, stage: Stage) -> None:
        self._deployment.share = stage.share
        if self._batched in self._old:
            remaining = max(0, self._size - stage.size)
            self._old[self._batched].set_instances(remaining, "moved in a batch")

    def retreat(self, why: str) -> None:
        self._why = why
        self._deployment.share = 0.0
        enter(self._endpoint, "RollingBack", why)
        if self._batched in self._old:
            self._target_size = self._old[self._batched].wanted_instances
            self._bring_back(self._old[self._batched])

    def restore(self) -> bool:
        old = self._old.get(self._batched or "")
        if old is None or self._target_size >= self._size or not serves_fully(old):
            return False
        self._bring_back(old)
        return True

    def _bring_back(self, old: Fleet) -> None:
        self._target_size = min(self._size, self._target_size + self._batch)
        old.set_instances(self._target_size, "rolled back")

    def is_restored(self) -> bool:
        # What cannot be had is not wanted any more; a managed fleet goes on trying.
        batched = self._old.get(self._batched or "")
        if batched and not batched.managed and batched.wanted_instances < self._size:
            return False
        return all(map(serves_fully, self._old.values()))

    def is_stuck(self) -> bool:
        return any(map(why_not, self._old.values()))

    def drop(self) -> None:
        for fleet in self._new.values():
            fleet.close()

    def is_dropped(self) -> bool:
        return not any(fleet.instances for fleet in self._new.values())

    def finish(self) -> None:
        endpoint, deployment = self._endpoint, self._deployment
        endpoint.fleets, endpoint.config = deployment.fleets, deployment.config
        endpoint.config_name = deployment.config_name
        endpoint.weights = weights_of(deployment.config)
        endpoint.turns = {}
        for fleet in self._old.values():
            fleet.close()

    def is_finished(self) -> bool:
        return not any(fleet.instances for fleet in self._old.values())

    def close(self, outcome: Literal["done", "back", "stuck"]) -> None:
        self._endpoint.deployment = None
        status = "UpdateRollbackFailed" if outcome == "stuck" else "InService"
        enter(self._endpoint, status, self._why)


def weights_of(config: dict[str, Any]) -> dict[str, float]:
    """
    Return the weights that a configuration's variants start with.
    """
    return {
        v["VariantName"]: float(v.get("InitialVariantWeight", 1.0))
        for v in variants_of(config)
    }


def refuse_wrong_guardrails(
    guardrails: dict[str, Any], counts: list[int], counted: str = "instances"
) -> None:
    """
    Refuse two policies, a size that is missing or out of its bounds, batches of
    several variants, and alarms without a name.

    Args:
        counts: How many instances each variant has, or how many copies a component.

        counted: What they are.
    """
    alarms = guardrails.get("AutoRollbackConfiguration", {}).get("Alarms", [])
    if not all(alarm.get("AlarmName") for alarm in alarms):
        raise validation("AlarmName is required for every alarm to roll back by.")
    batches = guardrails.get("RollingUpdatePolicy")
    policy = guardrails.get("BlueGreenUpdatePolicy")
    if batches and policy:
        raise validation(
            "DeploymentConfig can have one of BlueGreenUpdatePolicy and "
            "RollingUpdatePolicy, not both."
        )
    if batches and len(counts) > 1:
        # docs: deployment-guardrails-exclusions.
        raise validation(
            "RollingUpdatePolicy is not supported for endpoints of several variants."
        )
    if batches:
        _refuse_wrong_size(batches, _BATCH, counts, counted)
    shift = (policy or {}).get("TrafficRoutingConfiguration", {})
    if shift.get("Type") in _SHIFTS:
        name, *_ = bounds = _SHIFTS[shift["Type"]]
        if name not in shift:
            raise validation(f"{name} is required for traffic of type {shift['Type']}.")
        _refuse_wrong_size(shift, bounds, counts, counted)


def _refuse_wrong_size(
    settings: dict[str, Any],
    bounds: tuple[str, int, int],
    counts: list[int],
    counted: str,
) -> None:
    name, low, high = bounds
    kind, value = settings[name]["Type"], settings[name]["Value"]
    whose = "the variant's" if counted == "instances" else "the inference component's"
    is_share = kind == "CAPACITY_PERCENT"
    for count in counts:
        possible = range(max(1, math.ceil(count * low / 100)), count * high // 100 + 1)
        is_within = low <= value <= high if is_share else value in possible
        # Of none, any number is too many, and none is asked for.
        if (not is_within and (is_share or count)) or (count and not possible):
            raise validation(
                f"{name} must be {low} to {high} percent of {whose} {counted}, got "
                f"{value}{' percent' if is_share else ''} of {count}."
            )
