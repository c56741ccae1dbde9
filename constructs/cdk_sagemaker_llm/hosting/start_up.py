"""
Whether a model's container and SageMaker wait for each other.
"""

from __future__ import annotations

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule

CONTRADICTING_TIMEOUTS = Rule(
    "LLM213", "the container's and SageMaker's time-outs contradict each other"
)


def timeout_contradictions(
    limit: int | None, health_check_seconds: float, *, was_chosen: bool
) -> list[Finding]:
    """
    Compare how long the container and SageMaker wait for a model to load.

    Args:
        limit: When the container gives up; ``None`` if it never does.

        health_check_seconds: When SageMaker gives up.

        was_chosen: Whether that is the user's figure rather than the default.
    """
    if limit is None or is_unresolved((limit, health_check_seconds)):
        return []
    if limit > health_check_seconds:
        message = (
            f"the container lets the model load for {limit} s, and SageMaker gives up "
            f"after {health_check_seconds:g} s"
        )
        remedy = "raise container_startup_health_check_timeout, 3600 s at most"
    elif was_chosen and limit < health_check_seconds:
        message = (
            f"SageMaker waits {health_check_seconds:g} s for the model, and the "
            f"container gives up loading after {limit} s"
        )
        remedy = "raise model_loading_timeout"
    else:
        return []
    return [CONTRADICTING_TIMEOUTS.finding(message, remedy)]
