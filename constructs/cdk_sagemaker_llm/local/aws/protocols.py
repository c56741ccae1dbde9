"""
Requests, errors and event streams in the formats of the services' protocols.

What cannot be read is answered in the format of the question: the SDKs do not read
HTML, and take it for a fault of the server, which they try again. The newest SDKs
prefer CBOR to JSON for some services, by the protocol ``rpcv2Cbor`` of Smithy:
https://smithy.io/2.0/additional-specs/protocols/smithy-rpc-v2.html.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs
from xml.parsers.expat import ExpatError

import cbor2
from markupsafe import escape
from moto.core.eventstream import EventStreamEncoder
from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.errors import AwsError, validation
from cdk_sagemaker_llm.local.aws.untyped import Untyped

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

CBOR_PROTOCOL = "rpc-v2-cbor"
_PATH = re.compile(r"/service/([^/]+)/operation/([^/]+)")
JSON = "application/x-amz-json-1.1"
_REST_XML = frozenset({"", "s3", "route53", "cloudfront"})
# Services that are signed for under another name than their model's.
_MODELS = {"monitoring": "cloudwatch", "elasticloadbalancing": "elbv2", "email": "ses"}

EVENT_STREAM = "application/vnd.amazon.eventstream"

_ENCODER = EventStreamEncoder()


def cbor_service(request: Request) -> str:
    """
    Return the service of a request in this protocol; nothing for any other.
    """
    return _cbor_names(request)[0]


def cbor_operation(request: Request) -> str:
    """
    Return the operation of a request in this protocol; nothing for any other.
    """
    return _cbor_names(request)[1]


def _cbor_names(request: Request) -> tuple[str, str]:
    found = _PATH.fullmatch(request.path)
    if found is None or request.headers.get("smithy-protocol") != CBOR_PROTOCOL:
        return "", ""
    return found[1], found[2]


def read_cbor(body: bytes) -> dict[str, Any]:
    """
    Read a request's body, a map in CBOR; nothing at all stands for no members, and a
    member that is null is left out.
    """
    if not body:
        return {}
    try:
        value = cbor2.loads(body)
    except cbor2.CBORDecodeError as error:
        raise AwsError("SerializationException", f"not valid CBOR: {error}") from error
    if not isinstance(value, dict):
        raise AwsError("SerializationException", "Unexpected field type")
    document: dict[str, Any] = _without_nulls(value)
    return document


def cbor_answer(body: dict[str, Any], status: int = 200) -> Response:
    """
    Write an answer.
    """
    return Response(
        cbor2.dumps(body, datetime_as_timestamp=True),
        status=status,
        content_type="application/cbor",
        headers={"smithy-protocol": CBOR_PROTOCOL},
    )


class NoRouteError(Exception):
    """
    moto has nothing at an address.
    """


_CODES: tuple[tuple[type[Exception], str, int, str], ...] = (
    (NoRouteError, "UnknownOperationException", 404, ""),
    (NotImplementedError, "NotImplemented", 400, "not emulated: "),
    (json.JSONDecodeError, "SerializationException", 400, "not valid JSON: "),
    (ExpatError, "MalformedXML", 400, "The XML is not well-formed: "),
)


def read_json(body: bytes) -> dict[str, Any]:
    """
    Read the body of a JSON request, an object; nothing at all stands for no members,
    and a member that is null is left out.
    """
    try:
        document = _DECODER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        if not body:
            return {}
        raise AwsError("SerializationException", f"not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise AwsError("SerializationException", "Unexpected field type")
    return _without_nulls(document) if b"null" in body else document


def _without_nulls(document: Untyped) -> Untyped:
    # A member that is null is one that is not there; an item of a list is refused.
    if isinstance(document, dict):
        return {k: _without_nulls(v) for k, v in document.items() if v is not None}
    if isinstance(document, list):
        return [_without_nulls(item) for item in document]
    return document


def is_query(environ: WSGIEnvironment) -> bool:
    """
    Tell whether a request is of the query protocol: a form with an action.
    """
    content_type: str = environ.get("CONTENT_TYPE", "")
    return content_type.startswith("application/x-www-form")


def explain(
    error: Exception, environ: WSGIEnvironment, service: str, body: bytes
) -> AwsError:
    """
    Say what was wrong with a request that moto failed on, as the service would.
    """
    try:
        _refuse_request(environ, _MODELS.get(service, service), body)
    except AwsError as refusal:
        return refusal
    for kind, code, status, words in _CODES:
        if isinstance(error, kind):
            return AwsError(code, f"{words}{error}", status)
    if isinstance(error, ValueError) and is_query(environ):
        return AwsError("MalformedInput", str(error))
    return AwsError("InternalFailure", f"moto failed: {error!r}", 500)


def json_error(error: AwsError, **body: Untyped) -> Response:
    """
    Write an error with a body of JSON.
    """
    return Response(
        json.dumps(body),
        status=error.status,
        content_type=JSON,
        headers={"x-amzn-ErrorType": error.code},
    )


def error_response(error: AwsError, environ: WSGIEnvironment, service: str) -> Response:
    """
    Write an error in the format of the request's protocol.
    """
    if environ.get("HTTP_SMITHY_PROTOCOL") == CBOR_PROTOCOL:
        return cbor_answer(
            {"__type": error.code, "message": error.message}, error.status
        )
    xml = is_query(environ) or service in _REST_XML
    if "HTTP_X_AMZ_TARGET" in environ or not xml:
        return json_error(error, __type=error.code, message=error.message)
    code, message = escape(error.code), escape(error.message)
    error_text = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    if service == "ec2":
        error_text = f"<Response><Errors>{error_text}</Errors></Response>"
    elif service not in {"", "s3"}:
        error_text = f"<ErrorResponse>{error_text}</ErrorResponse>"
    return Response(error_text, status=error.status, content_type="text/xml")


def _refuse_request(environ: WSGIEnvironment, service: str, body: bytes) -> None:
    target = environ.get("HTTP_X_AMZ_TARGET")
    if target is None:
        if is_query(environ):
            _refuse_query(service, body)
        return
    operation = target.rpartition(".")[2]
    if _has_model(service) and not shapes.has_operation(service, operation):
        raise AwsError("UnknownOperationException", f"unknown operation {operation}")
    request = read_json(body)
    if _has_model(service):
        shapes.refuse_wrong_types(service, operation, request)
        shapes.check(service, operation, request)
    if service == "sagemaker" and operation in shapes.TAG_OPERATIONS:
        # moto looks for tags on what is not there.
        raise validation(f'Could not find resource "{request["ResourceArn"]}".')


def _refuse_query(service: str, body: bytes) -> None:
    form = parse_qs(body.decode(errors="replace"))
    action = form.get("Action", [""])[0]
    if not action:
        raise AwsError("MissingAction", "The request must contain the parameter Action")
    if not _has_model(service):
        return
    if not shapes.has_operation(service, action):
        raise AwsError("InvalidAction", f"Could not find operation {action}")
    shape = shapes.input_shape(service, action)
    # A list or a structure is spread over names that begin with its own.
    members = {name.partition(".")[0] for name in form}
    for name in shape.required_members if shape else ():
        if name not in members:
            raise AwsError("MissingParameter", f"The parameter {name} is required.")


def _has_model(service: str) -> bool:
    from botocore.exceptions import UnknownServiceError  # noqa: PLC0415 - server only

    try:
        shapes.service_model(service)
    except UnknownServiceError:
        return False
    return True


def _refuse_constant(name: str) -> None:
    # Python's reader takes NaN and Infinity, which are no JSON.
    raise ValueError(f"{name} is not a number")


# One for all: json.loads makes one for each text that it is told anything about.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def payload_part(payload: bytes) -> bytes:
    """
    Frame one part of a response body.
    """
    return _ENCODER.encode_message(
        {
            ":message-type": "event",
            ":event-type": "PayloadPart",
            ":content-type": "application/octet-stream",
        },
        payload,
    )


def broken_off(
    # API reference, ModelStreamError.
    reason: str = "StreamBroken",
    kind: str = "ModelStreamError",
) -> bytes:
    """
    Frame the exception that ends a stream before its time.
    """
    why = {
        "Message": "The stream from the model container was interrupted.",
        "ErrorCode": reason,
    }
    return _ENCODER.encode_message(
        {
            ":message-type": "exception",
            ":exception-type": kind,
            ":content-type": "application/json",
        },
        json.dumps(why).encode(),
    )
