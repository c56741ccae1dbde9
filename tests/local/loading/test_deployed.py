"""
What SageMaker says of what a benchmark measures.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.load import LoadSettings
from cdk_sagemaker_llm.load.deployed import Deployed, copies_of, deployed
from tests.local.hosting_requests import (
    LMI_28,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    serve,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

MISTRAL = "mistralai/Mistral-7B-v0.1"


@pytest.fixture(name="aws")
def _aws(embedded_aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch) -> EmbeddedAws:
    """
    The embedded AWS, with the AWS variables that lead to it.
    """
    for variable in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    for variable, value in embedded_aws.environment.items():
        monkeypatch.setenv(variable, value)
    return embedded_aws


def test_of_a_component_copies_and_what_each_reserves(aws: EmbeddedAws) -> None:
    """
    With the image and the model's name from its container.
    """
    endpoint = make_endpoint(aws, make_config(aws))
    model = make_model(aws, container={"Environment": {"HF_MODEL_ID": MISTRAL}})
    needs = {"NumberOfAcceleratorDevicesRequired": 2}
    component = make_component(aws, endpoint, model=model, copies=3, needs=needs)
    settings = LoadSettings(endpoint=endpoint, component=component)

    assert copies_of(settings) == 3
    assert deployed(settings) == Deployed(
        instance_type="ml.p4d.24xlarge",
        accelerators=2,
        model=MISTRAL,
        engine="huggingface-pytorch-tgi-inference",
        engine_version="2.1.1-tgi1.4.5-gpu-py310-cu121",
    )


def test_of_a_variant_instances_with_all_their_accelerators(aws: EmbeddedAws) -> None:
    """
    A model that names none is known by its name at SageMaker.
    """
    settings = LoadSettings(endpoint=serve(aws, LMI_28, None))
    found = deployed(settings)

    assert (copies_of(settings), found.accelerators) == (1, 4)
    assert found.instance_type == "ml.g5.12xlarge"
    assert found.model.startswith("model-")
    assert found.engine == "djl-inference"
    assert found.engine_version == "0.28.0-lmi10.0.0-cu124"


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:9"])
def test_what_nobody_says_is_not_known(aws: EmbeddedAws, url: str | None) -> None:
    """
    An endpoint that is not there, or whose runtime is somewhere else.
    """
    assert aws.environment
    settings = LoadSettings(endpoint="not-there", component="chat", endpoint_url=url)

    assert deployed(settings) == Deployed(model="chat")
