"""
A request of the runtime, from its headers to the last byte of its answer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local import faults
from cdk_sagemaker_llm.local.errors import AwsError
from cdk_sagemaker_llm.local.protocols import JSON, json_error
from cdk_sagemaker_llm.local.runtime import eventstream
from cdk_sagemaker_llm.local.runtime.capturing import Sent, capture
from cdk_sagemaker_llm.local.runtime.invocations import (
    Invocation,
    NoCapacityError,
    Result,
    Route,
    broken,
    find_route,
    invoke,
    timed_out,
)
from cdk_sagemaker_llm.local.runtime.shadowing import copy_to_shadow
from cdk_sagemaker_llm.local.sagemaker.traffic import Visit
from cdk_sagemaker_llm.local.sagemaker.world import World

_LARGEST_BODY = 6_291_456  # botocore 1.44.5: BodyBlob of the runtime.
# "your-algorithms-inference-code": a container has 60 seconds; a stream has more.
_PATIENCE = 60.0
_SLOW = 10.0
_OK = 200


def answer(world: World, request: Request, endpoint: str, *, stream: bool) -> Response:
    """
    Answer ``InvokeEndpoint`` or ``InvokeEndpointWithResponseStream``.
    """
    headers, body = request.headers, request.get_data()
    if len(body) > _LARGEST_BODY:
        # Without a code: the SDKs show the status in its place.
        told = f"HTTP content length exceeded {_LARGEST_BODY} bytes."
        return Response(json.dumps({"message": told}), 413, content_type=JSON)
    invocation = Invocation(
        endpoint=endpoint,
        component=headers.get("X-Amzn-SageMaker-Inference-Component"),
        variant=headers.get("X-Amzn-SageMaker-Target-Variant"),
        body=body,
    )
    try:
        route = find_route(world, invocation)
    except NoCapacityError as error:
        world.traffic.refused(error.where, error.status)
        return _refusal(error)
    except AwsError as error:
        return _refusal(error)
    visit = world.traffic.begin(route.where)
    sent = Sent(
        body=body,
        kind=request.content_type or JSON,
        inference=headers.get("X-Amzn-SageMaker-Inference-Id", ""),
    )
    copy_to_shadow(world, route, sent)
    try:
        return _Answering(world, route, visit).answer(sent, stream=stream)
    except AwsError as error:
        visit.end(int(error.fields.get("OriginalStatusCode", error.status)))
        return _refusal(error)
    except BaseException:
        visit.end(500)
        raise


class _Answering:
    """
    One request on its way through its container.
    """

    def __init__(self, world: World, route: Route, visit: Visit) -> None:
        self._world = world
        self._route = route
        self._visit = visit
        self._clock = world.clock
        self._fault = world.faults.find(faults.SLOW, route.names)
        self._is_cut = False

    def answer(self, sent: Sent, *, stream: bool) -> Response:
        """
        Have the container answer, in the time that it takes.
        """
        instead = self._world.faults.answer(self._route.names)
        if instead == faults.THROTTLED:
            raise faults.throttled()
        if instead is not None and not (stream and instead == faults.CUT):
            raise broken(self._world, self._route, instead)
        result = invoke(self._world, self._route, sent.body)
        seconds = self._seconds(result)
        kind = result.answer.content_type
        headers = {"x-Amzn-Invoked-Production-Variant": result.variant}
        if stream:
            headers["X-Amzn-SageMaker-Content-Type"] = kind
            self._is_cut = instead == faults.CUT
            frames = self._frames(result, seconds)
            streamed = Response(content_type=eventstream.CONTENT_TYPE, headers=headers)
            return self._fill(streamed, frames, _OK)
        if seconds > _PATIENCE:
            late = _refusal(timed_out(self._world, self._route))
            return self._fill(late, self._whole(late.get_data(), _PATIENCE), 0)
        whole = b"".join(result.answer.pieces)
        capture(self._world, self._route, sent, whole, kind)
        # The length is known, though the body takes its time.
        headers["Content-Length"] = str(len(whole))
        plain = Response(content_type=kind, headers=headers)
        return self._fill(plain, self._whole(whole, seconds), _OK)

    def _fill(self, response: Response, body: Iterator[bytes], status: int) -> Response:
        if self._clock.speed or self._fault:
            response.response = body
            # However it ends: read to its end, or given up by the client.
            response.call_on_close(partial(self._end, status))
        else:
            response.response = list(body)
            self._visit.end(status, is_cut=self._is_cut)
        return response

    def _seconds(self, result: Result) -> float:
        extra = (self._fault.seconds or _SLOW) if self._fault else 0.0
        if self._clock.speed is None:
            return extra
        return extra + self._world.latency.seconds(result.answer.tokens)

    def _whole(self, body: bytes, seconds: float) -> Iterator[bytes]:
        self._sleep(seconds)
        yield body

    def _frames(self, result: Result, seconds: float) -> Iterator[bytes]:
        parts = list(result.parts())
        writing = 0.0
        if self._clock.speed:
            writing = min(seconds, self._world.latency.per_token * result.answer.tokens)
        first, each = seconds - writing, writing / max(1, len(parts))
        if self._is_cut:
            parts = parts[: len(parts) // 2]
        for index, part in enumerate(parts):
            self._sleep(each if index else first)
            self._visit.first_chunk()
            yield eventstream.payload_part(part)
        if self._is_cut:
            yield eventstream.broken_off()

    def _sleep(self, seconds: float) -> None:
        # Where nothing takes time, what was asked to be slow takes the wall's.
        wall = self._clock.wall_seconds(seconds) if self._clock.speed else seconds
        if wall > 0:
            time.sleep(wall)

    def _end(self, status: int) -> None:
        with self._clock.lock:
            self._clock.catch_up()
            self._visit.end(status, is_cut=self._is_cut)


def _refusal(error: AwsError) -> Response:
    name = error.code.replace("ValidationException", "ValidationError")
    named = AwsError(name, error.message, error.status, **error.fields)
    fields: dict[str, Any] = {"Message": error.message, **error.fields}
    return json_error(named, **fields)
