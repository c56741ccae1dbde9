"""
Weights on a host's disk: volumes and downloads.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Size, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    NeuronX,
    ResourceRequirements,
    S3Model,
    Tgi,
)
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.hosting.models.model_weights import volume_findings, volume_gib
from cdk_sagemaker_llm.serving.base import download_seconds
from tests.unit.hosting.written import properties_of, warnings_of

TGI = Tgi("3.3.6")
NEURON = NeuronX("0.29.0", n_positions=4096)
ON_S3 = "s3://weights/llama/"
GIB = 2**30


def variant(stack: Stack) -> dict[str, Any]:
    """
    Return the stack's only variant.
    """
    (found,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]
    return dict(found)


def volume_warnings(stack: Stack) -> list[str]:
    """
    Return what is said of the volume.
    """
    return [text for _, text in warnings_of(stack) if text.endswith("LLM246]")]


@pytest.mark.parametrize(
    ("weight_bytes", "expected"),
    [
        (None, 1800),
        (1, 600),
        (30_000_000_000, 600),
        (30_000_000_001, 900),
        (45_000_000_001, 1200),
        (180_000_000_000, 3600),
        (10**12, 3600),
    ],
)
def test_a_download_is_given_time_by_its_size(
    weight_bytes: int | None, expected: int
) -> None:
    """
    In steps of five minutes, at 50 MB/s, within what SageMaker waits.
    """
    assert download_seconds(weight_bytes) == expected


@pytest.mark.parametrize(
    ("model", "chosen", "expected"),
    [
        (HuggingFaceModel("gpt2"), None, None),
        (S3Model(ON_S3), None, 1800),
        (S3Model(ON_S3, architecture="meta-llama/Llama-2-7b-hf"), None, 600),
        (S3Model(ON_S3, architecture="mistralai/Mixtral-8x7B-v0.1"), None, 2100),
        (S3Model(ON_S3), Duration.seconds(100), 100),
    ],
    ids=["the Hub", "unknown", "small", "large", "chosen"],
)
def test_weights_that_sagemaker_downloads_are_given_time(
    stack: Stack,
    model: HuggingFaceModel | S3Model,
    chosen: Duration | None,
    expected: int | None,
) -> None:
    """
    On instances of their own, and shared ones.
    """
    LlmEndpoint(
        stack,
        "It",
        model=model,
        serving=TGI,
        instance_type="ml.p4d.24xlarge",
        model_data_download_timeout=chosen,
    )
    shared = Stack(stack, "Shared")
    host = InferenceComponentEndpoint(
        shared, "Host", instance_type="ml.p4d.24xlarge", engine=TGI
    )
    host.add_model(
        "It",
        model=model,
        serving=TGI,
        resources=ResourceRequirements(accelerators=8),
        model_data_download_timeout=chosen,
    )
    component = properties_of(shared, "SageMaker::InferenceComponent")
    parameters = component["Specification"]["StartupParameters"]

    assert variant(stack).get("ModelDataDownloadTimeoutInSeconds") == expected
    assert parameters.get("ModelDataDownloadTimeoutInSeconds") == expected


@pytest.mark.parametrize(
    ("architecture", "chosen", "expected", "warned"),
    [
        # 16 GB of weights: as published and as compiled they take 30 GiB.
        ("meta-llama/Llama-2-7b-hf", None, None, 0),
        ("meta-llama/Llama-2-13b-hf", None, 49, 0),
        ("meta-llama/Llama-2-70b-hf", None, 257, 0),
        ("meta-llama/Llama-2-70b-hf", 129, 129, 0),
        ("meta-llama/Llama-2-70b-hf", 128, 128, 1),
        (None, None, None, 1),
        (None, 30, 30, 0),
    ],
)
def test_types_without_local_storage_get_a_volume_for_the_weights(
    stack: Stack,
    architecture: str | None,
    chosen: int | None,
    expected: int | None,
    warned: int,
) -> None:
    """
    Twice their size: as they are published, and as they are split or compiled.
    """
    LlmEndpoint(
        stack,
        "It",
        model=S3Model(ON_S3, architecture=architecture),
        serving=NEURON,
        instance_type="ml.inf2.48xlarge",
        volume_size=None if chosen is None else Size.gibibytes(chosen),
    )

    assert variant(stack).get("VolumeSizeInGB") == expected
    assert len(volume_warnings(stack)) == warned


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (None, None),
        # Twice 15 GiB are the default's 30, and a byte more is a GiB more.
        (15 * GIB, None),
        (15 * GIB + 1, 31),
        (30 * GIB, 60),
        (256 * GIB, 512),
        (257 * GIB, 512),
    ],
)
def test_a_volume_holds_the_weights_twice(
    weights: int | None, expected: int | None
) -> None:
    """
    In whole GiB, up to what the service has.
    """
    assert volume_gib(find_instance_type("ml.inf2.48xlarge"), weights) == expected
    assert volume_gib(find_instance_type("ml.g5.12xlarge"), weights) is None
    assert volume_gib(None, weights) is None


@pytest.mark.parametrize(
    ("asked", "weights", "warned"),
    [
        (None, 30 * GIB, False),
        (None, 30 * GIB + 1, True),
        (100, 100 * GIB, False),
        (100, 100 * GIB + 1, True),
        (1, None, False),
    ],
)
def test_a_volume_may_be_full_to_the_last_byte(
    asked: int | None, weights: int | None, *, warned: bool
) -> None:
    """
    Of what was asked for, or the default.
    """
    size = None if asked is None else Size.gibibytes(asked)
    neuron = find_instance_type("ml.inf2.48xlarge")

    assert bool(volume_findings(neuron, size, weights)) == warned
    assert volume_findings(None, size, weights) == []


def test_local_storage_is_not_spoken_of(stack: Stack) -> None:
    """
    It is as large as it is.
    """
    LlmEndpoint(
        stack,
        "It",
        model=S3Model(ON_S3),
        serving=TGI,
        instance_type="ml.g5.12xlarge",
    )

    assert "VolumeSizeInGB" not in variant(stack)
    assert volume_warnings(stack) == []


def test_the_volume_of_shared_hosts_is_said_when_they_are_defined(
    stack: Stack,
) -> None:
    """
    What does not fit it is warned of.
    """
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.inf2.48xlarge",
        volume_size=Size.gibibytes(100),
        engine=NEURON,
    )
    host.add_model(
        "Large",
        model=S3Model(ON_S3, architecture="meta-llama/Llama-2-70b-hf"),
        serving=NEURON,
        resources=ResourceRequirements(accelerators=12),
    )

    assert variant(stack)["VolumeSizeInGB"] == 100
    assert volume_warnings(stack) == [
        (
            "the weights take 128 GiB, and the volume of ml.inf2.48xlarge has 100 GiB; "
            "raise volume_size [ack: cdk-sagemaker-llm:LLM246]"
        )
    ]


@pytest.mark.parametrize("architecture", [None, "meta-llama/Llama-2-70b-hf"])
def test_a_volume_that_the_deployment_decides_is_not_doubted(
    stack: Stack, architecture: str | None
) -> None:
    """
    Nothing is guessed.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    LlmEndpoint(
        stack,
        "It",
        model=S3Model(ON_S3, architecture=architecture),
        serving=NEURON,
        instance_type="ml.inf2.48xlarge",
        volume_size=Size.gibibytes(number),
    )

    assert volume_warnings(stack) == []
