"""
Streams in both directions, by a stand-in of AWS's SDK, which wants a newer Python.

``aws-sdk-sagemaker-runtime-http2`` 0.12.0 is what it stands in for.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import boto3
import pytest

from cdk_sagemaker_llm.client import (
    AsyncLlmClient,
    ConnectionCutError,
    ContextTooLongError,
    LlmError,
    RefusedError,
    UnavailableError,
)
from cdk_sagemaker_llm.local.aws.untyped import Untyped

SDK = "aws_sdk_sagemaker_runtime_http2"


@dataclass
class Sdk:
    """
    What the stand-in is told to answer, and what it was asked.
    """

    answers: list[Untyped] = field(default_factory=list)
    refusal: Exception | None = None
    settings: dict[str, Untyped] = field(default_factory=dict)
    asked: Untyped = None
    parts: list[Untyped] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    async def send(self, event: Untyped) -> None:
        """
        Take a part.
        """
        self.parts.append(event.value)

    async def close(self) -> None:
        """
        Take no more parts.
        """
        self.closed.append("input")

    async def await_output(self) -> tuple[None, AsyncIterator[Untyped]]:
        """
        Begin to answer.
        """
        if self.refusal is not None:
            raise self.refusal

        async def events() -> AsyncIterator[Untyped]:
            for value in self.answers:
                yield SimpleNamespace(value=value)

        return None, events()


def part(payload: bytes) -> SimpleNamespace:
    """
    Make a part of an answer.
    """
    return SimpleNamespace(bytes_=payload)


def failure(name: str, **more: Untyped) -> Exception:
    """
    Make an error as the SDK has it.
    """
    error: Exception = type(name, (Exception,), {"message": "broke", **more})("broke")
    return error


@pytest.fixture(name="sdk")
def _sdk(monkeypatch: pytest.MonkeyPatch) -> Sdk:
    sdk = Sdk()

    class Config:
        @staticmethod
        async def resolve(**settings: Untyped) -> Untyped:
            sdk.settings = settings
            return settings

    class Client:
        def __init__(self, config: Untyped) -> None:
            assert config is sdk.settings

        async def invoke_endpoint_with_bidirectional_stream(
            self, asked: Untyped
        ) -> Untyped:
            sdk.asked = asked
            return SimpleNamespace(input_stream=sdk, await_output=sdk.await_output)

        async def close(self) -> None:
            sdk.closed.append("client")

    modules: dict[str, dict[str, Untyped]] = {
        "client": {"AsyncSageMakerRuntimeHTTP2Client": Client},
        "config": {"AsyncSageMakerRuntimeHTTP2Config": Config},
        "models": {
            "InvokeEndpointWithBidirectionalStreamInput": SimpleNamespace,
            "RequestPayloadPart": SimpleNamespace,
            "RequestStreamEventPayloadPart": SimpleNamespace,
        },
    }
    named = {f"{SDK}.{name}": names for name, names in modules.items()}
    named |= {SDK: {}, "smithy_http": {}, "smithy_http.aio": {}}
    named["smithy_http.aio.crt"] = {"AWSCRTHTTPClient": lambda: "HTTP/2"}
    for name, names in named.items():
        module = ModuleType(name)
        module.__dict__.update(names)
        monkeypatch.setitem(sys.modules, name, module)
    return sdk


def client(component: str | None = None, **more: Untyped) -> AsyncLlmClient:
    """
    Make a client of an endpoint.
    """
    session = boto3.Session("test", "test", region_name="eu-west-1")
    return AsyncLlmClient("chat", component, session=session, **more)


def test_both_sides_are_open_at_once(sdk: Sdk) -> None:
    """
    What is sent says its kind, and where it goes; at the end all is closed.
    """
    sdk.answers = [part(b"one"), part(b""), part(b"two")]

    async def main() -> list[bytes]:
        caller = client(variant="blue")
        async with caller, caller.bidirectional("/v1/realtime", "model=x") as stream:
            await stream.send("Hello")
            await stream.send(b"\x00", is_complete=False)
            found = [answer async for answer in stream]
            await stream.end()
        return found

    assert asyncio.run(main()) == [b"one", b"two"]
    assert sdk.closed == ["input", "client"]
    assert vars(sdk.asked) == {
        "endpoint_name": "chat",
        "target_variant": "blue",
        "model_invocation_path": "v1/realtime",
        "model_query_string": "model=x",
    }
    assert [vars(sent) for sent in sdk.parts] == [
        {"bytes_": b"Hello", "data_type": "UTF8", "completion_state": "COMPLETE"},
        {"bytes_": b"\x00", "data_type": "BINARY", "completion_state": "PARTIAL"},
    ]
    assert sdk.settings == {
        "region": "eu-west-1",
        "endpoint_uri": "https://runtime.sagemaker.eu-west-1.amazonaws.com:8443",
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
        "aws_session_token": None,
        "transport": "HTTP/2",
    }


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (failure("ModelStreamError"), ConnectionCutError, "container's stream broke"),
        (failure("InternalStreamFailure"), UnavailableError, "SageMaker fails"),
        (failure("InputValidationError"), RefusedError, "SageMaker refuses"),
        (failure("UnknownError", fault="client"), RefusedError, "UnknownError"),
        (failure("SmithyError"), ConnectionCutError, "the connection broke"),
        (
            failure(
                "ModelError",
                original_status_code=400,
                original_message="maximum context length is 10 tokens",
            ),
            ContextTooLongError,
            "status 400",
        ),
    ],
    ids=lambda value: (
        value.__class__.__name__ if isinstance(value, Exception) else None
    ),
)
@pytest.mark.parametrize("is_event", [True, False], ids=["event", "refusal"])
def test_what_goes_wrong_is_of_the_family(
    sdk: Sdk, error: Exception, kind: type[LlmError], told: str, *, is_event: bool
) -> None:
    """
    In the middle or instead of an answer, after what came.
    """
    if is_event:
        sdk.answers = [part(b"one"), error]
    else:
        sdk.refusal = error
    found: list[bytes] = []

    async def main() -> None:
        async with client() as caller, caller.bidirectional() as stream:
            await stream.send("Hello")
            async for answer in stream:
                found.append(answer)  # noqa: PERF401 - what came before an error stays

    with pytest.raises(kind, match=told):
        asyncio.run(main())
    assert found == ([b"one"] if is_event else [])
    assert sdk.closed == ["input", "client"]


def test_fails_if_the_sdk_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The message says what to install.
    """
    monkeypatch.setitem(sys.modules, SDK, None)

    async def main() -> None:
        async with client() as caller, caller.bidirectional():
            pass

    with pytest.raises(
        ImportError, match=r"pip install 'aws-sdk-sagemaker-runtime-htt"
    ):
        asyncio.run(main())


@pytest.mark.usefixtures("sdk")
def test_fails_if_it_is_asked_for_what_there_is_not() -> None:
    """
    Components, paths that are no text, and parts that are neither text nor bytes.
    """

    async def opened(caller: AsyncLlmClient, path: Untyped, part_: Untyped) -> None:
        async with caller, caller.bidirectional(path) as stream:
            await stream.send(part_)

    with pytest.raises(ValueError, match="component must be left out for bidirection"):
        asyncio.run(opened(client("one"), None, "x"))
    with pytest.raises(ValueError, match="path must be a text, got 1"):
        asyncio.run(opened(client(), 1, "x"))
    with pytest.raises(ValueError, match="part must be a text or bytes, got 1"):
        asyncio.run(opened(client(), None, 1))
