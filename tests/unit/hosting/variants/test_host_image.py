"""
The host image that is asked for, and what the hosts are for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aws_cdk import CfnParameter, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LmiVllm,
    Model,
    ProductionVariant,
    ServingFolder,
    Tgi,
)
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.hosting.variants.host_image import engine_image, purpose_findings
from cdk_sagemaker_llm.hosting.variants.variant_definition import define_variant

G5 = "ml.g5.12xlarge"


def messages_of(*, has_model: bool, **purpose: Any) -> list[str]:  # noqa: ANN401 - any keyword
    """
    Return what is found of hosts for a purpose.
    """
    variant = ProductionVariant(instance_type=G5, **purpose)
    hardware = find_instance_type(G5)
    return [
        str(each) for each in purpose_findings(variant, hardware, has_model=has_model)
    ]


@pytest.mark.parametrize(
    ("purpose", "name"),
    [
        ({"cuda_version": "12.8"}, "cuda_version"),
        ({"engine": LmiVllm()}, "engine"),
        ({"inference_ami_version": "x", "cuda_version": "12.8"}, "cuda_version"),
    ],
    ids=["CUDA", "engine", "image too"],
)
def test_what_is_for_components_is_refused_beside_a_model(
    purpose: dict[str, Any], name: str
) -> None:
    """
    Once, whatever else is given.
    """
    assert messages_of(has_model=True, **purpose) == [
        (
            f"LLM196 {name} is for hosts of inference components; the host image of a "
            "variant with a model follows the model's image; leave it out"
        )
    ]
    assert messages_of(has_model=True, inference_ami_version="x") == []


@pytest.mark.parametrize(
    ("version", "is_one"),
    [("12", True), ("12.8", True), ("12.8.1", False), ("12.", False), ("", False)],
)
def test_a_cuda_version_has_one_or_two_numbers(version: str, *, is_one: bool) -> None:
    """
    And is told of beside whatever else is wrong.
    """
    message = f"LLM196 cuda_version must be a version such as '12.8', got {version!r}"

    assert messages_of(has_model=False, cuda_version=version) == (
        [] if is_one else [message]
    )
    assert (message in messages_of(has_model=True, cuda_version=version)) is not is_one


def test_a_cuda_version_that_deployment_decides_passes(stack: Stack) -> None:
    """
    And asks for no host image.
    """
    version = CfnParameter(stack, "Cuda").value_as_string
    found = define_variant(ProductionVariant(instance_type=G5, cuda_version=version))

    assert (found.findings, found.host_image) == ((), None)


def test_the_host_image_of_a_model_made_elsewhere_is_not_guessed(
    stack: Stack,
) -> None:
    """
    It is not that of the library's default engine.
    """
    elsewhere = Model.from_model_name(stack, "Elsewhere", "llama")
    variant = ProductionVariant(instance_type=G5, model=elsewhere)

    assert define_variant(variant).host_image is None


def test_the_engine_image_a_configuration_is_known_whoever_names_the_model(
    root: Path,
) -> None:
    """
    A folder names it itself, and a backend is given it; with a fault there is none.
    """
    folder = ServingFolder(
        root / "assets" / "mixtral-8x7b",
        container_family="djl-tensorrtllm",
        version="0.26.0",
    )
    found = engine_image(folder)
    given = engine_image(Tgi("1.4.5"))

    assert found is not None
    assert (found.family, found.version) == ("djl-tensorrtllm", "0.26.0")
    assert given is not None
    assert (given.family, given.version) == ("huggingface-llm", "1.4.5")
    assert engine_image(LmiVllm("0.99.0")) is None


def test_hosts_for_a_folder_are_asked_for_by_its_image(root: Path) -> None:
    """
    TensorRT-LLM of 0.26 is of CUDA 12.2, which the oldest driver runs.
    """
    folder = ServingFolder(
        root / "assets" / "mixtral-8x7b",
        container_family="djl-tensorrtllm",
        version="0.26.0",
    )
    variant = ProductionVariant(instance_type=G5, engine=folder)

    assert define_variant(variant).host_image is None
    assert define_variant(ProductionVariant(instance_type=G5)).host_image is not None


def test_a_model_that_is_named_goes_before_the_hosts_purpose(stack: Stack) -> None:
    """
    What was asked for by name goes before both.
    """
    model = Model(stack, "Model", model=HuggingFaceModel("a/b"), serving=Tgi("1.4.5"))
    filled = ProductionVariant(instance_type=G5, model=model, engine=LmiVllm())
    chosen = ProductionVariant(instance_type=G5, inference_ami_version="mine")

    assert define_variant(filled).host_image is None
    assert define_variant(chosen).host_image == "mine"
