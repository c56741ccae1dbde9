"""
What a staged model refuses at synth: in the caller's words, with the way out.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match

from cdk_sagemaker_llm import HuggingFaceModel, Network, TensorRtLlm, Vllm
from tests.unit.hosting.weights.test_staged_model import COMMIT, a_stack, staged

# A user with a password, apart from its address: no file of the repository has one.
NAMED = "me:word"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"hub_url": ""}, "LLM785 hub_url must be an address such as"),
        ({"hub_url": "ftp://hub"}, "LLM785 hub_url must be an address such as"),
        ({"hub_url": f"ftp://{NAMED}@hub"}, "LLM785 hub_url must be an address such"),
        ({"hub_url": "https://"}, "LLM785 hub_url must be an address such as"),
        ({"hub_url": "https://[hub"}, "LLM785 hub_url must be an address such as"),
        (
            {"hub_url": f"https://{NAMED}@hub"},
            "LLM785 hub_url must be an address alone, and has a user",
        ),
        ({"hub_url": "https://hub?token=word"}, "LLM785 hub_url must be an address"),
        (
            {"instance_type": "ml.g5.xlarge"},
            "LLM787 instance_type is what engines are compiled on",
        ),
        ({"hub_url": "https://hub:99999"}, "LLM785 hub_url must be an address such as"),
        ({"hub_url": "https://hub/a b"}, "LLM785 hub_url must be an address such as"),
        ({"folder": "*"}, "LLM765 folder must be of letters"),
        ({"folder": "../a"}, r"LLM765 folder must have no part that is '\.' or '\.\.'"),
        ({"folder": "a/./b"}, r"LLM765 folder must have no part .*, got 'a/\./b'"),
        (
            {"include": ["./config.json"]},
            r"LLM771 .*, none of which is like './config.json'; write 'config.json'",
        ),
        ({"exclude": ["/original/*"]}, "LLM771 .* write 'original/"),
        (
            {"compile": "engines", "instance_type": "ml.g5.xlarge"},
            "LLM182 compile must be a TensorRtLlm or a NeuronX, got 'engines'",
        ),
        (
            {"compile": Vllm(), "instance_type": "ml.g5.xlarge"},
            "LLM182 compile must be a TensorRtLlm or a NeuronX, got a value of type",
        ),
        (
            {"compile": TensorRtLlm("0.30.0"), "instance_type": "ml.g5.12xlage"},
            r"LLM101 .*'ml\.g5\.12xlage'.*ml\.g5\.12xlarge",
        ),
    ],
)
def test_what_cannot_be_staged_is_refused(said: dict[str, Any], words: str) -> None:
    """
    Before anything is made.
    """
    stack = a_stack()
    with pytest.raises(ValueError, match=words) as refused:
        staged(stack, **said)

    assert "word@" not in str(refused.value)
    assert "=word" not in str(refused.value)
    assert stack.node.try_find_child("Weights") is None


@pytest.mark.parametrize(
    "said",
    [
        {"hub_url": "http://hub.example.com:8080/mirror/"},
        {"hub_url": Token.as_string({"Ref": "Hub"})},
        {"model": HuggingFaceModel("_b/" + "b.-" * 31 + "a.b", revision=COMMIT)},
        {"include": [".gitattributes"]},
        {"timeout": Duration.millis(300_001)},
    ],
)
def test_what_can_be_staged_is_taken(said: dict[str, Any]) -> None:
    """
    The other side of each limit.
    """
    staged(a_stack(), **said)


def test_a_timeout_of_deployment_is_refused() -> None:
    """
    The queue and the wait are counted from it.
    """
    stack = a_stack()
    minutes = CfnParameter(stack, "Minutes", type="Number").value_as_number
    with pytest.raises(ValueError, match="LLM769 timeout is known only at deployment"):
        staged(stack, timeout=Duration.minutes(minutes))


@pytest.mark.parametrize(
    ("subnets", "hub_url", "said"),
    [
        (ec2.SubnetType.PRIVATE_ISOLATED, None, ["isolated"]),
        (ec2.SubnetType.PUBLIC, None, ["public"]),
        (ec2.SubnetType.PRIVATE_WITH_EGRESS, None, []),
        (ec2.SubnetType.PRIVATE_ISOLATED, "https://hub.example.com", []),
    ],
)
def test_a_build_without_a_way_to_the_hub_is_warned_of(
    subnets: ec2.SubnetType, hub_url: str | None, said: list[str]
) -> None:
    """
    As far as the template shows it.
    """
    stack = a_stack()
    kinds = [
        ec2.SubnetType.PUBLIC,
        ec2.SubnetType.PRIVATE_WITH_EGRESS,
        ec2.SubnetType.PRIVATE_ISOLATED,
    ]
    vpc = ec2.Vpc(
        stack,
        "Vpc",
        max_azs=2,
        subnet_configuration=[
            ec2.SubnetConfiguration(name=one.name, subnet_type=one) for one in kinds
        ],
    )
    chosen = ec2.SubnetSelection(subnet_type=subnets)
    staged(stack, network=Network(vpc=vpc, subnets=chosen), hub_url=hub_url)

    found = Annotations.from_stack(stack).find_warning("*", Match.any_value())
    words = [str(one.entry.data) for one in found]
    assert len(words) == len(said)
    for kind, text in zip(said, words, strict=True):
        assert f"its subnets are {kind}, where a build gets no way out" in text
        assert "LLM867" in text


def test_subnets_that_the_vpc_has_not_are_refused() -> None:
    """
    In the words of the argument, and not by the CDK in the middle of the work.
    """
    stack = a_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    nowhere = ec2.SubnetSelection(subnet_group_name="nowhere")
    with pytest.raises(ValueError, match="LLM199 subnets select none of the VPC"):
        staged(stack, network=Network(vpc=vpc, subnets=nowhere))
