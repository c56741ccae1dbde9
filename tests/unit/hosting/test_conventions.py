"""
What other constructs may expect of these: grants, ports, environments, removal.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from aws_cdk import (
    App,
    Environment,
    NestedStack,
    PhysicalName,
    RemovalPolicy,
    Resource,
    Stack,
    Stage,
)
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Match, Template
from constructs import Construct

from cdk_sagemaker_llm import (
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
    Tgi,
)
from tests.conftest import ACCOUNT, REGION, STRICT
from tests.unit.hosting.written import written

GPT2 = HuggingFaceModel("gpt2")
TGI = Tgi("3.3.6")
ONE = ResourceRequirements(accelerators=1)


def filled(scope: Construct, network: Network | None = None) -> LlmEndpoint:
    """
    Define an endpoint that one model fills.
    """
    return LlmEndpoint(
        scope,
        "Llm",
        model=GPT2,
        serving=TGI,
        instance_type="ml.g5.xlarge",
        network=network,
    )


def shared(
    scope: Construct, network: Network | None = None
) -> InferenceComponentEndpoint:
    """
    Define an endpoint that hosts components.
    """
    return InferenceComponentEndpoint(
        scope, "Host", instance_type="ml.p4d.24xlarge", network=network
    )


def component(scope: Construct, network: Network | None = None) -> InferenceComponent:
    """
    Define a component on such an endpoint.
    """
    host = shared(scope, network)
    return host.add_model("Gpt", model=GPT2, serving=TGI, resources=ONE)


MADE: dict[str, Callable[[Construct, Network | None], iam.IGrantable]] = {
    "model": lambda scope, network: filled(scope, network).model,
    "pattern of one": filled,
    "endpoint of one": lambda scope, network: filled(scope, network).endpoint,
    "component": component,
    "pattern of many": shared,
    "endpoint of many": lambda scope, network: shared(scope, network).endpoint,
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_bucket_grants_to_it(
    stack: Stack, make: Callable[[Construct, Network | None], iam.IGrantable]
) -> None:
    """
    The execution role may read, by a policy that nothing of SageMaker waits for.
    """
    s3.Bucket(stack, "Bucket").grant_read(make(stack, None))
    policies = written(stack, "IAM::Policy")
    (name,) = (name for name in policies if name.endswith("DefaultPolicy"))
    (statement,) = policies[name]["Properties"]["PolicyDocument"]["Statement"]

    assert "s3:GetObject*" in statement["Action"]
    assert name in {"LlmModelRoleDefaultPolicy", "HostRoleDefaultPolicy"}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_ports_are_opened_from_it(
    stack: Stack,
    vpc: ec2.IVpc,
    make: Callable[[Construct, Network | None], ec2.IConnectable],
) -> None:
    """
    A database lets it in by its security group.
    """
    group = ec2.SecurityGroup(stack, "Database", vpc=vpc)
    database = ec2.Connections(security_groups=[group])
    database.allow_from(make(stack, Network(vpc=vpc)), ec2.Port.tcp(5432))

    Template.from_stack(stack).has_resource_properties(
        "AWS::EC2::SecurityGroupIngress",
        {
            "FromPort": 5432,
            "SourceSecurityGroupId": {
                "Fn::GetAtt": [Match.string_like_regexp("SecurityGroup"), "GroupId"]
            },
        },
    )


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_without_a_vpc_there_is_nothing_to_open(
    stack: Stack,
    vpc: ec2.IVpc,
    make: Callable[[Construct, Network | None], ec2.IConnectable],
) -> None:
    """
    The message says what to define.
    """
    group = ec2.SecurityGroup(stack, "Database", vpc=vpc)
    database = ec2.Connections(security_groups=[group])

    with pytest.raises(RuntimeError, match="connections need a vpc: define network="):
        database.allow_from(make(stack, None), ec2.Port.tcp(5432))


def test_being_connectable_does_not_load_ec2() -> None:
    """
    It would cost each app half a second.
    """
    code = (
        "import sys; from cdk_sagemaker_llm import LlmEndpoint, Model;"
        "print('aws_cdk.aws_ec2' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "False"


def test_models_of_several_roles_are_granted_to_one_by_one(stack: Stack) -> None:
    """
    Which of them should be given it, the endpoint cannot tell.
    """
    variants = [
        ProductionVariant(
            instance_type="ml.g5.xlarge",
            variant_name=name,
            model=Model(stack, name, model=GPT2, serving=TGI),
        )
        for name in ("Blue", "Green")
    ]
    config = EndpointConfig(stack, "Config", variants=variants)
    endpoint = Endpoint(stack, "It", endpoint_config=config)

    with pytest.raises(ValueError, match="Test/It must have one known execution role"):
        _ = endpoint.grant_principal


def test_building_blocks_know_their_environment(stack: Stack) -> None:
    """
    As every resource of the CDK does.
    """
    llm, part = filled(stack), component(stack)
    made: list[Resource] = [llm.model, llm.endpoint_config, llm.endpoint, part]

    assert [each.env.region for each in made] == [REGION] * 4
    assert [each.stack for each in made] == [stack] * 4


def test_building_blocks_take_a_removal_policy(stack: Stack) -> None:
    """
    Also a component, whose resource has an id of its own.
    """
    host = shared(stack)
    made: list[Resource] = [
        host.endpoint_config,
        host.endpoint,
        host.add_model(
            "Gpt",
            model=GPT2,
            serving=TGI,
            resources=ONE,
            inference_component_name="gpt",
        ),
    ]
    for each in made:
        each.apply_removal_policy(RemovalPolicy.RETAIN)
    kinds = ("EndpointConfig", "Endpoint", "InferenceComponent")
    found = [
        resource["DeletionPolicy"]
        for kind in kinds
        for resource in written(stack, f"SageMaker::{kind}").values()
    ]

    assert found == ["Retain"] * 3


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("Chat", "chat"),
        (PhysicalName.GENERATE_IF_NEEDED, "models"),
    ],
    ids=["given", "generated"],
)
def test_another_environment_refers_to_an_endpoint_by_its_name(
    app: App, name: str, beginning: str
) -> None:
    """
    No export crosses regions, but a name does.
    """
    here = Stack(app, "Models", env=Environment(account=ACCOUNT, region=REGION))
    there = Stack(app, "Web", env=Environment(account=ACCOUNT, region="eu-west-1"))
    llm = LlmEndpoint(
        here,
        "Llm",
        model=GPT2,
        serving=TGI,
        instance_type="ml.g5.xlarge",
        endpoint_name=name,
    )
    caller = iam.Role(
        there, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )
    llm.grant_invoke(caller)
    ((policy),) = written(there, "IAM::Policy").values()
    (endpoint,) = written(here, "SageMaker::Endpoint").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    physical = endpoint["Properties"]["EndpointName"]

    assert physical.lower().startswith(beginning)
    assert statement["Resource"] == (
        f"arn:${{AWS::Partition}}:sagemaker:us-east-1:{ACCOUNT}:endpoint/"
        f"{physical.lower()}"
    )


def test_a_named_endpoint_reads_as_before_in_its_own_stack(stack: Stack) -> None:
    """
    A reference keeps the order of creation.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        serving=TGI,
        instance_type="ml.g5.xlarge",
        endpoint_name="chat",
    )
    resource = stack.get_logical_id(llm.endpoint.cfn_endpoint)

    assert stack.resolve(llm.endpoint_name) == {
        "Fn::GetAtt": [resource, "EndpointName"]
    }
    assert stack.resolve(llm.endpoint_arn) == {"Ref": resource}


