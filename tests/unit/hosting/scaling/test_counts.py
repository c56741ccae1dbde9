"""
Scaling by target tracking.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    ResourceRequirements,
    ScalableCopyCount,
    ScalableInstanceCount,
    ScalableTarget,
    TargetTrackingScaling,
    Tgi,
)
from tests.unit.hosting.written import (
    keywords_of,
    left_at_default,
    required_keywords_of,
    written,
)

Properties = Callable[[Stack, str], dict[str, Any]]
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
COOLDOWNS: dict[str, Any] = {
    "scale_in_cooldown": Duration.seconds(301),
    "scale_out_cooldown": Duration.seconds(61),
}
# What every policy of target tracking takes.
FURTHER = {*COOLDOWNS, "disable_scale_in"}


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


def target_of(stack: Stack, kind: str, **names: str) -> Any:  # noqa: ANN401 - either
    """
    Define a scalable number with every keyword, from 2 to 5.
    """
    made = {"instances": ScalableInstanceCount, "copies": ScalableCopyCount}[kind]
    given: dict[str, Any] = {**names, "min_capacity": 2, "max_capacity": 5}
    # Whether requests wait: tried in test_backlog.py.
    left = {"asynchronous"} if kind == "instances" else set()
    assert keywords_of(made.__init__) == set(given) | left  # type: ignore[misc] # either class
    assert required_keywords_of(made.__init__) == set(given)  # type: ignore[misc] # ditto
    return made(stack, "Count", **given)


def expected_target(resource_id: str, dimension: str) -> dict[str, Any]:
    """
    Return a scalable target from 2 to 5 as it is written.
    """
    return {
        "Type": TARGET,
        "Properties": {
            "MaxCapacity": 5,
            "MinCapacity": 2,
            "ResourceId": resource_id,
            "ScalableDimension": dimension,
            "ServiceNamespace": "sagemaker",
        },
    }


def expected_policy(
    metric: str, value: float, cooldowns: tuple[int, int]
) -> dict[str, Any]:
    """
    Return a policy of the scalable number as it is written.
    """
    return {
        "Type": POLICY,
        "Properties": {
            "PolicyName": "Load",
            "PolicyType": "TargetTrackingScaling",
            "ScalingTargetId": "${Count}",
            "TargetTrackingScalingPolicyConfiguration": {
                "PredefinedMetricSpecification": {"PredefinedMetricType": metric},
                "ScaleInCooldown": cooldowns[0],
                "ScaleOutCooldown": cooldowns[1],
                "TargetValue": value,
            },
        },
    }


@pytest.mark.parametrize(
    ("cooldowns", "seconds"),
    [(COOLDOWNS, (301, 61)), ({}, (300, 300))],
    ids=["given", "left out"],
)
@pytest.mark.parametrize(
    ("method", "target", "metric"),
    [
        (
            "scale_on_invocations",
            {"per_minute": 7.5},
            "SageMakerVariantInvocationsPerInstance",
        ),
        (
            "scale_on_concurrency",
            {"per_instance": 7.5},
            "SageMakerVariantConcurrentRequestsPerModelHighResolution",
        ),
    ],
    ids=["invocations", "concurrency"],
)
def test_every_keyword_of_scaling_instances_reaches_the_template(
    stack: Stack,
    method: str,
    target: dict[str, float],
    metric: str,
    cooldowns: dict[str, Any],
    seconds: tuple[int, int],
) -> None:
    """
    Each cooldown is its own, and both are written out.
    """
    count = target_of(stack, "instances", endpoint_name="chat", variant_name="Blue")
    policy = getattr(count, method)("Load", **target, **cooldowns)

    assert written(stack) == {
        "Count": expected_target(
            "endpoint/chat/variant/Blue", "sagemaker:variant:DesiredInstanceCount"
        ),
        "CountLoad": expected_policy(metric, 7.5, seconds),
    }
    assert isinstance(policy, TargetTrackingScaling)
    assert keywords_of(getattr(ScalableInstanceCount, method)) == {*target, *FURTHER}
    assert required_keywords_of(getattr(ScalableInstanceCount, method)) == set(target)


@pytest.mark.parametrize(
    ("cooldowns", "seconds"),
    [(COOLDOWNS, (301, 61)), ({}, (300, 300))],
    ids=["given", "left out"],
)
@pytest.mark.parametrize(
    ("method", "target", "metric"),
    [
        (
            "scale_on_invocations",
            {"per_minute": 7.5},
            "SageMakerInferenceComponentInvocationsPerCopy",
        ),
        (
            "scale_on_concurrency",
            {"per_copy": 7.5},
            "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution",
        ),
    ],
    ids=["invocations", "concurrency"],
)
def test_every_keyword_of_scaling_copies_reaches_the_template(
    stack: Stack,
    method: str,
    target: dict[str, float],
    metric: str,
    cooldowns: dict[str, Any],
    seconds: tuple[int, int],
) -> None:
    """
    Each cooldown is its own, and both are written out.
    """
    count = target_of(stack, "copies", inference_component_name="llama")
    policy = getattr(count, method)("Load", **target, **cooldowns)

    assert written(stack) == {
        "Count": expected_target(
            "inference-component/llama",
            "sagemaker:inference-component:DesiredCopyCount",
        ),
        "CountLoad": expected_policy(metric, 7.5, seconds),
    }
    assert isinstance(policy, TargetTrackingScaling)
    assert keywords_of(getattr(ScalableCopyCount, method)) == {*target, *FURTHER}
    assert required_keywords_of(getattr(ScalableCopyCount, method)) == set(target)


@pytest.mark.parametrize("by_method", [True, False], ids=["method", "construct"])
@pytest.mark.parametrize(
    ("cooldowns", "seconds"),
    [(COOLDOWNS, (301, 61)), ({}, (300, 300))],
    ids=["given", "left out"],
)
def test_every_keyword_of_a_target_and_a_policy_reaches_the_template(
    stack: Stack,
    cooldowns: dict[str, Any],
    seconds: tuple[int, int],
    *,
    by_method: bool,
) -> None:
    """
    Whatever the service has a number and a metric for.
    """
    bounds: dict[str, Any] = {
        "resource_id": "endpoint/chat/variant/Blue",
        "scalable_dimension": "sagemaker:variant:DesiredProvisionedConcurrency",
        "min_capacity": 2,
        "max_capacity": 5,
    }
    given: dict[str, Any] = {
        "predefined_metric": "SageMakerVariantProvisionedConcurrencyUtilization",
        "target_value": 0.5,
    }
    target = ScalableTarget(stack, "Count", **bounds)
    if by_method:
        target.scale_to_track_metric("Load", **given, **cooldowns)
    else:
        TargetTrackingScaling(target, "Load", target=target, **given, **cooldowns)

    assert written(stack) == {
        "Count": expected_target(
            "endpoint/chat/variant/Blue",
            "sagemaker:variant:DesiredProvisionedConcurrency",
        ),
        "CountLoad": expected_policy(
            "SageMakerVariantProvisionedConcurrencyUtilization", 0.5, seconds
        ),
    }
    every = {
        "target": target,
        "metric": object(),
        "disable_scale_in": True,
        **given,
        **COOLDOWNS,
    }
    assert keywords_of(ScalableTarget.__init__) == {*bounds, "is_asynchronous"}
    assert required_keywords_of(ScalableTarget.__init__) == set(bounds)
    assert keywords_of(TargetTrackingScaling.__init__) == set(every)
    assert left_at_default(TargetTrackingScaling.__init__, every) == set()
    assert keywords_of(ScalableTarget.scale_to_track_metric) == {*given, *FURTHER}


def test_a_cooldown_of_nothing_is_a_cooldown(stack: Stack) -> None:
    """
    Zero is a figure of one's own, and no default.
    """
    count = target_of(stack, "copies", inference_component_name="llama")
    count.scale_on_concurrency(
        "Load",
        per_copy=1,
        scale_in_cooldown=Duration.seconds(0),
        scale_out_cooldown=Duration.seconds(0),
    )

    assert written(stack)["CountLoad"] == expected_policy(
        "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution", 1, (0, 0)
    )


def test_a_target_value_may_be_small_or_known_only_at_deployment(stack: Stack) -> None:
    """
    Anything above zero is a load.
    """
    value = CfnParameter(stack, "Value", type="Number").value_as_number
    count = target_of(stack, "copies", inference_component_name="llama")
    count.scale_on_concurrency("Small", per_copy=0.01)
    count.scale_on_invocations("Unknown", per_minute=value)
    found = written(stack)

    assert [
        tracking(found[name]["Properties"])["TargetValue"]
        for name in ("CountSmall", "CountUnknown")
    ] == [0.01, "${Value}"]


@pytest.mark.parametrize(
    ("bounds", "value", "message", "made"),
    [
        (
            (2, 1),
            1,
            "Test/Count: LLM105 max_capacity must be at least min_capacity, ",
            0,
        ),
        (
            (1, 1),
            0,
            "Test/Count/Load: LLM111 the target value must be above 0, got 0",
            2,
        ),
        ((1, 1), -0.5, "Test/Count/Load: LLM111 the target value must be above 0, ", 2),
    ],
)
def test_nothing_is_made_of_a_target_or_a_policy_that_is_wrong(
    stack: Stack, bounds: tuple[int, int], value: float, message: str, made: int
) -> None:
    """
    The message begins with the path of what was to be made.
    """
    with pytest.raises(ValueError, match=f"^{message}"):
        ScalableCopyCount(
            stack,
            "Count",
            inference_component_name="llama",
            min_capacity=bounds[0],
            max_capacity=bounds[1],
        ).scale_on_concurrency("Load", per_copy=value)

    # The target and its resource where the policy alone is wrong.
    assert len(stack.node.find_all()) - 1 == made


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
        ((0, 4), "LLM105 min_capacity must be at least 1, got 0: an endpoint that"),
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
