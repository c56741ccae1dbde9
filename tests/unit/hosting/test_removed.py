"""
What ``try_remove_child`` takes out leaves its room, its name and its metric to others.
"""

from __future__ import annotations

import pytest
from aws_cdk import Stack
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    ResourceRequirements,
)

GPT2 = HuggingFaceModel("gpt2")
ALL_FOUR = ResourceRequirements(copies=1, accelerators=4)


@pytest.fixture(name="full")
def _full(stack: Stack) -> InferenceComponentEndpoint:
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", endpoint_name="chat"
    )
    add(host, "Gpt")
    return host


def add(host: InferenceComponentEndpoint, id: str) -> InferenceComponent:
    """
    Add a model that fills the host, under one name.
    """
    return host.add_model(
        id,
        model=GPT2,
        serving=LmiVllm(),
        resources=ALL_FOUR,
        inference_component_name="gpt",
    )


def test_a_component_frees_its_place_and_its_name(
    stack: Stack, full: InferenceComponentEndpoint
) -> None:
    """
    While it is there, neither is free; under the same id, or under another.
    """
    with pytest.raises(ValueError, match="need 8 accelerators") as caught:
        add(full, "Other")
    assert "'gpt' is taken" in str(caught.value)
    assert full.node.try_remove_child("Gpt")
    add(full, "Other")
    assert full.node.try_remove_child("Other")
    add(full, "Other")

    Template.from_stack(stack).resource_count_is(
        "AWS::SageMaker::InferenceComponent", 1
    )


def test_copies_fill_the_room_that_is_left(full: InferenceComponentEndpoint) -> None:
    """
    And not that of what was taken out.
    """
    full.node.try_remove_child("Gpt")
    one = ResourceRequirements(accelerators=1)
    other = full.add_model("It", model=GPT2, resources=one, copies="fill")

    assert other.resources.copies == 4


def test_an_endpoint_frees_its_name(
    stack: Stack, full: InferenceComponentEndpoint
) -> None:
    """
    Which the service takes once.
    """
    with pytest.raises(ValueError, match="LLM183 endpoint_name 'chat' is taken"):
        LlmEndpoint(
            stack, "It", model=GPT2, instance_type="ml.g5.xlarge", endpoint_name="chat"
        )
    stack.node.try_remove_child(full.node.id)

    assert LlmEndpoint(
        stack, "It", model=GPT2, instance_type="ml.g5.xlarge", endpoint_name="chat"
    )


def test_scaling_is_defined_anew(
    stack: Stack, endpoint: LlmEndpoint, full: InferenceComponentEndpoint
) -> None:
    """
    Of instances and of copies, with the policy of a metric.
    """
    first = endpoint.auto_scale_instance_count(max_capacity=2)
    first.scale_on_invocations("Load", per_minute=10)
    with pytest.raises(ValueError, match="LLM301 .* policy 'Load' already"):
        first.scale_on_invocations("Load", per_minute=20)
    first.node.try_remove_child("Load")
    first.scale_on_invocations("Load", per_minute=20)
    endpoint.endpoint.node.try_remove_child("Scaling")
    endpoint.auto_scale_instance_count(max_capacity=3)
    (component,) = full.components
    component.auto_scale_copy_count(max_capacity=1)
    component.node.try_remove_child("Scaling")
    component.auto_scale_copy_count(max_capacity=1, min_capacity=1)

    Template.from_stack(stack).resource_count_is(
        "AWS::ApplicationAutoScaling::ScalableTarget", 2
    )
