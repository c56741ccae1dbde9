"""
Why each action is asked for, what goes wrong without it, and who says so.

One table for the command, the page and whoever reviews: a statement whose name and
action are not in it is a test's failure, and so is a line that no statement needs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

_ROLES = "SageMaker developer guide, sagemaker-roles, CreateModel API"
_VPC = "SageMaker developer guide, host-vpc"
_ASYNC = "SageMaker developer guide, async-inference-create-endpoint-prerequisites"
_CAPTURE = "SageMaker developer guide, model-monitor-data-capture"
_OPENAI = "SageMaker developer guide, realtime-endpoints-openai-compatible"
_BUILD = "CodeBuild user guide, setting-up-service-role"
_S3 = "S3 API reference"
_REFERENCE = "service authorization reference, Amazon SageMaker AI"
_SCALING = "SageMaker developer guide, endpoint-auto-scaling-prerequisites"
# A statement's name ends in this where a key is known by its alias, and in a number
# where a policy has several of one name.
_ENDING = re.compile(r"(ByAlias)?\d*\Z")


@dataclass(frozen=True, slots=True)
class Reason:
    """
    Why something is allowed.

    Args:
        sid: The statement's name; empty for what is granted on request, which the CDK
            writes without names.

        actions: The actions that it is about.

        why: What they are needed for.

        without: What fails without them.

        source: Who says so.

        beside: For a grant, an action that the principal has with it; without it the
            statement is somebody else's. Empty for what no one else would grant.
    """

    sid: str
    actions: tuple[str, ...]
    why: str
    without: str
    source: str
    beside: str = ""


_UNREAD = "CreateModel or CreateEndpoint says that it could not access model data"

REASONS = (
    Reason(
        "LogInToRegistries",
        ("ecr:GetAuthorizationToken",),
        "logs in to the registry of the container's image",
        "the image is not pulled",
        _ROLES,
    ),
    Reason(
        "PullImage",
        (
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:GetDownloadUrlForLayer",
        ),
        "pulls the container's image, of this repository alone",
        "the image is not pulled, and the endpoint ends as Failed",
        _ROLES,
    ),
    Reason(
        "WriteLogs",
        (
            "logs:CreateLogGroup",
            "logs:CreateLogStream",
            "logs:DescribeLogStreams",
            "logs:PutLogEvents",
        ),
        "keeps what the container writes, in log groups of endpoints and components",
        "the endpoint runs and nobody sees its log",
        _ROLES,
    ),
    Reason(
        "PublishMetrics",
        ("cloudwatch:PutMetricData",),
        "publishes metrics of the instances and of the container",
        "these metrics are missing, and alarms on them stay silent",
        _ROLES,
    ),
    Reason(
        "ReadTarball",
        ("s3:GetObject",),
        "reads the tarball of configuration and code that this app ships",
        _UNREAD,
        _ROLES,
    ),
    Reason(
        "FindTarball",
        ("s3:ListBucket",),
        "finds the tarball: SageMaker lists a key before it reads it",
        _UNREAD,
        _ROLES,
    ),
    Reason(
        "ReadWeights",
        ("s3:GetObject",),
        "reads the model's weights, under their prefix alone",
        _UNREAD,
        _ROLES,
    ),
    Reason(
        "ListWeights",
        ("s3:ListBucket",),
        "lists the files under the weights' prefix",
        _UNREAD,
        _ROLES,
    ),
    Reason(
        "DecryptWeights",
        ("kms:Decrypt",),
        "reads weights that a key of the user's encrypts",
        "the download of the weights is denied",
        "KMS developer guide, services-s3",
    ),
    Reason(
        "ReadAdapters",
        ("s3:GetObject",),
        "reads LoRA adapters, of their folder alone",
        "the adapter's component fails",
        "SageMaker developer guide, realtime-endpoints-adapt",
    ),
    Reason(
        "ListAdapters",
        ("s3:ListBucket",),
        "lists the files of the adapters' folder",
        "the adapter's component fails",
        "SageMaker developer guide, realtime-endpoints-adapt",
    ),
    Reason(
        "DecryptAdapters",
        ("kms:Decrypt",),
        "reads adapters that a key of the user's encrypts",
        "the download of the adapter is denied",
        "KMS developer guide, services-s3",
    ),
    Reason(
        "EncryptVolumes",
        ("kms:CreateGrant",),
        "lets the instances' volumes use the user's key while they exist",
        "CreateEndpointConfig or CreateEndpoint is refused",
        "API reference, CreateEndpointConfig and "
        "RecommendationJobInputConfig$VolumeKmsKeyId",
    ),
    Reason(
        "AttachToVpc",
        (
            "ec2:CreateNetworkInterface",
            "ec2:CreateNetworkInterfacePermission",
            "ec2:DeleteNetworkInterface",
            "ec2:DeleteNetworkInterfacePermission",
        ),
        "makes the network interfaces of instances in the VPC, and removes them",
        "the endpoint is not created, or its interfaces stay when it is deleted",
        _VPC,
    ),
    Reason(
        "AttachToVpc",
        (
            "ec2:DescribeDhcpOptions",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeSecurityGroups",
            "ec2:DescribeSubnets",
            "ec2:DescribeVpcs",
        ),
        "finds the subnets and groups that the endpoint was given",
        "CreateModel or CreateEndpoint is refused",
        _VPC,
    ),
    Reason(
        "WatchAlarms",
        ("cloudwatch:DescribeAlarms",),
        "looks at the alarms that turn an update back",
        "updates are refused, or not turned back",
        "SageMaker developer guide, deployment-guardrails-configuration",
    ),
    Reason(
        "WriteCaptured",
        ("s3:AbortMultipartUpload", "s3:PutObject"),
        "writes captured requests and answers; ends an upload in parts that broke off",
        "nothing is captured",
        _CAPTURE,
    ),
    Reason(
        "EncryptCaptured",
        ("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"),
        "encrypts what is captured; an upload in parts decrypts its data key",
        "nothing is captured",
        _CAPTURE,
    ),
    Reason(
        "WriteAnswers",
        ("s3:AbortMultipartUpload", "s3:PutObject"),
        "writes answers and failures; ends an upload in parts that broke off",
        "requests are answered and no answer is found",
        _ASYNC,
    ),
    Reason(
        "ReadRequests",
        ("s3:GetObject",),
        "reads the requests that callers have laid down",
        "each request fails",
        _ASYNC,
    ),
    Reason(
        "FindRequests",
        ("s3:ListBucket",),
        "is told that a request is not there, in place of being denied",
        "a missing request reads as a missing permission",
        "S3 API reference, GetObject",
    ),
    Reason(
        "EncryptAnswers",
        ("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"),
        "reads requests and writes answers that a key of the user's encrypts",
        "requests fail, or their answers are not written",
        _ASYNC,
    ),
    Reason(
        "Notify",
        ("sns:Publish",),
        "tells the topics that an answer is there, or a failure",
        "nobody is told",
        _ASYNC,
    ),
    Reason(
        "EncryptNotifications",
        ("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"),
        "publishes to a topic that a key of the user's encrypts",
        "nobody is told",
        "SNS developer guide, sns-key-management",
    ),
    Reason(
        "ReadWorker",
        ("s3:GetObject", "s3:GetObjectVersion"),
        "reads the code that the build runs, of this asset alone",
        "the build does not begin",
        _BUILD,
    ),
    Reason(
        "LocateWorker",
        ("s3:GetBucketLocation",),
        "finds the region of the bucket that has that code",
        "the build does not begin",
        _BUILD,
    ),
    Reason(
        "LogBuilds",
        ("logs:CreateLogStream", "logs:PutLogEvents"),
        "says in the build's log how far the download is",
        "the build ends without a line",
        _BUILD,
    ),
    Reason(
        "WriteWeights",
        ("s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"),
        "writes weights and their manifest, and sees what is there already",
        "the stack's event says that the role may not use the bucket",
        _S3,
    ),
    Reason(
        "FindWeights",
        ("s3:ListBucket",),
        "is told that a file is not there, in place of being denied",
        "the stack's event says that the role may not use the bucket",
        _S3,
    ),
    Reason(
        "EncryptWeights",
        ("kms:Decrypt", "kms:GenerateDataKey"),
        "writes weights that a key of the user's encrypts",
        "the stack's event says that the role may not use the key",
        "KMS developer guide, services-s3",
    ),
    Reason(
        "ReadToken",
        ("secretsmanager:GetSecretValue",),
        "hands the build the Hub's token, of this secret alone",
        "the build does not begin",
        "CodeBuild API reference, EnvironmentVariable",
    ),
    Reason(
        "DecryptToken",
        ("kms:Decrypt",),
        "reads a token that a key of the user's encrypts",
        "the build does not begin",
        "KMS developer guide, services-secrets-manager",
    ),
    Reason(
        "LogStarts",
        ("logs:CreateLogStream", "logs:PutLogEvents"),
        "says in the function's log what it started",
        "nobody sees why the function failed",
        "Lambda developer guide, lambda-intro-execution-role",
    ),
    Reason(
        "StartBuilds",
        (
            "codebuild:BatchGetBuilds",
            "codebuild:ListBuildsForProject",
            "codebuild:StartBuild",
            "codebuild:StopBuild",
        ),
        "starts the build, asks how it ended, and stops it when its stack goes",
        "the stack's event says that it may not",
        _BUILD,
    ),
    Reason(
        "PushImage",
        (
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:CompleteLayerUpload",
            "ecr:InitiateLayerUpload",
            "ecr:PutImage",
            "ecr:UploadLayerPart",
        ),
        "copies an image into this repository, and sees what is there already",
        "the stack's event says that the role may not write to the repository",
        "Amazon ECR user guide, image-push-iam",
    ),
    Reason(
        "FindImage",
        ("ecr:DescribeImages",),
        "sees whether the image is there, so that no build is started",
        "the stack's event says that it may not",
        "Amazon ECR API reference, DescribeImages",
    ),
    Reason(
        "MarkOwners",
        ("s3:DeleteObject", "s3:PutObject"),
        "marks that a stack wants the weights, and takes the mark away",
        "two stacks remove each other's weights",
        _S3,
    ),
    Reason(
        "ReadManifest",
        ("s3:GetObject",),
        "sees whether all of it is there",
        "what is there is brought again",
        _S3,
    ),
    Reason(
        "ListStaged",
        ("s3:ListBucket",),
        "sees who else wants the weights, and what there is to remove",
        "the stack's event says that it may not",
        _S3,
    ),
    Reason(
        "RemoveWeights",
        ("s3:DeleteObject", "s3:PutObject"),
        "removes weights that no stack wants, where that was asked for",
        "weights that nobody wants stay, and cost what S3 asks",
        _S3,
    ),
    Reason(
        "UseKey",
        ("kms:Decrypt", "kms:GenerateDataKey"),
        "reads manifests and writes marks that a key of the user's encrypts",
        "the stack's event says that it may not",
        "KMS developer guide, services-s3",
    ),
    Reason(
        "StartJobs",
        (
            "sagemaker:CreateProcessingJob",
            "sagemaker:CreateTrainingJob",
            "sagemaker:DescribeProcessingJob",
            "sagemaker:DescribeTrainingJob",
            "sagemaker:StopProcessingJob",
            "sagemaker:StopTrainingJob",
        ),
        "starts the job that compiles, asks how it ended, and stops it when its stack "
        "goes",
        "the stack's event says that it may not",
        _REFERENCE,
    ),
    Reason(
        "PassRole",
        ("iam:PassRole",),
        "hands that job its role, and no other",
        "the stack's event says that it may not",
        _REFERENCE,
    ),
    Reason(
        "PlaceEngines",
        (
            "s3:AbortMultipartUpload",
            "s3:DeleteObject",
            "s3:GetObject",
            "s3:PutObject",
        ),
        "puts compiled engines in place, with their manifest",
        "the stack's event says that it may not",
        _S3,
    ),
    Reason(
        "ListJobs",
        ("s3:ListBucket",),
        "sees what a job made",
        "the stack's event says that it may not",
        _S3,
    ),
    Reason(
        "WriteEngines",
        ("s3:AbortMultipartUpload", "s3:PutObject"),
        "writes engines beside the prefix that is served",
        "the job fails when it is done",
        _S3,
    ),
    Reason(
        "EncryptEngines",
        ("kms:Decrypt", "kms:GenerateDataKey"),
        "reads weights and writes engines that a key of the user's encrypts",
        "the job fails when it is done",
        "KMS developer guide, services-s3",
    ),
    Reason(
        "LogJobs",
        (
            "logs:CreateLogGroup",
            "logs:CreateLogStream",
            "logs:DescribeLogStreams",
            "logs:PutLogEvents",
        ),
        "keeps what the compiler says",
        "a compilation fails and nobody sees why",
        "SageMaker developer guide, sagemaker-roles, CreateProcessingJob API",
    ),
    Reason(
        "",
        ("sagemaker:InvokeEndpoint",),
        "asks the model: grant_invoke",
        "each request is denied",
        _REFERENCE,
    ),
    Reason(
        "",
        ("sagemaker:InvokeEndpointWithResponseStream",),
        "asks the model and reads the answer as it comes: grant_invoke(streaming=True)",
        "streams may be denied: IAM lists an action of their own, where the API "
        "reference asks for sagemaker:InvokeEndpoint",
        _REFERENCE,
    ),
    Reason(
        "",
        ("sagemaker:CallWithBearerToken",),
        "asks with a bearer token, as OpenAI's SDK does: "
        "grant_invoke(bearer_token=True)",
        "each request with a token is denied",
        _OPENAI,
    ),
    Reason(
        "",
        ("sagemaker:InvokeEndpointAsync",),
        "has requests on S3 answered: grant_invoke_async",
        "each request is denied",
        _REFERENCE,
    ),
    Reason(
        "",
        ("s3:AbortMultipartUpload", "s3:PutObject"),
        "lays requests down on S3: grant_invoke_async",
        "no request can be written",
        _ASYNC,
        beside="sagemaker:InvokeEndpointAsync",
    ),
    Reason(
        "",
        ("s3:GetObject", "s3:ListBucket"),
        "fetches answers, and is told that one is not there yet: grant_invoke_async",
        "no answer can be read",
        _ASYNC,
        beside="sagemaker:InvokeEndpointAsync",
    ),
    Reason(
        "",
        ("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"),
        "writes requests and reads answers that a key of the user's encrypts: "
        "grant_invoke_async",
        "requests cannot be written, nor answers read",
        _ASYNC,
        beside="sagemaker:InvokeEndpointAsync",
    ),
    Reason(
        "",
        (
            "sagemaker:DescribeEndpoint",
            "sagemaker:DescribeEndpointConfig",
            "sagemaker:DescribeInferenceComponent",
        ),
        "sees state, instances and copies, and no model's variables: grant_describe",
        "whoever waits for the endpoint cannot see that it is in service",
        _REFERENCE,
    ),
    Reason(
        "",
        ("sagemaker:UpdateEndpointWeightsAndCapacities",),
        "changes how many instances run, and how variants share requests: grant_scale",
        "the number of instances cannot be changed by hand",
        _SCALING,
    ),
    Reason(
        "",
        ("sagemaker:UpdateInferenceComponentRuntimeConfig",),
        "changes how many copies of a model run: grant_scale",
        "the number of copies cannot be changed by hand",
        _REFERENCE,
    ),
    Reason(
        "",
        ("application-autoscaling:RegisterScalableTarget",),
        "changes the bounds of automatic scaling: grant_scale(scalable_target=True)",
        "the bounds cannot be changed by hand",
        "service authorization reference, Application Auto Scaling",
        beside="sagemaker:Update",
    ),
    Reason(
        "",
        ("ssm:GetParameter",),
        "reads how to reach the model: grant_read of a stored connection",
        "LlmClient.from_ssm is denied",
        "Systems Manager API reference, GetParameter",
        beside="sagemaker:Invoke",
    ),
)


def reason_for(
    sid: str, action: str, others: Collection[str] = frozenset()
) -> Reason | None:
    """
    Return why an action is in a statement; ``None`` for one of somebody else.

    Args:
        sid: The statement's name, with whatever was added to keep it apart; empty
            where it has none.

        action: The action.

        others: All actions that the same principal is allowed, which tell whose a
            grant is.
            If left out, only what nobody else would grant is known.
    """
    reason = _by_statement().get((_ENDING.sub("", sid), action))
    if reason is None or not reason.beside:
        return reason
    known = any(other.startswith(reason.beside) for other in others)
    return reason if known else None


@functools.cache
def _by_statement() -> Mapping[tuple[str, str], Reason]:
    return MappingProxyType(
        {(one.sid, action): one for one in REASONS for action in one.actions}
    )
