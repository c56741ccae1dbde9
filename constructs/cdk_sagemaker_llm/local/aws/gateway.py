"""
The front door: what is hosting's goes to hosting, everything else to moto.
"""

from __future__ import annotations

import io
import json
import re
import traceback
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import ClientDisconnected
from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.aws import control, object_keys, protocols, regions, shapes
from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.aws.embedded import DEFAULT_ACCOUNT
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.protocols import (
    JSON,
    NoRouteError,
    error_response,
    explain,
    json_error,
    read_json,
)
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds import functions
from cdk_sagemaker_llm.local.cloudformation import wait_conditions
from cdk_sagemaker_llm.local.runtime import asynchronous
from cdk_sagemaker_llm.local.runtime.answering import answer
from cdk_sagemaker_llm.local.scaling import application_auto_scaling

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    from cdk_sagemaker_llm.local.builds.codebuild import CodeBuild
    from cdk_sagemaker_llm.local.hosting.service import SageMaker


HEALTH_PATH = "/_embedded/health"

_INVOCATION = re.compile(r"/endpoints/([^/]+)/invocations(-response-stream)?")
_ASYNCHRONOUS = re.compile(r"/endpoints/([^/]+)/async-invocations")
_CREDENTIAL = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/")
_SCALING = "AnyScaleFrontendService"
_CODEBUILD = "CodeBuild_20161006"


class Gateway:
    """
    The WSGI application of the embedded AWS.

    Args:
        moto: moto's own application.

        region: The region of requests that are not signed.

        account: The account that everything is in.
    """

    def __init__(
        self, moto: WSGIApplication, region: str, account: str = DEFAULT_ACCOUNT
    ) -> None:
        self._moto = moto
        self._region = region
        self._account = account

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """
        Answer one request.
        """
        request = Request(environ)
        region, service = self._signed_for(request)
        if aside := _aside(request):
            return aside(environ, start_response)
        if service == "s3" and (
            refused := object_keys.refusal(environ, self._account, region)
        ):
            return error_response(refused, environ, service)(environ, start_response)
        own = request.path.startswith(control.PREFIX)
        if not own and (service == "s3" or request.method not in {"GET", "POST"}):
            return self._ask_moto(environ, start_response, service)
        # Before the lock: a client that stalls halfway keeps nobody waiting. For moto
        # as well, which reads the body again.
        try:
            body = request.get_data(cache=True)
        except (ClientDisconnected, TimeoutError):
            return Response("the request ends too early", 408)(environ, start_response)
        environ["wsgi.input"] = io.BytesIO(body)
        with CLOCK.lock:
            try:
                CLOCK.catch_up()
                response = self._own(request, region, service)
            except Exception as error:  # noqa: BLE001 - an answer that clients can read
                traceback.print_exc()
                fault = AwsError("InternalFailure", repr(error), 500)
                response = json_error(fault, __type=fault.code, message=fault.message)
            CLOCK.lock.notify_all()
            if response is None:
                return self._ask_moto(environ, start_response, service, body)
            return response(environ, start_response)

    def _ask_moto(
        self,
        environ: WSGIEnvironment,
        start_response: StartResponse,
        service: str,
        body: bytes = b"",
    ) -> Iterable[bytes]:
        answer = _Held(start_response, empty_is_page=_answers_posts(environ, service))
        try:
            parts = self._moto(environ, answer.start)
            if not answer.is_held:
                return parts
            kind = NoRouteError if answer.status < "5" else RuntimeError
            failure: Exception = kind(f"moto answers {answer.status}")
            if parts := answer.release(parts):
                return parts
        except NotImplementedError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - moto's faults are not the server's
            traceback.print_exc()
            failure = error
        refusal = explain(failure, environ, service, body)
        return error_response(refusal, environ, service)(environ, start_response)

    def _own(self, request: Request, region: str, service: str) -> Response | None:
        if not regions.exists(self._account, region):
            # Where a client would have found no host.
            unknown = AwsError("InvalidClientTokenId", f"AWS has no region {region}.")
            return error_response(unknown, request.environ, service)
        hosting = regions.sagemaker(self._account, region)
        prefix, _, operation = request.headers.get("X-Amz-Target", "").partition(".")
        if prefix == "SageMaker":
            return _control(hosting, request, operation)
        if prefix == _CODEBUILD or protocols.cbor_service(request) == _CODEBUILD:
            codebuild = regions.codebuild(self._account, region)
            return _build(codebuild, request, operation)
        if request.path.startswith(control.PREFIX):
            return control.answer(hosting, request)
        invoked = _invocation(hosting, request)
        return invoked or _refuse(request, prefix, operation)

    def _signed_for(self, request: Request) -> tuple[str, str]:
        authorization = request.headers.get("Authorization", "")
        found = _CREDENTIAL.search(authorization)
        return (found[1], found[2]) if found else (self._region, "")


