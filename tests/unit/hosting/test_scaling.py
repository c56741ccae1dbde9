"""
Scaling by target tracking.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration, Stack
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    ResourceRequirements,
    Tgi,
)

Properties = Callable[[Stack, str], dict[str, Any]]
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"


@pytest.fixture(name="component")
def _component(host: InferenceComponentEndpoint) -> InferenceComponent:
    return host.add_model(
        "Llama",
        model=HuggingFaceModel("a/b"),
        serving=Tgi("1.4.5"),
        resources=ResourceRequirements(accelerators=1),
    )


def tracking(properties: dict[str, Any]) -> dict[str, Any]:
    """
    Return what a policy tracks.
    """
    found: dict[str, Any] = properties["TargetTrackingScalingPolicyConfiguration"]
    return found


def test_instances_follow_invocations(
    stack: Stack, endpoint: LlmEndpoint, properties: Properties
) -> None:
    """
    Reference deployment A: 1 to 4, target 5, cooldowns 300 and 60.
    """
    instances = endpoint.auto_scale_instance_count(max_capacity=4)
    instances.scale_on_invocations(
        "Traffic",
        per_minute=5,
        scale_in_cooldown=Duration.seconds(300),
        scale_out_cooldown=Duration.seconds(60),
    )
    target = properties(stack, TARGET)

    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 4)
    assert target["ServiceNamespace"] == "sagemaker"
    assert target["ScalableDimension"] == "sagemaker:variant:DesiredInstanceCount"
    assert "RoleARN" not in target
    assert tracking(properties(stack, POLICY)) == {
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
        },
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 60,
        "TargetValue": 5,
    }


def test_copies_follow_invocations(
    stack: Stack, component: InferenceComponent, properties: Properties
) -> None:
    """
    Both cooldowns are written out: the service's default for copies is unknown.
    """
    copies = component.auto_scale_copy_count(min_capacity=2, max_capacity=16)
    copies.scale_on_invocations("Traffic", per_minute=1.5)
    target = properties(stack, TARGET)

    assert target["ScalableDimension"].endswith("inference-component:DesiredCopyCount")
    assert target["ResourceId"]["Fn::Join"][1][0] == "inference-component/"
    assert tracking(properties(stack, POLICY)) == {
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerInferenceComponentInvocationsPerCopy"
        },
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 300,
        "TargetValue": 1.5,
    }


def test_both_follow_concurrency(
    stack: Stack, endpoint: LlmEndpoint, component: InferenceComponent
) -> None:
    """
    The high-resolution metrics, one for each kind.
    """
    instances = endpoint.auto_scale_instance_count(max_capacity=4)
    instances.scale_on_concurrency("Load", per_instance=10)
    copies = component.auto_scale_copy_count(max_capacity=4)
    copies.scale_on_concurrency("Load", per_copy=4)

    policies = Template.from_stack(stack).find_resources(POLICY).values()
    metrics = {
        tracking(p["Properties"])["PredefinedMetricSpecification"][
            "PredefinedMetricType"
        ]: tracking(p["Properties"])["TargetValue"]
        for p in policies
    }

    assert metrics == {
        "SageMakerVariantConcurrentRequestsPerModelHighResolution": 10,
        "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution": 4,
    }


def test_several_policies_share_a_target(stack: Stack, endpoint: LlmEndpoint) -> None:
    """
    The policy is named after its id, which is unique within the target.
    """
    instances = endpoint.auto_scale_instance_count(max_capacity=4)
    instances.scale_on_invocations("Traffic", per_minute=5)
    instances.scale_on_concurrency("Load", per_instance=10)

    policies = Template.from_stack(stack).find_resources(POLICY).values()

    assert sorted(p["Properties"]["PolicyName"] for p in policies) == [
        "Load",
        "Traffic",
    ]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (
            (2, 1),
            "LLM105 max_capacity must be at least min_capacity, got max",
        ),
        ((0, 4), "LLM105 min_capacity must be at least 1, got 0: target tracking"),
        ((-1, 4), "LLM105 min_capacity must be at least 1, got -1"),
    ],
)
def test_fails_if_the_bounds_are_wrong(
    endpoint: LlmEndpoint, bounds: tuple[int, int], message: str
) -> None:
    """
    They are neither swapped nor clamped.
    """
    least, most = bounds
    with pytest.raises(ValueError, match=message):
        endpoint.auto_scale_instance_count(min_capacity=least, max_capacity=most)


@pytest.mark.parametrize("target", [0, -5])
def test_fails_if_the_target_is_not_above_zero(
    endpoint: LlmEndpoint, target: float
) -> None:
    """
    No load is below it.
    """
    instances = endpoint.auto_scale_instance_count(max_capacity=4)

    with pytest.raises(ValueError, match="LLM111 the target value must be above 0"):
        instances.scale_on_invocations("Traffic", per_minute=target)
