"""
Shadow variants: one beside one, with a model that is checked like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from cdk_sagemaker_llm import (
    AsyncInference,
    EndpointConfig,
    HuggingFaceModel,
    LlmEndpoint,
    LmiVllm,
    Model,
    Network,
    ProductionVariant,
    ShadowVariant,
    Tgi,
)
from cdk_sagemaker_llm.hosting.endpoints.shadow import shadow_findings
from tests.unit.hosting.expected import ENCRYPT_VOLUMES
from tests.unit.hosting.written import (
    codes_of,
    fields_at_default,
    properties_of,
    written,
)

ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
CONFIG = "SageMaker::EndpointConfig"


def endpoint_of(
    stack: Stack,
    shadow: ShadowVariant,
    **more: Any,  # noqa: ANN401 - any keyword
) -> LlmEndpoint:
    """
    Define an endpoint with a shadow.
    """
    return LlmEndpoint(
        stack,
        "Llm",
        model=ZEPHYR,
        serving=Tgi("3.3.6"),
        instance_type="ml.g5.12xlarge",
        shadow=shadow,
        **more,
    )


def model_of(stack: Stack, name: str, **given: Any) -> Model:  # noqa: ANN401 - any keyword
    """
    Define a model by itself.
    """
    return Model(stack, name, model=ZEPHYR, serving=Tgi("3.3.6"), **given)


def shadow_of(stack: Stack) -> dict[str, Any]:
    """
    Return the one shadow variant that is written.
    """
    (found,) = properties_of(stack, CONFIG)["ShadowProductionVariants"]
    assert isinstance(found, dict)
    return found


def test_every_field_reaches_the_template(stack: Stack) -> None:
    """
    A model, a backend, a type and a number of its own.
    """
    shadow = ShadowVariant(
        model=HuggingFaceModel("gpt2"),
        serving=Tgi("3.3.4"),
        instance_type="ml.g5.xlarge",
        instance_count=2,
        share=0.5,
        variant_name="Trial",
        environment={"MAX_BEST_OF": "4"},
    )
    llm = endpoint_of(stack, shadow)
    container = written(stack)["LlmShadowModel"]["Properties"]["PrimaryContainer"]

    assert fields_at_default(shadow) == set()
    assert llm.shadow_model is not None
    assert shadow_of(stack) == {
        "ContainerStartupHealthCheckTimeoutInSeconds": 1800,
        "InferenceAmiVersion": "al2-ami-sagemaker-inference-gpu-3-1",
        "InitialInstanceCount": 2,
        "InitialVariantWeight": 0.5,
        "InstanceType": "ml.g5.xlarge",
        "ModelName": "${LlmShadowModel.ModelName}",
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        "VariantName": "Trial",
    }
    assert container["Environment"]["HF_MODEL_ID"] == "gpt2"
    assert container["Environment"]["MAX_BEST_OF"] == "4"
    assert "tgi3.3.4" in container["Image"]


def test_a_shadow_loads_for_as_long_as_it_is_waited_for(stack: Stack) -> None:
    """
    The endpoint's time-out is of its own model: the shadow's follows its size.
    """
    llm = endpoint_of(
        stack,
        ShadowVariant(serving=LmiVllm()),
        container_startup_health_check_timeout=Duration.minutes(10),
    )
    shadow = None if llm.shadow_model is None else llm.shadow_model.definition

    assert shadow is not None
    assert shadow.container.files["serving.properties"].endswith(
        b"option.model_loading_timeout=1800\n"
    )
    assert shadow_of(stack)["ContainerStartupHealthCheckTimeoutInSeconds"] == 1800


def test_what_is_left_out_is_the_endpoints(stack: Stack) -> None:
    """
    All requests, to the same model and type under other settings.
    """
    llm = endpoint_of(stack, ShadowVariant(environment={"MAX_BEST_OF": "4"}))
    found = written(stack)
    ours, shadows = (
        found[name]["Properties"]["PrimaryContainer"]
        for name in ("LlmModel", "LlmShadowModel")
    )

    assert shadow_of(stack)["InitialVariantWeight"] == 1
    assert shadow_of(stack)["InstanceType"] == "ml.g5.12xlarge"
    assert shadow_of(stack)["InitialInstanceCount"] == 1
    assert shadow_of(stack)["VariantName"] == "Shadow"
    assert shadows["Image"] == ours["Image"]
    assert shadows["Environment"] == {**ours["Environment"], "MAX_BEST_OF": "4"}
    assert len(llm.endpoint_config.variants) == 1


def test_it_shares_the_role_and_the_network(stack: Stack, network: Network) -> None:
    """
    What is granted to the endpoint, and may reach it, counts for both.
    """
    llm = endpoint_of(stack, ShadowVariant(), network=network)
    found = written(stack)
    shadow = llm.shadow_model

    assert shadow is not None
    assert shadow.role is llm.model.role
    assert llm.endpoint.grant_principal is not None
    assert len(llm.endpoint.connections.security_groups) == 1
    for key in ("ExecutionRoleArn", "VpcConfig"):
        ours, theirs = (
            found[name]["Properties"][key] for name in ("LlmModel", "LlmShadowModel")
        )
        assert ours == theirs
    assert len(written(stack, "IAM::Role")) == 1
    assert len(written(stack, "EC2::SecurityGroup")) == 1


def test_without_a_shadow_none_is_made(stack: Stack, endpoint: LlmEndpoint) -> None:
    """
    Nor is anything written of one.
    """
    assert endpoint.shadow_model is None
    assert "ShadowProductionVariants" not in properties_of(stack, CONFIG)


@pytest.mark.parametrize("share", [0, 0.01, 1])
def test_a_share_within_the_bounds_is_taken(stack: Stack, share: float) -> None:
    """
    Of none, and of all requests.
    """
    endpoint_of(stack, ShadowVariant(share=share))

    assert shadow_of(stack)["InitialVariantWeight"] == share


@pytest.mark.parametrize("share", [-0.01, 1.01, 50])
def test_fails_if_the_share_is_none(stack: Stack, share: float) -> None:
    """
    Percents are no share.
    """
    with pytest.raises(ValueError, match="LLM111 shadow: share must be 0 to 1, got"):
        endpoint_of(stack, ShadowVariant(share=share))


def test_a_share_known_at_deployment_is_passed_on(stack: Stack) -> None:
    """
    As are the type and the number.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    kind = CfnParameter(stack, "Kind").value_as_string
    shadow = ShadowVariant(
        share=number,
        instance_type=kind,
        instance_count=number,  # type: ignore[arg-type] # a token
    )
    endpoint_of(stack, shadow)

    assert shadow_of(stack)["InitialVariantWeight"] == "${Number}"
    assert shadow_of(stack)["InitialInstanceCount"] == "${Number}"
    assert shadow_of(stack)["InstanceType"] == "${Kind}"


