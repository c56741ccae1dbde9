"""
Steps: by how much capacity changes while a metric is in an interval.

The service counts a step's bounds from the alarm's threshold, and has the interval
closed at the end that is nearer to it (user guide, step-scaling-policy-overview).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from aws_cdk import aws_applicationautoscaling as appscaling

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.rules import UNREADABLE

WRONG_STEPS = Rule(
    "LLM303",
    "steps of scaling overlap, leave a gap, or have no open end",
    "Application Auto Scaling user guide, step-scaling-policy-overview",
)
MANY_STEPS = Rule(
    "LLM401",
    "a step policy has more steps than the quota that accounts start with",
    "Application Auto Scaling user guide, application-auto-scaling-quotas",
)
_QUOTA = 20

_Adjustment = appscaling.CfnScalingPolicy.StepAdjustmentProperty


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalingStep:
    """
    By how much capacity changes while the metric is between two bounds.

    ``ScalingStep(lower=10, change=+1)``: from 10 on, one more
    ``ScalingStep(upper=2, change=-1)``: down to 2 and below, one less

    Args:
        change: What is added, or taken away if it is negative; a percentage or a
            number to reach, where the policy's adjustment type says so.

        lower:
            The metric's value from which on the step counts.
            If left out, it has no lower end, or that of the next step below.

        upper:
            The value up to which it counts.
            If left out, it has no upper end, or that of the next step above.
    """

    change: int
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)


@dataclass(frozen=True, slots=True)
class Staircase:
    """
    Steps in one direction, the one at the threshold first.

    Args:
        steps: They.

        goes_up: Whether they count from the threshold up, or from it down.
    """

    steps: tuple[ScalingStep, ...]
    goes_up: bool

    @property
    def threshold(self) -> float:
        """
        The alarm's.
        """
        return _start(self.steps[0], goes_up=self.goes_up)

    @property
    def comparison(self) -> str:
        """
        The alarm's; it has the threshold itself in the first step, as the policy does.
        """
        kind = "Greater" if self.goes_up else "Less"
        return f"{kind}ThanOrEqualToThreshold"

    def adjustments(self) -> list[_Adjustment]:
        """
        Render the steps, relative to the threshold.
        """
        starts = [_start(step, goes_up=self.goes_up) for step in self.steps]
        bounds = [0.0, *(_difference(one, starts[0]) for one in starts[1:]), None]
        return [
            _Adjustment(
                scaling_adjustment=step.change,
                metric_interval_lower_bound=near if self.goes_up else far,
                metric_interval_upper_bound=far if self.goes_up else near,
            )
            for step, (near, far) in zip(self.steps, pairwise(bounds), strict=True)
        ]


def staircase_of(steps: Sequence[ScalingStep]) -> tuple[Staircase, list[Finding]]:
    """
    Put steps in order, and say where they make no staircase.
    """
    goes_up = all(step.lower is not None for step in steps)
    found = _direction_findings(steps)
    if found:
        return Staircase(tuple(steps), goes_up), found
    ordered = sorted(
        steps, key=lambda step: _start(step, goes_up=goes_up), reverse=not goes_up
    )
    found = _neighbour_findings(ordered, goes_up=goes_up)
    return Staircase(tuple(ordered), goes_up), found


def _direction_findings(steps: Sequence[ScalingStep]) -> list[Finding]:
    if not steps:
        return [WRONG_STEPS.finding("steps must be at least one, got none")]
    has_lower = all(step.lower is not None for step in steps)
    has_upper = all(step.upper is not None for step in steps)
    if has_lower and has_upper:
        return [
            WRONG_STEPS.finding(
                "the last of the steps must have no end, got bounds on both sides of "
                "all",
                "leave out upper of the highest step to scale out, or lower of the "
                "lowest to scale in",
            )
        ]
    if not has_lower and not has_upper:
        return [
            WRONG_STEPS.finding(
                "steps must lead one way from one alarm's threshold: each needs lower, "
                "or each needs upper",
                "define a second policy for the other way",
            )
        ]
    if len(steps) > 1 and is_unresolved(_bounds(steps)):
        return [
            UNREADABLE.finding(
                "the bounds of several steps must be known at synth, since they are "
                "written relative to the first"
            )
        ]
    return []


def step_count_findings(steps: Sequence[ScalingStep]) -> list[Finding]:
    """
    Check the number of steps against the quota, which AWS raises on request.
    """
    if len(steps) <= _QUOTA:
        return []
    return [
        MANY_STEPS.finding(
            f"a policy of {len(steps)} steps is above the quota of {_QUOTA}",
            "have the quota raised before deploying, or use fewer steps",
        )
    ]


def _neighbour_findings(
    ordered: Sequence[ScalingStep], *, goes_up: bool
) -> list[Finding]:
    found = []
    away = 1 if goes_up else -1
    for step, following in pairwise(ordered):
        here, there = (_start(each, goes_up=goes_up) for each in (step, following))
        end = _end(step, goes_up=goes_up)
        beyond = 0.0 if end is None else (end - there) * away
        if here == there or beyond > 0:
            found.append(_wrong("not overlap", step, following))
        elif beyond < 0:
            found.append(_wrong("leave no gap", step, following))
    last = ordered[-1]
    if _end(last, goes_up=goes_up) is not None:
        found.append(_wrong("end in one without an end", last))
    return found


def _wrong(rule: str, *steps: ScalingStep) -> Finding:
    got = " and ".join(f"({_named(step)})" for step in steps)
    return WRONG_STEPS.finding(f"steps must {rule}, got {got}")


def _end(step: ScalingStep, *, goes_up: bool) -> float | None:
    return step.upper if goes_up else step.lower


def _named(step: ScalingStep) -> str:
    parts = {"lower": step.lower, "upper": step.upper}
    return ", ".join(f"{k}={v:g}" for k, v in parts.items() if v is not None)


def _bounds(steps: Sequence[ScalingStep]) -> list[float]:
    both = [bound for step in steps for bound in (step.lower, step.upper)]
    return [bound for bound in both if bound is not None]


def _start(step: ScalingStep, *, goes_up: bool) -> float:
    bound = step.lower if goes_up else step.upper
    return 0.0 if bound is None else bound


def _difference(value: float, threshold: float) -> float:
    # As people subtract: 0.3 - 0.1 is 0.2.
    return float(Decimal(str(value)) - Decimal(str(threshold)))
