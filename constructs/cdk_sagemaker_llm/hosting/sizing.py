"""
What follows from a model's size: its resources and its copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.checking import NoPlan, fit_findings, plan_of
from cdk_sagemaker_llm.fit.fleet import Fleet
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.hosting.limits import count_findings

Copies = int | Literal["fill"]

NO_RESOURCES = Rule(
    "LLM192", "resources are left out, and nothing is known of the model"
)
NOTHING_TO_FILL = Rule(
    "LLM193", "instances are to be filled that are not known at synth"
)


@dataclass(kw_only=True, slots=True)
class Sizing:
    """
    What each copy of a model reserves, decided once: when its demand is known.

    Args:
        hardware: The instance type; ``None`` if it is not known.

        given: What the user asked for; ``None`` if the plan decides.

        assumptions: What to take for granted of the engine; ``None`` for what its
            configuration says.
    """

    hardware: InstanceType | None
    given: ResourceRequirements | None
    assumptions: Assumptions | None
    _made: tuple[Demand | None, Plan | NoPlan] | None = field(default=None, init=False)

    def accelerators(self, demand: Demand | None) -> int | None:
        """
        Return how many devices each copy has: none where its host has none.
        """
        if self.hardware is not None and not self.hardware.accelerators:
            return 0
        return self.resources(demand).accelerators

    def resources(self, demand: Demand | None) -> ResourceRequirements:
        """
        Return what was given, or what the plan asks for.
        """
        if self.given is not None:
            return self.given
        found = self._plan(demand)
        if isinstance(found, NoPlan):
            return ResourceRequirements()
        return replace(found.resources, copies=1)

    def findings(
        self, demand: Demand | None, told: Iterable[Finding] = ()
    ) -> list[Finding]:
        """
        Check that the resources are known, and hold the model.

        Args:
            demand: What the model asks of the memory.

            told: What was found of the serving configuration alone.
        """
        found = self.plan(demand)
        if found is None:
            return []
        if self.given is None and isinstance(found, NoPlan):
            ways = ["pass resources=ResourceRequirements(...)", found.remedy]
            return [
                NO_RESOURCES.finding(
                    f"resources are left out, and {found.reason}",
                    ", or ".join(filter(None, ways)),
                )
            ]
        return fit_findings(found, demand, told)

    def plan(self, demand: Demand | None) -> Plan | NoPlan | None:
        """
        Return how the model fits, or why that is not known; ``None`` where no device
        is reserved.
        """
        wanted = None if self.given is None else self.given.accelerators
        if self.given is not None and (wanted is None or is_unresolved(wanted)):
            return None
        return self._plan(demand)

    def _plan(self, demand: Demand | None) -> Plan | NoPlan:
        if self._made is None or self._made[0] != demand:
            wanted = None if self.given is None else self.given.accelerators
            found = plan_of(demand, self.hardware, wanted, assumptions=self.assumptions)
            self._made = demand, found
        return self._made[1]


def with_same_copies(
    needs: Sequence[ResourceRequirements],
    copies: Copies | None,
    fleets: Sequence[Fleet],
) -> tuple[list[ResourceRequirements], list[Finding]]:
    """
    Set how many copies start, whatever the type of their instances.

    Args:
        needs: What each copy reserves on each type.

        copies: How many, or ``"fill"`` for all that fit on each of the types.
            ``None`` leaves it as it is.

        fleets: The instances that there may be, all of one type; none if they are not
            known.
    """
    known = fleets or (None,) * len(needs)
    tried = [
        with_copies(one, copies, fleet) for one, fleet in zip(needs, known, strict=True)
    ]
    told = list(dict.fromkeys(fault for _, faults in tried for fault in faults))
    if copies is None or told:
        return list(needs), told
    least = min(one.copies for one, _ in tried)
    return [replace(one, copies=least) for one in needs], []


def with_copies(
    needs: ResourceRequirements, copies: Copies | None, fleet: Fleet | None
) -> tuple[ResourceRequirements, list[Finding]]:
    """
    Set how many copies start.

    Args:
        needs: What each copy reserves.

        copies: How many, or ``"fill"`` for all that fit beside the others.
            ``None`` leaves it as it is.

        fleet: The instances that there may be, with the others; ``None`` if they are
            not known.
    """
    if copies is None:
        return needs, []
    if copies != "fill":
        wrong = count_findings("copies", copies, 0)
        return (needs, wrong) if wrong else (replace(needs, copies=copies), [])
    known = fleet is not None and all(
        each.is_known for each in (needs, *fleet.models.values())
    )
    if fleet is None or not known:
        return needs, [
            NOTHING_TO_FILL.finding(
                "copies='fill' needs an instance type, a number of instances and the "
                "resources of all models to be known at synth",
                "pass a number",
            )
        ]
    # One that does not fit is refused where the others are named.
    return replace(needs, copies=fleet.most_copies(needs) or 1), []
