"""
``InvokeEndpointAsync``: the request lies in S3 or comes along, the answer will lie in
S3.

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

from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.protocols import json_error
from cdk_sagemaker_llm.local.aws.surroundings import Location
from cdk_sagemaker_llm.local.engines.containers import JSON
from cdk_sagemaker_llm.local.hosting import queueing
from cdk_sagemaker_llm.local.hosting.traffic import Processed
from cdk_sagemaker_llm.local.hosting.world import Endpoint, World
from cdk_sagemaker_llm.local.runtime.invocations import Outcome, ask, find_route

_PREFIX = "X-Amzn-SageMaker-"
# botocore 1.44.5: RequestTTLSeconds and InvocationTimeoutSeconds, with the defaults of
# the API reference: 6 hours, and 15 minutes.
_TTL_SECONDS, _TIMEOUT_SECONDS = 21_600, 900
# botocore 1.44.5: AsyncBodyBlob.
_LARGEST_INLINE = 128_000
# botocore 1.44.5: IncludeInferenceResponseIn.
_LARGEST_INCLUDED = 128 * 1024


@dataclass(kw_only=True, eq=False)
class _QueueEntry:
    """
    A request on its way through the queue of an endpoint.
    """

    world: World
    endpoint: Endpoint
    output: dict[str, Any]
    answer_place: str
    failure_place: str | None
    inference: str
    source: str | None
    inline: bytes
    kind: str
    received: float
    expires: float
    patience: float

    def start(self) -> tuple[float, Callable[[], object]]:
        """
        Have the container answer what lies in S3, or has come along.
        """
        body: bytes | None = self.inline
        if self.source is not None:
            location = Location.of(self.source)
            body = self.world.surroundings.read_object(location) if location else None
        found = self._answer(body)
        started = self.world.clock.moment
        end = partial(self._end, found, started, downloaded=body is not None)
        return found.seconds, end

    def expire(self) -> None:
        waited = Outcome.lost(
            "The request has waited longer than its RequestTTLSeconds"
        )
        self._end(waited, self.world.clock.moment, expired=True)

    def _answer(self, body: bytes | None) -> Outcome:
        if body is None:
            return Outcome.lost(f"Failed to download the request from {self.source}")
        try:
            route = find_route(self.world, self.endpoint.name)
        except AwsError as error:
            return Outcome.lost(error.message)
        return ask(self.world, route, body, self.patience)

    def _end(
        self,
        found: Outcome,
        started: float,
        *,
        downloaded: bool = True,
        expired: bool = False,
    ) -> None:
        place = self.failure_place if found.failure else self.answer_place
        location = Location.of(place) if place else None
        if location is not None:
            self.world.surroundings.write_object(location, found.body)
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
                notified=self._notify(found, place),
            )
        )

    def _notify(self, found: Outcome, place: str | None) -> bool:
        """
        Tell the topic for such an end, if one is named; return whether it could be.
        """
        topics = self.output.get("NotificationConfig", {})
        name = "ErrorTopic" if found.failure else "SuccessTopic"
        if name not in topics:
            return True
        word = "ERROR" if found.failure else "SUCCESS"
        included = topics.get("IncludeInferenceResponseIn", ())
        message = self._message(found, place)
        if (
            f"{word}_NOTIFICATION_TOPIC" in included
            and len(found.body) <= _LARGEST_INCLUDED
        ):
            message["responseBody"] = {
                "content": base64.b64encode(found.body).decode(),
                "encoding": "BASE64",
            }
        surroundings = self.world.surroundings
        return surroundings.publish(topics[name], json.dumps(message))

    def _message(self, found: Outcome, place: str | None) -> dict[str, Any]:
        # The members, as notifications of the service have them.
        message: dict[str, Any] = {
            "awsRegion": self.world.region,
            "eventTime": _timestamp(self.world.clock.moment),
            "receivedTime": _timestamp(self.received),
            "invocationStatus": "Failed" if found.failure else "Completed",
            "requestParameters": {
                "contentType": self.kind,
                "endpointName": self.endpoint.name,
                **({"inputLocation": self.source} if self.source else {}),
            },
            "inferenceId": self.inference,
            "eventVersion": "1.0",
            "eventSource": "aws:sagemaker",
            "eventName": "InferenceResult",
        }
        if found.failure:
            message["failureReason"] = found.failure
        if place:
            message["responseParameters"] = {
                "contentType": found.kind,
                "outputLocation": place,
            }
        return message


def _timestamp(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def refuse_waiting(world: World, endpoint: str) -> Response | None:
    """
    Refuse a client that wants to wait for an endpoint of asynchronous inference.
    """
    message = reason_not_to_wait(world, endpoint)
    return _refusal(message) if message else None


def reason_not_to_wait(world: World, endpoint: str) -> str:
    """
    Say why a client cannot wait for an endpoint; nothing if it can.
    """
    found = world.endpoints.find(endpoint)
    if found is None or not found.is_asynchronous:
        return ""
    return (
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
    inline = request.get_data()
    if bool(source) == bool(inline):
        return _refusal("Provide exactly one of Body and InputLocation.")
    if len(inline) > _LARGEST_INLINE:
        return _refusal(f"Body is larger than {_LARGEST_INLINE} bytes.")
    inference = headers.get(f"{_PREFIX}Inference-Id") or str(uuid.uuid4())
    # If no place is configured, it is SageMaker's own bucket of the account.
    own = f"s3://sagemaker-{world.region}-{world.account}"
    configured = found.config["AsyncInferenceConfig"]["OutputConfig"]
    output = {"S3OutputPath": own, **configured}
    extension = headers.get(f"{_PREFIX}S3OutputPathExtension", "").strip("/")
    file = headers.get(f"{_PREFIX}Filename") or f"{inference}.out"

    def under(path: str, name: str) -> str:
        return "/".join(part for part in (path.rstrip("/"), extension, name) if part)

    def seconds(name: str, otherwise: int) -> float:
        return float(headers.get(f"{_PREFIX}{name}") or otherwise)

    answers = under(output["S3OutputPath"], file)
    failures = output.get("S3FailurePath")
    if failures:
        failures = under(failures, f"{file.removesuffix('.out')}-error.out")
    now = world.clock.moment
    waiting = _QueueEntry(
        world=world,
        endpoint=found,
        output=output,
        answer_place=answers,
        failure_place=failures,
        inference=inference,
        source=source or None,
        inline=inline,
        kind=headers.get(f"{_PREFIX}Content-Type", JSON),
        received=now,
        expires=now + seconds("RequestTTLSeconds", _TTL_SECONDS),
        patience=seconds("InvocationTimeoutSeconds", _TIMEOUT_SECONDS),
    )
    queueing.put(world, found, waiting)
    extra = {f"{_PREFIX}OutputLocation": answers}
    if failures:
        extra[f"{_PREFIX}FailureLocation"] = failures
    body = json.dumps({"InferenceId": inference})
    return Response(body, 202, headers=extra, content_type=JSON)


def _refusal(message: str) -> Response:
    error = AwsError("ValidationError", message)
    return json_error(error, Message=message)
