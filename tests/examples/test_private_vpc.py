"""
A closed VPC has all that its deployment calls, and nothing besides.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.examples.closed_networks import ClosedNetwork

MODEL, ASKER = "PrivateVpc.ChatModel", "PrivateVpc.Asker"
SERVICES = [
    "s3",
    "logs",
    "monitoring",
    "ecr.api",
    "ecr.dkr",
    "sagemaker.runtime",
]


@pytest.fixture(name="closed")
def _closed(assemblies: Path) -> ClosedNetwork:
    return ClosedNetwork.of(assemblies / "private_vpc")


def complaints(network: ClosedNetwork) -> set[str]:
    """
    Return the complaints, without the hashes in the names.
    """
    found = network.complaints()
    return {f"{text.split('.')[1][:5]}: {text.split(': ', 1)[-1]}" for text in found}


def test_the_model_and_who_asks_it_are_found(closed: ClosedNetwork) -> None:
    """
    The test below is no empty promise.
    """
    model, asker = closed.callers()
    calls = {call.service for call in closed.calls(model)}

    assert model.startswith(MODEL)
    assert asker.startswith(ASKER)
    assert calls == {"s3", "logs", "monitoring", "ecr.api", "ecr.dkr"}
    assert {call.service for call in closed.calls(asker)} == {"sagemaker.runtime"}


def test_a_closed_vpc_has_all_that_is_called(closed: ClosedNetwork) -> None:
    """
    Nothing leads out, each call has its endpoint, and each endpoint its caller.
    """
    assert closed.complaints() == []
    assert closed.needed() == set(SERVICES) == set(closed.endpoints())


@pytest.mark.parametrize("service", SERVICES)
def test_each_endpoint_is_missed(closed: ClosedNetwork, service: str) -> None:
    """
    Without any one of them somebody's call is not answered.
    """
    rest = closed.without(closed.endpoints()[service])
    who = "Asker" if service == "sagemaker.runtime" else "ChatM"

    assert complaints(rest) == {f"{who}: no endpoint of {service}"}


@pytest.mark.parametrize("service", SERVICES[1:])
def test_an_endpoint_without_private_dns_is_missed(
    closed: ClosedNetwork, service: str
) -> None:
    """
    The names of AWS would lead out of the VPC, where there is no way.
    """
    name = closed.endpoints()[service]
    rest = closed.with_changed(name, PrivateDnsEnabled=False)

    assert {text.split(": ")[1] for text in complaints(rest)} == {
        f"no way to the endpoint of {service}"
    }


@pytest.mark.parametrize("service", SERVICES)
def test_each_policy_is_missed(closed: ClosedNetwork, service: str) -> None:
    """
    An endpoint that lets another action through is of no use.
    """
    other = {"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": "*"}
    name = closed.endpoints()[service]
    rest = closed.with_changed(name, PolicyDocument={"Statement": [other]})

    found = complaints(rest)
    assert found
    assert all(f"the endpoint of {service} refuses" in text for text in found)


def test_each_rule_of_the_group_is_missed(closed: ClosedNetwork) -> None:
    """
    Who is not let in does not reach the endpoints.
    """
    rules = [
        name
        for name, each in closed.resources.items()
        if each["Type"] == "AWS::EC2::SecurityGroupIngress"
    ]

    assert len(rules) == 2
    assert all(closed.without(rule).complaints() for rule in rules)


def test_each_route_to_s3_is_missed(closed: ClosedNetwork) -> None:
    """
    Instances may start in any of the subnets.
    """
    name = closed.endpoints()["s3"]
    first, second = closed.resources[name]["Properties"]["RouteTableIds"]
    expected = {"ChatM: no way to the endpoint of s3"}

    for tables in ([first], [second]):
        rest = closed.with_changed(name, RouteTableIds=tables)
        assert complaints(rest) == expected


def test_the_layers_of_images_are_missed(closed: ClosedNetwork) -> None:
    """
    Amazon ECR keeps them on S3, in a bucket of its own.
    """
    name = closed.endpoints()["s3"]
    policy = closed.resources[name]["Properties"]["PolicyDocument"]
    kept = [one for one in policy["Statement"] if "starport" not in json.dumps(one)]
    rest = closed.with_changed(name, PolicyDocument={"Statement": kept})

    assert len(kept) == len(policy["Statement"]) - 1
    assert complaints(rest) == {"ChatM: the endpoint of s3 refuses s3:GetObject"}


def test_a_model_of_the_hub_is_told(closed: ClosedNetwork) -> None:
    """
    No endpoint leads to the Hub: a container that fetches its weights would not start.
    """
    model, _ = closed.callers()
    container = closed.resources[model]["Properties"]["PrimaryContainer"]
    fetching = {**container, "Environment": {"HF_MODEL_ID": "gpt2"}}
    rest = closed.with_changed(
        model, PrimaryContainer=fetching, EnableNetworkIsolation=False
    )

    assert complaints(rest) == {"ChatM: no endpoint of the Hub, for gpt2"}


def test_an_image_of_unknown_start_is_told(closed: ClosedNetwork) -> None:
    """
    What its entry point calls is for its author to say.
    """
    model, _ = closed.callers()
    container = closed.resources[model]["Properties"]["PrimaryContainer"]
    uri = "111111111111.dkr.ecr.us-east-1.amazonaws.com/ours:1"
    rest = closed.with_changed(model, PrimaryContainer={**container, "Image": uri})

    assert complaints(rest) == {
        f"ChatM: no endpoint of whatever the entry point of {uri} calls"
    }


def test_a_way_out_is_told(closed: ClosedNetwork) -> None:
    """
    A VPC with a gateway to the internet is not closed.
    """
    closed.resources["Closed.Out"] = {"Type": "AWS::EC2::NatGateway", "Properties": {}}

    assert closed.complaints() == ["Closed.Out leads out"]
