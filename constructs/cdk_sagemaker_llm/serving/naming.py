"""
Doubts about what a model's class is called.
"""

from __future__ import annotations

from cdk_sagemaker_llm.architectures.names import class_doubt
from cdk_sagemaker_llm.findings import Finding, Rule

DOUBTFUL_CLASS = Rule(
    "LLM232", "a model's class is none that is known, and likely mistaken"
)


def class_findings(architecture: object) -> list[Finding]:
    """
    Warn of a class that is likely misspelt, or is none.

    Args:
        architecture: What is known of a model; only the name of a class is looked at.
    """
    meant = class_doubt(architecture) if isinstance(architecture, str) else None
    if meant is None:
        return []
    return [
        DOUBTFUL_CLASS.finding(
            f"architecture {architecture!r} is no class that is known",
            f"did you mean {meant!r}?"
            if meant
            else "write the class in the model's config.json, under architectures",
        )
    ]
