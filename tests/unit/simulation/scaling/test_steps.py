"""
How much capacity a policy asks for.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery
from cdk_sagemaker_llm.simulation.scaling.autoscaler import (
    stepped,
    tracked_down,
    tracked_up,
)
from cdk_sagemaker_llm.simulation.scaling.policies import (
    StepAdjustment,
    StepScaling,
    TargetTracking,
)

_QUERY = MetricQuery(Metric.of_component("InvocationsPerCopy", "llama"), "Sum", 60)
_TRACKING = TargetTracking(name="Load", query=_QUERY, target=5.0)


@pytest.mark.parametrize(
    ("value", "running", "wanted"),
    [(5.0, 2, 2), (5.1, 2, 3), (10.0, 2, 4), (60.0, 1, 12), (7.5, 2, 3), (60.0, 0, 0)],
)
def test_capacity_grows_in_proportion(value: float, running: int, wanted: int) -> None:
    """
    Rounded up; nothing comes of nothing.
    """
    assert tracked_up(_TRACKING, value, running) == wanted


def test_rounding_asks_for_nothing() -> None:
    """
    Three at ten thirds of 1.5 are ten copies, and not eleven.
    """
    tracking = TargetTracking(name="Load", query=_QUERY, target=0.1)

    assert tracked_up(tracking, 0.1 * 3, 1) == 3


@pytest.mark.parametrize(
    ("value", "running", "wanted"), [(0.0, 4, 3), (4.4, 4, 4), (3.0, 4, 3), (0.0, 0, 0)]
)
def test_capacity_goes_one_at_a_time(value: float, running: int, wanted: int) -> None:
    """
    And never below what the target needs.
    """
    assert tracked_down(_TRACKING, value, running) == wanted


def _policy(
    kind: str = "ChangeInCapacity",
    *steps: tuple[float | None, float | None, float],
    comparison: str = "GreaterThanOrEqualToThreshold",
    magnitude: int | None = None,
) -> StepScaling:
    return StepScaling(
        name="Steps",
        alarm=AlarmRule(
            name="Busy",
            query=_QUERY,
            comparison=comparison,
            threshold=10.0,
            evaluation_periods=1,
        ),
        adjustments=tuple(
            StepAdjustment(lower=lower, upper=upper, change=change)
            for lower, upper, change in steps
        ),
        adjustment_type=kind,
        minimum_magnitude=magnitude,
    )


@pytest.mark.parametrize(
    ("value", "wanted"), [(10.0, 3), (14.9, 3), (15.0, 5), (1000.0, 5)]
)
def test_a_step_begins_at_its_lower_bound(value: float, wanted: int) -> None:
    """
    Above the threshold the lower bound is included and the upper one is not.
    """
    policy = _policy("ChangeInCapacity", (0, 5, 1), (5, None, 3))
    strict = replace(
        policy, alarm=replace(policy.alarm, comparison="GreaterThanThreshold")
    )

    assert stepped(policy, value, 2) == wanted
    assert stepped(strict, value, 2) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"), [(10.0, 3), (5.1, 3), (5.0, 1), (-50.0, 1)]
)
def test_a_step_down_begins_at_its_upper_bound(value: float, wanted: int) -> None:
    """
    Below the threshold it is the other way round.
    """
    policy = _policy(
        "ChangeInCapacity",
        (-5, 0, -1),
        (None, -5, -3),
        comparison="LessThanOrEqualToThreshold",
    )

    assert stepped(policy, value, 4) == wanted


@pytest.mark.parametrize(
    ("kind", "change", "capacity", "magnitude", "wanted"),
    [
        ("ExactCapacity", 7, 2, None, 7),
        ("ChangeInCapacity", -5, 2, None, 0),
        ("PercentChangeInCapacity", 50, 100, None, 150),
        ("PercentChangeInCapacity", 50, 5, None, 7),
        ("PercentChangeInCapacity", 10, 5, None, 6),
        ("PercentChangeInCapacity", 10, 5, 3, 8),
        ("PercentChangeInCapacity", -10, 5, None, 4),
        ("PercentChangeInCapacity", -50, 5, None, 3),
        ("PercentChangeInCapacity", 100, 0, None, 0),
    ],
)
def test_a_change_is_of_its_type(
    kind: str, change: float, capacity: int, magnitude: int | None, wanted: int
) -> None:
    """
    Per cent are rounded towards zero, and are one at least.
    """
    policy = _policy(kind, (0, None, change), magnitude=magnitude)

    assert stepped(policy, 10.0, capacity) == wanted


def test_fails_if_no_step_is_for_a_value() -> None:
    """
    Between two steps, or below the first.
    """
    with pytest.raises(LookupError, match="policy Steps has no step for -1"):
        stepped(_policy("ChangeInCapacity", (0, None, 1)), 9.0, 1)


def test_alarms_are_those_the_service_makes() -> None:
    """
    Three minutes above, fifteen below nine tenths; ninety points of ten seconds.
    """
    slow = TargetTracking(name="Load", query=_QUERY, target=1500)
    query = MetricQuery(
        Metric.of_component("ConcurrentRequestsPerCopy", "llama"), "Maximum", 10
    )
    fast = TargetTracking(name="Load", query=query, target=5)

    assert slow.high == AlarmRule(
        name="TargetTracking-Load-AlarmHigh",
        query=_QUERY,
        comparison="GreaterThanThreshold",
        threshold=1500,
        evaluation_periods=3,
    )
    assert slow.low == AlarmRule(
        name="TargetTracking-Load-AlarmLow",
        query=_QUERY,
        comparison="LessThanThreshold",
        threshold=1350,
        evaluation_periods=15,
    )
    assert fast.low is not None
    assert (fast.high.evaluation_periods, fast.low.evaluation_periods) == (3, 90)
    assert (fast.is_high_resolution, slow.is_high_resolution) == (True, False)


@pytest.mark.parametrize("target", [0.0, -1.0, float("nan"), float("inf")])
def test_fails_if_no_capacity_can_reach_a_target(target: float) -> None:
    """
    Zero, below it, and what is no number.
    """
    with pytest.raises(ValueError, match="target of policy Load must be more than 0"):
        TargetTracking(name="Load", query=_QUERY, target=target)


def test_fails_if_an_adjustment_type_does_not_exist() -> None:
    """
    The message lists them.
    """
    with pytest.raises(ValueError, match="PercentChangeInCapacity, ExactCapacity, got"):
        _policy("ChangeBy")


@pytest.mark.parametrize("cooldown", [-1.0, float("nan")])
@pytest.mark.parametrize("name", ["scale_in_cooldown", "scale_out_cooldown"])
def test_fails_if_a_cooldown_is_none(name: str, cooldown: float) -> None:
    """
    Zero is one.
    """
    with pytest.raises(ValueError, match=f"{name} of policy Load must be 0 or more"):
        TargetTracking(name="Load", query=_QUERY, target=5, **{name: cooldown})  # type: ignore[arg-type]  # by name
    with pytest.raises(ValueError, match="cooldown of policy Steps must be 0 or more"):
        replace(_policy(), cooldown=cooldown)
    replace(_policy(), cooldown=0.0)


@pytest.mark.parametrize(
    ("lower", "upper"), [(5.0, 5.0), (6.0, 5.0), (float("nan"), None)]
)
def test_fails_if_no_value_is_in_a_step(lower: float, upper: float | None) -> None:
    """
    Its end is not after its beginning.
    """
    with pytest.raises(ValueError, match=f"lower={lower} and upper={upper}"):
        StepAdjustment(lower=lower, upper=upper, change=1)
    with pytest.raises(ValueError, match="change of a step must be a number, got nan"):
        StepAdjustment(change=float("nan"))
