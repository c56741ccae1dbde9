"""
Data capture: what is written, what the role may do, and what the service refuses.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import CfnParameter, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from cdk_sagemaker_llm import (
    AsyncInference,
    CaptureMode,
    DataCapture,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
)
from tests.unit.hosting.expected import CAPTURE_CONFIG, KEY_ARN, WRITE_CAPTURED
from tests.unit.hosting.written import (
    codes_of,
    fields_at_default,
    properties_of,
    written,
)

ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")


def endpoint_of(
    stack: Stack,
    capture: DataCapture | None,
    async_inference: AsyncInference | None = None,
) -> LlmEndpoint:
    """
    Define an endpoint whose requests are captured.
    """
    return LlmEndpoint(
        stack,
        "Llm",
        model=ZEPHYR,
        serving=LmiVllm(),
        instance_type="ml.g5.12xlarge",
        data_capture=capture,
        async_inference=async_inference,
    )


def config_of(stack: Stack) -> dict[str, Any]:
    """
    Return what is written of data capture.
    """
    config = properties_of(stack, "SageMaker::EndpointConfig")
    found: dict[str, Any] = config["DataCaptureConfig"]
    return found


def statements_of(stack: Stack) -> list[dict[str, Any]]:
    """
    Return what the role may do.
    """
    (policy,) = written(stack, "IAM::Policy").values()
    return list(policy["Properties"]["PolicyDocument"]["Statement"])


def test_every_field_reaches_the_template(stack: Stack, key: kms.IKey) -> None:
    """
    And the role may write there, with the keys of both.
    """
    own = KEY_ARN.replace("12345678", "87654321")
    bucket = s3.Bucket.from_bucket_attributes(
        stack,
        "Bucket",
        bucket_name="captured",
        encryption_key=kms.Key.from_key_arn(stack, "Own", own),
    )
    capture = DataCapture(
        bucket=bucket,
        prefix="/llm/",
        sampling_percent=10,
        capture=[CaptureMode.OUTPUT],
        kms_key=key,
        json_content_types=["application/json", "application/vnd.x"],
        csv_content_types=["text/csv"],
    )
    endpoint_of(stack, capture)

    assert fields_at_default(capture) == set()
    assert config_of(stack) == {
        "CaptureContentTypeHeader": {
            "CsvContentTypes": ["text/csv"],
            "JsonContentTypes": ["application/json", "application/vnd.x"],
        },
        "CaptureOptions": [{"CaptureMode": "Output"}],
        "DestinationS3Uri": "s3://captured/llm",
        "EnableCapture": True,
        "InitialSamplingPercentage": 10,
        "KmsKeyId": KEY_ARN,
    }
    assert statements_of(stack)[-2:] == [
        {
            **WRITE_CAPTURED,
            "Resource": "arn:${AWS::Partition}:s3:::captured/llm/*",
        },
        {
            "Action": ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"],
            "Effect": "Allow",
            "Resource": [KEY_ARN, own],
            "Sid": "EncryptCaptured",
        },
    ]
    assert codes_of(stack) == []


@pytest.mark.parametrize(
    ("bucket", "prefix", "uri"),
    [
        ("s3://captured-bucket/", "", "s3://captured-bucket"),
        ("s3://captured-bucket/a", "b/", "s3://captured-bucket/a/b"),
    ],
)
def test_the_smallest_call_reaches_the_template(
    stack: Stack, bucket: str, prefix: str, uri: str
) -> None:
    """
    All of every request, JSON as it is.
    """
    endpoint_of(stack, DataCapture(bucket=bucket, prefix=prefix))

    assert config_of(stack) == {**CAPTURE_CONFIG, "DestinationS3Uri": uri}


@pytest.mark.parametrize("bucket", ["s3://captured-bucket", "s3://captured-bucket/a/"])
def test_fails_if_the_address_is_too_long_with_its_prefix(
    stack: Stack, bucket: str
) -> None:
    """
    The service takes 512 characters of both together.
    """
    longest = "p" * (512 - len(f"{bucket.rstrip('/')}/"))
    endpoint_of(stack, DataCapture(bucket=bucket, prefix=f"{longest}/"))

    assert len(config_of(stack)["DestinationS3Uri"]) == 512
    with pytest.raises(
        ValueError,
        match="LLM347 prefix must leave the address of bucket and prefix at most 512 "
        "characters, got 513",
    ):
        endpoint_of(Stack(), DataCapture(bucket=bucket, prefix=f"/{longest}p"))


def test_an_address_that_deployment_decides_may_be_long(stack: Stack) -> None:
    """
    What its bucket is called is not known.
    """
    endpoint_of(stack, DataCapture(bucket=s3.Bucket(stack, "Own"), prefix="p" * 512))

    assert config_of(stack)["DestinationS3Uri"].endswith("p" * 512)


def test_without_content_types_all_is_base64(stack: Stack) -> None:
    """
    The service's own way.
    """
    endpoint_of(stack, DataCapture(bucket="s3://captured", json_content_types=[]))

    assert "CaptureContentTypeHeader" not in config_of(stack)


@pytest.mark.parametrize("percent", [0, 100])
def test_a_percentage_within_the_bounds_is_taken(stack: Stack, percent: int) -> None:
    """
    Both ends are.
    """
    endpoint_of(stack, DataCapture(bucket="s3://captured", sampling_percent=percent))

    assert config_of(stack)["InitialSamplingPercentage"] == percent


def test_what_is_known_at_deployment_is_passed_on(stack: Stack) -> None:
    """
    A bucket that is made here, a number, a content type.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    kind = CfnParameter(stack, "Kind").value_as_string
    capture = DataCapture(
        bucket=s3.Bucket(stack, "Bucket"),
        prefix="llm",
        sampling_percent=number,  # type: ignore[arg-type] # a token
        csv_content_types=[kind],
    )
    endpoint_of(stack, capture)

    assert config_of(stack)["DestinationS3Uri"] == "s3://${Bucket}/llm"
    assert config_of(stack)["InitialSamplingPercentage"] == "${Number}"
    assert config_of(stack)["CaptureContentTypeHeader"]["CsvContentTypes"] == [
        "${Kind}"
    ]


