"""
Referring to what exists, by name and by ARN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import CfnParameter, Resource, Stack
from aws_cdk import aws_iam as iam

from cdk_sagemaker_llm import (
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    Model,
    ProductionVariant,
    ResourceRequirements,
    Tgi,
)
from tests.unit.hosting.expected import KEY_ARN
from tests.unit.hosting.written import properties_of, written

ELSEWHERE = "arn:aws-us-gov:sagemaker:us-gov-west-1:222222222222"
HERE = "arn:${AWS::Partition}:sagemaker:us-east-1:111111111111"
Import = Callable[[Stack, str], Any]


def component_by_name(stack: Stack, name: str) -> Any:  # noqa: ANN401 - any import
    """
    Import a component by its name.
    """
    endpoint = Endpoint.from_endpoint_name(stack, "Host", "host")
    return InferenceComponent.from_inference_component_name(
        stack, "It", name, endpoint=endpoint
    )


def component_by_arn(stack: Stack, arn: str) -> Any:  # noqa: ANN401 - any import
    """
    Import a component by its ARN.
    """
    endpoint = Endpoint.from_endpoint_name(stack, "Host", "host")
    return InferenceComponent.from_inference_component_arn(
        stack, "It", arn, endpoint=endpoint
    )


BY_NAME: dict[str, Import] = {
    "model": lambda stack, name: Model.from_model_name(stack, "It", name),
    "endpoint-config": lambda stack, name: EndpointConfig.from_endpoint_config_name(
        stack, "It", name
    ),
    "endpoint": lambda stack, name: Endpoint.from_endpoint_name(stack, "It", name),
    "inference-component": component_by_name,
}
BY_ARN: dict[str, Import] = {
    "model": lambda stack, arn: Model.from_model_arn(stack, "It", arn),
    "endpoint-config": lambda stack, arn: EndpointConfig.from_endpoint_config_arn(
        stack, "It", arn
    ),
    "endpoint": lambda stack, arn: Endpoint.from_endpoint_arn(stack, "It", arn),
    "inference-component": component_by_arn,
}


def name_and_arn(kind: str, imported: object) -> tuple[Any, Any]:
    """
    Return what was imported by its two names.
    """
    attribute = kind.replace("-", "_")
    return getattr(imported, f"{attribute}_name"), getattr(imported, f"{attribute}_arn")


@pytest.mark.parametrize("kind", BY_NAME)
def test_a_name_is_of_the_stacks_environment(stack: Stack, kind: str) -> None:
    """
    The ARN is put together from it; an endpoint's has the name in lower case.
    """
    imported: Resource = BY_NAME[kind](stack, "My-Own")
    name, arn = name_and_arn(kind, imported)
    shown = "my-own" if kind == "endpoint" else "My-Own"

    assert name == "My-Own"
    assert stack.resolve(arn) == {
        "Fn::Join": [
            "",
            [
                "arn:",
                {"Ref": "AWS::Partition"},
                f":sagemaker:us-east-1:111111111111:{kind}/{shown}",
            ],
        ]
    }
    assert imported.env.account == "111111111111"


@pytest.mark.parametrize("kind", BY_ARN)
def test_an_arn_may_be_of_any_environment(stack: Stack, kind: str) -> None:
    """
    Of another partition, region and account.
    """
    imported: Resource = BY_ARN[kind](stack, f"{ELSEWHERE}:{kind}/own")

    assert name_and_arn(kind, imported) == ("own", f"{ELSEWHERE}:{kind}/own")
    assert (imported.env.account, imported.env.region) == (
        "222222222222",
        "us-gov-west-1",
    )


@pytest.mark.parametrize("kind", BY_NAME)
def test_a_name_that_deployment_decides_stays_as_it_is(stack: Stack, kind: str) -> None:
    """
    A placeholder in lower case is none any more.
    """
    parameter = CfnParameter(stack, "Name").value_as_string
    name, arn = name_and_arn(kind, BY_NAME[kind](stack, parameter))

    assert stack.resolve(name) == {"Ref": "Name"}
    assert stack.resolve(arn)["Fn::Join"][1][-1] == {"Ref": "Name"}


@pytest.mark.parametrize("kind", BY_ARN)
def test_an_arn_that_deployment_decides_is_taken_apart_there(
    stack: Stack, kind: str
) -> None:
    """
    Its name is what follows the slash.
    """
    parameter = CfnParameter(stack, "Arn").value_as_string
    name, arn = name_and_arn(kind, BY_ARN[kind](stack, parameter))

    assert stack.resolve(arn) == {"Ref": "Arn"}
    assert "Fn::Split" in str(stack.resolve(name))


@pytest.mark.parametrize("name", ["", "a_b", "a" * 64, "-a", "a-"])
@pytest.mark.parametrize("kind", BY_NAME)
def test_fails_if_the_service_would_refuse_the_name(
    stack: Stack, kind: str, name: str
) -> None:
    """
    Before the deployment, which would end with it.
    """
    parameter = f"{kind.replace('-', '_')}_name"

    with pytest.raises(ValueError, match=f"Test/It: LLM106 {parameter} must be"):
        BY_NAME[kind](stack, name)


@pytest.mark.parametrize(
    "arn",
    [
        "own",
        f"{ELSEWHERE}:training-job/own",
        f"{ELSEWHERE}:{{kind}}/",
        f"{ELSEWHERE}:{{kind}}/a/b",
        "arn:aws:sagemaker::111111111111:{kind}/own",
        KEY_ARN,
    ],
    ids=["name", "other kind", "no name", "two names", "no region", "other service"],
)
@pytest.mark.parametrize("kind", BY_ARN)
def test_fails_if_the_arn_is_of_something_else(
    stack: Stack, kind: str, arn: str
) -> None:
    """
    It names the parameter, an example and what it got.
    """
    parameter = f"{kind.replace('-', '_')}_arn"

    with pytest.raises(ValueError, match=f"Test/It: LLM195 {parameter} must be"):
        BY_ARN[kind](stack, arn.format(kind=kind))


def test_an_imported_model_fills_a_variant(stack: Stack) -> None:
    """
    Nothing is known of it, so nothing is checked.
    """
    model = Model.from_model_name(stack, "Model", "mine")
    EndpointConfig(
        stack,
        "Config",
        variants=[ProductionVariant(instance_type="ml.g5.xlarge", model=model)],
    )
    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]

    assert model.definition is None
    assert variant["ModelName"] == "mine"
    assert "InferenceAmiVersion" not in variant


def test_an_imported_model_leaves_no_room_for_components(
    stack: Stack, own_role: iam.IRole
) -> None:
    """
    As one that is defined here.
    """
    model = Model.from_model_name(stack, "Model", "mine")
    variant = ProductionVariant(instance_type="ml.g5.xlarge", model=model)

    with pytest.raises(ValueError, match="LLM124 variant 'AllTraffic' has a model"):
        EndpointConfig(stack, "It", variants=[variant], execution_role=own_role)


def test_an_imported_configuration_makes_an_endpoint(stack: Stack) -> None:
    """
    Of its variants nothing is known.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Config", "mine")
    endpoint = Endpoint(stack, "It", endpoint_config=config)

    assert properties_of(stack, "SageMaker::Endpoint") == {"EndpointConfigName": "mine"}
    assert (config.variants, config.hosts_components) == ((), False)
    with pytest.raises(ValueError, match="must have one known execution role"):
        _ = endpoint.grant_principal


def test_a_component_may_be_on_an_endpoint_of_an_imported_configuration(
    stack: Stack,
) -> None:
    """
    Whether its role fits, only the service knows.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Config", "mine")
    InferenceComponent(
        stack,
        "It",
        endpoint=Endpoint(stack, "Endpoint", endpoint_config=config),
        model=Model(
            stack, "Model", model=HuggingFaceModel("gpt2"), serving=Tgi("3.3.6")
        ),
        resources=ResourceRequirements(accelerators=1),
    )

    assert len(written(stack, "SageMaker::InferenceComponent")) == 1


def test_an_imported_component_is_invoked_and_scaled(stack: Stack) -> None:
    """
    By its own ARN and its endpoint's.
    """
    component = component_by_name(stack, "mine")
    caller = iam.Role(
        stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )
    component.grant_invoke(caller)
    component.auto_scale_copy_count(max_capacity=4)
    (policy,) = written(stack, "IAM::Policy").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    target = properties_of(stack, "ApplicationAutoScaling::ScalableTarget")

    assert statement["Resource"] == [
        f"{HERE}:endpoint/host",
        f"{HERE}:inference-component/mine",
    ]
    assert target["ResourceId"] == "inference-component/mine"
