"""
A component's id and derived name follow what the service cannot change in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from aws_cdk import App, CfnParameter, PhysicalName, Stack, Stage
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template
from constructs import Construct

from cdk_sagemaker_llm import (
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    Model,
    ProductionVariant,
    ResourceRequirements,
    Tgi,
)

COMPONENT = "AWS::SageMaker::InferenceComponent"
TGI = Tgi("1.4.5")
LLAMA = HuggingFaceModel("a/b")
ONE = ResourceRequirements(accelerators=1)


def component(
    stack: Stack,
    *,
    hosts: str = "Host",
    variant: str = "AllTraffic",
    endpoint_name: str | None = None,
    name: str | None = None,
    prefix: str | None = None,
) -> tuple[str, str | None]:
    """
    Define a component on hosts of its own; return its logical id and its name.
    """
    host = InferenceComponentEndpoint(stack, "Role", instance_type="ml.g5.12xlarge")
    blue, green = (
        ProductionVariant(instance_type="ml.g5.12xlarge", variant_name=each, engine=TGI)
        for each in ("AllTraffic", "Green")
    )
    config = EndpointConfig(
        stack, "Config", variants=[blue, green], execution_role=host.role
    )
    endpoint = Endpoint(
        stack, hosts, endpoint_config=config, endpoint_name=endpoint_name
    )
    model = Model(stack, "Model", model=LLAMA, serving=TGI, role=host.role)
    InferenceComponent(
        stack,
        "It",
        endpoint=endpoint,
        model=model,
        resources=ONE,
        variant_name=variant,
        inference_component_name=name,
        inference_component_name_prefix=prefix,
    )
    ((logical_id, resource),) = (
        Template.from_stack(stack).find_resources(COMPONENT).items()
    )
    return logical_id, resource["Properties"].get("InferenceComponentName")


def fresh() -> Stack:
    """
    Start a stack that is named as all others.
    """
    return Stack(App(), "Stack")


def test_the_id_changes_with_each_thing_that_the_service_cannot_change() -> None:
    """
    And with nothing else.
    """
    ids = [
        component(fresh())[0],
        component(fresh(), hosts="Other")[0],
        component(fresh(), variant="Green")[0],
        component(fresh(), endpoint_name="chat")[0],
        component(fresh(), name="llama")[0],
    ]

    assert len(set(ids)) == len(ids)
    assert component(fresh())[0] == ids[0]


def test_names_are_told_apart_where_one_ends_and_another_begins() -> None:
    """
    An endpoint and a component on it are two names.
    """
    one = component(fresh(), endpoint_name="ab", name="c")[0]
    other = component(fresh(), endpoint_name="a", name="bc")[0]

    assert one != other


def test_every_stage_has_the_same_ids() -> None:
    """
    The path begins at the stage.
    """
    app = App()
    first, second = (Stack(Stage(app, name), "Stack") for name in ("Beta", "Prod"))

    assert component(first)[0] == component(second)[0]


def parameter(stack: Stack) -> str:
    """
    Leave the name to a parameter.
    """
    return CfnParameter(stack, "Name").value_as_string


def bucket(stack: Stack) -> str:
    """
    Take the name of another resource.
    """
    return s3.Bucket(stack, "Named").bucket_name


@pytest.mark.parametrize("name", [parameter, bucket])
@pytest.mark.parametrize("of", ["endpoint_name", "name"])
def test_a_placeholder_counts_by_what_it_refers_to(
    name: Callable[[Stack], str], of: str
) -> None:
    """
    Its text changes with every construct before it.
    """

    def defined(more: int) -> str:
        stack = fresh()
        for index in range(more):
            s3.Bucket(stack, f"Unrelated{index}").bucket_arn  # noqa: B018 - makes a token
        value = name(stack)
        if of == "name":
            return component(stack, name=value)[0]
        return component(stack, endpoint_name=value)[0]

    assert defined(0) == defined(3)
    assert defined(0) != component(fresh())[0]


def test_another_placeholder_is_another_id() -> None:
    """
    The deployment gives another name then.
    """
    one, other = fresh(), fresh()

    assert (
        component(one, name=CfnParameter(one, "A").value_as_string)[0]
        != component(other, name=CfnParameter(other, "B").value_as_string)[0]
    )


def test_an_imported_endpoint_counts_by_its_construct() -> None:
    """
    By its id, whatever its name is known by.
    """

    def defined(id: str, more: int) -> str:
        stack = fresh()
        for index in range(more):
            s3.Bucket(stack, f"Unrelated{index}").bucket_arn  # noqa: B018 - makes a token
        name = CfnParameter(stack, "Name").value_as_string
        endpoint = Endpoint.from_endpoint_name(stack, id, name)
        model = Model(stack, "Model", model=LLAMA, serving=TGI)
        InferenceComponent(stack, "It", endpoint=endpoint, model=model, resources=ONE)
        (logical_id,) = Template.from_stack(stack).find_resources(COMPONENT)
        return logical_id

    assert defined("Shared", 0) == defined("Shared", 2)
    assert defined("Shared", 0) != defined("Other", 0)


def test_a_derived_name_changes_where_the_component_is_replaced() -> None:
    """
    Two of one name cannot be there at once.
    """
    names = [
        component(fresh(), prefix="llama")[1],
        component(fresh(), prefix="llama", hosts="Other")[1],
        component(fresh(), prefix="llama", variant="Green")[1],
        component(fresh(), prefix="llama", endpoint_name="chat")[1],
        component(Stack(App(), "Elsewhere"), prefix="llama")[1],
    ]

    assert len(set(names)) == len(names)
    assert all(re.fullmatch("llama-[0-9a-f]{8}", name or "") for name in names)
    assert component(fresh(), prefix="llama")[1] == names[0]


def test_components_of_one_id_and_prefix_have_names_of_their_own() -> None:
    """
    In several scopes on one endpoint: the whole path counts.
    """
    stack = fresh()
    endpoint = Endpoint.from_endpoint_name(stack, "Endpoint", "shared")
    model = Model(stack, "Model", model=LLAMA, serving=TGI)
    for team in ("Red", "Blue"):
        InferenceComponent(
            Construct(stack, team),
            "It",
            endpoint=endpoint,
            model=model,
            resources=ONE,
            inference_component_name_prefix="llama",
        )
    found = Template.from_stack(stack).find_resources(COMPONENT).values()
    names = {each["Properties"]["InferenceComponentName"] for each in found}

    assert len(names) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"name": "a", "prefix": "b"},
            (
                "LLM113 inference_component_name and inference_component_name_prefix "
                "exclude each other"
            ),
        ),
        (
            {"prefix": "a" * 55},
            (
                "LLM106 inference_component_name_prefix must be at most 54 letters, "
                "digits and inner hyphens, got 'aaa"
            ),
        ),
        (
            {"prefix": "a-"},
            (
                "LLM106 inference_component_name_prefix must be at most 54 letters, "
                "digits and inner hyphens, got 'a-'"
            ),
        ),
    ],
    ids=["both", "long", "hyphen"],
)
def test_fails_if_a_prefix_makes_no_name(given: dict[str, str], message: str) -> None:
    """
    With what follows it.
    """
    with pytest.raises(ValueError, match=re.escape(message)):
        component(fresh(), **given)


def test_a_prefix_of_the_longest_length_makes_a_name() -> None:
    """
    Of 63 characters.
    """
    _, name = component(fresh(), prefix="a" * 54)

    assert name is not None
    assert len(name) == 63


def test_fails_if_a_prefix_is_known_at_deployment_only() -> None:
    """
    What follows it could not be told from it.
    """
    stack = fresh()
    with pytest.raises(ValueError, match="LLM106 .* must be known at synth, got a pla"):
        component(stack, prefix=parameter(stack))


def test_a_name_that_the_cdk_makes_counts_as_one() -> None:
    """
    It follows the construct's path.
    """
    made = component(fresh(), endpoint_name=PhysicalName.GENERATE_IF_NEEDED)[0]

    assert made == component(fresh(), endpoint_name=PhysicalName.GENERATE_IF_NEEDED)[0]
    assert made != component(fresh())[0]


def test_an_imported_model_runs_in_a_component() -> None:
    """
    Nothing of it is checked, and it cannot be granted anything.
    """
    stack = fresh()
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")
    model = Model.from_model_name(stack, "Model", "theirs")
    made = InferenceComponent(
        stack, "It", endpoint=host.endpoint, model=model, resources=ONE
    )
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "weights")
    with pytest.raises(RuntimeError, match="resource imported without a role"):
        bucket.grant_read(made)
    (resource,) = Template.from_stack(stack).find_resources(COMPONENT).values()

    assert resource["Properties"]["Specification"]["ModelName"] == "theirs"
    assert made.connections.security_groups == []
    assert model.role is None
