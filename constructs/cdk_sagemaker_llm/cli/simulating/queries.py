"""
The metrics that policies and alarms of a template name.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdk_sagemaker_llm.cli.simulating.resources import (
    Properties,
    Resources,
    map_of,
    maps_of,
    shown,
    whole,
)
from cdk_sagemaker_llm.simulation.metrics import (
    PREDEFINED,
    SAGEMAKER,
    Metric,
    MetricQuery,
    Query,
)
from cdk_sagemaker_llm.simulation.metrics import MathQuery as Formula
from cdk_sagemaker_llm.simulation.publishing import (
    COMPONENT_METRICS,
    COMPONENTS,
    ENDPOINTS,
    HOST_METRICS,
)

_MINUTE = 60
_VARIANT = frozenset({"EndpointName", "VariantName"})
_COMPONENT = frozenset({"InferenceComponentName"})
_TYPE = frozenset({"InstanceType"})
_OF_EACH = frozenset(
    {
        "FirstChunkLatency",
        "FirstChunkModelLatency",
        "FirstChunkOverheadLatency",
        "Invocation4XXErrors",
        "Invocation5XXErrors",
        "InvocationModelErrors",
        "Invocations",
        "MidStreamErrors",
        "ModelLatency",
        "OverheadLatency",
    }
)
_OF_QUEUE = frozenset(
    {
        "ApproximateAgeOfOldestRequest",
        "ApproximateBacklogSize",
        "ApproximateBacklogSizePerInstance",
        "HasBacklogWithoutCapacity",
    }
)
_OF_VARIANT = {"ConcurrentRequestsPerModel", "InvocationsPerInstance"}
_OF_COMPONENT = {
    "ConcurrentRequestsPerCopy",
    "InvocationsPerCopy",
    "NoCapacityInvocationFailures",
}
# What a run records: names by namespace and dimensions.
RECORDED: Mapping[tuple[str, frozenset[str]], frozenset[str]] = {
    (SAGEMAKER, frozenset({"EndpointName"})): _OF_QUEUE,
    (SAGEMAKER, _VARIANT): _OF_EACH | _OF_VARIANT,
    (SAGEMAKER, _COMPONENT): _OF_EACH | _OF_COMPONENT,
    (ENDPOINTS, _VARIANT): HOST_METRICS,
    (ENDPOINTS, _VARIANT | _TYPE): HOST_METRICS,
    (COMPONENTS, _COMPONENT): COMPONENT_METRICS,
    (COMPONENTS, _COMPONENT | _TYPE): COMPONENT_METRICS,
}


class UnplayableError(ValueError):
    """
    Something of a template that cannot be played out, and why.
    """


def predefined(name: object, dimensions: Mapping[str, str]) -> MetricQuery:
    """
    Return the query that a predefined metric stands for.

    Raises:
        UnplayableError: If it is none that a run computes.
    """
    found = PREDEFINED.get(str(name))
    if found is None:
        raise UnplayableError(f"its predefined metric {shown(name)} is not computed")
    metric, statistic, period = found
    return MetricQuery(Metric.of(SAGEMAKER, metric, dimensions), statistic, period)


def query_of(resources: Resources, given: Properties) -> Query:
    """
    Return what an alarm or a customised metric reads: one metric, or a formula.

    Raises:
        UnplayableError: If it reads what no run computes.
    """
    several = maps_of(given, "Metrics")
    if several:
        return _formula(resources, several, whole(given.get("Period")) or _MINUTE)
    return _single(
        resources,
        given,
        given.get("Statistic", given.get("ExtendedStatistic")),
        whole(given.get("Period")) or _MINUTE,
    )


def _single(
    resources: Resources, given: Properties, statistic: object, period: int
) -> MetricQuery:
    name, namespace = str(given.get("MetricName")), str(given.get("Namespace"))
    dimensions = {
        str(each.get("Name")): _dimension(resources, each)
        for each in maps_of(given, "Dimensions")
    }
    _hold_recorded(namespace, name, frozenset(dimensions))
    metric = Metric.of(namespace, name, dimensions)
    try:
        return MetricQuery(metric, str(statistic), period)
    except ValueError as fault:
        raise UnplayableError(f"of its metric {name}, {fault}") from fault


def _hold_recorded(namespace: str, name: str, dimensions: frozenset[str]) -> None:
    """
    Refuse a metric that no run computes.
    """
    if name in RECORDED.get((namespace, dimensions), ()):
        return
    is_known = any(
        name in names for (space, _), names in RECORDED.items() if space == namespace
    )
    by = f" by {', '.join(sorted(dimensions)) or 'no dimension'}" if is_known else ""
    raise UnplayableError(
        f"it follows {name} of {namespace}{by}, which no run computes"
    )


def _dimension(resources: Resources, given: Properties) -> str:
    value = given.get("Value")
    if str(given.get("Name")) in {"EndpointName", "InferenceComponentName"}:
        return resources.find(value)
    return str(value)


def _formula(
    resources: Resources, several: list[Properties], period: int
) -> MetricQuery | Formula:
    queries: dict[str, Query] = {}
    expressions = {}
    returned = None
    for each in several:
        name = str(each.get("Id"))
        stat = map_of(each, "MetricStat")
        if stat:
            own = whole(stat.get("Period", each.get("Period"))) or period
            metric = map_of(stat, "Metric")
            queries[name] = _single(resources, metric, stat.get("Stat"), own)
        else:
            expressions[name] = str(each.get("Expression"))
        if each.get("ReturnData", True) in (True, "true"):
            returned = name
    if returned is None:
        raise UnplayableError("none of its metrics is returned")
    step = max((query.period for query in queries.values()), default=period)
    return _resolved(returned, queries, expressions, step)


def _resolved(
    name: str, queries: Mapping[str, Query], expressions: Mapping[str, str], step: int
) -> Query:
    # An expression may name others; those it names first are put together first.
    known = dict(queries)
    waiting = dict(expressions)
    while waiting:
        progress = False
        for each, expression in list(waiting.items()):
            try:
                known[each] = Formula(expression, dict(known), step)
            except ValueError as fault:
                trouble = fault
                continue
            del waiting[each]
            progress = True
        if not progress:
            raise UnplayableError(f"its {trouble}") from trouble
    if name not in known:
        raise UnplayableError(f"it returns {name}, which is none of its metrics")
    return known[name]
