"""
The SageMaker Model and its role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from aws_cdk import App, SecretValue, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    Model,
    Network,
    S3Model,
    TensorRtLlm,
    Tgi,
)
from tests.unit.hosting.expected import (
    ACCESS_TO_MINE,
    ATTACH_TO_VPC,
    DECRYPT_WEIGHTS,
    LIST_WEIGHTS,
    LOG_IN,
    NAME_OF_MINE,
    PUBLISH_METRICS,
    PULL_TGI,
    READ_WEIGHTS,
    ROLE,
    ROLE_ARN,
    TGI_IMAGE,
    TRT_IMAGE,
    WRITE_LOGS,
    policy,
)
from tests.unit.hosting.written import (
    codes_of,
    keywords_of,
    left_at_default,
    required_keywords_of,
    written,
)

Properties = Callable[[Stack, str], dict[str, Any]]
MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
TRT = TensorRtLlm("0.26.0", tensor_parallel_degree=4)
TGI = Tgi("1.4.5")


@pytest.fixture(name="every_keyword")
def _every_keyword(
    vpc: ec2.IVpc, group: ec2.ISecurityGroup, key: kms.IKey, own_role: iam.IRole
) -> dict[str, Any]:
    return {
        "serving": TGI,
        "model": S3Model("s3://weights-bucket/llama/", kms_key=key),
        "accelerators": 4,
        "environment": {"MAX_BEST_OF": "4", "DISABLE_CUSTOM_KERNELS": "1"},
        "role": own_role,
        "network": Network(
            vpc=vpc,
            subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            security_groups=[group],
            isolated=True,
        ),
    }


def test_every_keyword_reaches_the_template(
    stack: Stack, every_keyword: dict[str, Any]
) -> None:
    """
    Nothing more is made, and the role is given what is needed and no more.
    """
    Model(stack, "Model", **every_keyword)

    assert written(stack) == {
        ACCESS_TO_MINE: policy(
            NAME_OF_MINE,
            "mine",
            LOG_IN,
            PULL_TGI,
            READ_WEIGHTS,
            LIST_WEIGHTS,
            DECRYPT_WEIGHTS,
            WRITE_LOGS,
            PUBLISH_METRICS,
            ATTACH_TO_VPC,
        ),
        "Model": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {
                "EnableNetworkIsolation": True,
                "ExecutionRoleArn": ROLE_ARN,
                "PrimaryContainer": {
                    "Environment": {
                        "DISABLE_CUSTOM_KERNELS": "1",
                        "HF_MODEL_ID": "/opt/ml/model",
                        "MAX_BEST_OF": "4",
                        "SM_NUM_GPUS": "4",
                    },
                    "Image": TGI_IMAGE,
                    "ModelDataSource": {
                        "S3DataSource": {
                            "CompressionType": "None",
                            "S3DataType": "S3Prefix",
                            "S3Uri": "s3://weights-bucket/llama/",
                        }
                    },
                },
                "VpcConfig": {
                    "SecurityGroupIds": ["sg-11111111"],
                    "Subnets": ["subnet-33333333", "subnet-44444444"],
                },
            },
            "DependsOn": [ACCESS_TO_MINE],
        },
    }


def test_no_keyword_is_left_out_above(every_keyword: dict[str, Any]) -> None:
    """
    A new keyword is tested, or this fails.
    """
    assert keywords_of(Model.__init__) == set(every_keyword)
    assert left_at_default(Model.__init__, every_keyword) == set()
    assert required_keywords_of(Model.__init__) == {"serving"}


def test_the_smallest_call_reaches_the_template(stack: Stack) -> None:
    """
    A container of one's own names its model itself, and has no tarball.
    """
    uri = "222222222222.dkr.ecr.us-east-1.amazonaws.com/team/vllm:1"
    Model(stack, "Model", serving=CustomContainer.from_uri(uri))

    assert written(stack) == {
        "ModelRole": ROLE,
        "ModelAccess": policy(
            "ModelAccess",
            "${ModelRole}",
            LOG_IN,
            {
                "Action": [
                    "ecr:BatchCheckLayerAvailability",
                    "ecr:BatchGetImage",
                    "ecr:GetDownloadUrlForLayer",
                ],
                "Effect": "Allow",
                "Resource": (
                    "arn:${AWS::Partition}:ecr:us-east-1:222222222222"
                    ":repository/team/vllm"
                ),
                "Sid": "PullImage",
            },
            WRITE_LOGS,
            PUBLISH_METRICS,
        ),
        "Model": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {
                "ExecutionRoleArn": "${ModelRole.Arn}",
                "PrimaryContainer": {"Image": uri},
            },
            "DependsOn": ["ModelAccess"],
        },
    }


def test_what_was_made_can_be_reached(
    stack: Stack, every_keyword: dict[str, Any], own_role: iam.IRole
) -> None:
    """
    Each attribute is the resource's own.
    """
    model = Model(stack, "Model", **every_keyword)

    assert model.role is own_role
    assert model.network is every_keyword["network"]
    assert model.artifact is None
    assert model.image_uri == TGI_IMAGE
    assert (model.image.family, model.image.version) == ("huggingface-llm", "1.4.5")
    assert model.definition.region == "us-east-1"
    assert model.definition.demand is not None
    assert stack.resolve(model.model_name) == {
        "Fn::GetAtt": [stack.get_logical_id(model.cfn_model), "ModelName"]
    }


def test_a_tarball_and_variables_reach_one_container(stack: Stack) -> None:
    """
    LMI reads its configuration from the tarball, and secrets from variables.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=TRT, environment={"A": "1"})
    (written_model,) = written(stack, "SageMaker::Model").values()

    assert model.artifact is not None
    assert model.artifact.files == {
        "serving.properties": (
            b"engine=MPI\noption.tensor_parallel_degree=4\n"
            b"option.model_id=HuggingFaceH4/zephyr-7b-beta\noption.rolling_batch=auto\n"
            b"option.model_loading_timeout=1800\n"
        )
    }
    assert written_model["Properties"]["PrimaryContainer"] == {
        "Environment": {"A": "1"},
        "Image": TRT_IMAGE,
        "ModelDataUrl": (
            "s3://cdk-hnb659fds-assets-111111111111-us-east-1/<asset hash>.gz"
        ),
    }


