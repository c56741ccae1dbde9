"""
Whether subnets have an address for each instance that there may be.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Stack
from aws_cdk import aws_ec2 as ec2

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Network,
    Rolling,
)
from cdk_sagemaker_llm.hosting.endpoints.subnet_addresses import fleet_findings
from tests.unit.hosting.vpc.closed import TGI, a_vpc
from tests.unit.hosting.written import codes_of, warnings_of

GPT2 = HuggingFaceModel("gpt2")


def _in_few(stack: Stack, mask: int = 27, **given: Any) -> LlmEndpoint:  # noqa: ANN401 - what the endpoint takes by keyword
    """
    Define an endpoint in a VPC of two subnets, each of half the addresses.
    """
    vpc = a_vpc(stack, ip_addresses=ec2.IpAddresses.cidr(f"10.0.0.0/{mask}"))
    return LlmEndpoint(
        stack,
        "Chat",
        model=GPT2,
        serving=TGI,
        instance_type="ml.g5.2xlarge",
        network=Network(vpc=vpc),
        **given,
    )


def _found(stack: Stack) -> list[str]:
    return [code for _, code in codes_of(stack) if code in ("LLM701", "LLM801")]


# Twice 16 addresses, of which AWS keeps five each: 22.
@pytest.mark.parametrize(
    ("count", "rollout", "expected"),
    [
        (5, None, []),
        (6, None, ["LLM801"]),
        (11, Rolling(percent=50), []),
        (12, Rolling(percent=50), ["LLM801"]),
        (22, None, ["LLM801"]),
    ],
    ids=["5", "6", "11 rolled", "12 rolled", "22"],
)
def test_two_addresses_are_asked_for_each_instance(
    stack: Stack, count: int, rollout: Rolling | None, expected: list[str]
) -> None:
    """
    And as many again for an update, unless it goes through the fleet in parts.
    """
    _in_few(stack, instance_count=count, rollout=rollout)

    assert _found(stack) == expected


def test_the_warning_counts(stack: Stack) -> None:
    """
    What there is, what is asked, and why.
    """
    _in_few(stack, instance_count=6)

    (text,) = (text for _, text in warnings_of(stack) if "LLM801" in text)
    assert text.startswith(
        "subnets have 22 addresses, those that AWS keeps left out, for up to 6 "
        "instances: SageMaker asks for two each, and an update runs a second fleet "
        "beside the first, which is 24; choose larger subnets, or more of them"
    )


def test_fails_if_there_are_fewer_than_instances(app: App, stack: Stack) -> None:
    """
    As far as it scales, whatever it starts with.
    """
    _in_few(stack).auto_scale_instance_count(max_capacity=23)

    with pytest.raises(
        RuntimeError, match=r"LLM701 subnets have 22 addresses.* for up to 23 instances"
    ):
        app.synth()


def test_components_hosts_are_counted(stack: Stack) -> None:
    """
    Up to the most that managed scaling may start.
    """
    vpc = a_vpc(stack, ip_addresses=ec2.IpAddresses.cidr("10.0.0.0/27"))
    InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.g5.2xlarge",
        max_instance_count=6,
        network=Network(vpc=vpc),
    )

    assert _found(stack) == ["LLM801"]


def test_one_subnet_has_half(stack: Stack) -> None:
    """
    Only those that are chosen count.
    """
    vpc = a_vpc(stack, ip_addresses=ec2.IpAddresses.cidr("10.0.0.0/27"))
    one = ec2.SubnetSelection(subnets=[vpc.isolated_subnets[0]])
    LlmEndpoint(
        stack,
        "Chat",
        model=GPT2,
        serving=TGI,
        instance_type="ml.g5.2xlarge",
        instance_count=3,
        network=Network(vpc=vpc, subnets=one),
    )

    assert _found(stack) == ["LLM801"]


def test_one_unknown_subnet_may_have_enough(stack: Stack) -> None:
    """
    Whatever the other has.
    """
    vpc = a_vpc(stack, ip_addresses=ec2.IpAddresses.cidr("10.0.0.0/27"))
    elsewhere = ec2.Subnet.from_subnet_id(stack, "Subnet", "subnet-11111111")
    both = ec2.SubnetSelection(subnets=[vpc.isolated_subnets[0], elsewhere])

    network = Network(vpc=vpc, subnets=both)
    assert fleet_findings([network], [100], None) == []


def test_variants_of_one_network_are_counted_together(stack: Stack) -> None:
    """
    And it is said once.
    """
    vpc = a_vpc(stack, ip_addresses=ec2.IpAddresses.cidr("10.0.0.0/27"))
    networks = [Network(vpc=vpc) for _ in range(2)]

    (found,) = fleet_findings(networks, [3, 20], None)
    assert str(found) == (
        "LLM701 subnets have 22 addresses, those that AWS keeps left out, for up to 23 "
        "instances: each needs at least one; choose larger subnets, or more of them, "
        "or fewer instances"
    )
    (rolled,) = fleet_findings(networks, [3, 9], Rolling(percent=50))
    assert str(rolled) == (
        "LLM801 subnets have 22 addresses, those that AWS keeps left out, for up to 12 "
        "instances: SageMaker asks for two each, which is 24; choose larger subnets, "
        "or more of them"
    )


def test_what_is_not_known_is_not_counted(stack: Stack, vpc: ec2.IVpc) -> None:
    """
    Subnets that were made elsewhere, and numbers that deployment decides.
    """
    LlmEndpoint(
        stack,
        "Elsewhere",
        model=GPT2,
        serving=TGI,
        instance_type="ml.g5.2xlarge",
        instance_count=100,
        network=Network(vpc=vpc),
    )

    assert _found(stack) == []


def test_a_number_of_deployment_is_not_counted(stack: Stack) -> None:
    """
    It may be any.
    """
    number: Any = CfnParameter(stack, "Count", type="Number").value_as_number
    _in_few(stack, instance_count=number)

    assert _found(stack) == []
