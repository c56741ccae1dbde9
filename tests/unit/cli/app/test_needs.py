"""
What an app needs of an account is read from its assembly.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, NestedStack, Stack
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_ssm as ssm

from cdk_sagemaker_llm import (
    AllAtOnce,
    Canary,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    LlmEndpoint,
    Rolling,
    Rollout,
    StagedModel,
)
from cdk_sagemaker_llm.account.needs import Data, Needs
from cdk_sagemaker_llm.cli.app.needs import read_needs

ACCOUNT = "111111111111"
COMMIT = "a" * 40


def _read(path: Path) -> Needs:
    return read_needs(path, account=ACCOUNT, region="eu-west-1", partition="aws")


def _app(folder: Path) -> tuple[App, Stack]:
    app = App(outdir=str(folder))
    return app, Stack(app, "Chat")


def _template(folder: Path, resources: dict[str, Any]) -> Needs:
    path = folder / "Chat.template.json"
    path.write_text(json.dumps({"Resources": resources}), encoding="utf-8")
    return _read(path)


@pytest.mark.parametrize(
    ("rollout", "updating"),
    [
        (None, 8),
        (AllAtOnce(), 8),
        (Canary(percent=50), 8),
        (Rolling(instances=1), 5),
        (Rolling(percent=50), 6),
    ],
    ids=["none", "at once", "canary", "one by one", "by halves"],
)
def test_an_update_needs_a_second_fleet_or_one_batch(
    tmp_path: Path, rollout: Rollout | None, updating: int
) -> None:
    """
    Of the most that scaling comes to.
    """
    app, stack = _app(tmp_path)
    chat = LlmEndpoint(
        stack,
        "Llm",
        model=HuggingFaceModel("gpt2"),
        instance_type="ml.g5.xlarge",
        instance_count=2,
        rollout=rollout,
    )
    chat.auto_scale_instance_count(max_capacity=4)
    app.synth()

    (fleet,) = _read(tmp_path).fleets

    assert (fleet.first, fleet.most, fleet.updating) == (2, 4, updating)
    assert fleet.quota == "ml.g5.xlarge for endpoint usage"


def test_an_image_is_that_of_the_region(tmp_path: Path) -> None:
    """
    Where a stack names none, of whoever asks.
    """
    app, stack = _app(tmp_path)
    LlmEndpoint(
        stack,
        "Llm",
        model=HuggingFaceModel("gpt2"),
        instance_type="ml.g5.xlarge",
    )
    app.synth()

    needs = _read(tmp_path)

    (image,) = needs.images
    assert image.parts["account"] == "763104351884"
    assert (image.parts["region"], image.parts["digest"]) == ("eu-west-1", "")
    assert list(needs.regions()) == ["eu-west-1"]


def test_a_token_is_needed_once_with_the_model_that_it_opens(tmp_path: Path) -> None:
    """
    By its name, of the containers and of what stages weights.
    """
    app, stack = _app(tmp_path)
    token = secretsmanager.Secret.from_secret_name_v2(stack, "Token", "hub")
    LlmEndpoint(
        stack,
        "Llm",
        model=HuggingFaceModel("mistralai/Mistral-7B-v0.1", token=token),
        instance_type="ml.g5.2xlarge",
    )
    StagedModel(
        stack,
        "Weights",
        bucket=s3.Bucket(stack, "Bucket"),
        model=HuggingFaceModel("org/gated", revision=COMMIT, token=token),
    )
    app.synth()

    needs = _read(tmp_path)

    name = f"arn:aws:secretsmanager:eu-west-1:{ACCOUNT}:secret:hub"
    assert {(one.name, one.key, one.is_token) for one in needs.secrets} == {
        (name, "", True)
    }
    assert str(needs.secrets[0]) == "hub"
    assert [
        (one.model, one.revision, one.token and one.token.name) for one in needs.models
    ] == [("mistralai/Mistral-7B-v0.1", "", name), ("org/gated", COMMIT, name)]


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("hub", ("hub", "")),
        ("hub:SecretString:token::", ("hub", "token")),
        (
            "arn:aws:secretsmanager:r:1:secret:hub-abcdef:SecretString:token",
            ("arn:aws:secretsmanager:r:1:secret:hub-abcdef", "token"),
        ),
    ],
)
def test_a_reference_names_a_secret_and_a_key(
    tmp_path: Path, reference: str, found: tuple[str, str]
) -> None:
    """
    As CloudFormation reads it.
    """
    text = f"{{{{resolve:secretsmanager:{reference}}}}}"
    needs = _template(
        tmp_path,
        {"It": {"Type": "AWS::Lambda::Function", "Properties": {"Environment": text}}},
    )

    assert [(one.name, one.key) for one in needs.secrets] == [found]


def test_what_the_app_makes_itself_is_not_needed(tmp_path: Path) -> None:
    """
    Buckets, secrets and parameters of its own, and files that the CDK uploads.
    """
    app, stack = _app(tmp_path)
    bucket = s3.Bucket(stack, "Bucket")
    secretsmanager.Secret(stack, "Secret")
    ssm.StringParameter(stack, "Own", parameter_name="/own", string_value="x")
    for name in ("/own", "/other"):
        CfnParameter(
            stack, name[1:], type="AWS::SSM::Parameter::Value<String>", default=name
        )
    StagedModel(
        stack,
        "Weights",
        bucket=bucket,
        model=HuggingFaceModel("org/open", revision=COMMIT),
    )
    app.synth()

    needs = _read(tmp_path)

    assert (needs.secrets, needs.data, needs.keys, needs.names) == ([], [], [], [])
    assert {(one.name, one.least) for one in needs.parameters} == {
        ("/other", 0),
        ("/cdk-bootstrap/hnb659fds/version", 6),
    }


def test_data_is_read_and_written(tmp_path: Path) -> None:
    """
    An archive, what is under a prefix, and buckets for what endpoints write.
    """
    source = {
        "S3DataSource": {
            "S3Uri": "s3://weights/llama/",
            "S3DataType": "S3Prefix",
            "CompressionType": "None",
        }
    }
    config = {
        "ProductionVariants": [],
        "KmsKeyId": "alias/chat",
        "AsyncInferenceConfig": {"OutputConfig": {"S3OutputPath": "s3://answers/chat"}},
    }
    needs = _template(
        tmp_path,
        {
            "One": {
                "Type": "AWS::SageMaker::Model",
                "Properties": {"PrimaryContainer": {"ModelDataUrl": "s3://w/m.tar.gz"}},
            },
            "Two": {
                "Type": "AWS::SageMaker::Model",
                "Properties": {"PrimaryContainer": {"ModelDataSource": source}},
            },
            "Config": {"Type": "AWS::SageMaker::EndpointConfig", "Properties": config},
        },
    )

    def found(one: Data) -> tuple[str, str]:
        return str(one), one.kind

    assert [found(one) for one in needs.data] == [
        ("s3://w/m.tar.gz", "object"),
        ("s3://weights/llama/", "prefix"),
        ("s3://answers/", "bucket"),
    ]
    assert [one.name for one in needs.keys] == ["alias/chat"]


def test_a_place_leads_through_nested_stacks(tmp_path: Path) -> None:
    """
    By logical ids, from the stack that is deployed.
    """
    app, stack = _app(tmp_path)
    nested = NestedStack(stack, "Inner")
    config = EndpointConfig.from_endpoint_config_name(nested, "Config", "theirs")
    Endpoint(nested, "Endpoint", endpoint_config=config, endpoint_name="chat")
    app.synth()

    (new,) = _read(tmp_path).names

    outer, inner = new.place.path
    assert (new.kind, new.name, new.place.stack) == ("endpoint", "chat", "Chat")
    assert outer.startswith("InnerNestedStack")
    assert inner.startswith("Endpoint")
