"""
Images of the user's own app and account: which address, and may the role pull it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Aws, CfnParameter, Fn, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecr_assets as ecr_assets

from cdk_sagemaker_llm import CustomContainer, Model
from tests.unit.hosting.written import codes_of, properties_of, written

DIGEST = "sha256:" + "0a" * 32
FOREIGN = "arn:aws:ecr:us-east-1:222222222222:repository/team/vllm"
SELF = "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/team/vllm:1"
ARN = "arn:${AWS::Partition}:ecr"


def pulled(stack: Stack, serving: CustomContainer) -> tuple[Any, Any]:
    """
    Define a model; return its image, and what its role may pull from.
    """
    Model(stack, "Model", serving=serving)
    statements = written(stack, "IAM::Policy")["ModelAccess"]["Properties"][
        "PolicyDocument"
    ]["Statement"]
    sources = {each["Sid"]: each["Resource"] for each in statements}
    image = properties_of(stack, "SageMaker::Model")["PrimaryContainer"]["Image"]
    return image, sources.get("PullImage")


@pytest.fixture(name="asset")
def _asset(stack: Stack, tmp_path: Path) -> ecr_assets.DockerImageAsset:
    folder = tmp_path / "image"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM scratch\n")
    return ecr_assets.DockerImageAsset(stack, "Image", directory=str(folder))


def test_an_image_that_the_app_builds_may_be_pulled(
    stack: Stack, asset: ecr_assets.DockerImageAsset
) -> None:
    """
    From the repository that ``cdk bootstrap`` made.
    """
    image, source = pulled(stack, CustomContainer.from_docker_image_asset(asset))
    repository = "cdk-hnb659fds-container-assets-111111111111-us-east-1"
    registry = "111111111111.dkr.ecr.us-east-1.${AWS::URLSuffix}"

    assert image == {"Fn::Sub": f"{registry}/{repository}:<asset hash>"}
    assert source == f"{ARN}:us-east-1:111111111111:repository/{repository}"
    assert codes_of(stack) == []


def test_the_apps_own_repository_may_be_pulled_from(stack: Stack) -> None:
    """
    By its own ARN, so that it is there first.
    """
    repository = ecr.Repository(stack, "Repository")
    serving = CustomContainer.from_ecr_repository(repository, tag="1.0")
    image, source = pulled(stack, serving)

    assert image["Fn::Join"][1][-2:] == ["${Repository}", ":1.0"]
    assert source == "${Repository.Arn}"


@pytest.mark.parametrize(
    ("tag", "end"), [(None, ":latest"), ("1", ":1"), (DIGEST, f"@{DIGEST}")]
)
def test_another_accounts_repository_may_be_pulled_from(
    stack: Stack, tag: str | None, end: str
) -> None:
    """
    By tag or by digest; its own policy must allow it too.
    """
    repository = ecr.Repository.from_repository_arn(stack, "Repository", FOREIGN)
    chosen: dict[str, Any] = {} if tag is None else {"tag": tag}
    serving = CustomContainer.from_ecr_repository(repository, **chosen)
    image, source = pulled(stack, serving)
    registry = "222222222222.dkr.ecr.us-east-1.${AWS::URLSuffix}"
    shown = f"{registry}/team/vllm{end}".replace("0a" * 32, "<asset hash>")

    assert image == shown
    assert source == FOREIGN


@pytest.mark.parametrize(
    ("uri", "image", "source"),
    [
        (
            lambda stack: ecr.Repository.from_repository_name(
                stack, "Repository", "team/vllm"
            ).repository_uri_for_tag("1"),
            "111111111111.dkr.ecr.us-east-1.${AWS::URLSuffix}/team/vllm:1",
            f"{ARN}:us-east-1:111111111111:repository/team/vllm",
        ),
        (
            lambda _: f"{Aws.ACCOUNT_ID}.dkr.ecr.us-east-1.amazonaws.com/team/vllm:1",
            "${AWS::AccountId}.dkr.ecr.us-east-1.amazonaws.com/team/vllm:1",
            f"{ARN}:us-east-1:${{AWS::AccountId}}:repository/team/vllm",
        ),
        (
            lambda _: SELF,
            SELF,
            f"{ARN}:${{AWS::Region}}:${{AWS::AccountId}}:repository/team/vllm",
        ),
    ],
    ids=["imported", "the CDK's placeholder", "CloudFormation's placeholder"],
)
def test_an_address_that_shows_its_repository_is_enough(
    stack: Stack, uri: Callable[[Stack], str], image: str, source: str
) -> None:
    """
    Whatever else deployment decides; a placeholder as text would stay one.
    """
    serving = CustomContainer.from_uri(uri(stack))

    assert pulled(stack, serving) == (image, source)
    assert codes_of(stack) == []


def test_the_address_of_an_own_repository_is_taken_apart(stack: Stack) -> None:
    """
    Its account and region are in its ARN, which deployment knows.
    """
    uri = ecr.Repository(stack, "Repository").repository_uri_for_tag("1")
    _, source = pulled(stack, CustomContainer.from_uri(uri))

    assert source["Fn::Join"][1][-2:] == [":repository/", "${Repository}"]


@pytest.mark.parametrize(
    ("uri", "image"),
    [
        (lambda stack: CfnParameter(stack, "Image").value_as_string, "${Image}"),
        (lambda _: Fn.sub(SELF), {"Fn::Sub": SELF}),
    ],
    ids=["parameter", "substituted"],
)
def test_an_address_that_shows_nothing_is_a_warning(
    stack: Stack, uri: Callable[[Stack], str], image: object
) -> None:
    """
    The image runs, if something else lets the role pull it.
    """
    assert pulled(stack, CustomContainer.from_uri(uri(stack))) == (image, None)
    assert codes_of(stack) == [("/Test/Model", "LLM238")]


def test_every_keyword_of_each_is_passed_on(
    stack: Stack, asset: ecr_assets.DockerImageAsset
) -> None:
    """
    As by the address.
    """
    keywords: dict[str, Any] = {
        "environment": {"X": "1"},
        "files": {"model.py": b"pass"},
        "model_variable": "MODEL",
    }
    repository = ecr.Repository.from_repository_arn(stack, "Repository", FOREIGN)
    for made in (
        CustomContainer.from_ecr_repository(repository, **keywords),
        CustomContainer.from_docker_image_asset(asset, **keywords),
    ):
        assert made == CustomContainer(made.image, **keywords)
    for plain in (
        CustomContainer.from_ecr_repository(repository),
        CustomContainer.from_docker_image_asset(asset),
    ):
        assert plain == CustomContainer(plain.image)
