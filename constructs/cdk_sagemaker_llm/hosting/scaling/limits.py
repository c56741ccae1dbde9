"""
What Application Auto Scaling takes of bounds, names and counts.
"""

from __future__ import annotations

import re

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.limits import (
    IMPOSSIBLE_COUNT,
    IMPOSSIBLE_NAME,
    bounds_findings,
    count_findings,
)

VARIANT_DIMENSION = "sagemaker:variant:DesiredInstanceCount"
COMPONENT_DIMENSION = "sagemaker:inference-component:DesiredCopyCount"

SCALED_TWICE = Rule(
    "LLM301",
    "a number is scaled twice, or two policies or actions of it have the same name, or "
    "two policies the same predefined metric",
    "API reference, RegisterScalableTarget and PutScalingPolicy",
)

# botocore 1.44.5, ScheduledActionName: no controls, colons, slashes or bars, and no
# blank at either end.
_ACTION_NAME = re.compile(r"(?! )[^\x00-\x1f\x7f-\x9f:/|]{1,256}(?<! )\Z")


def capacity_findings(
    min_capacity: int, max_capacity: int, *, may_be_zero: bool = False
) -> list[Finding]:
    """
    Check the bounds of what is scaled.

    Args:
        min_capacity: The least.

        max_capacity: The most.

        may_be_zero: Whether it can do without capacity.
    """
    found = least_capacity_findings(
        "min_capacity", min_capacity, may_be_zero=may_be_zero
    )
    if found and min_capacity == 0:
        return found
    return found + bounds_findings(
        "min_capacity", min_capacity, "max_capacity", max_capacity
    )


def twice_finding(what: str, method: str) -> Finding:
    """
    Say that a number is scaled by a second call.

    Args:
        what: What is scaled.

        method: What was called.
    """
    return SCALED_TWICE.finding(
        f"{what} are scaled already: {method} was called before",
        "call the scale_on_ methods of what it returned, which take several policies",
    )


def least_capacity_findings(
    parameter: str, value: int, *, may_be_zero: bool
) -> list[Finding]:
    """
    Check one bound by itself.

    Args:
        parameter: What the user calls it.

        value: What was given.

        may_be_zero: Whether what is scaled can do without capacity.
    """
    if value == 0 and not may_be_zero:
        return [
            IMPOSSIBLE_COUNT.finding(
                f"{parameter} must be at least 1, got 0: an endpoint that answers in "
                "real time keeps an instance",
                "host the model as an inference component, whose copies and instances "
                "can go to zero",
            )
        ]
    return count_findings(parameter, value, 0 if may_be_zero else 1)


def action_name_findings(name: str) -> list[Finding]:
    """
    Check the name of a scheduled action.
    """
    if is_unresolved(name) or _ACTION_NAME.match(name):
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            "the id of a scheduled action must be 1 to 256 characters without colon, "
            f"slash or bar, and no blank at either end, got {name!r}"
        )
    ]
