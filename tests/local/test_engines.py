"""
Images of vLLM, SGLang, llama.cpp and TEI: they start by their own entry points, and
answer in their own forms.
"""

from __future__ import annotations

import io
import json
import tarfile
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.client import (
    LlmClient,
    ModelError,
    Schema,
    UnreadableAnswerError,
    read_body,
    read_stream,
)
from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import (
    REGISTRY,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    unique,
)

VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
VLLM_UBUNTU = f"{REGISTRY}/vllm:0.26.0-gpu-py312-cu130-ubuntu22.04-sagemaker"
OMNI = f"{REGISTRY}/vllm:omni-sagemaker-cuda-v1.6"
LLAMA_CPP = f"{REGISTRY}/llama-cpp:server-sagemaker-cuda-v1.0.1"
SGLANG = f"{REGISTRY}/sglang:server-sagemaker-cuda-v1.4"
TEI = (
    "683313688378.dkr.ecr.us-east-1.amazonaws.com/"
    "tei:2.0.1-tei1.8.2-gpu-py310-cu122-ubuntu22.04"
)
_QUESTION = {"messages": [{"role": "user", "content": "Who are you?"}]}


def serve(
    aws: EmbeddedAws, image: str, environment: dict[str, str], data: str | None = None
) -> str:
    """
    Host an image, with data if it has any, and return the endpoint's name.
    """
    container: dict[str, Any] = {"Environment": environment}
    if data is not None:
        container["ModelDataUrl"] = data
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
        "prompt_tokens_details": None,
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


@pytest.mark.parametrize("schema", [None, Schema.OPENAI])
def test_a_model_that_writes_is_no_embedding_model(
    embedded_aws: EmbeddedAws, vllm: str, schema: Schema | None
) -> None:
    """
    What it says to a request of another kind is no word on how to ask it.
    """
    session = boto3.Session("test", "test", region_name="us-east-1")
    client = LlmClient(
        vllm, session=session, endpoint_url=embedded_aws.url, schema=schema
    )

    with pytest.raises(ModelError) as embedding:
        client.embed(["one", "two"])
    with pytest.raises(ModelError) as ranking:
        client.rerank("one", ["one", "two"])

    assert embedding.value.remedy == "use generate() or chat() for a model that writes"
    assert ranking.value.remedy == "deploy a reranker, or use embed() or generate()"
    assert client.generate("Once").text


