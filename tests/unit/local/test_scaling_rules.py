"""
What Application Auto Scaling refuses of targets, policies and scheduled actions; each
limit from both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from moto.applicationautoscaling.exceptions import AWSValidationException

from cdk_sagemaker_llm.local.scaling.scaling_rules import (
    COMPONENT_DIMENSION,
    CONCURRENCY_DIMENSION,
    VARIANT_DIMENSION,
    refuse_action,
    refuse_capacity,
    refuse_configurations,
    refuse_followed,
    refuse_policy,
    refuse_resource,
)

_STEP, _TRACKING = (
    "StepScalingPolicyConfiguration",
    ("TargetTrackingScalingPolicyConfiguration"),
)
_NEEDED = (
    "Minimum capacity and maximum capacity are required to register a new scalable "
    "target"
)
_NEGATIVE = "Capacity must be greater than or equal to 0"
_CROSSED = "Maximum capacity cannot be less than minimum capacity"
_NO_MINIMUM = "Minimum capacity must be at least 1"
_NO_MAXIMUM = "Maximum capacity must be at least 1"
_BOTH = (
    "Specify exactly one of PredefinedMetricSpecification and "
    "CustomizedMetricSpecification"
)
_INCOMPLETE = (
    "CustomizedMetricSpecification needs MetricName, Namespace and Statistic, or "
    "Metrics"
)
_ONE = "Exactly one of Metrics must have ReturnData set to true"


def fault(check: Callable[..., None], *given: object, **named: object) -> str:
    """
    Return what a check says; nothing if it is content.
    """
    try:
        check(*given, **named)
    except AWSValidationException as error:
        return str(error.message)
    return ""


@pytest.mark.parametrize(
    ("resource_id", "dimensions"),
    [
        ("endpoint/chat/variant/A", {VARIANT_DIMENSION, CONCURRENCY_DIMENSION}),
        ("inference-component/llama", {COMPONENT_DIMENSION}),
        ("endpoint/chat/variant/A/x", set()),
        ("endpoint//variant/A", set()),
        ("x/endpoint/chat/variant/A", set()),
        ("endpoint/chat/variant/", set()),
        ("inference-component/", set()),
        ("inference-component/a/b", set()),
        ("", set()),
    ],
)
def test_a_resource_id_has_the_form_of_its_dimension(
    resource_id: str, dimensions: set[str]
) -> None:
    """
    Variants have two dimensions, components one, and others none.
    """
    assert VARIANT_DIMENSION == "sagemaker:variant:DesiredInstanceCount"
    assert CONCURRENCY_DIMENSION == "sagemaker:variant:DesiredProvisionedConcurrency"
    assert COMPONENT_DIMENSION == "sagemaker:inference-component:DesiredCopyCount"
    told = "Unsupported service namespace, resource type or scalable dimension"
    for dimension in (
        *(VARIANT_DIMENSION, CONCURRENCY_DIMENSION, COMPONENT_DIMENSION),
        "sagemaker:other",
    ):
        found = fault(refuse_resource, resource_id, dimension)
        assert found == ("" if dimension in dimensions else told)


@pytest.mark.parametrize(
    ("dimension", "bounds", "to_zero", "told"),
    [
        (VARIANT_DIMENSION, (1, 1), False, ""),
        (VARIANT_DIMENSION, (1, 0), False, _CROSSED),
        (VARIANT_DIMENSION, (0, 1), False, _NO_MINIMUM),
        (VARIANT_DIMENSION, (0, 0), False, _NO_MAXIMUM),
        (CONCURRENCY_DIMENSION, (0, 1), False, _NO_MINIMUM),
        (VARIANT_DIMENSION, (0, 1), True, ""),
        (VARIANT_DIMENSION, (0, 0), True, ""),
        (COMPONENT_DIMENSION, (0, 0), False, ""),
        (COMPONENT_DIMENSION, (-1, 0), False, _NEGATIVE),
        (COMPONENT_DIMENSION, (0, -1), False, _NEGATIVE),
        (COMPONENT_DIMENSION, (None, 1), False, _NEEDED),
        (COMPONENT_DIMENSION, (1, None), False, _NEEDED),
    ],
)
def test_a_target_has_bounds(
    dimension: str,
    bounds: tuple[int | None, int | None],
    to_zero: bool,  # noqa: FBT001 - a column of the table
    told: str,
) -> None:
    """
    Both of them, in order; zero only where something can do without capacity.
    """
    assert fault(refuse_capacity, dimension, *bounds, to_zero=to_zero) == told


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"PolicyType": "StepScaling", _STEP: {}}, ""),
        ({"PolicyType": "TargetTrackingScaling", _TRACKING: {}}, ""),
        ({"PolicyType": "StepScaling"}, ""),
        ({_TRACKING: {}}, ""),
        ({"PolicyType": "PredictiveScaling", _TRACKING: {}}, ""),
        ({_STEP: {}, _TRACKING: {}}, f"Specify only one of {_STEP} and {_TRACKING}"),
        ({"PolicyType": "StepScaling", _STEP: {}, _TRACKING: None}, ""),
        (
            {"PolicyType": "TargetTrackingScaling", _STEP: {}},
            f"{_STEP} is not supported for policy type: TargetTrackingScaling",
        ),
    ],
)
def test_a_policy_has_the_configuration_of_its_type(
    request_: dict[str, Any], told: str
) -> None:
    """
    One of them at most.
    """
    assert fault(refuse_configurations, request_) == told


@pytest.mark.parametrize(
    ("policy", "others", "is_refused"),
    [
        ({"PredefinedMetricSpecification": {"a": 1}}, [], False),
        ({"PredefinedMetricSpecification": {"a": 1}}, [{}], False),
        (
            {"PredefinedMetricSpecification": {"a": 1}},
            [{"PredefinedMetricSpecification": {"a": 2}}],
            False,
        ),
        (
            {"PredefinedMetricSpecification": {"a": 1}},
            [{}, {"PredefinedMetricSpecification": {"a": 1}}],
            True,
        ),
        ({}, [{}], False),
    ],
)
def test_a_predefined_metric_is_followed_once(
    policy: dict[str, Any], others: list[dict[str, Any]], *, is_refused: bool
) -> None:
    """
    By one policy of a target.
    """
    told = (
        "Only one TargetTrackingScaling policy for a given metric specification is "
        "allowed."
    )
    assert fault(refuse_followed, policy, others) == (told if is_refused else "")


@pytest.mark.parametrize(
    ("dimension", "metrics"),
    [
        (
            VARIANT_DIMENSION,
            {
                "SageMakerVariantInvocationsPerInstance",
                "SageMakerVariantConcurrentRequestsPerModelHighResolution",
            },
        ),
        (
            CONCURRENCY_DIMENSION,
            {"SageMakerVariantProvisionedConcurrencyUtilization"},
        ),
        (
            COMPONENT_DIMENSION,
            {
                "SageMakerInferenceComponentInvocationsPerCopy",
                "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution",
            },
        ),
        ("other", set()),
    ],
)
def test_a_dimension_has_metrics_of_its_own(dimension: str, metrics: set[str]) -> None:
    """
    Those of the others are not supported.
    """
    for metric in (
        "SageMakerVariantInvocationsPerInstance",
        "SageMakerVariantConcurrentRequestsPerModelHighResolution",
        "SageMakerVariantProvisionedConcurrencyUtilization",
        "SageMakerInferenceComponentInvocationsPerCopy",
        "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution",
        "ECSServiceAverageCPUUtilization",
    ):
        policy = {
            "TargetValue": 1.0,
            "PredefinedMetricSpecification": {"PredefinedMetricType": metric},
        }
        told = (
            f"Predefined metric {metric} is not supported for scalable dimension: "
            f"{dimension}"
        )
        found = fault(refuse_policy, dimension, "TargetTrackingScaling", policy)
        assert found == ("" if metric in metrics else told)


_PLAIN = {"MetricName": "M", "Namespace": "N", "Statistic": "Sum"}


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({}, f"{_TRACKING} is required for policy type: TargetTrackingScaling"),
        (
            {"ScaleInCooldown": 1},
            "TargetValue is required for a target tracking scaling policy",
        ),
        ({"TargetValue": 1}, _BOTH),
        (
            {
                "TargetValue": 1,
                "CustomizedMetricSpecification": _PLAIN,
                "PredefinedMetricSpecification": {},
            },
            _BOTH,
        ),
        ({"TargetValue": 1, "CustomizedMetricSpecification": _PLAIN}, ""),
        ({"TargetValue": 1, "CustomizedMetricSpecification": {}}, _INCOMPLETE),
        *[
            (
                {
                    "TargetValue": 1,
                    "CustomizedMetricSpecification": {
                        k: v for k, v in _PLAIN.items() if k != missing
                    },
                },
                _INCOMPLETE,
            )
            for missing in _PLAIN
        ],
        *[
            (
                {
                    "TargetValue": 1,
                    "CustomizedMetricSpecification": {
                        "Metrics": [{"Id": "a"}],
                        name: "x",
                    },
                },
                f"Specify either Metrics or {name}",
            )
            for name in _PLAIN
        ],
        (
            {
                "TargetValue": 1,
                "CustomizedMetricSpecification": {"Metrics": [{"Id": "a"}]},
            },
            "",
        ),
        (
            {
                "TargetValue": 1,
                "CustomizedMetricSpecification": {
                    "Metrics": [{"Id": "a"}, {"Id": "b"}]
                },
            },
            _ONE,
        ),
        (
            {
                "TargetValue": 1,
                "CustomizedMetricSpecification": {
                    "Metrics": [{"Id": "a"}, {"Id": "b", "ReturnData": False}]
                },
            },
            "",
        ),
    ],
)
def test_a_policy_follows_one_metric(policy: dict[str, Any], told: str) -> None:
    """
    Predefined, or whole and of its own.
    """
    check = refuse_policy
    assert fault(check, VARIANT_DIMENSION, "TargetTrackingScaling", policy) == told


def step(lower: float | None, upper: float | None) -> dict[str, Any]:
    """
    Write one step.
    """
    bounds = {"MetricIntervalLowerBound": lower, "MetricIntervalUpperBound": upper}
    given = {name: value for name, value in bounds.items() if value is not None}
    return {"ScalingAdjustment": 1, **given}


@pytest.mark.parametrize(
    ("intervals", "told"),
    [
        ([(0.0, None)], ""),
        ([(None, 0.0)], ""),
        ([(0.0, None), (None, 0.0)], ""),
        ([(1.0, None), (0.0, 1.0)], ""),
        ([(None, -1.0), (-1.0, 0.0)], ""),
        (
            [(None, None)],
            "A step adjustment must have a lower bound, an upper bound, or both",
        ),
        (
            [(1.0, 1.0), (1.0, None)],
            "A step adjustment's upper bound must be greater than its lower bound",
        ),
        ([(0.0, 2.0), (1.0, None)], "Step adjustment intervals can't overlap"),
        (
            [(0.0, 1.0), (1.5, None)],
            "There must not be a gap between step adjustment intervals",
        ),
        (
            [(-1.0, 0.0)],
            "There must be a step adjustment with an unspecified lower bound",
        ),
        (
            [(0.0, 1.0)],
            "There must be a step adjustment with an unspecified upper bound",
        ),
    ],
)
def test_steps_cover_their_side_without_gaps(
    intervals: list[tuple[float | None, float | None]], told: str
) -> None:
    """
    In any order.
    """
    steps = [step(*bounds) for bounds in intervals]
    policy = {"AdjustmentType": "ChangeInCapacity", "StepAdjustments": steps}

    assert fault(refuse_policy, VARIANT_DIMENSION, "StepScaling", policy) == told


@pytest.mark.parametrize(
    ("schedule", "is_one"),
    [
        ("rate(1 minute)", True),
        ("rate(12 hours)", True),
        ("rate(1 hour)", True),
        ("rate(2 minutes)", True),
        ("rate(1 day)", True),
        ("rate(2 days)", True),
        ("rate(0 days)", False),
        ("rate(1 week)", False),
        ("rate(-1 day)", False),
        ("at(2030-01-31T23:59:59)", True),
        ("at(2030-02-30T00:00:00)", False),
        ("at(2030-01-01)", False),
        ("cron(0 9 * * ? *)", True),
        ("cron(0 9 * * *)", False),
        ("0 9 * * ? *", False),
        ("", False),
    ],
)
def test_a_schedule_is_one_of_three_kinds(schedule: str, *, is_one: bool) -> None:
    """
    A rate, a moment or a cron expression.
    """
    told = f"Schedule {schedule} is not a valid at, rate or cron expression"
    found = fault(refuse_action, schedule, None, (None, None), None)
    assert found == ("" if is_one else told)


@pytest.mark.parametrize(
    ("timezone", "is_one"),
    [
        (None, True),
        ("", True),
        ("UTC", True),
        ("Europe/Berlin", True),
        ("Europe/Atlantis", False),
        ("../Berlin", False),
        ("Europe", False),
    ],
)
def test_a_time_zone_is_one_that_there_is(
    timezone: str | None, *, is_one: bool
) -> None:
    """
    Neither a folder of them, nor a way out of it.
    """
    told = f"Time zone {timezone} is not valid"
    found = fault(refuse_action, None, timezone, (None, None), None)
    assert found == ("" if is_one else told)


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ((1.0, 2.0), ""),
        ((2.0, None), ""),
        ((None, 1.0), ""),
        ((2.0, 2.0), "StartTime must be earlier than EndTime"),
        (("2030-01-02T00:00:00Z", 1.0), "StartTime must be earlier than EndTime"),
        ((1.0, "2030-01-02T00:00:00Z"), ""),
        (("soon", None), "soon is not a time"),
        ((None, "late"), "late is not a time"),
    ],
)
def test_an_action_runs_within_a_window(window: tuple[Any, Any], told: str) -> None:
    """
    From a moment on, until one, or both in order.
    """
    assert fault(refuse_action, None, None, window, None) == told


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (None, ""),
        (
            {},
            "ScalableTargetAction must specify MinCapacity, MaxCapacity or both",
        ),
        ({"MinCapacity": 0}, ""),
        ({"MaxCapacity": 0}, ""),
        ({"MinCapacity": 2, "MaxCapacity": 2}, ""),
        ({"MinCapacity": 3, "MaxCapacity": 2}, _CROSSED),
        ({"MinCapacity": -1}, _NEGATIVE),
        ({"MaxCapacity": -1}, _NEGATIVE),
    ],
)
def test_an_action_sets_bounds(action: dict[str, int] | None, told: str) -> None:
    """
    One of them or both, in order.
    """
    assert fault(refuse_action, None, None, (None, None), action) == told
