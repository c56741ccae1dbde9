"""
Data capture: what is kept of requests and answers, and where.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    make_config,
    make_endpoint,
    make_model,
    prompt,
    unique,
)

BODY = prompt("Once", max_new_tokens=4)
BOTH = [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}]


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(takes_time=False) as aws:
        yield aws


@pytest.fixture(name="bucket")
def _bucket(aws: HandRunAws) -> str:
    name = unique("captured")
    aws.client("s3").create_bucket(Bucket=name)
    return name


def endpoint_of(
    aws: HandRunAws,
    bucket: str,
    *,
    percent: int = 100,
    **more: Any,  # noqa: ANN401 - members of the API
) -> str:
    """
    Make an endpoint whose requests are kept.
    """
    capture = {
        "InitialSamplingPercentage": percent,
        "DestinationS3Uri": f"s3://{bucket}/llm/",
        "CaptureOptions": BOTH,
        **more,
    }
    variant = {"ModelName": make_model(aws), "InstanceType": "ml.g5.xlarge"}
    config = make_config(aws, variant=variant, DataCaptureConfig=capture)
    return make_endpoint(aws, config)


def invoke(aws: HandRunAws, endpoint: str, times: int = 1, **more: str) -> str:
    """
    Send requests; return the last answer.
    """
    runtime, answer = aws.client("sagemaker-runtime"), b""
    for _ in range(times):
        answer = runtime.invoke_endpoint(
            EndpointName=endpoint, ContentType="application/json", Body=BODY, **more
        )["Body"].read()
    return answer.decode()


def kept(aws: HandRunAws, bucket: str) -> dict[str, dict[str, Any]]:
    """
    Return what was kept, by its key.
    """
    s3 = aws.client("s3")
    found = s3.list_objects_v2(Bucket=bucket).get("Contents", [])
    return {
        each["Key"]: json.loads(
            s3.get_object(Bucket=bucket, Key=each["Key"])["Body"].read()
        )
        for each in found
    }


def test_a_request_and_its_answer_are_kept(aws: HandRunAws, bucket: str) -> None:
    """
    In the guide's layout, JSON as it is.
    """
    types = {"JsonContentTypes": ["application/json"]}
    endpoint = endpoint_of(aws, bucket, CaptureContentTypeHeader=types)
    answer = invoke(aws, endpoint, InferenceId="mine")
    ((key, line),) = kept(aws, bucket).items()

    form = rf"llm/{endpoint}/AllTraffic/\d{{4}}/\d\d/\d\d/\d\d/[\w-]+\.jsonl"
    assert re.fullmatch(form, key)
    event = line["eventMetadata"]
    assert event["inferenceId"] == "mine"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["inferenceTime"])
    assert event["eventId"]
    assert line["eventVersion"] == "0"
    assert line["captureData"] == {
        "endpointInput": {
            "observedContentType": "application/json",
            "mode": "INPUT",
            "data": BODY.decode(),
            "encoding": "JSON",
        },
        "endpointOutput": {
            "observedContentType": "application/json",
            "mode": "OUTPUT",
            "data": answer,
            "encoding": "JSON",
        },
    }


@pytest.mark.parametrize(
    ("types", "encoding"), [({}, "BASE64"), ({"CsvContentTypes": ["a/b"]}, "BASE64")]
)
def test_other_types_are_in_base64(
    aws: HandRunAws, bucket: str, types: dict[str, Any], encoding: str
) -> None:
    """
    Whatever is not named.
    """
    more: dict[str, Any] = {"CaptureContentTypeHeader": types} if types else {}
    endpoint = endpoint_of(aws, bucket, **more)
    answer = invoke(aws, endpoint)
    (line,) = kept(aws, bucket).values()
    output = line["captureData"]["endpointOutput"]

    assert output["encoding"] == encoding
    assert base64.b64decode(output["data"]).decode() == answer


@pytest.mark.parametrize("mode", ["Input", "Output"])
def test_one_of_both_is_kept(aws: HandRunAws, bucket: str, mode: str) -> None:
    """
    As it was asked for.
    """
    options = [{"CaptureMode": mode}]
    endpoint = endpoint_of(aws, bucket, CaptureOptions=options)
    invoke(aws, endpoint)
    (line,) = kept(aws, bucket).values()

    assert set(line["captureData"]) == {f"endpoint{mode}"}


@pytest.mark.parametrize(("percent", "files"), [(0, 0), (20, 2), (100, 10)])
def test_a_sample_is_kept(
    aws: HandRunAws, bucket: str, percent: int, files: int
) -> None:
    """
    Of ten requests, evenly.
    """
    endpoint = endpoint_of(aws, bucket, percent=percent)
    invoke(aws, endpoint, 10)

    assert len(kept(aws, bucket)) == files


def test_nothing_is_kept_where_it_is_off(aws: HandRunAws, bucket: str) -> None:
    """
    And the endpoint says so.
    """
    endpoint = endpoint_of(aws, bucket, EnableCapture=False)
    invoke(aws, endpoint)
    sagemaker = aws.client("sagemaker")
    described = sagemaker.describe_endpoint(EndpointName=endpoint)

    assert kept(aws, bucket) == {}
    assert described["DataCaptureConfig"]["EnableCapture"] is False
    assert described["DataCaptureConfig"]["CaptureStatus"] == "Stopped"
