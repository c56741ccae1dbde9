"""
What the API reference says a ``DeploymentConfig`` may be, beyond its shapes.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.local.errors import validation

# The size that each way of shifting has to have, and its percentages.
_SHIFTS = {"CANARY": ("CanarySize", 1, 50), "LINEAR": ("LinearStepSize", 10, 50)}
_BATCH = ("MaximumBatchSize", 5, 50)


def refuse_wrong_guardrails(guardrails: dict[str, Any]) -> None:
    """
    Refuse two policies, a size that is missing, and a percentage out of its bounds.

    Sizes in instances are taken as they are.
    """
    batches = guardrails.get("RollingUpdatePolicy")
    policy = guardrails.get("BlueGreenUpdatePolicy")
    if batches and policy:
        raise validation(
            "DeploymentConfig can have one of BlueGreenUpdatePolicy and "
            "RollingUpdatePolicy, not both."
        )
    if batches:
        _refuse_wrong_size(batches, *_BATCH)
    shift = (policy or {}).get("TrafficRoutingConfiguration", {})
    if shift.get("Type") in _SHIFTS:
        name, least, most = _SHIFTS[shift["Type"]]
        if name not in shift:
            raise validation(f"{name} is required for traffic of type {shift['Type']}.")
        _refuse_wrong_size(shift, name, least, most)


def _refuse_wrong_size(
    settings: dict[str, Any], name: str, low: int, high: int
) -> None:
    size = settings[name]
    if size["Type"] == "CAPACITY_PERCENT" and not low <= size["Value"] <= high:
        raise validation(
            f"{name} must be {low} to {high} percent of the variant's instances, got "
            f"{size['Value']}."
        )
