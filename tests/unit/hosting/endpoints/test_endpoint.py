"""
Endpoints, defined and imported.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Environment, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Match, Template

from cdk_sagemaker_llm import (
    AllAtOnce,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Model,
    Network,
    ProductionVariant,
    ResourceRequirements,
)
from tests.unit.hosting.conftest import MISTRAL, TRT
from tests.unit.hosting.written import (
    codes_of,
    keywords_of,
    left_at_default,
    properties_of,
    required_keywords_of,
    written,
)


@pytest.fixture(name="caller")
def _caller(stack: Stack) -> iam.Role:
    principal = iam.ServicePrincipal("lambda.amazonaws.com")
    return iam.Role(stack, "Caller", assumed_by=principal)


def test_every_keyword_reaches_the_template(stack: Stack) -> None:
    """
    A name of one's own, on one variant of several that scales.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=TRT)
    variants = [
        ProductionVariant(
            instance_type="ml.g5.12xlarge", model=model, variant_name=name
        )
        for name in ("Blue", "Green")
    ]
    config = EndpointConfig(stack, "Config", variants=variants)
    every_keyword: dict[str, Any] = {
        "endpoint_config": config,
        "endpoint_name": "chat",
        "rollout": AllAtOnce(),
    }
    bounds: dict[str, Any] = {
        "variant_name": "Green",
        "min_capacity": 2,
        "max_capacity": 4,
    }
    endpoint = Endpoint(stack, "Endpoint", **every_keyword)
    endpoint.auto_scale_instance_count(**bounds)

    assert keywords_of(Endpoint.__init__) == set(every_keyword)
    assert left_at_default(Endpoint.__init__, every_keyword) == set()
    assert keywords_of(Endpoint.auto_scale_instance_count) == set(bounds)
    assert left_at_default(Endpoint.auto_scale_instance_count, bounds) == set()
    assert endpoint.chosen_name == "chat"
    assert endpoint.endpoint_config is config
    assert written(
        stack, "SageMaker::Endpoint", "ApplicationAutoScaling::ScalableTarget"
    ) == {
        "Endpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {
                "DeploymentConfig": {
                    "BlueGreenUpdatePolicy": {
                        "TerminationWaitInSeconds": 300,
                        "TrafficRoutingConfiguration": {
                            "Type": "ALL_AT_ONCE",
                            "WaitIntervalInSeconds": 0,
                        },
                    }
                },
                "EndpointConfigName": "${Config.EndpointConfigName}",
                "EndpointName": "chat",
                "ExcludeRetainedVariantProperties": [
                    {"VariantPropertyType": "DesiredWeight"},
                    {"VariantPropertyType": "DataCaptureConfig"},
                ],
                "RetainAllVariantProperties": True,
            },
        },
        "EndpointGreenScaling": {
            "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
            "Properties": {
                "MaxCapacity": 4,
                "MinCapacity": 2,
                "ResourceId": "endpoint/${Endpoint.EndpointName}/variant/Green",
                "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
                "ServiceNamespace": "sagemaker",
            },
        },
    }


def test_the_smallest_call_reaches_the_template(
    stack: Stack, endpoint: LlmEndpoint
) -> None:
    """
    CloudFormation names it, and the only variant scales from one.
    """
    small = Endpoint(stack, "Small", endpoint_config=endpoint.endpoint_config)
    small.auto_scale_instance_count(max_capacity=4)
    found = written(
        stack, "SageMaker::Endpoint", "ApplicationAutoScaling::ScalableTarget"
    )

    assert required_keywords_of(Endpoint.__init__) == {"endpoint_config"}
    assert required_keywords_of(Endpoint.auto_scale_instance_count) == {"max_capacity"}
    assert small.chosen_name is None
    assert found["Small"]["Properties"] == {
        "EndpointConfigName": "${LlmConfig.EndpointConfigName}",
        "ExcludeRetainedVariantProperties": [
            {"VariantPropertyType": "DesiredWeight"},
            {"VariantPropertyType": "DataCaptureConfig"},
        ],
        "RetainAllVariantProperties": True,
    }
    assert found["SmallScaling"]["Properties"] == {
        "MaxCapacity": 4,
        "MinCapacity": 1,
        "ResourceId": "endpoint/${Small.EndpointName}/variant/AllTraffic",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "ServiceNamespace": "sagemaker",
    }


