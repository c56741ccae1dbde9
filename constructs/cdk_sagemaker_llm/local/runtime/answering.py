"""
A request of the runtime, from its headers to the last byte of its answer, and what
is captured of both.
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.aws import protocols
from cdk_sagemaker_llm.local.aws.clock import passed_on
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.forwards import Forward
from cdk_sagemaker_llm.local.aws.protocols import json_error
from cdk_sagemaker_llm.local.aws.surroundings import Location
from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.engines.containers import JSON, ContainerRequest
from cdk_sagemaker_llm.local.hosting.traffic import Visit
from cdk_sagemaker_llm.local.hosting.world import World
from cdk_sagemaker_llm.local.runtime import forwarding
from cdk_sagemaker_llm.local.runtime.invocations import (
    NoCapacityError,
    Result,
    Route,
    answer_instead,
    answer_seconds,
    ask,
    extra_seconds,
    find_route,
    invoke,
    model_error,
    shadow_route,
    timed_out,
)

_LARGEST_BODY = 6_291_456  # botocore 1.44.5: BodyBlob of the runtime.
# "your-algorithms-inference-code": a container has 60 seconds; a stream has more.
_PATIENCE = 60.0
_OK, _BAD_GATEWAY = 200, 502
_BROKE_OFF = "the model server broke off in the middle of its answer"

_BOTH = "InputAndOutput"


class Wire(Protocol):
    """
    How an interface of the runtime writes what it answers.
    """

    def refusal(self, error: AwsError) -> Response:
        """
        Write an error.
        """

    def stream(self, kind: str, headers: Mapping[str, str]) -> Response:
        """
        Begin a stream of what the container writes as one kind of content.
        """

    def part(self, piece: bytes) -> bytes:
        """
        Write one part of a stream.
        """

    def broken_off(self) -> bytes | None:
        """
        Write that a stream ends before its time; ``None`` if it ends without a word.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """
    What is called, and how it is to be answered.

    Args:
        component: The inference component that is named; ``None`` if there is none.

        stream: Whether the answer is given part by part.

        path: What the container is asked at; ``None`` for ``/invocations``.
    """

    endpoint: str
    component: str | None
    stream: bool
    wire: Wire
    path: str | None = None


def answer(world: World, request: Request, endpoint: str, *, stream: bool) -> Response:
    """
    Answer ``InvokeEndpoint`` or ``InvokeEndpointWithResponseStream``.
    """
    component = request.headers.get("X-Amzn-SageMaker-Inference-Component")
    call = Call(endpoint=endpoint, component=component, stream=stream, wire=_SdkWire())
    return answer_call(world, request, call)


def answer_call(world: World, request: Request, call: Call) -> Response:
    """
    Answer a call of any interface.
    """
    if len(request.get_data()) > _LARGEST_BODY:
        # Without a code: the SDKs show the status in its place.
        message = f"HTTP content length exceeded {_LARGEST_BODY} bytes."
        return call.wire.refusal(AwsError("", message, 413))
    try:
        route = find_route(
            world,
            call.endpoint,
            component_name=call.component,
            variant=request.headers.get("X-Amzn-SageMaker-Target-Variant"),
        )
    except NoCapacityError as error:
        world.traffic.note_refusal(error.where, error.status)
        return call.wire.refusal(error)
    except AwsError as error:
        return call.wire.refusal(error)
    visit = world.traffic.begin(route.where)
    _copy_to_shadow(world, route, request, call.path)
    try:
        return _Answering(world, route, visit, call).answer(request)
    except AwsError as error:
        visit.end(int(error.fields.get("OriginalStatusCode", error.status)))
        return call.wire.refusal(error)
    except BaseException:
        visit.end(500)
        raise


