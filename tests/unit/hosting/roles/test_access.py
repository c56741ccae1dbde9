"""
The execution role, its policy, and the reason for each wildcard in it.
"""

from __future__ import annotations

from aws_cdk import Stack, Validations
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    Model,
    Network,
    S3Model,
    TensorRtLlm,
    Tgi,
)
from cdk_sagemaker_llm.hosting.roles.access import access_of
from cdk_sagemaker_llm.hosting.roles.statements import Statement
from tests.unit.hosting.written import written

MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
TRT = TensorRtLlm("0.26.0", tensor_parallel_degree=4)
LOGS = "arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:"
LOGS_REASON = (
    "SageMaker names the log group after the endpoint or component, which is created "
    "after the role"
)
LOGIN_REASON = "one login serves all registries: none can be named"
METRICS_REASON = (
    "CloudWatch has no resource to name for metrics: the condition names "
    "SageMaker's namespaces"
)
VPC_REASON = (
    "the interfaces do not exist when the role is checked, and the describing actions "
    "have no resource to name"
)
ANY_RESOURCE = "AwsSolutions-IAM5[Resource::*]"


def acknowledged(policy: iam.Policy) -> dict[str, str]:
    """
    Return what cdk-nag is told at a policy, once references are as templates have them.
    """
    Template.from_stack(Stack.of(policy))
    key = Validations.ACKNOWLEDGED_RULES_METADATA_KEY
    entries = [entry.data for entry in policy.node.metadata if entry.type == key]
    return {rule: reason for data in entries for rule, reason in data.items()}


def policy_of(model: Model) -> iam.Policy:
    """
    Return a model's policy.
    """
    found = model.node.find_child("Access")
    assert isinstance(found, iam.Policy)
    return found


def test_every_wildcard_of_a_tarballs_policy_has_a_reason(stack: Stack) -> None:
    """
    Named as cdk-nag writes resources, so that the finding is acknowledged.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=TRT)

    assert acknowledged(policy_of(model)) == {
        ANY_RESOURCE: f"{LOGIN_REASON}; {METRICS_REASON}",
        (
            "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::"
            "cdk-hnb659fds-assets-111111111111-us-east-1/532eaabd9574*.gz]"
        ): (
            "while an update is rolled out, and when it is rolled back, instances "
            "still start with the tarball before"
        ),
        f"AwsSolutions-IAM5[Resource::{LOGS}/aws/sagemaker/Endpoints/*]": LOGS_REASON,
        (
            f"AwsSolutions-IAM5[Resource::{LOGS}/aws/sagemaker/InferenceComponents/*]"
        ): LOGS_REASON,
    }


def test_every_wildcard_of_a_bucket_and_a_vpc_has_a_reason(
    stack: Stack, vpc: ec2.IVpc
) -> None:
    """
    References of the stack's own resources are named as cdk-nag names them.
    """
    bucket = s3.Bucket(stack, "Bucket", encryption_key=kms.Key(stack, "Key"))
    model = Model(
        stack,
        "Model",
        model=S3Model.from_bucket(bucket, "llama"),
        serving=Tgi("1.4.5"),
        network=Network(vpc=vpc),
    )
    (bucket_id,) = [
        stack.get_logical_id(child)
        for child in [bucket.node.default_child]
        if isinstance(child, s3.CfnBucket)
    ]

    assert acknowledged(policy_of(model)) == {
        ANY_RESOURCE: f"{LOGIN_REASON}; {METRICS_REASON}; {VPC_REASON}",
        (
            f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::<{bucket_id}>"
            "/llama/*]"
        ): "a model is many files, listed under its prefix",
        f"AwsSolutions-IAM5[Resource::{LOGS}/aws/sagemaker/Endpoints/*]": LOGS_REASON,
        (
            f"AwsSolutions-IAM5[Resource::{LOGS}/aws/sagemaker/InferenceComponents/*]"
        ): LOGS_REASON,
    }


def test_without_a_region_the_bucket_is_named_by_its_parts(
    agnostic_stack: Stack,
) -> None:
    """
    The asset bucket's own name has references in it.
    """
    model = Model(agnostic_stack, "Model", model=MISTRAL, serving=TRT)

    assert (
        "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::cdk-hnb659fds-assets-"
        "<AWS::AccountId>-<AWS::Region>/532eaabd9574*.gz]"
    ) in acknowledged(policy_of(model))


def test_only_this_accounts_sagemaker_may_take_the_role(agnostic_stack: Stack) -> None:
    """
    Also where the account is known at deployment only.
    """
    Model(agnostic_stack, "Model", model=MISTRAL, serving=TRT)

    assert written(agnostic_stack, "IAM::Role")["ModelRole"] == {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {
                "Statement": [
                    {
                        "Action": "sts:AssumeRole",
                        "Condition": {
                            "StringEquals": {"aws:SourceAccount": "${AWS::AccountId}"}
                        },
                        "Effect": "Allow",
                        "Principal": {"Service": "sagemaker.amazonaws.com"},
                    }
                ],
                "Version": "2012-10-17",
            },
            "Description": "Runs a language model on SageMaker",
        },
    }


def test_a_resource_without_a_wildcard_is_not_acknowledged(
    stack: Stack, own_role: iam.IRole
) -> None:
    """
    Nothing is excused that is no finding.
    """
    plain = Statement(sid="A", actions=["s3:GetObject"], resources=["arn:1"])
    wide = Statement(
        sid="B",
        actions=["s3:GetObject"],
        resources=["arn:2", "arn:3/*"],
        wildcard_reason="why",
    )
    (policy,) = access_of(stack, own_role).allow([plain, wide])

    assert isinstance(policy, iam.Policy)
    assert [entry.data for entry in policy.node.metadata] == [
        {"AwsSolutions-IAM5[Resource::arn:3/*]": "why"}
    ]


def test_a_reason_is_told_once(stack: Stack, own_role: iam.IRole) -> None:
    """
    What a later model adds is told at the same policy, and nothing again.
    """
    wide = Statement(
        sid="A", actions=["s3:GetObject"], resources=["arn:1/*"], wildcard_reason="why"
    )
    other = Statement(
        sid="B", actions=["s3:GetObject"], resources=["arn:2/*"], wildcard_reason="and"
    )
    access = access_of(stack, own_role)
    access.allow([wide])
    access.allow([wide])
    (policy,) = access.allow([other])

    assert isinstance(policy, iam.Policy)
    assert [entry.data for entry in policy.node.metadata] == [
        {"AwsSolutions-IAM5[Resource::arn:1/*]": "why"},
        {"AwsSolutions-IAM5[Resource::arn:2/*]": "and"},
    ]


def test_reasons_of_one_resource_are_told_together(
    stack: Stack, own_role: iam.IRole
) -> None:
    """
    The last word has all of them: what was told before is not taken back.
    """
    access = access_of(stack, own_role)
    for sid, reason in (("A", "why"), ("B", "and why")):
        wide = Statement(
            sid=sid, actions=[f"s3:{sid}"], resources=["*"], wildcard_reason=reason
        )
        (policy,) = access.allow([wide])

    assert isinstance(policy, iam.Policy)
    assert [entry.data for entry in policy.node.metadata] == [
        {ANY_RESOURCE: "why"},
        {ANY_RESOURCE: "why; and why"},
    ]
