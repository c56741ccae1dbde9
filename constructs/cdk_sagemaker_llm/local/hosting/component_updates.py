"""
Moving a component to another specification: new copies come, old ones go.
"""

from __future__ import annotations

from typing import Any, Literal

from cdk_sagemaker_llm.local.hosting.deployments import rollback_alarm
from cdk_sagemaker_llm.local.hosting.fleet import holds
from cdk_sagemaker_llm.local.hosting.placement import host
from cdk_sagemaker_llm.local.hosting.specifications import needs_of
from cdk_sagemaker_llm.local.hosting.states import enter
from cdk_sagemaker_llm.local.hosting.world import (
    Component,
    ComponentUpdate,
    World,
    key_of,
)
from cdk_sagemaker_llm.simulation.fleet import Fleet
from cdk_sagemaker_llm.simulation.rollout import Rollout, Stage, rolling


def replace(
    world: World,
    component: Component,
    fleet: Fleet,
    request: dict[str, Any],
    copies: int,
) -> None:
    """
    Begin to replace a component's copies; where nothing takes time it has happened.
    """
    guardrails = request.get("DeploymentConfig", {})
    policy = guardrails.get("RollingUpdatePolicy")
    stages = rolling(policy, copies) if policy else (Stage(copies, 1.0, 0.0),)
    update = ComponentUpdate(
        request=request, copies=copies, version=component.version + 1
    )
    enter(component, "Updating")
    component.update = update
    update.rollout = Rollout(
        world.clock.after,
        stages,
        _Versions(world, component, update, fleet),
        limit=(policy or {}).get("MaximumExecutionTimeoutInSeconds"),
        alarm=rollback_alarm(world, guardrails),
    )
    update.rollout.start()


class _Versions:
    """
    The copies that serve and those that replace them.
    """

    def __init__(
        self,
        world: World,
        component: Component,
        update: ComponentUpdate,
        fleet: Fleet,
    ) -> None:
        self._component = component
        self._update = update
        self._fleet = fleet
        self._old = component.key
        self._new = key_of(component.name, update.version)
        self._size = fleet.desired(self._old) if self._old in fleet.names else 0
        self._why: str | None = None
        host(world, fleet, self._new, update.request, 0)

    def grow(self, size: int) -> None:
        """
        Start the next batch: beside the old copies, or in their place without room.
        """
        fleet = self._fleet
        if self._new not in fleet.names:
            return
        needs = needs_of(self._update.request, fleet.instance_types)
        more = size - fleet.desired(self._new)
        if more > 0 and fleet.shortfall(needs, more) is not None:
            self._shrink(max(0, self._size - size))
        fleet.set_copies(self._new, size, "new version")

    def is_grown(self) -> bool:
        """
        Tell whether the new copies serve.
        """
        fleet, name = self._fleet, self._new
        return name not in fleet.names or (
            fleet.is_settled(name) and fleet.serving(name) == fleet.desired(name)
        )

    def refusal(self) -> str | None:
        """
        Say why the new copies will not serve; while something moves, room may come.
        """
        fleet = self._fleet
        if self._new not in fleet.names or not fleet.is_settled():
            return None
        return fleet.refusal(self._new)

    def shift(self, stage: Stage) -> None:
        """
        Let as many old copies go as there are new ones.
        """
        self._shrink(max(0, self._size - stage.size))

    def retreat(self, why: str) -> None:
        """
        Have the old copies back.
        """
        self._why = why
        if self._new in self._fleet.names:
            self._fleet.remove(self._new)
        if self._old in self._fleet.names:
            self._fleet.set_copies(self._old, self._size, "rolled back")

    def is_back(self) -> bool:
        """
        Tell whether the old copies serve, and alone.
        """
        fleet, old = self._fleet, self._old
        serving = fleet.serving(old) if old in fleet.names else 0
        return serving == self._size and not holds(fleet, self._new)

    def is_stuck(self) -> bool:
        """
        Tell whether the old copies cannot come back.
        """
        fleet, old = self._fleet, self._old
        gone = old in fleet.names and fleet.refusal(old) is not None
        return gone and fleet.is_settled()

    def finish(self) -> None:
        """
        Let the new copies be the component's, and the old ones go.
        """
        component, update = self._component, self._update
        component.request, component.copies = update.request, update.copies
        component.version = update.version
        if self._old in self._fleet.names:
            self._fleet.remove(self._old)

    def is_finished(self) -> bool:
        """
        Tell whether the old copies are gone.
        """
        return not holds(self._fleet, self._old)

    def close(self, outcome: Literal["done", "back", "stuck"]) -> None:
        """
        Put the component into the state that it ends in.
        """
        self._component.update = None
        enter(
            self._component, "Failed" if outcome == "stuck" else "InService", self._why
        )

    def _shrink(self, copies: int) -> None:
        if self._old in self._fleet.names:
            self._fleet.set_copies(self._old, copies, "replaced")
