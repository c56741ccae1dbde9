"""
What boto3, botocore and urllib3 raise, and what is made of it.
"""

from __future__ import annotations

from typing import Any

import pytest
import urllib3.exceptions
from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from cdk_sagemaker_llm.client import (
    AnswerTimeoutError,
    ComponentNameError,
    ConnectionCutError,
    ContextTooLongError,
    LlmError,
    ModelError,
    NoCapacityError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnreadableAnswerError,
)
from cdk_sagemaker_llm.client.errors import from_boto, is_unsent

URL = "https://runtime.example"


def refusal(
    code: str, message: str = "Sorry.", status: int = 400, **more: object
) -> boto.ClientError:
    """
    Make what boto3 raises for an answer of the service.
    """
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
        **more,
    }
    return boto.ClientError(response, "InvokeEndpoint")


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (refusal("ThrottlingException"), ThrottledError, "SageMaker throttles: Sorry."),
        (refusal("Throttling"), ThrottledError, "SageMaker throttles"),
        (refusal("TooManyRequestsException"), ThrottledError, "SageMaker throttles"),
        (refusal("SlowDown", status=503), ThrottledError, "SageMaker throttles"),
        (refusal("New", status=429), ThrottledError, "SageMaker throttles"),
        (refusal("New", status=499), RefusedError, "refuses the request (New): Sorry;"),
        (refusal("New", status=500), UnavailableError, "SageMaker fails (New): Sorry."),
        (refusal("InternalFailure"), UnavailableError, "fails (InternalFailure)"),
        (
            refusal("InternalStreamFailure"),
            UnavailableError,
            "fails (InternalStreamFailure)",
        ),
        (
            refusal("ModelNotReadyException", status=429),
            NoCapacityError,
            "the model is not ready yet: Sorry.",
        ),
        (
            refusal("ValidationError", "C has no capacity to process it."),
            NoCapacityError,
            "C has no capacity to process it; wait for one",
        ),
        (
            refusal("ValidationError", "There are no instances to process it."),
            NoCapacityError,
            "no instances to process it; wait for one",
        ),
        (
            refusal("ValidationError", "Inference Component Name header is required."),
            ComponentNameError,
            "name the component: LlmClient",
        ),
        (
            refusal(
                "ValidationError", "Inference Component Name header is not allowed"
            ),
            ComponentNameError,
            "leave the component's name out: LlmClient(endpoint)",
        ),
        (
            refusal("ValidationError", "Inference Component c of e not found."),
            ComponentNameError,
            "Inference Component c of e not found; name the component",
        ),
        (
            refusal("ValidationError", "Endpoint e of account 1 not found."),
            RefusedError,
            "e of account 1 not found; check the endpoint's name, the region",
        ),
        (
            refusal("413", status=413),
            RefusedError,
            "Sorry; send less at once: ",
        ),
        (
            refusal("ModelStreamError", ErrorCode="ModelInvocationTimeExceeded"),
            AnswerTimeoutError,
            "the model took too long: Sorry.",
        ),
        (
            refusal("ModelStreamError", ErrorCode="StreamBroken"),
            ConnectionCutError,
            "the container's stream broke: Sorry.",
        ),
    ],
)
def test_what_the_service_says(
    error: Exception, kind: type[LlmError], told: str
) -> None:
    """
    By its code, its status or its words.
    """
    found = from_boto(error)

    assert type(found) is kind
    assert told in str(found)


@pytest.mark.parametrize(
    ("code", "said", "remedy"),
    [
        ("ExpiredTokenException", "The token is expired", "renew your credentials"),
        ("UnrecognizedClientException", "It is invalid.", "renew your credentials"),
        ("InvalidSignatureException", "Signature expired", "this machine's clock"),
        ("AccessDeniedException", "not authorized", "allow the caller to invoke"),
        ("ValidationError", "Request 1 has oversize body.", "send less at once"),
        (
            "ValidationError",
            "Value at 'body' failed to satisfy constraint: less than 6291456",
            "send less at once",
        ),
        ("413", "HTTP content length exceeded 5246976 bytes.", "send less at once"),
        (
            "ValidationError",
            "Endpoint e of account 1 not found.",
            "check the endpoint's name, the region, and that it is in service",
        ),
        (
            "ValidationError",
            "Endpoint e is not in service.",
            "wait until the endpoint is in service",
        ),
        ("ValidationError", "Endpoint e is being updated.", "wait until the endpoint"),
        ("ValidationError", "Sorry.", "check the endpoint's name, the region and the"),
    ],
)
def test_the_remedy_of_a_refusal(code: str, said: str, remedy: str) -> None:
    """
    It is for what is wrong.
    """
    found = from_boto(refusal(code, said))

    assert type(found) is RefusedError
    assert found.remedy.startswith(remedy) or remedy in found.remedy