class _SdkWire:
    """
    That of the SDKs: events in frames, and errors by name.
    """

    def refusal(self, error: AwsError) -> Response:
        if not error.code:
            body = json.dumps({"message": error.message})
            return Response(body, error.status, content_type=JSON)
        name = error.code.replace("ValidationException", "ValidationError")
        refusal = AwsError(name, error.message, error.status, **error.fields)
        fields: dict[str, Any] = {"Message": error.message, **error.fields}
        return json_error(refusal, **fields)

    def stream(self, kind: str, headers: Mapping[str, str]) -> Response:
        of_content = {**headers, "X-Amzn-SageMaker-Content-Type": kind}
        return Response(content_type=protocols.EVENT_STREAM, headers=of_content)

    def part(self, piece: bytes) -> bytes:
        return protocols.payload_part(piece)

    def broken_off(self) -> bytes | None:
        return protocols.broken_off()


class _Answering:
    """
    One request on its way through its container.
    """

    def __init__(self, world: World, route: Route, visit: Visit, call: Call) -> None:
        self._world = world
        self._route = route
        self._visit = visit
        self._call = call
        self._wire = call.wire
        self._clock = world.clock
        self._extra = extra_seconds(world, route)
        self._headers = {"x-Amzn-Invoked-Production-Variant": route.variant}

    def answer(self, sent: Request) -> Response:
        stream = self._call.stream
        self._is_cut = answer_instead(self._world, self._route, stream=stream)
        forward = self._world.forwards.find(
            self._route.component, self._route.base, self._route.endpoint.name
        )
        if forward is not None:
            return self._forwarded(forward, sent)
        request = ContainerRequest(
            body=sent.get_data(),
            path=self._call.path,
            content_type=_kind(sent),
            attributes=sent.headers.get("X-Amzn-SageMaker-Custom-Attributes", ""),
            session=sent.headers.get("X-Amzn-SageMaker-Session-Id"),
        )
        result = invoke(self._world, self._route, request)
        seconds = answer_seconds(self._world, self._route, result.answer)
        kind = result.answer.content_type
        if stream:
            begun = self._wire.stream(kind, self._headers)
            return self._fill(begun, self._parts(result, seconds), _OK)
        if seconds > _PATIENCE:
            late = self._wire.refusal(timed_out(self._world, self._route))
            return self._fill(late, self._whole(late.get_data(), _PATIENCE), 0)
        whole = b"".join(result.answer.pieces)
        _capture(self._world, self._route, sent, whole, kind)
        # The length is known, though the body takes its time.
        headers = {**self._headers, "Content-Length": str(len(whole))}
        plain = Response(content_type=kind, headers=headers)
        return self._fill(plain, self._whole(whole, seconds), _OK)

    def _forwarded(self, forward: Forward, sent: Request) -> Response:
        """
        Have a model server answer, in the time that it takes on the wall.
        """
        body, whole, stream = sent.get_data(), b"", self._call.stream
        try:
            # Others are answered meanwhile.
            with passed_on():
                self._sleep(self._extra)
                adapter, path = self._route.adapter, self._call.path
                reply = forwarding.ask(forward, body, sent.headers, adapter, path)
                if not stream:
                    whole = reply.whole()
        except forwarding.LateError as error:
            raise timed_out(self._world, self._route) from error
        except forwarding.BrokenOffError as error:
            raise self._failure(_BAD_GATEWAY, _BROKE_OFF) from error
        except RefusedError as error:
            raise self._failure(error.status, error.body) from error
        finally:
            self._clock.catch_up()
        if stream:
            streamed = self._wire.stream(reply.kind, self._headers)
            streamed.response = self._passed_on(reply)
            streamed.call_on_close(partial(self._end, _OK))
            return streamed
        _capture(self._world, self._route, sent, whole, reply.kind)
        self._visit.end(_OK)
        return Response(whole, content_type=reply.kind, headers=self._headers)

    def _failure(self, status: int, body: str) -> AwsError:
        return model_error(self._world, self._route, status, body)

    def _passed_on(self, reply: forwarding.Reply) -> Iterator[bytes]:
        pieces = reply.pieces()
        try:
            for piece in pieces:
                self._visit.first_chunk()
                yield self._wire.part(piece)
                if self._is_cut:
                    break
        except (forwarding.LateError, forwarding.BrokenOffError):
            self._is_cut = True
        finally:
            # Also where the client has gone.
            reply.close()
        if self._is_cut:
            yield self._broken_off()

    def _broken_off(self) -> bytes:
        ending = self._wire.broken_off()
        if ending is None:
            # The server then closes the connection, and leaves the last chunk out.
            raise ConnectionAbortedError
        return ending

    def _fill(self, response: Response, body: Iterator[bytes], status: int) -> Response:
        ends_early = self._is_cut and self._wire.broken_off() is None
        if self._clock.speed or self._extra or ends_early:
            response.response = body
            # However it ends: read to its end, or given up by the client.
            response.call_on_close(partial(self._end, status))
        else:
            response.response = list(body)
            self._visit.end(status, is_cut=self._is_cut)
        return response

    def _whole(self, body: bytes, seconds: float) -> Iterator[bytes]:
        self._sleep(seconds)
        yield body

    def _parts(self, result: Result, seconds: float) -> Iterator[bytes]:
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
            yield self._wire.part(part)
        if self._is_cut:
            yield self._broken_off()

    def _sleep(self, seconds: float) -> None:
        # Where nothing takes time, what was asked to be slow takes the wall's.
        wall = self._clock.wall_seconds(seconds) if self._clock.speed else seconds
        if wall > 0:
            time.sleep(wall)

    def _end(self, status: int) -> None:
        with self._clock.lock:
            self._clock.catch_up()
            self._visit.end(status, is_cut=self._is_cut)


