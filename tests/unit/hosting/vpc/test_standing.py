"""
What isolated subnets lack where there is no private access.
"""

from __future__ import annotations

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LmiVllm,
    Model,
    Network,
    PrivateAccess,
    S3Model,
)
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.base import ServingConfiguration
from tests.unit.hosting.vpc.closed import ISOLATED, TGI, WEIGHTS, a_vpc
from tests.unit.hosting.written import codes_of

HUB = HuggingFaceModel("gpt2")


def _closed_model(
    stack: Stack,
    vpc: ec2.IVpc,
    model: ModelSource = WEIGHTS,
    serving: ServingConfiguration = TGI,
) -> Model:
    network = Network(vpc=vpc, subnets=ISOLATED)
    return Model(stack, "It", model=model, serving=serving, network=network)


def _found(stack: Stack) -> list[tuple[str, str]]:
    return [each for each in codes_of(stack) if each[1] == "LLM803"]


@pytest.mark.parametrize(
    ("model", "serving", "count"),
    [(WEIGHTS, TGI, 1), (HUB, LmiVllm(), 1), (HUB, TGI, 0)],
    ids=["weights", "tarball", "neither"],
)
def test_warns_if_there_is_no_way_to_s3(
    stack: Stack, model: S3Model | HuggingFaceModel, serving: LmiVllm, count: int
) -> None:
    """
    Of a model that has data there.
    """
    _closed_model(stack, a_vpc(stack), model, serving)

    assert _found(stack) == [("/Test/It", "LLM803")] * count


def test_private_access_is_a_way(stack: Stack) -> None:
    """
    That is what it is for.
    """
    vpc = a_vpc(stack)
    _closed_model(stack, vpc)
    PrivateAccess(stack, "Private", vpc=vpc)

    assert _found(stack) == []


@pytest.mark.parametrize("is_gateway", [True, False])
def test_an_endpoint_is_a_way(stack: Stack, *, is_gateway: bool) -> None:
    """
    Of either kind.
    """
    vpc = a_vpc(stack)
    if is_gateway:
        vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
    else:
        vpc.add_interface_endpoint("S3", service=ec2.InterfaceVpcEndpointAwsService.S3)
    _closed_model(stack, vpc)

    assert _found(stack) == []


def test_a_route_may_be_a_way(stack: Stack) -> None:
    """
    To a transit gateway, and what is behind it.
    """
    vpc = a_vpc(stack)
    for subnet in vpc.isolated_subnets:
        if isinstance(subnet, ec2.Subnet):
            subnet.add_route(
                "Out",
                router_id="tgw-12345678901234567",
                router_type=ec2.RouterType.TRANSIT_GATEWAY,
                destination_cidr_block="0.0.0.0/0",
            )
    _closed_model(stack, vpc)

    assert _found(stack) == []


def test_an_endpoint_of_another_vpc_is_none(stack: Stack) -> None:
    """
    It has routes of its own.
    """
    vpc, other = a_vpc(stack), a_vpc(stack, "Other")
    other.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
    _closed_model(stack, vpc)

    assert len(_found(stack)) == 1


def test_of_what_is_elsewhere_nothing_is_said(stack: Stack, vpc: ec2.IVpc) -> None:
    """
    An imported VPC may have endpoints, and other subnets a way out.
    """
    _closed_model(stack, vpc)
    out = ec2.Vpc(stack, "Open", max_azs=2)
    Model(stack, "Out", model=WEIGHTS, serving=TGI, network=Network(vpc=out))

    assert _found(stack) == []


def test_an_open_subnet_beside_an_isolated_one_is_a_way(stack: Stack) -> None:
    """
    Of each that is chosen there must be none.
    """
    vpc = ec2.Vpc(
        stack,
        "Vpc",
        max_azs=1,
        subnet_configuration=[
            ec2.SubnetConfiguration(
                name="Closed", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
            ),
            ec2.SubnetConfiguration(name="Open", subnet_type=ec2.SubnetType.PUBLIC),
        ],
    )
    both = ec2.SubnetSelection(subnets=[*vpc.isolated_subnets, *vpc.public_subnets])
    closed = Network(vpc=vpc, subnets=ISOLATED)
    for name, network in (
        ("Both", Network(vpc=vpc, subnets=both)),
        ("Closed", closed),
    ):
        Model(stack, name, model=WEIGHTS, serving=TGI, network=network)

    # The public subnet's own route is no way for the isolated one.
    assert _found(stack) == [("/Test/Closed", "LLM803")]


def test_an_endpoint_of_another_service_is_no_way(stack: Stack) -> None:
    """
    Though it is in the VPC, or its name ends alike.
    """
    vpc = a_vpc(stack)
    for name in ("SSM", "STEP_FUNCTIONS"):
        service = getattr(ec2.InterfaceVpcEndpointAwsService, name)
        vpc.add_interface_endpoint(name, service=service)
    outposts = ec2.InterfaceVpcEndpointService(
        "com.amazonaws.us-east-1.outposts-s3", 443
    )
    vpc.add_interface_endpoint("Alike", service=outposts)
    _closed_model(stack, vpc)

    assert _found(stack) == [("/Test/It", "LLM803")]
