"""
Doubts about what a model's class is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cdk_sagemaker_llm.architectures.families import class_doubt
from cdk_sagemaker_llm.findings import Finding, Rule

DOUBTFUL_CLASS = Rule(
    "LLM232", "a model's class is none that is known, and likely mistaken"
)


def with_class_named(
    found: Iterable[Finding], rule: Rule, architecture: object
) -> list[Finding]:
    """
    Return findings, in which a rule that a doubtful class breaks names that class.

    Args:
        found: The findings.

        rule: A rule that goes by the model's class.

        architecture: What is known of the model.
    """
    doubts = class_findings(architecture)
    if not doubts:
        return list(found)
    (doubt,) = doubts
    way_out = f"{doubt.message}: {doubt.remedy}"
    return [
        replace(one, remedy=way_out) if one.code == rule.code else one for one in found
    ]


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
