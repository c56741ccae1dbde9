"""
A stack stores how its models are reached, and clients read it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from botocore.config import Config

from cdk_sagemaker_llm.client import (
    AsyncLlmClient,
    LlmClient,
    RefusedError,
    Schema,
)
from cdk_sagemaker_llm.local.engines.story import continue_prompt
from tests.deployments import ROOT, Deployer, synthesised

if TYPE_CHECKING:
    import boto3

    from cdk_sagemaker_llm.client import ClientOptions
    from cdk_sagemaker_llm.local import EmbeddedAws

APP = ROOT / "tests" / "local" / "connection_app.py"
STACK = "Connections"
PROMPT = "Who are you?"
STORY = continue_prompt(PROMPT, 8).text


@pytest.fixture(name="outputs", scope="module")
def _outputs(
    deployer: Deployer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """
    Deploy the app, and return the stack's outputs.
    """
    app = synthesised(APP, tmp_path_factory.mktemp("out"))
    outputs = deployer.deploy(app).checked().outputs[STACK]
    yield {key[:-8]: value for key, value in outputs.items()}
    deployer.destroy(app).checked()


@pytest.fixture(name="near")
def _near(embedded_aws: EmbeddedAws, session: boto3.Session) -> ClientOptions:
    """
    What a client on this machine says beside a connection.
    """
    return {
        "session": session,
        "config": Config(proxies={"http": ""}),
        "endpoint_url": embedded_aws.url,
    }


@pytest.mark.usefixtures("outputs")
@pytest.mark.parametrize("name", ["/llm/chat", "/llm/zephyr"])
def test_a_client_streams_from_what_is_stored(
    embedded_aws: EmbeddedAws, near: ClientOptions, name: str
) -> None:
    """
    The name of the parameter is all that an application knows.
    """
    url = embedded_aws.url

    with LlmClient.from_ssm(name, ssm_endpoint_url=url, **near) as client:
        tokens = list(client.stream(PROMPT, max_new_tokens=8))
        chat = client.chat(PROMPT, max_new_tokens=8)
    assert "".join(token.text for token in tokens) == STORY
    assert tokens[-1].finish_reason == "length"
    assert chat.text == STORY


@pytest.mark.usefixtures("outputs")
def test_so_does_a_client_in_asyncio(
    embedded_aws: EmbeddedAws, near: ClientOptions
) -> None:
    """
    The parameter is read beside the loop.
    """

    async def ask() -> str:
        read = AsyncLlmClient.from_ssm(
            "/llm/zephyr", ssm_endpoint_url=embedded_aws.url, **near
        )
        async with await read as client:
            return (await client.generate(PROMPT, max_new_tokens=8)).text

    assert asyncio.run(ask()) == STORY


def test_outputs_say_the_same(
    embedded_aws: EmbeddedAws, outputs: dict[str, str], near: ClientOptions
) -> None:
    """
    A script passes one on as an environment variable.
    """
    ssm = embedded_aws.client("ssm")
    stored = ssm.get_parameter(Name="/llm/zephyr")["Parameter"]["Value"]
    beginning = "HostZephyrComponentConnectionOutputs"
    told = json.loads(stored)
    name, component = (
        outputs[f"{beginning}{each}"]
        for each in ("EndpointName", "InferenceComponentName")
    )

    assert outputs[f"{beginning}Connection"] == stored
    assert told["schema"] == Schema.LMI
    assert told["endpoint_name"] == name
    assert told["inference_component_name"] == component
    assert told["litellm"]["model_id"] == component
    assert outputs[f"{beginning}OpenAiBaseUrl"] == (
        f"https://runtime.sagemaker.us-east-1.amazonaws.com/endpoints/{name}"
        f"/inference-components/{component}/openai/v1"
    )
    with LlmClient.from_connection(stored, **near) as client:
        assert client.generate(PROMPT, max_new_tokens=8).text == STORY


def test_fails_if_there_is_no_such_parameter(
    embedded_aws: EmbeddedAws, near: ClientOptions
) -> None:
    """
    It says what to check.
    """
    with pytest.raises(RefusedError, match="let the caller read it") as caught:
        LlmClient.from_ssm("/llm/none", ssm_endpoint_url=embedded_aws.url, **near)

    assert caught.value.code == "ParameterNotFound"
    assert "'/llm/none'" in str(caught.value)


def test_fails_if_the_parameter_holds_something_else(
    embedded_aws: EmbeddedAws, near: ClientOptions
) -> None:
    """
    Before anything is asked.
    """
    ssm = embedded_aws.client("ssm")
    ssm.put_parameter(Name="/llm/word", Value="chat", Type="String")

    with pytest.raises(ValueError, match="must be JSON with an endpoint_name"):
        LlmClient.from_ssm("/llm/word", ssm_endpoint_url=embedded_aws.url, **near)
    ssm.delete_parameter(Name="/llm/word")
