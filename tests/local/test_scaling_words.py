"""
What Application Auto Scaling refuses, word for word; each limit from both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import unchecked, words
from tests.local.scaled import Scaled, scaled_component, scaled_variant

_VARIANT = "sagemaker:variant:DesiredInstanceCount"
_PER_INSTANCE = "SageMakerVariantInvocationsPerInstance"
_PER_COPY = "SageMakerInferenceComponentInvocationsPerCopy"
_MATH = [
    {"Id": "e", "Expression": "m * 2", "ReturnData": True},
    {
        "Id": "m",
        "MetricStat": {
            "Metric": {"Namespace": "N", "MetricName": "M"},
            "Stat": "Sum",
        },
        "ReturnData": False,
    },
]
_STEP = {"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws() as aws:
        yield aws


@pytest.fixture(name="variant", scope="module")
def _variant(aws: HandRunAws) -> Scaled:
    variant = scaled_variant(aws)
    variant.register(1, 4)
    return variant


@pytest.fixture(name="component", scope="module")
def _component(aws: HandRunAws) -> Scaled:
    component = scaled_component(aws)
    component.register(0, 4)
    return component


def tracking(**change: Untyped) -> dict[str, Any]:
    """
    Write a configuration of target tracking, with something changed.
    """
    metric = {"PredefinedMetricType": _PER_COPY}
    whole = {"TargetValue": 5.0, "PredefinedMetricSpecification": metric, **change}
    return {name: value for name, value in whole.items() if value is not None}


def custom(**metric: Untyped) -> dict[str, Any]:
    """
    Write one of a metric of the client's own.
    """
    return tracking(
        PredefinedMetricSpecification=None, CustomizedMetricSpecification=metric
    )


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ((-1, 1), "Capacity must be greater than or equal to 0"),
        ((1, -1), "Capacity must be greater than or equal to 0"),
        ((3, 2), "Maximum capacity cannot be less than minimum capacity"),
        ((0, 2), "Minimum capacity must be at least 1"),
        ((0, 0), "Maximum capacity must be at least 1"),
        (
            (None, 1),
            (
                "Minimum capacity and maximum capacity are required to register a new "
                "scalable target"
            ),
        ),
    ],
)
def test_bounds(aws: HandRunAws, bounds: tuple[int | None, int], told: str) -> None:
    """
    Those of a variant that answers at once.
    """
    key = {**scaled_variant(aws).key, "MinCapacity": bounds[0]}
    register = unchecked(aws, "application-autoscaling").register_scalable_target

    assert words(register, **key, MaxCapacity=bounds[1]) == told


def test_a_target_is_there(aws: HandRunAws, component: Scaled) -> None:
    """
    A variant of that name on that endpoint, or a component.
    """
    register = aws.client("application-autoscaling").register_scalable_target
    host = component.subject.endpoint
    for place in (f"endpoint/{host}/variant/No", "endpoint/no/variant/AllTraffic"):
        refused = words(
            register,
            ServiceNamespace="sagemaker",
            ResourceId=place,
            ScalableDimension=_VARIANT,
            MinCapacity=1,
            MaxCapacity=1,
        )
        assert refused == f"SageMaker has no resource with resource ID: {place}"


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (
            tracking(TargetValue=8e-109),
            "TargetValue must be between 8.51592e-109 and 1.174271e+108",
        ),
        (
            tracking(TargetValue=1.2e108),
            "TargetValue must be between 8.51592e-109 and 1.174271e+108",
        ),
        (
            tracking(ScaleInCooldown=-1),
            "ScaleInCooldown must be greater than or equal to 0",
        ),
        (
            tracking(ScaleOutCooldown=-1),
            "ScaleOutCooldown must be greater than or equal to 0",
        ),
        (
            tracking(PredefinedMetricSpecification=None),
            (
                "Specify exactly one of PredefinedMetricSpecification and "
                "CustomizedMetricSpecification"
            ),
        ),
        (
            tracking(
                PredefinedMetricSpecification={"PredefinedMetricType": _PER_INSTANCE}
            ),
            (
                f"Predefined metric {_PER_INSTANCE} is not supported for scalable "
                "dimension: sagemaker:inference-component:DesiredCopyCount"
            ),
        ),
        (
            tracking(
                PredefinedMetricSpecification={
                    "PredefinedMetricType": _PER_COPY,
                    "ResourceLabel": "x",
                }
            ),
            f"ResourceLabel is not supported for predefined metric {_PER_COPY}",
        ),
        (
            custom(MetricName="M", Namespace="N"),
            (
                "CustomizedMetricSpecification needs MetricName, Namespace and "
                "Statistic, or Metrics"
            ),
        ),
        (
            custom(Metrics=_MATH, MetricName="M", Namespace="N"),
            "Specify either Metrics or MetricName, Namespace",
        ),
        (
            custom(Metrics=[{**one, "ReturnData": True} for one in _MATH]),
            "Exactly one of Metrics must have ReturnData set to true",
        ),
        (
            custom(Metrics=[{**one, "ReturnData": False} for one in _MATH]),
            "Exactly one of Metrics must have ReturnData set to true",
        ),
    ],
)
def test_target_tracking(
    aws: HandRunAws, component: Scaled, policy: dict[str, Any], told: str
) -> None:
    """
    Its target, its cooldowns and what it follows.
    """
    put = unchecked(aws, "application-autoscaling").put_scaling_policy
    refused = words(
        put,
        **component.key,
        PolicyName="Traffic",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration=policy,
    )
    assert refused == told


@pytest.mark.parametrize(
    "policy",
    [
        tracking(TargetValue=8.515920e-109, ScaleInCooldown=0, ScaleOutCooldown=0),
        tracking(TargetValue=1.174271e108),
        custom(Metrics=_MATH),
        custom(Metrics=[{"Id": "m", "MetricStat": _MATH[1]["MetricStat"]}]),
        custom(MetricName="M", Namespace="N", Statistic="Sum"),
    ],
)
def test_target_tracking_within_its_limits(
    component: Scaled, policy: dict[str, Any]
) -> None:
    """
    Is taken; a query that does not say so returns data.
    """
    made = component.scaling.put_scaling_policy(
        **component.key,
        PolicyName="Within",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration=policy,
    )
    component.scaling.delete_scaling_policy(**component.key, PolicyName="Within")

    assert len(made["Alarms"]) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"Cooldown": -1}, "Cooldown must be greater than or equal to 0"),
        (
            {"AdjustmentType": None},
            "AdjustmentType is required for a step scaling policy",
        ),
        (
            {"MinAdjustmentMagnitude": 1},
            (
                "MinAdjustmentMagnitude is not supported for adjustment type "
                "ChangeInCapacity"
            ),
        ),
        (
            {"AdjustmentType": "PercentChangeInCapacity", "MinAdjustmentMagnitude": 0},
            "MinAdjustmentMagnitude must be greater than 0",
        ),
        (
            {
                "AdjustmentType": "ExactCapacity",
                "StepAdjustments": [{**_STEP, "ScalingAdjustment": -1}],
            },
            (
                "ScalingAdjustment must not be negative for adjustment type "
                "ExactCapacity"
            ),
        ),
        ({"StepAdjustments": []}, "Specify between 1 and 20 step adjustments"),
        (
            {
                "StepAdjustments": [
                    *(
                        {
                            "MetricIntervalLowerBound": float(number),
                            "MetricIntervalUpperBound": number + 1.0,
                            "ScalingAdjustment": 1,
                        }
                        for number in range(20)
                    ),
                    {**_STEP, "MetricIntervalLowerBound": 20.0},
                ]
            },
            "Specify between 1 and 20 step adjustments",
        ),
        (
            {"StepAdjustments": [{"ScalingAdjustment": 1}]},
            "A step adjustment must have a lower bound, an upper bound, or both",
        ),
        (
            {"StepAdjustments": [{**_STEP, "MetricIntervalUpperBound": 0.0}]},
            "A step adjustment's upper bound must be greater than its lower bound",
        ),
        (
            {
                "StepAdjustments": [
                    {**_STEP, "MetricIntervalUpperBound": 2.0},
                    {**_STEP, "MetricIntervalLowerBound": 1.0},
                ]
            },
            "Step adjustment intervals can't overlap",
        ),
        (
            {
                "StepAdjustments": [
                    {**_STEP, "MetricIntervalUpperBound": 1.0},
                    {**_STEP, "MetricIntervalLowerBound": 2.0},
                ]
            },
            "There must not be a gap between step adjustment intervals",
        ),
        (
            {"StepAdjustments": [{**_STEP, "MetricIntervalLowerBound": -1.0}]},
            "There must be a step adjustment with an unspecified lower bound",
        ),
        (
            {"StepAdjustments": [{**_STEP, "MetricIntervalUpperBound": 1.0}]},
            "There must be a step adjustment with an unspecified upper bound",
        ),
    ],
)
def test_steps(
    aws: HandRunAws, variant: Scaled, change: dict[str, Any], told: str
) -> None:
    """
    Their kind, their number and their intervals.
    """
    whole = {
        "AdjustmentType": "ChangeInCapacity",
        "StepAdjustments": [_STEP],
        **change,
    }
    configuration = {name: value for name, value in whole.items() if value is not None}
    put = unchecked(aws, "application-autoscaling").put_scaling_policy
    refused = words(
        put,
        **variant.key,
        PolicyName="Steps",
        PolicyType="StepScaling",
        StepScalingPolicyConfiguration=configuration,
    )
    assert refused == told


def test_steps_within_their_limits(variant: Scaled) -> None:
    """
    Twenty of them, from a lower bound of nothing; zero is an exact capacity, and one
    the least of a percentage.
    """
    every = [
        {
            "MetricIntervalLowerBound": float(number),
            "MetricIntervalUpperBound": number + 1.0,
            "ScalingAdjustment": 1,
        }
        for number in range(19)
    ]
    variant.step(StepAdjustments=[*every, {**_STEP, "MetricIntervalLowerBound": 19.0}])
    exact = [{**_STEP, "ScalingAdjustment": 0}]
    variant.step(AdjustmentType="ExactCapacity", StepAdjustments=exact, Cooldown=0)
    variant.step(AdjustmentType="PercentChangeInCapacity", MinAdjustmentMagnitude=1)
    variant.scaling.delete_scaling_policy(**variant.key, PolicyName="Steps")


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (
            {"PolicyType": "StepScaling"},
            "StepScalingPolicyConfiguration is required for policy type: StepScaling",
        ),
        (
            {"PolicyType": "PredictiveScaling"},
            (
                "Policy type PredictiveScaling is not supported for scalable "
                f"dimension: {_VARIANT}"
            ),
        ),
        (
            {
                "PolicyType": "StepScaling",
                "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1.0},
            },
            (
                "TargetTrackingScalingPolicyConfiguration is not supported for policy "
                "type: StepScaling"
            ),
        ),
        (
            {
                "PolicyType": "StepScaling",
                "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1.0},
                "StepScalingPolicyConfiguration": {},
            },
            (
                "Specify only one of StepScalingPolicyConfiguration and "
                "TargetTrackingScalingPolicyConfiguration"
            ),
        ),
    ],
)
def test_types_of_policies(variant: Scaled, policy: dict[str, Any], told: str) -> None:
    """
    Each has the configuration of its type.
    """
    put = variant.scaling.put_scaling_policy

    assert words(put, **variant.key, PolicyName="Typed", **policy) == told


def test_a_metric_is_followed_by_one_policy(variant: Scaled) -> None:
    """
    Of a target; and a policy needs a target.
    """
    variant.track(5.0)
    metric = {"PredefinedMetricType": _PER_INSTANCE}
    policy = {
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": tracking(
            PredefinedMetricSpecification=metric
        ),
    }
    put = variant.scaling.put_scaling_policy

    assert words(put, **variant.key, PolicyName="Second", **policy) == (
        "Only one TargetTrackingScaling policy for a given metric specification is "
        "allowed."
    )
    variant.scaling.delete_scaling_policy(**variant.key, PolicyName="Traffic")
    elsewhere = {**variant.key, "ResourceId": "endpoint/no/variant/AllTraffic"}
    assert words(put, **elsewhere, PolicyName="Second", **policy) == (
        "No scalable target registered for service namespace: sagemaker, resource ID: "
        f"endpoint/no/variant/AllTraffic, scalable dimension: {_VARIANT}"
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"Schedule": "rate(0 minutes)"},
            "Schedule rate(0 minutes) is not a valid at, rate or cron expression",
        ),
        (
            {"Schedule": "0 9 * * ? *"},
            "Schedule 0 9 * * ? * is not a valid at, rate or cron expression",
        ),
        ({"Timezone": "Europe/Atlantis"}, "Time zone Europe/Atlantis is not valid"),
        (
            {"ScalableTargetAction": {"MinCapacity": 3, "MaxCapacity": 2}},
            "Maximum capacity cannot be less than minimum capacity",
        ),
        (
            {"ScalableTargetAction": {"MaxCapacity": -1}},
            "Capacity must be greater than or equal to 0",
        ),
        (
            {"StartTime": 1_900_000_000, "EndTime": 1_900_000_000},
            "StartTime must be earlier than EndTime",
        ),
        (
            {"Schedule": None},
            "Schedule and ScalableTargetAction are required for a new scheduled action",
        ),
        (
            {"ResourceId": "endpoint/no/variant/AllTraffic"},
            (
                "No scalable target registered for service namespace: sagemaker, "
                "resource ID: endpoint/no/variant/AllTraffic, scalable dimension: "
                f"{_VARIANT}"
            ),
        ),
    ],
)
def test_schedules(variant: Scaled, change: dict[str, Any], told: str) -> None:
    """
    When they run, and which bounds they set.
    """
    action = {
        **variant.key,
        "ScheduledActionName": "Later",
        "Schedule": "rate(5 days)",
        "ScalableTargetAction": {"MinCapacity": 1},
        **change,
    }
    assert words(variant.scaling.put_scheduled_action, **action) == told


def test_a_scheduled_action_keeps_what_is_left_out(variant: Scaled) -> None:
    """
    Its schedule or its bounds; an empty action has none, and equal bounds are bounds.
    """
    action = {**variant.key, "ScheduledActionName": "Kept"}
    put = variant.scaling.put_scheduled_action
    put(
        **action,
        Schedule="rate(1 minute)",
        StartTime=1_900_000_000,
        EndTime=1_900_000_001,
        ScalableTargetAction={"MinCapacity": 2, "MaxCapacity": 2},
    )
    for schedule in ("rate(1 minute)", "at(2030-01-01T00:00:00)", "cron(0 9 * * ? *)"):
        put(**action, Schedule=schedule)

    found = variant.scaling.describe_scheduled_actions(
        ServiceNamespace="sagemaker", ScheduledActionNames=["Kept"]
    )
    (kept,) = found["ScheduledActions"]
    assert kept["Schedule"] == "cron(0 9 * * ? *)"
    assert kept["ScalableTargetAction"] == {"MinCapacity": 2, "MaxCapacity": 2}
    variant.scaling.delete_scheduled_action(**action)
