"""
The metrics of a simulated day that a dashboard reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cdk_sagemaker_llm.cli.simulating.playing import Played
from cdk_sagemaker_llm.simulation.metric_math import evaluate, names_in
from cdk_sagemaker_llm.simulation.metrics import (
    LATENCIES,
    STATISTICS,
    Metric,
    MetricQuery,
)
from cdk_sagemaker_llm.simulation.running import run

Values = Sequence[float | None]
Known = Mapping[MetricQuery, Values]
_MINUTE = 60
# What has no value while nothing of it happens.
_EVENTS = frozenset({"NoCapacityInvocationFailures"})


def query_of(row: Sequence[Any]) -> MetricQuery | None:
    """
    Return what a widget's row reads; ``None`` for what the simulation cannot.
    """
    *names, options = row
    if not names:
        return None
    namespace, name, *dimensions = names
    statistic = options["stat"]
    if statistic not in STATISTICS and name not in LATENCIES:
        return None
    by_name = dict(zip(dimensions[::2], dimensions[1::2], strict=True))
    return MetricQuery(Metric.of(namespace, name, by_name), statistic, _MINUTE)


def simulated(
    played: Sequence[Played], widgets: Iterable[Mapping[str, Any]]
) -> dict[MetricQuery, Values]:
    """
    Play each variant again, watched by a dashboard.

    Args:
        played: The variants, as they were played.

        widgets: The dashboard's widgets.
    """
    rows = (row for each in widgets for row in each["properties"].get("metrics", ()))
    queries = tuple(dict.fromkeys(filter(None, map(query_of, rows))))
    found: dict[MetricQuery, Values] = {}
    for each in played:
        outcome = run(replace(each.scenario, watched=queries))
        for query, values in outcome.watched.items():
            has_some = any(value is not None for value in values)
            if has_some or query.metric.name in _EVENTS:
                found[query] = values
    return found


def curves_of(rows: Sequence[Sequence[Any]], known: Known) -> dict[str, Values | None]:
    """
    Return what a widget shows, by label; ``None`` for what is not simulated.

    Args:
        rows: The widget's metrics and expressions.

        known: What is simulated.
    """
    by_id = {row[-1]["id"]: _read(row, known) for row in rows if "id" in row[-1]}
    found: dict[str, Values | None] = {}
    for row in rows:
        options = row[-1]
        if options.get("visible", True):
            is_metric = len(row) > 1
            values = _read(row, known) if is_metric else _computed(options, by_id)
            found[options["label"]] = values
    return found


def _read(row: Sequence[Any], known: Known) -> Values | None:
    query = query_of(row)
    return None if query is None else known.get(query)


def _computed(
    options: Mapping[str, Any], by_id: Mapping[str, Values | None]
) -> Values | None:
    expression = options["expression"]
    used = {name: by_id.get(name) for name in names_in(expression)}
    inputs = {name: values for name, values in used.items() if values is not None}
    if len(inputs) < len(used):
        return None
    minutes = zip(*inputs.values(), strict=True)
    return [
        evaluate(expression, dict(zip(inputs, minute, strict=True)))
        for minute in minutes
    ]
