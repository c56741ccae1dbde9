"""
Images of vLLM, SGLang, llama.cpp and TEI: they start by their own entry points, and
answer in their own forms.
"""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.client import LlmClient, read_body, read_stream
from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.untyped import Untyped
from tests.local.hosting_requests import (
    REGISTRY,
    make_config,
    make_endpoint,
    make_model,
)

VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
VLLM_UBUNTU = f"{REGISTRY}/vllm:0.26.0-gpu-py312-cu130-ubuntu22.04-sagemaker"
SGLANG = f"{REGISTRY}/sglang:server-sagemaker-cuda-v1.4"
TEI = (
    "683313688378.dkr.ecr.us-east-1.amazonaws.com/"
    "tei:2.0.1-tei1.8.2-gpu-py310-cu122-ubuntu22.04"
)
_QUESTION = {"messages": [{"role": "user", "content": "Who are you?"}]}


def serve(aws: EmbeddedAws, image: str, environment: dict[str, str]) -> str:
    """
    Host an image and return the endpoint's name.
    """
    container = {"Environment": environment}
    model = make_model(aws, image=image, container=container)
    variant = {"ModelName": model, "InstanceType": "ml.g6.12xlarge"}
    return make_endpoint(aws, make_config(aws, variant=variant))


def ask(
    aws: EmbeddedAws,
    endpoint: str,
    body: Untyped,
    **settings: str,
) -> Untyped:
    """
    Send one request and return what came, as JSON.
    """
    answer = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        ContentType="application/json",
        Body=json.dumps(body),
        **settings,
    )
    return json.loads(answer["Body"].read())


def refusal(
    aws: EmbeddedAws,
    endpoint: str,
    body: Untyped,
    **settings: str,
) -> tuple[int, Untyped]:
    """
    Send one request that is refused; return the container's status and body.
    """
    with pytest.raises(ClientError) as caught:
        ask(aws, endpoint, body, **settings)
    response: dict[str, Any] = dict(caught.value.response)
    message = response["OriginalMessage"]
    return int(response["OriginalStatusCode"]), json.loads(message)


@pytest.fixture(name="vllm", scope="module")
def _vllm(embedded_aws: EmbeddedAws) -> str:
    return serve(
        embedded_aws,
        VLLM,
        {
            "SM_VLLM_MODEL": "Qwen/Qwen3-0.6B",
            "SM_VLLM_MAX_MODEL_LEN": "64",
            "SM_VLLM_SERVED_MODEL_NAME": '["qwen","small"]',
        },
    )


def test_chat(embedded_aws: EmbeddedAws, vllm: str) -> None:
    """
    A chat is answered whole, with its log probabilities where they are asked for.
    """
    body = {**_QUESTION, "max_tokens": 3, "logprobs": True, "model": "anything"}
    answer = ask(embedded_aws, vllm, body)
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "qwen"
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "length"
    assert choice["stop_reason"] is None
    assert choice["message"]["reasoning"] is None
    assert len(choice["logprobs"]["content"]) == 3
    assert answer["usage"] == {
        "prompt_tokens": 3,
        "total_tokens": 6,
        "completion_tokens": 3,
    }
    read = read_body(json.dumps(answer).encode())
    assert [token.log_prob for token in read.tokens] == [
        token["logprob"] for token in choice["logprobs"]["content"]
    ]


def test_stream(embedded_aws: EmbeddedAws, vllm: str) -> None:
    """
    A stream ends in ``[DONE]``, and says the same.
    """
    whole = ask(embedded_aws, vllm, {**_QUESTION, "max_tokens": 5})
    response = embedded_aws.client(
        "sagemaker-runtime"
    ).invoke_endpoint_with_response_stream(
        EndpointName=vllm,
        ContentType="application/json",
        Body=json.dumps({**_QUESTION, "max_tokens": 5, "stream": True}),
    )
    parts = [event["PayloadPart"]["Bytes"] for event in response["Body"]]
    assert b"".join(parts).endswith(b"data: [DONE]\n\n")
    text = "".join(token.text for token in read_stream(parts))
    assert text == whole["choices"][0]["message"]["content"]


def test_client(embedded_aws: EmbeddedAws, vllm: str) -> None:
    """
    The client reads all of it without being told.
    """
    session = boto3.Session("test", "test", region_name="us-east-1")
    client = LlmClient(
        vllm, session=session, endpoint_url=embedded_aws.url, schema="openai"
    )
    assert client.chat("Who are you?", max_new_tokens=4).completion_tokens == 4
    tokens = [token.text for token in client.stream("Once upon", max_new_tokens=4)]
    assert "".join(tokens) == client.generate("Once upon", max_new_tokens=4).text
    assert len(client.embed(["one", "two"]).vectors) == 2


def test_other_tasks(embedded_aws: EmbeddedAws, vllm: str) -> None:
    """
    Completions, embeddings and rankings have bodies of their own.
    """
    completion = ask(embedded_aws, vllm, {"prompt": "Once upon"})
    assert completion["object"] == "text_completion"
    assert completion["usage"]["completion_tokens"] == 16
    embedded = ask(embedded_aws, vllm, {"input": ["one", "two"], "dimensions": 3})
    assert [len(one["embedding"]) for one in embedded["data"]] == [3, 3]
    ranked = ask(
        embedded_aws,
        vllm,
        {"query": "red apple", "documents": ["a stone", "a red apple"], "top_n": 1},
    )
    assert [one["index"] for one in ranked["results"]] == [1]


