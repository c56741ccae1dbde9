"""
``environment=`` of a construct, held against what its container reads.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aws_cdk import CfnParameter, Stack
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    Model,
    S3Model,
    ServingFolder,
    TensorRtLlm,
    Tgi,
)
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.serving import ServingConfiguration
from tests.unit.hosting.written import warnings_of

QWEN = HuggingFaceModel("Qwen/Qwen2.5-7B-Instruct")
MISTRAL = HuggingFaceModel("mistralai/Mistral-7B-v0.1")
LMI = find_image("djl-lmi", "0.36.0").uri("us-east-1")
TGI = find_image("huggingface-llm", "3.3.6").uri("us-east-1")
MIRROR = "111111111111.dkr.ecr.eu-west-1.amazonaws.com/mirror/"


def mirrored(uri: str) -> str:
    """
    Return the address of an image's copy in a registry of one's own.
    """
    return MIRROR + uri.rsplit("/", 1)[-1]


@pytest.mark.parametrize(
    ("serving", "environment", "message"),
    [
        (
            LmiVllm(),
            {"OPTION_TENSOR_PARALLEL_DEGREE": "8"},
            "LLM154 OPTION_TENSOR_PARALLEL_DEGREE=8 needs 8 accelerators",
        ),
        (LmiVllm(), {"TENSOR_PARALLEL_DEGREE": "two"}, "LLM135 TENSOR_PARALLEL_DEGREE"),
        (LmiVllm(), {"SERVING_JOB_QUEUE_SIZE": "all"}, "LLM178 SERVING_JOB_QUEUE_SIZE"),
        (LmiVllm(), {"HF_MODEL_ID": "a/b"}, "LLM181 HF_MODEL_ID and option.model_id"),
        (
            TensorRtLlm("0.30.0"),
            {"OPTION_MAX_INPUT_LEN": "long"},
            "LLM135 OPTION_MAX_INPUT_LEN",
        ),
    ],
)
def test_fails_if_a_variable_breaks_the_container(
    stack: Stack,
    serving: ServingConfiguration,
    environment: dict[str, str],
    message: str,
) -> None:
    """
    The file wins over variables, and what it leaves open they decide.
    """
    with pytest.raises(ValueError, match=rf"Qwen: (2 errors\n  - )?{message}"):
        LlmEndpoint(
            stack,
            "Qwen",
            model=QWEN,
            serving=serving,
            instance_type="ml.g5.12xlarge",
            environment=environment,
        )


@pytest.mark.parametrize(
    ("environment", "warning"),
    [
        (
            {"OPTION_MAX_MODEL_LEN": "4096"},
            "has no effect: option.max_model_len=8192 in serving.properties wins",
        ),
        (
            {"OPTION_MAX_MODEL_LEN": "8192"},
            "OPTION_MAX_MODEL_LEN repeats what serving.properties says",
        ),
        ({"OPTION_MAX_MODEL_LENGTH": "8192"}, "OPTION_MAX_MODEL_LENGTH is no option"),
        ({"HUGGINGFACE_MODEL_ID": "a/b"}, "did you mean HF_MODEL_ID"),
    ],
)
def test_what_has_no_effect_is_a_warning(
    stack: Stack, environment: dict[str, str], warning: str
) -> None:
    """
    It runs; it only does not do what was meant.
    """
    serving = LmiVllm(max_model_len=8192)
    Model(stack, "Qwen", model=QWEN, serving=serving, environment=environment)

    ((_, found),) = warnings_of(stack)
    assert warning in found


def test_variables_of_ones_own_are_left_alone(stack: Stack) -> None:
    """
    And so are tokens, whatever they turn out to be.
    """
    length = CfnParameter(stack, "Length").value_as_string
    environment = {
        "LOG_LEVEL": "debug",
        "AWS_REGION": "eu-west-1",
        "OPTION_DTYPE": length,
        "OPTION_ROLLING_BATCH": CfnParameter(stack, "Batch").value_as_string,
    }
    Model(stack, "Qwen", model=QWEN, serving=LmiVllm(), environment=environment)

    assert warnings_of(stack) == []
    Template.from_stack(stack).resource_count_is("AWS::SageMaker::Model", 1)


def test_weights_named_at_deployment_are_no_second_model(stack: Stack) -> None:
    """
    Their address travels as a variable, beside which others are checked.
    """
    bucket = CfnParameter(stack, "Bucket").value_as_string
    weights = S3Model(f"s3://{bucket}/model/")
    environment = {"OPTION_DTYPE": "bf16"}
    Model(stack, "It", model=weights, serving=LmiVllm(), environment=environment)

    assert warnings_of(stack) == []


def test_a_model_of_a_host_is_checked_too(stack: Stack) -> None:
    """
    With the accelerators that each copy reserves.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", max_instance_count=2
    )

    with pytest.raises(ValueError, match="LLM154 TENSOR_PARALLEL_DEGREE=2 needs 2"):
        host.add_model(
            "Mistral",
            model=MISTRAL,
            serving=LmiVllm(),
            environment={"TENSOR_PARALLEL_DEGREE": "2"},
            resources=None,
        )


