"""
Whether models fit the instances they are to run on, and how often.

What belongs here computes with numbers of models, engines and instances; it makes
nothing, and asks no engine itself.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.demand import Assumptions, DraftModel, EngineName, Words
    from cdk_sagemaker_llm.fit.memory import MemoryTerms, Outcome
    from cdk_sagemaker_llm.fit.packing import Fleet, Packing, fewest_instances, pack
    from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements, Units
    from cdk_sagemaker_llm.fit.planning import plan
    from cdk_sagemaker_llm.fit.plans import Plan
    from cdk_sagemaker_llm.fit.recommending import Recommendation, Traffic, recommend
    from cdk_sagemaker_llm.fit.releases import (
        Case,
        Range,
        Release,
        Reserve,
        Tier,
        Windows,
    )
    from cdk_sagemaker_llm.fit.setting import Setting

__all__ = [
    "Assumptions",
    "Capacity",
    "Case",
    "DraftModel",
    "EngineName",
    "Fleet",
    "MemoryTerms",
    "Outcome",
    "Packing",
    "Plan",
    "Range",
    "Recommendation",
    "Release",
    "Reserve",
    "ResourceRequirements",
    "Setting",
    "Tier",
    "Traffic",
    "Units",
    "Windows",
    "Words",
    "fewest_instances",
    "pack",
    "plan",
    "recommend",
]

# A plan must start in a tenth of a second, and half of that went into backends; who
# only checks a size packs nothing.
_HOMES = {
    "Assumptions": "demand",
    "Capacity": "fit.placement",
    "Case": "fit.releases",
    "DraftModel": "demand",
    "EngineName": "demand",
    "Fleet": "fit.packing",
    "MemoryTerms": "fit.memory",
    "Outcome": "fit.memory",
    "Packing": "fit.packing",
    "Plan": "fit.plans",
    "Range": "fit.releases",
    "Recommendation": "fit.recommending",
    "Release": "fit.releases",
    "Reserve": "fit.releases",
    "ResourceRequirements": "fit.placement",
    "Setting": "fit.setting",
    "Tier": "fit.releases",
    "Traffic": "fit.recommending",
    "Units": "fit.placement",
    "Windows": "fit.releases",
    "Words": "demand",
    "fewest_instances": "fit.packing",
    "pack": "fit.packing",
    "plan": "fit.planning",
    "recommend": "fit.recommending",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
