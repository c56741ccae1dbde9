"""
The scalable target of Application Auto Scaling: its bounds, and its policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.reporting import annotate, checked, report
from cdk_sagemaker_llm.hosting.scaling.schedules import ScheduledTarget
from cdk_sagemaker_llm.hosting.scaling.target_base import (
    COMPONENT_DIMENSION,
    capacity_findings,
    keep_contents,
    target_findings,
)
from cdk_sagemaker_llm.hosting.scaling.tracking import TargetTrackingScaling
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

    from cdk_sagemaker_llm.hosting.scaling.stepping import ScalingStep, StepScaling


class ScalableTarget(ScheduledTarget):
    """
    A number that Application Auto Scaling may change, within bounds.

    No role is needed: scaling uses the service-linked role
    ``AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint``, which AWS makes
    the first time.

    Args:
        resource_id: What is scaled, such as ``endpoint/<name>/variant/AllTraffic``.

        scalable_dimension: Which number of it, such as
            ``sagemaker:variant:DesiredInstanceCount``.

        min_capacity:
            The least, at least 1; 0 for copies of an inference component, and for
            instances that answer asynchronously.

        max_capacity: The most.

        is_asynchronous:
            Whether the endpoint answers asynchronously, which lets its instances go
            to zero.

    Raises:
        ValueError: If the bounds are wrong.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        resource_id: str,
        scalable_dimension: str,
        min_capacity: int,
        max_capacity: int,
        is_asynchronous: bool = False,
    ) -> None:
        may_be_zero = (
            is_asynchronous
            or scalable_dimension == COMPONENT_DIMENSION
            or is_unresolved(scalable_dimension)
        )
        report(
            scope,
            id,
            [
                *target_findings(resource_id, scalable_dimension),
                *capacity_findings(min_capacity, max_capacity, may_be_zero=may_be_zero),
            ],
        )
        super().__init__(scope, id)
        self._may_be_zero = may_be_zero
        keep_contents(self, min_capacity, max_capacity)
        self._actions = []
        self.cfn_scalable_target = appscaling.CfnScalableTarget(
            self,
            "Resource",
            service_namespace="sagemaker",
            resource_id=resource_id,
            scalable_dimension=scalable_dimension,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        """The resource itself, for what this class does not offer."""

    @checked
    def scale_to_track_metric(
        self,
        id: str,
        *,
        predefined_metric: str,
        target_value: float,
        disable_scale_in: bool = False,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep one of the service's predefined metrics near a target.
        """
        policy = TargetTrackingScaling(
            self,
            id,
            target=self,
            predefined_metric=predefined_metric,
            target_value=target_value,
            disable_scale_in=disable_scale_in,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )
        annotate(policy, self._metric_findings(predefined_metric))
        return policy

    def _metric_findings(self, metric: str) -> list[Finding]:  # noqa: ARG002 - for subclasses
        return []

    @checked
    def scale_on_metric(
        self,
        id: str,
        *,
        metric: cloudwatch.IMetric,
        target_value: float,
        disable_scale_in: bool = False,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep a metric of CloudWatch, or metric math, near a target.

        It must fall as capacity is added, as what each copy or instance has to do
        does. A total, such as the length of a queue, is divided by the copies with a
        ``MathExpression``.

        Args:
            id: The policy's id and name.

            metric: The metric; the service looks at it by the minute.

            target_value: The value to keep, above 0.

            disable_scale_in: Whether the policy never takes capacity away.

            scale_in_cooldown:
                How long to wait after one scale-in before the next.
                If omitted, it is 300 seconds.

            scale_out_cooldown:
                How long what was just added counts toward the next scale-out.
                If omitted, it is 300 seconds.
        """
        return TargetTrackingScaling(
            self,
            id,
            target=self,
            metric=metric,
            target_value=target_value,
            disable_scale_in=disable_scale_in,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )

    @checked
    def scale_by_steps(
        self,
        id: str,
        *,
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
    ) -> StepScaling:
        """
        Change capacity by how far a metric is past a threshold.

        The arguments are those of ``StepScaling``.
        """
        from cdk_sagemaker_llm.hosting.scaling.stepping import StepScaling  # noqa: PLC0415 - who has steps has it

        return StepScaling(
            self,
            id,
            target=self,
            metric=metric,
            steps=steps,
            adjustment_type=adjustment_type,
            cooldown=cooldown,
            metric_aggregation_type=metric_aggregation_type,
            min_adjustment_magnitude=min_adjustment_magnitude,
            evaluation_periods=evaluation_periods,
            datapoints_to_alarm=datapoints_to_alarm,
            treat_missing_data=treat_missing_data,
        )
