"""
Asynchronous inference: what is written, what the role and the callers may do.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import CfnParameter, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns

from cdk_sagemaker_llm import (
    AsyncInference,
    AsyncTopic,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    LlmEndpoint,
    LmiVllm,
    ProductionVariant,
)
from cdk_sagemaker_llm.hosting.endpoints.asynchronous import async_statements
from tests.unit.hosting.expected import KEY_ARN
from tests.unit.hosting.written import codes_of, properties_of, written

ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
CONFIG = "SageMaker::EndpointConfig"
ARN = "arn:${AWS::Partition}:s3:::"
WRITING = ["s3:AbortMultipartUpload", "s3:PutObject"]


def endpoint_of(stack: Stack, given: AsyncInference | None) -> LlmEndpoint:
    """
    Define an endpoint for asynchronous inference.
    """
    return LlmEndpoint(
        stack,
        "Llm",
        model=ZEPHYR,
        serving=LmiVllm(),
        instance_type="ml.g5.12xlarge",
        async_inference=given,
    )


def config_of(stack: Stack) -> dict[str, Any]:
    """
    Return what is written of asynchronous inference.
    """
    found: dict[str, Any] = properties_of(stack, CONFIG)["AsyncInferenceConfig"]
    return found


def statements_of(stack: Stack, policy: str) -> list[dict[str, Any]]:
    """
    Return the statements of a policy, by its id.
    """
    found = written(stack, "IAM::Policy")[policy]["Properties"]["PolicyDocument"]
    return list(found["Statement"])


def added(stack: Stack) -> list[dict[str, Any]]:
    """
    Return what the role may do beside what any endpoint's may.
    """
    every = statements_of(stack, "LlmModelAccess")
    names = [each["Sid"] for each in every]
    return every[names.index("PublishMetrics") + 1 :]


def may(sid: str, actions: Any, resources: Any, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as IAM has it
    """
    Return a statement as it is written.
    """
    said = {"Action": actions, "Effect": "Allow", "Resource": resources, **more}
    return {**said, "Sid": sid} if sid else said


def listed(prefix: str) -> dict[str, Any]:
    """
    Return the condition that only such keys are listed.
    """
    return {"StringLike": {"s3:prefix": [prefix]}}


@pytest.mark.parametrize("kind", ["Success", "Error"])
def test_one_topic_is_enough(stack: Stack, kind: str) -> None:
    """
    Who wants to hear of failures alone names no other.
    """
    topic: dict[str, Any] = {f"{kind.lower()}_topic": sns.Topic(stack, "Topic")}
    endpoint_of(stack, AsyncInference(output="s3://answers/", **topic))

    written_of = config_of(stack)["OutputConfig"]
    assert written_of["NotificationConfig"] == {f"{kind}Topic": "${Topic}"}


def test_every_field_reaches_the_template(stack: Stack, key: kms.IKey) -> None:
    """
    Buckets, addresses, topics and keys, with what the role needs of each.
    """
    success = sns.Topic(stack, "Success")
    error = sns.Topic(stack, "Error", master_key=key)
    answers = s3.Bucket.from_bucket_attributes(
        stack, "Out", bucket_name="answers", encryption_key=key
    )
    endpoint_of(
        stack,
        AsyncInference(
            output=answers,
            failure="s3://failures/llm/",
            inputs="s3://requests/in",
            kms_key=key,
            success_topic=success,
            error_topic=error,
            include_inference_response_in=[AsyncTopic.SUCCESS, AsyncTopic.ERROR],
            max_concurrent_invocations_per_instance=4,
        ),
    )

    assert config_of(stack) == {
        "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 4},
        "OutputConfig": {
            "KmsKeyId": KEY_ARN,
            "NotificationConfig": {
                "ErrorTopic": "${Error}",
                "IncludeInferenceResponseIn": [
                    "SUCCESS_NOTIFICATION_TOPIC",
                    "ERROR_NOTIFICATION_TOPIC",
                ],
                "SuccessTopic": "${Success}",
            },
            "S3FailurePath": "s3://failures/llm",
            "S3OutputPath": "s3://answers",
        },
    }
    crypt = ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"]
    assert added(stack) == [
        may("WriteAnswers", WRITING, [f"{ARN}answers/*", f"{ARN}failures/llm/*"]),
        may("ReadRequests", "s3:GetObject", f"{ARN}requests/in/*"),
        may(
            "FindRequests",
            "s3:ListBucket",
            f"{ARN}requests",
            Condition=listed("in/*"),
        ),
        may("EncryptAnswers", crypt, KEY_ARN),
        may("Notify", "sns:Publish", ["${Success}", "${Error}"]),
        may("EncryptNotifications", crypt, KEY_ARN),
    ]
    assert codes_of(stack) == []


def test_a_bucket_is_made_where_none_is_given(stack: Stack) -> None:
    """
    Encrypted, private, over TLS only, and kept; each kind has a folder of its own.
    """
    llm = endpoint_of(stack, AsyncInference())
    found = written(stack)

    assert llm.endpoint_config.async_bucket is not None
    assert found["LlmConfigInference"] == {
        "Type": "AWS::S3::Bucket",
        "Properties": {
            "BucketEncryption": {
                "ServerSideEncryptionConfiguration": [
                    {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
                ]
            },
            "PublicAccessBlockConfiguration": {
                "BlockPublicAcls": True,
                "BlockPublicPolicy": True,
                "IgnorePublicAcls": True,
                "RestrictPublicBuckets": True,
            },
        },
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
    }
    policy = found["LlmConfigInferencePolicy"]["Properties"]["PolicyDocument"]
    assert policy["Statement"][0]["Condition"] == {
        "Bool": {"aws:SecureTransport": "false"}
    }
    bucket = "s3://${LlmConfigInference}"
    assert config_of(stack) == {
        "OutputConfig": {
            "S3FailurePath": f"{bucket}/failed",
            "S3OutputPath": f"{bucket}/answers",
        }
    }
    mine = f"{ARN}${{LlmConfigInference}}"
    assert added(stack) == [
        may("WriteAnswers", WRITING, [f"{mine}/answers/*", f"{mine}/failed/*"]),
        may("ReadRequests", "s3:GetObject", f"{mine}/requests/*"),
        may("FindRequests", "s3:ListBucket", mine, Condition=listed("requests/*")),
    ]


def test_the_bucket_that_is_made_has_the_key(stack: Stack, key: kms.IKey) -> None:
    """
    What was given in place of its folders stays.
    """
    given = AsyncInference(kms_key=key, failure="s3://failed", inputs="s3://in/a")
    endpoint_of(stack, given)
    (bucket,) = written(stack, "S3::Bucket").values()
    encryption = bucket["Properties"]["BucketEncryption"]
    (rule,) = encryption["ServerSideEncryptionConfiguration"]

    assert rule["ServerSideEncryptionByDefault"] == {
        "KMSMasterKeyID": KEY_ARN,
        "SSEAlgorithm": "aws:kms",
    }
    assert config_of(stack)["OutputConfig"]["S3FailurePath"] == "s3://failed"
    assert added(stack)[1] == may("ReadRequests", "s3:GetObject", f"{ARN}in/a/*")


def test_requests_may_lie_anywhere_in_the_bucket_of_answers(stack: Stack) -> None:
    """
    Where nobody says where they lie; under the bucket's key, which the role may use.
    """
    key = kms.Key.from_key_arn(stack, "Key", KEY_ARN)
    bucket = s3.Bucket.from_bucket_attributes(
        stack, "Bucket", bucket_name="bucket", encryption_key=key
    )
    plain = async_statements(AsyncInference(output="s3://bucket/answers"))
    keyed = async_statements(AsyncInference(output=bucket))
    resources = {one.sid: stack.resolve(one.resources) for one in plain}
    keys = [one.resources for one in keyed if one.sid == "EncryptAnswers"]

    assert "/answers/*" in str(resources["WriteAnswers"])
    assert "bucket/*" in str(resources["ReadRequests"])
    assert "EncryptAnswers" not in resources
    assert keys == [[KEY_ARN]]


def test_an_address_known_at_deployment_is_passed_on(stack: Stack) -> None:
    """
    In its bucket's name; and a number.
    """
    bucket = s3.Bucket(stack, "Mine")
    most = CfnParameter(stack, "Most", type="Number").value_as_number
    endpoint_of(
        stack,
        AsyncInference(
            output=bucket.s3_url_for_object("answers"),
            max_concurrent_invocations_per_instance=most,  # type: ignore[arg-type] # a token
        ),
    )

    assert config_of(stack) == {
        "ClientConfig": {"MaxConcurrentInvocationsPerInstance": "${Most}"},
        "OutputConfig": {"S3OutputPath": "s3://${Mine}/answers"},
    }
    assert added(stack)[0] == may("WriteAnswers", WRITING, f"{ARN}${{Mine}}/answers/*")


def test_fails_if_an_address_hides_its_bucket(stack: Stack) -> None:
    """
    The role may write to nothing that has no name.
    """
    whole = Token.as_string({"Ref": "Place"})
    with pytest.raises(ValueError, match="LLM347 output is known only at deployment"):
        endpoint_of(stack, AsyncInference(output=whole))


@pytest.mark.parametrize("most", [1, 1000])
def test_a_number_within_the_bounds_is_taken(stack: Stack, most: int) -> None:
    """
    Both ends are.
    """
    given = AsyncInference(max_concurrent_invocations_per_instance=most)
    endpoint_of(stack, given)

    assert config_of(stack)["ClientConfig"] == {
        "MaxConcurrentInvocationsPerInstance": most
    }


@pytest.mark.parametrize("most", [0, 1001])
def test_fails_if_a_number_is_out_of_bounds(stack: Stack, most: int) -> None:
    """
    Below and above.
    """
    given = AsyncInference(max_concurrent_invocations_per_instance=most)
    with pytest.raises(ValueError, match=f"LLM111 max_conc.* 1 to 1000, got {most}"):
        endpoint_of(stack, given)


LONGEST = "s3://bucket/" + "a" * 500


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("bucket/answers", "an address such as 's3://bucket/prefix', got 'bucket/"),
        ("s3:///answers", "an address such as"),
        ("https://bucket.s3.amazonaws.com", "an address such as"),
        ("s3://No_bucket/answers", "of a bucket whose name is at most 63"),
        (LONGEST + "a", "at most 512 characters"),
    ],
)
@pytest.mark.parametrize("field", ["output", "failure", "inputs"])
def test_fails_if_an_address_is_none(
    stack: Stack, field: str, given: str, message: str
) -> None:
    """
    Each of the three.
    """
    settings: dict[str, Any] = {"output": "s3://bucket", field: given}
    with pytest.raises(ValueError, match=f"Test/Llm: LLM347 {field} must be {message}"):
        endpoint_of(stack, AsyncInference(**settings))


def test_the_longest_address_is_taken(stack: Stack) -> None:
    """
    The API counts 512 characters.
    """
    endpoint_of(stack, AsyncInference(output=LONGEST))

    assert config_of(stack)["OutputConfig"]["S3OutputPath"] == LONGEST


def test_a_topic_that_is_not_there_is_told_of(stack: Stack) -> None:
    """
    The answer would be in no notification.
    """
    endpoint_of(
        stack,
        AsyncInference(
            success_topic=sns.Topic(stack, "Topic"),
            include_inference_response_in=[AsyncTopic.SUCCESS, AsyncTopic.ERROR],
        ),
    )

    assert codes_of(stack) == [("/Test/Llm/Config", "LLM435")]


def test_components_are_told_not_to_be_documented(
    stack: Stack, own_role: iam.IRole
) -> None:
    """
    No page says that it works, and none that it does not.
    """
    EndpointConfig(
        stack,
        "Config",
        variants=[ProductionVariant(instance_type="ml.g5.12xlarge", engine=LmiVllm())],
        execution_role=own_role,
        async_inference=AsyncInference(output="s3://bucket"),
    )

    assert codes_of(stack) == [("/Test/Config", "LLM437")]


def test_callers_lay_requests_down_and_fetch_answers(
    stack: Stack, key: kms.IKey
) -> None:
    """
    By the endpoint's name, and nowhere else on S3.
    """
    caller = iam.Role(
        stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )
    llm = endpoint_of(stack, AsyncInference(kms_key=key))
    grant = llm.grant_invoke_async(caller)
    mine = f"{ARN}${{LlmConfigInference}}"

    assert grant.success
    assert statements_of(stack, "CallerDefaultPolicy") == [
        may("", "sagemaker:InvokeEndpointAsync", "${LlmEndpoint}"),
        may("", WRITING, f"{mine}/requests/*"),
        may("", "s3:GetObject", [f"{mine}/answers/*", f"{mine}/failed/*"]),
        may(
            "",
            "s3:ListBucket",
            mine,
            Condition={"StringLike": {"s3:prefix": ["answers/*", "failed/*"]}},
        ),
        may("", ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"], KEY_ARN),
    ]


def test_fails_if_an_endpoint_that_answers_at_once_is_called_so(
    stack: Stack, own_role: iam.IRole
) -> None:
    """
    The service refuses the call.
    """
    llm = endpoint_of(stack, None)
    with pytest.raises(ValueError, match="Test/Llm/Endpoint: LLM349 no request waits"):
        llm.grant_invoke_async(own_role)


@pytest.mark.parametrize("imported", ["endpoint", "config"])
def test_of_what_is_imported_the_call_is_granted(stack: Stack, imported: str) -> None:
    """
    Where its requests and answers lie is not known.
    """
    caller = iam.Role(
        stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )
    if imported == "endpoint":
        Endpoint.from_endpoint_name(stack, "It", "mine").grant_invoke_async(caller)
    else:
        config = EndpointConfig.from_endpoint_config_name(stack, "Config", "mine")
        endpoint = Endpoint(stack, "It", endpoint_config=config)
        endpoint.grant_invoke_async(caller)
    (statement,) = statements_of(stack, "CallerDefaultPolicy")

    assert statement["Action"] == "sagemaker:InvokeEndpointAsync"


def test_fails_if_a_field_is_of_another_kind() -> None:
    """
    In the caller's words.
    """
    with pytest.raises(ValueError, match="success_topic must be a topic, got"):
        AsyncInference(success_topic="arn:aws:sns:us-east-1:111111111111:it")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="include_inference_response_in"):
        AsyncInference(include_inference_response_in=["SUCCESS"])  # type: ignore[list-item]
