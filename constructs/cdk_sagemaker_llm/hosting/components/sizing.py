"""
How many copies of a model run, what each reserves, and how they are placed.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.checking import NoPlan, fit_findings, plan_of
from cdk_sagemaker_llm.fit.packing import Fleet
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.hosting.common.limits import count_findings, range_findings
from cdk_sagemaker_llm.serving.parameters import API
from cdk_sagemaker_llm.tokens import is_unresolved

Copies = int | Literal["fill"]

NO_RESOURCES = Rule(
    "LLM192", "resources are left out, and nothing is known of the model"
)
NO_STRATEGY = Rule(
    "LLM316", "copies are balanced over zones without a placement strategy", API
)
NOTHING_TO_FILL = Rule(
    "LLM193", "instances are to be filled that are not known at synth"
)

_Component = sagemaker.CfnInferenceComponent
_IMBALANCE = (0, 100)


@dataclass(kw_only=True, slots=True)
class Sizing:
    """
    What each copy of a model reserves, decided once, when its demand is known.

    Args:
        requested: What the user asked for; ``None`` if the plan decides.

        assumptions: The user's figures of the engine's memory; ``None`` for those of
            its configuration.
    """

    hardware: InstanceType | None
    requested: ResourceRequirements | None
    assumptions: Assumptions | None
    _last_plan: tuple[Demand | None, Plan | NoPlan] | None = field(
        default=None, init=False
    )

    def accelerators(self, demand: Demand | None) -> int | None:
        """
        Return how many devices each copy has: none where its host has none.
        """
        if self.hardware is not None and not self.hardware.accelerators:
            return 0
        return self.resources(demand).accelerators

    def resources(self, demand: Demand | None) -> ResourceRequirements:
        """
        Return what the user asked for, or else what the plan asks for.
        """
        if self.requested is not None:
            return self.requested
        found = self._plan(demand)
        if isinstance(found, NoPlan):
            return ResourceRequirements()
        return replace(found.resources, copies=1)

    def findings(
        self, demand: Demand | None, further: Iterable[Finding] = ()
    ) -> list[Finding]:
        """
        Check that the resources are known, and hold the model.

        Args:
            demand: What the model asks of the memory.

            further: The findings of the serving configuration alone.
        """
        found = self.plan(demand)
        if found is None:
            return []
        if self.requested is None and isinstance(found, NoPlan):
            ways = ["pass resources=ResourceRequirements(...)", found.remedy]
            return [
                NO_RESOURCES.finding(
                    f"resources are left out, and {found.reason}",
                    ", or ".join(filter(None, ways)),
                )
            ]
        return fit_findings(found, demand, further)

    def plan(self, demand: Demand | None) -> Plan | NoPlan | None:
        """
        Return how the model fits, or why that is not known; ``None`` where no device
        is reserved.
        """
        if self.requested is not None:
            devices = self.requested.accelerators
            if devices is None or is_unresolved(devices):
                return None
        return self._plan(demand)

    def _plan(self, demand: Demand | None) -> Plan | NoPlan:
        if self._last_plan is None or self._last_plan[0] != demand:
            devices = None if self.requested is None else self.requested.accelerators
            found = plan_of(
                demand, self.hardware, devices, assumptions=self.assumptions
            )
            self._last_plan = demand, found
        return self._last_plan[1]


def with_same_copies(
    needs: Sequence[ResourceRequirements],
    copies: Copies | None,
    fleets: Sequence[Fleet],
) -> tuple[list[ResourceRequirements], list[Finding]]:
    """
    Set how many copies start, whatever the type of their instances.

    Args:
        copies: How many, or ``"fill"`` for all that fit on each of the types.
            ``None`` leaves it as it is.
    """
    tried = [
        with_copies(one, copies, fleet)
        for one, fleet in zip(needs, fleets or (None,) * len(needs), strict=True)
    ]
    found = list(
        dict.fromkeys(finding for _, findings in tried for finding in findings)
    )
    if copies is None or found:
        return list(needs), found
    least = min(one.copies for one, _ in tried)
    return [replace(one, copies=least) for one in needs], []


def with_copies(
    needs: ResourceRequirements, copies: Copies | None, fleet: Fleet | None
) -> tuple[ResourceRequirements, list[Finding]]:
    """
    Set how many copies start, or with ``"fill"`` all that fit beside the others;
    ``None`` leaves their number as it is.
    """
    if copies is None:
        return needs, []
    if copies != "fill":
        wrong = count_findings("copies", copies, 0)
        return (needs, wrong) if wrong else (replace(needs, copies=copies), [])
    if fleet is None or not all(
        each.is_known for each in (needs, *fleet.models.values())
    ):
        return needs, [
            NOTHING_TO_FILL.finding(
                "copies='fill' needs an instance type, a number of instances and the "
                "resources of all models to be known at synth",
                "pass a number",
            )
        ]
    # One that does not fit is refused where the others are named.
    return replace(needs, copies=fleet.most_copies(needs) or 1), []


class PlacementStrategy(enum.StrEnum):
    """
    How a component's copies are placed: evenly, or on as few instances as possible.
    """

    SPREAD = "SPREAD"
    BINPACK = "BINPACK"


@dataclass(frozen=True, kw_only=True, slots=True)
class AvailabilityZoneBalance:
    """
    Spread a component's copies over availability zones as far as capacity allows.

    ``AvailabilityZoneBalance(max_imbalance=1)``

    Args:
        max_imbalance:
            By how many copies zones may differ, 0 to 100.
            If omitted, the service's default applies.
    """

    max_imbalance: int | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scheduling:
    """
    How a component's copies are placed, and whether instances keep its data.
    """

    placement_strategy: PlacementStrategy | None = None
    availability_zone_balance: AvailabilityZoneBalance | None = None
    data_caching: bool | None = None

    def scheduling_property(
        self,
    ) -> _Component.InferenceComponentSchedulingConfigProperty | None:
        """
        Render for the L1 class; ``None`` where the service's default applies.
        """
        if self.placement_strategy is None:
            return None
        # CloudFormation asks for a balance beside every strategy, with its only mode.
        balance = self.availability_zone_balance or AvailabilityZoneBalance()
        return _Component.InferenceComponentSchedulingConfigProperty(
            placement_strategy=self.placement_strategy.value,
            availability_zone_balance=_Component.InferenceComponentAvailabilityZoneBalanceProperty(
                enforcement_mode="PERMISSIVE", max_imbalance=balance.max_imbalance
            ),
        )

    def caching_property(
        self,
    ) -> _Component.InferenceComponentDataCacheConfigProperty | None:
        """
        Render for the L1 class; ``None`` where the service's default applies.
        """
        if self.data_caching is None:
            return None
        return _Component.InferenceComponentDataCacheConfigProperty(
            enable_caching=self.data_caching
        )


def scheduling_findings(scheduling: Scheduling) -> list[Finding]:
    """
    Check how a component's copies are to be placed.
    """
    balance = scheduling.availability_zone_balance
    if balance is None:
        return []
    found = range_findings("max_imbalance", balance.max_imbalance, *_IMBALANCE)
    if scheduling.placement_strategy is not None:
        return found
    return [
        *found,
        NO_STRATEGY.finding(
            "availability_zone_balance needs a placement_strategy, which applies "
            "within each zone",
            "give PlacementStrategy.SPREAD or PlacementStrategy.BINPACK",
        ),
    ]
