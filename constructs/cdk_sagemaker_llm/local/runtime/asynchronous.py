"""
``InvokeEndpointAsync``: the request lies in S3, and so will the answer.

The topics of the endpoint are told of each.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from werkzeug.datastructures import Headers
from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.protocols import JSON, json_error
from cdk_sagemaker_llm.local.aws.surroundings import Location
from cdk_sagemaker_llm.local.hosting import queueing
from cdk_sagemaker_llm.local.hosting.traffic import Processed
from cdk_sagemaker_llm.local.hosting.world import Endpoint, World
from cdk_sagemaker_llm.local.runtime.processing import Outcome, lost, process

_PREFIX = "X-Amzn-SageMaker-"
# botocore 1.44.5: RequestTTLSeconds and InvocationTimeoutSeconds, with the defaults of
# the API reference: 6 hours, and 15 minutes.
_TTL_SECONDS, _TIMEOUT_SECONDS = 21_600, 900
# botocore 1.44.5: IncludeInferenceResponseIn.
_LARGEST_INCLUDED = 128 * 1024


@dataclass(frozen=True, slots=True)
class _Places:
    """
    Where the answer and the failure of a request are written.
    """

    answer: str
    failure: str | None


@dataclass(kw_only=True, eq=False)
class _QueueEntry:
    """
    A request on its way through the queue of an endpoint.
    """

    world: World
    endpoint: Endpoint
    output: dict[str, Any]
    places: _Places
    inference: str
    source: str
    kind: str
    received: float
    expires: float
    patience: float

    def start(self) -> tuple[float, Callable[[], object]]:
        """
        Have the container answer what lies in S3.
        """
        location = Location.of(self.source)
        body = self.world.surroundings.read_object(location) if location else None
        if body is None:
            found = lost(f"Failed to download the request from {self.source}")
        else:
            found = process(self.world, self.endpoint.name, body, self.patience)
        started = self.world.clock.moment
        end = partial(self._end, found, started, downloaded=body is not None)
        return found.seconds, end

    def expire(self) -> None:
        """
        Give up, as one that failed.
        """
        waited = lost("The request has waited longer than its RequestTTLSeconds")
        self._end(waited, self.world.clock.moment, expired=True)

    def _end(
        self,
        found: Outcome,
        started: float,
        *,
        downloaded: bool = True,
        expired: bool = False,
    ) -> None:
        place = self.places.failure if found.failure else self.places.answer
        self._write(place, found.body)
        news = News(
            endpoint=self.endpoint.name,
            inference=self.inference,
            source=self.source,
            kind=self.kind,
            received=self.received,
            place=place,
            answer=found.body,
            answer_kind=found.kind,
            failure=found.failure,
        )
        first = self.endpoint.config["ProductionVariants"][0]["VariantName"]
        self.world.traffic.processed(
            Processed(
                endpoint=self.endpoint.name,
                variant=found.variant or first,
                received=self.received,
                started=started,
                ended=self.world.clock.moment,
                status=found.status,
                failed=bool(found.failure),
                expired=expired,
                downloaded=downloaded,
                notified=notify(self.world, self.output, news),
            )
        )

    def _write(self, url: str | None, contents: bytes) -> None:
        location = Location.of(url) if url else None
        if location is not None:
            self.world.surroundings.write_object(location, contents)


def refuse_waiting(world: World, endpoint: str) -> Response | None:
    """
    Refuse a client that wants to wait for an endpoint of asynchronous inference.
    """
    found = world.endpoints.find(endpoint)
    if found is None or not found.is_asynchronous:
        return None
    return _refusal(
        f"Endpoint {endpoint} of account {world.account} is for asynchronous "
        "inference: invoke it by InvokeEndpointAsync."
    )


def answer(world: World, request: Request, endpoint: str) -> Response:
    """
    Answer ``InvokeEndpointAsync``; where nothing takes time, and an instance serves,
    the container has been asked when it returns.
    """
    found = world.endpoints.find(endpoint)
    if found is None:
        return _refusal(f"Endpoint {endpoint} of account {world.account} not found.")
    if not found.is_asynchronous:
        return _refusal(
            f"Endpoint {endpoint} of account {world.account} has no "
            "AsyncInferenceConfig: invoke it by InvokeEndpoint."
        )
    headers = request.headers
    source = headers.get(f"{_PREFIX}InputLocation")
    if not source:
        return _refusal("InputLocation is required.")
    inference = headers.get(f"{_PREFIX}Inference-Id") or str(uuid.uuid4())
    # If no place is configured, it is SageMaker's own bucket of the account.
    own = f"s3://sagemaker-{world.region}-{world.account}"
    configured = found.config["AsyncInferenceConfig"]["OutputConfig"]
    output = {"S3OutputPath": own, **configured}
    places, now = _places(output, headers, inference), world.clock.moment
    waiting = _QueueEntry(
        world=world,
        endpoint=found,
        output=output,
        places=places,
        inference=inference,
        source=source,
        kind=headers.get(f"{_PREFIX}Content-Type", JSON),
        received=now,
        expires=now + _seconds(headers, "RequestTTLSeconds", _TTL_SECONDS),
        patience=_seconds(headers, "InvocationTimeoutSeconds", _TIMEOUT_SECONDS),
    )
    queueing.put(world, found, waiting)
    extra = {f"{_PREFIX}OutputLocation": places.answer}
    if places.failure:
        extra[f"{_PREFIX}FailureLocation"] = places.failure
    body = json.dumps({"InferenceId": inference})
    return Response(body, 202, headers=extra, content_type=JSON)


def _seconds(headers: Headers, name: str, otherwise: int) -> float:
    return float(headers.get(f"{_PREFIX}{name}") or otherwise)


def _places(output: dict[str, Any], headers: Headers, inference: str) -> _Places:
    extension = headers.get(f"{_PREFIX}S3OutputPathExtension", "").strip("/")
    name = headers.get(f"{_PREFIX}Filename") or f"{inference}.out"

    def under(path: str, file: str) -> str:
        return "/".join(part for part in (path.rstrip("/"), extension, file) if part)

    failures = output.get("S3FailurePath")
    stem = name.removesuffix(".out")
    return _Places(
        under(output["S3OutputPath"], name),
        under(failures, f"{stem}-error.out") if failures else None,
    )


def _refusal(message: str) -> Response:
    error = AwsError("ValidationError", message)
    return json_error(error, Message=message)


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    """
    How a request ended.

    Args:
        endpoint: The endpoint's name.

        inference: The request's identifier.

        source: Where the request lies.

        kind: The content type of the request.

        received: When it came.

        place: Where the answer lies; ``None`` if there is none.

        answer: The answer, or what is left of it.

        answer_kind: The content type of the answer.

        failure: Why it failed; empty if it did not.
    """

    endpoint: str
    inference: str
    source: str
    kind: str
    received: float
    place: str | None
    answer: bytes
    answer_kind: str
    failure: str = ""


def notify(world: World, config: dict[str, Any], news: News) -> bool:
    """
    Tell the topic that a configuration names for such an end, if it names one.

    Args:
        world: Where.

        config: The output configuration of the endpoint.

        news: How the request ended.

    Returns:
        Whether every topic that is named could be told.
    """
    topics = config.get("NotificationConfig", {})
    name = "ErrorTopic" if news.failure else "SuccessTopic"
    if name not in topics:
        return True
    topic = "ERROR" if news.failure else "SUCCESS"
    included = f"{topic}_NOTIFICATION_TOPIC" in topics.get(
        "IncludeInferenceResponseIn", ()
    )
    message = _message(world, news, included=included)
    return world.surroundings.publish(topics[name], json.dumps(message))


def _message(world: World, news: News, *, included: bool) -> dict[str, Any]:
    # The members, as notifications of the service have them.
    message: dict[str, Any] = {
        "awsRegion": world.region,
        "eventTime": _timestamp(world.clock.moment),
        "receivedTime": _timestamp(news.received),
        "invocationStatus": "Failed" if news.failure else "Completed",
        "requestParameters": {
            "contentType": news.kind,
            "endpointName": news.endpoint,
            "inputLocation": news.source,
        },
        "inferenceId": news.inference,
        "eventVersion": "1.0",
        "eventSource": "aws:sagemaker",
        "eventName": "InferenceResult",
    }
    if news.failure:
        message["failureReason"] = news.failure
    if news.place:
        message["responseParameters"] = {
            "contentType": news.answer_kind,
            "outputLocation": news.place,
        }
    if included and len(news.answer) <= _LARGEST_INCLUDED:
        message["responseBody"] = {
            "content": base64.b64encode(news.answer).decode(),
            "encoding": "BASE64",
        }
    return message


def _timestamp(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
