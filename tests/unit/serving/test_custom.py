"""
A container of one's own: every keyword, and what it becomes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from cdk_sagemaker_llm import CustomContainer, HuggingFaceModel, S3Model
from cdk_sagemaker_llm.catalog.images import ImageRelease, Registry, find_image
from cdk_sagemaker_llm.serving.base import Container, Prepared

URI = "111111111111.dkr.ecr.eu-west-1.amazonaws.com/team/vllm:1.0"
IMAGE = ImageRelease(
    "custom",
    "1.0",
    "team/vllm",
    "1.0",
    frozenset(),
    Registry("111111111111", "eu-west-1"),
)


def test_every_keyword_is_passed_on() -> None:
    """
    With the model under the variable that was named.
    """
    serving = CustomContainer(
        find_image("huggingface-vllm", "0.21.0"),
        environment={"X": "1"},
        files={"model.py": b"pass"},
        model_variable="MODEL",
        token_variables=("MY_TOKEN",),
    )

    assert serving.prepare(HuggingFaceModel("a/b", revision="main"), 1) == Prepared(
        Container(
            image=find_image("huggingface-vllm", "0.21.0"),
            files={"model.py": b"pass"},
            environment={"MODEL": "a/b", "X": "1"},
            token_variables=("MY_TOKEN",),
            weights_uri=None,
            loading_seconds=None,
            start_up_seconds=None,
        ),
        (),
        None,
    )


def test_every_keyword_is_passed_on_by_its_uri_too() -> None:
    """
    The image is described by its parts.
    """
    serving = CustomContainer.from_uri(
        URI,
        environment={"X": "1"},
        files={"model.py": b"pass"},
        model_variable="MODEL",
    )

    assert serving == CustomContainer(
        IMAGE,
        environment={"X": "1"},
        files={"model.py": b"pass"},
        model_variable="MODEL",
        token_variables=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    )


def test_left_out_there_is_nothing_but_a_model() -> None:
    """
    Under the name that the Hub's client reads.
    """
    serving = CustomContainer.from_uri(URI)

    assert serving == CustomContainer(IMAGE)
    assert serving.prepare(HuggingFaceModel("a/b"), None) == Prepared(
        Container(
            image=IMAGE,
            files={},
            environment={"HF_MODEL_ID": "a/b"},
            token_variables=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
            weights_uri=None,
        ),
        (),
    )


def test_weights_on_s3_are_put_in_place_by_sagemaker() -> None:
    """
    And no model at all is no fault.
    """
    serving = CustomContainer.from_uri(URI)
    on_s3 = serving.prepare(S3Model("s3://b/p/"), 1).container
    without = serving.prepare(None, 1).container

    assert on_s3 is not None
    assert (on_s3.weights_uri, on_s3.environment) == ("s3://b/p/", {})
    assert without is not None
    assert (without.weights_uri, without.environment) == (None, {})


def test_the_callers_environment_wins() -> None:
    """
    It is theirs to know.
    """
    serving = CustomContainer.from_uri(URI, environment={"HF_MODEL_ID": "/opt/x"})
    container = serving.prepare(HuggingFaceModel("a/b"), 1).container

    assert container is not None
    assert container.environment == {"HF_MODEL_ID": "/opt/x"}


def test_fails_if_its_environment_holds_a_credential() -> None:
    """
    The one thing that is checked.
    """
    token = "hf" + "_" + "a" * 34
    prepared = CustomContainer.from_uri(URI, environment={"X": token}).prepare(None, 1)

    assert prepared.container is None
    assert [str(f) for f in prepared.findings] == [
        (
            "LLM107 X in environment looks like a Hugging Face token; keep it in "
            "Secrets Manager and pass HuggingFaceModel(..., token=secret)"
        )
    ]


def test_every_parameter_is_held_by_these_tests() -> None:
    """
    A new one comes with what it becomes.
    """
    names = {"environment", "files", "model_variable"}

    assert set(inspect.signature(CustomContainer.from_uri).parameters) == {
        "uri",
        *names,
    }
    assert set(inspect.signature(CustomContainer).parameters) == {
        "image",
        "token_variables",
        *names,
    }


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            CustomContainer.from_docker_image_asset,
            r"asset must be an image asset, got 'x' \(str\); write DockerImageAsset",
        ),
        (
            CustomContainer.from_ecr_repository,
            r"repository must be a repository, got 'x' \(str\); write Repository",
        ),
    ],
)
def test_fails_for_the_name_of_what_holds_an_image(
    make: Callable[[Any], CustomContainer], words: str
) -> None:
    """
    The construct itself tells the role what it may pull.
    """
    with pytest.raises(ValueError, match=words):
        make("x")
