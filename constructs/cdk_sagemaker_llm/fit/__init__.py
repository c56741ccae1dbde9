"""
Whether models fit the instances they are to run on, and how often.
"""

from cdk_sagemaker_llm.fit.memory import Assumptions, MemoryTerms
from cdk_sagemaker_llm.fit.placement import (
    Capacity,
    ResourceRequirements,
    overflow,
    place,
)
from cdk_sagemaker_llm.fit.planning import Plan, plan
from cdk_sagemaker_llm.fit.recommending import Recommendation, recommend

__all__ = [
    "Assumptions",
    "Capacity",
    "MemoryTerms",
    "Plan",
    "Recommendation",
    "ResourceRequirements",
    "overflow",
    "place",
    "plan",
    "recommend",
]
