"""
Connections as text: what a client takes from them, and what it refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import boto3
import pytest
from botocore.config import Config

from cdk_sagemaker_llm.client import ClientOptions, LlmError, Schema
from cdk_sagemaker_llm.client.stored import reached, stored

CHAT = {
    "endpoint_name": "chat",
    "inference_component_name": "llama",
    "region": "eu-west-1",
    "schema": "tgi",
    "openai_base_url": "https://example.com",
    "litellm": {"model": "sagemaker_chat/chat"},
    "something": "newer",
}


def test_a_client_takes_names_region_and_schema() -> None:
    """
    And leaves what is for others.
    """
    assert reached(json.dumps(CHAT), {}) == {
        "endpoint": "chat",
        "component": "llama",
        "region": "eu-west-1",
        "schema": "tgi",
    }


def test_an_endpoint_alone_is_enough() -> None:
    """
    The client's own defaults do for the rest.
    """
    assert reached('{"endpoint_name": "chat"}', {}) == {"endpoint": "chat"}
    assert reached('{"endpoint_name": "chat", "schema": null}', {}) == {
        "endpoint": "chat"
    }


@pytest.mark.parametrize(
    "options",
    [{"component": "mistral"}, {"schema": Schema.LMI}, {"retries": 0}],
    ids=["component", "schema", "retries"],
)
def test_what_is_said_beside_it_counts(options: ClientOptions) -> None:
    """
    A host's connection serves for each of its components.
    """
    found: Mapping[str, object] = reached(json.dumps(CHAT), options)

    assert found.items() >= options.items()
    assert found["endpoint"] == "chat"


@pytest.mark.parametrize(
    "text", ["", "chat", "[]", "{}", '{"endpoint_name": 1}', '{"endpoint": "chat"}']
)
def test_fails_if_it_is_no_connection(text: str) -> None:
    """
    The message says who writes one.
    """
    with pytest.raises(
        ValueError, match="must be JSON with an endpoint_name, as store"
    ):
        reached(text, {})


def test_a_parameter_is_read_by_the_same_proxy() -> None:
    """
    Where it is the only way out, Systems Manager is behind it too.
    """
    nobody = "http://127.0.0.1:1"
    options: ClientOptions = {
        "session": boto3.Session("test", "test"),
        "config": Config(proxies={"http": nobody}, retries={"total_max_attempts": 1}),
    }

    with pytest.raises(LlmError, match="Failed to connect to proxy"):
        stored(
            "/llm/chat", options, region="eu-west-1", ssm_endpoint_url=f"{nobody}/ssm"
        )
