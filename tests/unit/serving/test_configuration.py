"""
What every serving configuration answers.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import (
    CustomContainer,
    DeepSpeed,
    LmiDist,
    LmiVllm,
    NeuronX,
    ServingFolder,
    TensorRtLlm,
    Tgi,
    TgiNeuron,
)
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.serving import ServingConfiguration
from cdk_sagemaker_llm.serving.configuration import Container, settled


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