def test_a_stream_that_ends_without_a_word() -> None:
    """
    It is no refusal: a part of it may have come.
    """
    error = boto.EventStreamError({"Error": {"Code": "", "Message": ""}}, "Invoke")
    found = from_boto(error)

    assert type(found) is ConnectionCutError
    assert found.message == "SageMaker ends the stream and says nothing"


def test_a_refusal_has_its_code() -> None:
    """
    For programs.
    """
    found = from_boto(refusal("AccessDeniedException", status=403))

    assert isinstance(found, RefusedError)
    assert found.code == "AccessDeniedException"


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        ({"OriginalStatusCode": 424, "OriginalMessage": "boom"}, 424, "boom"),
        (
            {"OriginalStatusCode": 424, "OriginalMessage": '{"code":400,"error":"x"}'},
            424,
            "x",
        ),
        ({"OriginalMessage": '{"code":400,"error":"x"}'}, 400, "x"),
        ({"OriginalStatusCode": 500}, 500, "Received error"),
        ({}, None, "Received error"),
    ],
)
def test_what_the_container_says(
    more: dict[str, object], status: int | None, said: str
) -> None:
    """
    SageMaker's count of its status comes first, and its own words last.
    """
    found = from_boto(refusal("ModelError", "Received error", 424, **more))

    assert isinstance(found, ModelError)
    assert (found.status, found.model_message) == (status, said)


def test_a_context_that_is_too_long_is_told_by_the_container() -> None:
    """
    Through SageMaker, too.
    """
    said = "This model's maximum context length is 8 tokens, your prompt has 9"
    found = from_boto(refusal("ModelError", "x", 424, OriginalMessage=said))

    assert isinstance(found, ContextTooLongError)
    assert (found.limit, found.requested) == (8, 9)


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (
            boto.ReadTimeoutError(endpoint_url=URL),
            AnswerTimeoutError,
            "nothing came for too long",
        ),
        (
            urllib3.exceptions.ReadTimeoutError(None, URL, "late"),  # type: ignore[arg-type]  # no pool
            AnswerTimeoutError,
            "nothing came for too long: None: late",
        ),
        (TimeoutError("late"), AnswerTimeoutError, "nothing came for too long: late"),
        (
            boto.ConnectTimeoutError(endpoint_url=URL),
            AnswerTimeoutError,
            "check the network and the endpoint URL",
        ),
        (
            boto.EndpointConnectionError(endpoint_url=URL),
            ConnectionCutError,
            "check the network, the region and the endpoint URL",
        ),
        (
            boto.ConnectionClosedError(endpoint_url=URL),
            ConnectionCutError,
            "the connection broke: ConnectionClosedError",
        ),
        (
            boto.ResponseStreamingError(error="cut"),
            ConnectionCutError,
            "the connection broke: ResponseStreamingError",
        ),
        (
            urllib3.exceptions.ProtocolError("cut"),
            ConnectionCutError,
            "the connection broke: ProtocolError: cut",
        ),
        (OSError("reset"), ConnectionCutError, "the connection broke: OSError: reset"),
        (
            boto.UnauthorizedSSOTokenError(),
            RefusedError,
            "renew your credentials, as with `aws sso login`",
        ),
        (boto.NoRegionError(), RefusedError, "name it with region=, or set AWS_DEF"),
        (boto.NoCredentialsError(), RefusedError, "choose a profile with AWS_PROFILE"),
        (boto.ProfileNotFound(profile="x"), RefusedError, "`aws configure list-prof"),
        (
            boto.ParamValidationError(report="wrong"),
            RefusedError,
            "correct the AWS configuration or the arguments",
        ),
        (
            ResponseParserError("odd"),
            UnreadableAnswerError,
            "what came is no answer of SageMaker: odd",
        ),
    ],
)
def test_what_the_transport_says(
    error: Exception, kind: type[LlmError], told: str
) -> None:
    """
    Late, cut, or refused before anything was sent.
    """
    found = from_boto(error)

    assert type(found) is kind
    assert told in str(found)


def test_what_is_of_the_family_stays_as_it_is() -> None:
    """
    With what it has kept.
    """
    error = LlmError("x", text="The")

    assert from_boto(error) is error


@pytest.mark.parametrize(
    ("error", "unsent"),
    [
        (boto.ConnectTimeoutError(endpoint_url=URL), True),
        (boto.EndpointConnectionError(endpoint_url=URL), True),
        (boto.ReadTimeoutError(endpoint_url=URL), False),
        (boto.ConnectionClosedError(endpoint_url=URL), False),
        (refusal("InternalFailure"), False),
        (None, False),
    ],
)
def test_what_may_be_sent_again(error: Exception | None, *, unsent: bool) -> None:
    """
    Only what found no connection has surely reached nobody.
    """
    assert is_unsent(error) is unsent
