"""
Requests that no SDK sends: answered in words that every SDK can read.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from tests.local.hosting_requests import (
    LMI_28,
    TGI,
    make_model,
    prompt,
    serve,
    unchecked,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

AMZ_JSON = "application/x-amz-json-1.1"
FORM = "application/x-www-form-urlencoded"
SCALING = "arn:aws:application-autoscaling:us-east-1:123456789012"
LIMIT = 6_291_456


class TestHosting:
    """
    Bodies and operations of SageMaker's control plane.
    """

    @pytest.mark.parametrize(
        "body",
        [
            b"{",
            b"[]",
            b"7",
            b"null",
            b'"text"',
            b"\xff\xfe{}",
            b'{"MaxResults": NaN}',
            b"[" * 100_000,
        ],
        ids=["half", "list", "number", "null", "string", "utf-8", "nan", "deep"],
    )
    def test_what_is_no_object_cannot_be_read(
        self, near_aws: EmbeddedAws, body: bytes
    ) -> None:
        """
        A SerializationException, in JSON.
        """
        status, told = post(near_aws, body, target="SageMaker.ListModels")

        assert (status, told["__type"]) == (400, "SerializationException")

    @pytest.mark.parametrize(
        ("member", "words"),
        [
            ({"ModelName": 7}, "NUMBER_VALUE can not be converted to a String"),
            ({"ModelName": {}}, "Start of structure or map found where not expected."),
            ({"ModelName": []}, "Start of list found where not expected"),
            ({"Containers": "x"}, "Unexpected field type"),
            ({"Containers": [7]}, "Unexpected field type"),
            ({"PrimaryContainer": {"Environment": {"A": 1}}}, "NUMBER_VALUE can not"),
            ({"EnableNetworkIsolation": "yes"}, "STRING_VALUE can not be converted to"),
            ({"ModelName": True}, "TRUE can not be converted to a String"),
        ],
    )
    def test_members_of_a_wrong_type_cannot_be_read(
        self, near_aws: EmbeddedAws, member: dict[str, Untyped], words: str
    ) -> None:
        """
        Before anything else is looked at.
        """
        body = json.dumps(member).encode()
        status, told = post(near_aws, body, target="SageMaker.CreateModel")

        assert (status, told["__type"]) == (400, "SerializationException")
        assert words in told["message"]

    @pytest.mark.parametrize(
        ("moment", "status"),
        [("2026-01-01T00:00:00Z", 200), ("1700000000", 400), ("yesterday", 400)],
    )
    def test_times_may_be_written_out(
        self, near_aws: EmbeddedAws, moment: str, status: int
    ) -> None:
        """
        Beside the seconds that the SDKs send.
        """
        body = json.dumps({"CreationTimeAfter": moment}).encode()
        answered, told = post(near_aws, body, target="SageMaker.ListModels")

        assert answered == status
        assert status == 200 or told["__type"] == "SerializationException"

    def test_a_boolean_is_no_number(self, near_aws: EmbeddedAws) -> None:
        """
        Though Python takes it for one.
        """
        status, told = post(
            near_aws, b'{"MaxResults": true}', target="SageMaker.ListModels"
        )

        assert (status, told["__type"]) == (400, "SerializationException")

    def test_no_body_has_no_members(self, near_aws: EmbeddedAws) -> None:
        """
        A list needs none; a creation says what is missing.
        """
        listed, _ = post(near_aws, b"", target="SageMaker.ListModels")
        status, told = post(near_aws, b"", target="SageMaker.CreateModel")

        assert listed == 200
        assert (status, told["__type"]) == (400, "ValidationException")
        assert "'modelName' failed to satisfy constraint" in told["message"]

    @pytest.mark.parametrize("target", ["SageMaker.MakeCoffee", "SageMaker."])
    def test_an_operation_that_there_is_not(
        self, near_aws: EmbeddedAws, target: str
    ) -> None:
        """
        An UnknownOperationException.
        """
        status, told = post(near_aws, b"{}", target=target)

        assert (status, told["__type"]) == (400, "UnknownOperationException")


class TestArns:
    """
    ARNs that are not of this account and region, or not SageMaker's.
    """

    @pytest.mark.parametrize(
        "arn",
        [
            "arn:aws:sagemaker:eu-west-1:123456789012:endpoint/other",
            "arn:aws:sagemaker:us-east-1:999999999999:endpoint/other",
            "arn:aws:sagemaker:us-east-1:123456789012:endpoint/nobody",
            "arn:aws:sagemaker:eu-west-1:123456789012:training-job/other",
            "arn:aws:sagemaker:us-east-1:123456789012:training-job/nobody",
            "arn:aws:s3:::some-bucket",
            "endpoint/other",
            "",
        ],
    )
    @pytest.mark.parametrize(
        ("operation", "more"),
        [
            ("add_tags", {"Tags": [{"Key": "a", "Value": "b"}]}),
            ("list_tags", {}),
            ("delete_tags", {"TagKeys": ["a"]}),
        ],
    )
    def test_tags_of_what_is_not_here(
        self, near_aws: EmbeddedAws, operation: str, more: Untyped, arn: str
    ) -> None:
        """
        A ValidationException, as for anything that is not there.
        """
        sagemaker = unchecked(near_aws, "sagemaker")

        with pytest.raises(ClientError, match=r"\(ValidationException\)"):
            getattr(sagemaker, operation)(ResourceArn=arn, **more)

    def test_an_arn_is_no_name(self, near_aws: EmbeddedAws) -> None:
        """
        Where a name is asked for.
        """
        arn = "arn:aws:sagemaker:eu-west-1:999999999999:endpoint/other"

        with pytest.raises(ClientError, match=r"\(ValidationException\)"):
            near_aws.client("sagemaker").describe_endpoint(EndpointName=arn)
        with pytest.raises(ClientError, match=r"\(ValidationException\)"):
            near_aws.client("sagemaker").describe_model(ModelName=arn)


class TestInvocations:
    """
    Bodies of the runtime: the container's matter, up to their size.
    """

    @pytest.mark.parametrize("image", [TGI, LMI_28], ids=["tgi", "lmi"])
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"null",
            b"\xff",
            b'{"inputs": 7}',
            rb'{"inputs": "\ud800"}',
            b'{"inputs": "x", "parameters": []}',
            b'{"inputs": "x", "parameters": {"max_new_tokens": true}}',
            b'{"inputs": "x", "parameters": {"max_new_tokens": "7"}}',
            b"[" * 100_000,
        ],
    )
    def test_the_container_refuses_what_it_cannot_read(
        self, near_aws: EmbeddedAws, image: str, body: bytes
    ) -> None:
        """
        As a ModelError.
        """
        endpoint = serve(near_aws, image)

        with pytest.raises(ClientError, match=r"\(ModelError\)"):
            near_aws.client("sagemaker-runtime").invoke_endpoint(
                EndpointName=endpoint, Body=body
            )

    @pytest.mark.parametrize(
        "operation", ["invoke_endpoint", "invoke_endpoint_with_response_stream"]
    )
    def test_a_body_has_a_largest_size(
        self, near_aws: EmbeddedAws, operation: str
    ) -> None:
        """
        6,291,456 bytes pass, one more does not.
        """
        endpoint = serve(near_aws, TGI)
        call = getattr(near_aws.client("sagemaker-runtime"), operation)
        body = prompt("Who?")
        padded = body + b" " * (LIMIT - len(body))

        answer = call(EndpointName=endpoint, Body=padded)
        assert answer["InvokedProductionVariant"] == "AllTraffic"
        answer["Body"].close()
        with pytest.raises(ClientError, match=r"HTTP content length exceeded") as error:
            call(EndpointName=endpoint, Body=padded + b" ")
        response: Untyped = error.value.response
        assert response["ResponseMetadata"]["HTTPStatusCode"] == 413


class TestOtherServices:
    """
    What moto fails on, in the protocol of the question.
    """

    @pytest.mark.parametrize("body", [b"{", b"[]", b"7", b"\xff"])
    @pytest.mark.parametrize(
        ("service", "target"),
        [
            ("secretsmanager", "secretsmanager.GetSecretValue"),
            ("ssm", "AmazonSSM.GetParameter"),
            (
                "application-autoscaling",
                "AnyScaleFrontendService.DescribeScalableTargets",
            ),
            ("ecr", "AmazonEC2ContainerRegistry_V20150921.DescribeRepositories"),
        ],
    )
    def test_json(
        self, near_aws: EmbeddedAws, service: str, target: str, body: bytes
    ) -> None:
        """
        A SerializationException.
        """
        status, told = post(near_aws, body, target=target, service=service)

        assert (status, told["__type"]) == (400, "SerializationException")

    def test_an_unknown_operation(self, near_aws: EmbeddedAws) -> None:
        """
        An UnknownOperationException; what moto lacks is said to be not emulated.
        """
        _, unknown = post(near_aws, b"{}", target="AmazonSSM.MakeCoffee", service="ssm")
        _, lacking = post(
            near_aws,
            json.dumps(
                {
                    "ResourceARN": f"{SCALING}:scalable-target/{'1a' * 8}",
                    "TagKeys": ["team"],
                }
            ).encode(),
            target="AnyScaleFrontendService.UntagResource",
            service="application-autoscaling",
        )

        assert unknown["__type"] == "UnknownOperationException"
        assert lacking["__type"] == "NotImplemented"

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            (b"Action=MakeCoffee&Version=2011-06-15", b"InvalidAction"),
            (b"Version=2011-06-15", b"MissingAction"),
        ],
    )
    def test_query(self, near_aws: EmbeddedAws, body: bytes, code: bytes) -> None:
        """
        XML with a code.
        """
        status, answer = send(near_aws, body, FORM, service="sts")

        assert status == 400
        assert answer.startswith(b"<ErrorResponse><Error><Code>" + code)

    @pytest.mark.parametrize(
        ("service", "body", "code"),
        [
            (
                "monitoring",
                b"Action=PutMetricAlarm&AlarmName=x&Period=abc",
                b"MalformedInput",
            ),
            (
                "sts",
                b"Action=AssumeRole&Version=2011-06-15&RoleSessionName=me",
                b"MissingParameter",
            ),
        ],
    )
    def test_query_parameters(
        self, near_aws: EmbeddedAws, service: str, body: bytes, code: bytes
    ) -> None:
        """
        One that cannot be read, and one that is not there.
        """
        status, answer = send(near_aws, body, FORM, service=service)

        assert status == 400
        assert b"<Code>" + code in answer

    def test_cbor(self, near_aws: EmbeddedAws) -> None:
        """
        A map of code and message; moto does not speak it.
        """
        path = "/service/GraniteServiceVersion20100801/operation/DescribeAlarms"
        status, answer = send(
            near_aws,
            b"\xa0",
            "application/cbor",
            service="monitoring",
            path=path,
            protocol="rpc-v2-cbor",
        )

        assert status == 404
        assert answer.startswith(b"\xa2\x66__type\x78\x19UnknownOp")

    def test_rest_xml(self, near_aws: EmbeddedAws) -> None:
        """
        S3's errors have their code at the top.
        """
        status, answer = send(
            near_aws, b"<", "text/xml", service="s3", path="/b?delete"
        )

        assert status == 400
        assert answer.startswith(b"<Error><Code>MalformedXML</Code>")

    def test_rest_json(self, near_aws: EmbeddedAws) -> None:
        """
        A SerializationException as well.
        """
        path = "/2015-03-31/functions"
        status, answer = send(
            near_aws, b"{", "application/json", service="lambda", path=path
        )

        assert status == 400
        assert json.loads(answer)["__type"] == "SerializationException"

    def test_a_service_that_there_is_not(self, near_aws: EmbeddedAws) -> None:
        """
        No page of HTML either.
        """
        _, answer = send(near_aws, b"{}", AMZ_JSON, service="coffee", path="/x/y")

        assert b"<!doctype" not in answer.lower()

    def test_nothing_at_all(self, near_aws: EmbeddedAws) -> None:
        """
        Neither an operation nor a body.
        """
        status, answer = send(near_aws, b"", AMZ_JSON, service="sagemaker")

        assert status == 404
        assert json.loads(answer)["__type"] == "UnknownOperationException"

    def test_the_server_goes_on(self, near_aws: EmbeddedAws) -> None:
        """
        After all of it.
        """
        assert make_model(near_aws)


def post(
    aws: EmbeddedAws, body: bytes, *, target: str, service: str = "sagemaker"
) -> tuple[int, Untyped]:
    """
    Send a body to an operation of a JSON service and read the answer.
    """
    status, answer = send(aws, body, AMZ_JSON, service=service, target=target)
    return status, json.loads(answer)


def send(
    aws: EmbeddedAws,
    body: bytes,
    content_type: str,
    *,
    service: str,
    target: str = "",
    path: str = "/",
    protocol: str = "",
) -> tuple[int, bytes]:
    """
    Send a body as it is; the signature is not looked at beyond what it is for.
    """
    scope = f"Credential=test/20260101/{aws.region}/{service}/aws4_request"
    headers = {
        "Content-Type": content_type,
        "Authorization": f"AWS4-HMAC-SHA256 {scope}, ",
    }
    if target:
        headers["X-Amz-Target"] = target
    if protocol:
        headers["smithy-protocol"] = protocol
    request = urllib.request.Request(  # noqa: S310 - our own server
        aws.url + path, data=body, headers=headers, method="POST"
    )
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own server
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
