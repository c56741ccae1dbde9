"""
What a network lets a model do.
"""

from __future__ import annotations

import re

import pytest
from aws_cdk import Fn, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Model,
    Network,
    S3Model,
    StagedModel,
    Tgi,
)
from tests.unit.hosting.written import warnings_of, written

TGI = Tgi("1.4.5")
HUB = HuggingFaceModel("gpt2")
ISOLATED = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
PUBLIC = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)


def without_nat(stack: Stack) -> ec2.Vpc:
    """
    Define a VPC of public and isolated subnets.
    """
    return ec2.Vpc(stack, "Own", max_azs=2, nat_gateways=0)


def warned(stack: Stack) -> list[str]:
    """
    Return what is said of the way to the Hub.
    """
    return [text for _, text in warnings_of(stack) if text.endswith("LLM247]")]


@pytest.mark.parametrize(
    ("subnets", "kind"),
    [
        (None, "its subnets are isolated"),
        (ISOLATED, "its subnets are isolated"),
        (
            PUBLIC,
            (
                "its subnets are public: SageMaker's network interfaces get no public "
                "address there"
            ),
        ),
    ],
    ids=["left out", "isolated", "public"],
)
def test_warns_if_a_model_of_the_hub_has_no_way_there(
    stack: Stack, subnets: ec2.SubnetSelection | None, kind: str
) -> None:
    """
    As far as the template shows it.
    """
    network = Network(vpc=without_nat(stack), subnets=subnets)
    Model(stack, "It", model=HUB, serving=TGI, network=network)

    assert warned(stack) == [
        (
            f"gpt2 is downloaded from the Hugging Face Hub, and {kind}; choose private "
            "subnets with a NAT gateway, serve an S3Model, or name a mirror as "
            "HF_ENDPOINT in environment [ack: cdk-sagemaker-llm:LLM247]"
        )
    ]


def test_warns_for_a_vpc_that_was_made_elsewhere(stack: Stack, vpc: ec2.IVpc) -> None:
    """
    Its subnets are known by their kind.
    """
    network = Network(vpc=vpc, subnets=ISOLATED)
    Model(stack, "It", model=HUB, serving=TGI, network=network)

    assert len(warned(stack)) == 1


def test_a_way_out_is_enough(stack: Stack, vpc: ec2.IVpc) -> None:
    """
    Private subnets, weights that come another way, a mirror.
    """
    isolated = Network(vpc=vpc, subnets=ISOLATED)
    nat = Network(vpc=ec2.Vpc(stack, "Nat", max_azs=2))
    Model(stack, "Private", model=HUB, serving=TGI, network=Network(vpc=vpc))
    Model(stack, "Routed", model=HUB, serving=TGI, network=nat)
    Model(stack, "S3", model=S3Model("s3://b1c/p/"), serving=TGI, network=isolated)
    Model(
        stack,
        "Mirrored",
        model=HUB,
        serving=TGI,
        network=isolated,
        environment={"HF_ENDPOINT": "https://hub.example.com"},
    )
    Model(stack, "Open", model=HUB, serving=TGI)

    assert warned(stack) == []


@pytest.mark.parametrize("name", ["HF_ENDPOINT", "HTTPS_PROXY", "https_proxy"])
def test_a_mirror_or_a_proxy_is_a_way_out(
    stack: Stack, vpc: ec2.IVpc, name: str
) -> None:
    """
    By each name that the Hub's client reads.
    """
    Model(
        stack,
        "It",
        model=HUB,
        serving=TGI,
        network=Network(vpc=vpc, subnets=ISOLATED),
        environment={name: "https://proxy.example.com"},
    )

    assert warned(stack) == []


@pytest.mark.parametrize("kind", ["isolated_subnets", "public_subnets"])
def test_one_subnet_with_a_way_out_is_not_spoken_of(stack: Stack, kind: str) -> None:
    """
    Only where none has one.
    """
    vpc = ec2.Vpc(
        stack,
        "Own",
        max_azs=2,
        subnet_configuration=[
            ec2.SubnetConfiguration(name=each.name, subnet_type=each)
            for each in (
                ec2.SubnetType.PUBLIC,
                ec2.SubnetType.PRIVATE_WITH_EGRESS,
                ec2.SubnetType.PRIVATE_ISOLATED,
            )
        ],
    )
    one = getattr(vpc, kind)[0]
    mixed = ec2.SubnetSelection(subnets=[one, vpc.private_subnets[1]])
    Model(stack, "It", model=HUB, serving=TGI, network=Network(vpc=vpc, subnets=mixed))

    assert warned(stack) == []


@pytest.mark.parametrize(("groups", "fails"), [(5, False), (6, True)])
def test_five_security_groups_are_the_most(
    stack: Stack, vpc: ec2.IVpc, groups: int, *, fails: bool
) -> None:
    """
    botocore 1.44.5, VpcConfig.
    """
    network = Network(
        vpc=vpc,
        security_groups=[
            ec2.SecurityGroup.from_security_group_id(stack, f"G{n}", f"sg-{n}")
            for n in range(groups)
        ],
    )
    if not fails:
        Model(stack, "It", model=HUB, serving=TGI, network=network)
        return
    with pytest.raises(
        ValueError, match="LLM199 security_groups must be at most 5, got 6"
    ):
        Model(stack, "It", model=HUB, serving=TGI, network=network)


