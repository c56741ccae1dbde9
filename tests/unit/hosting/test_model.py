"""
The SageMaker Model and its role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, SecretValue, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Annotations, Match, Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    Model,
    Network,
    S3Model,
    ServingFolder,
    TensorRtLlm,
    Tgi,
)

KEY_ARN = "arn:aws:kms:us-east-1:111111111111:key/12345678-1234-1234-1234-123456789012"
Properties = Callable[[Stack, str], dict[str, Any]]
MISTRAL = HuggingFaceModel("mistralai/Mistral-7B-v0.1")
TRT = TensorRtLlm("0.26.0", tensor_parallel_degree=4)
TGI = Tgi("1.4.5")


def actions(stack: Stack) -> set[str]:
    """
    Return every action that the stack's policies allow.
    """
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy")
    return set(_actions(policies))


def _actions(policies: Mapping[str, Any]) -> Iterator[str]:
    for policy in policies.values():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
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
    Pull one repository, read tarballs, write logs.
    """
    Model(stack, "Model", model=MISTRAL, serving=TRT)

    assert actions(stack) == {
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


def test_the_one_bare_wildcard_is_the_registry_login(stack: Stack) -> None:
    """
    Every other action names its resource.
    """
    Model(stack, "Model", model=MISTRAL, serving=TRT)
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    statements = policy["Properties"]["PolicyDocument"]["Statement"]

    bare = [s["Action"] for s in statements if s["Resource"] == "*"]

    assert bare == ["ecr:GetAuthorizationToken"]


def test_the_image_is_pulled_from_one_repository(stack: Stack) -> None:
    """
    The registry of the region, and the repository of the image.
    """
    Model(stack, "Model", model=MISTRAL, serving=TRT)
    arn = ":ecr:us-east-1:763104351884:repository/djl-inference"

    Template.from_stack(stack).has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [
                        Match.object_like(
                            {
                                "Sid": "PullImage",
                                "Resource": {
                                    "Fn::Join": [
                                        "",
                                        ["arn:", {"Ref": "AWS::Partition"}, arn],
                                    ]
                                },
                            }
                        )
                    ]
                )
            }
        },
    )


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


def test_weights_on_s3_are_readable_under_their_prefix(
    stack: Stack, properties: Properties
) -> None:
    """
    Prefix and key, and no more.
    """
    key = kms.Key.from_key_arn(stack, "Key", KEY_ARN)
    weights = S3Model("s3://weights-bucket/llama/", kms_key=key)
    Model(stack, "Model", model=weights, serving=TGI)

    source = properties(stack, "AWS::SageMaker::Model")["PrimaryContainer"]
    text = str(Template.from_stack(stack).find_resources("AWS::IAM::Policy"))

    assert source["ModelDataSource"]["S3DataSource"] == {
        "CompressionType": "None",
        "S3DataType": "S3Prefix",
        "S3Uri": "s3://weights-bucket/llama/",
    }
    assert ":s3:::weights-bucket/llama/*" in text
    assert {"s3:GetObject", "s3:ListBucket", "kms:Decrypt"} <= actions(stack)


@pytest.mark.parametrize("kind", ["secret", "value"])
def test_a_token_is_a_dynamic_reference(
    stack: Stack, properties: Properties, kind: str
) -> None:
    """
    Its value is in no template, whichever way it is named.
    """
    secret = secretsmanager.Secret.from_secret_name_v2(stack, "Secret", "hub")
    token = secret if kind == "secret" else SecretValue.secrets_manager("hub")
    Model(stack, "Model", model=HuggingFaceModel("a/b", token=token), serving=TGI)

    container = properties(stack, "AWS::SageMaker::Model")["PrimaryContainer"]

    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        assert "{{resolve:secretsmanager:" in str(container["Environment"][name])
    Annotations.from_stack(stack).has_warning(
        "/Test/Model", Match.string_like_regexp("DescribeModel.*LLM202")
    )


def test_fails_if_the_token_is_plain_text(stack: Stack) -> None:
    """
    A wrapped plain text is still plain text.
    """
    token = SecretValue.unsafe_plain_text("hf_" + "a" * 34)

    with pytest.raises(ValueError, match="LLM107 token must refer to a secret"):
        Model(stack, "Model", model=HuggingFaceModel("a/b", token=token), serving=TGI)


def test_fails_if_a_variable_looks_like_a_token(stack: Stack) -> None:
    """
    It names the variable and does not repeat the value.
    """
    value = "hf_" + "a" * 34

    with pytest.raises(ValueError, match="LLM107 MY_KEY in environment") as raised:
        Model(stack, "Model", model=MISTRAL, serving=TRT, environment={"MY_KEY": value})

    assert value not in str(raised.value)
    assert stack.node.children == []


def test_fails_if_a_variable_is_the_backends_own(stack: Stack) -> None:
    """
    Two values for one variable would hide one of them.
    """
    with pytest.raises(ValueError, match="LLM113 environment repeats HF_MODEL_ID"):
        Model(
            stack, "Model", model=MISTRAL, serving=TGI, environment={"HF_MODEL_ID": "x"}
        )


