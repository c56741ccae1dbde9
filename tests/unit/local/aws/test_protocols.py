"""
Requests that nothing can be made of, and how they are refused in each protocol.
"""

from __future__ import annotations

import json
from typing import Any
from xml.parsers.expat import ExpatError

import cbor2
import pytest
from botocore.eventstream import EventStreamBuffer

from cdk_sagemaker_llm.local.aws import protocols
from cdk_sagemaker_llm.local.aws.errors import AwsError, validation
from cdk_sagemaker_llm.local.aws.untyped import Untyped

FORM = {"CONTENT_TYPE": "application/x-www-form-urlencoded; charset=utf-8"}

ARN = "arn:aws:sagemaker:us-east-1:111111111111:model/m"


def target(operation: str, service: str = "SageMaker") -> dict[str, str]:
    """
    Return what a JSON request says of its operation.
    """
    return {"HTTP_X_AMZ_TARGET": f"{service}.{operation}"}


@pytest.mark.parametrize(
    ("body", "document"),
    [
        (b"", {}),
        (b"{}", {}),
        (b'{"a": {"b": null, "c": [null, {"d": null}]}}', {"a": {"c": [None, {}]}}),
        (b'{"a": "null"}', {"a": "null"}),
        ('{"a": "\u00e9"}'.encode(), {"a": "\u00e9"}),
    ],
)
def test_a_body_of_json_is_an_object(body: bytes, document: dict[str, Any]) -> None:
    """
    A member that is null is not there.
    """
    assert protocols.read_json(body) == document


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "not valid JSON: Expecting property name enclosed in double quotes"),
        (b'{"a": NaN}', "not valid JSON: NaN is not a number"),
        (b'{"a": -Infinity}', "not valid JSON: -Infinity is not a number"),
        (b"\xff", "not valid JSON: 'utf-8' codec can't decode"),
        (b"[" * 200_000, "not valid JSON: "),
        (b"[]", "Unexpected field type"),
        (b"null", "Unexpected field type"),
        (b"1", "Unexpected field type"),
    ],
)
def test_a_body_that_is_no_object_is_refused(body: bytes, words: str) -> None:
    """
    By the code that comes before any other.
    """
    with pytest.raises(AwsError) as caught:
        protocols.read_json(body)

    assert (caught.value.code, caught.value.status) == ("SerializationException", 400)
    assert caught.value.message.startswith(words)


@pytest.mark.parametrize(
    ("error", "environ", "service", "body", "refusal"),
    [
        (
            protocols.NoRouteError("moto answers 404"),
            {},
            "s3",
            b"",
            ("UnknownOperationException", "moto answers 404", 404),
        ),
        (
            NotImplementedError("that"),
            {},
            "s3",
            b"",
            ("NotImplemented", "not emulated: that", 400),
        ),
        (
            json.JSONDecodeError("odd", "x", 0),
            {},
            "lambda",
            b"",
            (
                "SerializationException",
                "not valid JSON: odd: line 1 column 1 (char 0)",
                400,
            ),
        ),
        (
            ExpatError("no element found"),
            {},
            "s3",
            b"",
            ("MalformedXML", "The XML is not well-formed: no element found", 400),
        ),
        (
            ValueError("odd"),
            FORM,
            "sts",
            b"Action=GetCallerIdentity",
            ("MalformedInput", "odd", 400),
        ),
        (
            ValueError("odd"),
            {},
            "s3",
            b"",
            ("InternalFailure", "moto failed: ValueError('odd')", 500),
        ),
        (
            KeyError("odd"),
            FORM,
            "sts",
            b"Action=GetCallerIdentity",
            ("InternalFailure", "moto failed: KeyError('odd')", 500),
        ),
        (
            KeyError("odd"),
            FORM,
            "sts",
            b"",
            ("MissingAction", "The request must contain the parameter Action", 400),
        ),
        (
            KeyError("odd"),
            FORM,
            "sts",
            b"Action=Nothing",
            ("InvalidAction", "Could not find operation Nothing", 400),
        ),
        (
            KeyError("odd"),
            FORM,
            "monitoring",
            b"Action=DeleteAlarms",
            ("MissingParameter", "The parameter AlarmNames is required.", 400),
        ),
        (
            KeyError("odd"),
            FORM,
            "monitoring",
            b"Action=DeleteAlarms&AlarmNames.member.1=a",
            ("InternalFailure", "moto failed: KeyError('odd')", 500),
        ),
        (
            KeyError("odd"),
            FORM,
            "elasticloadbalancing",
            b"Action=Nothing",
            ("InvalidAction", "Could not find operation Nothing", 400),
        ),
        (
            KeyError("odd"),
            FORM,
            "email",
            b"Action=Nothing",
            ("InvalidAction", "Could not find operation Nothing", 400),
        ),
        (
            KeyError("odd"),
            FORM,
            "no-service",
            b"Action=Nothing",
            ("InternalFailure", "moto failed: KeyError('odd')", 500),
        ),
        (
            KeyError("odd"),
            target("Nothing"),
            "sagemaker",
            b"{}",
            ("UnknownOperationException", "unknown operation Nothing", 400),
        ),
        (
            KeyError("odd"),
            target("Nothing"),
            "no-service",
            b"{}",
            ("InternalFailure", "moto failed: KeyError('odd')", 500),
        ),
        (
            KeyError("odd"),
            target("Nothing"),
            "no-service",
            b"[]",
            ("SerializationException", "Unexpected field type", 400),
        ),
        (
            KeyError("odd"),
            target("DeleteModel"),
            "sagemaker",
            b'{"ModelName": 1}',
            (
                "SerializationException",
                "NUMBER_VALUE can not be converted to a String",
                400,
            ),
        ),
        (
            KeyError("odd"),
            target("DeleteModel"),
            "sagemaker",
            b"{}",
            (
                "ValidationException",
                (
                    "1 validation error detected: Value null at 'modelName' failed to "
                    "satisfy constraint: Member must not be null"
                ),
                400,
            ),
        ),
        (
            KeyError("odd"),
            target("Nothing", "Amazon.SageMaker"),
            "sagemaker",
            b"{}",
            ("UnknownOperationException", "unknown operation Nothing", 400),
        ),
        (
            KeyError("odd"),
            target("ListTags"),
            "sagemaker",
            json.dumps({"ResourceArn": ARN}).encode(),
            (
                "ValidationException",
                f'Could not find resource "{ARN}".',
                400,
            ),
        ),
        (
            KeyError("odd"),
            target("DeleteModel"),
            "sagemaker",
            b'{"ModelName": "m"}',
            ("InternalFailure", "moto failed: KeyError('odd')", 500),
        ),
    ],
)
def test_what_moto_fails_on_is_told_as_the_service_would(
    error: Exception,
    environ: dict[str, str],
    service: str,
    body: bytes,
    refusal: tuple[str, str, int],
) -> None:
    """
    What is wrong with the request comes first; only then it is moto's fault.
    """
    found = protocols.explain(error, environ, service, body)

    assert (found.code, found.message, found.status) == refusal