def subnets(stack: Stack, count: int) -> ec2.SubnetSelection:
    """
    Select subnets one by one.
    """
    return ec2.SubnetSelection(
        subnets=[
            ec2.Subnet.from_subnet_id(stack, f"S{n}", f"subnet-{n}")
            for n in range(count)
        ]
    )


@pytest.mark.parametrize("count", [1, 16])
def test_up_to_sixteen_subnets_are_taken(
    stack: Stack, vpc: ec2.IVpc, count: int
) -> None:
    """
    One is enough for the service.
    """
    network = Network(vpc=vpc, subnets=subnets(stack, count))
    Model(stack, "It", model=HUB, serving=TGI, network=network)


@pytest.mark.parametrize(("count", "is_told"), [(1, True), (2, False)])
def test_one_subnet_is_warned_of(
    stack: Stack, vpc: ec2.IVpc, count: int, *, is_told: bool
) -> None:
    """
    The guide asks for two or more zones.
    """
    chosen = [
        ec2.Subnet.from_subnet_id(stack, f"Named{number}", f"subnet-1234567{number}")
        for number in range(count)
    ]
    network = Network(vpc=vpc, subnets=ec2.SubnetSelection(subnets=chosen))
    weights = S3Model("s3://bucket/model/")
    Model(stack, "It", model=weights, serving=TGI, network=network)

    found = [text for _, text in warnings_of(stack) if text.endswith("LLM450]")]
    assert len(found) == is_told
    assert all("two or more zones" in text for text in found)


@pytest.mark.parametrize("count", [0, 17])
def test_fails_if_there_are_no_or_too_many_subnets(
    stack: Stack, vpc: ec2.IVpc, count: int
) -> None:
    """
    botocore 1.44.5, VpcConfig.
    """
    network = Network(vpc=vpc, subnets=subnets(stack, count))
    message = f"LLM199 subnets must be 1 to 16, got {count}"
    with pytest.raises(ValueError, match=re.escape(message)):
        Model(stack, "It", model=HUB, serving=TGI, network=network)


def test_fails_if_the_vpc_has_no_such_subnets(stack: Stack) -> None:
    """
    In one message, not from inside the CDK.
    """
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-1",
        availability_zones=["us-east-1a"],
        isolated_subnet_ids=["subnet-1"],
    )
    network = Network(vpc=vpc, subnets=PUBLIC)
    with pytest.raises(ValueError, match="LLM199 subnets select none of the VPC: "):
        Model(stack, "It", model=HUB, serving=TGI, network=network)


def test_subnets_that_the_deployment_decides_pass(stack: Stack) -> None:
    """
    Nothing is guessed of them.
    """
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id=Fn.import_value("Vpc"),
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=[Fn.import_value("A"), Fn.import_value("B")],
    )
    Model(stack, "It", model=HUB, serving=TGI, network=Network(vpc=vpc))

    assert warned(stack) == []


def _routes_awaited_by(stack: Stack, kind: str) -> list[str]:
    (found,) = written(stack, kind).values()
    return [each for each in found.get("DependsOn", []) if "Route" in each]


NAT_ROUTES = [
    "VpcPrivateSubnet1DefaultRoute",
    "VpcPrivateSubnet1RouteTableAssociation",
    "VpcPrivateSubnet2DefaultRoute",
    "VpcPrivateSubnet2RouteTableAssociation",
]


def test_an_endpoint_waits_for_its_nat_routes(stack: Stack) -> None:
    """
    Its instances download as they start, when a VPC of the same stack may lack them.
    """
    network = Network(vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    LlmEndpoint(
        stack,
        "Chat",
        model=HUB,
        serving=TGI,
        instance_type="ml.g5.2xlarge",
        network=network,
    )

    assert _routes_awaited_by(stack, "SageMaker::Endpoint") == NAT_ROUTES


def test_a_host_of_components_waits_for_its_nat_routes(stack: Stack) -> None:
    """
    Its instances pull and download for the components.
    """
    network = Network(vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.2xlarge", network=network
    )

    assert _routes_awaited_by(stack, "SageMaker::Endpoint") == NAT_ROUTES


def test_a_build_waits_for_its_nat_routes(stack: Stack) -> None:
    """
    It downloads as soon as the stack asks for it.
    """
    revision = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
    StagedModel(
        stack,
        "Weights",
        model=HuggingFaceModel("gpt2", revision=revision),
        bucket=s3.Bucket.from_bucket_name(stack, "Bucket", "models"),
        network=Network(vpc=ec2.Vpc(stack, "Vpc", max_azs=2)),
    )

    assert _routes_awaited_by(stack, "CodeBuild::Project") == NAT_ROUTES


def test_an_endpoint_in_isolated_subnets_waits_for_their_tables(stack: Stack) -> None:
    """
    There is no route out of them, and one to S3 may be in these tables.
    """
    network = Network(vpc=without_nat(stack), subnets=ISOLATED)
    LlmEndpoint(
        stack,
        "Chat",
        model=S3Model("s3://bucket/weights/"),
        serving=TGI,
        instance_type="ml.g5.2xlarge",
        network=network,
    )

    assert _routes_awaited_by(stack, "SageMaker::Endpoint") == [
        "OwnIsolatedSubnet1RouteTableAssociation",
        "OwnIsolatedSubnet2RouteTableAssociation",
    ]
