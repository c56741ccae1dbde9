"""
Application Auto Scaling: instances of a variant, copies of a model.
"""

from cdk_sagemaker_llm.hosting.scaling.counts import (
    ScalableCopyCount,
    ScalableInstanceCount,
)
from cdk_sagemaker_llm.hosting.scaling.limits import capacity_findings
from cdk_sagemaker_llm.hosting.scaling.stepping import StepScaling
from cdk_sagemaker_llm.hosting.scaling.steps import ScalingStep
from cdk_sagemaker_llm.hosting.scaling.target_base import ScalableTargetBase
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
