"""
The server process, ``python -m cdk_sagemaker_llm.local --fd N ...``, and its front
door: each request goes to the service that it is for, most of them to moto.

It is started by ``EmbeddedAws``, which hands it a listening socket, and it ends when
its standard input does: no server outlives the process that started it. The pages under
``/_embedded/`` are the server's own: its clock, its faults, its log.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.exceptions import ClientDisconnected
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local import regions
from cdk_sagemaker_llm.local.aws import (
    bearer_tokens,
    object_keys,
    protocols,
    shapes,
)
from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.protocols import (
    JSON,
    NoRouteError,
    error_response,
    explain,
    json_error,
    read_json,
)
from cdk_sagemaker_llm.local.aws.settings import LONGEST_ADVANCE, Settings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.builds import codebuild, functions
from cdk_sagemaker_llm.local.cloudformation import (
    custom_resources,
    responses,
    stack_types,
)
from cdk_sagemaker_llm.local.embedded import DEFAULT_ACCOUNT, HEALTH_PATH
from cdk_sagemaker_llm.local.hosting import allowances, container_starts
from cdk_sagemaker_llm.local.hosting.service import SageMaker
from cdk_sagemaker_llm.local.hosting.states import look
from cdk_sagemaker_llm.local.runtime import asynchronous, openai_route
from cdk_sagemaker_llm.local.runtime.answering import answer
from cdk_sagemaker_llm.local.scaling import (
    application_auto_scaling,
    cloudwatch,
    cloudwatch_rules,
)

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    from cdk_sagemaker_llm.local.builds.codebuild import CodeBuild

_INVOCATION = re.compile(r"/endpoints/([^/]+)/invocations(-response-stream)?")
_ASYNCHRONOUS = re.compile(r"/endpoints/([^/]+)/async-invocations")
_CREDENTIAL = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/")
_SCALING = "AnyScaleFrontendService"
_CODEBUILD = "CodeBuild_20161006"

_OWN_PAGES = "/_embedded/"


class Gateway:
    """
    The WSGI application of the embedded AWS.

    Args:
        region: The region of requests that are not signed.
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
        request = Request(environ)
        region, service = self._signed_for(request)
        if aside := _aside(request):
            return aside(environ, start_response)
        if service == "s3" and (
            refusal := object_keys.refusal(environ, self._account, region)
        ):
            return error_response(refusal, environ, service)(environ, start_response)
        own = request.path.startswith(_OWN_PAGES)
        own = own or (service != "s3" and _is_of_openai(request))
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
                response = _refusal(AwsError("InternalFailure", repr(error), 500))
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
        # What S3 answers without a body is an answer.
        with_body = environ["REQUEST_METHOD"] == "POST" and service not in {"", "s3"}
        answer = _Held(start_response, empty_is_page=with_body)
        try:
            parts = self._moto(environ, answer.start)
            if not answer.status:
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
        if service == "ec2":
            # By now moto has it, or is about to load it: it is slow to load.
            allowances.offer_types(hosting.world.faults)
        if prefix in {allowances.QUOTAS, allowances.REGISTRY} and (
            response := _allowance(hosting, request, prefix, operation)
        ):
            return response
        if request.path.startswith(_OWN_PAGES):
            return _answer_page(hosting, request)
        invoked = self._invocation(hosting, request)
        return invoked or _refuse(request, prefix, operation)

    def _invocation(self, hosting: SageMaker, request: Request) -> Response | None:
        if address := openai_route.read_address(request):
            home = regions.sagemaker(self._account, self._region).world
            return openai_route.answer(hosting.world, home, request, address)
        if _is_of_openai(request):
            return openai_route.not_there(request)
        if found := _INVOCATION.fullmatch(request.path):
            refusal = asynchronous.refuse_waiting(hosting.world, found[1])
            return refusal or answer(
                hosting.world, request, found[1], stream=bool(found[2])
            )
        if found := _ASYNCHRONOUS.fullmatch(request.path):
            return asynchronous.answer(hosting.world, request, found[1])
        return None

    def _signed_for(self, request: Request) -> tuple[str, str]:
        authorization = request.headers.get("Authorization", "")
        if found := _CREDENTIAL.search(authorization):
            return found[1], found[2]
        # A bearer token is a signed request itself.
        region = bearer_tokens.region_of(authorization)
        if region is None or not regions.exists(self._account, region):
            region = self._region
        return region, ""


