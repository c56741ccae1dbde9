"""
What fits where: placing copies of models on instances.
"""

from cdk_sagemaker_llm.fit.placement import (
    Capacity,
    ResourceRequirements,
    overflow,
    place,
)

__all__ = ["Capacity", "ResourceRequirements", "overflow", "place"]