@pytest.mark.parametrize(
    ("count", "given", "expected"), [(1, None, 1), (2, None, 2), (2, 1, 1)]
)
def test_the_minimum_follows_the_count(
    stack: Stack, count: int, given: int | None, expected: int
) -> None:
    """
    A smaller one would shrink the fleet as soon as it is deployed.
    """
    llm = LlmEndpoint(
        stack,
        "Two",
        model=HuggingFaceModel("gpt2"),
        instance_type="ml.g5.xlarge",
        instance_count=count,
    )
    llm.auto_scale_instance_count(max_capacity=4, min_capacity=given)
    target = properties_of(stack, "ApplicationAutoScaling::ScalableTarget")

    assert target["MinCapacity"] == expected


def test_fails_if_the_count_is_above_the_maximum(stack: Stack) -> None:
    """
    In the words of the minimum that follows it.
    """
    llm = LlmEndpoint(
        stack,
        "Two",
        model=HuggingFaceModel("gpt2"),
        instance_type="ml.g5.xlarge",
        instance_count=2,
    )
    with pytest.raises(
        ValueError, match="LLM105 max_capacity must be at least min_capacity, got max"
    ):
        llm.auto_scale_instance_count(max_capacity=1)


def test_warns_if_the_type_of_what_is_scaled_is_left_to_the_deployment(
    stack: Stack,
) -> None:
    """
    SageMaker refuses to change it.
    """
    llm = LlmEndpoint(
        stack,
        "Any",
        model=HuggingFaceModel("gpt2"),
        instance_type=CfnParameter(stack, "Type").value_as_string,
    )
    assert [code for _, code in codes_of(stack)] == ["LLM806"]
    llm.auto_scale_instance_count(max_capacity=2)

    assert ("/Test/Any/Endpoint/Scaling", "LLM244") in codes_of(stack)


def test_the_only_variant_can_be_named(endpoint: LlmEndpoint) -> None:
    """
    Naming it changes the construct's id alone.
    """
    named = endpoint.endpoint.auto_scale_instance_count(
        max_capacity=2, variant_name="AllTraffic"
    )

    assert named.node.id == "AllTrafficScaling"


def test_grants_name_the_whole_arn(stack: Stack, caller: iam.Role) -> None:
    """
    The service writes an endpoint's name in lower case into its ARN.
    """
    named = Endpoint.from_endpoint_name(stack, "Named", "Mine")
    arn = "arn:aws:sagemaker:eu-west-1:222222222222:endpoint/theirs"
    foreign = Endpoint.from_endpoint_arn(stack, "Foreign", arn)
    for endpoint in (named, foreign):
        endpoint.grant_invoke(caller).assert_success()

    assert stack.resolve(foreign.endpoint_arn) == arn
    assert properties_of(stack, "IAM::Policy")["PolicyDocument"] == {
        "Statement": [
            {
                "Action": [
                    "sagemaker:InvokeEndpoint",
                    "sagemaker:InvokeEndpointWithResponseStream",
                ],
                "Effect": "Allow",
                "Resource": (
                    "arn:${AWS::Partition}:sagemaker:us-east-1:111111111111"
                    ":endpoint/mine"
                ),
            },
            {
                "Action": [
                    "sagemaker:InvokeEndpoint",
                    "sagemaker:InvokeEndpointWithResponseStream",
                ],
                "Effect": "Allow",
                "Resource": arn,
            },
        ],
        "Version": "2012-10-17",
    }


def test_invoking_is_granted_on_this_endpoint_alone(
    stack: Stack, endpoint: LlmEndpoint, caller: iam.Role
) -> None:
    """
    Plain and with a response stream.
    """
    endpoint.grant_invoke(caller)
    template = Template.from_stack(stack)
    (logical_id,) = template.find_resources("AWS::SageMaker::Endpoint")

    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": [
                    {
                        "Action": [
                            "sagemaker:InvokeEndpoint",
                            "sagemaker:InvokeEndpointWithResponseStream",
                        ],
                        "Effect": "Allow",
                        "Resource": {"Ref": logical_id},
                    }
                ],
                "Version": Match.any_value(),
            }
        },
    )


