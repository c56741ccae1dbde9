"""
Step scaling: a policy that changes capacity by how far a metric is past a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.alarm_spans import together_findings
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.limits import (
    IMPOSSIBLE_COUNT,
    bounds_findings,
    count_findings,
    seconds,
    time_findings,
)
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.hosting.scaling.alarming import alarm_metric
from cdk_sagemaker_llm.hosting.scaling.contents import contents_of
from cdk_sagemaker_llm.hosting.scaling.metrics import Measure, measure_of
from cdk_sagemaker_llm.hosting.scaling.steps import (
    ScalingStep,
    staircase_of,
    step_count_findings,
)
from cdk_sagemaker_llm.hosting.scaling.target_base import ScalableTargetBase
from cdk_sagemaker_llm.hosting.scope import account_of

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
            If left out, it is 300 seconds.

        metric_aggregation_type:
            Which of the metric's points since the alarm went off counts.
            If left out, it follows the metric's statistic, or is the average.

        min_adjustment_magnitude:
            The least that a percentage changes.
            If left out, it is rounded as the service does.

        evaluation_periods: How many of the metric's periods the alarm looks at.

        datapoints_to_alarm:
            How many of them must be past the threshold.
            If left out, all of them must.

        treat_missing_data:
            What the alarm takes periods without a value for.
            If left out, they are missing, and it keeps its state.

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
        staircase, found = staircase_of(steps)
        found += [
            *measure.alarm_findings(scope),
            *time_findings("cooldown", cooldown),
            *_change_findings(steps, adjustment_type, min_adjustment_magnitude),
            *_period_findings(evaluation_periods, datapoints_to_alarm),
            *_together_findings(measure, evaluation_periods),
            *contents_of(target).policy_findings(id),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        contents_of(target).policies[id] = _takes_away(steps, adjustment_type)
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
        self.cfn_alarm = _alarm(
            self,
            measure,
            threshold=staircase.threshold,
            comparison_operator=staircase.comparison,
            evaluation_periods=evaluation_periods,
            datapoints_to_alarm=datapoints_to_alarm,
            treat_missing_data=_missing(treat_missing_data),
            alarm_actions=[self.cfn_scaling_policy.ref],
        )
        """The alarm that sets it off."""
        annotate(self, step_count_findings(steps))


def _alarm(
    scope: Construct,
    measure: Measure,
    *,
    threshold: float,
    comparison_operator: str,
    evaluation_periods: int,
    datapoints_to_alarm: int | None,
    treat_missing_data: str,
    alarm_actions: list[str],
) -> cloudwatch.CfnAlarm:
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - 0.2 s to load

    return cloudwatch.CfnAlarm(
        scope,
        "Alarm",
        threshold=threshold,
        comparison_operator=comparison_operator,
        evaluation_periods=evaluation_periods,
        datapoints_to_alarm=datapoints_to_alarm,
        treat_missing_data=treat_missing_data,
        alarm_actions=alarm_actions,
        **alarm_metric(measure, account_of(scope)),
    )


def _takes_away(
    steps: Sequence[ScalingStep], adjustment_type: appscaling.AdjustmentType
) -> bool:
    return adjustment_type is appscaling.AdjustmentType.EXACT_CAPACITY or any(
        step.change < 0 for step in steps
    )


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


def _period_findings(periods: int, datapoints: int | None) -> list[Finding]:
    found = count_findings("evaluation_periods", periods, 1)
    if datapoints is None:
        return found
    return (
        found
        + count_findings("datapoints_to_alarm", datapoints, 1)
        + bounds_findings(
            "datapoints_to_alarm", datapoints, "evaluation_periods", periods
        )
    )


def _together_findings(measure: Measure, periods: int) -> list[Finding]:
    # Of a formula it is not documented whose period counts.
    single = measure.single
    return [] if single is None else together_findings(single.period, periods)


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
