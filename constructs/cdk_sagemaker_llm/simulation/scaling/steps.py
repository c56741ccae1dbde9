"""
How much capacity a policy asks for.
"""

from __future__ import annotations

import math

from cdk_sagemaker_llm.simulation.scaling.policies import (
    StepAdjustment,
    StepScaling,
    TargetTracking,
)


def tracked_up(policy: TargetTracking, value: float, running: int) -> int:
    """
    Return the capacity that brings the metric back to its target, in proportion.

    Nothing comes of nothing: a target at zero is not woken by target tracking (docs:
    endpoint-auto-scaling-zero-instances).
    """
    # A hair of rounding must not ask for one more.
    return math.ceil(round(running * value / policy.target, 9))


def tracked_down(policy: TargetTracking, value: float, running: int) -> int:
    """
    Return the capacity after a scale-in: one less, and never too few for the target.

    AWS says that it "scales in more gradually" and publishes no amount; one at a time
    is the most cautious reading.
    """
    return max(running - 1, tracked_up(policy, value, running))


def stepped(policy: StepScaling, value: float, capacity: int) -> int:
    """
    Return the capacity that the step of a value leads to.

    Raises:
        LookupError: If no step is for it, which the service logs and ignores.
    """
    change = _step(policy, value - policy.alarm.threshold).change
    if policy.adjustment_type == "ExactCapacity":
        return int(change)
    if policy.adjustment_type == "PercentChangeInCapacity":
        change = _percent(policy, change, capacity)
    return max(0, capacity + int(change))


def _step(policy: StepScaling, distance: float) -> StepAdjustment:
    rising = policy.alarm.comparison.startswith("GreaterThan")
    for step in policy.adjustments:
        lower = -math.inf if step.lower is None else step.lower
        upper = math.inf if step.upper is None else step.upper
        # The bound towards the threshold belongs to the step (StepAdjustment, API
        # reference: lower inclusive above the threshold, upper inclusive below it).
        if rising and lower <= distance < upper:
            return step
        if not rising and lower < distance <= upper:
            return step
    raise LookupError(f"policy {policy.name} has no step for {distance:+g}")


def _percent(policy: StepScaling, percent: float, capacity: int) -> int:
    # The guide: values above 1 are rounded down, between 0 and 1 up to 1; below 0 the
    # same towards zero.
    exact = capacity * percent / 100
    least = policy.minimum_magnitude or 1
    size = max(least, math.floor(abs(exact))) if exact else 0
    return int(math.copysign(size, exact))