def test_an_endpoint_elsewhere_can_be_invoked(stack: Stack, caller: iam.Role) -> None:
    """
    By its name in this stack's region, or by its ARN.
    """
    arn = "arn:aws:sagemaker:eu-west-1:222222222222:endpoint/theirs"
    named = Endpoint.from_endpoint_name(stack, "Named", "Mine")
    foreign = Endpoint.from_endpoint_arn(stack, "Foreign", arn)

    named.grant_invoke(caller)
    foreign.grant_invoke(caller)
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    statement = policy["Properties"]["PolicyDocument"]["Statement"][0]

    assert (named.endpoint_name, foreign.endpoint_name) == ("Mine", "theirs")
    assert foreign.endpoint_arn == arn
    assert arn in str(policy)
    assert ":sagemaker:us-east-1:111111111111:endpoint/mine" in str(statement)


def test_an_imported_endpoint_scales(stack: Stack) -> None:
    """
    By the variant that was named, or that each call names; nothing else is known.
    """
    chat = Endpoint.from_endpoint_name(stack, "Chat", "chat", variant_name="Blue")
    chat.auto_scale_instance_count(max_capacity=2).scale_on_concurrency(
        "Load", per_instance=4
    )
    chat.auto_scale_instance_count(
        min_capacity=0, max_capacity=3, variant_name="Green"
    ).scale_on_backlog("Queue", per_instance=5)
    template = Template.from_stack(stack)
    targets = template.find_resources("AWS::ApplicationAutoScaling::ScalableTarget")
    properties = [each["Properties"] for each in targets.values()]

    assert [
        (each["ResourceId"], each["MinCapacity"], each["MaxCapacity"])
        for each in properties
    ] == [
        ("endpoint/chat/variant/Blue", 1, 2),
        ("endpoint/chat/variant/Green", 0, 3),
    ]


FAR = "arn:aws:sagemaker:eu-west-1:222222222222:endpoint/chat"


def test_fails_if_an_imported_endpoint_cannot_be_scaled(stack: Stack) -> None:
    """
    Its variant is not known, it is scaled already, or it is elsewhere.
    """
    chat = Endpoint.from_endpoint_name(stack, "Chat", "chat")
    far = Endpoint.from_endpoint_arn(stack, "Far", FAR, variant_name="Blue")
    host = InferenceComponent.from_inference_component_arn(
        stack, "Copy", FAR.replace("endpoint/", "inference-component/"), endpoint=far
    )
    with pytest.raises(ValueError, match="LLM123 variant_name must be given"):
        chat.auto_scale_instance_count(max_capacity=2)
    chat.auto_scale_instance_count(max_capacity=2, variant_name="Blue")
    with pytest.raises(ValueError, match="LLM301 the instances of 'Blue' are scaled"):
        chat.auto_scale_instance_count(max_capacity=2, variant_name="Blue")
    for scale in (far.auto_scale_instance_count, host.auto_scale_copy_count):
        with pytest.raises(ValueError, match="LLM797") as caught:
            scale(max_capacity=2)
        assert "in the region of what it scales, eu-west-1, got us-east-1" in str(
            caught.value
        )


def test_fails_if_the_arn_names_no_endpoint(stack: Stack) -> None:
    """
    An ARN of something else is caught.
    """
    with pytest.raises(ValueError, match="endpoint_arn must be such as"):
        Endpoint.from_endpoint_arn(
            stack, "X", "arn:aws:sagemaker:eu-west-1:222222222222:endpoint"
        )


def test_a_name_is_set_when_it_was_chosen(stack: Stack, endpoint: LlmEndpoint) -> None:
    """
    CloudFormation names the other one.
    """
    Endpoint(
        stack,
        "Named",
        endpoint_config=endpoint.endpoint_config,
        endpoint_name="chat",
    )
    template = Template.from_stack(stack)

    template.has_resource_properties(
        "AWS::SageMaker::Endpoint", {"EndpointName": "chat"}
    )
    template.has_resource_properties(
        "AWS::SageMaker::Endpoint", {"EndpointName": Match.absent()}
    )


@pytest.mark.parametrize("name", ["my_llm", "-llm", "llm-", "a" * 64, "a b", ""])
def test_fails_if_the_name_is_invalid(endpoint: LlmEndpoint, name: str) -> None:
    """
    At most 63 letters, digits and inner hyphens.
    """
    with pytest.raises(ValueError, match="LLM106 endpoint_name must be at most 63"):
        Endpoint(
            endpoint,
            "Other",
            endpoint_config=endpoint.endpoint_config,
            endpoint_name=name,
        )


