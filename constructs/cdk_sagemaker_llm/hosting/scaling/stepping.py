"""
Step scaling: a policy that changes capacity by how far a metric is past a threshold,
with its steps and its alarm.

The service counts a step's bounds from the alarm's threshold, and closes the interval
at the end nearer to it (user guide, step-scaling-policy-overview).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import (
    IMPOSSIBLE_COUNT,
    bounds_findings,
    count_findings,
    seconds,
    time_findings,
    together_findings,
)
from cdk_sagemaker_llm.hosting.common.reporting import annotate, checked, report
from cdk_sagemaker_llm.hosting.common.rules import WRONG_STEPS
from cdk_sagemaker_llm.hosting.common.scope import account_of
from cdk_sagemaker_llm.hosting.scaling.measures import Measure, Stat, measure_of
from cdk_sagemaker_llm.hosting.scaling.target_base import (
    Policy,
    ScalableTargetBase,
    contents_of,
    policy_findings,
)
from cdk_sagemaker_llm.serving.parameters import UNREADABLE
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

_COOLDOWN_SECONDS = 300
_ADJUSTMENTS = {
    appscaling.AdjustmentType.CHANGE_IN_CAPACITY: "ChangeInCapacity",
    appscaling.AdjustmentType.PERCENT_CHANGE_IN_CAPACITY: "PercentChangeInCapacity",
    appscaling.AdjustmentType.EXACT_CAPACITY: "ExactCapacity",
}
_AGGREGATIONS = {
    appscaling.MetricAggregationType.AVERAGE: "Average",
    appscaling.MetricAggregationType.MINIMUM: "Minimum",
    appscaling.MetricAggregationType.MAXIMUM: "Maximum",
}

_Policy = appscaling.CfnScalingPolicy

MANY_STEPS = Rule(
    "LLM401",
    "a step policy has more steps than the quota that accounts start with",
    "Application Auto Scaling user guide, application-auto-scaling-quotas",
)
# AWS raises it on request.
_QUOTA = 20


class StepScaling(Construct):
    """
    A policy with an alarm of its own, which changes a scalable target step by step.

    It goes one way: define one to scale out and one to scale in.

    Args:
        target: What is changed.

        metric: A metric of CloudWatch, or metric math, that the alarm watches.

        steps:
            By how much capacity changes, by the metric's value; the threshold of the
            alarm is where they begin.

        adjustment_type: Whether steps add a number or a percentage, or say a number
            to reach.

        cooldown:
            How long what a step did counts before the next one.
            If omitted, it is 300 seconds.

        metric_aggregation_type:
            Which of the metric's points since the alarm went off counts.
            If omitted, it follows the metric's statistic, or is the average.

        min_adjustment_magnitude:
            The least that a percentage changes.
            If omitted, it is rounded as the service does.

        evaluation_periods: How many of the metric's periods the alarm looks at.

        datapoints_to_alarm:
            How many of them must be past the threshold.
            If omitted, all of them must.

        treat_missing_data:
            What the alarm takes periods without a value for.
            If omitted, they are missing, and it keeps its state.

    Raises:
        ValueError: If steps overlap, leave a gap or have no open end, or the service
            would refuse the policy or its alarm; all reasons at once.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        target: ScalableTargetBase,
        metric: cloudwatch.IMetric,
        steps: Sequence[ScalingStep],
        adjustment_type: appscaling.AdjustmentType = (
            appscaling.AdjustmentType.CHANGE_IN_CAPACITY
        ),
        cooldown: Duration | None = None,
        metric_aggregation_type: appscaling.MetricAggregationType | None = None,
        min_adjustment_magnitude: int | None = None,
        evaluation_periods: int = 1,
        datapoints_to_alarm: int | None = None,
        treat_missing_data: cloudwatch.TreatMissingData | None = None,
    ) -> None:
        measure = measure_of(metric)
        staircase, found = _staircase_of(steps)
        found += [
            *measure.alarm_findings(scope),
            *time_findings("cooldown", cooldown),
            *_change_findings(steps, adjustment_type, min_adjustment_magnitude),
            *_period_findings(measure, evaluation_periods, datapoints_to_alarm),
            *policy_findings(target, id),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        is_exact = adjustment_type is appscaling.AdjustmentType.EXACT_CAPACITY
        takes_away = any(step.change < (1 if is_exact else 0) for step in steps)
        contents_of(target).policies[id] = Policy(construct=self, takes_away=takes_away)
        chosen = seconds(cooldown)
        self.cfn_scaling_policy = _Policy(
            self,
            "Resource",
            # Names need to be unique within the target only.
            policy_name=id,
            policy_type="StepScaling",
            scaling_target_id=target.cfn_scalable_target.ref,
            step_scaling_policy_configuration=_Policy.StepScalingPolicyConfigurationProperty(
                adjustment_type=_ADJUSTMENTS[adjustment_type],
                cooldown=_COOLDOWN_SECONDS if chosen is None else chosen,
                metric_aggregation_type=_aggregation(metric_aggregation_type, measure),
                min_adjustment_magnitude=min_adjustment_magnitude,
                step_adjustments=staircase.adjustments(),
            ),
        )
        """The resource itself, for what this class does not offer."""
        self.cfn_alarm = self._make_alarm(
            measure,
            threshold=staircase.threshold,
            comparison_operator=staircase.comparison,
            evaluation_periods=evaluation_periods,
            datapoints_to_alarm=datapoints_to_alarm,
            treat_missing_data=_missing(treat_missing_data),
            alarm_actions=[self.cfn_scaling_policy.ref],
        )
        """The alarm that sets it off."""
        if len(steps) > _QUOTA:
            many = MANY_STEPS.finding(
                f"a policy of {len(steps)} steps is above the quota of {_QUOTA}",
                "have the quota raised before deploying, or use fewer steps",
            )
            annotate(self, [many])

    def _make_alarm(self, measure: Measure, **condition: Any) -> cloudwatch.CfnAlarm:  # noqa: ANN401 - keywords of the L1 class
        from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - 0.2 s to load

        alarm, account = cloudwatch.CfnAlarm, account_of(self)
        single = measure.single
        if single is not None and single.account in (None, account):
            kind = "extended_statistic" if single.is_extended else "statistic"
            watched: dict[str, Any] = {
                "namespace": single.namespace,
                "metric_name": single.name,
                "dimensions": _dimensions(alarm, single),
                kind: single.statistic,
                "period": single.period,
                "unit": single.unit,
            }
        else:
            last = [*measure.parts][-1]
            queries = [
                _query(alarm, name, part, account, is_last=name == last)
                for name, part in measure.parts.items()
            ]
            watched = {"metrics": queries}
        return alarm(self, "Alarm", **watched, **condition)


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
            If omitted, it has no lower end, or that of the next step below.

        upper:
            The value up to which it counts.
            If omitted, it has no upper end, or that of the next step above.
    """

    change: int
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)


def _staircase_of(steps: Sequence[ScalingStep]) -> tuple[_Staircase, list[Finding]]:
    goes_up = all(step.lower is not None for step in steps)
    found = _direction_findings(steps)
    if found:
        return _Staircase(tuple(steps), goes_up), found
    ordered = sorted(
        steps, key=lambda step: _start(step, goes_up=goes_up), reverse=not goes_up
    )
    found = _neighbour_findings(ordered, goes_up=goes_up)
    return _Staircase(tuple(ordered), goes_up), found


def _change_findings(
    steps: Sequence[ScalingStep],
    adjustment_type: appscaling.AdjustmentType,
    magnitude: int | None,
) -> list[Finding]:
    found = []
    if adjustment_type is appscaling.AdjustmentType.EXACT_CAPACITY:
        for step in steps:
            found += count_findings("change", step.change, 0)
    if magnitude is None:
        return found
    if adjustment_type is not appscaling.AdjustmentType.PERCENT_CHANGE_IN_CAPACITY:
        found.append(
            IMPOSSIBLE_COUNT.finding(
                "min_adjustment_magnitude must be left out unless adjustment_type is "
                f"PERCENT_CHANGE_IN_CAPACITY, got {magnitude}"
            )
        )
    return found + count_findings("min_adjustment_magnitude", magnitude, 1)


def _period_findings(
    measure: Measure, periods: int, datapoints: int | None
) -> list[Finding]:
    found = count_findings("evaluation_periods", periods, 1)
    if datapoints is not None:
        found += count_findings("datapoints_to_alarm", datapoints, 1)
        found += bounds_findings(
            "datapoints_to_alarm", datapoints, "evaluation_periods", periods
        )
    # Of a formula it is not documented whose period counts.
    if measure.single is not None:
        found += together_findings(measure.single.period, periods)
    return found


def _aggregation(
    chosen: appscaling.MetricAggregationType | None, measure: Measure
) -> str:
    if chosen is not None:
        return _AGGREGATIONS[chosen]
    single = measure.single
    followed = "" if single is None else single.statistic
    return followed if followed in _AGGREGATIONS.values() else "Average"


def _missing(chosen: cloudwatch.TreatMissingData | None) -> str:
    if chosen is None:
        return "missing"
    first, _, second = chosen.name.lower().partition("_")
    return first + second.capitalize()


@dataclass(frozen=True, slots=True)
class _Staircase:
    """
    Steps in one direction, the one at the threshold first.

    Args:
        goes_up: Whether they count from the threshold up, or from it down.
    """

    steps: tuple[ScalingStep, ...]
    goes_up: bool

    @property
    def threshold(self) -> float:
        return _start(self.steps[0], goes_up=self.goes_up)

    @property
    def comparison(self) -> str:
        """
        The alarm's comparison; the threshold itself is in the first step, as in the
        policy.
        """
        kind = "Greater" if self.goes_up else "Less"
        return f"{kind}ThanOrEqualToThreshold"

    def adjustments(self) -> list[_Policy.StepAdjustmentProperty]:
        """
        Render the steps, relative to the threshold.
        """
        # As people subtract: 0.3 - 0.1 is 0.2.
        first, *others = (
            Decimal(str(_start(step, goes_up=self.goes_up))) for step in self.steps
        )
        bounds = [0.0, *(float(other - first) for other in others), None]
        return [
            _Policy.StepAdjustmentProperty(
                scaling_adjustment=step.change,
                metric_interval_lower_bound=near if self.goes_up else far,
                metric_interval_upper_bound=far if self.goes_up else near,
            )
            for step, (near, far) in zip(self.steps, pairwise(bounds), strict=True)
        ]


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
    bounds = [bound for step in steps for bound in (step.lower, step.upper)]
    if len(steps) > 1 and is_unresolved(bounds):
        return [
            UNREADABLE.finding(
                "the bounds of several steps must be known at synth, since they are "
                "written relative to the first"
            )
        ]
    return []


def _start(step: ScalingStep, *, goes_up: bool) -> float:
    bound = step.lower if goes_up else step.upper
    return 0.0 if bound is None else bound


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


def _end(step: ScalingStep, *, goes_up: bool) -> float | None:
    return step.upper if goes_up else step.lower


def _wrong(rule: str, *steps: ScalingStep) -> Finding:
    got = " and ".join(f"({_named(step)})" for step in steps)
    return WRONG_STEPS.finding(f"steps must {rule}, got {got}")


def _dimensions(
    alarm: type[cloudwatch.CfnAlarm], stat: Stat
) -> list[cloudwatch.CfnAlarm.DimensionProperty] | None:
    found = [
        alarm.DimensionProperty(name=name, value=value)
        for name, value in stat.dimensions.items()
    ]
    return found or None


def _query(
    alarm: type[cloudwatch.CfnAlarm],
    name: str,
    part: Stat | str,
    account: str | None,
    *,
    is_last: bool,
) -> cloudwatch.CfnAlarm.MetricDataQueryProperty:
    if isinstance(part, str):
        return alarm.MetricDataQueryProperty(
            id=name, expression=part, return_data=is_last
        )
    return alarm.MetricDataQueryProperty(
        id=name,
        account_id=None if part.account == account else part.account,
        metric_stat=alarm.MetricStatProperty(
            metric=alarm.MetricProperty(
                namespace=part.namespace,
                metric_name=part.name,
                dimensions=_dimensions(alarm, part),
            ),
            # A period that is not known was refused before.
            period=part.period or 0,
            stat=part.statistic,
            unit=part.unit,
        ),
        return_data=is_last,
    )


def _named(step: ScalingStep) -> str:
    parts = {"lower": step.lower, "upper": step.upper}
    return ", ".join(f"{k}={v:g}" for k, v in parts.items() if v is not None)
