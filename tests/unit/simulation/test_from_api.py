"""
Shapes of AWS's APIs as simulations have them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.api_values import (
    integer,
    map_of,
    maps_of,
    model_on,
    moment,
    number,
    pools_of,
    priority_of,
    specification_on,
    specifications_of,
    switch,
    value_text,
    whole,
)
from cdk_sagemaker_llm.simulation.fleet import Pool, ScaleIn
from cdk_sagemaker_llm.simulation.from_api import (
    ManagedScaling,
    UnplayableError,
    alarm_rule,
    bounds_of,
    fleet_pools,
    managed_scaling,
    metric_of,
    predefined_query,
    provision_timeout,
    query_of,
    scale_in_policy,
    scheduled_action,
    step_scaling,
    suspended,
    target_tracking,
)
from cdk_sagemaker_llm.simulation.metrics import MathQuery, Metric, MetricQuery
from cdk_sagemaker_llm.simulation.scaling import (
    Bounds,
    ScheduledAction,
    StepAdjustment,
    StepScaling,
)

OPEN = "${Stack/Open}"
BLUE = {"EndpointName": "chat", "VariantName": "blue"}
DIMENSIONS = [{"Name": name, "Value": value} for name, value in BLUE.items()]
SINGLE = {
    "Namespace": "AWS/SageMaker",
    "MetricName": "Invocations",
    "Dimensions": DIMENSIONS,
}
METRIC = Metric.of("AWS/SageMaker", "Invocations", BLUE)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (1, (1.0, 1, 1)),
        ("2", (2.0, 2, 2)),
        (2.5, (2.5, None, None)),
        ("1e2", (100.0, 100, 100)),
        (0, (0.0, 0, 0)),
        (-1, (-1.0, -1, None)),
        (100_000, (1e5, 100_000, 100_000)),
        (100_001, (100_001.0, 100_001, None)),
        (True, (None, None, None)),
        (None, (None, None, None)),
        ("", (None, None, None)),
        (OPEN, (None, None, None)),
        ("nan", (None, None, None)),
        ("inf", (None, None, None)),
        (10**400, (None, None, None)),
        ([1], (None, None, None)),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_number_may_be_text(value: object, read: tuple[object, ...]) -> None:
    """
    Any number, a whole one, and one that counts something.
    """
    assert (number(value), integer(value), whole(value)) == read


def test_a_switch_may_be_text() -> None:
    """
    Anything else is off.
    """
    assert [switch(each) for each in (True, "true", "True")] == [True] * 3
    assert [switch(each) for each in (False, "false", None, 1, "yes", OPEN)] == (
        [False] * 6
    )


def test_a_moment_is_read_in_each_form() -> None:
    """
    Without a zone it is UTC.
    """
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)

    assert (moment(None), moment("")) == (None, None)
    assert moment(noon.timestamp()) == noon
    assert moment(noon) == moment(noon.replace(tzinfo=None)) == noon
    assert moment("2026-03-02T13:00:00+01:00") == moment("2026-03-02T12:00") == noon


def test_maps_are_read_wherever_they_are() -> None:
    """
    What is none is empty.
    """
    for holder in ({}, {"a": 1}, {"a": None}, None, [1]):
        assert map_of(holder, "a") == {}
        assert maps_of(holder, "a") == []
    assert map_of({"a": {"b": 1}}, "a") == {"b": 1}
    assert maps_of({"a": [{"b": 1}, 2, {"c": 3}]}, "a") == [{"b": 1}, {"c": 3}]
    assert maps_of({"a": ({"b": 1},)}, "a") == [{"b": 1}]
    assert [value_text(each) for each in (None, OPEN, "x", 1)] == [
        "nothing",
        f"{OPEN}, known at deployment only",
        "'x'",
        "1",
    ]


def test_pools_are_tried_by_their_priority() -> None:
    """
    One without it in its order, one that is open last.
    """
    pools: list[dict[str, Any]] = [
        {"InstanceType": "c", "Priority": OPEN},
        {"InstanceType": "b"},
        {"InstanceType": "a", "Priority": 1},
        {"InstanceType": None},
    ]
    shape = {"InstancePools": pools, "ModelName": "m"}

    assert [priority_of(pool, 7) for pool in pools] == [100, 7, 1, 7]
    assert [pool["InstanceType"] for pool in pools_of(shape)] == ["a", "b", None, "c"]
    assert fleet_pools(shape) == (Pool("a", 1), Pool("b", 2), Pool("c", 100))
    alone = {"InstanceType": "a", "InstancePools": []}
    assert pools_of(alone) == [alone]
    assert fleet_pools(alone) == (Pool("a", 1),)
    assert fleet_pools({}) == ()
    assert model_on(shape, {"ModelNameOverride": "o"}) == "o"
    assert (model_on(shape, {}), model_on({}, {})) == ("m", None)


def test_copies_are_the_same_or_by_type() -> None:
    """
    Of a type that none is of, they are as the first.
    """
    one, other = {"InstanceType": "a", "x": 1}, {"InstanceType": "b", "x": 2}
    both = {"Specifications": [one, other], "Specification": {"x": 3}}

    assert specifications_of(both) == [one, other]
    assert specifications_of({"Specification": {"x": 3}}) == [{"x": 3}]
    assert specifications_of({}) == [{}]
    assert specification_on(both, "b") == other
    assert specification_on(both, "z") == one


def test_a_metric_is_read_with_its_dimensions() -> None:
    """
    By name, and as one metric of a period and a statistic.
    """
    assert metric_of(SINGLE) == METRIC
    assert query_of({**SINGLE, "Statistic": "Sum"}) == MetricQuery(METRIC, "Sum", 60)
    quick = {**SINGLE, "Statistic": "Sum", "Period": 10}
    assert query_of(quick) == MetricQuery(METRIC, "Sum", 10)
    with pytest.raises(UnplayableError, match="got 'p95'; percentiles are not"):
        query_of({**SINGLE, "ExtendedStatistic": "p95"})
    other = Metric.of("AWS/SageMaker", "Other", BLUE)
    named = query_of({**SINGLE, "Statistic": "Sum"}, lambda _: other)
    assert named == MetricQuery(other, "Sum", 60)
    with pytest.raises(UnplayableError, match="^of its metric Invocations, "):
        query_of({**SINGLE, "Statistic": "Median"})


def stat(name: str, **more: object) -> dict[str, object]:
    """
    Write one metric of several.
    """
    return {"Id": name, "MetricStat": {"Metric": SINGLE, "Stat": "Sum", **more}}


def expression(name: str, text: str, **more: object) -> dict[str, object]:
    """
    Write an expression over others.
    """
    return {"Id": name, "Expression": text, **more}


def test_metric_math_is_put_together_whatever_its_order() -> None:
    """
    With the longest period of what it reads, unless it has one; what is returned is
    the last that does not say otherwise.
    """
    a, b = MetricQuery(METRIC, "Sum", 60), MetricQuery(METRIC, "Sum", 300)
    several = [
        expression("whole", "half + b"),
        expression("half", "a / 2", ReturnData=False),
        {**stat("a"), "ReturnData": False},
        {**stat("b", Period=300), "ReturnData": "false"},
    ]
    half = MathQuery("a / 2", {"a": a, "b": b}, 300)

    assert query_of({"Metrics": several}) == MathQuery(
        "half + b", {"a": a, "b": b, "half": half}, 300
    )
    quick = [expression("x", "a", Period=30), {**stat("a"), "ReturnData": False}]
    assert query_of({"Metrics": quick}) == MathQuery("a", {"a": a}, 30)
    assert query_of({"Metrics": [stat("a")], "Period": 120}) == MetricQuery(
        METRIC, "Sum", 120
    )
    last = query_of({"Metrics": [stat("b", Period=300), stat("a")]})
    assert last == a
    constant = query_of({"Metrics": [expression("x", "1")], "Period": 120})
    assert constant == MathQuery("1", {}, 120)


@pytest.mark.parametrize(
    ("several", "why"),
    [
        ([{**stat("a"), "ReturnData": False}], "^none of its metrics is returned$"),
        (
            [expression("x", "y"), expression("y", "x")],
            "^its expression '[xy]' names [xy], which no query has as its id$",
        ),
        (
            [expression("x", "SQRT(a)"), stat("a")],
            r"^its metric math 'SQRT\(a\)' is not",
        ),
        ([{"Id": "x"}], "^its expression 'None' names|^its metric math 'None'"),
    ],
)
def test_metric_math_that_cannot_be_is_refused(
    several: list[dict[str, object]], why: str
) -> None:
    """
    With what is wrong with it.
    """
    with pytest.raises(UnplayableError, match=why):
        query_of({"Metrics": several})


ALARM = {
    **SINGLE,
    "Statistic": "Sum",
    "Threshold": "5",
    "EvaluationPeriods": 3,
    "ComparisonOperator": "GreaterThanThreshold",
}


def test_an_alarm_is_read_whole() -> None:
    """
    Its own name counts before the resource's.
    """
    usual = AlarmRule(
        name="It",
        query=MetricQuery(METRIC, "Sum", 60),
        comparison="GreaterThanThreshold",
        threshold=5.0,
        evaluation_periods=3,
        datapoints_to_alarm=None,
        treat_missing="missing",
    )
    assert alarm_rule(ALARM, "It") == usual
    told = {
        **ALARM,
        "AlarmName": "high",
        "DatapointsToAlarm": 2,
        "TreatMissingData": "breaching",
    }
    assert alarm_rule(told, "It") == AlarmRule(
        name="high",
        query=usual.query,
        comparison="GreaterThanThreshold",
        threshold=5.0,
        evaluation_periods=3,
        datapoints_to_alarm=2,
        treat_missing="breaching",
    )


def refusal(read: Any, *arguments: Any) -> str:  # noqa: ANN401 - any of them
    """
    Return why a shape cannot be played out.
    """
    with pytest.raises(UnplayableError) as raised:
        read(*arguments)
    return str(raised.value)


def test_what_is_open_or_left_out_is_told_by_its_name() -> None:
    """
    The first of several.
    """
    without = {key: ALARM[key] for key in ALARM if key != "Threshold"}
    assert refusal(alarm_rule, without, "It") == (
        "the Threshold of its alarm It is nothing"
    )
    still_open = {**ALARM, "EvaluationPeriods": OPEN}
    assert refusal(alarm_rule, still_open, "It") == (
        f"the EvaluationPeriods of its alarm It is {OPEN}, known at deployment only"
    )
    assert refusal(bounds_of, {"MaxCapacity": 1}) == "its MinCapacity is nothing"
    assert refusal(bounds_of, {"MinCapacity": 0, "MaxCapacity": "x"}) == (
        "its MaxCapacity is 'x'"
    )
    assert refusal(target_tracking, "T", {}, BLUE) == "its TargetValue is nothing"
    assert refusal(target_tracking, "T", {"TargetValue": 1}, BLUE) == (
        "its predefined metric nothing is not computed"
    )
    assert refusal(predefined_query, "Other", BLUE) == (
        "its predefined metric 'Other' is not computed"
    )
    rule = alarm_rule(ALARM, "It")
    assert refusal(step_scaling, "S", {"Cooldown": OPEN}, rule) == (
        f"its Cooldown is {OPEN}, known at deployment only"
    )
    steps = {"StepAdjustments": [{"ScalingAdjustment": None}]}
    assert refusal(step_scaling, "S", steps, rule) == "a ScalingAdjustment is nothing"


def test_target_tracking_is_read_whole() -> None:
    """
    Five minutes of each cooldown where it says nothing; a metric of its own counts
    before a predefined one.
    """
    predefined = {
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
        },
        "TargetValue": "7.5",
    }
    found = target_tracking("Track", predefined, BLUE)

    assert (found.name, found.target, found.disable_scale_in) == ("Track", 7.5, False)
    assert (found.scale_in_cooldown, found.scale_out_cooldown) == (300.0, 300.0)
    assert found.query == MetricQuery(
        Metric.of("AWS/SageMaker", "InvocationsPerInstance", BLUE), "Sum", 60
    )
    own = target_tracking(
        "Own",
        {
            **predefined,
            "CustomizedMetricSpecification": {**SINGLE, "Statistic": "Average"},
            "ScaleInCooldown": 0,
            "ScaleOutCooldown": "30",
            "DisableScaleIn": "true",
        },
        {},
    )
    assert own.query == MetricQuery(METRIC, "Average", 60)
    assert (own.scale_in_cooldown, own.scale_out_cooldown) == (0.0, 30.0)
    assert own.disable_scale_in


def test_steps_are_read_whole() -> None:
    """
    Each with its bounds, open ones included.
    """
    rule = alarm_rule(ALARM, "It")
    shape = {
        "AdjustmentType": "PercentChangeInCapacity",
        "Cooldown": 60,
        "MinAdjustmentMagnitude": 2,
        "StepAdjustments": [
            {"MetricIntervalUpperBound": "10", "ScalingAdjustment": 50},
            {"MetricIntervalLowerBound": 10, "ScalingAdjustment": "100"},
        ],
    }

    assert step_scaling("Steps", shape, rule) == StepScaling(
        name="Steps",
        alarm=rule,
        adjustments=(
            StepAdjustment(lower=None, upper=10.0, change=50.0),
            StepAdjustment(lower=10.0, upper=None, change=100.0),
        ),
        adjustment_type="PercentChangeInCapacity",
        cooldown=60.0,
        minimum_magnitude=2,
    )


def test_a_schedule_is_read_whole() -> None:
    """
    In UTC where it names no zone.
    """
    assert scheduled_action({"Schedule": "rate(1 hour)"}) == ScheduledAction(
        name="without a name", schedule="rate(1 hour)", time_zone="UTC"
    )
    assert scheduled_action(
        {
            "ScheduledActionName": "Up",
            "Schedule": "cron(0 8 * * ? *)",
            "Timezone": "Asia/Tokyo",
            "ScalableTargetAction": {"MinCapacity": 2, "MaxCapacity": "4"},
            "StartTime": "2026-03-02T12:00",
            "EndTime": "2026-03-03T12:00",
        }
    ) == ScheduledAction(
        name="Up",
        schedule="cron(0 8 * * ? *)",
        time_zone="Asia/Tokyo",
        minimum=2,
        maximum=4,
        start=datetime(2026, 3, 2, 12, tzinfo=UTC),
        end=datetime(2026, 3, 3, 12, tzinfo=UTC),
    )


def test_bounds_and_what_is_suspended_are_read() -> None:
    """
    Each switch by itself.
    """
    assert bounds_of({"MinCapacity": "0", "MaxCapacity": 4}) == Bounds(
        minimum=0, maximum=4
    )
    assert suspended({}) == frozenset()
    for name in ("DynamicScalingIn", "DynamicScalingOut", "ScheduledScaling"):
        assert suspended({f"{name}Suspended": "true"}) == {name}
        assert suspended({f"{name}Suspended": False}) == frozenset()


def test_how_sagemaker_scales_instances_is_read() -> None:
    """
    What it does not say is not known.
    """
    managed = {
        "Status": "ENABLED",
        "MinInstanceCount": "0",
        "MaxInstanceCount": 5,
        "ScaleInPolicy": {"Strategy": "IDLE_RELEASE"},
    }

    assert managed_scaling({}) == ManagedScaling(
        is_enabled=False, minimum=None, maximum=None
    )
    shape = {"ManagedInstanceScaling": managed}
    assert managed_scaling(shape) == ManagedScaling(
        is_enabled=True, minimum=0, maximum=5
    )
    assert scale_in_policy({}) is None
    assert scale_in_policy(shape) == ScaleIn(
        strategy="IDLE_RELEASE", maximum_step=1, cooldown=1200.0
    )
    timeout = {"VariantInstanceProvisionTimeoutInSeconds": "600"}
    assert (provision_timeout({}), provision_timeout(timeout)) == (None, 600.0)


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({"Strategy": OPEN}, "its ScaleInPolicy is known at deployment only"),
        (
            {"Strategy": "IDLE_RELEASE", "MaximumStepSize": OPEN},
            "its ScaleInPolicy is known at deployment only",
        ),
        (
            {"Strategy": "IDLE_RELEASE", "CooldownInMinutes": OPEN},
            "its ScaleInPolicy is known at deployment only",
        ),
        (
            {"Strategy": "IDLE_RELEASE", "CooldownInMinutes": 1},
            (
                "its ScaleInPolicy is not simulated: cooldown must be 300 to 86400, "
                "got 60.0"
            ),
        ),
    ],
)
def test_a_policy_that_cannot_be_is_refused(policy: dict[str, Any], why: str) -> None:
    """
    For what is open, and for what the API refuses.
    """
    shape = {"ManagedInstanceScaling": {"ScaleInPolicy": policy}}

    assert refusal(scale_in_policy, shape) == why
