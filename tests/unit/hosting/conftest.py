"""
Definitions that many tests of the constructs begin with.
"""

from __future__ import annotations

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Network,
    TensorRtLlm,
)
from tests.unit.hosting.expected import KEY_ARN, ROLE_ARN

MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
TRT = TensorRtLlm("0.26.0", tensor_parallel_degree=4)


@pytest.fixture(name="endpoint")
def _endpoint(stack: Stack) -> LlmEndpoint:
    return LlmEndpoint(
        stack, "Llm", model=MISTRAL, serving=TRT, instance_type="ml.g5.12xlarge"
    )


@pytest.fixture(name="host")
def _host(stack: Stack) -> InferenceComponentEndpoint:
    return InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", max_instance_count=2
    )


@pytest.fixture(name="vpc")
def _vpc(stack: Stack) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-1234567890abcdef0",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=["subnet-11111111", "subnet-22222222"],
        isolated_subnet_ids=["subnet-33333333", "subnet-44444444"],
    )


@pytest.fixture(name="network")
def _network(vpc: ec2.IVpc) -> Network:
    return Network(vpc=vpc)


@pytest.fixture(name="group")
def _group(stack: Stack) -> ec2.ISecurityGroup:
    return ec2.SecurityGroup.from_security_group_id(stack, "Group", "sg-11111111")


@pytest.fixture(name="key")
def _key(stack: Stack) -> kms.IKey:
    return kms.Key.from_key_arn(stack, "Key", KEY_ARN)


@pytest.fixture(name="own_role")
def _own_role(stack: Stack) -> iam.IRole:
    return iam.Role.from_role_arn(stack, "Own", ROLE_ARN)
