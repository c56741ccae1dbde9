"""
vLLM on AWS Inferentia2 and Trainium.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Environment, Stack

from cdk_sagemaker_llm import HuggingFaceModel, LlmEndpoint, S3Model, VllmNeuron
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS, command_line
from tests.unit.serving.answers import container_of

HUB = HuggingFaceModel("Qwen/Qwen2.5-7B-Instruct", revision="main")


def test_the_model_is_named() -> None:
    """
    The entry point looks for it nowhere else.
    """
    container = container_of(VllmNeuron(), HUB, 1)

    assert container.image.family == "huggingface-vllm-neuronx"
    assert container.image.tag == (
        "0.11.0-optimum0.4.5-neuronx-py310-sdk2.26.1-ubuntu22.04"
    )
    assert container.environment == {
        "SM_ON_MODEL": "Qwen/Qwen2.5-7B-Instruct",
        "SM_ON_REVISION": "main",
    }
    weights = container_of(VllmNeuron("0.4.4"), S3Model("s3://bucket/prefix/"), 1)
    assert weights.environment == {"SM_ON_MODEL": "/opt/ml/model"}
    assert weights.weights_uri == "s3://bucket/prefix/"
    assert len(weights.image.regions) == 11


@pytest.mark.parametrize(
    ("given", "argument", "value"),
    [
        ({"tensor_parallel_size": 8}, "TENSOR_PARALLEL_SIZE", "8"),
        ({"batch_size": 4}, "BATCH_SIZE", "4"),
        ({"sequence_length": 4096}, "SEQUENCE_LENGTH", "4096"),
        ({"data_parallel_size": 2}, "DATA_PARALLEL_SIZE", "2"),
        ({"served_model_name": "qwen"}, "SERVED_MODEL_NAME", "qwen"),
        ({"options": {"max-num-seqs": 4}}, "MAX_NUM_SEQS", "4"),
        ({"options": {"allow_non_cached_model": True}}, "ALLOW_NON_CACHED_MODEL", ""),
        ({"unchecked_options": {"new-thing": "1"}}, "NEW_THING", "1"),
    ],
)
def test_each_parameter_becomes_its_variable(
    given: dict[str, Any], argument: str, value: str
) -> None:
    """
    With an underscore where the command has one.
    """
    written = dict(container_of(VllmNeuron(**given), HUB, 1).environment)
    del written["SM_ON_MODEL"], written["SM_ON_REVISION"]

    assert written == {f"SM_ON_{argument}": value}
    flag = f"--{argument.lower()}"
    assert command_line(written, ENTRY_POINTS["neuron"]) == (
        [flag, value] if value else [flag]
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"served_model_name": "-x"},
            (
                "LLM555 served_model_name cannot be told to this image: it begins with "
                "a dash: the engine's parser takes it for another argument"
            ),
        ),
        (
            {"options": {"batch-size": 4}, "batch_size": 2},
            "LLM113 options repeats batch-size, which has a parameter of its own",
        ),
        (
            {"version": "0.5.0"},
            (
                "LLM102 image huggingface-vllm-neuronx has no version '0.5.0'; use "
                "0.4.5, 0.4.4 or 0.4.2"
            ),
        ),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], told: str) -> None:
    """
    With one message.
    """
    prepared = VllmNeuron(**given).prepare(HUB, 1)

    assert prepared.container is None
    assert [str(each) for each in prepared.findings] == [told]


def test_an_unknown_option_is_told() -> None:
    """
    What the command does not know it hands on to vLLM, whose names count too.
    """
    serving = VllmNeuron(options={"dtype": "bfloat16", "sequence_lenght": 1})

    assert [str(each) for each in serving.prepare(HUB, 1).findings] == [
        (
            "LLM624 sequence_lenght becomes --sequence_lenght, which vLLM on "
            "Neuron 0.11.0 is not known to have; did you mean sequence_length?"
        )
    ]


@pytest.mark.parametrize(
    ("instance_type", "refused"),
    [
        ("ml.inf2.xlarge", None),
        ("ml.trn1.2xlarge", None),
        ("ml.inf1.xlarge", "LLM127 .* runs on Inferentia2 or Trainium"),
        ("ml.g5.xlarge", "LLM127 .* runs on Inferentia or Trainium"),
        ("ml.m5.xlarge", "LLM521 .* runs on accelerators"),
    ],
)
def test_the_image_is_held_against_the_instances(
    instance_type: str, refused: str | None
) -> None:
    """
    Inferentia2 and Trainium alone.
    """
    place = Environment(account="111111111111", region="us-east-1")
    stack = Stack(App(), "Test", env=place)
    given: dict[str, Any] = {
        "model": HUB,
        "serving": VllmNeuron(),
        "instance_type": instance_type,
    }
    if refused is not None:
        with pytest.raises(ValueError, match=refused):
            LlmEndpoint(stack, "It", **given)
        return

    assert LlmEndpoint(stack, "It", **given).endpoint.node.id == "Endpoint"
