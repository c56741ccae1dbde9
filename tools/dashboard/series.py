"""
The metrics of a simulated day, as CloudWatch would have them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.cli.simulating.playing import Played
from cdk_sagemaker_llm.simulation.metric_math import evaluate, names_in
from cdk_sagemaker_llm.simulation.outcome import Series

Values = Sequence[float | None]
# Metric, statistic, and the values of its dimensions.
Key = tuple[str, str, tuple[str, ...]]
_MICROSECONDS = 1e6


def simulated(played: Sequence[Played]) -> dict[Key, Values]:
    """
    Return every metric that a run has, minute by minute.
    """
    found: dict[Key, Values] = {}
    for each in played:
        variant = (_name(each.hosted.endpoint), each.hosted.variant)
        reserved = _reserved(each)
        if reserved is not None:
            found["GPUReservation", "Average", variant] = reserved
        for model in each.hosted.models:
            resource = variant if model.needs is None else (_name(model.name),)
            series = each.outcome.workloads[model.name]
            for metric, statistic, values in _metrics(series):
                found[metric, statistic, resource] = values
    return found


def _name(place: str) -> str:
    """
    Return the logical id of what goes by its stack and its logical id.
    """
    return place.rsplit("/", 1)[-1]


def _reserved(played: Played) -> Values | None:
    """
    Return the share of the accelerators that components reserve, in percent.
    """
    hosted = played.hosted
    kind = find_instance_type(hosted.pools[0].instance_type)
    devices = {model.name: model.accelerators for model in hosted.models}
    if len(hosted.pools) > 1 or None in devices.values():
        return None
    (instances,) = played.outcome.instances.values()
    copies = played.outcome.workloads
    return [
        100
        * sum(
            copies[name].copies[minute] * (each or 0) for name, each in devices.items()
        )
        / (running * kind.accelerators)
        if running
        else None
        for minute, running in enumerate(instances)
    ]


def _metrics(series: Series) -> Iterator[tuple[str, str, Values]]:
    nowhere = series.refused["no capacity"]
    sent = [all_ - lost for all_, lost in zip(series.arrived, nowhere, strict=True)]
    each = _for_each(sent, series.copies)
    under_way = _for_each(series.concurrency, series.copies)
    # The next request goes to the least busy.
    most = [None if value is None else math.ceil(value) for value in under_way]
    yield "Invocations", "Sum", sent
    yield "NoCapacityInvocationFailures", "Sum", nowhere
    yield "Invocation4XXErrors", "Sum", _client_errors(series)
    for per in ("PerCopy", "PerInstance"):
        yield f"Invocations{per}", "Sum", each
    for per in ("PerCopy", "PerModel"):
        yield f"ConcurrentRequests{per}", "Maximum", most
    for statistic, seconds in (
        ("Average", series.latency_mean),
        ("p50", series.latency_p50),
        ("p95", series.latency_p95),
        ("p99", series.latency_p99),
    ):
        yield "ModelLatency", statistic, [_micro(value) for value in seconds]


def _for_each(total: Sequence[float], copies: Sequence[float]) -> Values:
    pairs = zip(total, copies, strict=True)
    return [amount / many if many else None for amount, many in pairs]


def _client_errors(series: Series) -> Values:
    lost = [each for why, each in series.refused.items() if why != "no capacity"]
    return [sum(minute) for minute in zip(series.timed_out, *lost, strict=True)]


def _micro(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * _MICROSECONDS


def curves_of(
    rows: Sequence[Sequence[Any]], known: Mapping[Key, Values]
) -> dict[str, Values | None]:
    """
    Return what a widget shows, by label; ``None`` for what is not simulated.

    Args:
        rows: The widget's metrics and expressions.

        known: What is simulated.
    """
    metrics = [(names, options) for *names, options in rows if names]
    by_id = {
        options["id"]: _of(names, options, known)
        for names, options in metrics
        if "id" in options
    }
    found: dict[str, Values | None] = {}
    for *names, options in rows:
        if not options.get("visible", True):
            continue
        values = _of(names, options, known) if names else _computed(options, by_id)
        found[options["label"]] = values
    return found


def _of(
    names: Sequence[str], options: Mapping[str, Any], known: Mapping[Key, Values]
) -> Values | None:
    _, metric, *dimensions = names
    return known.get((metric, options["stat"], tuple(dimensions[1::2])))


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
