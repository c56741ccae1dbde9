"""
What goes wrong with an answer: one family, which keeps what had come by then.

What boto3 raises, or a container answers, becomes the one that says what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cdk_sagemaker_llm.client.answers import ToolCall
from cdk_sagemaker_llm.client.requests import Schema, schema_wanted
from cdk_sagemaker_llm.client.wire.failures import Failure, context_of, read_failure

_THROTTLED = frozenset(
    {"ThrottlingException", "Throttling", "TooManyRequestsException", "SlowDown"}
)
_TOO_MANY, _TOO_LARGE, _FAILED = 429, 413, 500
# SageMaker's words, in lower case.
_NO_CAPACITY = ("has no capacity to process", "no instances to process")
_COMPONENT_MISSING = "component name header is required"
_COMPONENT_UNWANTED = "component name header is not allowed"
_SIGN_IN = (
    "renew your credentials, as with `aws sso login`; `aws sts get-caller-identity` "
    "shows whether they are valid"
)
_SMALLER = "send less at once: shorten the prompt, or give images by their address"
_REMEDY = "correct the AWS configuration or the arguments"
# By the names of botocore's exceptions.
_REMEDIES = {
    "NoRegionError": "name it with region=, or set AWS_DEFAULT_REGION",
    "InvalidRegionError": "name a region such as us-east-1 with region=",
    "NoCredentialsError": (
        "choose a profile with AWS_PROFILE, or set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY; `aws sts get-caller-identity` shows who you are"
    ),
    "ProfileNotFound": "choose one that `aws configure list-profiles` shows",
    **dict.fromkeys(
        (
            "CredentialRetrievalError",
            "PartialCredentialsError",
            "SSOTokenLoadError",
            "TokenRetrievalError",
            "UnauthorizedSSOTokenError",
        ),
        _SIGN_IN,
    ),
}
_SIGNATURE = "check the secret access key, and this machine's clock"
# By AWS's codes, without the ending of an exception.
_CODE_REMEDIES = {
    **dict.fromkeys(
        (
            "ExpiredToken",
            "InvalidClientTokenId",
            "MissingAuthenticationToken",
            "RequestExpired",
            "UnrecognizedClient",
        ),
        _SIGN_IN,
    ),
    **dict.fromkeys(
        ("IncompleteSignature", "InvalidSignature", "SignatureDoesNotMatch"), _SIGNATURE
    ),
    **dict.fromkeys(
        ("AccessDenied", "NotAuthorized"),
        "allow the caller to invoke the endpoint, as grant_invoke() does: "
        "sagemaker:InvokeEndpoint and sagemaker:InvokeEndpointWithResponseStream",
    ),
}
# By SageMaker's words, in lower case.
_WORD_REMEDIES = (
    (r"oversize|content length exceeded|'body' failed to satisfy", _SMALLER),
    (
        r"^endpoint .* not found",
        "check the endpoint's name, the region, and that it is in service",
    ),
    (
        r"not (?:yet )?(?:ready|available|in ?service)|is (?:being )?(?:creat|updat)",
        "wait until the endpoint is in service, as `aws sagemaker wait` does",
    ),
)
_REACHABLE = "check the network, the region and the endpoint URL"
_PROXIES = (
    "check HTTP_PROXY and HTTPS_PROXY, and name in NO_PROXY what is reached directly"
)
_CERTIFICATES = "have it trust the server's certificate: AWS_CA_BUNDLE names a file"
_TOO_LATE = "ModelInvocationTimeExceeded"

_EXCERPT = 500
_FORM_REMEDIES = {
    Schema.OPENAI: "it takes OpenAI's requests: LlmClient(..., schema='openai'), or "
    "chat()",
    Schema.CHAT: "it takes chats alone: LlmClient(..., schema='chat'), or chat()",
}
# What TEI's router says to a body without what its model is asked with.
_MISSING = {
    "missing field `inputs`": "it is asked with texts alone: use embed() for a model "
    "that makes vectors",
    "missing field `query`": "it ranks texts: use rerank()",
}

NOTHING_CAME = "ask again; the model may have worked on the request"
"""The remedy of a connection that broke before any part of the answer."""

_OUT_OF_MEMORY = re.compile(r"out ?of ?memory", re.IGNORECASE)
_FULL = (
    "the accelerator's memory is full: send fewer or shorter requests at once, or have "
    "the engine keep fewer at a time or a smaller cache"
)
_STATUS_REMEDIES = {
    _TOO_LARGE: _SMALLER,
    # LMI's and TGI's for a model that fails in its work.
    424: "",
    503: "its queue is full or its engine is down: scale out, or read its log",
}

# The words of SageMaker for a container that did not answer in time.
_TOO_SLOW = "timed out while waiting for a response from container"


class LlmError(Exception):
    """
    No answer, or not the whole of it.

    Attributes:
        message: What happened.

        remedy: What to do about it.

        text: The answer as far as it came.

        reasoning: The reasoning as far as it came.

        tool_calls: The tool calls as far as they came.
    """

    remedy = ""

    def __init__(self, message: str, *, remedy: str = "", text: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy or type(self).remedy
        self.text = text
        self.reasoning = ""
        self.tool_calls: tuple[ToolCall, ...] = ()

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class ModelError(LlmError):
    """
    The container's own error: before a stream, in the middle of one, or instead.

    Attributes:
        status: The container's HTTP status; ``None`` where it gave none.

        model_message: What the container said.
    """

    remedy = "read the container's log group for what came before"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        model_message: str = "",
        remedy: str = "",
        text: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy, text=text)
        self.status = status
        self.model_message = model_message


class ContextTooLongError(ModelError):
    """
    Prompt and answer do not fit the model's context.

    Attributes:
        limit: How many tokens fit; ``None`` where the container did not say.

        requested: How many were asked for; ``None`` where it did not say.
    """

    remedy = "shorten the prompt, ask for fewer tokens, or deploy a longer context"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        model_message: str = "",
        limit: int | None = None,
        requested: int | None = None,
    ) -> None:
        super().__init__(message, status=status, model_message=model_message)
        self.limit = limit
        self.requested = requested


class ThrottledError(LlmError):
    """
    Too many requests: for the account, or for the container's queue.
    """

    remedy = "send fewer at once, scale out, or ask for a higher quota"


class NoCapacityError(LlmError):
    """
    No copy of the model is there to answer.

    Attributes:
        waited: How many seconds were waited for one.
    """

    remedy = (
        "wait for one with wait_for_capacity=, raise the least number of copies, or "
        "see why none could be started"
    )

    def __init__(self, message: str, *, waited: float = 0.0) -> None:
        super().__init__(message)
        self.waited = waited


class ComponentNameError(LlmError):
    """
    The name of the inference component is missing, unknown, or not wanted.
    """

    remedy = 'name the component: LlmClient(endpoint, "component")'


class RefusedError(LlmError):
    """
    SageMaker refuses the request before any container sees it.

    Attributes:
        code: AWS's code of the error.
    """

    remedy = "check the endpoint's name, the region and the permissions"

    def __init__(self, message: str, *, code: str = "", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class UnavailableError(LlmError):
    """
    SageMaker itself fails.

    It is not tried again by itself: the model may have worked on the request.
    """

    remedy = "try again"


class AnswerTimeoutError(LlmError, TimeoutError):
    """
    The answer, or the next part of it, took too long.
    """

    remedy = "stream the answer, ask for fewer tokens, or allow more time (Timeouts)"


class ConnectionCutError(LlmError, ConnectionError):
    """
    The connection broke, or the answer ended before its end.
    """

    remedy = "ask again with the text so far as the beginning of the answer"


class CancelledRequestError(LlmError):
    """
    The request was given up by its own program.
    """


class UnreadableAnswerError(LlmError):
    """
    What came is in no format that is known here.
    """

    remedy = "check that a language model answers on this endpoint"


class AnswerTooLargeError(LlmError):
    """
    The answer is larger than what may be kept of it.
    """

    remedy = "ask for fewer tokens, or allow more with max_bytes="


def from_boto(error: Exception) -> LlmError:
    """
    Make the exception of this family for one of boto3, botocore or urllib3.
    """
    from botocore.eventstream import ParserError  # noqa: PLC0415 - only now needed
    from botocore.exceptions import (  # noqa: PLC0415 - as above
        ClientError,
        EventStreamError,
    )
    from botocore.parsers import ResponseParserError  # noqa: PLC0415 - as above

    if isinstance(error, LlmError):
        return error
    if isinstance(error, ClientError):
        is_midway = isinstance(error, EventStreamError)
        return _from_service(error.response, is_midway=is_midway)
    if isinstance(error, (ParserError, ResponseParserError)):
        message = f"what came is no answer of SageMaker: {error}"
        return UnreadableAnswerError(message)
    return _from_transport(error)


def is_unsent(error: BaseException | None) -> bool:
    """
    Tell whether a request that ended so can have reached nobody.
    """
    from botocore.exceptions import (  # noqa: PLC0415 - only now needed
        ConnectTimeoutError,
        EndpointConnectionError,
    )

    return isinstance(error, (ConnectTimeoutError, EndpointConnectionError))


def error_of(failure: Failure) -> LlmError:
    """
    Make the exception for what a container said.
    """
    words = failure.message
    status = f" with status {failure.status}" if failure.status else ""
    said = words or failure.kind
    excerpt = said[:_EXCERPT] + ("..." if len(said) > _EXCERPT else "")
    ending = f": {excerpt}" if excerpt else " and said nothing"
    message = f"the container failed{status}{ending}"
    too_long = context_of(failure)
    if too_long is not None:
        limit, requested = too_long
        return ContextTooLongError(
            message,
            status=failure.status,
            model_message=words,
            limit=limit,
            requested=requested,
        )
    if failure.status == _TOO_MANY:
        return ThrottledError(message)
    if _TOO_SLOW in words:
        return AnswerTimeoutError(message)
    return ModelError(
        message, status=failure.status, model_message=words, remedy=_remedy(failure)
    )


def _from_service(response: Mapping[str, Any], *, is_midway: bool) -> LlmError:
    details = response.get("Error", {})
    code, message = str(details.get("Code", "")), str(details.get("Message", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 0
    if code == "ModelError":
        said = response.get("OriginalMessage") or message
        failure = read_failure(str(said))
        original_status = response.get("OriginalStatusCode") or failure.status
        return error_of(replace(failure, status=original_status))
    if code == "ModelStreamError":
        return (
            AnswerTimeoutError(f"the model took too long: {message}")
            if response.get("ErrorCode") == _TOO_LATE
            else ConnectionCutError(f"the container's stream broke: {message}")
        )
    if code == "ModelNotReadyException":
        return NoCapacityError(f"the model is not ready yet: {message}")
    if code in _THROTTLED or status == _TOO_MANY:
        return ThrottledError(f"SageMaker throttles: {message}")
    if status >= _FAILED or code in {"InternalStreamFailure", "InternalFailure"}:
        return UnavailableError(f"SageMaker fails ({code}): {message}")
    return _ended(code, message) if is_midway else _refused(code, message, status)


def _ended(code: str, message: str) -> LlmError:
    named = f" ({code})" if code else ""
    ending = f": {message}" if message else " and says nothing"
    return ConnectionCutError(f"SageMaker ends the stream{named}{ending}")


def _from_transport(error: Exception) -> LlmError:
    from botocore import exceptions as boto  # noqa: PLC0415 - only now needed
    from urllib3 import exceptions as urllib  # noqa: PLC0415 - as above

    message = f"{type(error).__name__}: {error}"
    late = (boto.ReadTimeoutError, urllib.ReadTimeoutError, TimeoutError)
    if isinstance(error, late):
        return AnswerTimeoutError(f"nothing came for too long: {error}")
    if isinstance(error, boto.ConnectTimeoutError):
        return AnswerTimeoutError(
            f"no connection: {error}", remedy="check the network and the endpoint URL"
        )
    for kind, remedy in (
        (boto.EndpointConnectionError, _REACHABLE),
        (boto.ProxyConnectionError, _PROXIES),
        (boto.SSLError, _CERTIFICATES),
    ):
        if isinstance(error, kind):
            return ConnectionCutError(str(error), remedy=remedy)
    cut = (
        boto.HTTPClientError,
        boto.IncompleteReadError,
        boto.ResponseStreamingError,
        urllib.HTTPError,
        OSError,
    )
    if isinstance(error, cut):
        return ConnectionCutError(f"the connection broke: {message}")
    # What botocore refuses by itself: no credentials, no region, a wrong name.
    remedy = _REMEDIES.get(type(error).__name__, _REMEDY)
    return RefusedError(message, remedy=remedy)


def _remedy(failure: Failure) -> str:
    form = schema_wanted(failure.message)
    if form is not None:
        return _FORM_REMEDIES[form]
    for words, remedy in _MISSING.items():
        if words in failure.message:
            return remedy
    if _OUT_OF_MEMORY.search(f"{failure.kind} {failure.message}"):
        return _FULL
    status = failure.status or _FAILED
    if status in _STATUS_REMEDIES:
        return _STATUS_REMEDIES[status]
    return "correct the request as the container says" if status < _FAILED else ""


def _refused(code: str, message: str, status: int) -> LlmError:
    words = message.lower()
    if any(sign in words for sign in _NO_CAPACITY):
        return NoCapacityError(message.rstrip("."))
    if _COMPONENT_MISSING in words:
        return ComponentNameError(
            "the endpoint has inference components, and none is named"
        )
    if _COMPONENT_UNWANTED in words:
        unwanted = ComponentNameError("the endpoint has no inference components")
        unwanted.remedy = "leave the component's name out: LlmClient(endpoint)"
        return unwanted
    if words.startswith("inference component ") and "not found" in words:
        return ComponentNameError(message.rstrip("."))
    said = (remedy for sign, remedy in _WORD_REMEDIES if re.search(sign, words))
    remedy = _CODE_REMEDIES.get(code.removesuffix("Exception"), "")
    remedy = remedy or (_SMALLER if status == _TOO_LARGE else next(said, ""))
    text = f"SageMaker refuses the request ({code}): {message.rstrip('.')}"
    return RefusedError(text, code=code, remedy=remedy)
