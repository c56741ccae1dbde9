"""
Specifications of inference components that say too little, or too much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.local.hosting_requests import (
    TGI,
    make_config,
    make_endpoint,
    make_model,
    unique,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

MEMORY = {"MinMemoryRequiredInMb": 1024}


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(embedded_aws: EmbeddedAws) -> str:
    return make_endpoint(embedded_aws, make_config(embedded_aws))


def create(aws: EmbeddedAws, endpoint: str, specification: dict[str, Any]) -> str:
    """
    Create a component of one copy and return its name.
    """
    name = unique("component")
    aws.client("sagemaker").create_inference_component(
        InferenceComponentName=name,
        EndpointName=endpoint,
        VariantName="AllTraffic",
        Specification=specification,
        RuntimeConfig={"CopyCount": 1},
    )
    return name


def test_a_component_has_a_model_or_a_container(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    Neither and both are refused.
    """
    model, container = make_model(embedded_aws), {"Image": TGI}
    needs = {"ComputeResourceRequirements": MEMORY}
    both = {"ModelName": model, "Container": container}

    with pytest.raises(ClientError, match="either ModelName or Container"):
        create(embedded_aws, endpoint, needs)
    with pytest.raises(ClientError, match="either ModelName or Container"):
        create(embedded_aws, endpoint, {**needs, **both})
    create(embedded_aws, endpoint, {**needs, "ModelName": model})
    create(embedded_aws, endpoint, {**needs, "Container": container})


def test_the_largest_memory_is_not_below_the_smallest(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    It may be the same.
    """
    model = {"ModelName": make_model(embedded_aws)}

    def needs(most: int) -> dict[str, Any]:
        resources = {**MEMORY, "MaxMemoryRequiredInMb": most}
        return {**model, "ComputeResourceRequirements": resources}

    with pytest.raises(ClientError, match="MaxMemoryRequiredInMb must be at least"):
        create(embedded_aws, endpoint, needs(1023))
    create(embedded_aws, endpoint, needs(1024))


def test_an_adapter_has_an_artifact(embedded_aws: EmbeddedAws, endpoint: str) -> None:
    """
    There is nothing else that it could be.
    """
    model = {"ModelName": make_model(embedded_aws)}
    needs = {"ComputeResourceRequirements": MEMORY}
    base = create(embedded_aws, endpoint, {**model, **needs})

    with pytest.raises(ClientError, match="adapter needs the ArtifactUrl"):
        create(embedded_aws, endpoint, {"BaseInferenceComponentName": base})
