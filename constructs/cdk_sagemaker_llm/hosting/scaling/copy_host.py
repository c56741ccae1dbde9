"""
What the hosts of a component's copies allow its scaling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.scaling.waking import waking_findings
from cdk_sagemaker_llm.hosting.variant import MinimumNotChosen

if TYPE_CHECKING:
    from cdk_sagemaker_llm.fit.placement import ResourceRequirements
    from cdk_sagemaker_llm.hosting.definitions import ModelDefinition
    from cdk_sagemaker_llm.hosting.host_types import VariantDefinition

SCALES_PAST_ROOM = Rule("LLM203", "scaling can ask for more copies than fit")
HALF_TO_ZERO = Rule(
    "LLM305",
    "of scaling to zero one half is missing: the component's or its host's",
    "SageMaker developer guide, endpoint-auto-scaling-zero-instances",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyHost:
    """
    What is known of where copies run, and of what they run.

    Args:
        hosts: The instances; ``None`` if they are not known.

        resources: What each copy reserves, on each type of instance in turn.

        model: What each copy runs; ``None`` if that is not known.
    """

    hosts: VariantDefinition | None
    resources: Sequence[ResourceRequirements]
    model: ModelDefinition | None

    def zero_findings(self, subject: str) -> list[Finding]:
        """
        Check that the instances may go to zero, or are meant to stay.

        Args:
            subject: What sets the copies to zero.
        """
        if self.hosts is None:
            return []
        bounds = self.hosts.variant.managed_instance_scaling
        if bounds is not None and not isinstance(bounds, MinimumNotChosen):
            return []
        return [
            HALF_TO_ZERO.finding(
                f"{subject} lets the copies go to zero, and nothing says whether the "
                "host's instances may",
                "pass min_instance_count=0 to the host, or min_instance_count=1 where "
                "an instance is meant to stay",
            )
        ]

    def room_findings(self, subject: str, copies: int | None) -> list[Finding]:
        """
        Check a bound against the copies that fit the most instances there may be.

        Args:
            subject: What the user calls the bound.

            copies: The bound; ``None`` if there is none.
        """
        fleets = () if self.hosts is None else self.hosts.fleets
        if copies is None or is_unresolved(copies):
            return []
        if not fleets or not all(needs.is_known for needs in self.resources):
            return []
        pairs = zip(fleets, self.resources, strict=True)
        most = max(fleet.alone(needs) for fleet, needs in pairs)
        if copies <= most:
            return []
        return [
            SCALES_PAST_ROOM.finding(
                f"{subject} is {copies}, but at most {most} copies fit the instances "
                "even if no other model runs there",
                "raise max_instance_count",
            )
        ]

    def waking_findings(self) -> list[Finding]:
        """
        Say how long waking takes.
        """
        if self.hosts is None:
            return []
        bounds = self.hosts.variant.managed_instance_scaling
        hardware = self.hosts.hardware
        return waking_findings(
            self.model,
            None if hardware is None else str(hardware),
            has_instances=bounds is not None and bounds.min_instance_count > 0,
        )
