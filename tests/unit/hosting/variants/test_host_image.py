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
    TextEmbeddings,
    Tgi,
)
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.hosting.variants.host_image import (
    choose_host_image,
    engine_image,
    follows_type,
    mixed_findings,
    purpose_findings,
)
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


def mixed(*types: str, **purpose: Any) -> list[str]:  # noqa: ANN401 - any keyword
    """
    Return what is found of pools of several types.
    """
    variant = ProductionVariant(instance_type=G5, **purpose)
    hardware = [find_instance_type(name) for name in types]
    return [str(each) for each in mixed_findings(variant, hardware, None)]


@pytest.mark.parametrize(
    ("types", "purpose"),
    [
        ((G5,), {}),
        ((G5, "ml.g6.12xlarge"), {}),
        (("ml.p3.2xlarge", G5), {"inference_ami_version": "any"}),
        (("ml.p3.2xlarge", G5), {"cuda_version": "${Token[T.1]}"}),
        (("ml.p3.2xlarge", G5), {"cuda_version": "twelve"}),
        (("ml.inf2.xlarge", "ml.inf2.8xlarge"), {}),
    ],
    ids=["one", "alike", "chosen", "known later", "wrong", "Neuron"],
)
def test_types_that_one_host_image_serves_pass(
    types: tuple[str, ...], purpose: dict[str, Any]
) -> None:
    """
    So do those that were chosen by hand, and what only deployment knows.
    """
    assert mixed(*types, **purpose) == []


def test_fails_if_no_host_image_serves_all_types() -> None:
    """
    GPUs and Neuron cores never go together, and old drivers with new ones seldom.
    """
    assert mixed(G5, "ml.inf2.xlarge", inference_ami_version="any") == [
        (
            "LLM313 capacity.pools mix GPUs with Inferentia or Trainium: "
            "ml.g5.12xlarge, ml.inf2.xlarge; serve these from endpoints of their own"
        )
    ]
    (message,) = mixed("ml.p3.2xlarge", G5, cuda_version="13.0")
    assert message.startswith("LLM313 capacity.pools: no host image with a driver for ")
    assert message.endswith(
        "; choose types of one driver generation, or inference_ami_version"
    )


@pytest.mark.parametrize(
    ("purpose", "follows"),
    [
        ({}, True),
        ({"inference_ami_version": "any"}, False),
        ({"cuda_version": "12.8"}, True),
        ({"engine": LmiVllm()}, True),
        ({"engine": TextEmbeddings(version="1.4.0")}, True),
    ],
    ids=["default", "chosen", "CUDA", "LMI", "TEI"],
)
def test_the_host_image_follows_the_type_unless_it_is_chosen(
    purpose: dict[str, Any], *, follows: bool
) -> None:
    """
    By the CUDA version of what is to run there.
    """
    variant = ProductionVariant(instance_type=G5, **purpose)

    assert follows_type(variant, None) is follows


def test_of_a_model_made_elsewhere_nothing_follows(stack: Stack) -> None:
    """
    Its image is not known.
    """
    theirs = Model.from_model_name(stack, "Theirs", "theirs")
    variant = ProductionVariant(instance_type=G5, model=theirs)
    hardware = [find_instance_type(G5)]

    assert follows_type(variant, None) is False
    assert choose_host_image(variant, hardware, None) is None