def test_refusals(embedded_aws: EmbeddedAws, vllm: str) -> None:
    """
    Errors are vLLM's, with its numbers.
    """
    status, said = refusal(embedded_aws, vllm, {**_QUESTION, "max_tokens": 62})
    assert status == 400
    assert said["error"]["type"] == "BadRequestError"
    assert said["error"]["message"].startswith(
        "This model's maximum context length is 64 tokens. However, you requested 62 "
        "output tokens and your prompt contains 3 input tokens, for a total of 65"
    )
    assert ask(embedded_aws, vllm, {**_QUESTION, "max_tokens": 61})
    status, said = refusal(embedded_aws, vllm, {"inputs": "Who?"})
    assert status == 400
    assert said["error"]["message"] == (
        "Either prompt or prompt_embeds must be provided and non-empty. "
        "(parameter=prompt)"
    )


def test_routes(embedded_aws: EmbeddedAws, vllm: str) -> None:
    """
    A route in CustomAttributes is taken on Amazon Linux, where the model's name counts.
    """
    route = "route=/v1/chat/completions"
    body = {**_QUESTION, "max_tokens": 1}
    named = ask(embedded_aws, vllm, {**body, "model": "small"}, CustomAttributes=route)
    assert named["model"] == "small"
    status, said = refusal(
        embedded_aws, vllm, {**body, "model": "big"}, CustomAttributes=route
    )
    assert status == 404
    assert said["error"]["message"] == "The model `big` does not exist."
    ubuntu = serve(embedded_aws, VLLM_UBUNTU, {"SM_VLLM_MODEL": "gpt2"})
    unrouted = ask(
        embedded_aws, ubuntu, {**body, "model": "big"}, CustomAttributes=route
    )
    assert unrouted["model"] == "gpt2"


def test_sglang(embedded_aws: EmbeddedAws) -> None:
    """
    SGLang takes chats alone; its errors are flat.
    """
    endpoint = serve(
        embedded_aws,
        SGLANG,
        {"SM_SGLANG_MODEL_PATH": "gpt2", "SM_SGLANG_CONTEXT_LENGTH": "16"},
    )
    assert ask(embedded_aws, endpoint, {**_QUESTION, "max_tokens": 2})["usage"]
    status, said = refusal(embedded_aws, endpoint, {**_QUESTION, "max_tokens": 14})
    assert status == 400
    assert said["object"] == "error"
    assert said["message"].startswith(
        "Requested token count exceeds the model's maximum context length of 16 tokens."
    )
    status, said = refusal(embedded_aws, endpoint, {"prompt": "Once"})
    assert status == 400
    assert said["message"] == "missing field `messages`"


def test_text_embeddings(embedded_aws: EmbeddedAws) -> None:
    """
    TEI has shapes of its own.
    """
    endpoint = serve(embedded_aws, TEI, {"HF_MODEL_ID": "BAAI/bge-small-en-v1.5"})
    vectors = ask(embedded_aws, endpoint, {"inputs": ["one", "two"]})
    assert len(vectors) == 2
    ranked = ask(embedded_aws, endpoint, {"query": "a b", "texts": ["x", "a b"]})
    assert [one["index"] for one in ranked] == [1, 0]
    assert refusal(embedded_aws, endpoint, {"inputs": []}) == (
        400,
        {"error": "`inputs` cannot be empty", "error_type": "empty"},
    )


@pytest.mark.parametrize(
    ("image", "environment", "told"),
    [
        (
            VLLM,
            {"SM_VLLM_MODEL": "gpt2", "SM_VLLM_MAX_MODEL_LENGTH": "10"},
            "api_server.py: error: unrecognized arguments: --max-model-length",
        ),
        (
            VLLM,
            {"SM_VLLM_MODEL": "gpt2", "SM_VLLM_DATE": "5%"},
            "invalid interpolation syntax",
        ),
        (
            VLLM,
            {"SM_VLLM_MODEL": "gpt2", "LOG_LEVEL": "warning"},
            "Invalid LOG_LEVEL: 'warning'",
        ),
        (
            SGLANG,
            {"SM_SGLANG_CONTEXT_LENGTH": "8K"},
            "launch_server.py: error: argument --context-length",
        ),
        (TEI, {}, "HF_MODEL_ID must be set"),
    ],
)
def test_engine_does_not_start(
    embedded_aws: EmbeddedAws, image: str, environment: dict[str, str], told: str
) -> None:
    """
    The endpoint fails in the service's words; the engine's own are in its log group.
    """
    endpoint = serve(embedded_aws, image, environment)
    described = embedded_aws.client("sagemaker").describe_endpoint(
        EndpointName=endpoint
    )
    assert described["EndpointStatus"] == "Failed"
    assert described["FailureReason"] == (
        "The primary container for production variant AllTraffic did not pass the "
        "ping health check. Please check CloudWatch logs for this endpoint."
    )
    logs = embedded_aws.client("logs")
    group = f"/aws/sagemaker/Endpoints/{endpoint}"
    events = logs.filter_log_events(logGroupName=group)["events"]
    assert any(told in event["message"] for event in events)
