"""
Moving copies together, so that instances can go.
"""

from __future__ import annotations

from cdk_sagemaker_llm.fit.placement import Capacity
from cdk_sagemaker_llm.simulation.clock import Planned
from cdk_sagemaker_llm.simulation.fleet.copies import Copies
from cdk_sagemaker_llm.simulation.fleet.journal import Journal
from cdk_sagemaker_llm.simulation.fleet.parts import Instance, ScaleIn
from cdk_sagemaker_llm.simulation.fleet.placing import moves_off
from cdk_sagemaker_llm.simulation.fleet.racks import Racks


class Consolidation:
    """
    The CONSOLIDATION strategy of managed instance scaling.

    A copy serves in its new place before it leaves the old one.
    """

    def __init__(
        self, journal: Journal, racks: Racks, copies: Copies, policy: ScaleIn | None
    ) -> None:
        self._journal = journal
        self._racks = racks
        self._copies = copies
        wanted = policy is not None and policy.strategy == "CONSOLIDATION"
        self._policy = policy if wanted else None
        self._planned: Planned | None = None
        # Instances whose copies are on their way to others.
        self._emptying: list[Instance] = []

    def look(self) -> None:
        """
        Look for instances to free when nothing has changed for the cooldown.
        """
        if self._policy is None:
            return
        if self._planned is not None:
            self._planned.cancel()
        self._planned = self._journal.timeline.after(
            self._policy.cooldown, self._consolidate
        )

    def cancel(self) -> None:
        """
        Leave copies where they are: something else is wanted now.
        """
        for instance in self._emptying:
            if instance.state == "leaving":
                instance.state = "running"
        self._emptying = []
        for instance in self._racks.instances[:]:
            for copy in instance.copies[:]:
                if copy.replaces is not None:
                    self._copies.take(copy, "not moved after all")

    def _consolidate(self) -> None:
        self._planned = None
        if self._policy is None or not self._copies.is_settled():
            return
        self._emptying = []
        racks = self._racks
        frees = {i: i.free for i in racks.usable if i.copies}
        step = min(self._policy.maximum_step, racks.running - racks.minimum)
        for instance in sorted(racks.usable, key=lambda i: len(i.copies)):
            if len(self._emptying) < step:
                self._empty(instance, frees)

    def _empty(
        self, instance: Instance, frees: dict[Instance, Capacity | None]
    ) -> None:
        others = {i: free for i, free in frees.items() if i is not instance}
        moves = moves_off(instance, others)
        if moves is None or any(c.replaces is not None for c in instance.copies):
            return
        frees.pop(instance, None)
        frees.update(others)
        self._emptying.append(instance)
        if not instance.copies:
            self._copies.dismiss(instance, "consolidated")
            return
        instance.state = "leaving"
        for copy, other in moves:
            self._copies.put(copy.name, other, copy)