LONGEST = "a/" + "b" * 254


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sampling_percent": -1}, "LLM111 sampling_percent must be 0 to 100, got -1"),
        ({"sampling_percent": 101}, "LLM111 sampling_percent must be 0 to 100"),
        ({"capture": []}, "LLM348 capture must name at least one mode"),
        (
            {"capture": [CaptureMode.INPUT, CaptureMode.INPUT]},
            "LLM348 capture must name each mode once, got Input, Input",
        ),
        ({"json_content_types": ["json"]}, "LLM348 json_content_types must be content"),
        ({"csv_content_types": [LONGEST + "b"]}, "LLM348 csv_content_types must be"),
        ({"json_content_types": ["a/b"] * 11}, "LLM348 json_.* at most 10, got 11"),
        ({"bucket": "captured"}, "LLM347 bucket must be an address such as"),
    ],
)
def test_fails_if_the_service_would_refuse_it(
    stack: Stack, given: dict[str, Any], message: str
) -> None:
    """
    By the bounds of the API.
    """
    settings: dict[str, Any] = {"bucket": "s3://captured", **given}
    with pytest.raises(ValueError, match=message):
        endpoint_of(stack, DataCapture(**settings))


def test_the_most_content_types_are_taken(stack: Stack) -> None:
    """
    Ten, and of 256 characters.
    """
    types = [LONGEST, *(["application/json"] * 9)]
    endpoint_of(stack, DataCapture(bucket="s3://it-is", json_content_types=types))

    found = config_of(stack)["CaptureContentTypeHeader"]["JsonContentTypes"]
    assert found == types


@pytest.mark.parametrize("capture", [DataCapture(bucket="s3://captured"), None])
def test_an_update_of_what_is_scaled_takes_effect(
    stack: Stack, capture: DataCapture | None
) -> None:
    """
    Retaining keeps what is captured, too, unless it is excluded: with it none could be
    ended by leaving it out.
    """
    llm = endpoint_of(stack, capture)
    llm.auto_scale_instance_count(max_capacity=2)

    assert properties_of(stack, "SageMaker::Endpoint") == {
        "EndpointConfigName": "${LlmConfig.EndpointConfigName}",
        "ExcludeRetainedVariantProperties": [
            {"VariantPropertyType": "DesiredWeight"},
            {"VariantPropertyType": "DataCaptureConfig"},
        ],
        "RetainAllVariantProperties": True,
    }


def test_components_are_told_not_to_be_documented(stack: Stack) -> None:
    """
    The guide speaks of endpoints with one model.
    """
    InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.p4d.24xlarge",
        data_capture=DataCapture(bucket="s3://captured"),
    )

    assert codes_of(stack) == [("/Test/Host/Config", "LLM436")]


def test_asynchronous_endpoints_are_told_not_to_be_documented(stack: Stack) -> None:
    """
    Their requests and answers lie on S3 anyway.
    """
    endpoint_of(
        stack,
        DataCapture(bucket="s3://captured"),
        AsyncInference(output="s3://answers"),
    )

    assert codes_of(stack) == [("/Test/Llm/Config", "LLM436")]


def test_fails_if_a_field_is_of_another_kind() -> None:
    """
    In the caller's words.
    """
    with pytest.raises(ValueError, match="capture"):
        DataCapture(bucket="s3://captured", capture=["Input"])  # type: ignore[list-item]