def test_a_folder_is_checked_with_the_variables(stack: Stack, tmp_path: Path) -> None:
    """
    What it leaves out they may say, and what it says they cannot.
    """
    text = "engine=MPI\noption.model_id=a/b\noption.dtype=fp16\n"
    (tmp_path / "serving.properties").write_text(text)
    folder = ServingFolder(tmp_path, container_family="djl-lmi", version="0.30.0")
    given = {"OPTION_ROLLING_BATCH": "vllm", "OPTION_DTYPE": "bf16"}

    with pytest.raises(ValueError, match="LLM131 vLLM needs engine=Python"):
        Model(stack, "Wrong", serving=folder, environment=given)
    Model(stack, "Right", serving=folder, environment={"OPTION_DTYPE": "bf16"})

    ((_, warning),) = warnings_of(stack)
    assert "option.dtype=fp16 in serving.properties wins over it" in warning


@pytest.mark.parametrize(
    ("uri", "environment", "message"),
    [
        (LMI, {"OPTION_DTYPE": "fp4"}, "LLM136 OPTION_DTYPE"),
        (TGI, {"MAX_INPUT_TOKENS": "9", "MAX_TOTAL_TOKENS": "8"}, "LLM115 MAX_INPUT"),
    ],
)
@pytest.mark.parametrize("copied", [False, True])
def test_a_container_of_ones_own_on_a_known_image_is_checked(
    uri: str,
    environment: dict[str, str],
    message: str,
    *,
    copied: bool,
) -> None:
    """
    Whoever's registry the image is in; what is right is passed on.
    """
    uri = mirrored(uri) if copied else uri
    wrong = CustomContainer.from_uri(uri, environment=environment)
    right = CustomContainer.from_uri(uri)

    (found,) = wrong.prepare(QWEN, 1).findings

    assert re.match(message, str(found))
    assert right.prepare(QWEN, 1).findings == ()


def test_a_container_of_ones_own_needs_a_model() -> None:
    """
    An LMI image without model data loads nothing unless HF_MODEL_ID says it.
    """
    serving = CustomContainer.from_uri(LMI)

    (found,) = serving.prepare(None, 1).findings

    assert found.code == "LLM179"
    assert serving.prepare(S3Model("s3://bucket/model/"), 1).findings == ()


def test_further_variables_of_tgi_are_its_way_past(stack: Stack) -> None:
    """
    The class checks its own parameters and options.
    """
    environment = {"DISABLE_CUSTOM_KERNELS": "1"}
    Model(stack, "It", model=QWEN, serving=Tgi("3.3.6"), environment=environment)

    assert [w for _, w in warnings_of(stack) if "DISABLE" in w] == []


@pytest.mark.parametrize(
    ("environment", "refused"), [({}, True), ({"HF_MODEL_ID": "a/b"}, False)]
)
def test_fails_if_tgi_is_told_of_no_model(
    stack: Stack, environment: dict[str, str], *, refused: bool
) -> None:
    """
    Its entry point ends at once.
    """
    serving = CustomContainer(
        find_image("huggingface-llm", "3.3.6"), environment=environment
    )
    if not refused:
        Model(stack, "It", serving=serving)
        return
    with pytest.raises(ValueError, match="LLM112 HF_MODEL_ID is missing, which TGI's"):
        Model(stack, "It", serving=serving)


@pytest.mark.parametrize(
    ("tag", "family", "version"),
    [
        ("djl-inference:0.33.0-lmi15.9.0-cu128", "djl-lmi", "0.33.0"),
        ("djl-inference:0.30.1-tensorrtllm0.12.1-cu125", "djl-tensorrtllm", "0.30.0"),
        ("djl-inference:0.29.1-neuronx-sdk2.19.1", "djl-neuronx", "0.29.0"),
        ("djl-inference:0.27.1-deepspeed0.12.6-cu121", "djl-deepspeed", "0.27.0"),
        (
            "huggingface-pytorch-tgi-inference:2.4.0-tgi3.0.1-gpu-py311-cu124-a",
            "huggingface-llm",
            "3.0.1",
        ),
    ],
)
def test_an_image_beside_the_catalogue_is_checked_as_the_nearest(
    tag: str, family: str, version: str
) -> None:
    """
    And says as which.
    """
    serving = CustomContainer.from_uri(
        f"763104351884.dkr.ecr.us-east-1.amazonaws.com/{tag}"
    )
    found = serving.prepare(HuggingFaceModel("a/b"), 1).findings

    assert [str(each) for each in found if each.code == "LLM224"] == [
        (
            f"LLM224 image {tag} is not in the catalogue: it is checked as {family} "
            f"{version}"
        )
    ]


@pytest.mark.parametrize("tag", ["djl-inference:latest", "mine:0.33.0-lmi15.0.0"])
def test_an_image_that_is_like_none_is_not_checked(tag: str) -> None:
    """
    Neither one without a version, nor one of another repository.
    """
    serving = CustomContainer.from_uri(
        f"111111111111.dkr.ecr.us-east-1.amazonaws.com/{tag}",
        environment={"OPTION_TENSOR_PARALLEL_DEGREE": "two"},
    )

    assert serving.prepare(HuggingFaceModel("a/b"), 1).findings == ()
