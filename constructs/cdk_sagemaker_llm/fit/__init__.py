"""
Whether models fit the instances they are to run on, and how often.
"""

from cdk_sagemaker_llm.fit.memory import Assumptions, MemoryTerms
from cdk_sagemaker_llm.fit.packing import Packing, fewest_instances, pack
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements
from cdk_sagemaker_llm.fit.planning import Plan, plan
from cdk_sagemaker_llm.fit.recommending import Recommendation, recommend

__all__ = [
    "Assumptions",
    "Capacity",
    "MemoryTerms",
    "Packing",
    "Plan",
    "Recommendation",
    "ResourceRequirements",
    "fewest_instances",
    "pack",
    "plan",
    "recommend",
]
