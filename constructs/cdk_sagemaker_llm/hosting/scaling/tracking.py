"""
Target tracking: a policy that keeps a metric near a target, and how it names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.limits import seconds, time_findings
from cdk_sagemaker_llm.hosting.common.reporting import checked, report
from cdk_sagemaker_llm.hosting.scaling.measures import (
    Measure,
    Stat,
    measure_of,
    number_findings,
)
from cdk_sagemaker_llm.hosting.scaling.target_base import (
    ScalableTargetBase,
    contents_of,
)
from cdk_sagemaker_llm.serving.parameters import OUTSIDE_RANGE
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

# The service's default of variants; that of components is not documented, so that
# both are always written out.
_COOLDOWN_SECONDS = 300

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
        measure = None if metric is None else measure_of(metric)
        found = [
            *_metric_findings(scope, predefined_metric, measure),
            *_value_findings(target_value),
            *time_findings("scale_in_cooldown", scale_in_cooldown),
            *time_findings("scale_out_cooldown", scale_out_cooldown),
            *contents_of(target).policy_findings(id),
            *contents_of(target).tracked_findings(predefined_metric),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        contents_of(target).policies[id] = not disable_scale_in
        if predefined_metric is not None:
            contents_of(target).tracked[predefined_metric] = id
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
                predefined_metric_specification=_predefined(predefined_metric),
            ),
        )
        """The resource itself, for what this class does not offer."""


def _metric_findings(
    scope: Construct, predefined: str | None, measure: Measure | None
) -> list[Finding]:
    if (predefined is None) == (measure is None):
        return number_findings("neither" if measure is None else "both")
    return [] if measure is None else measure.tracked_findings(scope)


def _value_findings(value: float) -> list[Finding]:
    if is_unresolved(value) or value > 0:
        return []
    return [OUTSIDE_RANGE.finding(f"the target value must be above 0, got {value:g}")]


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


def _predefined(
    metric: str | None,
) -> _Policy.PredefinedMetricSpecificationProperty | None:
    if metric is None:
        return None
    return _Policy.PredefinedMetricSpecificationProperty(predefined_metric_type=metric)


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
