"""
Asynchronous inference: requests and answers lie on S3, a queue stands before the model.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import range_findings
from cdk_sagemaker_llm.hosting.roles.places import (
    Place,
    key_statements,
    place_findings,
    place_of,
    read_statements,
    write_statement,
)
from cdk_sagemaker_llm.hosting.roles.statements import Statement, united

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3
    from aws_cdk import aws_sns as sns
    from constructs import Construct

_GUIDE = "SageMaker developer guide"
# botocore 1.44.5: MaxConcurrentInvocationsPerInstance.
_MOST_CONCURRENT = 1000

NO_TOPIC = Rule(
    "LLM435",
    "answers are to be in the notifications of a topic that is not given",
    f"{_GUIDE}, async-inference-check-predictions",
)
UNSURE_ASYNC = Rule(
    "LLM437",
    "asynchronous inference is set where the guide does not say that it works",
    f"{_GUIDE}, async-inference",
)

AsyncProperty = sagemaker.CfnEndpointConfig.AsyncInferenceConfigProperty
NotificationProperty = (
    sagemaker.CfnEndpointConfig.AsyncInferenceNotificationConfigProperty
)


class AsyncTopic(enum.StrEnum):
    """
    The topics that an asynchronous endpoint notifies of its requests.
    """

    SUCCESS = "SUCCESS_NOTIFICATION_TOPIC"
    ERROR = "ERROR_NOTIFICATION_TOPIC"


@dataclass(frozen=True, kw_only=True, slots=True)
class AsyncInference:
    """
    Asynchronous inference: requests wait in a queue, and lie on S3 as their answers do.

    ``AsyncInference(output=bucket, success_topic=topic)``
    ``AsyncInference(output="s3://my-bucket/answers")``

    Args:
        output:
            Where answers are written: a bucket, or an address on S3 such as
            ``bucket.s3_url_for_object("answers")``.
            If omitted, a bucket is made, and they lie in its ``answers/``: it is
            encrypted, private, over TLS only, and kept when the stack is deleted.

        failure:
            Where the answers of requests that failed are written, likewise.
            If omitted, they lie in ``failed/`` of the bucket that is made; without
            one, they are written nowhere.

        inputs:
            Where requests lie, likewise, which the role may then read.
            If omitted, they lie in ``requests/`` of the bucket that is made; without
            one, anywhere in the bucket of ``output``.

        kms_key:
            The key to encrypt answers with, which the role may then use.
            If omitted, their bucket's own encryption applies.

        success_topic:
            The topic that is notified of each answer.
            If omitted, none is.

        error_topic:
            The topic that is notified of each failure.
            If omitted, none is.

        include_inference_response_in:
            The topics whose notifications contain the answer itself, where it is at
            most 128 KB.
            If omitted, none does.

        max_concurrent_invocations_per_instance:
            How many requests each instance is sent at the same time, 1 to 1000, which
            an engine answers in one batch.
            If omitted, SageMaker chooses a number that it does not document.
    """

    output: s3.IBucket | str | None = None
    failure: s3.IBucket | str | None = None
    inputs: s3.IBucket | str | None = None
    kms_key: kms.IKey | None = None
    success_topic: sns.ITopic | None = None
    error_topic: sns.ITopic | None = None
    include_inference_response_in: Sequence[AsyncTopic] = ()
    max_concurrent_invocations_per_instance: int | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)

    def within(self, bucket: s3.IBucket) -> AsyncInference:
        """
        Return these settings with the places that are missing in a bucket of their own.

        Args:
            bucket: The bucket for requests, answers and failures.
        """
        address = f"s3://{bucket.bucket_name}"
        return replace(
            self,
            output=f"{address}/answers",
            failure=self.failure or f"{address}/failed",
            inputs=self.inputs or f"{address}/requests",
        )


def async_findings(
    async_inference: AsyncInference, *, hosts_components: bool
) -> list[Finding]:
    """
    Check the settings of asynchronous inference.
    """
    found = [
        *place_findings("output", async_inference.output),
        *place_findings("failure", async_inference.failure),
        *place_findings("inputs", async_inference.inputs),
        *range_findings(
            "max_concurrent_invocations_per_instance",
            async_inference.max_concurrent_invocations_per_instance,
            1,
            _MOST_CONCURRENT,
        ),
        *_topic_findings(async_inference),
    ]
    if hosts_components:
        found.append(
            UNSURE_ASYNC.finding(
                "async_inference is documented for endpoints whose variants have a "
                "model, and not for inference components",
                "use an LlmEndpoint, or see that it deploys",
            )
        )
    return found


def _topic_findings(async_inference: AsyncInference) -> list[Finding]:
    topics = {
        AsyncTopic.SUCCESS: ("success_topic", async_inference.success_topic),
        AsyncTopic.ERROR: ("error_topic", async_inference.error_topic),
    }
    chosen = {
        topic: topics[topic] for topic in async_inference.include_inference_response_in
    }
    return [
        NO_TOPIC.finding(
            f"include_inference_response_in names {topic.value}, and {parameter} is "
            "not given",
            f"give {parameter}, or leave {topic.value} out",
        )
        for topic, (parameter, one) in chosen.items()
        if one is None
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class AsyncPlaces:
    """
    Where requests, answers and failures of an asynchronous endpoint lie.
    """

    output: Place
    failure: Place | None
    inputs: Place

    @classmethod
    def of(cls, async_inference: AsyncInference) -> AsyncPlaces:
        """
        Read them from settings that have a place for answers.
        """
        if async_inference.output is None:
            raise ValueError("no bucket was made for the answers")
        output = place_of(async_inference.output)
        return cls(
            output=output,
            failure=None
            if async_inference.failure is None
            else place_of(async_inference.failure),
            inputs=output.whole_bucket
            if async_inference.inputs is None
            else place_of(async_inference.inputs),
        )

    @property
    def written(self) -> list[Place]:
        """
        Those that the endpoint writes to.
        """
        return [self.output, *([self.failure] if self.failure else [])]


def async_property(async_inference: AsyncInference) -> AsyncProperty:
    """
    Render for the L1 class.
    """
    config, places = sagemaker.CfnEndpointConfig, AsyncPlaces.of(async_inference)
    most = async_inference.max_concurrent_invocations_per_instance
    success, error = async_inference.success_topic, async_inference.error_topic
    included = [topic.value for topic in async_inference.include_inference_response_in]
    notifications = NotificationProperty(
        success_topic=success.topic_arn if success else None,
        error_topic=error.topic_arn if error else None,
        include_inference_response_in=included or None,
    )
    return AsyncProperty(
        output_config=config.AsyncInferenceOutputConfigProperty(
            s3_output_path=places.output.uri,
            s3_failure_path=places.failure.uri if places.failure else None,
            kms_key_id=async_inference.kms_key.key_arn
            if async_inference.kms_key
            else None,
            notification_config=notifications if success or error else None,
        ),
        client_config=None
        if most is None
        else config.AsyncInferenceClientConfigProperty(
            max_concurrent_invocations_per_instance=most
        ),
    )


def async_statements(async_inference: AsyncInference) -> list[Statement]:
    """
    Return the permissions that the role needs to take requests, write answers and
    notify.
    """
    places = AsyncPlaces.of(async_inference)
    topics = [
        topic
        for topic in (async_inference.success_topic, async_inference.error_topic)
        if topic
    ]
    found = [
        write_statement("WriteAnswers", *places.written),
        *read_statements("Requests", places.inputs),
        *key_statements("EncryptAnswers", async_inference.kms_key, *_keys(places)),
    ]
    if topics:
        arns = list(dict.fromkeys(topic.topic_arn for topic in topics))
        found.append(Statement(sid="Notify", actions=["sns:Publish"], resources=arns))
        keys = [topic.master_key for topic in topics]
        found += key_statements("EncryptNotifications", *keys)
    return found


def caller_statements(async_inference: AsyncInference) -> list[Statement]:
    """
    Return the permissions on S3 that a caller needs to upload requests and to fetch
    answers.
    """
    places = AsyncPlaces.of(async_inference)
    reading = (read_statements("Answers", place) for place in places.written)
    return united(
        [
            write_statement("WriteRequests", places.inputs),
            *(statement for statements in reading for statement in statements),
            *key_statements("UseKeys", async_inference.kms_key, *_keys(places)),
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


def _keys(places: AsyncPlaces) -> list[kms.IKey | None]:
    return [place.key for place in (*places.written, places.inputs)]
