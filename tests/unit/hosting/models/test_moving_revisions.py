"""
Copies that scaling starts, of weights whose commit nobody pinned.
"""

from __future__ import annotations

import pytest
from aws_cdk import CfnParameter, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    ModelSource,
    S3Model,
    Vllm,
)
from tests.unit.hosting.written import warnings_of

WORDS = (
    " download the newest commit of Qwen/Qwen3-8B whenever one starts: they may run "
    "different commits, and the Hub answers many downloads with 429; pin revision= to "
    "a commit, or bring the weights into your bucket with StagedModel [ack: "
    "cdk-sagemaker-llm:LLM816]"
)
SERVING = Vllm(max_model_len=4096)


def warned(stack: Stack) -> list[str]:
    """
    Return what is said of weights that move.
    """
    return [text for _, text in warnings_of(stack) if text.endswith("LLM816]")]


def scaled(stack: Stack, model: ModelSource, most: int) -> list[str]:
    """
    Return what is said of a model on up to so many instances.
    """
    endpoint = LlmEndpoint(
        stack, "Chat", model=model, instance_type="ml.g6e.2xlarge", serving=SERVING
    )
    assert warned(stack) == []
    endpoint.auto_scale_instance_count(max_capacity=most)
    return warned(stack)


@pytest.mark.parametrize("revision", [None, "main"])
def test_instances_take_the_newest_commit(stack: Stack, revision: str | None) -> None:
    """
    Each when it starts, which is another time for each.
    """
    model = HuggingFaceModel("Qwen/Qwen3-8B", revision=revision)

    assert scaled(stack, model, 2) == [f"up to 2 copies{WORDS}"]


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (HuggingFaceModel("Qwen/Qwen3-8B"), 1),
        (
            HuggingFaceModel("Qwen/Qwen3-8B", revision="9c925d64d727"),
            2,
        ),
        (HuggingFaceModel("Qwen/Qwen3-8B", revision="v1.0"), 2),
        (S3Model("s3://bucket/qwen/", architecture="Qwen/Qwen3-8B"), 2),
    ],
)
def test_nothing_moves(stack: Stack, model: ModelSource, most: int) -> None:
    """
    One instance has nothing to differ from; a commit, a tag and a bucket stay.
    """
    assert scaled(stack, model, most) == []


def test_how_many_is_known_only_at_deployment(stack: Stack) -> None:
    """
    There may be several.
    """
    most = CfnParameter(stack, "Most", type="Number").value_as_number

    assert scaled(stack, HuggingFaceModel("Qwen/Qwen3-8B"), int(most)) == [
        f"as many copies as scaling starts{WORDS}"
    ]


def test_copies_of_a_component_too(stack: Stack) -> None:
    """
    Where they share instances.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g6e.12xlarge", max_instance_count=4
    )
    chat = host.add_model(
        "Chat", model=HuggingFaceModel("Qwen/Qwen3-8B"), serving=SERVING, copies=1
    )
    chat.auto_scale_copy_count(max_capacity=4)

    assert warned(stack) == [f"up to 4 copies{WORDS}"]
