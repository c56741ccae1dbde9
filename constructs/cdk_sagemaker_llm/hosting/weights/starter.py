"""
The function that starts a build when a stack asks for it; where in a bucket a revision
goes, how a stack asks for it, and how long it waits.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_cdk import (
    Annotations,
    CfnResource,
    CfnWaitCondition,
    CfnWaitConditionHandle,
    CustomResource,
    Duration,
    RemovalPolicy,
)
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs

from cdk_sagemaker_llm.hosting.common.scope import stack_of
from cdk_sagemaker_llm.hosting.roles.nag import acknowledge
from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    arn_of,
    document_json,
    key_access,
    partition,
    prefix_condition,
    united,
)
from cdk_sagemaker_llm.models import HuggingFaceModel
from cdk_sagemaker_llm.serving.base import BYTES_PER_SECOND
from cdk_sagemaker_llm.staging.prefix import JOBS, MANIFEST_ENDING, OWNERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_codebuild as codebuild
    from aws_cdk import aws_s3 as s3
    from aws_cdk import aws_s3_assets as s3_assets
    from constructs import Construct

_HANDLER = "cdk_sagemaker_llm.staging.starting.handler"
_NO_VERSION = "@aws-cdk/aws-lambda:codeFromBucketObjectVersionNotSpecified"
# What a build that could not tell its own reason ended with.
_UNTOLD = ["FAILED", "FAULT", "STOPPED", "TIMED_OUT"]

# CloudFormation user guide, AWS::CloudFormation::WaitCondition: 43200 at most. What is
# left of it is for a build to be provisioned and to tell.
LONGEST_WAIT_SECONDS = 43_200
MARGIN_SECONDS = 1_800
# CodeBuild API reference, StartBuild: a build waits in its queue for 8 hours at most. A
# new account runs one build of a kind at a time (CodeBuild user guide, limits).
_LONGEST_QUEUE_MINUTES = 480
_TELLING_MINUTES = 15

_SHORT = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedPlace:
    """
    The keys of one staged revision.

    Args:
        base: The prefix, without the slash at its end; the manifest and the marks of
            the stacks that want it stand beside.

        home: What the keys of another revision begin with as well: the folder, or the
            model's name where there is none.
    """

    base: str
    home: str

    @property
    def prefix(self) -> str:
        """
        The beginning of all keys, with its slash.
        """
        return f"{self.base}/"

    @property
    def manifest(self) -> str:
        """
        The key of the list of all files, which is written last.
        """
        return self.base + MANIFEST_ENDING


def place_of(
    model: HuggingFaceModel,
    folder: str,
    include: Sequence[str],
    exclude: Sequence[str],
) -> StagedPlace:
    """
    Return where a revision goes: other patterns are other files, and another prefix.
    """
    name = model.model_id.replace("/", "--")
    patterns = [sorted(set(include)), sorted(set(exclude))]
    chosen = f"-{short_hash(patterns)}" if include or exclude else ""
    top = f"{folder.strip('/')}/" if folder.strip("/") else ""
    return StagedPlace(
        base=f"{top}{name}/{model.revision}{chosen}", home=top or f"{name}/"
    )


def short_hash(value: object) -> str:
    """
    Return a few characters that stand for a value.
    """
    written = json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(written).hexdigest()[:_SHORT]


def minutes_of(weight_bytes: int | None) -> int | None:
    """
    Return how many minutes a download may take, at a rate below any published one;
    ``None`` where the size is not known.
    """
    if weight_bytes is None:
        return None
    return math.ceil(weight_bytes / BYTES_PER_SECOND / 60)


class Starter:
    """
    The function, with a role and a log group of its own.
    """

    def __init__(
        self,
        scope: Construct,
        worker: s3_assets.Asset,
        *,
        handler: str = _HANDLER,
        what: str = "the staging of a model",
    ) -> None:
        self._scope = scope
        self._log = logs.LogGroup(
            scope,
            "StarterLog",
            retention=logs.RetentionDays.THREE_MONTHS,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self._role = iam.Role(
            scope,
            "StarterRole",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"Starts {what}",
        )
        # The key is a hash of the contents: another version is another key.
        Annotations.of(worker.bucket).acknowledge_warning(_NO_VERSION)
        self.function = lambda_.Function(
            scope,
            "Starter",
            description=f"Starts {what}, and tells how it ended",
            runtime=lambda_.Runtime.PYTHON_3_14,
            code=lambda_.Code.from_bucket_v2(worker.bucket, worker.s3_object_key),
            handler=handler,
            role=self._role,
            log_group=self._log,
            memory_size=256,
            # Lambda's longest: engines are copied into place, which S3 does by itself.
            timeout=Duration.minutes(15),
        )

        if isinstance(self.function.node.default_child, CfnResource):
            # The CDK has it wait for a role that it refers to as well.
            once = {"config": {"ignore_checks": ["W3005"]}}
            self.function.node.default_child.add_metadata("cfn-lint", once)

    def allow(self, statements: Iterable[Statement]) -> iam.Policy:
        """
        Let it do its work, and log; return the policy to wait for.
        """
        log = Statement(
            sid="LogStarts",
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resources=[self._log.log_group_arn],
        )
        return attach(self._scope, "StarterAccess", self._role, [*statements, log])

    def allow_removal(self, requests: Sequence[StagingRequest]) -> iam.Policy:
        """
        Let the function remove what a stack asked for; return the policy to wait for.

        Another revision is another policy: CloudFormation deletes the old one after it
        had the old revision released.
        """
        return attach(
            self._scope,
            f"RemovalAccess{short_hash([each.place.base for each in requests])}",
            self._role,
            [
                statement
                for each in requests
                for statement in removal_statements(each.bucket, each.place)
            ],
        )


def watch_builds(
    scope: Construct, project: codebuild.CfnProject, starter: lambda_.IFunction
) -> events.Rule:
    """
    Let the function know of builds that ended badly.
    """
    return events.Rule(
        scope,
        "BuildFailed",
        description="Tells a stack of a build that ended badly",
        event_pattern=events.EventPattern(
            source=["aws.codebuild"],
            detail_type=["CodeBuild Build State Change"],
            detail={
                "project-name": [project.ref],
                "build-status": _UNTOLD,
            },
        ),
        targets=[targets.LambdaFunction(starter)],
    )


def start_statements(project: codebuild.CfnProject) -> list[Statement]:
    """
    Return what the function needs to start builds, to look at them, and to stop those
    that no stack waits for any more.
    """
    return [
        Statement(
            sid="StartBuilds",
            actions=[
                "codebuild:BatchGetBuilds",
                "codebuild:ListBuildsForProject",
                "codebuild:StartBuild",
                "codebuild:StopBuild",
            ],
            resources=[project.attr_arn],
        )
    ]


def owner_statements(bucket: s3.IBucket, place: StagedPlace) -> list[Statement]:
    """
    Return what the function needs to mark who wants a prefix.

    When a stack goes on to another revision, or back to the one before, CloudFormation
    has the old one released last, when the policy is that of the new one: it is of all
    that the folder has.
    """
    objects = f"arn:{partition()}:s3:::{bucket.bucket_name}"
    marks = f"{objects}/{place.home}*{OWNERS}*"
    return [
        Statement(
            sid="MarkOwners",
            actions=["s3:DeleteObject", "s3:PutObject"],
            resources=[marks],
            wildcard_reason="each stack that wants the weights has a mark of its own",
        ),
        Statement(
            sid="ReadManifest",
            actions=["s3:GetObject"],
            resources=[f"{objects}/{place.home}*{MANIFEST_ENDING}"],
            wildcard_reason="the revision before is released when this one is there",
        ),
        Statement(
            sid="ListStaged",
            actions=["s3:ListBucket"],
            resources=[objects],
            conditions=prefix_condition(f"{place.home}*"),
        ),
        *key_statements("UseKey", bucket),
    ]


def removal_statements(bucket: s3.IBucket, place: StagedPlace) -> list[Statement]:
    """
    Return what the function needs to remove one staged prefix, and no other.
    """
    base = f"arn:{partition()}:s3:::{bucket.bucket_name}/{place.base}"
    return [
        Statement(
            sid="RemoveWeights",
            actions=["s3:DeleteObject"],
            resources=[f"{base}/*", f"{base}{JOBS}*"],
            wildcard_reason="a model is many files",
        ),
        Statement(
            sid="RemoveWeights",
            # The manifest is put back where another stack comes in between.
            actions=["s3:DeleteObject", "s3:PutObject"],
            resources=[f"{base}{MANIFEST_ENDING}"],
        ),
    ]


def key_statements(sid: str, bucket: s3.IBucket) -> list[Statement]:
    """
    Return what lets a role read and write what a bucket's key encrypts.
    """
    if bucket.encryption_key is None:
        return []
    actions = ["kms:Decrypt", "kms:GenerateDataKey"]
    return key_access(sid, actions, [arn_of(bucket.encryption_key)])


def await_staged(
    scope: Construct,
    request: StagingRequest,
    starter: lambda_.IFunction,
    ready: Sequence[Construct],
) -> CfnWaitCondition:
    """
    Ask for a prefix when all that it needs is ready; return what waits for it.
    """
    return await_order(
        scope,
        request.step,
        resource_type="Custom::StagedModel",
        order=request.order,
        seconds=request.seconds,
        properties={
            "Bucket": request.bucket.bucket_name,
            "Base": request.place.base,
            "Keep": "true" if request.keeps else "false",
            "Project": request.project,
        },
        starter=starter,
        ready=ready,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class StagingRequest:
    """
    What a stack asks for.

    Args:
        step: What the ids begin with: a word for each step.

        keeps: Whether it stays when no stack wants it any more.

        project: The build's project; empty where a job does it.
    """

    step: str
    bucket: s3.IBucket
    place: StagedPlace
    keeps: bool
    order: Mapping[str, Any]
    seconds: int
    project: str = ""


def await_order(
    scope: Construct,
    step: str,
    *,
    resource_type: str,
    order: Mapping[str, Any],
    seconds: int,
    properties: Mapping[str, str],
    starter: lambda_.IFunction,
    ready: Sequence[Construct],
) -> CfnWaitCondition:
    """
    Give an order when all that it needs is ready; return what waits for it.

    A wait condition cannot be updated, not even its time-out, and a handle is used
    once: each order has its own. The handle's address expires, so that it is made when
    all is ready.
    """
    stack = stack_of(scope)
    key = short_hash([stack.resolve(order), seconds])
    handle = CfnWaitConditionHandle(scope, f"{step}Handle{key}")
    handle.node.add_dependency(*ready)
    start = CustomResource(
        scope,
        f"{step}Start",
        resource_type=resource_type,
        service_token=starter.function_arn,
        properties={
            **properties,
            "Handle": handle.ref,
            "Order": stack.to_json_string(order),
        },
    )
    start.node.add_dependency(*ready)
    condition = CfnWaitCondition(
        scope,
        f"{step}Done{key}",
        handle=handle.ref,
        count=1,
        timeout=str(seconds),
    )
    condition.node.add_dependency(start)
    return condition


def waited_seconds_of(build_seconds: int) -> int:
    """
    Return the seconds that CloudFormation waits for a build.
    """
    waiting = queued_minutes_of(build_seconds) + _TELLING_MINUTES
    return build_seconds + waiting * 60


def queued_minutes_of(build_seconds: int) -> int:
    """
    Return the minutes that a build may wait for others: what CloudFormation's wait
    leaves beside the build itself and its telling.
    """
    left = (LONGEST_WAIT_SECONDS - build_seconds) // 60 - _TELLING_MINUTES
    return min(left, _LONGEST_QUEUE_MINUTES)


def attach(
    scope: Construct, id: str, role: iam.IRole, statements: Sequence[Statement]
) -> iam.Policy:
    """
    Let a role do something, and tell cdk-nag the reasons of its wildcards.
    """
    found = united(statements)
    document = iam.PolicyDocument.from_json(document_json(found))
    policy = iam.Policy(scope, id, document=document, roles=[role])
    acknowledge(scope, policy.node, found, {})
    return policy