INNER = "<Error><Code>A&amp;B</Code><Message>a &lt; b</Message></Error>"


@pytest.mark.parametrize(
    ("environ", "service", "text"),
    [
        ({}, "", INNER),
        ({}, "s3", INNER),
        ({}, "route53", f"<ErrorResponse>{INNER}</ErrorResponse>"),
        ({}, "cloudfront", f"<ErrorResponse>{INNER}</ErrorResponse>"),
        (FORM, "sns", f"<ErrorResponse>{INNER}</ErrorResponse>"),
        (FORM, "ec2", f"<Response><Errors>{INNER}</Errors></Response>"),
    ],
)
def test_an_error_of_xml_is_written(
    environ: dict[str, str], service: str, text: str
) -> None:
    """
    As the query protocol has it, EC2 and S3 each in a form of their own.
    """
    error = AwsError("A&B", "a < b", 409)

    written = protocols.error_response(error, environ, service)

    assert written.get_data(as_text=True) == text
    assert (written.status_code, written.mimetype) == (409, "text/xml")


@pytest.mark.parametrize(
    ("environ", "service"),
    [
        (target("ListModels"), "sagemaker"),
        (target("ListModels"), ""),
        ({**target("ListModels"), **FORM}, "sns"),
        ({}, "lambda"),
    ],
)
def test_an_error_of_json_is_written(environ: dict[str, str], service: str) -> None:
    """
    With its code in the header too.
    """
    written = protocols.error_response(AwsError("Odd", "so", 404), environ, service)

    assert written.get_json(force=True) == {"__type": "Odd", "message": "so"}
    assert (written.status_code, written.content_type) == (
        404,
        "application/x-amz-json-1.1",
    )
    assert written.headers["x-amzn-ErrorType"] == "Odd"


def test_an_error_of_cbor_is_written() -> None:
    """
    Where the request is of that protocol.
    """
    environ = {"HTTP_SMITHY_PROTOCOL": "rpc-v2-cbor", **FORM}

    written = protocols.error_response(AwsError("Odd", "so", 404), environ, "s3")

    assert cbor2.loads(written.get_data()) == {"__type": "Odd", "message": "so"}
    assert (written.status_code, written.content_type) == (404, "application/cbor")
    other = {"HTTP_SMITHY_PROTOCOL": "rpc-v3-cbor"}
    assert (
        protocols.error_response(AwsError("Odd", "so"), other, "s3").mimetype
        == "text/xml"
    )


def test_an_error_is_a_bad_request_unless_it_says_more() -> None:
    """
    With further fields, if it has any.
    """
    error = AwsError("Odd", "so", 424, OriginalStatusCode=500)

    assert (error.code, error.message, error.status, str(error)) == (
        "Odd",
        "so",
        424,
        "so",
    )
    assert error.fields == {"OriginalStatusCode": 500}
    plain = validation("odd")
    assert (plain.code, plain.message, plain.status, plain.fields) == (
        "ValidationException",
        "odd",
        400,
        {},
    )


def framed(message: bytes) -> tuple[dict[str, Any], bytes]:
    """
    Read a message of an event stream as botocore does.
    """
    buffer = EventStreamBuffer()
    buffer.add_data(message)
    event: Untyped = next(buffer)
    assert list(buffer) == []
    return event.headers, event.payload


def test_a_part_of_a_stream_is_framed() -> None:
    """
    As the payload that a container has written.
    """
    assert framed(protocols.payload_part(b"a")) == (
        {
            ":message-type": "event",
            ":event-type": "PayloadPart",
            ":content-type": "application/octet-stream",
        },
        b"a",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        ((), "StreamBroken", "ModelStreamError"),
        (("Timeout", "InternalStreamFailure"), "Timeout", "InternalStreamFailure"),
    ],
)
def test_a_stream_breaks_off_with_an_exception(
    arguments: tuple[str, ...], code: str, kind: str
) -> None:
    """
    Of the kind that the API has for it.
    """
    headers, payload = framed(protocols.broken_off(*arguments))

    assert headers == {
        ":message-type": "exception",
        ":exception-type": kind,
        ":content-type": "application/json",
    }
    assert json.loads(payload) == {
        "Message": "The stream from the model container was interrupted.",
        "ErrorCode": code,
    }
