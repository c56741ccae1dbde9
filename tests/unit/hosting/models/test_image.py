"""
Which registry a stack pulls an image from.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Match, Template

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    LmiVllm,
    Model,
    TensorRtLlm,
)
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.hosting.models.image import region_findings
from tests.conftest import ACCOUNT
from tests.unit.hosting.written import properties_of, written

MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
TRT = TensorRtLlm("0.26.0", tensor_parallel_degree=4)
IMAGE = "djl-inference:0.26.0-tensorrtllm0.7.1-cu122"


def pulled(stack: Stack) -> tuple[Any, Any]:
    """
    Return the image that a stack's only model runs, and what its role may pull.
    """
    (policy,) = written(stack, "IAM::Policy").values()
    login, pull = policy["Properties"]["PolicyDocument"]["Statement"][:2]
    assert login["Resource"] == "*"
    assert pull["Sid"] == "PullImage"
    image = properties_of(stack, "SageMaker::Model")["PrimaryContainer"]["Image"]
    return image, pull["Resource"]


@pytest.mark.parametrize(
    ("region", "account", "domain"),
    [
        ("us-east-1", "763104351884", "amazonaws.com"),
        ("eu-central-1", "763104351884", "amazonaws.com"),
        ("af-south-1", "626614931356", "amazonaws.com"),
        ("us-gov-west-1", "442386744353", "amazonaws.com"),
        ("cn-north-1", "727897471807", "amazonaws.com.cn"),
    ],
)
def test_each_region_has_a_registry(
    app: App, region: str, account: str, domain: str
) -> None:
    """
    Account and domain differ, in the image and in what the role may pull.
    """
    stack = Stack(app, "It", env=Environment(account=ACCOUNT, region=region))
    Model(stack, "Model", model=MISTRAL, serving=TRT)

    assert pulled(stack) == (
        f"{account}.dkr.ecr.{region}.{domain}/{IMAGE}",
        f"arn:${{AWS::Partition}}:ecr:{region}:{account}:repository/djl-inference",
    )


def test_stacks_of_one_app_have_each_their_own_registry(app: App) -> None:
    """
    What one stack was told is not remembered for the next.
    """
    images = []
    for region in ("us-east-1", "af-south-1", None):
        stack = Stack(app, f"In-{region}", env=Environment(region=region))
        images.append(Model(stack, "Model", model=MISTRAL, serving=TRT).image_uri)

    assert images[:2] == [
        f"763104351884.dkr.ecr.us-east-1.amazonaws.com/{IMAGE}",
        f"626614931356.dkr.ecr.af-south-1.amazonaws.com/{IMAGE}",
    ]
    assert images[2].endswith(f"/{IMAGE}")
    assert "us-east-1" not in images[2]


def test_an_image_of_ones_own_stays_in_its_registry(agnostic_stack: Stack) -> None:
    """
    It needs no mapping, in whatever region the stack is.
    """
    uri = "222222222222.dkr.ecr.eu-west-1.amazonaws.com/team/vllm:1"
    Model(agnostic_stack, "Model", serving=CustomContainer.from_uri(uri))

    assert pulled(agnostic_stack) == (
        uri,
        "arn:${AWS::Partition}:ecr:eu-west-1:222222222222:repository/team/vllm",
    )
    Template.from_stack(agnostic_stack).resource_count_is("AWS::IAM::Role", 1)
    assert not Template.from_stack(agnostic_stack).find_mappings("*")


def test_a_region_that_is_not_known_is_not_checked() -> None:
    """
    The mapping refuses it when the deployment begins.
    """
    image = find_image("djl-tensorrtllm", "0.26.0")

    assert region_findings(None, image) == []
    assert region_findings("us-east-1", image) == []
    assert [each.code for each in region_findings("us-iso-east-1", image)] == ["LLM103"]


def test_without_a_region_all_of_the_address_is_looked_up(
    agnostic_stack: Stack,
) -> None:
    """
    Account, region and domain, in the image and in what the role may pull.
    """
    Model(agnostic_stack, "Model", model=MISTRAL, serving=TRT)
    account: dict[str, Any] = {
        "Fn::FindInMap": ["ModelRegistry", "${AWS::Region}", "account"]
    }

    assert pulled(agnostic_stack) == (
        {
            "Fn::Join": [
                "",
                [
                    account,
                    ".dkr.ecr.",
                    "${AWS::Region}",
                    ".",
                    "${AWS::URLSuffix}",
                    f"/{IMAGE}",
                ],
            ]
        },
        {
            "Fn::Join": [
                "",
                [
                    "arn:",
                    "${AWS::Partition}",
                    ":ecr:",
                    "${AWS::Region}",
                    ":",
                    account,
                    ":repository/djl-inference",
                ],
            ]
        },
    )


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


def test_an_image_beside_the_catalogue_is_all_that_its_role_may_pull(app: App) -> None:
    """
    The repository in its URI, and no other.
    """
    stack = Stack(app, "It", env=Environment(account=ACCOUNT, region="us-east-1"))
    uri = "222222222222.dkr.ecr.us-east-1.amazonaws.com/team/lmi:1"
    Model(stack, "Model", model=MISTRAL, serving=LmiVllm(image=uri))

    assert pulled(stack) == (
        uri,
        "arn:${AWS::Partition}:ecr:us-east-1:222222222222:repository/team/lmi",
    )


def test_a_tag_beside_the_catalogue_is_pulled_from_the_registry_of_the_region(
    app: App,
) -> None:
    """
    As an image of the catalogue is.
    """
    stack = Stack(app, "It", env=Environment(account=ACCOUNT, region="af-south-1"))
    tag = "0.39.0-lmi31.0.0-cu130"
    Model(stack, "Model", model=MISTRAL, serving=LmiVllm(image=tag))

    assert pulled(stack) == (
        f"626614931356.dkr.ecr.af-south-1.amazonaws.com/djl-inference:{tag}",
        "arn:${AWS::Partition}:ecr:af-south-1:626614931356:repository/djl-inference",
    )


TEI = "tei:2.0.1-tei1.8.2-gpu-py310-cu122-ubuntu22.04"


def test_tei_is_pulled_from_an_account_of_its_own(app: App) -> None:
    """
    In the image's address and in what the role may pull.
    """
    stack = Stack(app, "It", env=Environment(account=ACCOUNT, region="eu-west-1"))
    serving = CustomContainer(find_image("tei", "1.8.2"))
    Model(stack, "Model", model=HuggingFaceModel("a/b"), serving=serving)

    assert pulled(stack) == (
        f"141502667606.dkr.ecr.eu-west-1.amazonaws.com/{TEI}",
        "arn:${AWS::Partition}:ecr:eu-west-1:141502667606:repository/tei",
    )


def test_without_a_region_teis_accounts_are_looked_up(agnostic_stack: Stack) -> None:
    """
    And no others.
    """
    serving = CustomContainer(find_image("tei", "1.8.2"))
    Model(agnostic_stack, "Model", model=HuggingFaceModel("a/b"), serving=serving)
    (mapping,) = Template.from_stack(agnostic_stack).find_mappings("*").values()

    assert len(mapping) == 35
    assert mapping["us-east-1"] == {"account": "683313688378"}
    assert mapping["cn-north-1"] == {"account": "450853457545"}


@pytest.mark.parametrize("region", ["us-east-1", None])
def test_a_digest_is_pulled_by_an_at_sign(app: App, region: str | None) -> None:
    """
    With a region and without.
    """
    digest = "sha256:" + "0a" * 32
    serving = TensorRtLlm("0.26.0", tensor_parallel_degree=4, image=digest)
    stack = Stack(app, "It", env=Environment(region=region))
    model = Model(stack, "Model", model=MISTRAL, serving=serving)

    assert model.image_uri.endswith(f"/djl-inference@{digest}")
