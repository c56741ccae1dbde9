"""
The metric of a policy of target tracking.
"""

from __future__ import annotations

from aws_cdk import aws_applicationautoscaling as appscaling

from cdk_sagemaker_llm.hosting.scaling.metrics import Measure, Stat

_Policy = appscaling.CfnScalingPolicy


def tracked_metric(
    measure: Measure,
) -> _Policy.CustomizedMetricSpecificationProperty:
    """
    Render what a policy of target tracking follows.

    Args:
        measure: The metric, or the formula.
    """
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
