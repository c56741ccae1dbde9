"""
The front door: what is hosting's goes to hosting, everything else to moto.
"""

from __future__ import annotations

import io
import json
import re
import traceback
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from markupsafe import escape
from moto.core.models import DEFAULT_ACCOUNT_ID
from werkzeug.exceptions import ClientDisconnected
from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local import regions
from cdk_sagemaker_llm.local.errors import AwsError
from cdk_sagemaker_llm.local.functions import callbacks
from cdk_sagemaker_llm.local.runtime import eventstream
from cdk_sagemaker_llm.local.runtime.invocations import Invocation, invoke
from cdk_sagemaker_llm.local.turn import TURN
from cdk_sagemaker_llm.local.untyped import Untyped

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    from cdk_sagemaker_llm.local.sagemaker.service import SageMaker

ACCOUNT = DEFAULT_ACCOUNT_ID
HEALTH_PATH = "/_embedded/health"
HOSTING_PATH = "/_embedded/hosting"

_INVOCATION = re.compile(r"/endpoints/([^/]+)/invocations(-response-stream)?")
_CREDENTIAL = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/")
_JSON = "application/x-amz-json-1.1"


class Gateway:
    """
    The WSGI application of the embedded AWS.

    Args:
        moto: moto's own application.

        region: The region of requests that are not signed.
    """

    def __init__(self, moto: WSGIApplication, region: str) -> None:
        self._moto = moto
        self._region = region

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """
        Answer one request.
        """
        request = Request(environ)
        region, service = self._signed_for(request)
        if request.path == HEALTH_PATH:
            return Response("ok")(environ, start_response)
        if request.path.startswith(callbacks.PATH):
            status = callbacks.receive(request.path, request.get_data())
            return Response(status=status)(environ, start_response)
        if service == "s3" or request.method not in {"GET", "POST"}:
            return self._ask_moto(environ, start_response)
        # Before the lock: a client that stalls halfway keeps nobody waiting. For moto
        # as well, which reads the body again.
        try:
            body = request.get_data(cache=True)
        except (ClientDisconnected, TimeoutError):
            return Response("the request ends too early", 408)(environ, start_response)
        environ["wsgi.input"] = io.BytesIO(body)
        with TURN:
            response = self._own(request, region)
            application = self._ask_moto if response is None else response
            return application(environ, start_response)

    def _ask_moto(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        try:
            return self._moto(environ, start_response)
        except NotImplementedError as error:
            # moto lets it through as a page of HTML and status 500, which the SDKs
            # cannot read and try again, for half a minute in the CDK CLI's case.
            failure = AwsError("NotImplemented", f"not emulated: {error}")
        except Exception as error:  # noqa: BLE001 - moto's faults are not the server's
            traceback.print_exc()
            failure = AwsError("InternalFailure", f"moto failed: {error!r}", 500)
        return _readable(failure, environ)(environ, start_response)

    def _own(self, request: Request, region: str) -> Response | None:
        hosting = regions.sagemaker(ACCOUNT, region)
        if request.path == HOSTING_PATH:
            return _json(hosting.report())
        if found := _INVOCATION.fullmatch(request.path):
            return _invocation(hosting, request, found[1], stream=bool(found[2]))
        prefix, _, operation = request.headers.get("X-Amz-Target", "").partition(".")
        if prefix == "SageMaker":
            return _control(hosting, request, operation)
        return None

    def _signed_for(self, request: Request) -> tuple[str, str]:
        authorization = request.headers.get("Authorization", "")
        found = _CREDENTIAL.search(authorization)
        return (found[1], found[2]) if found else (self._region, "")


def _control(hosting: SageMaker, request: Request, operation: str) -> Response | None:
    body = request.get_data(cache=True)
    try:
        asked: dict[str, Any] = json.loads(body or b"{}")
        if not hosting.answers(operation, asked):
            return None
        return _json(hosting.call(operation, asked))
    except AwsError as error:
        return _error(error, __type=error.code, message=error.message)
    except ValueError as error:
        return _error(
            AwsError("SerializationException", str(error)),
            __type="SerializationException",
        )


def _invocation(
    hosting: SageMaker, request: Request, endpoint: str, *, stream: bool
) -> Response:
    headers = request.headers
    invocation = Invocation(
        endpoint=endpoint,
        component=headers.get("X-Amzn-SageMaker-Inference-Component"),
        variant=headers.get("X-Amzn-SageMaker-Target-Variant"),
        body=request.get_data(),
    )
    try:
        result = invoke(hosting.world, invocation)
    except AwsError as error:
        name = error.code.replace("ValidationException", "ValidationError")
        named = AwsError(name, error.message, error.status, **error.fields)
        return _error(named, Message=error.message, **error.fields)
    answered = {"x-Amzn-Invoked-Production-Variant": result.variant}
    content_type = result.answer.content_type
    if not stream:
        body = b"".join(result.answer.pieces)
        return Response(body, content_type=content_type, headers=answered)
    answered["X-Amzn-SageMaker-Content-Type"] = content_type
    frames: Iterator[bytes] = map(eventstream.payload_part, result.parts())
    return Response(frames, content_type=eventstream.CONTENT_TYPE, headers=answered)


def _json(body: dict[str, Any]) -> Response:
    return Response(json.dumps(body), content_type=_JSON)


def _error(error: AwsError, **body: Untyped) -> Response:
    return Response(
        json.dumps(body),
        status=error.status,
        content_type=_JSON,
        headers={"x-amzn-ErrorType": error.code},
    )


def _readable(error: AwsError, environ: WSGIEnvironment) -> Response:
    if "HTTP_X_AMZ_TARGET" in environ:
        return _error(error, __type=error.code, message=error.message)
    code, message = escape(error.code), escape(error.message)
    return Response(
        f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error>"
        "</ErrorResponse>",
        status=error.status,
        content_type="text/xml",
    )