def test_an_update_keeps_the_count_once_it_scales(
    stack: Stack, endpoint: LlmEndpoint
) -> None:
    """
    Without this every update resets the instances to the initial number.
    """
    kind = "AWS::SageMaker::Endpoint"
    endpoint.auto_scale_instance_count(max_capacity=2)

    Template.from_stack(stack).has_resource_properties(
        kind, {"RetainAllVariantProperties": True}
    )


def test_an_update_sets_the_count_where_nothing_scales(
    stack: Stack,
    endpoint: LlmEndpoint,  # noqa: ARG001 - its definition is what is synthesised
) -> None:
    """
    A changed instance_count takes effect.
    """
    Template.from_stack(stack).has_resource_properties(
        "AWS::SageMaker::Endpoint", {"RetainAllVariantProperties": Match.absent()}
    )


def test_a_variant_is_chosen_by_name(stack: Stack, endpoint: LlmEndpoint) -> None:
    """
    With several variants, each scales on its own.
    """
    variants = [
        ProductionVariant(
            instance_type="ml.g5.12xlarge", model=endpoint.model, variant_name=name
        )
        for name in ("Blue", "Green")
    ]
    config = EndpointConfig(stack, "Config", variants=variants)
    two = Endpoint(stack, "Two", endpoint_config=config)

    two.auto_scale_instance_count(variant_name="Blue", max_capacity=2)
    two.auto_scale_instance_count(variant_name="Green", max_capacity=3)

    targets = Template.from_stack(stack).find_resources(
        "AWS::ApplicationAutoScaling::ScalableTarget"
    )
    assert sorted(t["Properties"]["MaxCapacity"] for t in targets.values()) == [2, 3]
    with pytest.raises(ValueError, match="must be one of Blue, Green, got None"):
        two.auto_scale_instance_count(max_capacity=2)


def test_fails_if_an_endpoint_of_components_is_to_scale(
    host: InferenceComponentEndpoint,
) -> None:
    """
    Their copies scale, and the instances follow.
    """
    with pytest.raises(TypeError, match="call auto_scale_copy_count on the component"):
        host.endpoint.auto_scale_instance_count(max_capacity=2)


def test_resources_can_be_changed_directly(stack: Stack, endpoint: LlmEndpoint) -> None:
    """
    What the constructs do not offer is reached through the resource.
    """
    endpoint.endpoint_config.cfn_endpoint_config.add_property_override(
        "ProductionVariants.0.EnableSSMAccess", value=True
    )

    Template.from_stack(stack).has_resource_properties(
        "AWS::SageMaker::EndpointConfig",
        {"ProductionVariants": [Match.object_like({"EnableSSMAccess": True})]},
    )


def test_an_imported_configurations_variant_scales_by_its_name(stack: Stack) -> None:
    """
    Nothing is known of it but what is said.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Config", "theirs")
    endpoint = Endpoint(stack, "Endpoint", endpoint_config=config)
    endpoint.auto_scale_instance_count(max_capacity=3, variant_name="Green")

    assert properties_of(stack, "ApplicationAutoScaling::ScalableTarget") == {
        "MaxCapacity": 3,
        "MinCapacity": 1,
        "ResourceId": "endpoint/${Endpoint.EndpointName}/variant/Green",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "ServiceNamespace": "sagemaker",
    }
    with pytest.raises(
        ValueError,
        match="LLM123 variant_name must be given: the configuration is imported, got",
    ):
        endpoint.auto_scale_instance_count(max_capacity=3)


def test_a_minimum_of_zero_is_no_minimum_left_out(stack: Stack) -> None:
    """
    Of an imported configuration it may be right: whether it answers asynchronously is
    not known.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Config", "own")
    endpoint = Endpoint(stack, "Chat", endpoint_config=config)

    endpoint.auto_scale_instance_count(
        min_capacity=0, max_capacity=2, variant_name="Blue"
    )

    Template.from_stack(stack).has_resource_properties(
        "AWS::ApplicationAutoScaling::ScalableTarget",
        {"MinCapacity": 0, "MaxCapacity": 2},
    )


