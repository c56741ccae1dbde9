"""
Where models and endpoints run: subnets, groups, isolation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam

from cdk_sagemaker_llm import (
    EndpointConfig,
    HuggingFaceModel,
    Model,
    Network,
    ProductionVariant,
    TensorRtLlm,
)
from tests.unit.hosting.expected import SECURITY_GROUP
from tests.unit.hosting.written import fields_at_default, properties_of, written

MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
TRT = TensorRtLlm("0.26.0", tensor_parallel_degree=4)
HOSTS = ProductionVariant(instance_type="ml.g5.12xlarge")


@pytest.fixture(name="wide")
def _wide(stack: Stack) -> ec2.IVpc:
    """
    A VPC of two zones, with two private subnets and an isolated one in each.
    """
    return ec2.Vpc.from_vpc_attributes(
        stack,
        "Wide",
        vpc_id="vpc-1234567890abcdef0",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=[
            "subnet-aaaaaaaa",
            "subnet-bbbbbbbb",
            "subnet-cccccccc",
            "subnet-dddddddd",
        ],
        private_subnet_names=["Red", "Blue"],
        isolated_subnet_ids=["subnet-eeeeeeee", "subnet-ffffffff"],
        isolated_subnet_names=["Dark"],
    )


SELECTIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "left out": (
        {},
        ["subnet-aaaaaaaa", "subnet-bbbbbbbb", "subnet-cccccccc", "subnet-dddddddd"],
    ),
    "availability_zones": (
        {"availability_zones": ["us-east-1b"]},
        ["subnet-bbbbbbbb", "subnet-dddddddd"],
    ),
    "one_per_az": ({"one_per_az": True}, ["subnet-aaaaaaaa", "subnet-bbbbbbbb"]),
    "subnet_filters": (
        {"subnet_filters": [ec2.SubnetFilter.by_ids(["subnet-cccccccc"])]},
        ["subnet-cccccccc"],
    ),
    "subnet_group_name": (
        {"subnet_group_name": "Blue"},
        ["subnet-cccccccc", "subnet-dddddddd"],
    ),
    "subnet_type": (
        {"subnet_type": ec2.SubnetType.PRIVATE_ISOLATED},
        ["subnet-eeeeeeee", "subnet-ffffffff"],
    ),
}


@pytest.mark.parametrize("field", SELECTIONS)
def test_each_field_of_a_selection_chooses(wide: ec2.IVpc, field: str) -> None:
    """
    As it does for every other construct of the CDK.
    """
    given, expected = SELECTIONS[field]
    network = Network(vpc=wide, subnets=ec2.SubnetSelection(**given))

    assert network.subnet_ids() == expected


def test_subnets_can_be_listed(wide: ec2.IVpc) -> None:
    """
    In the order that they are given.
    """
    listed = list(reversed(wide.isolated_subnets))
    network = Network(vpc=wide, subnets=ec2.SubnetSelection(subnets=listed))

    assert network.subnet_ids() == ["subnet-ffffffff", "subnet-eeeeeeee"]


def test_no_field_of_a_selection_is_left_out_above() -> None:
    """
    A field that the CDK adds is passed on and tested, or this fails.
    """
    fields = {
        n for n, v in vars(ec2.SubnetSelection).items() if isinstance(v, property)
    }

    assert fields == {*SELECTIONS, "subnets"} - {"left out"}


def test_a_group_is_made_and_all_else_is_kept(stack: Stack, wide: ec2.IVpc) -> None:
    """
    Subnets and isolation are what they were.
    """
    chosen = ec2.SubnetSelection(subnet_group_name="Red")
    network = Network(vpc=wide, subnets=chosen, isolated=True)

    made = network.with_security_group(stack)

    assert made == replace(network, security_groups=made.security_groups)
    assert [stack.resolve(each) for each in made.security_group_ids()] == [
        {"Fn::GetAtt": ["SecurityGroupDD263621", "GroupId"]}
    ]
    assert written(stack) == {"SecurityGroup": SECURITY_GROUP}


def test_groups_that_are_given_are_the_only_ones(
    stack: Stack, vpc: ec2.IVpc, group: ec2.ISecurityGroup
) -> None:
    """
    No other group is made beside them.
    """
    network = Network(vpc=vpc, security_groups=[group])

    assert network.with_security_group(stack) is network
    assert network.security_group_ids() == ["sg-11111111"]
    (peer,) = network.connections.security_groups
    assert peer.security_group_id == "sg-11111111"


def test_without_a_vpc_there_is_nothing_to_attach(stack: Stack) -> None:
    """
    SageMaker's own network needs no subnet, group or permission.
    """
    network = Network(isolated=True)

    assert network.with_security_group(stack) is network
    assert network.subnet_ids() == []
    assert network.security_group_ids() == []
    assert network.access_statements() == []


def test_every_field_reaches_a_model(
    stack: Stack, vpc: ec2.IVpc, group: ec2.ISecurityGroup
) -> None:
    """
    A container that is cut off, in the subnets and the group that were chosen.
    """
    network = Network(
        vpc=vpc,
        subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
        security_groups=[group],
        isolated=False,
    )
    Model(stack, "Model", model=MISTRAL, serving=TRT, network=network)
    model = properties_of(stack, "SageMaker::Model")

    assert fields_at_default(network) == {"isolated"}
    assert "EnableNetworkIsolation" not in model
    assert model["VpcConfig"] == {
        "SecurityGroupIds": ["sg-11111111"],
        "Subnets": ["subnet-33333333", "subnet-44444444"],
    }


def test_isolation_alone_reaches_an_endpoint_of_components(
    stack: Stack, own_role: iam.IRole
) -> None:
    """
    Isolation needs no VPC.
    """
    EndpointConfig(
        stack,
        "Config",
        variants=[HOSTS],
        execution_role=own_role,
        network=Network(isolated=True),
    )
    config = properties_of(stack, "SageMaker::EndpointConfig")

    assert config["EnableNetworkIsolation"] is True
    assert "VpcConfig" not in config


def test_a_peer_is_let_in_through_the_group(stack: Stack, network: Network) -> None:
    """
    ``connections`` is what ``allow_from`` and ``allow_to`` take.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=TRT, network=network)
    model.network.connections.allow_from(ec2.Peer.ipv4("10.0.0.0/8"), ec2.Port.tcp(1))

    group = properties_of(stack, "EC2::SecurityGroup")
    assert group["SecurityGroupIngress"] == [
        {
            "CidrIp": "10.0.0.0/8",
            "Description": "from 10.0.0.0/8:1",
            "FromPort": 1,
            "IpProtocol": "tcp",
            "ToPort": 1,
        }
    ]


def test_fails_if_subnets_have_no_vpc(group: ec2.ISecurityGroup) -> None:
    """
    Groups and subnets belong to a VPC.
    """
    with pytest.raises(TypeError) as subnets:
        Network(subnets=ec2.SubnetSelection())
    with pytest.raises(TypeError) as groups:
        Network(security_groups=[group])
    with pytest.raises(ValueError, match="connections") as connections:
        _ = Network().connections

    assert str(subnets.value) == "subnets and security_groups need a vpc"
    assert str(groups.value) == "subnets and security_groups need a vpc"
    assert str(connections.value) == (
        "connections need a vpc: define network=Network(vpc=...)"
    )
