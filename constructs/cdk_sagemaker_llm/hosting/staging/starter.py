"""
The function that starts a build when a stack asks for it, and what calls it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aws_cdk import Annotations, CfnResource, Duration, RemovalPolicy
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs

from cdk_sagemaker_llm.hosting.arns import partition
from cdk_sagemaker_llm.hosting.keys import arn_of, key_access
from cdk_sagemaker_llm.hosting.staging.policies import attach
from cdk_sagemaker_llm.hosting.statements import Statement, prefix_condition
from cdk_sagemaker_llm.staging.wanted import MANIFEST, OWNERS

if TYPE_CHECKING:
    from aws_cdk import aws_codebuild as codebuild
    from aws_cdk import aws_s3 as s3
    from aws_cdk import aws_s3_assets as s3_assets
    from constructs import Construct

    from cdk_sagemaker_llm.hosting.staging.places import StagedPlace

_HANDLER = "cdk_sagemaker_llm.staging.starting.handler"
_NO_VERSION = "@aws-cdk/aws-lambda:codeFromBucketObjectVersionNotSpecified"
# What a build that could not tell its own reason ended with.
_UNTOLD = ["FAILED", "FAULT", "STOPPED", "TIMED_OUT"]


class Starter:
    """
    The function, with a role and a log group of its own.

    Args:
        scope: Where it is defined.

        worker: The code that it runs.

        handler: The function of the code. If left out, it stages models.

        what: What it starts, in a few words.
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


def owner_statements(
    bucket: s3.IBucket, place: StagedPlace, *, keeps: bool
) -> list[Statement]:
    """
    Return what the function needs to mark who wants a prefix, and to remove it only
    where that was asked for.

    When a stack goes on to another revision, or back to the one before, CloudFormation
    has the old one released last, when the policy is that of the new one: it is of all
    that the folder has.
    """
    objects = f"arn:{partition()}:s3:::{bucket.bucket_name}"
    marks = f"{objects}/{place.home}*{OWNERS}*"
    found = [
        Statement(
            sid="MarkOwners",
            actions=["s3:DeleteObject", "s3:PutObject"],
            resources=[marks],
            wildcard_reason="each stack that wants the weights has a mark of its own",
        ),
        Statement(
            sid="ReadManifest",
            actions=["s3:GetObject"],
            resources=[f"{objects}/{place.home}*{MANIFEST}"],
            wildcard_reason="the revision before is released when this one is there",
        ),
        Statement(
            sid="ListStaged",
            actions=["s3:ListBucket"],
            resources=[objects],
            conditions=prefix_condition(f"{place.home}*"),
        ),
    ]
    if not keeps:
        found.append(_removal(objects, place))
    if bucket.encryption_key is not None:
        actions = ["kms:Decrypt", "kms:GenerateDataKey"]
        found += key_access("UseKey", actions, [arn_of(bucket.encryption_key)])
    return found


def _removal(objects: str, place: StagedPlace) -> Statement:
    return Statement(
        sid="RemoveWeights",
        # The manifest is put back where another stack comes in between.
        actions=["s3:DeleteObject", "s3:PutObject"],
        resources=[f"{objects}/{place.home}*"],
        wildcard_reason="a model is many files, and so is the revision before",
    )
