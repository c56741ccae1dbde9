"""
How copies of a component spread over instances and zones, and what these keep.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.limits import range_findings
from cdk_sagemaker_llm.serving.rules import API

_Component = sagemaker.CfnInferenceComponent


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
            If left out, the service's default applies.
    """

    max_imbalance: int | None = None

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scheduling:
    """
    How a component's copies are placed, and whether instances keep its data.

    Args:
        placement_strategy: How they spread; ``None`` for the service's default.

        availability_zone_balance: How they spread over zones.

        data_caching: Whether image and model data are kept; ``None`` for the default.
    """

    placement_strategy: PlacementStrategy | None = None
    availability_zone_balance: AvailabilityZoneBalance | None = None
    data_caching: bool | None = None

    def scheduling_property(
        self,
    ) -> (
        sagemaker.CfnInferenceComponent.InferenceComponentSchedulingConfigProperty
        | None
    ):
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
    ) -> (
        sagemaker.CfnInferenceComponent.InferenceComponentDataCacheConfigProperty | None
    ):
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


NO_STRATEGY = Rule(
    "LLM316", "copies are balanced over zones without a placement strategy", API
)


_IMBALANCE = (0, 100)
