"""
SageMaker's own route for OpenAI's clients: OpenAI's SDK with a token of the official
generator, litellm's provider for OpenAI, LangChain's ChatOpenAI.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.conftest import LIBRARY
from tests.local.bearer import address
from tests.local.hosting_requests import (
    REGISTRY,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    unique,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.clients.conftest import Program

# An import of these libraries takes up to half a minute on a loaded machine.
pytestmark = pytest.mark.timeout(600)

SDK = "sagemaker_v3"
VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
ENVIRONMENT = {
    "SM_VLLM_MODEL": "Qwen/Qwen3-4B",
    "SM_VLLM_ENABLE_AUTO_TOOL_CHOICE": "true",
    "SM_VLLM_TOOL_CALL_PARSER": "hermes",
}


@pytest.fixture(name="model", scope="module")
def _model(aws: EmbeddedAws) -> str:
    return make_model(aws, image=VLLM, container={"Environment": ENVIRONMENT})


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(aws: EmbeddedAws, model: str) -> str:
    return serve(aws, model)


@pytest.fixture(name="base_url", scope="module")
def _base_url(aws: EmbeddedAws, endpoint: str) -> str:
    return aws.url + address(endpoint)


@pytest.fixture(name="refusals", scope="module")
def _refusals(program: Program, base_url: str) -> dict[str, Any]:
    return program(SDK, "openai_chats", "refusals", base_url)


def serve(aws: EmbeddedAws, model: str) -> str:
    """
    Make an endpoint of a model.
    """
    variant = {"ModelName": model, "InstanceType": "ml.g6.2xlarge"}
    return make_endpoint(aws, make_config(aws, variant=variant))


def test_openais_sdk(program: Program, base_url: str) -> None:
    """
    At once, streamed, with a tool, and fifty streams at the same time.
    """
    said = program(SDK, "openai_chats", "chats", base_url)

    assert len(said["plain"].split()) > 5
    assert said["reason"] == "length"
    assert "".join(said["pieces"]) == said["plain"]
    assert len([piece for piece in said["pieces"] if piece]) == 12
    assert said["counted"] == 12
    assert said["tool"] == "weather"
    assert isinstance(said["arguments"], dict)
    assert said["later"] == [said["plain"]] * 50


def test_openais_sdk_at_a_component(
    aws: EmbeddedAws, program: Program, model: str
) -> None:
    """
    Which the address names.
    """
    host = make_endpoint(aws, make_config(aws))
    component = make_component(aws, host, model=model)

    url = aws.url + address(host, component)

    assert program(SDK, "openai_chats", "chats", url)["plain"]


def test_a_token_of_the_generator_is_taken_and_others_are_not(
    refusals: dict[str, Any],
) -> None:
    """
    The SDK raises what it has for the status, and does not try again.
    """
    assert refusals["chat"] == []
    for which, words in (
        ("wrong token", "Please make sure your API Key is valid"),
        ("old token", "Bearer Token has expired"),
    ):
        *known, message = refusals[which]
        assert known == ["PermissionDeniedError", 403, "access_denied"]
        assert words in message


def test_what_the_container_refuses_reaches_the_sdk(refusals: dict[str, Any]) -> None:
    """
    With the container's own status.
    """
    long, wrong = refusals["too long"], refusals["wrong model"]

    assert long[:3] == ["BadRequestError", 400, "model_error"]
    assert "max_tokens=10000000 cannot be greater than" in long[3]
    assert wrong[:3] == ["NotFoundError", 404, "model_error"]
    assert "The model `gpt-5` does not exist." in wrong[3]


@pytest.mark.parametrize("what", ["models", "embeddings", "completions", "responses"])
def test_the_route_has_chats_alone(refusals: dict[str, Any], what: str) -> None:
    """
    As far as is known of the service, and the message says so.
    """
    *known, message = refusals[what]

    assert known == ["NotFoundError", 404, "not_found"]
    assert "POST /v1/chat/completions alone" in message


def test_a_role_needs_both_grants(
    aws: EmbeddedAws, program: Program, endpoint: str, base_url: str
) -> None:
    """
    The generator signs with whatever credentials there are, and the service refuses.
    """
    name, iam = unique("caller"), aws.client("iam")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")["Role"]
    session = aws.client("sts").assume_role(RoleArn=role["Arn"], RoleSessionName="me")
    keys = session["Credentials"]
    variables = {
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
    }
    place = f"arn:aws:sagemaker:us-east-1:{aws.account}:endpoint/{endpoint}"

    def told(**grants: str) -> list[Any]:
        statements = [
            {"Effect": "Allow", "Action": f"sagemaker:{action}", "Resource": resource}
            for action, resource in grants.items()
        ]
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document)
        asked = ("openai_chats", "refusals", base_url)
        refused: list[Any] = program(SDK, *asked, **variables)["chat"]
        return refused

    *known, message = told(InvokeEndpoint=place)
    assert known == ["PermissionDeniedError", 403, "access_denied"]
    assert "not authorized to perform: sagemaker:CallWithBearerToken" in message
    assert told(InvokeEndpoint=place, CallWithBearerToken="*") == []


def test_embeddings_by_openais_sdk_go_by_invoke_endpoint(
    aws: EmbeddedAws, program: Program
) -> None:
    """
    With a transport that hands its requests to boto3.
    """
    environment = {"SM_VLLM_MODEL": "Qwen/Qwen3-Embedding-0.6B"}
    model = make_model(aws, image=VLLM, container={"Environment": environment})

    said = program("langchain", "openai_embeddings", serve(aws, model))

    assert said == {"sizes": [1024, 1024], "counted": 2}


@pytest.fixture(name="tokens", scope="module")
def _tokens(program: Program) -> dict[str, str]:
    return program(SDK, "bearer_token", PYTHONPATH=LIBRARY)


@pytest.fixture(name="token", scope="module")
def _token(tokens: dict[str, str]) -> str:
    """
    A token of the official generator, for clients in other environments.
    """
    return tokens["token"]


def test_the_librarys_own_token_is_the_generators(tokens: dict[str, str]) -> None:
    """
    Byte for byte, where both are of one second.
    """
    assert tokens["own"] == tokens["token"]


def test_litellm(program: Program, base_url: str, token: str) -> None:
    """
    ``openai/``, with an address and a key: at once, streamed, and with a tool.
    """
    said = program("litellm", "litellm_openai", base_url, token)

    texts = {"".join(said[key]).strip() for key in ("streamed", "streamed_later")}
    assert texts == {said["plain"].strip()} == {said["later"].strip()}
    assert len(said["streamed"]) > 5
    assert said["tool"] == "weather"
    assert said["refused"] == 403


def test_chat_openai(program: Program, base_url: str, token: str) -> None:
    """
    ``invoke``, ``stream`` and ``bind_tools``.
    """
    said = program("langchain", "chat_openai", base_url, token)

    assert "".join(said["pieces"]) == said["plain"]
    assert len(said["pieces"]) == said["counted"] == 12
    assert said["tool"] == "weather"
