"""
Streams in both directions: a model that answers while it is still being asked.

Neither boto3 nor botocore has the operation, which is of HTTP/2 alone; AWS's newer SDK
for Python has.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import Any

from cdk_sagemaker_llm.client.arguments import check_text, refuse
from cdk_sagemaker_llm.client.connections import Call
from cdk_sagemaker_llm.client.errors import (
    ConnectionCutError,
    LlmError,
    RefusedError,
    UnavailableError,
    error_of,
)
from cdk_sagemaker_llm.client.transport import Transport
from cdk_sagemaker_llm.client.wire.failures import Failure, read_failure

# Where the service listens for HTTP/2, as AWS's examples have it.
_PORT = 8443
# How many seconds it takes at most to leave a stream that broke.
_FAREWELL = 0.5
_SDK = "aws_sdk_sagemaker_runtime_http2"
_INSTALL = (
    "bidirectional streams need AWS's SDK for HTTP/2, from 0.12 on, and Python 3.12 or "
    "newer: pip install 'aws-sdk-sagemaker-runtime-http2[awscrt]'"
)


class BidirectionalStream:
    """
    A stream that is written to and read from at the same time.

    Args:
        models: The SDK's module of shapes.

        duplex: The SDK's stream.
    """

    def __init__(self, models: Any, duplex: Any) -> None:  # noqa: ANN401 - the SDK is an extra
        self._models = models
        self._duplex = duplex
        self._has_ended = False
        self._is_broken = False

    async def send(self, part: str | bytes, *, is_complete: bool = True) -> None:
        """
        Send a part.

        Args:
            part: A text, or bytes.

            is_complete: Whether it is the last part of its message. If omitted, it is.
        """
        if not isinstance(part, (str, bytes)):
            refuse("part", "a text or bytes", part)
        is_text = isinstance(part, str)
        payload = self._models.RequestPayloadPart(
            bytes_=part.encode() if isinstance(part, str) else part,
            data_type="UTF8" if is_text else "BINARY",
            completion_state="COMPLETE" if is_complete else "PARTIAL",
        )
        event = self._models.RequestStreamEventPayloadPart(value=payload)
        try:
            await self._duplex.input_stream.send(event)
        except Exception as error:
            raise self._broken(error) from error

    async def end(self) -> None:
        """
        Say that no more is sent; what is still answered can be read.
        """
        if not self._has_ended:
            self._has_ended = True
            await self._duplex.input_stream.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """
        Walk through the parts of the answer, until the model or this program ends it.

        Raises:
            LlmError: If there is none, or it breaks off.
        """
        try:
            _, events = await self._duplex.await_output()
            async for event in events:
                if part := _payload(event):
                    yield part
        except Exception as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> LlmError:
        self._is_broken = True
        return _from_sdk(error)

    async def close(self) -> None:
        """
        End the stream, however it went.
        """
        if not self._is_broken:
            await self.end()
            return
        # Of what broke, perhaps nobody takes what is still to be sent.
        with suppress(Exception):
            await asyncio.wait_for(self.end(), _FAREWELL)


@asynccontextmanager
async def bidirectional(
    transport: Transport, path: str | None, query: str | None, endpoint_url: str | None
) -> AsyncIterator[BidirectionalStream]:
    """
    Open a stream, and close it at the end.
    """
    for name, value in (("path", path), ("query", query)):
        if value is not None:
            check_text(name, value)
    said = transport.arguments
    if "InferenceComponentName" in said:
        name, way_out = said["InferenceComponentName"], "the service takes none here"
        refuse("component", "left out for bidirectional streams", name, way_out)
    models, client = await _client(transport, endpoint_url)
    request = models.InvokeEndpointWithBidirectionalStreamInput(
        endpoint_name=said["EndpointName"],
        target_variant=said.get("TargetVariant"),
        # The service writes the slash itself, and refuses another.
        model_invocation_path=path and path.lstrip("/"),
        model_query_string=query,
    )
    # It may be open for as long as it is of use.
    async with Call(None, transport.opened.places):
        try:
            duplex = await client.invoke_endpoint_with_bidirectional_stream(request)
        except Exception as error:
            raise _from_sdk(error) from error
        stream = BidirectionalStream(models, duplex)
        try:
            yield stream
        finally:
            await stream.close()
            await client.close()


def _payload(event: Any) -> bytes:  # noqa: ANN401 - the SDK's
    value = getattr(event, "value", None)
    if isinstance(value, Exception):
        raise value
    payload: bytes | None = getattr(value, "bytes_", None)
    return payload or b""


async def _client(transport: Transport, endpoint_url: str | None) -> tuple[Any, Any]:
    try:
        models = import_module(f"{_SDK}.models")
        client = import_module(f"{_SDK}.client").AsyncSageMakerRuntimeHTTP2Client
        config = import_module(f"{_SDK}.config").AsyncSageMakerRuntimeHTTP2Config
        # What it takes otherwise knows no HTTP/2.
        http = import_module("smithy_http.aio.crt").AWSCRTHTTPClient()
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_INSTALL, name=error.name) from error
    except Exception as error:
        # An older release, or one without awscrt.
        raise ImportError(_INSTALL) from error
    runtime, keys = transport.opened.runtime, transport.opened.credentials()
    settings = await config.resolve(
        region=runtime.meta.region_name,
        endpoint_uri=endpoint_url or f"{runtime.meta.endpoint_url}:{_PORT}",
        aws_access_key_id=keys.access_key,
        aws_secret_access_key=keys.secret_key,
        aws_session_token=keys.token,
        transport=http,
    )
    return models, client(settings)


def _from_sdk(error: Exception) -> LlmError:
    """
    Make the exception of this family for one of the SDK's, which it knows by its name.
    """
    if isinstance(error, LlmError):
        return error
    name, message = type(error).__name__, str(getattr(error, "message", "") or error)
    if name == "ModelError":
        said = getattr(error, "original_message", None) or message
        failure: Failure = read_failure(said)
        status = getattr(error, "original_status_code", None)
        return error_of(Failure(failure.message, status or failure.status))
    if name == "ModelStreamError":
        return ConnectionCutError(f"the container's stream broke: {message}")
    if name in {
        "InternalServerError",
        "InternalStreamFailure",
        "ServiceUnavailableError",
    }:
        return UnavailableError(f"SageMaker fails ({name}): {message}")
    if getattr(error, "fault", None) == "client" or name == "InputValidationError":
        return RefusedError(f"SageMaker refuses ({name}): {message}", code=name)
    return ConnectionCutError(f"the connection broke: {name}: {message}")
