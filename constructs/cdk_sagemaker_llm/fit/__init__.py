"""
Whether models fit the instances they are to run on, and how often.

What belongs here computes with numbers of models, engines and instances; it makes
nothing, and asks no engine itself.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily
from cdk_sagemaker_llm.demand import Assumptions
from cdk_sagemaker_llm.fit.fleet import Fleet
from cdk_sagemaker_llm.fit.memory import MemoryTerms, Setting
from cdk_sagemaker_llm.fit.outcomes import Outcome
from cdk_sagemaker_llm.fit.packing import Packing, fewest_instances, pack
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements
from cdk_sagemaker_llm.fit.planning import plan
from cdk_sagemaker_llm.fit.plans import Plan

if TYPE_CHECKING:
    from cdk_sagemaker_llm.fit.recommending import Recommendation, recommend

__all__ = [
    "Assumptions",
    "Capacity",
    "Fleet",
    "MemoryTerms",
    "Outcome",
    "Packing",
    "Plan",
    "Recommendation",
    "ResourceRequirements",
    "Setting",
    "fewest_instances",
    "pack",
    "plan",
    "recommend",
]

# A plan must start in a tenth of a second, and half of that went into backends.
_HOMES = {"Recommendation": "fit.recommending", "recommend": "fit.recommending"}

__getattr__, __dir__ = lazily(__name__, _HOMES)
