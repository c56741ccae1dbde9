"""
What the API reference says a ``DeploymentConfig`` may be, beyond its shapes.
"""

from __future__ import annotations

import math
from typing import Any

from cdk_sagemaker_llm.local.errors import validation

# The size that each way of shifting has to have, and its percentages.
_SHIFTS = {"CANARY": ("CanarySize", 1, 50), "LINEAR": ("LinearStepSize", 10, 50)}
_BATCH = ("MaximumBatchSize", 5, 50)


def refuse_wrong_guardrails(
    guardrails: dict[str, Any], counts: list[int], counted: str = "instances"
) -> None:
    """
    Refuse two policies, a size that is missing or out of its bounds, and batches of
    several variants.

    Args:
        guardrails: The ``DeploymentConfig``.

        counts: How many instances each variant has, or how many copies a component.

        counted: What they are.
    """
    batches = guardrails.get("RollingUpdatePolicy")
    policy = guardrails.get("BlueGreenUpdatePolicy")
    if batches and policy:
        raise validation(
            "DeploymentConfig can have one of BlueGreenUpdatePolicy and "
            "RollingUpdatePolicy, not both."
        )
    if batches and len(counts) > 1:
        # docs: deployment-guardrails-exclusions.
        raise validation(
            "RollingUpdatePolicy is not supported for endpoints of several variants."
        )
    if batches:
        _refuse_wrong_size(batches, _BATCH, counts, counted)
    shift = (policy or {}).get("TrafficRoutingConfiguration", {})
    if shift.get("Type") in _SHIFTS:
        name, *_ = bounds = _SHIFTS[shift["Type"]]
        if name not in shift:
            raise validation(f"{name} is required for traffic of type {shift['Type']}.")
        _refuse_wrong_size(shift, bounds, counts, counted)


def _refuse_wrong_size(
    settings: dict[str, Any],
    bounds: tuple[str, int, int],
    counts: list[int],
    counted: str,
) -> None:
    name, low, high = bounds
    kind, value = settings[name]["Type"], settings[name]["Value"]
    whose = "the variant's" if counted == "instances" else "the inference component's"
    is_share = kind == "CAPACITY_PERCENT"
    for count in counts:
        possible = range(max(1, math.ceil(count * low / 100)), count * high // 100 + 1)
        is_within = low <= value <= high if is_share else value in possible
        # Of none, any number is too many, and none is asked for.
        if (not is_within and (is_share or count)) or (count and not possible):
            raise validation(
                f"{name} must be {low} to {high} percent of {whose} {counted}, got "
                f"{value}{' percent' if is_share else ''} of {count}."
            )
