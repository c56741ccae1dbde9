"""
Target tracking: a policy that keeps a metric near a target, or near a target the
requests that wait for an asynchronous endpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import seconds, time_findings
from cdk_sagemaker_llm.hosting.common.reporting import checked, report
from cdk_sagemaker_llm.hosting.common.rules import NO_BACKLOG
from cdk_sagemaker_llm.hosting.scaling.target_base import (
    Policy,
    ScalableTargetBase,
    contents_of,
    metric_findings,
    policy_findings,
)
from cdk_sagemaker_llm.serving.parameters import OUTSIDE_RANGE
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.scaling.measures import Measure, Stat

# The service's default of variants, and what the guide's page async-inference-autoscale
# has; that of components is not documented, so that it is always written out.
_COOLDOWN_SECONDS = 300
_MONITOR = "SageMaker developer guide, async-inference-monitor"
_NAMESPACE = "AWS/SageMaker"
# As that page has them.
_WAKE_COOLDOWN_SECONDS = 300
_WAKE_PERIOD_SECONDS, _WAKE_PERIODS = 60, 2

UNPUBLISHED = Rule(
    "LLM438",
    "instances follow a metric that asynchronous endpoints do not publish",
    _MONITOR,
)

_Policy = appscaling.CfnScalingPolicy


class TargetTrackingScaling(Construct):
    """
    A policy that keeps a metric near a target by changing a scalable target.

    Args:
        target: What is changed.

        target_value: The value to keep, above 0, in the metric's own unit.

        predefined_metric:
            The name of a metric that the service has ready, such as
            ``SageMakerVariantInvocationsPerInstance``.
            If omitted, ``metric`` is given.

        metric:
            A metric of CloudWatch, or metric math; it must fall as capacity is added.
            The service looks at it by the minute, whatever its period.
            If omitted, ``predefined_metric`` is given.

        disable_scale_in: Whether the policy never takes capacity away.

        scale_in_cooldown:
            How long to wait after one scale-in before the next.
            If omitted, it is 300 seconds.

        scale_out_cooldown:
            How long capacity that was just added counts toward the next scale-out.
            If omitted, it is 300 seconds.

    Raises:
        ValueError: If the target value is not above 0, the metric is none that can be
            followed, a time is of no whole seconds, or the target has a policy of the
            same id or of the same predefined metric.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        target: ScalableTargetBase,
        target_value: float,
        predefined_metric: str | None = None,
        metric: cloudwatch.IMetric | None = None,
        disable_scale_in: bool = False,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> None:
        measure = None
        found: list[Finding] = []
        if predefined_metric is None or metric is not None:
            from cdk_sagemaker_llm.hosting.scaling.measures import (  # noqa: PLC0415 - who has a metric of their own has it
                IMPOSSIBLE_METRIC,
                measure_of,
            )

            measure = None if metric is None else measure_of(metric)
            found = [] if measure is None else measure.tracked_findings(scope)
            if (predefined_metric is None) == (measure is None):
                got = "neither" if measure is None else "both"
                found = [
                    IMPOSSIBLE_METRIC.finding(
                        "predefined_metric or metric must be given, and not both, got "
                        f"{got}"
                    )
                ]
        found += [
            *_value_findings("the target value", target_value),
            *time_findings("scale_in_cooldown", scale_in_cooldown),
            *time_findings("scale_out_cooldown", scale_out_cooldown),
            *metric_findings(predefined_metric),
            *policy_findings(target, id, predefined_metric),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        contents_of(target).policies[id] = Policy(
            construct=self,
            takes_away=not disable_scale_in,
            metric=predefined_metric,
        )
        self.cfn_scaling_policy = _Policy(
            self,
            "Resource",
            # Names need to be unique within the target only.
            policy_name=id,
            policy_type="TargetTrackingScaling",
            scaling_target_id=target.cfn_scalable_target.ref,
            target_tracking_scaling_policy_configuration=_Policy.TargetTrackingScalingPolicyConfigurationProperty(
                target_value=target_value,
                scale_in_cooldown=_cooldown(scale_in_cooldown),
                scale_out_cooldown=_cooldown(scale_out_cooldown),
                disable_scale_in=disable_scale_in or None,
                customized_metric_specification=None
                if measure is None
                else _tracked_metric(measure),
                predefined_metric_specification=None
                if predefined_metric is None
                else _Policy.PredefinedMetricSpecificationProperty(
                    predefined_metric_type=predefined_metric
                ),
            ),
        )
        """The resource itself, for what this class does not offer."""


class BacklogScaling(Construct):
    """
    Keeps the requests that wait for each instance near a target.

    Where instances go to zero, a second policy starts the first one as soon as a
    request waits: without it none starts until more wait than the target says.

    Args:
        scalable_target: The L1 target whose instances are counted.

        endpoint_name: The endpoint; its backlog is counted for all variants together.

        per_instance: How many requests may wait for each instance, above 0.

        wakes: Whether instances go to zero, and are to start again.

        scale_in_cooldown:
            How long to wait after one scale-in before the next.
            If omitted, it is 300 seconds.

        scale_out_cooldown:
            How long capacity that was just added counts toward the next scale-out.
            If omitted, it is 300 seconds.

    Raises:
        ValueError: If the target value is not above 0, or a time of no whole seconds.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        scalable_target: appscaling.CfnScalableTarget,
        endpoint_name: str,
        per_instance: float,
        wakes: bool,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> None:
        found = [
            *_value_findings("per_instance", per_instance),
            *time_findings("scale_in_cooldown", scale_in_cooldown),
            *time_findings("scale_out_cooldown", scale_out_cooldown),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        target = scalable_target.ref
        self.cfn_scaling_policy = _Policy(
            self,
            "Resource",
            policy_name=id,
            policy_type="TargetTrackingScaling",
            scaling_target_id=target,
            target_tracking_scaling_policy_configuration=_Policy.TargetTrackingScalingPolicyConfigurationProperty(
                target_value=per_instance,
                scale_in_cooldown=_cooldown(scale_in_cooldown),
                scale_out_cooldown=_cooldown(scale_out_cooldown),
                customized_metric_specification=_Policy.CustomizedMetricSpecificationProperty(
                    namespace=_NAMESPACE,
                    metric_name="ApproximateBacklogSizePerInstance",
                    # With a VariantName beside it there is no such metric.
                    dimensions=[
                        _Policy.MetricDimensionProperty(
                            name="EndpointName", value=endpoint_name
                        )
                    ],
                    statistic="Average",
                ),
            ),
        )
        """The resource itself, for what this class does not offer."""
        self.wake_policy: appscaling.CfnScalingPolicy | None = None
        """What starts the first instance; ``None`` where one always runs."""
        self.wake_alarm: cloudwatch.CfnAlarm | None = None
        """What tells it to; ``None`` where an instance always runs."""
        if wakes:
            self.wake_policy = _wake_policy(self, f"{id}Wake", target)
            self.wake_alarm = _wake_alarm(self, endpoint_name, self.wake_policy.ref)


def backlog_findings(*, is_async: bool) -> list[Finding]:
    """
    Check that requests wait for what is to be scaled by those that wait.
    """
    if is_async:
        return []
    return [
        NO_BACKLOG.finding(
            "no request waits for an endpoint that answers at once",
            "define it with async_inference, or scale on concurrency",
        )
    ]


def _value_findings(subject: str, value: float) -> list[Finding]:
    if is_unresolved(value) or value > 0:
        return []
    return [OUTSIDE_RANGE.finding(f"{subject} must be above 0, got {value:g}")]


def _cooldown(cooldown: Duration | None) -> float:
    chosen = seconds(cooldown)
    return _COOLDOWN_SECONDS if chosen is None else chosen


def _tracked_metric(
    measure: Measure,
) -> _Policy.CustomizedMetricSpecificationProperty:
    single = measure.single
    # Extended statistics go with metric queries alone (TargetTrackingMetricStat).
    if single is not None and not single.is_extended:
        return _Policy.CustomizedMetricSpecificationProperty(
            namespace=single.namespace,
            metric_name=single.name,
            dimensions=[
                _Policy.MetricDimensionProperty(name=name, value=value)
                for name, value in single.dimensions.items()
            ]
            or None,
            statistic=single.statistic,
            unit=single.unit,
        )
    return _Policy.CustomizedMetricSpecificationProperty(
        metrics=[
            _tracked_query(name, part, is_last=name == [*measure.parts][-1])
            for name, part in measure.parts.items()
        ]
    )


def _wake_policy(scope: Construct, name: str, target: str) -> _Policy:
    step = _Policy.StepAdjustmentProperty(
        metric_interval_lower_bound=0, scaling_adjustment=1
    )
    return _Policy(
        scope,
        "Wake",
        policy_name=name,
        policy_type="StepScaling",
        scaling_target_id=target,
        step_scaling_policy_configuration=_Policy.StepScalingPolicyConfigurationProperty(
            adjustment_type="ChangeInCapacity",
            metric_aggregation_type="Average",
            cooldown=_WAKE_COOLDOWN_SECONDS,
            step_adjustments=[step],
        ),
    )


def _wake_alarm(
    scope: Construct, endpoint_name: str, policy_arn: str
) -> cloudwatch.CfnAlarm:
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - heavy

    dimension = cloudwatch.CfnAlarm.DimensionProperty(
        name="EndpointName", value=endpoint_name
    )
    return cloudwatch.CfnAlarm(
        scope,
        "WakeAlarm",
        alarm_description="Requests wait for an endpoint without instances",
        namespace=_NAMESPACE,
        metric_name="HasBacklogWithoutCapacity",
        dimensions=[dimension],
        statistic="Average",
        period=_WAKE_PERIOD_SECONDS,
        evaluation_periods=_WAKE_PERIODS,
        datapoints_to_alarm=_WAKE_PERIODS,
        threshold=1,
        comparison_operator="GreaterThanOrEqualToThreshold",
        treat_missing_data="missing",
        alarm_actions=[policy_arn],
    )


def _tracked_query(
    name: str, part: Stat | str, *, is_last: bool
) -> _Policy.TargetTrackingMetricDataQueryProperty:
    if isinstance(part, str):
        return _Policy.TargetTrackingMetricDataQueryProperty(
            id=name, expression=part, return_data=is_last
        )
    return _Policy.TargetTrackingMetricDataQueryProperty(
        id=name,
        metric_stat=_Policy.TargetTrackingMetricStatProperty(
            metric=_Policy.TargetTrackingMetricProperty(
                namespace=part.namespace,
                metric_name=part.name,
                dimensions=[
                    _Policy.TargetTrackingMetricDimensionProperty(
                        name=name, value=value
                    )
                    for name, value in part.dimensions.items()
                ]
                or None,
            ),
            stat=part.statistic,
            unit=part.unit,
        ),
        return_data=is_last,
    )
