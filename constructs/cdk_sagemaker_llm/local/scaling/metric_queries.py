"""
Metric math as moto keeps it: the queries of alarms, and of policies that make alarms.
"""

from __future__ import annotations

from typing import Any

from moto.cloudwatch.models import Dimension, Metric, MetricDataQuery, MetricStat


def queries_of(
    metrics: list[dict[str, Any]], period: int | None = None
) -> list[MetricDataQuery]:
    """
    Return what an alarm reads.

    Args:
        metrics: The queries of a request: of PutMetricAlarm, or of a policy.

        period: Seconds of every metric, where the queries have none of their own.
    """
    return [_query(query, period) for query in metrics]


def _query(query: dict[str, Any], period: int | None) -> MetricDataQuery:
    stat = query.get("MetricStat")
    return MetricDataQuery(
        query_id=query["Id"],
        label=query.get("Label"),  # type: ignore[arg-type]  # moto's own calls pass None
        period=query.get("Period"),  # type: ignore[arg-type]  # the same
        # Left out, it means true; moto's answers would leave it out.
        return_data=query.get("ReturnData", True),
        expression=query.get("Expression"),
        metric_stat=None if stat is None else _stat(stat, period),
    )


def _stat(stat: dict[str, Any], period: int | None) -> MetricStat:
    metric = stat["Metric"]
    dimensions = [
        Dimension(one["Name"], one["Value"]) for one in metric.get("Dimensions") or ()
    ]
    return MetricStat(
        metric=Metric(metric.get("MetricName"), metric.get("Namespace"), dimensions),
        period=stat["Period"] if period is None else str(period),
        stat=stat["Stat"],
        unit=stat.get("Unit"),  # type: ignore[arg-type]  # moto's own calls pass None
    )
