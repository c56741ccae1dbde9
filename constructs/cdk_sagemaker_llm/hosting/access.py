"""
The execution role: what a model needs to start and to log, and nothing else.
"""

from __future__ import annotations

from aws_cdk import Acknowledgment, Aws, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import Construct

# cdk-nag asks for a reason where a resource ends in a wildcard.
_WILDCARDS = (
    "ecr:GetAuthorizationToken has no resource to name; log streams are created under "
    "the two prefixes SageMaker writes to; the tarball before the current one must "
    "stay readable while an update is rolled out or back; S3 objects are under one "
    "prefix; the network interfaces of a VPC are not known before they exist"
)


def make_execution_role(scope: Construct, id: str) -> iam.Role:
    """
    Make a role that only SageMaker, acting for this account, may take.
    """
    return iam.Role(
        scope,
        id,
        assumed_by=iam.ServicePrincipal(
            "sagemaker.amazonaws.com",
            conditions={"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}},
        ),
        description="Runs a language model on SageMaker",
    )


def attach_access(
    scope: Construct, role: iam.IRole, statements: list[iam.PolicyStatement]
) -> iam.Policy:
    """
    Give a role what one model needs, as a policy of the model's own.

    What is created next must depend on it: SageMaker uses the role at once.
    """
    policy = iam.Policy(scope, "Access", statements=statements, roles=[role])
    Validations.of(policy).acknowledge(
        Acknowledgment(id="AwsSolutions-IAM5", reason=_WILDCARDS)
    )
    return policy


def log_statements() -> list[iam.PolicyStatement]:
    """
    Return what a role needs to write container logs.
    """
    groups = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group"
    return [
        iam.PolicyStatement(
            sid="WriteLogs",
            actions=[
                "logs:CreateLogGroup",
                "logs:CreateLogStream",
                "logs:DescribeLogStreams",
                "logs:PutLogEvents",
            ],
            # The group is named after the endpoint or component, which comes later.
            resources=[
                f"{groups}:/aws/sagemaker/Endpoints/*",
                f"{groups}:/aws/sagemaker/InferenceComponents/*",
            ],
        )
    ]
