"""
The example of embeddings, deployed and asked by both clients; and
an embedding model on vLLM.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from cdk_sagemaker_llm.client import AsyncLlmClient, LlmClient, ModelError, Schema
from tests.deployments import example
from tests.local.hosting_requests import (
    REGISTRY,
    make_config,
    make_endpoint,
    make_model,
)

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.deployments import Deployer

TEXTS = ["a stone", "a red apple", "red"]
QUERY = "red apple"


def options(aws: EmbeddedAws) -> dict[str, Any]:
    """
    Return how the runtime is reached, through a socket.
    """
    session = boto3.Session("test", "test", region_name="us-east-1")
    return {"session": session, "endpoint_url": aws.url}


async def embedded(client: AsyncLlmClient) -> int:
    """
    Ask an asynchronous client; return how many vectors came.
    """
    async with client:
        return len((await client.embed(TEXTS)).vectors)


async def best(client: AsyncLlmClient) -> list[int]:
    """
    Ask an asynchronous client; return which two texts are the best.
    """
    async with client:
        ranked = await client.rerank(QUERY, TEXTS, top_n=2)
    return [one.index for one in ranked]


def test_the_example_is_deployed(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    Both endpoints answer, on a GPU and on processors, and instances follow requests.
    """
    app = example("embeddings", tmp_path / "out")
    deployer.deploy(app).checked()
    (stack,) = embedded_aws.client("cloudformation").describe_stacks(
        StackName="Search"
    )["Stacks"]
    names = {out["OutputKey"]: out["OutputValue"] for out in stack["Outputs"]}
    reach = options(embedded_aws)

    vectors = LlmClient(names["VectorsName"], **reach)
    assert len(vectors.embed(["one", "two"]).vectors) == 2
    assert len(vectors.embed("one").vectors) == 1
    ranking = LlmClient(names["RankingName"], **reach)
    ranked = ranking.rerank(QUERY, TEXTS)
    assert [one.index for one in ranked] == [1, 2, 0]
    assert ranked == sorted(ranked, key=lambda one: -one.score)
    assert ranking.rerank(QUERY, TEXTS, top_n=1) == ranked[:1]
    assert asyncio.run(embedded(AsyncLlmClient(names["VectorsName"], **reach))) == 3
    assert asyncio.run(best(AsyncLlmClient(names["RankingName"], **reach))) == [1, 2]
    with pytest.raises(ModelError, match="`texts` cannot be empty") as caught:
        ranking.rerank(QUERY, TEXTS, parameters={"texts": []})
    assert caught.value.status == 400

    scaling = embedded_aws.client("application-autoscaling")
    resource = f"endpoint/{names['VectorsName']}/variant/AllTraffic"
    (policy,) = scaling.describe_scaling_policies(
        ServiceNamespace="sagemaker", ResourceId=resource
    )["ScalingPolicies"]
    tracked = policy["TargetTrackingScalingPolicyConfiguration"]
    assert tracked["PredefinedMetricSpecification"]["PredefinedMetricType"] == (
        "SageMakerVariantInvocationsPerInstance"
    )
    deployer.destroy(app).checked()


def test_an_embedding_model_on_vllm(embedded_aws: EmbeddedAws) -> None:
    """
    It is asked in OpenAI's words, and answers both.
    """
    model = make_model(
        embedded_aws,
        image=f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6",
        container={"Environment": {"SM_VLLM_MODEL": "Qwen/Qwen3-Embedding-0.6B"}},
    )
    variant = {"ModelName": model, "InstanceType": "ml.g6.xlarge"}
    endpoint = make_endpoint(embedded_aws, make_config(embedded_aws, variant=variant))
    given = {**options(embedded_aws), "schema": Schema.OPENAI}

    client = LlmClient(endpoint, **given)
    assert len(client.embed(["one", "two"]).vectors) == 2
    ranked = client.rerank(QUERY, TEXTS, top_n=2)
    assert [one.index for one in ranked] == [1, 2]
    assert asyncio.run(embedded(AsyncLlmClient(endpoint, **given))) == 3
    assert asyncio.run(best(AsyncLlmClient(endpoint, **given))) == [1, 2]
