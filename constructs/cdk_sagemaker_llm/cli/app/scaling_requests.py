"""
What the service would refuse of how an app is scaled, by what its templates say alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from cdk_sagemaker_llm.cli.app.hosting import App, EndpointConfig, Resource
from cdk_sagemaker_llm.cli.app.request_values import (
    Refusal,
    count_of,
    literal,
    order_of,
)
from cdk_sagemaker_llm.cli.app.requests import has_model, variant_findings
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.rules import (
    NO_BACKLOG,
    SCALED_TWICE,
    WRONG_SCHEDULE,
    WRONG_STEPS,
)
from cdk_sagemaker_llm.simulation.api_values import Shape, map_of, maps_of, number

_SCALING = "ApplicationAutoScaling"
_BACKLOG = "ApproximateBacklogSize"
_QUEUED = frozenset({_BACKLOG, f"{_BACKLOG}PerInstance", "HasBacklogWithoutCapacity"})


def scaling_refusals(app: App) -> list[Refusal]:
    """
    Return what is wrong with each target, policy and alarm of an app; nothing for those
    that are right.
    """
    targets, policies = (
        app.of_type(kind, _SCALING) for kind in ("ScalableTarget", "ScalingPolicy")
    )
    found = [
        *(Refusal(one, _target(app, one)) for one in targets),
        *(Refusal(one, _policy(app, one)) for one in policies),
        *(
            Refusal(one, _follows_backlog(app, [one.properties]))
            for one in app.of_type("Alarm", "CloudWatch")
        ),
        *_scaled_twice(app, targets),
    ]
    return [one for one in found if one.findings]


def _target(app: App, one: Resource) -> list[Finding]:
    shape = one.properties
    if shape.get("ServiceNamespace", "sagemaker") != "sagemaker":
        return []
    config, variant = _scaled_variant(app, one)
    least = 0
    for each in (
        [] if config is None or config.asynchronous is not None else config.variants
    ):
        # The last instance of a model goes where requests can wait for another.
        least = max(least, int(each.name == variant and has_model(each) is True))
    found = [
        *count_of("MinCapacity", shape, least),
        *count_of("MaxCapacity", shape, 0),
    ] or order_of("MinCapacity", "MaxCapacity", shape)
    if actions := maps_of(shape, "ScheduledActions"):
        found += _schedules(actions)
    return found + ([] if config is None else variant_findings(config, variant))


def _scaled_variant(app: App, one: Resource) -> tuple[EndpointConfig | None, str]:
    """
    Return the configuration and the variant whose instances are scaled, as far as the
    app says it.
    """
    named = app.target_of(one)
    if named is None or not named.variant:
        return None, ""
    endpoints = (each for each in app.of_type("Endpoint") if each.key == named.name)
    return next(map(app.config_of, endpoints), None), named.variant


def _schedules(actions: Iterable[Shape]) -> list[Finding]:
    from cdk_sagemaker_llm.simulation.scaling.schedules import (  # noqa: PLC0415 - who has a schedule has it
        next_time,
    )

    found = []
    for action in actions:
        schedule = literal(action.get("Schedule"))
        # Quartz, whose language cron is, reads ranges around the end, too.
        if schedule is None or ("-" in schedule and schedule.startswith("cron")):
            continue
        try:
            next_time(schedule, "UTC", 0.0, 0.0)
        except ValueError as fault:
            found.append(WRONG_SCHEDULE.finding(str(fault)))
    return found


def _policy(app: App, one: Resource) -> list[Finding]:
    tracking = map_of(one.properties, "TargetTrackingScalingPolicyConfiguration")
    custom = map_of(tracking, "CustomizedMetricSpecification")
    several = [
        map_of(map_of(each, "MetricStat"), "Metric")
        for each in maps_of(custom, "Metrics")
    ]
    steps = map_of(one.properties, "StepScalingPolicyConfiguration")
    return [
        *_follows_backlog(app, [custom, *several]),
        *_steps(maps_of(steps, "StepAdjustments")),
    ]


def _steps(steps: Sequence[Shape]) -> list[Finding]:
    """
    Check that steps, of one way or of both, neither overlap nor leave a gap.
    """
    bounds = []
    for step in steps:
        ends = [
            (step.get(f"MetricInterval{end}Bound"), sign)
            for end, sign in (("Lower", -1), ("Upper", 1))
        ]
        if any(value is not None and number(value) is None for value, _ in ends):
            return []
        lower, upper = (
            math.inf * sign if value is None else number(value) or 0.0
            for value, sign in ends
        )
        bounds.append((lower, upper))
    ordered = sorted(bounds)
    found = [
        f"MetricIntervalLowerBound must be below MetricIntervalUpperBound, got "
        f"{lower:g} and {upper:g}"
        for lower, upper in ordered
        if lower >= upper
    ]
    found += [
        f"StepAdjustments must lead on from {upper:g}, got one from {lower:g}"
        if math.isfinite(upper)
        else f"a step without an end must be the last, got one from {lower:g} as well"
        for (_, upper), (lower, _) in pairwise(ordered)
        if upper != lower
    ]
    return [WRONG_STEPS.finding(fault) for fault in found[:1]]


def _follows_backlog(app: App, metrics: Iterable[Shape]) -> list[Finding]:
    """
    Check that no endpoint which answers at once is to follow its queue.
    """
    found = []
    for shape in metrics:
        metric = shape.get("MetricName")
        if shape.get("Namespace") != "AWS/SageMaker" or metric not in _QUEUED:
            continue
        values = [app.find(each.get("Value")) for each in maps_of(shape, "Dimensions")]
        for endpoint in app.of_type("Endpoint"):
            config = app.config_of(endpoint)
            if endpoint.key in values and config and config.asynchronous is None:
                found.append(
                    NO_BACKLOG.finding(
                        f"{metric} is published of asynchronous endpoints alone, and "
                        f"{endpoint.key} answers at once",
                        "follow a metric of requests",
                    )
                )
    return found


def _scaled_twice(app: App, targets: Iterable[Resource]) -> Iterator[Refusal]:
    """
    Find numbers that two targets of a stack scale.
    """
    scaled: dict[tuple[str, str, str], str] = {}
    for one in targets:
        named = app.target_of(one)
        if named is None:
            continue
        number_of = (
            one.stack.name,
            str(named),
            str(one.properties.get("ScalableDimension")),
        )
        first = scaled.setdefault(number_of, one.key)
        if first != one.key:
            yield Refusal(
                one,
                [
                    SCALED_TWICE.finding(
                        f"{named} is scaled by {first} already", "keep one of them"
                    )
                ],
            )
