"""
What is written of an asynchronous endpoint: where requests and answers lie, and who may
do what there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.hosting.places import (
    Place,
    key_statements,
    place_of,
    read_statements,
    write_statement,
)
from cdk_sagemaker_llm.hosting.statements import Statement, united

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3
    from constructs import Construct

    from cdk_sagemaker_llm.hosting.asynchronous import AsyncInference

AsyncProperty = sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty
NotificationProperty = (
    sagemaker.CfnEndpointConfig.AsyncInferenceNotificationConfigProperty
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AsyncPlaces:
    """
    Where requests, answers and failures of an asynchronous endpoint lie.
    """

    output: Place
    failure: Place | None
    inputs: Place

    @classmethod
    def of(cls, given: AsyncInference) -> AsyncPlaces:
        """
        Read them from what a user gave.

        Raises:
            ValueError: If no place was given or made for answers.
        """
        if given.output is None:
            raise ValueError("no bucket was made for the answers")
        output = place_of(given.output)
        return cls(
            output=output,
            failure=None if given.failure is None else place_of(given.failure),
            inputs=output.whole_bucket
            if given.inputs is None
            else place_of(given.inputs),
        )

    @property
    def written(self) -> list[Place]:
        """
        Those that the endpoint writes to.
        """
        return [self.output, *([self.failure] if self.failure else [])]


def async_property(given: AsyncInference) -> AsyncProperty:
    """
    Render for the L1 class.
    """
    config, places = sagemaker.CfnEndpointConfig, AsyncPlaces.of(given)
    most = given.max_concurrent_invocations_per_instance
    return AsyncProperty(
        output_config=config.AsyncInferenceOutputConfigProperty(
            s3_output_path=places.output.uri,
            s3_failure_path=places.failure.uri if places.failure else None,
            kms_key_id=given.kms_key.key_arn if given.kms_key else None,
            notification_config=_notifications(given),
        ),
        client_config=None
        if most is None
        else config.AsyncInferenceClientConfigProperty(
            max_concurrent_invocations_per_instance=most
        ),
    )


def async_statements(given: AsyncInference) -> list[Statement]:
    """
    Return what the role needs to take requests, write answers and notify.
    """
    places = AsyncPlaces.of(given)
    topics = [topic for topic in (given.success_topic, given.error_topic) if topic]
    found = [
        write_statement("WriteAnswers", *places.written),
        *read_statements("Requests", places.inputs),
        *key_statements("EncryptAnswers", given.kms_key, *_keys(places)),
    ]
    if topics:
        arns = list(dict.fromkeys(topic.topic_arn for topic in topics))
        found.append(Statement(sid="Notify", actions=["sns:Publish"], resources=arns))
        keys = [topic.master_key for topic in topics]
        found += key_statements("EncryptNotifications", *keys)
    return found


def caller_statements(given: AsyncInference) -> list[Statement]:
    """
    Return what a caller needs on S3: to lay requests down, and to fetch answers.
    """
    places = AsyncPlaces.of(given)
    reading = (read_statements("Answers", place) for place in places.written)
    return united(
        [
            write_statement("WriteRequests", places.inputs),
            *(statement for statements in reading for statement in statements),
            *key_statements("UseKeys", given.kms_key, *_keys(places)),
        ]
    )


def make_bucket(scope: Construct, key: kms.IKey | None) -> s3.Bucket:
    """
    Make a bucket for requests and answers, which outlives its stack.
    """
    from aws_cdk import RemovalPolicy  # noqa: PLC0415 - goes with the line below
    from aws_cdk import aws_s3 as s3  # noqa: PLC0415 - heavy, and rarely needed

    encryption = s3.BucketEncryption
    return s3.Bucket(
        scope,
        "Inference",
        encryption=encryption.S3_MANAGED if key is None else encryption.KMS,
        encryption_key=key,
        enforce_ssl=True,
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        removal_policy=RemovalPolicy.RETAIN,
    )


def _notifications(given: AsyncInference) -> NotificationProperty | None:
    success, error = given.success_topic, given.error_topic
    if success is None and error is None:
        return None
    included = [topic.value for topic in given.include_inference_response_in]
    return NotificationProperty(
        success_topic=success.topic_arn if success else None,
        error_topic=error.topic_arn if error else None,
        include_inference_response_in=included or None,
    )


def _keys(places: AsyncPlaces) -> list[kms.IKey | None]:
    return [place.key for place in (*places.written, places.inputs)]