def test_other_tasks(embedded_aws: EmbeddedAws, vllm: str) -> None:
    """
    Completions, embeddings and rankings have bodies, and models, of their own.
    """
    completion = ask(embedded_aws, vllm, {"prompt": "Once upon"})
    assert completion["object"] == "text_completion"
    assert completion["usage"]["completion_tokens"] == 16
    model = {"SM_VLLM_MODEL": "BAAI/bge-small-en-v1.5"}
    embedding = serve(embedded_aws, VLLM, model)
    embedded = ask(embedded_aws, embedding, {"input": ["one", "two"], "dimensions": 3})
    assert [len(one["embedding"]) for one in embedded["data"]] == [3, 3]
    session = boto3.Session("test", "test", region_name="us-east-1")
    client = LlmClient(
        embedding, session=session, endpoint_url=embedded_aws.url, schema="openai"
    )
    assert len(client.embed(["one", "two"]).vectors) == 2
    ranked = ask(
        embedded_aws,
        embedding,
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
        "output tokens and your prompt contains at least 3 input tokens, for a total "
        "of at least 65 tokens."
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
    assert "Field required" in said["message"]


def test_text_embeddings(embedded_aws: EmbeddedAws) -> None:
    """
    TEI has shapes of its own.
    """
    endpoint = serve(embedded_aws, TEI, {"HF_MODEL_ID": "BAAI/bge-small-en-v1.5"})
    vectors = ask(embedded_aws, endpoint, {"inputs": ["one", "two"]})
    assert [len(one) for one in vectors] == [384, 384]
    session = boto3.Session("test", "test", region_name="us-east-1")
    client = LlmClient(endpoint, session=session, endpoint_url=embedded_aws.url)
    with pytest.raises(UnreadableAnswerError, match="no text; read them with read_emb"):
        client.generate("one")
    with pytest.raises(ModelError, match=r"use embed\(\) for a model that makes"):
        client.chat("one")
    ranking = serve(embedded_aws, TEI, {"HF_MODEL_ID": "BAAI/bge-reranker-base"})
    ranked = ask(embedded_aws, ranking, {"query": "a b", "texts": ["x", "a b"]})
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
    assert told in log_of(embedded_aws, f"Endpoints/{endpoint}")


def log_of(aws: EmbeddedAws, place: str) -> str:
    """
    Return what the containers of an endpoint or a component wrote.
    """
    logs = aws.client("logs")
    group = f"/aws/sagemaker/{place}"
    events = logs.filter_log_events(logGroupName=group)["events"]
    return "\n".join(event["message"] for event in events)


def test_the_log_of_a_start(embedded_aws: EmbeddedAws, vllm: str) -> None:
    """
    It shows the arguments that are not the defaults.
    """
    log = log_of(embedded_aws, f"Endpoints/{vllm}")
    assert "non-default args: {" in log
    assert "'max_model_len': 64" in log


def test_llama_cpp(embedded_aws: EmbeddedAws) -> None:
    """
    It finds the GGUF in its model data, and does not answer without one.
    """
    s3, bucket = embedded_aws.client("s3"), unique("bucket")
    s3.create_bucket(Bucket=bucket)
    for key, file in (("with.tar.gz", "model.gguf"), ("none.tar.gz", "model.bin")):
        s3.put_object(Bucket=bucket, Key=key, Body=archive(**{file: b"x"}))
    endpoint = serve(embedded_aws, LLAMA_CPP, {}, f"s3://{bucket}/with.tar.gz")
    answer = ask(embedded_aws, endpoint, {**_QUESTION, "max_tokens": 2})
    assert answer["model"] == "/opt/ml/model/model.gguf"
    other = serve(embedded_aws, LLAMA_CPP, {}, f"s3://{bucket}/none.tar.gz")
    log = log_of(embedded_aws, f"Endpoints/{other}")
    assert "WARNING: no *.gguf found under /opt/ml/model" in log
    with pytest.raises(ClientError, match="not found"):
        ask(embedded_aws, other, _QUESTION)


def archive(**files: bytes) -> bytes:
    """
    Pack files, by their names.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, contents in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            tar.addfile(member, io.BytesIO(contents))
    return packed.getvalue()


@pytest.fixture(name="adapters", scope="module")
def _adapters(embedded_aws: EmbeddedAws) -> str:
    s3, bucket = embedded_aws.client("s3"), unique("bucket")
    s3.create_bucket(Bucket=bucket)
    config = {"fits": b'{"r": 32}', "large": b'{"r": 64}'}
    for name, told in config.items():
        packed = archive(**{"adapter_config.json": told})
        s3.put_object(Bucket=bucket, Key=f"{name}.tar.gz", Body=packed)
        s3.put_object(Bucket=bucket, Key=f"{name}/adapter_config.json", Body=told)
    s3.put_object(Bucket=bucket, Key="empty.tar.gz", Body=archive(readme=b"x"))
    return bucket


def base_of(aws: EmbeddedAws, **variables: str) -> tuple[str, str]:
    """
    Host vLLM as a component that is to take adapters; return endpoint and component.
    """
    told = {
        "SM_VLLM_MODEL": "Qwen/Qwen3-0.6B",
        "SM_VLLM_ENABLE_LORA": "true",
        "SM_VLLM_MAX_LORA_RANK": "32",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true",
        **variables,
    }
    endpoint = make_endpoint(aws, make_config(aws))
    model = make_model(aws, image=VLLM, container={"Environment": told})
    return endpoint, make_component(aws, endpoint, model=model)


def adapt(aws: EmbeddedAws, endpoint: str, base: str, artifact: str) -> Untyped:
    """
    Create an adapter, and return what is shown of it.
    """
    sagemaker, name = aws.client("sagemaker"), unique("adapter")
    specification = {
        "BaseInferenceComponentName": base,
        "Container": {"ArtifactUrl": artifact},
    }
    sagemaker.create_inference_component(
        InferenceComponentName=name, EndpointName=endpoint, Specification=specification
    )
    return sagemaker.describe_inference_component(InferenceComponentName=name)


@pytest.mark.parametrize("key", ["fits.tar.gz", "fits/"], ids=["archive", "folder"])
def test_an_adapter(embedded_aws: EmbeddedAws, adapters: str, key: str) -> None:
    """
    It answers by its name; its base's log says when it came and went.
    """
    endpoint, base = base_of(embedded_aws)
    found = adapt(embedded_aws, endpoint, base, f"s3://{adapters}/{key}")
    name = found["InferenceComponentName"]
    assert found["InferenceComponentStatus"] == "InService"
    ours, theirs = (
        ask(embedded_aws, endpoint, _QUESTION, InferenceComponentName=one)["model"]
        for one in (name, base)
    )
    assert (ours, theirs) == (name, "Qwen/Qwen3-0.6B")
    embedded_aws.client("sagemaker").delete_inference_component(
        InferenceComponentName=name
    )
    log = log_of(embedded_aws, f"InferenceComponents/{base}")
    assert f"Loaded new LoRA adapter: name '{name}'" in log
    assert f"Removed LoRA adapter: name '{name}'" in log


@pytest.mark.parametrize(
    ("variables", "key", "told"),
    [
        (
            {},
            "large.tar.gz",
            (
                "with status 500: "
                '{"error":{"message":"LoRA rank 64 is greater than max_lora_rank 32."'
            ),
        ),
        ({}, "empty.tar.gz", "failed: No adapter found for <path>"),
        (
            {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "false"},
            "fits.tar.gz",
            'with status 404: {"detail":"Not Found"}',
        ),
        (
            {"SM_VLLM_ENABLE_LORA": "false"},
            "fits.tar.gz",
            'with status 404: {"detail":"Not Found"}',
        ),
    ],
    ids=["too large", "no adapter", "not allowed", "switched off"],
)
def test_an_adapter_that_is_not_taken(
    embedded_aws: EmbeddedAws,
    adapters: str,
    variables: dict[str, str],
    key: str,
    told: str,
) -> None:
    """
    Its component fails, and says what the container did.
    """
    endpoint, base = base_of(embedded_aws, **variables)
    found = adapt(embedded_aws, endpoint, base, f"s3://{adapters}/{key}")
    assert found["InferenceComponentStatus"] == "Failed"
    assert told in found["FailureReason"]