@pytest.mark.parametrize(
    ("shadow", "message"),
    [
        (
            ShadowVariant(model=HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1")),
            "LLM1.. shadow: ",
        ),
        (ShadowVariant(environment={"SM_NUM_GPUS": "3"}), "shadow: .*SM_NUM_GPUS"),
        (ShadowVariant(instance_type="ml.g5.nano"), "LLM101 .*ml.g5.nano"),
        (ShadowVariant(instance_type=""), "LLM101 .*''"),
        (ShadowVariant(instance_count=0), "LLM105 initial_instance_count must be"),
        (ShadowVariant(variant_name="AllTraffic"), "LLM123 .*used more than once"),
        (ShadowVariant(variant_name="_"), "LLM106 variant_name must be"),
    ],
    ids=["fit", "settings", "type", "no type", "count", "same name", "name"],
)
def test_fails_if_the_shadow_could_not_start(
    stack: Stack, shadow: ShadowVariant, message: str
) -> None:
    """
    By the same checks as of the endpoint's own model, told apart from those.
    """
    with pytest.raises(ValueError, match=message):
        endpoint_of(stack, shadow)


def test_a_shadow_of_a_variant_by_itself(
    stack: Stack, own_role: iam.IRole, key: kms.IKey
) -> None:
    """
    Its model's role may do what the endpoint needs of it, too.
    """
    blue = ProductionVariant(
        instance_type="ml.p3.8xlarge", model=model_of(stack, "Blue")
    )
    green = ProductionVariant(
        instance_type="ml.p3.8xlarge",
        model=model_of(stack, "Green", role=own_role),
        variant_name="Green",
        initial_variant_weight=0.1,
    )
    EndpointConfig(
        stack, "Config", variants=[blue], shadow_variants=[green], kms_key=key
    )

    policies = written(stack, "IAM::Policy").values()
    documents = [each["Properties"]["PolicyDocument"] for each in policies]

    assert shadow_of(stack)["InitialVariantWeight"] == 0.1
    assert shadow_of(stack)["ModelName"] == "${Green.ModelName}"
    assert [ENCRYPT_VOLUMES in each["Statement"] for each in documents] == [True, True]


def _blue(stack: Stack) -> ProductionVariant:
    return ProductionVariant(
        instance_type="ml.g5.12xlarge", model=model_of(stack, "Blue")
    )


def _named(stack: Stack, name: str) -> ProductionVariant:
    return ProductionVariant(
        instance_type="ml.g5.12xlarge",
        model=model_of(stack, name),
        variant_name=name,
    )


def _without_model(_: Stack) -> ProductionVariant:
    return ProductionVariant(instance_type="ml.g5.12xlarge", variant_name="Empty")


@pytest.mark.parametrize(
    ("variants", "shadows", "message"),
    [
        ([_blue], ["One", "Two"], "LLM345 .* one of variants, got 2 beside 1"),
        ([_blue, "Other"], ["One"], "LLM345 .* one of variants, got 1 beside 2"),
        ([_blue], [_without_model], "LLM346 a shadow variant needs a model"),
    ],
)
def test_fails_if_the_shadow_is_not_one_model_beside_one(
    stack: Stack, variants: list[Any], shadows: list[Any], message: str
) -> None:
    """
    The API takes one by one.
    """

    def made(one: str | Callable[[Stack], ProductionVariant]) -> ProductionVariant:
        return _named(stack, one) if isinstance(one, str) else one(stack)

    with pytest.raises(ValueError, match=message):
        EndpointConfig(
            stack,
            "Config",
            variants=list(map(made, variants)),
            shadow_variants=list(map(made, shadows)),
        )


def test_fails_if_components_are_to_have_a_shadow(
    stack: Stack, own_role: iam.IRole
) -> None:
    """
    Copies are of requests to a variant's model.
    """
    hosts = ProductionVariant(instance_type="ml.g5.12xlarge", engine=LmiVllm())
    with pytest.raises(ValueError, match="LLM346 .* is for inference components"):
        EndpointConfig(
            stack,
            "Config",
            variants=[hosts],
            execution_role=own_role,
            shadow_variants=[_named(stack, "Green")],
        )


def test_asynchronous_endpoints_are_told_not_to_be_documented(stack: Stack) -> None:
    """
    No page says that it works, and none that it does not.
    """
    endpoint_of(
        stack, ShadowVariant(), async_inference=AsyncInference(output="s3://answers")
    )

    assert ("/Test/Llm/Config", "LLM439") in codes_of(stack)


def test_fails_if_a_field_is_of_another_kind() -> None:
    """
    In the caller's words.
    """
    with pytest.raises(ValueError, match="share must be a finite number"):
        ShadowVariant(share="half")  # type: ignore[arg-type]


def test_each_shadow_needs_a_model() -> None:
    """
    That another has one does not help it.
    """
    found = shadow_findings(
        [True, False], variants=1, hosts_components=False, is_async=False
    )

    assert [(each.code, each.message) for each in found] == [
        (
            "LLM345",
            "shadow_variants must be one beside one of variants, got 2 beside 1",
        ),
        ("LLM346", "a shadow variant needs a model"),
    ]