def _is_of_openai(request: Request) -> bool:
    # No SDK of AWS's that is answered here sends a token in the place of a signature.
    is_token = bearer_tokens.is_token(request.headers.get("Authorization", ""))
    return is_token or openai_route.read_address(request) is not None


def _aside(request: Request) -> Response | None:
    # What is answered while others are: it is what they wait for.
    if request.path == HEALTH_PATH:
        return Response("ok")
    if request.path.startswith(functions.RESPONSE_PATH):
        return Response(
            status=functions.receive_response(request.path, request.get_data())
        )
    if request.path.startswith(stack_types.WAIT_PATH):
        return _signal(request)
    return None


def _signal(request: Request) -> Response:
    body = request.get_data()
    with CLOCK.lock:
        try:
            stack_types.receive_signal(
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


class _Held:
    """
    moto's answer, held back where it may be a page of HTML.

    moto calls a good deal of what is not HTML so, which goes on as it is.

    Args:
        empty_is_page: Whether an answer without a body is no answer either.
    """

    def __init__(self, start_response: StartResponse, *, empty_is_page: bool) -> None:
        self._start_response = start_response
        self._empty_is_page = empty_is_page
        self._headers: list[tuple[str, str]] = []
        self.status = ""  # Of an answer that has not started.

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
    body = request.get_data(cache=True)
    try:
        if (request.content_type or "").startswith("application/x-amz-json"):
            document = read_json(body)
            if b"null" in body:
                _replace_body(request.environ, json.dumps(document).encode())
            if prefix == _SCALING:
                application_auto_scaling.refuse_request(operation, document)
            if prefix == cloudwatch_rules.TARGET:
                cloudwatch_rules.refuse_wrong_types(operation, document)
        elif protocols.cbor_service(request) == cloudwatch_rules.TARGET:
            operation = protocols.cbor_operation(request)
            cloudwatch_rules.refuse_wrong_types(operation, protocols.read_cbor(body))
    except AwsError as error:
        if protocols.cbor_service(request):
            return error_response(error, request.environ, "monitoring")
        return _refusal(error)
    return None


def _replace_body(environ: WSGIEnvironment, body: bytes) -> None:
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))


def _control(hosting: SageMaker, request: Request, operation: str) -> Response | None:
    if not shapes.has_operation("sagemaker", operation):
        words = f"unknown operation {operation}"
        return _refusal(AwsError("UnknownOperationException", words))
    try:
        document = read_json(request.get_data(cache=True))
        if not hosting.answers(operation, document):
            return None
        shapes.refuse_wrong_types("sagemaker", operation, document)
        return _json(hosting.call(operation, document))
    except AwsError as error:
        return _refusal(error)


def _build(codebuild: CodeBuild, request: Request, operation: str) -> Response:
    body = request.get_data(cache=True)
    in_cbor = protocols.cbor_operation(request)
    try:
        document = protocols.read_cbor(body) if in_cbor else read_json(body)
        answer = codebuild.call(in_cbor or operation, document)
    except AwsError as error:
        return error_response(error, request.environ, "codebuild")
    return protocols.cbor_answer(answer) if in_cbor else _json(answer)


def _allowance(
    hosting: SageMaker, request: Request, prefix: str, operation: str
) -> Response | None:
    try:
        document = read_json(request.get_data(cache=True))
    except AwsError as error:
        return _refusal(error)
    answer = allowances.answer(hosting.world, prefix, operation, document)
    return None if answer is None else _json(answer)


def _refusal(error: AwsError) -> Response:
    return json_error(error, __type=error.code, message=error.message)


def _json(body: dict[str, Any]) -> Response:
    # Moments are seconds since 1970.
    text = json.dumps(body, default=lambda moment: moment.timestamp())
    return Response(text, content_type=JSON)


