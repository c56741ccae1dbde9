"""
Names that a stack may give away once.
"""

from __future__ import annotations

import pytest
from aws_cdk import App, CfnParameter, Environment, Stack
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    Endpoint,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Model,
    ResourceRequirements,
    Tgi,
)
from tests.unit.hosting.written import warnings_of

GPT2 = HuggingFaceModel("gpt2")
ONE = ResourceRequirements(accelerators=1)
TAKEN = (
    "LLM183 endpoint_name 'CHAT' is taken: this stack names 'Chat' already, and the "
    "service sees no case; choose another, or leave it out"
)


def named(stack: Stack, id: str, name: str | None) -> LlmEndpoint:
    """
    Define an endpoint with a name.
    """
    return LlmEndpoint(
        stack, id, model=GPT2, instance_type="ml.g5.xlarge", endpoint_name=name
    )


def hosting(stack: Stack) -> InferenceComponentEndpoint:
    """
    Define a host for components.
    """
    return InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")


def test_fails_if_an_endpoint_is_named_twice_in_any_case(stack: Stack) -> None:
    """
    Whichever construct names it; nothing is made of it.
    """
    first = named(stack, "One", "Chat")

    with pytest.raises(ValueError, match="LLM183") as pattern:
        named(stack, "Two", "CHAT")
    with pytest.raises(ValueError, match="LLM183") as host:
        InferenceComponentEndpoint(
            stack, "Three", instance_type="ml.g5.xlarge", endpoint_name="CHAT"
        )
    with pytest.raises(ValueError, match="LLM183") as block:
        Endpoint(
            stack,
            "Four",
            endpoint_config=first.endpoint_config,
            endpoint_name="CHAT",
        )

    assert str(pattern.value) == f"Test/Two: {TAKEN}"
    assert str(host.value) == f"Test/Three: {TAKEN}"
    assert str(block.value) == f"Test/Four: {TAKEN}"
    Template.from_stack(stack).resource_count_is("AWS::SageMaker::Endpoint", 1)


@pytest.mark.parametrize(
    ("account", "region", "is_told"),
    [
        ("111111111111", "us-east-1", True),
        ("111111111111", "us-west-2", False),
        ("222222222222", "us-east-1", False),
    ],
)
def test_warns_if_another_stack_of_the_environment_has_the_name(
    account: str, region: str, *, is_told: bool
) -> None:
    """
    In another region or account it is free, and in another app nobody sees it.
    """
    app = App()
    here = Environment(account="111111111111", region="us-east-1")
    named(Stack(app, "One", env=here), "Chat", "Chat")
    named(Stack(App(), "Elsewhere", env=here), "Chat", "chat")
    other = Stack(app, "Two", env=Environment(account=account, region=region))

    named(other, "Chat", "chat")

    told = (
        "endpoint_name 'chat' is named in the stack One too, of the same account and "
        "region: SageMaker lets one of them deploy; choose another, or leave it out "
        "[ack: cdk-sagemaker-llm:LLM812]"
    )
    found = [text for _, text in warnings_of(other) if "endpoint_name" in text]
    assert found == [told] * is_told


def test_a_name_that_was_refused_is_not_taken(stack: Stack) -> None:
    """
    The definition that is mended may have it.
    """
    with pytest.raises(ValueError, match="LLM105"):
        LlmEndpoint(
            stack,
            "One",
            model=GPT2,
            instance_type="ml.g5.xlarge",
            endpoint_name="chat",
            instance_count=0,
        )

    assert named(stack, "Two", "chat").endpoint.chosen_name == "chat"


def test_what_is_not_named_by_the_user_is_free(stack: Stack) -> None:
    """
    Other stacks, placeholders, and names that CloudFormation makes.
    """
    app = App()
    later = CfnParameter(stack, "Name").value_as_string

    named(Stack(app, "A"), "One", "chat")
    named(Stack(app, "B"), "One", "chat")
    for it, name in (("C", later), ("D", later), ("E", None), ("F", None)):
        named(stack, it, name)

    Template.from_stack(stack).resource_count_is("AWS::SageMaker::Endpoint", 4)


def test_fails_if_a_component_is_named_twice_in_any_case(stack: Stack) -> None:
    """
    By the host's own method or directly; a component may be named as an endpoint is.
    """
    host = hosting(stack)
    named(stack, "Chat", "chat")
    host.add_model("A", model=GPT2, resources=ONE, inference_component_name="chat")
    model = Model(
        stack,
        "Model",
        serving=Tgi("3.3.6"),
        model=GPT2,
        role=host.role,
        network=host.endpoint_config.network,
    )

    with pytest.raises(ValueError, match="LLM183 inference_component_name 'Chat'"):
        host.add_model("B", model=GPT2, resources=ONE, inference_component_name="Chat")
    with pytest.raises(ValueError, match="LLM183 inference_component_name 'CHAT'"):
        InferenceComponent(
            stack,
            "C",
            endpoint=host.endpoint,
            model=model,
            resources=ONE,
            inference_component_name="CHAT",
        )


def test_fails_if_two_components_of_ones_own_have_one_name(stack: Stack) -> None:
    """
    No pattern is between them; a name that was refused is free for another.
    """
    host = hosting(stack)
    model = Model(stack, "Model", serving=Tgi("3.3.6"), model=GPT2, role=host.role)

    def define(id: str, name: str, devices: int = 1) -> None:
        InferenceComponent(
            stack,
            id,
            endpoint=host.endpoint,
            model=model,
            resources=ResourceRequirements(accelerators=devices),
            inference_component_name=name,
        )

    with pytest.raises(ValueError, match="LLM104"):
        define("Large", "llama", devices=5)
    define("One", "llama")
    with pytest.raises(ValueError, match="LLM183 inference_component_name 'LLAMA'"):
        define("Two", "LLAMA")
    define("Three", "other")

    template = Template.from_stack(stack)
    template.resource_count_is("AWS::SageMaker::InferenceComponent", 2)
