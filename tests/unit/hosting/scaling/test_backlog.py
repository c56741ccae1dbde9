"""
Scaling on the backlog of an asynchronous endpoint, to zero and from it.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack

from cdk_sagemaker_llm import (
    AsyncInference,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    LlmEndpoint,
    LmiVllm,
    ScalableInstanceCount,
)
from tests.unit.hosting.written import codes_of, keywords_of, written

ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
KINDS = (
    "ApplicationAutoScaling::ScalableTarget",
    "ApplicationAutoScaling::ScalingPolicy",
    "CloudWatch::Alarm",
)


@pytest.fixture(name="waiting")
def _waiting(stack: Stack) -> LlmEndpoint:
    return LlmEndpoint(
        stack,
        "Llm",
        model=ZEPHYR,
        serving=LmiVllm(),
        instance_type="ml.g5.12xlarge",
        async_inference=AsyncInference(output="s3://answers"),
    )


def count_of(stack: Stack, least: int, *, asynchronous: bool | None) -> Any:  # noqa: ANN401 - calls are tried
    """
    Define a number of instances by itself.
    """
    return ScalableInstanceCount(
        stack,
        "Count",
        endpoint_name="chat",
        variant_name="Blue",
        min_capacity=least,
        max_capacity=4,
        asynchronous=asynchronous,
    )


def expected(prefix: str, name: str) -> dict[str, Any]:
    """
    Return the whole set as the guide's page async-inference-autoscale has it.
    """
    dimensions = [{"Name": "EndpointName", "Value": name}]
    return {
        f"{prefix}Load": {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {
                "PolicyName": "Load",
                "PolicyType": "TargetTrackingScaling",
                "ScalingTargetId": f"${{{prefix}}}",
                "TargetTrackingScalingPolicyConfiguration": {
                    "CustomizedMetricSpecification": {
                        "Dimensions": dimensions,
                        "MetricName": "ApproximateBacklogSizePerInstance",
                        "Namespace": "AWS/SageMaker",
                        "Statistic": "Average",
                    },
                    "ScaleInCooldown": 301,
                    "ScaleOutCooldown": 61,
                    "TargetValue": 5,
                },
            },
        },
        f"{prefix}LoadWake": {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "Properties": {
                "PolicyName": "LoadWake",
                "PolicyType": "StepScaling",
                "ScalingTargetId": f"${{{prefix}}}",
                "StepScalingPolicyConfiguration": {
                    "AdjustmentType": "ChangeInCapacity",
                    "Cooldown": 300,
                    "MetricAggregationType": "Average",
                    "StepAdjustments": [
                        {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
                    ],
                },
            },
        },
        f"{prefix}LoadWakeAlarm": {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {
                "AlarmActions": [f"${{{prefix}LoadWake}}"],
                "AlarmDescription": "Requests wait for an endpoint without instances",
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
                "DatapointsToAlarm": 2,
                "Dimensions": dimensions,
                "EvaluationPeriods": 2,
                "MetricName": "HasBacklogWithoutCapacity",
                "Namespace": "AWS/SageMaker",
                "Period": 60,
                "Statistic": "Average",
                "Threshold": 1,
                "TreatMissingData": "missing",
            },
        },
    }


def test_to_zero_the_whole_set_is_made(stack: Stack, waiting: LlmEndpoint) -> None:
    """
    Target tracking, and what starts the first instance.
    """
    instances = waiting.auto_scale_instance_count(min_capacity=0, max_capacity=4)
    scaling = instances.scale_on_backlog(
        "Load",
        per_instance=5,
        scale_in_cooldown=Duration.seconds(301),
        scale_out_cooldown=Duration.seconds(61),
    )

    assert scaling.wake_policy is not None
    assert scaling.wake_alarm is not None
    assert written(stack, *KINDS) == {
        "LlmEndpointScaling": {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {
                "MaxCapacity": 4,
                "MinCapacity": 0,
                "ResourceId": "endpoint/${LlmEndpoint.EndpointName}/variant/AllTraffic",
                "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
                "ServiceNamespace": "sagemaker",
            },
        },
        **expected("LlmEndpointScaling", "${LlmEndpoint.EndpointName}"),
    }
    assert keywords_of(ScalableInstanceCount.scale_on_backlog) == {
        "per_instance",
        "scale_in_cooldown",
        "scale_out_cooldown",
    }


def test_above_zero_nothing_needs_to_wake(stack: Stack, waiting: LlmEndpoint) -> None:
    """
    The cooldowns are the service's, written out.
    """
    instances = waiting.auto_scale_instance_count(max_capacity=4)
    scaling = instances.scale_on_backlog("Load", per_instance=0.5)
    (policy,) = written(stack, "ApplicationAutoScaling::ScalingPolicy").values()
    tracking = policy["Properties"]["TargetTrackingScalingPolicyConfiguration"]

    assert scaling.wake_policy is None
    assert scaling.wake_alarm is None
    assert tracking["ScaleInCooldown"] == tracking["ScaleOutCooldown"] == 300
    assert tracking["TargetValue"] == 0.5
    assert written(stack, "CloudWatch::Alarm") == {}


@pytest.mark.parametrize("value", [0, -1, -math.ulp(0.0)])
def test_fails_if_the_target_is_not_above_zero(
    waiting: LlmEndpoint, value: float
) -> None:
    """
    Application Auto Scaling divides by it.
    """
    instances = waiting.auto_scale_instance_count(max_capacity=4)
    with pytest.raises(ValueError, match="Load: LLM111 per_instance must be above 0"):
        instances.scale_on_backlog("Load", per_instance=value)


def test_a_target_known_at_deployment_is_passed_on(
    stack: Stack, waiting: LlmEndpoint
) -> None:
    """
    And bounds that are.
    """
    value = CfnParameter(stack, "Value", type="Number").value_as_number
    instances = waiting.auto_scale_instance_count(min_capacity=0, max_capacity=4)
    instances.scale_on_backlog("Load", per_instance=value)
    policies = written(stack, "ApplicationAutoScaling::ScalingPolicy")
    tracking = policies["LlmEndpointScalingLoad"]["Properties"][
        "TargetTrackingScalingPolicyConfiguration"
    ]

    assert tracking["TargetValue"] == "${Value}"


def test_fails_if_a_cooldown_is_of_no_whole_seconds(waiting: LlmEndpoint) -> None:
    """
    The service counts in those.
    """
    instances = waiting.auto_scale_instance_count(max_capacity=4)
    with pytest.raises(ValueError, match="LLM129 scale_in_cooldown must be of whole"):
        instances.scale_on_backlog(
            "Load", per_instance=5, scale_in_cooldown=Duration.millis(1500)
        )


@pytest.mark.parametrize("least", [-1, 5])
def test_fails_if_the_bounds_are_wrong(waiting: LlmEndpoint, least: int) -> None:
    """
    Below zero, and above the upper one.
    """
    with pytest.raises(ValueError, match="LLM105"):
        waiting.auto_scale_instance_count(min_capacity=least, max_capacity=4)


def test_fails_if_requests_do_not_wait(stack: Stack, endpoint: LlmEndpoint) -> None:
    """
    The metric is not published, and real-time instances do not go to zero.
    """
    instances = endpoint.auto_scale_instance_count(max_capacity=4)
    with pytest.raises(ValueError, match="Load: LLM349 no request waits") as fault:
        instances.scale_on_backlog("Load", per_instance=5)
    way_out = "; define it with async_inference, or scale on concurrency"
    assert str(fault.value).endswith(way_out)
    with pytest.raises(ValueError, match="LLM105 min_capacity must be at least 1"):
        count_of(stack, 0, asynchronous=False)


@pytest.mark.parametrize("asynchronous", [True, None])
def test_a_number_by_itself_goes_to_zero(
    stack: Stack, *, asynchronous: bool | None
) -> None:
    """
    Where it is said that requests wait, or nothing is known.
    """
    count_of(stack, 0, asynchronous=asynchronous).scale_on_backlog(
        "Load",
        per_instance=5,
        scale_in_cooldown=Duration.seconds(301),
        scale_out_cooldown=Duration.seconds(61),
    )
    found = written(stack, *KINDS)

    assert found.pop("Count")["Properties"]["MinCapacity"] == 0
    assert found == expected("Count", "chat")


def test_an_imported_configuration_may_be_asynchronous(stack: Stack) -> None:
    """
    Nothing is known of it, and nothing is warned of.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Config", "mine")
    endpoint = Endpoint(stack, "It", endpoint_config=config)
    instances = endpoint.auto_scale_instance_count(
        min_capacity=0, max_capacity=2, variant_name="Blue"
    )
    instances.scale_on_backlog("Load", per_instance=5)
    instances.scale_on_invocations("Traffic", per_minute=5)
    (target,) = written(stack, "ApplicationAutoScaling::ScalableTarget").values()

    assert target["Properties"]["MinCapacity"] == 0
    assert len(written(stack, "CloudWatch::Alarm")) == 1
    assert codes_of(stack) == []


def test_a_metric_that_is_not_published_is_told_of(
    stack: Stack, waiting: LlmEndpoint
) -> None:
    """
    The guide lists all that there are.
    """
    instances = waiting.auto_scale_instance_count(max_capacity=4)
    instances.scale_on_invocations("Traffic", per_minute=5)
    instances.scale_on_concurrency("Load", per_instance=5)

    assert codes_of(stack) == [
        ("/Test/Llm/Endpoint/Scaling", "LLM816"),
        ("/Test/Llm/Endpoint/Scaling/Load", "LLM438"),
        ("/Test/Llm/Endpoint/Scaling/Traffic", "LLM438"),
    ]
