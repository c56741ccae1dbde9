"""
What is judged of a VPC that the CDK's command has yet to look up: nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Network,
    StagedModel,
)
from tests.unit.hosting.written import properties_of, warnings_of

MODEL = HuggingFaceModel("mistralai/Mistral-7B-v0.1")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SELECTIONS: dict[str, dict[str, Any]] = {
    "subnet_group_name": {"subnet_group_name": "Models"},
    "availability_zones": {"availability_zones": ["us-east-1a"]},
    "subnet_filters": {"subnet_filters": [ec2.SubnetFilter.by_ids(["subnet-1"])]},
    "public": {"subnet_type": ec2.SubnetType.PUBLIC},
    "isolated": {"subnet_type": ec2.SubnetType.PRIVATE_ISOLATED},
    "left out": {},
}


@pytest.fixture(name="stack")
def _stack() -> Stack:
    """
    Return a stack whose validation by the CDK is the command's: it knows of stand-ins.
    """
    environment = Environment(account="111111111111", region="us-east-1")
    return Stack(App(), "Test", env=environment)


def looked_up(stack: Stack, field: str) -> Network:
    """
    Return a network of a VPC whose subnets nobody knows yet.
    """
    vpc = ec2.Vpc.from_lookup(stack, "Vpc", vpc_name="models")
    return Network(vpc=vpc, subnets=ec2.SubnetSelection(**SELECTIONS[field]))


@pytest.mark.parametrize("field", SELECTIONS)
def test_a_vpc_gets_looked_up_before_it_is_judged(stack: Stack, field: str) -> None:
    """
    The command looks up after a synthesis without errors.
    """
    network = looked_up(stack, field)
    LlmEndpoint(
        stack, "Own", model=MODEL, instance_type="ml.g5.2xlarge", network=network
    )
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.2xlarge", network=network
    )
    host.add_model("Mistral", model=MODEL)
    StagedModel(
        stack,
        "Staged",
        model=HuggingFaceModel("mistralai/Mistral-7B-v0.1", revision=COMMIT),
        bucket=s3.Bucket(stack, "Weights"),
        network=network,
    )

    judged = ("LLM199", "LLM247", "LLM450", "LLM759", "LLM801")
    assert not [text for _, text in warnings_of(stack) if text.endswith(judged)]
    assert network.is_pending_lookup


def test_the_assembly_says_what_is_to_be_looked_up(tmp_path: Path) -> None:
    """
    That is what the command reads.
    """
    app = App(outdir=str(tmp_path))
    environment = Environment(account="111111111111", region="us-east-1")
    stack = Stack(app, "Stack", env=environment)
    LlmEndpoint(
        stack,
        "Own",
        model=MODEL,
        instance_type="ml.g5.2xlarge",
        network=looked_up(stack, "subnet_group_name"),
    )
    app.synth()

    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [one["provider"] for one in manifest["missing"]] == ["vpc-provider"]


def test_subnets_of_a_pending_vpc_may_be_named_one_by_one(stack: Stack) -> None:
    """
    They are as little known.
    """
    vpc = ec2.Vpc.from_lookup(stack, "Vpc", vpc_name="models")
    chosen = ec2.SubnetSelection(subnets=[vpc.public_subnets[0]])

    assert Network(vpc=vpc, subnets=chosen).is_pending_lookup


def test_a_vpc_that_was_found_is_judged(stack: Stack, vpc: ec2.IVpc) -> None:
    """
    As one that the app makes.
    """
    network = Network(vpc=vpc, subnets=ec2.SubnetSelection(subnet_group_name="Models"))

    assert not network.is_pending_lookup
    with pytest.raises(ValueError, match="LLM199 subnets select none of the VPC"):
        LlmEndpoint(
            stack, "Own", model=MODEL, instance_type="ml.g5.2xlarge", network=network
        )


def test_a_parameter_that_was_not_looked_up_is_named(stack: Stack) -> None:
    """
    Its stand-in is none of the caller's words.
    """
    instance_type = ssm.StringParameter.value_from_lookup(stack, "/llm/type")

    with pytest.raises(
        ValueError,
        match=(
            r"^Test/Own: LLM101 unknown instance type 'dummy-value-for-/llm/type'; "
            r"dummy-value-for-\.\.\. stands for a parameter until .* default_value="
        ),
    ):
        LlmEndpoint(stack, "Own", model=MODEL, instance_type=instance_type)


def test_a_default_value_stands_in_for_a_parameter(stack: Stack) -> None:
    """
    The way out of it.
    """
    instance_type = ssm.StringParameter.value_from_lookup(
        stack, "/llm/type", "ml.g5.2xlarge"
    )

    LlmEndpoint(stack, "Own", model=MODEL, instance_type=instance_type)

    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]
    assert variant["InstanceType"] == "ml.g5.2xlarge"
