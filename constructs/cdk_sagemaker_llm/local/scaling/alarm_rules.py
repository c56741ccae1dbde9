"""
moto's alarms as the engine of time reads them.
"""

from __future__ import annotations

from collections.abc import Iterable

from moto.cloudwatch.models import Alarm as KeptAlarm
from moto.cloudwatch.models import Dimension, MetricDataQuery

from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.metrics import MathQuery, Metric, MetricQuery, Query

_MINUTE = 60


def rule_of(alarm: KeptAlarm) -> AlarmRule | None:
    """
    Return when an alarm goes off; ``None`` if that cannot be computed here.

    Percentiles of others than the runtime's latencies, anomaly detection and functions
    of metric math that the engine does not know cannot.
    """
    if alarm.threshold is None or alarm.rule is not None:
        return None
    try:
        return AlarmRule(
            name=alarm.name,
            query=_query_of(alarm),
            comparison=alarm.comparison_operator,
            threshold=float(alarm.threshold),
            evaluation_periods=int(alarm.evaluation_periods),
            datapoints_to_alarm=_whole(alarm.datapoints_to_alarm),
            treat_missing=alarm.treat_missing_data or "missing",
        )
    except (ValueError, LookupError):
        return None


def metric_of(namespace: str, name: str, dimensions: Iterable[Dimension]) -> Metric:
    """
    Return a metric of moto's dimensions.
    """
    named = {str(one.name): str(one.value) for one in dimensions}
    return Metric.of(namespace, name, named)


def _query_of(alarm: KeptAlarm) -> Query:
    if alarm.metric_data_queries:
        return _math(alarm.metric_data_queries)
    metric = metric_of(alarm.namespace, alarm.metric_name, alarm.dimensions)
    statistic = alarm.extended_statistic or alarm.statistic
    return MetricQuery(metric, statistic, int(alarm.period))


def _math(queries: list[MetricDataQuery]) -> Query:
    by_id = {query.id: query for query in queries}
    # Left out, ReturnData is true; exactly one of an alarm's has it.
    watched = next(q for q in queries if str(q.return_data).lower() != "false")
    periods = [int(q.metric_stat.period) for q in queries if q.metric_stat]
    return _one(watched.id, by_id, max(periods, default=_MINUTE), frozenset())


def _one(
    name: str, by_id: dict[str, MetricDataQuery], period: int, above: frozenset[str]
) -> Query:
    query = by_id[name]
    if query.metric_stat is not None:
        stat = query.metric_stat
        metric = metric_of(
            stat.metric.namespace, stat.metric.metric_name, stat.metric.dimensions
        )
        return MetricQuery(metric, stat.stat, int(stat.period))
    seen = above | {name}
    others = {n: _one(n, by_id, period, seen) for n in by_id if n not in seen}
    return MathQuery(str(query.expression), others, int(query.period or period))


def _whole(number: int | None) -> int | None:
    return None if number is None else int(number)