def _kind(sent: Request) -> str:
    return sent.content_type or JSON


def _copy_to_shadow(
    world: World, route: Route, sent: Request, path: str | None
) -> None:
    """
    Send a copy of a request to the shadow of its endpoint, if it is its turn.

    Its share is its weight, of the weight of the variant beside it.
    """
    shadow = shadow_route(world, route.endpoint)
    if shadow is None:
        return
    weights = route.endpoint.weights
    theirs, ours = weights[shadow.variant], weights[route.variant]
    share = min(1.0, theirs / ours) if ours else 0.0
    if not route.endpoint.is_due(f"shadow {shadow.variant}", share):
        return
    visit = world.traffic.begin(shadow.where)
    found = ask(world, shadow, sent.get_data(), _PATIENCE, path)
    if not found.failure:
        _capture(world, shadow, sent, found.body, found.kind)
    world.clock.after(found.seconds, partial(visit.end, found.status))


def _capture(
    world: World, route: Route, sent: Request, answer: bytes, answer_kind: str
) -> None:
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
        captured["endpointInput"] = _captured_body(
            config, sent.get_data(), _kind(sent), "INPUT"
        )
    if modes & {"Output", _BOTH}:
        captured["endpointOutput"] = _captured_body(
            config, answer, answer_kind, "OUTPUT"
        )
    now = datetime.fromtimestamp(world.clock.moment, UTC)
    event = {"eventId": str(uuid.uuid4()), "inferenceTime": f"{now:%Y-%m-%dT%H:%M:%SZ}"}
    if inference := sent.headers.get("X-Amzn-SageMaker-Inference-Id"):
        event["inferenceId"] = inference
    line = {"captureData": captured, "eventMetadata": event, "eventVersion": "0"}
    # The guide: "s3://{destination-bucket-prefix}/{endpoint-name}/{variant-name}/
    # yyyy/mm/dd/hh/filename.jsonl".
    folder = f"{route.endpoint.name}/{route.variant}/{now:%Y/%m/%d/%H}"
    name = f"{now:%M-%S}-{now.microsecond // 1000:03}-{uuid.uuid4()}.jsonl"
    place = Location.of(f"{config['DestinationS3Uri'].rstrip('/')}/{folder}/{name}")
    if place is not None:
        world.surroundings.write_object(place, f"{json.dumps(line)}\n".encode())


def _captured_body(
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
