"""
Whether the instances of a host ever go to zero: only when no component has a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.scaling.contents import contents_of
from cdk_sagemaker_llm.hosting.scaling.copy_host import HALF_TO_ZERO

if TYPE_CHECKING:
    from cdk_sagemaker_llm.hosting.inference_component import InferenceComponent

KEPT_AWAKE = Rule(
    "LLM404", "a component that never goes to zero keeps its host's instances"
)


def host_zero_findings(components: Sequence[InferenceComponent]) -> list[Finding]:
    """
    Check, when all is defined, that the components of a host let its instances go.

    A host without components may get them elsewhere, and a component that starts
    without copies is scaled by hand.

    Args:
        components: Those of a host whose minimum is zero.
    """
    awake = [one for one in components if not _may_sleep(one)]
    if not awake:
        return []
    names = ", ".join(one.node.path for one in awake)
    if len(awake) == len(components):
        return [
            HALF_TO_ZERO.finding(
                f"min_instance_count is 0, and no component ever goes to zero: {names}",
                "call auto_scale_copy_count(min_capacity=0, ...) on each, or leave "
                "min_instance_count out",
            )
        ]
    return [
        KEPT_AWAKE.finding(
            "min_instance_count is 0, and instances stay for components that never "
            f"go to zero: {names}",
            "call auto_scale_copy_count(min_capacity=0, ...) on each",
        )
    ]


def _may_sleep(component: InferenceComponent) -> bool:
    scaling = component.scaling
    if scaling is None:
        return component.resources.copies == 0
    return contents_of(scaling).reaches_zero