def _answer_page(hosting: SageMaker, request: Request) -> Response:
    page = request.path.removeprefix(_OWN_PAGES)
    if page == "hosting":
        return _control_json(hosting.report())
    if page == "clock":
        return _clock(request)
    if page == "log":
        log = {
            endpoint.name: {
                name: [asdict(step) for step in fleet.log]
                for name, fleet in endpoint.fleets.items()
            }
            for endpoint in hosting.world.endpoints
        }
        return _control_json(log)
    if page == "faults":
        return _faults(hosting, request)
    return Response("there is no such page", 404)


def _clock(request: Request) -> Response:
    if request.method == "PUT":
        if not CLOCK.is_by_hand:
            return Response("time passes by itself: there is no clock by hand\n", 400)
        try:
            CLOCK.advance(_seconds(request.get_data()))
        except ValueError as error:
            return Response(f"{error}\n", 400)
    return _control_json(
        {
            "now": CLOCK.now,
            "speed": None if CLOCK.is_by_hand else CLOCK.speed,
            "by_hand": CLOCK.is_by_hand,
        }
    )


def _seconds(body: bytes) -> float:
    document = json.loads(body)
    seconds = document.get("advance") if isinstance(document, dict) else None
    if not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_ADVANCE:
        raise ValueError(
            f'seconds come as {{"advance": 600}}, 0 to {LONGEST_ADVANCE:,} of them, '
            f"got {document!r}"
        )
    return float(seconds)


def _faults(hosting: SageMaker, request: Request) -> Response:
    world = hosting.world
    try:
        if request.method == "PUT":
            for fault in _read(request.get_data()):
                world.faults.put(fault)
            container_starts.begin_restarts(world)
            for endpoint in world.endpoints:
                look(world, endpoint)
        elif request.method == "DELETE":
            world.faults.clear()
            for endpoint in world.endpoints:
                for fleet in endpoint.fleets.values():
                    fleet.retry()
                look(world, endpoint)
    except ValueError as error:
        return Response(f"{error}\n", 400)
    return _control_json({"faults": world.faults.listed()})


def _read(body: bytes) -> list[Fault]:
    try:
        document = json.loads(body)
    except ValueError as error:
        raise ValueError(f"faults come as a JSON list: {error}") from error
    if not isinstance(document, list):
        raise ValueError(  # noqa: TRY004 - what a client sent
            f"faults come as a JSON list, got {document!r}"
        )
    return [Fault.of(one) for one in document]


def _control_json(body: dict[str, Any]) -> Response:
    return Response(json.dumps(body), content_type="application/json")


class QuietRequestHandler(MotoRequestHandler):
    """
    A handler that leaves its output to what goes wrong, and stalled clients.
    """

    # Seconds of silence in the middle of a request after which it is given up.
    timeout = 30

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None: ...


def main(arguments: list[str]) -> None:
    """
    Serve until standard input ends.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--region", required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--reports", type=int)
    parser.add_argument("--custom-resource", action="append", default=[])
    options = parser.parse_args(arguments)

    regions.configure(Settings.from_json(options.settings))
    if options.reports is not None:
        container_starts.report_to(options.reports)
    for assignment in options.custom_resource:
        try:
            custom_resources.register_handler(assignment)
        except ValueError as error:
            sys.exit(str(error))
    application_auto_scaling.install()
    cloudwatch.install()
    responses.install()
    functions.send_to_functions()
    codebuild.refuse_logins()
    moto = DomainDispatcherApplication(create_backend_app)
    server = make_server(
        "127.0.0.1",
        0,
        # moto's services read the account from there, at every request.
        Gateway(moto, options.region, os.environ["MOTO_ACCOUNT_ID"]),
        threaded=True,
        request_handler=QuietRequestHandler,
        fd=options.fd,
    )
    threading.Thread(target=_end_with_parent, daemon=True).start()
    CLOCK.follow()
    server.serve_forever()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    # At once: the state ends with the process, there is nothing to save.
    os._exit(0)