def _aside(request: Request) -> Response | None:
    # What is answered while others are: it is what they wait for.
    if request.path == HEALTH_PATH:
        return Response("ok")
    if request.path.startswith(functions.RESPONSE_PATH):
        return Response(
            status=functions.receive_response(request.path, request.get_data())
        )
    if request.path.startswith(wait_conditions.PATH):
        return _signal(request)
    return None


def _signal(request: Request) -> Response:
    body = request.get_data()
    with CLOCK.lock:
        try:
            wait_conditions.receive(
                request.method,
                request.path,
                request.args.to_dict(),
                request.headers.get("Content-Type", ""),
                body,
            )
        except AwsError as error:
            return error_response(error, request.environ, "s3")
        CLOCK.lock.notify_all()
    return Response(status=200)


def _answers_posts(environ: WSGIEnvironment, service: str) -> bool:
    # What S3 answers without a body is an answer.
    return environ["REQUEST_METHOD"] == "POST" and service not in {"", "s3"}


class _Held:
    """
    moto's answer, held back where it may be a page of HTML.

    moto calls a good deal of what is not HTML so, which goes on as it is.

    Args:
        start_response: What starts the answer.

        empty_is_page: Whether an answer without a body is no answer either.
    """

    def __init__(self, start_response: StartResponse, *, empty_is_page: bool) -> None:
        self._start_response = start_response
        self._empty_is_page = empty_is_page
        self._headers: list[tuple[str, str]] = []
        self.status = ""

    @property
    def is_held(self) -> bool:
        """
        Whether the answer has not started.
        """
        return bool(self.status)

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: Untyped = None
    ) -> Callable[[bytes], object]:
        """
        Start the answer, unless it is an error of HTML.
        """
        if status >= "4" and any(
            name.lower() == "content-type" and value.startswith("text/html")
            for name, value in headers
        ):
            self.status, self._headers = status, headers
            return lambda _: None
        return self._start_response(status, headers, exc_info)

    def release(self, parts: Iterable[bytes]) -> list[bytes]:
        """
        Start the answer after all and return its body, or nothing for a page.
        """
        body = b"".join(parts)
        if hasattr(parts, "close"):
            parts.close()
        is_page = body.lstrip()[:5].lower() in {b"<!doc", b"<html"}
        if is_page or (self._empty_is_page and not body):
            return []
        self._start_response(self.status, self._headers)
        return [body]


def _refuse(request: Request, prefix: str, operation: str) -> Response | None:
    # Some of moto's services take a body they cannot read for one without members.
    if (request.content_type or "").startswith("application/x-amz-json"):
        try:
            asked = read_json(request.get_data(cache=True))
            if prefix == _SCALING:
                application_auto_scaling.refuse_request(operation, asked)
        except AwsError as error:
            return json_error(error, __type=error.code, message=error.message)
    return None


def _invocation(hosting: SageMaker, request: Request) -> Response | None:
    if found := _INVOCATION.fullmatch(request.path):
        refusal = asynchronous.refuse_waiting(hosting.world, found[1])
        return refusal or answer(
            hosting.world, request, found[1], stream=bool(found[2])
        )
    if found := _ASYNCHRONOUS.fullmatch(request.path):
        return asynchronous.answer(hosting.world, request, found[1])
    return None


def _control(hosting: SageMaker, request: Request, operation: str) -> Response | None:
    try:
        return _answer(hosting, operation, request.get_data(cache=True))
    except AwsError as error:
        return json_error(error, __type=error.code, message=error.message)


def _answer(hosting: SageMaker, operation: str, body: bytes) -> Response | None:
    if not shapes.has_operation("sagemaker", operation):
        raise AwsError("UnknownOperationException", f"unknown operation {operation}")
    asked = read_json(body)
    if not hosting.answers(operation, asked):
        return None
    shapes.refuse_wrong_types("sagemaker", operation, asked)
    return _json(hosting.call(operation, asked))


def _build(codebuild: CodeBuild, request: Request, operation: str) -> Response:
    body = request.get_data(cache=True)
    in_cbor = protocols.cbor_operation(request)
    try:
        asked = protocols.read_cbor(body) if in_cbor else read_json(body)
        answered = codebuild.call(in_cbor or operation, asked)
    except AwsError as error:
        return error_response(error, request.environ, "codebuild")
    return protocols.cbor_answer(answered) if in_cbor else _json(answered)


def _json(body: dict[str, Any]) -> Response:
    # Moments are seconds since 1970.
    text = json.dumps(body, default=lambda moment: moment.timestamp())
    return Response(text, content_type=JSON)
