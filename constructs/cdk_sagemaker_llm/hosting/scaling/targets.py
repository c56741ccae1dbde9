"""
A number that Application Auto Scaling may change, and how.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.reporting import at_synth, report
from cdk_sagemaker_llm.hosting.scaling.contents import (
    Action,
    contents_of,
    keep_contents,
)
from cdk_sagemaker_llm.hosting.scaling.limits import (
    COMPONENT_DIMENSION,
    action_name_findings,
    capacity_findings,
)
from cdk_sagemaker_llm.hosting.scaling.office import hours_of
from cdk_sagemaker_llm.hosting.scaling.schedules import (
    action_bounds_findings,
    action_of,
    expression_of,
    schedule_findings,
    span_findings,
    zone_of,
)
from cdk_sagemaker_llm.hosting.scaling.stepping import StepScaling
from cdk_sagemaker_llm.hosting.scaling.steps import ScalingStep
from cdk_sagemaker_llm.hosting.scaling.target_base import ScalableTargetBase
from cdk_sagemaker_llm.hosting.scaling.tracking import TargetTrackingScaling

if TYPE_CHECKING:
    from datetime import datetime

    from aws_cdk import Duration, IResolvable, TimeZone
    from aws_cdk import aws_cloudwatch as cloudwatch

_Action = appscaling.CfnScalableTarget.ScheduledActionProperty


class ScalableTarget(ScalableTargetBase):
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
            capacity_findings(min_capacity, max_capacity, may_be_zero=may_be_zero),
        )
        super().__init__(scope, id)
        self._may_be_zero = may_be_zero
        keep_contents(self, min_capacity, max_capacity)
        self._actions: list[_Action] = []
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
        return TargetTrackingScaling(
            self,
            id,
            target=self,
            predefined_metric=predefined_metric,
            target_value=target_value,
            disable_scale_in=disable_scale_in,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )

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
                If left out, it is 300 seconds.

            scale_out_cooldown:
                How long what was just added counts toward the next scale-out.
                If left out, it is 300 seconds.
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

    @checked
    def scale_on_schedule(
        self,
        id: str,
        *,
        schedule: str | appscaling.Schedule,
        time_zone: str | TimeZone | None = None,
        min_capacity: int | None = None,
        max_capacity: int | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> None:
        """
        Change the bounds at a time, or again and again.

        They hold until something else changes them. A deployment sets the target's own
        bounds again only where those change.

        Args:
            id: The action's name, unique within the target.

            schedule:
                ``cron(0 20 * * ? *)`` with six fields, ``rate(1 day)`` or
                ``at(2026-12-24T18:00:00)``, or a ``Schedule`` of the CDK.

            time_zone:
                Where the clock hangs, such as ``Europe/Berlin``.
                If left out, it is UTC.

            min_capacity:
                The least from then on.
                If left out, it stays as it is.

            max_capacity:
                The most from then on.
                If left out, it stays as it is.

            start:
                When the schedule begins to hold; UTC where it has no time zone.
                If left out, it holds at once.

            end:
                When it ends; UTC where it has no time zone.
                If left out, it does not.

        Raises:
            ValueError: If the schedule cannot be read, or sets no bounds that the
                target may have; all reasons at once.
        """
        expression, zone = expression_of(schedule), zone_of(time_zone)
        found = [
            *schedule_findings(expression, zone),
            *span_findings(start, end),
            *self._action_findings(id, min_capacity, max_capacity),
        ]
        report(self, id, found)
        self._schedule(
            Action(id, min_capacity, max_capacity),
            action_of(
                id,
                expression=expression,
                zone=zone,
                least=min_capacity,
                most=max_capacity,
                start=start,
                end=end,
            ),
        )

    @checked
    def office_hours(
        self,
        id: str,
        *,
        opens: str,
        closes: str,
        min_capacity: int,
        closed_capacity: int,
        time_zone: str | TimeZone | None = None,
        days: str = "MON-FRI",
        max_capacity: int | None = None,
    ) -> None:
        """
        Keep capacity while people work, and little or none while they do not.

        ``office_hours("Office", opens="08:00", closes="18:00", min_capacity=2,
        closed_capacity=0, time_zone="Europe/Berlin")``

        Two scheduled actions set the bounds, so that the first of them counts from the
        first time that it is due. Capacity begins to start at ``opens``: let it open
        as much earlier as a start takes.

        Args:
            id: What the names of both actions begin with.

            opens: When, such as ``08:00``.

            closes: When; on the next day where that is not later than ``opens``.

            min_capacity: The least while it is open.

            closed_capacity: The least and the most while it is closed.

            time_zone:
                Where the clock hangs, such as ``Europe/Berlin``.
                If left out, it is UTC.

            days: On which days it opens, such as ``TUE,THU,SAT``; ``*`` for all.

            max_capacity:
                The most while it is open.
                If left out, it is the target's.

        Raises:
            ValueError: If hours, days or bounds are wrong; all reasons at once.
        """
        most = contents_of(self).most if max_capacity is None else max_capacity
        zone = zone_of(time_zone)
        hours, found = hours_of(opens, closes, days)
        openness = Action(f"{id}Opens", min_capacity, most)
        closure = Action(f"{id}Closes", closed_capacity, closed_capacity)
        expressions = ("", "") if hours is None else (hours.opening, hours.closing)
        for expression in filter(None, expressions[:1]):
            found += schedule_findings(expression, zone)
        for action in (openness, closure):
            found += self._action_findings(action.name, action.least, action.most)
        report(self, id, found)
        for action, expression in zip((openness, closure), expressions, strict=True):
            self._schedule(
                action,
                action_of(
                    action.name,
                    expression=expression,
                    zone=zone,
                    least=action.least,
                    most=action.most,
                    start=None,
                    end=None,
                ),
            )

    def _action_findings(
        self, name: str, least: int | None, most: int | None
    ) -> list[Finding]:
        return [
            *action_name_findings(name),
            *contents_of(self).action_findings(name),
            *action_bounds_findings(least, most, may_be_zero=self._may_be_zero),
        ]

    def _schedule(
        self,
        action: Action,
        written: _Action,
    ) -> None:
        contents = contents_of(self)
        if not contents.actions:
            at_synth(self, contents.bounds_findings)
        contents.actions[action.name] = action
        self._actions.append(written)
        actions: list[IResolvable | _Action] = [*self._actions]
        self.cfn_scalable_target.scheduled_actions = actions
