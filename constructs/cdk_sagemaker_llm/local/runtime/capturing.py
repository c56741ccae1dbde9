"""
Data capture: requests and answers that are kept in S3, as lines of JSON.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from werkzeug.datastructures import Headers

from cdk_sagemaker_llm.local.aws.protocols import JSON
from cdk_sagemaker_llm.local.hosting.surroundings import Location
from cdk_sagemaker_llm.local.hosting.world import World
from cdk_sagemaker_llm.local.runtime.invocations import Route

_BOTH = "InputAndOutput"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """
    What a client sent.

    Args:
        body: The request.

        kind: Its content type.

        inference: The identifier that the client gave it; empty for none.

        headers: Its other headers.
    """

    body: bytes
    kind: str = JSON
    inference: str = ""
    headers: Headers = field(default_factory=Headers)


def capture(
    world: World, route: Route, sent: Sent, answer: bytes, answer_kind: str
) -> None:
    """
    Keep a request and its answer, if they are among those that are kept.

    Args:
        world: Where.

        route: Who answered.

        sent: The request.

        answer: The whole answer.

        answer_kind: Its content type.
    """
    config = route.endpoint.config.get("DataCaptureConfig")
    if not config or not config.get("EnableCapture", True):
        return
    if not route.endpoint.is_due(
        f"capture {route.variant}", config["InitialSamplingPercentage"] / 100
    ):
        return
    modes = {option["CaptureMode"] for option in config["CaptureOptions"]}
    captured = {}
    if modes & {"Input", _BOTH}:
        captured["endpointInput"] = _written(config, sent.body, sent.kind, "INPUT")
    if modes & {"Output", _BOTH}:
        captured["endpointOutput"] = _written(config, answer, answer_kind, "OUTPUT")
    now = datetime.fromtimestamp(world.clock.moment, UTC)
    event = {"eventId": str(uuid.uuid4()), "inferenceTime": f"{now:%Y-%m-%dT%H:%M:%SZ}"}
    if sent.inference:
        event["inferenceId"] = sent.inference
    line = {"captureData": captured, "eventMetadata": event, "eventVersion": "0"}
    place = Location.of("/".join(_path(config, route, now)))
    if place is not None:
        world.surroundings.write_object(place, f"{json.dumps(line)}\n".encode())


def _path(config: dict[str, Any], route: Route, now: datetime) -> Iterator[str]:
    # The guide: "s3://{destination-bucket-prefix}/{endpoint-name}/{variant-name}/
    # yyyy/mm/dd/hh/filename.jsonl".
    yield str(config["DestinationS3Uri"]).rstrip("/")
    yield route.endpoint.name
    yield route.variant
    yield f"{now:%Y/%m/%d/%H}"
    yield f"{now:%M-%S}-{now.microsecond // 1000:03}-{uuid.uuid4()}.jsonl"


def _written(
    config: dict[str, Any], body: bytes, kind: str, mode: str
) -> dict[str, Any]:
    types = config.get("CaptureContentTypeHeader", {})
    plain = kind.partition(";")[0].strip()
    encodings = {"JSON": "JsonContentTypes", "CSV": "CsvContentTypes"}
    as_text = (key for key, name in encodings.items() if plain in types.get(name, ()))
    encoding = next(as_text, "BASE64")
    is_text = encoding != "BASE64"
    data = body.decode(errors="replace") if is_text else base64.b64encode(body).decode()
    return {
        "observedContentType": kind,
        "mode": mode,
        "data": data,
        "encoding": encoding,
    }
