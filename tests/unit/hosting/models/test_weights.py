"""
Weights on S3, and the Hugging Face token.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import CfnParameter, SecretValue, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    LlmEndpoint,
    LmiVllm,
    Model,
    S3Model,
    ServingFolder,
    TensorRtLlm,
    Tgi,
)
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.hosting.models.model_weights import (
    token_reference,
    token_reference_findings,
    weights_statements,
)
from cdk_sagemaker_llm.serving.parameters import TOKEN_VARIABLES
from tests.unit.hosting.written import codes_of, properties_of, written

Properties = Callable[[Stack, str], dict[str, Any]]
MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
TRT = TensorRtLlm("0.26.0", tensor_parallel_degree=4)
TGI = Tgi("1.4.5")
ACCEPTED = {"AcceptEula": True}
REFERENCE = "{{resolve:secretsmanager:hub:SecretString:::}}"


def test_without_a_key_nothing_may_be_decrypted() -> None:
    """
    Reading under the prefix, listing that prefix, and why there is a wildcard.
    """
    read, find = weights_statements(S3Model("s3://weights-bucket/a/b/"))

    assert (read.sid, read.actions, find.sid, find.actions) == (
        "ReadWeights",
        ["s3:GetObject"],
        "ListWeights",
        ["s3:ListBucket"],
    )
    assert read.conditions is None
    assert read.resources[0].endswith(":s3:::weights-bucket/a/b/*")
    assert read.wildcard_reason == "a model is many files, listed under its prefix"
    assert find.resources[0].endswith(":s3:::weights-bucket")
    assert find.conditions == {"StringLike": {"s3:prefix": ["a/b/*"]}}


def test_weights_on_the_hub_need_nothing_on_s3() -> None:
    """
    Nor does a container that names its own.
    """
    assert weights_statements(MISTRAL) == []
    assert weights_statements(None) == []


def test_a_bucket_of_the_stack_is_read_with_its_own_key(stack: Stack) -> None:
    """
    Names that only the deployment knows stand in the policy as references.
    """
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Bucket", encryption_key=key)
    Model(stack, "Model", model=S3Model.from_bucket(bucket, "llama"), serving=TGI)
    statements = written(stack, "IAM::Policy")["ModelAccess"]["Properties"][
        "PolicyDocument"
    ]["Statement"]

    assert statements[2:5] == [
        {
            "Action": "s3:GetObject",
            "Effect": "Allow",
            "Resource": "arn:${AWS::Partition}:s3:::${Bucket}/llama/*",
            "Sid": "ReadWeights",
        },
        {
            "Action": "s3:ListBucket",
            "Condition": {"StringLike": {"s3:prefix": ["llama/*"]}},
            "Effect": "Allow",
            "Resource": "arn:${AWS::Partition}:s3:::${Bucket}",
            "Sid": "ListWeights",
        },
        {
            "Action": "kms:Decrypt",
            "Effect": "Allow",
            "Resource": "${Key.Arn}",
            "Sid": "DecryptWeights",
        },
    ]


@pytest.mark.parametrize("kind", ["secret", "value"])
def test_the_whole_environment_with_a_token(stack: Stack, kind: str) -> None:
    """
    Both variables that libraries read, as references, beside the model's own.
    """
    secret = secretsmanager.Secret.from_secret_name_v2(stack, "Secret", "hub")
    token = secret if kind == "secret" else SecretValue.secrets_manager("hub")
    arn = "arn:${AWS::Partition}:secretsmanager:us-east-1:111111111111:secret:hub"
    expected = {
        "secret": f"{{{{resolve:secretsmanager:{arn}:SecretString:::}}}}",
        "value": REFERENCE,
    }[kind]
    Model(stack, "Model", model=HuggingFaceModel("a/b", token=token), serving=TGI)

    assert properties_of(stack, "SageMaker::Model")["PrimaryContainer"][
        "Environment"
    ] == {
        "HF_MODEL_ID": "a/b",
        "HF_TOKEN": expected,
        "HUGGING_FACE_HUB_TOKEN": expected,
    }


def test_without_a_token_no_variable_is_for_it(stack: Stack) -> None:
    """
    An empty token would be refused by the Hub.
    """
    Model(stack, "Model", model=HuggingFaceModel("a/b"), serving=TGI)

    assert properties_of(stack, "SageMaker::Model")["PrimaryContainer"][
        "Environment"
    ] == {"HF_MODEL_ID": "a/b"}
    assert TOKEN_VARIABLES == ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def test_a_custom_container_chooses_the_tokens_variable(stack: Stack) -> None:
    """
    The images of others read other variables.
    """
    serving = CustomContainer(
        CustomContainer.from_uri(
            "222222222222.dkr.ecr.us-east-1.amazonaws.com/a:1"
        ).image,
        token_variables=("MY_TOKEN",),
    )
    token = SecretValue.secrets_manager("hub")
    Model(stack, "Model", model=HuggingFaceModel("a/b", token=token), serving=serving)

    assert properties_of(stack, "SageMaker::Model")["PrimaryContainer"][
        "Environment"
    ] == {"HF_MODEL_ID": "a/b", "MY_TOKEN": REFERENCE}


def test_only_a_model_of_the_hub_with_a_token_has_a_reference() -> None:
    """
    S3 asks for no token.
    """
    assert token_reference(None) is None
    assert token_reference(MISTRAL) is None
    assert token_reference(S3Model("s3://b/w/")) is None
    assert token_reference_findings(None) == []


def test_a_token_may_come_from_a_parameter(stack: Stack) -> None:
    """
    What is resolved at deployment is no plain text; who can read it is said.
    """
    parameter = CfnParameter(stack, "Token", no_echo=True).value_as_string

    for reference in (parameter, REFERENCE):
        assert token_reference_findings(reference) == [
            Finding(
                Severity.WARNING,
                "LLM202",
                "the Hugging Face token is no part of the template, but DescribeModel "
                "shows it to whoever may call it",
                "stage the weights on S3 and serve an S3Model without a token",
            )
        ]


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


@pytest.mark.parametrize(
    ("accepted", "written_down"),
    [({}, None), ({"accept_eula": False}, None), ({"accept_eula": True}, ACCEPTED)],
    ids=["left out", "no", "yes"],
)
def test_a_licence_is_accepted_by_saying_so(
    stack: Stack, accepted: dict[str, Any], written_down: object
) -> None:
    """
    Left out or declined, nothing is written.
    """
    model = S3Model("s3://weights-bucket/a/", **accepted)
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", "weights-bucket")
    Model(stack, "Model", model=model, serving=TGI)
    Model(
        stack,
        "Same",
        model=S3Model.from_bucket(bucket, "a", **accepted),
        serving=TGI,
    )
    models = written(stack, "SageMaker::Model")

    assert len(models) == 2
    for each in models.values():
        source = each["Properties"]["PrimaryContainer"]["ModelDataSource"]
        assert source["S3DataSource"].get("ModelAccessConfig") == written_down


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_fails_if_a_licence_is_neither_accepted_nor_not(value: object) -> None:
    """
    A word is no consent.
    """
    with pytest.raises((TypeError, ValueError), match="accept_eula must be True or"):
        S3Model("s3://weights-bucket/a/", accept_eula=value)  # type: ignore[arg-type] # the mistake


def test_what_is_accepted_without_a_data_source_is_told_of(stack: Stack) -> None:
    """
    LMI's own engines download by themselves, and SageMaker asks nobody.
    """
    for number, accepts in enumerate((True, False)):
        model = S3Model("s3://weights-bucket/a/", accept_eula=accepts)
        Model(stack, f"M{number}", model=model, serving=LmiVllm())

    assert [path for path, code in codes_of(stack) if code == "LLM823"] == ["/Test/M0"]


def test_fails_if_the_token_is_a_secure_parameter(stack: Stack) -> None:
    """
    CloudFormation resolves these in a few properties, none of which is a model's.
    """
    token = SecretValue.ssm_secure("/hub/token")
    with pytest.raises(ValueError, match="LLM707 token is a secure parameter"):
        LlmEndpoint(
            stack,
            "Llm",
            model=HuggingFaceModel("a/b", token=token),
            instance_type="ml.g6.xlarge",
        )


def test_a_secret_in_a_variable_is_told_like_a_token(stack: Stack) -> None:
    """
    DescribeModel shows both.
    """
    secret = secretsmanager.Secret(stack, "Secret")
    Model(
        stack,
        "Own",
        model=MISTRAL,
        serving=TGI,
        environment={"MY_KEY": secret.secret_value.unsafe_unwrap(), "PLAIN": "a"},
    )

    assert [code for _, code in codes_of(stack) if code == "LLM202"] == ["LLM202"]


def test_an_l1_bucket_is_none_of_the_kind_that_is_declared(stack: Stack) -> None:
    """
    It has neither an environment nor a key that could be asked for.
    """
    bucket: Any = s3.CfnBucket(stack, "Bucket")
    with pytest.raises(ValueError, match=r"must be a bucket, .*from_cfn_bucket"):
        S3Model.from_bucket(bucket, "a/")


def test_a_prefix_without_its_slash_is_shown_with_it() -> None:
    """
    It is what was meant.
    """
    with pytest.raises(ValueError, match="got 's3://b-c/p'; write 's3://b-c/p/'$"):
        S3Model("s3://b-c/p")
