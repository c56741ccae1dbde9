"""
Endpoints of asynchronous inference, whose requests and answers lie in S3.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    heard,
    make_config,
    make_endpoint,
    make_model,
    topic_with_queue,
    unique,
)

REQUEST = json.dumps({"inputs": "hello", "parameters": {"max_new_tokens": 5}}).encode()


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(takes_time=False) as aws:
        yield aws


@pytest.fixture(name="bucket", scope="module")
def _bucket(aws: HandRunAws) -> str:
    name = unique("bucket")
    aws.client("s3").create_bucket(Bucket=name)
    aws.client("s3").put_object(Bucket=name, Key="in/a.json", Body=REQUEST)
    return name


@pytest.fixture(name="runtime", scope="module")
def _runtime(aws: HandRunAws) -> Untyped:
    return aws.client("sagemaker-runtime")


def endpoint_of(aws: HandRunAws, **output: str) -> str:
    """
    Make an endpoint, for asynchronous inference if places are given.
    """
    settings: dict[str, Any] = {}
    if output:
        settings["AsyncInferenceConfig"] = {"OutputConfig": output}
    variant = {"ModelName": make_model(aws)}
    return make_endpoint(aws, make_config(aws, variant=variant, **settings))


def read(aws: HandRunAws, url: str) -> bytes:
    """
    Read an object by its address.
    """
    bucket, _, key = url.removeprefix("s3://").partition("/")
    contents: bytes = aws.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    return contents


def test_the_answer_is_written_where_the_configuration_says(
    aws: HandRunAws, runtime: Untyped, bucket: str
) -> None:
    """
    It is what the same container answers to a client that waits.
    """
    endpoint = endpoint_of(
        aws,
        S3OutputPath=f"s3://{bucket}/out",
        S3FailurePath=f"s3://{bucket}/failed/",
    )
    waiting = endpoint_of(aws)

    told = runtime.invoke_endpoint_async(
        EndpointName=endpoint,
        InputLocation=f"s3://{bucket}/in/a.json",
        ContentType="application/json",
        InferenceId="one",
    )
    waited = runtime.invoke_endpoint(
        EndpointName=waiting, Body=REQUEST, ContentType="application/json"
    )

    assert told["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert told["InferenceId"] == "one"
    assert told["OutputLocation"] == f"s3://{bucket}/out/one.out"
    assert told["FailureLocation"] == f"s3://{bucket}/failed/one-error.out"
    assert read(aws, told["OutputLocation"]) == waited["Body"].read()


def test_a_client_may_name_the_file(
    aws: HandRunAws, runtime: Untyped, bucket: str
) -> None:
    """
    And a folder under the configured path; two requests have two identifiers.
    """
    endpoint = endpoint_of(aws, S3OutputPath=f"s3://{bucket}/named")
    source = {"EndpointName": endpoint, "InputLocation": f"s3://{bucket}/in/a.json"}

    named = runtime.invoke_endpoint_async(
        **source, Filename="mine.json", S3OutputPathExtension="today"
    )
    one = runtime.invoke_endpoint_async(**source)
    other = runtime.invoke_endpoint_async(**source)

    assert named["OutputLocation"] == f"s3://{bucket}/named/today/mine.json"
    assert b"generated_text" in read(aws, named["OutputLocation"])
    assert "FailureLocation" not in named
    assert one["InferenceId"] != other["InferenceId"]


@pytest.mark.parametrize("body", [None, b"{"])
def test_a_failure_is_written_too(
    aws: HandRunAws, runtime: Untyped, bucket: str, body: bytes | None
) -> None:
    """
    Of a request that is not there, and of one that the container refuses.
    """
    key = unique("in/key")
    if body is not None:
        aws.client("s3").put_object(Bucket=bucket, Key=key, Body=body)
    endpoint = endpoint_of(
        aws,
        S3OutputPath=f"s3://{bucket}/out",
        S3FailurePath=f"s3://{bucket}/failed",
    )

    told = runtime.invoke_endpoint_async(
        EndpointName=endpoint, InputLocation=f"s3://{bucket}/{key}"
    )

    assert read(aws, told["FailureLocation"])
    with pytest.raises(ClientError, match="NoSuchKey"):
        read(aws, told["OutputLocation"])


def test_each_kind_of_endpoint_has_its_own_call(
    aws: HandRunAws, runtime: Untyped, bucket: str
) -> None:
    """
    Waiting for the one, streaming from it, and not waiting for the other.
    """
    later = endpoint_of(aws, S3OutputPath=f"s3://{bucket}/out")
    now = endpoint_of(aws)
    source = f"s3://{bucket}/in/a.json"

    for call in (
        runtime.invoke_endpoint,
        runtime.invoke_endpoint_with_response_stream,
    ):
        with pytest.raises(ClientError, match="invoke it by InvokeEndpointAsync"):
            call(EndpointName=later, Body=REQUEST)
    with pytest.raises(ClientError, match="has no AsyncInferenceConfig"):
        runtime.invoke_endpoint_async(EndpointName=now, InputLocation=source)
    with pytest.raises(ClientError, match="Endpoint none of account .* not found"):
        runtime.invoke_endpoint_async(EndpointName="none", InputLocation=source)


def test_an_asynchronous_endpoint_stays_one(aws: HandRunAws, bucket: str) -> None:
    """
    It takes another place for its answers, and no configuration without one.
    """
    sagemaker = aws.client("sagemaker")
    endpoint = endpoint_of(aws, S3OutputPath=f"s3://{bucket}/out")
    variant = {"ModelName": make_model(aws)}
    output = {"OutputConfig": {"S3OutputPath": f"s3://{bucket}/other"}}
    elsewhere = make_config(aws, variant=variant, AsyncInferenceConfig=output)

    with pytest.raises(
        ClientError,
        match="AsyncInferenceConfig parameter cannot be removed from this endpoint "
        + endpoint,
    ):
        sagemaker.update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=make_config(aws, variant=variant),
        )
    sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=elsewhere)

    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    assert shown["AsyncInferenceConfig"] == output


@pytest.mark.parametrize("included", [True, False])
def test_topics_are_told_of_answers_and_failures(
    aws: HandRunAws, runtime: Untyped, bucket: str, *, included: bool
) -> None:
    """
    In the members that the service's notifications have.
    """
    (success, good), (error, bad) = (topic_with_queue(aws) for _ in range(2))
    topics: dict[str, Any] = {"SuccessTopic": success, "ErrorTopic": error}
    if included:
        both = ["SUCCESS_NOTIFICATION_TOPIC", "ERROR_NOTIFICATION_TOPIC"]
        topics["IncludeInferenceResponseIn"] = both
    output: dict[str, Any] = {
        "S3OutputPath": f"s3://{bucket}/out",
        "NotificationConfig": topics,
    }
    endpoint = endpoint_of(aws, **output)

    told = [
        runtime.invoke_endpoint_async(
            EndpointName=endpoint,
            InputLocation=f"s3://{bucket}/{key}",
            ContentType="application/json",
            InferenceId=key,
        )
        for key in ("in/a.json", "in/none")
    ]
    (one,), (other,) = heard(aws, good), heard(aws, bad)

    answered = told[0]["OutputLocation"]
    assert one.pop("eventTime") >= one.pop("receivedTime")
    content = one.pop("responseBody", {"content": ""})["content"]
    assert one == {
        "awsRegion": "us-east-1",
        "invocationStatus": "Completed",
        "requestParameters": {
            "contentType": "application/json",
            "endpointName": endpoint,
            "inputLocation": f"s3://{bucket}/in/a.json",
        },
        "responseParameters": {
            "contentType": "application/json",
            "outputLocation": answered,
        },
        "inferenceId": "in/a.json",
        "eventVersion": "1.0",
        "eventSource": "aws:sagemaker",
        "eventName": "InferenceResult",
    }
    expected = read(aws, answered) if included else b""
    assert base64.b64decode(content) == expected
    assert other["invocationStatus"] == "Failed"
    assert "Failed to download the request" in other["failureReason"]
    assert "responseParameters" not in other


def scale(aws: HandRunAws, endpoint: str, count: int) -> None:
    """
    Give an endpoint so many instances.
    """
    wanted = {"VariantName": "AllTraffic", "DesiredInstanceCount": count}
    aws.client("sagemaker").update_endpoint_weights_and_capacities(
        EndpointName=endpoint, DesiredWeightsAndCapacities=[wanted]
    )


def test_a_request_waits_for_an_instance(
    aws: HandRunAws, runtime: Untyped, bucket: str
) -> None:
    """
    At no instances it is taken all the same, and answered when one is there.
    """
    endpoint = endpoint_of(aws, S3OutputPath=f"s3://{bucket}/waited")

    scale(aws, endpoint, 0)
    told = runtime.invoke_endpoint_async(
        EndpointName=endpoint, InputLocation=f"s3://{bucket}/in/a.json"
    )
    with pytest.raises(ClientError, match="NoSuchKey"):
        read(aws, told["OutputLocation"])
    scale(aws, endpoint, 1)

    assert b"generated_text" in read(aws, told["OutputLocation"])


def test_a_notification_tells_a_request_from_its_end(
    aws: HandRunAws, runtime: Untyped, bucket: str
) -> None:
    """
    By two times, which differ by how long it waited for an instance.
    """
    topic, queue = topic_with_queue(aws)
    output: dict[str, Any] = {
        "S3OutputPath": f"s3://{bucket}/timed",
        "NotificationConfig": {"SuccessTopic": topic},
    }
    endpoint = endpoint_of(aws, **output)

    scale(aws, endpoint, 0)
    runtime.invoke_endpoint_async(
        EndpointName=endpoint, InputLocation=f"s3://{bucket}/in/a.json"
    )
    aws.run(90.5)
    scale(aws, endpoint, 1)

    (message,) = heard(aws, queue)
    assert message["receivedTime"] == "2027-01-17T12:00:00.000Z"
    assert message["eventTime"] == "2027-01-17T12:01:30.500Z"


def test_an_update_cannot_answer_at_once_what_waited_in_a_queue(
    aws: HandRunAws, bucket: str
) -> None:
    """
    Another name, or a new endpoint, is the way out.
    """
    endpoint = endpoint_of(aws, S3OutputPath=f"s3://{bucket}/out")
    variant = {"ModelName": make_model(aws)}
    config = make_config(aws, variant=variant)

    with pytest.raises(
        ClientError,
        match="The AsyncInferenceConfig parameter cannot be removed from this endpoint",
    ):
        aws.client("sagemaker").update_endpoint(
            EndpointName=endpoint, EndpointConfigName=config
        )
