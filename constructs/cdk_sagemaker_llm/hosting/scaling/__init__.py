"""
Application Auto Scaling: instances of a variant, copies of a model.

Names are loaded when they are first used (PEP 562): who scales one way does not pay
for the others.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.hosting.scaling.counts import (
        ScalableCopyCount,
        ScalableInstanceCount,
    )
    from cdk_sagemaker_llm.hosting.scaling.stepping import ScalingStep, StepScaling
    from cdk_sagemaker_llm.hosting.scaling.target_base import (
        ScalableTargetBase,
        capacity_findings,
    )
    from cdk_sagemaker_llm.hosting.scaling.targets import ScalableTarget
    from cdk_sagemaker_llm.hosting.scaling.tracking import TargetTrackingScaling

__all__ = [
    "ScalableCopyCount",
    "ScalableInstanceCount",
    "ScalableTarget",
    "ScalableTargetBase",
    "ScalingStep",
    "StepScaling",
    "TargetTrackingScaling",
    "capacity_findings",
]

_HOMES = {
    "ScalableCopyCount": "hosting.scaling.counts",
    "ScalableInstanceCount": "hosting.scaling.counts",
    "ScalableTarget": "hosting.scaling.targets",
    "ScalableTargetBase": "hosting.scaling.target_base",
    "ScalingStep": "hosting.scaling.stepping",
    "StepScaling": "hosting.scaling.stepping",
    "TargetTrackingScaling": "hosting.scaling.tracking",
    "capacity_findings": "hosting.scaling.target_base",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