def test_variables_are_written_in_their_order(stack: Stack) -> None:
    """
    The same definition is the same template, whatever the order of its words.
    """
    Model(stack, "Model", model=MISTRAL, serving=TGI, environment={"Z": "1", "A": "2"})
    (model,) = written(stack, "SageMaker::Model").values()
    variables = model["Properties"]["PrimaryContainer"]["Environment"]

    assert list(variables) == ["A", "HF_MODEL_ID", "Z"]


def test_each_warning_is_the_models(stack: Stack) -> None:
    """
    A model by itself owns all that is said of it, once.
    """
    gated = HuggingFaceModel("a/b", token=SecretValue.secrets_manager("hub"))
    Model(stack, "Model", model=gated, serving=TGI)

    assert codes_of(stack) == [("/Test/Model", "LLM201"), ("/Test/Model", "LLM202")]


def actions(stack: Stack) -> set[str]:
    """
    Return every action that the stack's policies allow.
    """
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    return set(_actions(policies))


def _actions(policies: Mapping[str, Any]) -> Iterator[str]:
    for each in policies.values():
        for statement in each["Properties"]["PolicyDocument"]["Statement"]:
            action = statement["Action"]
            yield from [action] if isinstance(action, str) else action


def test_the_role_is_for_sagemaker_in_this_account_alone(
    stack: Stack, properties: Properties
) -> None:
    """
    No other account's SageMaker may take it, and no managed policy widens it.
    """
    Model(stack, "Model", model=MISTRAL, serving=TRT)

    role = properties(stack, "AWS::IAM::Role")
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]

    assert statement["Principal"] == {"Service": "sagemaker.amazonaws.com"}
    assert statement["Condition"] == {
        "StringEquals": {"aws:SourceAccount": "111111111111"}
    }
    assert "ManagedPolicyArns" not in role


