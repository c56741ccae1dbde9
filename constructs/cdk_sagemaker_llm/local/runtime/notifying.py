"""
What the topics of an asynchronous endpoint are told of a request.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.local.sagemaker.world import World

# botocore 1.44.5: IncludeInferenceResponseIn.
_LARGEST_INCLUDED = 128 * 1024


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
    wanted = "ERROR" if news.failure else "SUCCESS"
    included = f"{wanted}_NOTIFICATION_TOPIC" in topics.get(
        "IncludeInferenceResponseIn", ()
    )
    message = _message(world, news, included=included)
    return world.surroundings.publish(topics[name], json.dumps(message))


def _message(world: World, news: News, *, included: bool) -> dict[str, Any]:
    # The members, as notifications of the service have them.
    told: dict[str, Any] = {
        "awsRegion": world.region,
        "eventTime": _written(world.clock.moment),
        "receivedTime": _written(news.received),
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
        told["failureReason"] = news.failure
    if news.place:
        told["responseParameters"] = {
            "contentType": news.answer_kind,
            "outputLocation": news.place,
        }
    if included and len(news.answer) <= _LARGEST_INCLUDED:
        told["responseBody"] = {
            "content": base64.b64encode(news.answer).decode(),
            "encoding": "BASE64",
        }
    return told


def _written(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
