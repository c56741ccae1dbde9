"""
SageMaker's route for OpenAI's clients: chats below an endpoint's own address, with a
bearer token.

``/endpoints/NAME[/inference-components/NAME]/openai/v1/chat/completions``

What is known of it, and from where:

- The developer guide (realtime-endpoints-openai-compatible): these two addresses, the
  token, and that the container is asked at ``/v1/chat/completions`` and answers in its
  own words, streams too. It names no other path, and what was written for the route by
  others says that there is none (Bifrost, of its SageMaker provider).
- Bodies of the real service in the tests of stdapi.ai: errors are in OpenAI's form. An
  endpoint that is not there and a component without copies are told of in the words of
  ``InvokeEndpoint``, what the container refuses with its own status and body. The
  header that names a component is refused.

**The rest is assumed**: the words and codes for tokens that are refused, for paths that
are not there and for too many requests; that a component which is not named, a body
that is too large and a container that is late are refused as by ``InvokeEndpoint``, and
the headers for variants and attributes heeded; that an adapter answers whatever the
body calls the model; that a stream which the container breaks off ends without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.aws.bearer_tokens import Tokens, wrong_token
from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.engines.containers import JSON
from cdk_sagemaker_llm.local.hosting.world import World
from cdk_sagemaker_llm.local.runtime import asynchronous
from cdk_sagemaker_llm.local.runtime.answering import Call, answer_call

_ADDRESS = re.compile(
    r"/endpoints/([^/]+)(?:/inference-components/([^/]+))?/openai(/v1(?:/.*)?)"
)
_CHATS = "/v1/chat/completions"
_COMPONENT = "X-Amzn-SageMaker-Inference-Component"
# By the error's name in InvokeEndpoint: OpenAI's type of it, and its code.
_KINDS: Mapping[str, tuple[str, str]] = {
    "ValidationError": ("invalid_request_error", "validation_error"),
    "ModelError": ("server_error", "model_error"),
    "AccessDeniedException": ("permission_error", "access_denied"),
    "ThrottlingException": ("rate_limit_error", "throttling_error"),
    "NotFound": ("invalid_request_error", "not_found"),
}
_OTHERWISE = ("invalid_request_error", "invalid_request")
_TOO_MANY = 429
_SERVER_FAULT = 500

TOKENS = Tokens(CLOCK)
"""Those that this process was shown."""


@dataclass(frozen=True, slots=True)
class Address:
    """
    What is called: an endpoint, its component if one is named, and a path below.
    """

    endpoint: str
    component: str | None
    path: str


def read_address(request: Request) -> Address | None:
    """
    Read what a request calls; ``None`` for one that is not of this route.
    """
    found = _ADDRESS.fullmatch(request.path)
    return Address(found[1], found[2], found[3]) if found else None


def not_there(request: Request) -> Response:
    """
    Tell a client with a bearer token that asks anywhere else where the route is.
    """
    return _written(
        AwsError(
            "NotFound",
            f"{request.method} {request.path} is not there: the base address of "
            "OpenAI's clients ends in /endpoints/NAME/openai/v1, or in "
            "/endpoints/NAME/inference-components/NAME/openai/v1",
            404,
        )
    )


def answer(world: World, home: World, request: Request, address: Address) -> Response:
    """
    Answer a request with a bearer token.

    Args:
        world: The region that the token is for.

        home: The region of requests that name none.
    """
    wire = _OpenAiWire(world, address.endpoint)
    try:
        _check_region(world, home, address.endpoint)
        _check_permission(world, request, address)
        _check_call(world, request, address)
    except AwsError as error:
        return wire.refusal(error)
    call = Call(
        endpoint=address.endpoint,
        component=address.component,
        stream=_wants_stream(request.get_data()),
        wire=wire,
        path=_CHATS,
    )
    return answer_call(world, request, call)


def _check_region(world: World, home: World, endpoint: str) -> None:
    # AWS tells the region by the host, and there is one for all in here.
    if not world.endpoints.find(endpoint) and home.endpoints.find(endpoint):
        why = f"it is signed for {world.region}, and the endpoint is in {home.region}"
        raise wrong_token(why)


def _check_permission(world: World, request: Request, address: Address) -> None:
    authorization = request.headers.get("Authorization", "")
    bearer = TOKENS.check(authorization, world.account, world.region)
    # The guide: the first takes no resource.
    bearer.check("sagemaker:CallWithBearerToken", "*")
    bearer.check("sagemaker:InvokeEndpoint", world.endpoints.arn(address.endpoint))
    if address.component is not None:
        arn = world.components.arn(address.component)
        bearer.check("sagemaker:InvokeEndpoint", arn)


def _check_call(world: World, request: Request, address: Address) -> None:
    if request.method != "POST" or address.path != _CHATS:
        raise AwsError(
            "NotFound",
            f"{request.method} {request.path} is not there: below /openai SageMaker is "
            f"known to have POST {_CHATS} alone; reach what else the container answers "
            "by InvokeEndpoint",
            404,
        )
    if _COMPONENT in request.headers:
        raise AwsError(
            "ValidationError",
            f"The header {_COMPONENT} is not allowed here: name the component in the "
            "path, as /endpoints/NAME/inference-components/NAME/openai/v1.",
        )
    if message := asynchronous.reason_not_to_wait(world, address.endpoint):
        raise AwsError("ValidationError", message)


def _wants_stream(body: bytes) -> bool:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("stream") is True


class _OpenAiWire:
    """
    That of OpenAI's clients: what the container writes, and errors in OpenAI's form.
    """

    def __init__(self, world: World, endpoint: str) -> None:
        self._world = world
        self._endpoint = endpoint

    def refusal(self, error: AwsError) -> Response:
        code, status = error.code, error.status
        if code == "ThrottlingException":
            return _written(AwsError(code, error.message, _TOO_MANY))
        if code == "ModelError":
            status = error.fields["OriginalStatusCode"] or status
            return _written(AwsError(code, self._quoted(error), status))
        return _written(error)

    def stream(self, kind: str, headers: Mapping[str, str]) -> Response:
        return Response(content_type=kind, headers=dict(headers))

    def part(self, piece: bytes) -> bytes:
        return piece

    def broken_off(self) -> bytes | None:
        return None

    def _quoted(self, error: AwsError) -> str:
        # The container's body whole, as recorded; it has a name of its own there.
        region, account = self._world.region, self._world.account
        status = error.fields["OriginalStatusCode"]
        side = "client" if 0 < status < _SERVER_FAULT else "server"
        console = f"https://{region}.console.aws.amazon.com/cloudwatch/home"
        group = f"group=/aws/sagemaker/Endpoints/{self._endpoint}"
        return (
            f"Received {side} error ({status}) from primary with message "
            f'"{error.fields["OriginalMessage"]}". See {console}?region={region}'
            f"#logEventViewer:{group} in account {account} for more information."
        )


def _written(error: AwsError) -> Response:
    name = error.code.replace("ValidationException", "ValidationError")
    kind, code = _KINDS.get(name, _OTHERWISE)
    body: dict[str, Any] = {"message": error.message, "type": kind, "code": code}
    return Response(json.dumps({"error": body}), error.status, content_type=JSON)
