"""
The alarm of a step policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.hosting.scaling.metrics import Measure, Stat

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch


def alarm_metric(measure: Measure, account: str | None) -> dict[str, Any]:
    """
    Render what an alarm watches, as keywords of ``CfnAlarm``.

    Args:
        measure: The metric, or the formula.

        account: The stack's account, for metrics that name another.
    """
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - 0.2 s to load

    single = measure.single
    if single is not None and single.account in (None, account):
        return {
            "namespace": single.namespace,
            "metric_name": single.name,
            "dimensions": _dimensions(cloudwatch.CfnAlarm, single) or None,
            "extended_statistic" if single.is_extended else "statistic": (
                single.statistic
            ),
            "period": single.period,
            "unit": single.unit,
        }
    last = [*measure.parts][-1]
    queries = [
        _query(cloudwatch.CfnAlarm, name, part, account, is_last=name == last)
        for name, part in measure.parts.items()
    ]
    return {"metrics": queries}


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
                dimensions=_dimensions(alarm, part) or None,
            ),
            # A period that is not known was refused before.
            period=part.period or 0,
            stat=part.statistic,
            unit=part.unit,
        ),
        return_data=is_last,
    )


def _dimensions(
    alarm: type[cloudwatch.CfnAlarm], stat: Stat
) -> list[cloudwatch.CfnAlarm.DimensionProperty]:
    return [
        alarm.DimensionProperty(name=name, value=value)
        for name, value in stat.dimensions.items()
    ]
