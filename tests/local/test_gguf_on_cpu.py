"""
A GGUF file on AWS Graviton: deployed and asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3

from cdk_sagemaker_llm.client import LlmClient
from tests.deployments import example

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.deployments import Deployer


def test_the_example_is_deployed_and_chats(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    Its image for Graviton starts with the model that it names, and answers a chat
    whole and in parts.
    """
    deployed = deployer.deploy(example("gguf_on_cpu", tmp_path)).checked()
    name = deployed.outputs["GgufOnCpu"]["EndpointName"]
    sagemaker = embedded_aws.client("sagemaker")
    config = sagemaker.describe_endpoint_config(
        EndpointConfigName=sagemaker.describe_endpoint(EndpointName=name)[
            "EndpointConfigName"
        ]
    )
    (variant,) = config["ProductionVariants"]
    model = sagemaker.describe_model(ModelName=variant["ModelName"])
    session = boto3.Session("test", "test", region_name="us-east-1")
    client = LlmClient(
        name, session=session, endpoint_url=embedded_aws.url, schema="openai"
    )
    answer = client.chat("Who are you?", max_new_tokens=4)
    parts = [token.text for token in client.stream_chat("Who?", max_new_tokens=4)]
    embedded_aws.client("cloudformation").delete_stack(StackName="GgufOnCpu")

    assert variant["InstanceType"] == "ml.c7g.4xlarge"
    assert "InferenceAmiVersion" not in variant
    container = model["PrimaryContainer"]
    assert container["Image"].endswith("/llama-cpp-arm64:server-sagemaker-cpu-v1.0.1")
    assert container["Environment"] == {
        "SM_LLAMA_CPP_HF_REPO": "Qwen/Qwen3-4B-GGUF:Q4_K_M",
        "SM_LLAMA_CPP_CTX_SIZE": "8192",
        "SM_LLAMA_CPP_PARALLEL": "2",
    }
    assert answer.text
    assert answer.completion_tokens == 4
    assert "".join(parts)
