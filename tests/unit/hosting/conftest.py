"""
Definitions that many tests of the constructs begin with.
"""

from __future__ import annotations

import pytest
from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Network,
    TensorRtLlm,
)

MISTRAL = HuggingFaceModel("mistralai/Mistral-7B-v0.1")
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


@pytest.fixture(name="network")
def _network(stack: Stack) -> Network:
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-1234567890abcdef0",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=["subnet-11111111", "subnet-22222222"],
    )
    return Network(vpc=vpc)
