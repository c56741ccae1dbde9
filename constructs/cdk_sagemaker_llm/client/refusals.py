"""
From what boto3 raises to the exception that says what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cdk_sagemaker_llm.client.errors import (
    AnswerTimeoutError,
    ComponentNameError,
    ConnectionCutError,
    LlmError,
    NoCapacityError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnreadableAnswerError,
)
from cdk_sagemaker_llm.client.troubles import error_of
from cdk_sagemaker_llm.client.wire.failures import read_failure

_THROTTLED = frozenset(
    {"ThrottlingException", "Throttling", "TooManyRequestsException", "SlowDown"}
)
_TOO_MANY, _TOO_LARGE, _FAILED = 429, 413, 500
# SageMaker's words, in lower case.
_NO_CAPACITY = ("has no capacity to process", "no instances to process")
_COMPONENT_MISSING = "component name header is required"
_COMPONENT_UNWANTED = "component name header is not allowed"
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
}
_REACHABLE = "check the network, the region and the endpoint URL"
_PROXIES = (
    "check HTTP_PROXY and HTTPS_PROXY, and name in NO_PROXY what is reached directly"
)
_CERTIFICATES = "have it trust the server's certificate: AWS_CA_BUNDLE names a file"
_TOO_LATE = "ModelInvocationTimeExceeded"


def from_boto(error: Exception) -> LlmError:
    """
    Make the exception of this family for one of boto3, botocore or urllib3.
    """
    from botocore.eventstream import ParserError  # noqa: PLC0415 - only now needed
    from botocore.exceptions import ClientError  # noqa: PLC0415 - as above
    from botocore.parsers import ResponseParserError  # noqa: PLC0415 - as above

    if isinstance(error, LlmError):
        return error
    if isinstance(error, ClientError):
        return _from_service(error.response)
    if isinstance(error, (ParserError, ResponseParserError)):
        told = f"what came is no answer of SageMaker: {error}"
        return UnreadableAnswerError(told)
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


def _from_transport(error: Exception) -> LlmError:
    from botocore import exceptions as boto  # noqa: PLC0415 - only now needed
    from urllib3 import exceptions as urllib  # noqa: PLC0415 - as above

    told = f"{type(error).__name__}: {error}"
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
        return ConnectionCutError(f"the connection broke: {told}")
    # What botocore refuses by itself: no credentials, no region, a wrong name.
    remedy = _REMEDIES.get(type(error).__name__, _REMEDY)
    return RefusedError(told, remedy=remedy)


def _from_service(response: Mapping[str, Any]) -> LlmError:
    said = response.get("Error", {})
    code, message = str(said.get("Code", "")), str(said.get("Message", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 0
    if code == "ModelError":
        return _from_container(response, message)
    if code == "ModelStreamError":
        return _from_stream(response, said, message)
    if code == "ModelNotReadyException":
        return NoCapacityError(f"the model is not ready yet: {message}")
    if code in _THROTTLED or status == _TOO_MANY:
        return ThrottledError(f"SageMaker throttles: {message}")
    if status >= _FAILED or code in {"InternalStreamFailure", "InternalFailure"}:
        return UnavailableError(f"SageMaker fails ({code}): {message}")
    return _refused(code, message, status)


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
    remedy = "shorten the prompt" if status == _TOO_LARGE else ""
    told = f"SageMaker refuses the request ({code}): {message.rstrip('.')}"
    return RefusedError(told, code=code, remedy=remedy)


def _from_container(response: Mapping[str, Any], message: str) -> LlmError:
    status = response.get("OriginalStatusCode") or None
    failure = read_failure(str(response.get("OriginalMessage") or message))
    return error_of(replace(failure, status=status or failure.status))


def _from_stream(
    response: Mapping[str, Any], said: Mapping[str, Any], message: str
) -> LlmError:
    if _TOO_LATE in (response.get("ErrorCode"), said.get("ErrorCode")):
        return AnswerTimeoutError(f"the model took too long: {message}")
    return ConnectionCutError(f"the container's stream broke: {message}")