def test_a_host_lets_invoke_all_its_models(stack: Stack) -> None:
    """
    Those before, and those after.
    """
    host = shared(stack)
    user = iam.Role(
        stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )
    host.add_model("Before", model=GPT2, serving=TGI, resources=ONE)
    grant = host.grant_invoke(user)
    host.add_model("After", model=GPT2, serving=TGI, resources=ONE)
    policy = written(stack, "IAM::Policy")["CallerDefaultPolicy"]
    statements = policy["Properties"]["PolicyDocument"]["Statement"]

    assert grant.success
    assert [statement["Resource"] for statement in statements] == [
        "${HostEndpoint}",
        "${HostBeforeComponent}",
        "${HostAfterComponent}",
    ]
    assert host.endpoint_arn == host.endpoint.endpoint_arn


@pytest.mark.parametrize("make", [filled, component], ids=["one", "many"])
def test_it_can_be_defined_in_a_nested_stack(
    stack: Stack, make: Callable[[Construct], object]
) -> None:
    """
    All that it needs is there, its tarball and its role included.
    """
    nested = NestedStack(stack, "Nested")
    make(nested)
    template = Template.from_stack(nested)

    template.resource_count_is("AWS::SageMaker::Endpoint", 1)
    template.resource_count_is("AWS::IAM::Policy", 1)
    Template.from_stack(stack).resource_count_is("AWS::IAM::Policy", 0)


def test_a_nested_stack_uses_what_its_parent_has(stack: Stack, vpc: ec2.IVpc) -> None:
    """
    A bucket, a group and a role are passed down, and nothing back up.
    """
    group = ec2.SecurityGroup(stack, "Group", vpc=vpc)
    role = iam.Role(
        stack, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com")
    )
    nested = NestedStack(stack, "Nested")
    Model(
        nested,
        "Model",
        model=GPT2,
        serving=TGI,
        role=role,
        network=Network(vpc=vpc, security_groups=[group]),
    )
    (model,) = written(nested, "SageMaker::Model").values()

    assert "referencetoTestRole" in str(model["Properties"]["ExecutionRoleArn"])
    assert "referencetoTestGroup" in str(model["Properties"]["VpcConfig"])


@pytest.mark.parametrize("make", [filled, component], ids=["one", "many"])
def test_stages_differ_in_nothing_but_their_environment(
    make: Callable[[Construct], object],
) -> None:
    """
    The same class in two stages writes the same template.
    """
    app = App(context=STRICT)
    templates = []
    for name in ("Test", "Production"):
        stack = Stack(
            Stage(app, name),
            "Models",
            env=Environment(account=ACCOUNT, region=REGION),
        )
        make(stack)
        templates.append(Template.from_stack(stack).to_json())

    assert templates[0] == templates[1]