def test_a_token_variable_may_be_a_reference_of_ones_own(
    stack: Stack, properties: Properties, tmp_path: Path
) -> None:
    """
    A folder names its own weights; a gated model's token comes as a variable.
    """
    (tmp_path / "serving.properties").write_text("engine=MPI\noption.model_id=a/b\n")
    serving = ServingFolder(
        tmp_path, container_family="djl-tensorrtllm", version="0.26.0"
    )
    reference = SecretValue.secrets_manager("hub").unsafe_unwrap()
    Model(stack, "Model", serving=serving, environment={"HF_TOKEN": reference})

    container = properties(stack, "AWS::SageMaker::Model")["PrimaryContainer"]

    assert container["Environment"] == {
        "HF_TOKEN": "{{resolve:secretsmanager:hub:SecretString:::}}"
    }


def test_fails_if_the_environment_is_too_large(stack: Stack) -> None:
    """
    The service takes 100 variables of 1024 characters.
    """
    environment = {f"V{i}": "x" * 1025 for i in range(101)}

    with pytest.raises(ValueError, match="at most 100 variables") as raised:
        Model(stack, "Model", model=MISTRAL, serving=TGI, environment=environment)

    assert "V7 must be at most 1024 characters" in str(raised.value)


def test_fails_if_the_region_has_no_such_image(app: App) -> None:
    """
    Known at synth, where the region is.
    """
    stack = Stack(app, "Iso", env=Environment(region="us-iso-east-1"))

    with pytest.raises(ValueError, match="LLM103 image djl-tensorrtllm 0.26.0 is not"):
        Model(stack, "Model", model=MISTRAL, serving=TRT)


def test_a_stack_without_a_region_looks_the_registry_up(agnostic_stack: Stack) -> None:
    """
    All regions that list the image, with those that the CDK's own table lacks.
    """
    Model(agnostic_stack, "Model", model=MISTRAL, serving=TRT)
    template = Template.from_stack(agnostic_stack)
    (mapping,) = template.find_mappings("*").values()

    template.has_resource_properties(
        "AWS::SageMaker::Model",
        {
            "PrimaryContainer": {
                "Image": {
                    "Fn::Join": [
                        "",
                        Match.array_with(
                            [".dkr.ecr.", {"Ref": "AWS::Region"}, "."],
                        ),
                    ]
                }
            }
        },
    )
    assert len(mapping) == 36
    assert mapping["af-south-1"] == {"account": "626614931356"}
    assert mapping["us-gov-west-1"] == {"account": "442386744353"}


def test_in_a_vpc_it_has_a_group_and_may_attach(
    stack: Stack, network: Network, properties: Properties
) -> None:
    """
    Private subnets, a group made for it, and the right to make interfaces.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=TRT, network=network)
    model.network.connections.allow_to(ec2.Peer.any_ipv4(), ec2.Port.tcp(443))

    config = properties(stack, "AWS::SageMaker::Model")["VpcConfig"]

    assert config["Subnets"] == ["subnet-11111111", "subnet-22222222"]
    assert len(config["SecurityGroupIds"]) == 1
    assert "ec2:CreateNetworkInterface" in actions(stack)


def test_isolation_is_passed_on(stack: Stack, properties: Properties) -> None:
    """
    SageMaker puts weights in place, so that an isolated container has them.
    """
    isolated = Network(isolated=True)
    Model(stack, "M", model=S3Model("s3://b/w/"), serving=TGI, network=isolated)

    assert properties(stack, "AWS::SageMaker::Model")["EnableNetworkIsolation"] is True


@pytest.mark.parametrize("model", [MISTRAL, S3Model("s3://b/w/")], ids=["hub", "s3"])
def test_fails_if_an_isolated_container_would_download(
    stack: Stack, model: HuggingFaceModel | S3Model
) -> None:
    """
    LMI downloads weights itself, from the Hub or from S3.
    """
    with pytest.raises(ValueError, match="LLM119 an isolated network"):
        Model(stack, "M", model=model, serving=TRT, network=Network(isolated=True))


def test_fails_if_subnets_have_no_vpc() -> None:
    """
    Groups and subnets belong to a VPC.
    """
    with pytest.raises(TypeError, match="need a vpc"):
        Network(subnets=ec2.SubnetSelection())
    with pytest.raises(ValueError, match="connections need a vpc"):
        _ = Network().connections


@pytest.mark.parametrize(
    "environment",
    [{f"V{number}": "1" for number in range(101)}, {"V": "x" * 1025}],
    ids=["too many", "too long"],
)
def test_fails_if_the_environment_is_larger_than_the_service_takes(
    stack: Stack, environment: dict[str, str]
) -> None:
    """
    CreateModel would refuse it, minutes later.
    """
    with pytest.raises(ValueError, match="LLM120"):
        Model(stack, "Model", serving=TRT, model=MISTRAL, environment=environment)
