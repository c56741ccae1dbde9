"""
Shapes of AWS's APIs as simulations have them: scaling, alarms, metrics and instances.

Requests and templates spell them alike. What cannot be simulated is refused with a
``ValueError`` that says what it is; ``naming`` is what each metric passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.api_values import (
    Shape,
    map_of,
    maps_of,
    moment,
    number,
    pools_of,
    priority_of,
    switch,
    value_text,
    whole,
)
from cdk_sagemaker_llm.simulation.fleet.parts import Pool, ScaleIn
from cdk_sagemaker_llm.simulation.metrics import (
    PREDEFINED,
    SAGEMAKER,
    MathQuery,
    Metric,
    MetricQuery,
    Query,
)
from cdk_sagemaker_llm.simulation.scaling.policies import (
    Bounds,
    ScheduledAction,
    StepAdjustment,
    StepScaling,
    TargetTracking,
)

# Takes a metric as it is written; returns the one that is read, or refuses it.
Naming = Callable[[Metric], Metric]

# AWS documents 300 s for variants and for step policies, and says nothing of
# components: they are taken alike.
COOLDOWN = 300.0
COOLDOWNS = ("ScaleInCooldown", "ScaleOutCooldown")
_MINUTE = 60
_STRATEGIES = ("IDLE_RELEASE", "CONSOLIDATION")
_SUSPENDED = {
    "DynamicScalingInSuspended": "DynamicScalingIn",
    "DynamicScalingOutSuspended": "DynamicScalingOut",
    "ScheduledScalingSuspended": "ScheduledScaling",
}


class UnplayableError(ValueError):
    """
    A shape has something that cannot be simulated, and why.
    """


def metric_of(shape: Shape) -> Metric:
    """
    Read a metric: ``Namespace``, ``MetricName`` and ``Dimensions``.
    """
    dimensions = {
        str(each.get("Name")): str(each.get("Value"))
        for each in maps_of(shape, "Dimensions")
    }
    name, namespace = str(shape.get("MetricName")), str(shape.get("Namespace"))
    return Metric.of(namespace, name, dimensions)


def predefined_query(name: object, dimensions: Mapping[str, str]) -> MetricQuery:
    """
    Return what a predefined metric of a scaling policy reads.
    """
    found = PREDEFINED.get(str(name))
    if found is None:
        raise UnplayableError(
            f"its predefined metric {value_text(name)} is not computed"
        )
    metric, statistic, period = found
    return MetricQuery(Metric.of(SAGEMAKER, metric, dimensions), statistic, period)


def query_of(shape: Shape, naming: Naming | None = None) -> Query:
    """
    Read what an alarm or a customised metric watches: one metric, or metric math.
    """
    period = whole(shape.get("Period")) or _MINUTE
    several = maps_of(shape, "Metrics")
    if several:
        return _math(several, period, naming)
    statistic = shape.get("Statistic", shape.get("ExtendedStatistic"))
    return _single(shape, statistic, period, naming)


def alarm_rule(shape: Shape, name: str, naming: Naming | None = None) -> AlarmRule:
    """
    Read when an alarm goes off.
    """
    threshold = number(shape.get("Threshold"))
    periods = whole(shape.get("EvaluationPeriods"))
    if threshold is None or periods is None:
        key = "Threshold" if threshold is None else "EvaluationPeriods"
        raise UnplayableError(f"the {key} of its alarm {name} is {_got(shape, key)}")
    return AlarmRule(
        name=str(shape.get("AlarmName", name)),
        query=query_of(shape, naming),
        comparison=str(shape.get("ComparisonOperator")),
        threshold=threshold,
        evaluation_periods=periods,
        datapoints_to_alarm=whole(shape.get("DatapointsToAlarm")),
        treat_missing=str(shape.get("TreatMissingData", "missing")),
    )


def target_tracking(
    name: str,
    shape: Shape,
    dimensions: Mapping[str, str],
    naming: Naming | None = None,
) -> TargetTracking:
    """
    Read a policy of target tracking.
    """
    predefined = map_of(shape, "PredefinedMetricSpecification")
    custom = map_of(shape, "CustomizedMetricSpecification")
    value = number(shape.get("TargetValue"))
    if value is None:
        raise UnplayableError(f"its TargetValue is {_got(shape, 'TargetValue')}")
    return TargetTracking(
        name=name,
        query=query_of(custom, naming)
        if custom
        else predefined_query(predefined.get("PredefinedMetricType"), dimensions),
        target=value,
        scale_in_cooldown=_cooldown(shape, COOLDOWNS[0]),
        scale_out_cooldown=_cooldown(shape, COOLDOWNS[1]),
        disable_scale_in=switch(shape.get("DisableScaleIn")),
    )


def step_scaling(name: str, shape: Shape, alarm: AlarmRule) -> StepScaling:
    """
    Read a policy of steps.
    """
    return StepScaling(
        name=name,
        alarm=alarm,
        adjustments=tuple(map(_adjustment, maps_of(shape, "StepAdjustments"))),
        adjustment_type=str(shape.get("AdjustmentType")),
        cooldown=_cooldown(shape, "Cooldown"),
        minimum_magnitude=whole(shape.get("MinAdjustmentMagnitude")),
    )


def bounds_of(shape: Shape) -> Bounds:
    """
    Read between which numbers a scalable target stays.
    """
    least, most = whole(shape.get("MinCapacity")), whole(shape.get("MaxCapacity"))
    if least is None or most is None:
        key = "MinCapacity" if least is None else "MaxCapacity"
        raise UnplayableError(f"its {key} is {_got(shape, key)}")
    return Bounds(minimum=least, maximum=most)


def suspended(shape: Shape) -> frozenset[str]:
    """
    Read which scaling a SuspendedState switches off, by the service's names.
    """
    return frozenset(name for key, name in _SUSPENDED.items() if switch(shape.get(key)))


def scheduled_action(shape: Shape) -> ScheduledAction:
    """
    Read a scheduled action.
    """
    bounds = map_of(shape, "ScalableTargetAction")
    return ScheduledAction(
        name=str(shape.get("ScheduledActionName", "without a name")),
        schedule=str(shape.get("Schedule")),
        time_zone=str(shape.get("Timezone") or "UTC"),
        minimum=whole(bounds.get("MinCapacity")),
        maximum=whole(bounds.get("MaxCapacity")),
        start=moment(shape.get("StartTime")),
        end=moment(shape.get("EndTime")),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagedScaling:
    """
    A variant's ManagedInstanceScaling; numbers are ``None`` where it does not say.
    """

    is_enabled: bool
    minimum: int | None
    maximum: int | None


def managed_scaling(variant: Shape) -> ManagedScaling:
    """
    Read how SageMaker scales the instances of a production variant.
    """
    shape = map_of(variant, "ManagedInstanceScaling")
    return ManagedScaling(
        is_enabled=shape.get("Status") == "ENABLED",
        minimum=whole(shape.get("MinInstanceCount")),
        maximum=whole(shape.get("MaxInstanceCount")),
    )


def scale_in_policy(variant: Shape) -> ScaleIn | None:
    """
    Read how SageMaker lets the instances of a production variant go; ``None`` where it
    does not say.
    """
    shape = map_of(map_of(variant, "ManagedInstanceScaling"), "ScaleInPolicy")
    if not shape:
        return None
    step = whole(shape.get("MaximumStepSize", 1))
    minutes = number(shape.get("CooldownInMinutes", 20))
    strategy = shape.get("Strategy")
    if step is None or minutes is None or strategy not in _STRATEGIES:
        raise UnplayableError("its ScaleInPolicy is known at deployment only")
    try:
        return ScaleIn(strategy=strategy, maximum_step=step, cooldown=minutes * _MINUTE)
    except ValueError as fault:
        raise UnplayableError(f"its ScaleInPolicy is not simulated: {fault}") from fault


def fleet_pools(variant: Shape) -> tuple[Pool, ...]:
    """
    Read the instance types of a production variant, the first choice first.
    """
    return tuple(
        Pool(str(pool["InstanceType"]), priority_of(pool, order))
        for order, pool in enumerate(pools_of(variant), start=1)
        if pool.get("InstanceType")
    )


def provision_timeout(variant: Shape) -> float | None:
    """
    Read how many seconds a production variant waits for capacity; ``None`` where it
    does not say.
    """
    return number(variant.get("VariantInstanceProvisionTimeoutInSeconds"))


def _got(shape: Shape, key: str) -> str:
    return value_text(shape.get(key))


def _single(
    shape: Shape, statistic: object, period: int, naming: Naming | None
) -> MetricQuery:
    metric = metric_of(shape)
    named = naming(metric) if naming else metric
    try:
        return MetricQuery(named, str(statistic), period)
    except ValueError as fault:
        raise UnplayableError(f"of its metric {metric.name}, {fault}") from fault


def _math(several: Sequence[Shape], period: int, naming: Naming | None) -> Query:
    queries: dict[str, Query] = {}
    waiting: dict[str, Shape] = {}
    returned = None
    for each in several:
        name, stat = str(each.get("Id")), map_of(each, "MetricStat")
        if stat:
            own = whole(stat.get("Period", each.get("Period"))) or period
            queries[name] = _single(
                map_of(stat, "Metric"), stat.get("Stat"), own, naming
            )
        else:
            waiting[name] = each
        # If it is omitted, ReturnData is true; exactly one of an alarm's has it.
        if switch(each.get("ReturnData", True)):
            returned = name
    if returned is None:
        raise UnplayableError("none of its metrics is returned")
    step = max((query.period for query in queries.values()), default=period)
    trouble: ValueError | None = None
    # An expression may name others; those it names are put together first.
    while waiting:
        count = len(waiting)
        for name, each in list(waiting.items()):
            own, text = whole(each.get("Period")) or step, str(each.get("Expression"))
            try:
                queries[name] = MathQuery(text, dict(queries), own)
            except ValueError as fault:
                trouble = fault
            else:
                del waiting[name]
        if len(waiting) == count:
            raise UnplayableError(f"its {trouble}") from trouble
    return queries[returned]


def _cooldown(shape: Shape, key: str) -> float:
    if shape.get(key) is None:
        return COOLDOWN
    found = number(shape[key])
    if found is None:
        raise UnplayableError(f"its {key} is {_got(shape, key)}")
    return found


def _adjustment(shape: Shape) -> StepAdjustment:
    change = number(shape.get("ScalingAdjustment"))
    if change is None:
        raise UnplayableError(
            f"a ScalingAdjustment is {_got(shape, 'ScalingAdjustment')}"
        )
    return StepAdjustment(
        lower=number(shape.get("MetricIntervalLowerBound")),
        upper=number(shape.get("MetricIntervalUpperBound")),
        change=change,
    )
