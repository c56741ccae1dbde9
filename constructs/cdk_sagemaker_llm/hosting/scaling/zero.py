"""
Whether the instances of a host ever go to zero: only when no component has a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct, Node

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.scaling.contents import contents_of
from cdk_sagemaker_llm.hosting.scaling.copy_host import HALF_TO_ZERO
from cdk_sagemaker_llm.hosting.scaling.counts import HostedCopyCount, ScalableCopyCount
from cdk_sagemaker_llm.hosting.scaling.limits import COMPONENT_DIMENSION

KEPT_AWAKE = Rule(
    "LLM404", "a component that never goes to zero keeps its host's instances"
)


class ScaledComponent(Protocol):
    """
    What the scaling of a host has to know of a component.
    """

    @property
    def node(self) -> Node: ...

    @property
    def resources(self) -> ResourceRequirements: ...

    @property
    def scaling(self) -> ScalableCopyCount | None: ...


def host_zero_findings(
    host: Construct, components: Sequence[ScaledComponent]
) -> list[Finding]:
    """
    Check, when all is defined, that the components of a host let its instances go.

    A host without components may get them elsewhere, and a component that starts
    without copies is scaled by hand.

    Args:
        host: The host, whose minimum is zero.

        components: Its components.
    """
    awake = [one for one in components if not _may_sleep(one)]
    if not awake or _is_scaled_otherwise(host):
        return []
    names = ", ".join(one.node.path for one in awake)
    if len(awake) == len(components):
        return [
            HALF_TO_ZERO.finding(
                f"min_instance_count is 0, and no component ever goes to zero: {names}",
                "call auto_scale_copy_count(min_capacity=0, ...) on each, or leave "
                "min_instance_count out; where something else takes the copies away, "
                "define the host from its building blocks",
            )
        ]
    return [
        KEPT_AWAKE.finding(
            "min_instance_count is 0, and instances stay for components that never "
            f"go to zero: {names}",
            "call auto_scale_copy_count(min_capacity=0, ...) on each",
        )
    ]


def _may_sleep(component: ScaledComponent) -> bool:
    scaling = component.scaling
    if scaling is None:
        return component.resources.copies == 0
    return contents_of(scaling).reaches_zero


def _is_scaled_otherwise(host: Construct) -> bool:
    """
    Whether the app scales copies to zero by a target that no component knows of.
    """
    every = host.node.root.node.find_all()
    # Those of other hosts' components are known, and do nothing here.
    known = [
        one.cfn_scalable_target for one in every if isinstance(one, HostedCopyCount)
    ]
    return any(
        isinstance(one, appscaling.CfnScalableTarget)
        and one not in known
        and one.scalable_dimension == COMPONENT_DIMENSION
        and one.min_capacity == 0
        for one in every
    )