@pytest.mark.parametrize("grantee", ["arn", None, 5])
def test_fails_if_it_is_granted_to_nobody(
    endpoint: LlmEndpoint, host: InferenceComponentEndpoint, grantee: object
) -> None:
    """
    In the caller's words, by whatever is invoked.
    """
    one = host.add_model(
        "It", model=MISTRAL, resources=ResourceRequirements(accelerators=1)
    )
    for granted in (endpoint, endpoint.endpoint, host, one):
        with pytest.raises(ValueError, match="LLM182 grantee must be whom to grant it"):
            granted.grant_invoke(grantee)  # type: ignore[arg-type] # the mistake


def two_variants(stack: Stack, *roles: iam.IRole) -> Endpoint:
    """
    Define an endpoint whose variants have models of these roles.
    """
    variants = [
        ProductionVariant(
            instance_type="ml.g5.12xlarge",
            variant_name=f"V{number}",
            model=Model(stack, f"Model{number}", model=MISTRAL, serving=TRT, role=role),
        )
        for number, role in enumerate(roles)
    ]
    config = EndpointConfig(stack, "Config", variants=variants)
    return Endpoint(stack, "Endpoint", endpoint_config=config)


def test_an_endpoint_of_one_role_can_be_granted_something(
    stack: Stack, caller: iam.Role
) -> None:
    """
    Two variants may share it.
    """
    endpoint = two_variants(stack, caller, caller)
    grant = endpoint.grant_invoke(endpoint)

    assert grant.success
    (statement,) = written(stack, "IAM::Policy")["CallerDefaultPolicy"]["Properties"][
        "PolicyDocument"
    ]["Statement"]
    assert statement["Resource"] == "${Endpoint}"


def test_fails_if_an_endpoint_of_two_roles_is_granted_something(
    stack: Stack, own_role: iam.IRole, caller: iam.Role
) -> None:
    """
    One of them would go without.
    """
    endpoint = two_variants(stack, own_role, caller)
    message = "Test/Endpoint must have one known execution role to be granted anything"
    with pytest.raises(ValueError, match=f"{message}, got 2; grant to the models"):
        _ = endpoint.grant_principal


def test_an_endpoint_has_the_security_groups_of_all_that_it_runs(
    stack: Stack, vpc: ec2.IVpc, own_role: iam.IRole
) -> None:
    """
    Of its variants' models, or of its components' network.
    """
    group, other = (
        ec2.SecurityGroup.from_security_group_id(stack, name, f"sg-{name}")
        for name in ("One", "Other")
    )
    networks = [Network(vpc=vpc, security_groups=[each]) for each in (group, other)]
    variants = [
        ProductionVariant(
            instance_type="ml.g5.12xlarge",
            variant_name=f"V{number}",
            model=Model(
                stack, f"Model{number}", model=MISTRAL, serving=TRT, network=network
            ),
        )
        for number, network in enumerate(networks)
    ]
    filled = EndpointConfig(stack, "Filled", variants=variants)
    shared = EndpointConfig(
        stack,
        "Shared",
        variants=[ProductionVariant(instance_type="ml.g5.12xlarge")],
        execution_role=own_role,
        network=networks[1],
    )
    one = Endpoint(stack, "Endpoint", endpoint_config=filled)
    two = Endpoint(stack, "Host", endpoint_config=shared)

    def groups(endpoint: Endpoint) -> list[str]:
        return [each.security_group_id for each in endpoint.connections.security_groups]

    assert groups(one) == ["sg-One", "sg-Other"]
    assert groups(two) == ["sg-Other"]


def test_another_environment_refers_to_an_endpoint_by_its_name(app: App) -> None:
    """
    The ARN has it in lower case, as the service writes it.
    """
    here, there = (
        Stack(app, region, env=Environment(account="111111111111", region=region))
        for region in ("us-east-1", "eu-west-1")
    )
    model = Model(here, "Model", model=MISTRAL, serving=TRT)
    hosts = ProductionVariant(instance_type="ml.g5.12xlarge", model=model)
    config = EndpointConfig(here, "Config", variants=[hosts])
    endpoint = Endpoint(here, "It", endpoint_config=config, endpoint_name="My-Chat")
    arn = there.resolve(endpoint.endpoint_arn)

    assert there.resolve(endpoint.endpoint_name) == "My-Chat"
    assert arn["Fn::Join"][1][-1] == (
        ":sagemaker:us-east-1:111111111111:endpoint/my-chat"
    )
