"""
What the specification of an inference component may say of a container of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdk_sagemaker_llm.findings import Finding, Rule

# The API's own model has a model's 100 here; CloudFormation refuses the 17th.
MOST_VARIABLES = 16

MANY_VARIABLES = Rule(
    "LLM519",
    "an inference component's own container has more variables than the service takes",
    "CloudFormation's schema of AWS::SageMaker::InferenceComponent",
)


def variable_findings(environment: Mapping[str, object]) -> list[Finding]:
    """
    A container that a component names itself has fewer variables than a model's.
    """
    if len(environment) <= MOST_VARIABLES:
        return []
    return [
        MANY_VARIABLES.finding(
            "the environment of a component's own container must have at most "
            f"{MOST_VARIABLES} variables, got {len(environment)}",
            "define a model with them, which takes 100, and name it in the component",
        )
    ]
