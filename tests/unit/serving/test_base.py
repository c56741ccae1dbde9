"""
What every serving configuration answers, and how long a model takes to load.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import (
    CustomContainer,
    DeepSpeed,
    LmiDist,
    LmiVllm,
    ModelArchitecture,
    NeuronX,
    ServingFolder,
    TensorRtLlm,
    Tgi,
    TgiNeuron,
)
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.serving import ServingConfiguration
from cdk_sagemaker_llm.serving.base import (
    Container,
    loading_seconds,
    settled,
    start_up_seconds,
)


@pytest.mark.parametrize(
    "serving",
    [
        LmiVllm(),
        TensorRtLlm("0.26.0"),
        LmiDist("0.28.0"),
        DeepSpeed("0.26.0"),
        NeuronX("0.29.0"),
        Tgi("3.3.6"),
        TgiNeuron("0.0.28"),
        ServingFolder("x", container_family="djl-lmi", version="0.36.0"),
        CustomContainer(find_image("djl-lmi", "0.36.0")),
    ],
    ids=lambda serving: type(serving).__name__,
)
def test_each_is_one(serving: object) -> None:
    """
    By what it answers, not by what it inherits.
    """
    assert isinstance(serving, ServingConfiguration)


def test_preparing_refuses_arguments_of_a_wrong_kind() -> None:
    """
    A caller who writes the model as text is told how to write it.
    """
    model: Any = "mistralai/Mistral-7B-v0.1"
    devices: Any = "4"

    with pytest.raises(ValueError, match="model must be a HuggingFaceModel") as fault:
        LmiVllm().prepare(model, devices)

    assert "write HuggingFaceModel('mistralai/Mistral-7B-v0.1')" in str(fault.value)
    assert "accelerators must be a whole number of accelerators" in str(fault.value)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("image", "an-image", "image must be an image of the catalogue"),
        ("files", {"a": "text"}, "files"),
        ("environment", {"A": 1}, "environment"),
        ("token_variables", "HF_TOKEN", "token_variables"),
        ("weights_uri", 1, "weights_uri must be"),
        ("loading_seconds", "60", "loading_seconds must be"),
        ("start_up_seconds", "60", "start_up_seconds must be"),
    ],
)
def test_a_container_refuses_fields_of_a_wrong_kind(
    field: str, value: object, message: str
) -> None:
    """
    Each is told by its name.
    """
    right: dict[str, Any] = {"image": find_image("djl-lmi", "0.36.0")}

    with pytest.raises(ValueError, match=message):
        Container(**{**right, field: value})


def test_a_container_is_nothing_but_an_image_by_default() -> None:
    """
    No file, no variable, no token, no weights, no limit.
    """
    image = find_image("djl-lmi", "0.36.0")

    assert Container(image=image) == Container(
        image=image,
        files={},
        environment={},
        token_variables=(),
        weights_uri=None,
        loading_seconds=None,
        start_up_seconds=None,
    )


def test_accelerators_are_a_number_or_decided_by_the_demand() -> None:
    """
    Or not known.
    """
    demand = Demand(
        architecture=None, assumptions=Assumptions(), tensor_parallel_degree=3
    )

    def asked(given: Demand | None) -> int | None:
        return None if given is None else given.tensor_parallel_degree

    assert settled(4, demand) == 4
    assert settled(None, demand) is None
    assert settled(asked, demand) == 3
    assert settled(asked, None) is None


@pytest.mark.parametrize(
    ("weight_bytes", "seconds"),
    [
        (0, 600),
        (1, 900),
        # 300 s at 50 MB a second.
        (15_000_000_000, 900),
        (15_000_000_001, 1200),
        (60_000_000_000, 1800),
        (60_000_000_001, 2100),
        (149_999_999_999, 3600),
        (150_000_000_001, 3600),
        (10**12, 3600),
    ],
)
def test_loading_takes_ten_minutes_and_what_the_bytes_take(
    weight_bytes: int, seconds: int
) -> None:
    """
    In steps of five minutes, at most the hour that SageMaker waits.
    """
    assert loading_seconds(weight_bytes) == seconds


def demand(billions: int, weight_bits: int = 16) -> Demand:
    """
    Return the demand of a model of a size.
    """
    return Demand(
        architecture=ModelArchitecture.custom(
            parameters=billions * 10**9, kv_bytes_per_token=2
        ),
        assumptions=Assumptions(),
        weight_bits=weight_bits,
    )


@pytest.mark.parametrize(
    ("billions", "weight_bits", "seconds"),
    [
        # 2 bytes a parameter: 60 GB take the 1800 s that SageMaker waits by default.
        (30, 16, None),
        (31, 16, 2100),
        (45, 16, 2400),
        (45, 8, None),
        # Scales of whole rows are next to nothing; those of groups are 20 bits for 128.
        (60, 8, None),
        (61, 8, 2100),
        (115, 4, None),
        (116, 4, 2100),
    ],
)
def test_sagemaker_is_told_to_wait_where_the_default_will_not_do(
    billions: int, weight_bits: int, seconds: int | None
) -> None:
    """
    By the bytes of the weights as they are quantized.
    """
    assert start_up_seconds(demand(billions, weight_bits)) == seconds


def test_nothing_is_told_of_a_model_of_unknown_size() -> None:
    """
    Nor where what it asks of the memory is not modelled.
    """
    unknown = Demand(architecture=None, assumptions=Assumptions())

    assert start_up_seconds(unknown) is None
    assert start_up_seconds(None) is None
