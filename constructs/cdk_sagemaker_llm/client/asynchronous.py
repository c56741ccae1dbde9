"""
Asynchronous inference: a request that waits in a queue, and the answer that will lie on
S3, or the error in its place.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.client.answers import Generation
from cdk_sagemaker_llm.client.arguments import check_seconds, check_whole, refuse
from cdk_sagemaker_llm.client.errors import (
    AnswerTimeoutError,
    RefusedError,
    error_of,
    from_boto,
)
from cdk_sagemaker_llm.client.wire.failures import read_failure

if TYPE_CHECKING:
    from cdk_sagemaker_llm.client.connections import Call
    from cdk_sagemaker_llm.client.requests import Message
    from cdk_sagemaker_llm.client.transport import Transport

# botocore 1.44.5: AsyncBodyBlob of the runtime.
_LARGEST_INLINE = 128_000
# Seconds between two looks at S3.
_FIRST_LOOK, _LONGEST_LOOK, _GROWTH = 0.25, 15.0, 1.5
# What the operation takes of what other requests say.
_TAKEN = ("EndpointName", "ContentType", "CustomAttributes", "InferenceId")
_ABSENT, _FORBIDDEN = (
    frozenset({"NoSuchKey", "404"}),
    frozenset({"AccessDenied", "403"}),
)
_FAILED = re.compile(
    r'Received (?:client|server) error \((\d+)\) from \S+ with message "(.*)"\. See ',
    re.DOTALL,
)
_PLACE = re.compile(r"s3://([^/]+)/(.*)", re.DOTALL)
_LISTING = (
    "let the caller read the place, and list its bucket, without which S3 does not say "
    "whether an object is not there yet"
)
_LOST = (
    "allow more time, or read the endpoint's log: without an S3FailurePath no failure "
    "is written"
)


@dataclass(frozen=True, slots=True)
class AsyncRequest:
    """
    The arguments of ``invoke_async``, as that describes them.
    """

    messages: str | Sequence[Message] | None
    input_location: str | None
    request_ttl: int | None
    invocation_timeout: int | None
    s3_endpoint_url: str | None

    def __post_init__(self) -> None:
        place = self.input_location
        if place is not None and not (isinstance(place, str) and _PLACE.match(place)):
            refuse("input_location", "such as s3://bucket/requests/", place)
        if self.messages is None and (place is None or place.endswith("/")):
            way_out = "say what to ask, or name the object with input_location="
            refuse("messages", "a prompt or messages", self.messages, way_out)
        for name in ("request_ttl", "invocation_timeout"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)

    def prepared(
        self, transport: Transport, body: bytes, read: Callable[[bytes], Generation]
    ) -> Callable[[Call], tuple[str, Look]]:
        """
        Return a function that sends the request, and returns its name and where to look
        for the answer.
        """
        said = transport.arguments
        if "InferenceComponentName" in said:
            name = said["InferenceComponentName"]
            way_out = "asynchronous endpoints have no inference components"
            refuse("component", "left out for invoke_async", name, way_out)
        arguments: dict[str, Any] = {key: said[key] for key in _TAKEN if key in said}
        bounds = {
            "RequestTTLSeconds": self.request_ttl,
            "InvocationTimeoutSeconds": self.invocation_timeout,
        }
        arguments |= {key: bound for key, bound in bounds.items() if bound is not None}
        place = self.input_location
        if place is None:
            if len(body) > _LARGEST_INLINE:
                way_out = "give a place on S3: input_location='s3://bucket/requests/'"
                rule = f"at most {_LARGEST_INLINE:,} bytes to be sent inline"
                refuse("the request", rule, len(body), way_out)
            arguments["Body"] = body
        else:
            place += f"{uuid.uuid4()}.json" if place.endswith("/") else ""
            arguments["InputLocation"] = place

        def invoke() -> Mapping[str, Any]:
            runtime = transport.opened.runtime
            try:
                response: Mapping[str, Any] = runtime.invoke_endpoint_async(**arguments)
            except Exception as error:
                raise from_boto(error) from error
            return response

        def send(call: Call) -> tuple[str, Look]:
            store = transport.opened.store(self.s3_endpoint_url)
            if place is not None and self.messages is not None:
                _put(store, place, body, arguments["ContentType"])
            response = transport.patiently(invoke, call)
            answer, failure = (
                response["OutputLocation"],
                response.get("FailureLocation"),
            )
            look = Look(store, read, answer, failure)
            return str(response.get("InferenceId", "")), look

        return send


@dataclass(slots=True)
class Look:
    """
    Looks on S3 for an answer.

    Args:
        store: boto3's client of S3.

        read: Makes an answer of an object.

        answer: Where the answer will lie.

        error: Where an error will lie in its place; ``None`` for nowhere.
    """

    store: Any
    read: Callable[[bytes], Generation]
    answer: str
    error: str | None
    _is_forbidden: bool = False

    def once(self) -> Generation | None:
        answer = self._object(self.answer)
        if answer is not None:
            return self.read(answer)
        error = None if self.error is None else self._object(self.error)
        if error is None:
            return None
        raise _error(error.decode(errors="replace"))

    def too_late(self, timeout: float) -> AnswerTimeoutError:
        remedy = "allow more time: result(timeout=...)"
        if self._is_forbidden:
            remedy = _LISTING
        elif self.error is None:
            remedy = _LOST
        message = f"no answer at {self.answer} within {timeout:g} s"
        return AnswerTimeoutError(message, remedy=remedy)

    def _object(self, location: str) -> bytes | None:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - an extra, and slow

        bucket, key = _place(location)
        try:
            found = self.store.get_object(Bucket=bucket, Key=key)
            body: bytes = found["Body"].read()
        except ClientError as error:
            details = error.response.get("Error", {})
            code = details.get("Code", "")
            if code in _ABSENT:
                return None
            # What is not there is forbidden too, for who may not list the bucket.
            if code in _FORBIDDEN:
                self._is_forbidden = True
                return None
            message = (
                f"S3 refuses to read {location} ({code}): {details.get('Message')}"
            )
            raise RefusedError(message, code=code, remedy=_LISTING) from error
        except Exception as error:
            raise from_boto(error) from error
        return body


@dataclass(frozen=True, slots=True)
class Queued:
    """
    A request that waits in the queue of an asynchronous endpoint.

    Args:
        inference_id: What the service calls it.

        look: Looks for its answer.
    """

    inference_id: str
    # A Look, which is nobody else's to make.
    look: Any

    @property
    def output_location(self) -> str:
        """
        Where on S3 the answer will lie.
        """
        location: str = self.look.answer
        return location

    @property
    def failure_location(self) -> str | None:
        """
        Where an error will lie in its place; ``None`` if it is written nowhere.
        """
        location: str | None = self.look.error
        return location


@dataclass(frozen=True, slots=True)
class PendingAnswer(Queued):
    """
    The answer to a request that waits in the queue of an asynchronous endpoint.

    Args:
        inference_id: What the service calls the request.

        look: Looks for the answer.
    """

    def result(self, timeout: float = 900.0) -> Generation:
        """
        Wait for the answer: S3 is looked at after a quarter of a second at first, and
        ever more seldom then, up to every 15 s.

        Args:
            timeout: After how many seconds to wait no longer; the answer will lie there
                all the same.

        Raises:
            LlmError: If the model failed, or there is no answer yet.
        """
        for pause in pauses(timeout):
            answer: Generation | None = self.look.once()
            if answer is not None:
                return answer
            time.sleep(pause)
        raise self.look.too_late(timeout)


def _put(store: Any, place: str, body: bytes, kind: str) -> None:  # noqa: ANN401 - boto3's clients have no class
    bucket, key = _place(place)
    try:
        store.put_object(Bucket=bucket, Key=key, Body=body, ContentType=kind)
    except Exception as error:
        raise from_boto(error) from error


def _error(words: str) -> Exception:
    """
    Make the exception for what lies in the place of an answer.
    """
    found = _FAILED.search(words)
    if found is None:
        return error_of(read_failure(words))
    failure = read_failure(found[2])
    return error_of(replace(failure, status=int(found[1]) or failure.status))


def _place(location: str) -> tuple[str, str]:
    found = _PLACE.match(location)
    if found is None:
        raise RefusedError(f"the service named no place on S3: {location!r}")
    return found[1], found[2]


def pauses(timeout: float) -> Iterator[float]:
    """
    Walk through the pauses between looks, the last of which ends with the time.
    """
    check_seconds("timeout", timeout)
    end, pause = time.monotonic() + timeout, _FIRST_LOOK
    while (left := end - time.monotonic()) > 0:
        yield min(pause, left)
        pause = min(pause * _GROWTH, _LONGEST_LOOK)
    yield 0.0
