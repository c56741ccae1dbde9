"""
Scaling the instances of an asynchronous endpoint by the requests that wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import seconds, time_findings
from cdk_sagemaker_llm.hosting.common.reporting import report
from cdk_sagemaker_llm.serving.parameters import OUTSIDE_RANGE
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

_MONITOR = "SageMaker developer guide, async-inference-monitor"
_NAMESPACE = "AWS/SageMaker"
# The figures of the guide's page async-inference-autoscale.
_COOLDOWN_SECONDS = 300
_WAKE_COOLDOWN_SECONDS = 300
_WAKE_PERIOD_SECONDS, _WAKE_PERIODS = 60, 2

NO_BACKLOG = Rule(
    "LLM349",
    "an endpoint that answers at once is called or scaled as an asynchronous one",
    _MONITOR,
)
UNPUBLISHED = Rule(
    "LLM438",
    "instances follow a metric that asynchronous endpoints do not publish",
    _MONITOR,
)

Policy = appscaling.CfnScalingPolicy


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
            *_target_findings(per_instance),
            *time_findings("scale_in_cooldown", scale_in_cooldown),
            *time_findings("scale_out_cooldown", scale_out_cooldown),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        target = scalable_target.ref
        self.cfn_scaling_policy = Policy(
            self,
            "Resource",
            policy_name=id,
            policy_type="TargetTrackingScaling",
            scaling_target_id=target,
            target_tracking_scaling_policy_configuration=Policy.TargetTrackingScalingPolicyConfigurationProperty(
                target_value=per_instance,
                scale_in_cooldown=_cooldown(scale_in_cooldown),
                scale_out_cooldown=_cooldown(scale_out_cooldown),
                customized_metric_specification=_backlog_of(endpoint_name),
            ),
        )
        """The resource itself, for what this class does not offer."""
        self.wake_policy: Policy | None = None
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


def unpublished_findings(metric: str, *, is_async: bool) -> list[Finding]:
    """
    Check that a metric which is to be followed is published.
    """
    if not is_async:
        return []
    return [
        UNPUBLISHED.finding(
            f"asynchronous endpoints do not publish what {metric} follows",
            "call scale_on_backlog",
        )
    ]


def _target_findings(value: float) -> list[Finding]:
    if is_unresolved(value) or value > 0:
        return []
    return [OUTSIDE_RANGE.finding(f"per_instance must be above 0, got {value:g}")]


def _cooldown(cooldown: Duration | None) -> float:
    chosen = seconds(cooldown)
    return _COOLDOWN_SECONDS if chosen is None else chosen


def _backlog_of(endpoint_name: str) -> Policy.CustomizedMetricSpecificationProperty:
    # It has this one dimension: with a VariantName beside it there is no such metric.
    dimension = Policy.MetricDimensionProperty(name="EndpointName", value=endpoint_name)
    return Policy.CustomizedMetricSpecificationProperty(
        namespace=_NAMESPACE,
        metric_name="ApproximateBacklogSizePerInstance",
        dimensions=[dimension],
        statistic="Average",
    )


def _wake_policy(scope: Construct, name: str, target: str) -> Policy:
    step = Policy.StepAdjustmentProperty(
        metric_interval_lower_bound=0, scaling_adjustment=1
    )
    return Policy(
        scope,
        "Wake",
        policy_name=name,
        policy_type="StepScaling",
        scaling_target_id=target,
        step_scaling_policy_configuration=Policy.StepScalingPolicyConfigurationProperty(
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

    return cloudwatch.CfnAlarm(
        scope,
        "WakeAlarm",
        alarm_description="Requests wait for an endpoint without instances",
        namespace=_NAMESPACE,
        metric_name="HasBacklogWithoutCapacity",
        dimensions=[
            cloudwatch.CfnAlarm.DimensionProperty(
                name="EndpointName", value=endpoint_name
            )
        ],
        statistic="Average",
        period=_WAKE_PERIOD_SECONDS,
        evaluation_periods=_WAKE_PERIODS,
        datapoints_to_alarm=_WAKE_PERIODS,
        threshold=1,
        comparison_operator="GreaterThanOrEqualToThreshold",
        treat_missing_data="missing",
        alarm_actions=[policy_arn],
    )
