"""
Clients of a server that misbehaves, and of the embedded AWS.
"""

from __future__ import annotations

from collections.abc import Callable

import boto3
import pytest
from botocore.config import Config

from cdk_sagemaker_llm.client import AsyncLlmClient, LlmClient
from cdk_sagemaker_llm.local.aws.untyped import Untyped

Connect = Callable[..., LlmClient]
ConnectAsync = Callable[..., AsyncLlmClient]


@pytest.fixture(name="session", scope="session")
def _session() -> boto3.Session:
    """
    One for all clients: it keeps the service models that it has read.
    """
    return boto3.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106 - no secret: any value does
        region_name="us-east-1",
    )


@pytest.fixture(name="connect")
def _connect(session: boto3.Session) -> Connect:
    """
    Make a client of an address.
    """

    def connect(
        url: str, endpoint: str = "chat", component: str | None = None, **more: Untyped
    ) -> LlmClient:
        direct = Config(proxies={"http": ""})
        given: dict[str, Untyped] = {"session": session, "config": direct, **more}
        return LlmClient(endpoint, component, endpoint_url=url, **given)

    return connect


@pytest.fixture(name="connect_async")
def _connect_async(session: boto3.Session) -> ConnectAsync:
    """
    Make a client for asyncio of an address.
    """

    def connect(url: str, endpoint: str = "chat", **more: Untyped) -> AsyncLlmClient:
        direct = Config(proxies={"http": ""})
        given: dict[str, Untyped] = {"session": session, "config": direct, **more}
        return AsyncLlmClient(endpoint, endpoint_url=url, **given)

    return connect