def test_the_role_allows_what_a_start_needs_and_nothing_else(stack: Stack) -> None:
    """
    Pull one repository, read tarballs, write logs, publish metrics.
    """
    Model(stack, "Model", model=MISTRAL, serving=TRT)

    assert actions(stack) == {
        "cloudwatch:PutMetricData",
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:GetAuthorizationToken",
        "ecr:GetDownloadUrlForLayer",
        "logs:CreateLogGroup",
        "logs:CreateLogStream",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
        "s3:GetObject",
        "s3:ListBucket",
    }


def test_without_a_tarball_nothing_on_s3_is_allowed(stack: Stack) -> None:
    """
    TGI takes its configuration from variables.
    """
    Model(stack, "Model", model=MISTRAL, serving=TGI)

    assert not {action for action in actions(stack) if action.startswith("s3:")}


def test_the_bare_wildcards_are_the_registry_login_and_metrics(stack: Stack) -> None:
    """
    Every other action names its resource.
    """
    Model(stack, "Model", model=MISTRAL, serving=TRT)
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    statements = policy["Properties"]["PolicyDocument"]["Statement"]

    bare = [s["Action"] for s in statements if s["Resource"] == "*"]

    assert bare == ["ecr:GetAuthorizationToken", "cloudwatch:PutMetricData"]


def test_the_model_waits_for_its_policy(stack: Stack) -> None:
    """
    SageMaker uses the role the moment the Model is created.
    """
    Model(stack, "Model", model=MISTRAL, serving=TRT)
    template = Template.from_stack(stack)
    (policy,) = template.find_resources("AWS::IAM::Policy")

    template.has_resource("AWS::SageMaker::Model", {"DependsOn": [policy]})


def test_it_has_no_name_of_its_own(stack: Stack, properties: Properties) -> None:
    """
    Each change replaces it, and a fixed name would collide.
    """
    Model(stack, "Model", model=MISTRAL, serving=TRT)

    assert "ModelName" not in properties(stack, "AWS::SageMaker::Model")


def test_its_id_does_not_change_with_the_model() -> None:
    """
    Another model is a replacement of the same resource, not another resource.
    """
    ids = []
    for model in (MISTRAL, HuggingFaceModel("other/model")):
        stack = Stack(App(), "Stack")
        Model(stack, "Model", model=model, serving=TRT)
        ids.append(list(Template.from_stack(stack).to_json()["Resources"]))

    assert ids[0] == ids[1]


def test_the_tarball_is_the_model_data(stack: Stack, properties: Properties) -> None:
    """
    The asset's address, with the hash of its contents.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=TRT)
    container = properties(stack, "AWS::SageMaker::Model")["PrimaryContainer"]

    assert model.artifact is not None
    assert container["ModelDataUrl"] == (
        "s3://cdk-hnb659fds-assets-111111111111-us-east-1/"
        f"{model.artifact.asset_hash}.gz"
    )
    assert container["Image"] == model.image_uri


def test_a_role_of_ones_own_is_given_what_is_needed(stack: Stack) -> None:
    """
    Bring your own, and the permissions come along.
    """
    principal = iam.ServicePrincipal("sagemaker.amazonaws.com")
    role = iam.Role(stack, "Mine", assumed_by=principal)

    model = Model(stack, "Model", model=MISTRAL, serving=TRT, role=role)

    assert model.role is role
    Template.from_stack(stack).resource_count_is("AWS::IAM::Role", 1)
    assert "ecr:BatchGetImage" in actions(stack)


def test_others_can_grant_to_it(stack: Stack) -> None:
    """
    A Model is a grantee, as a function is.
    """
    bucket = s3.Bucket(stack, "Bucket")
    bucket.grant_put(Model(stack, "Model", model=MISTRAL, serving=TRT))

    assert "s3:PutObject" in actions(stack)
