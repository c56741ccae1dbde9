"""
What the registry says of CloudFormation's types.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.resource_types import (
    identifier,
    read_only,
    replaces,
    without_write_only,
)
from cdk_sagemaker_llm.local.cloudformation.registry import importable_names, type_names
from tools.catalog.resource_types import build, render

COMPONENT = "AWS::SageMaker::InferenceComponent"
REPOSITORY = "AWS::ECR::Repository"


@pytest.mark.parametrize(
    ("name", "before", "after", "is_replaced"),
    [
        ("AWS::SageMaker::Model", {"ModelName": "a"}, {"ModelName": "b"}, True),
        ("AWS::SageMaker::Model", {"Tags": []}, {}, False),
        ("AWS::SageMaker::Endpoint", {"EndpointConfigName": "a"}, {}, False),
        ("AWS::SageMaker::Endpoint", {"EndpointName": "a"}, {}, True),
        (COMPONENT, {"InferenceComponentName": "a"}, {}, False),
        ("AWS::SNS::Subscription", {"Endpoint": "a"}, {"Endpoint": "b"}, True),
        (REPOSITORY, {}, {"EncryptionConfiguration": {"KmsKey": "k"}}, True),
        ("AWS::Not::There", {"Name": "a"}, {"Name": "b"}, False),
    ],
)
def test_a_change_replaces_what_the_registry_says(
    name: str, before: dict[str, Any], after: dict[str, Any], *, is_replaced: bool
) -> None:
    """
    Create-only properties, also inside others; never of an unknown type.
    """
    assert replaces(name, before, after) is is_replaced


def test_what_the_service_sets_is_spelt_as_an_attribute() -> None:
    """
    With dots.
    """
    assert read_only("AWS::SageMaker::Model") == ["ModelArn"]
    assert "RuntimeConfig.CurrentCopyCount" in read_only(COMPONENT)


def test_what_cannot_be_read_back_is_left_out() -> None:
    """
    Inside lists, too; the properties themselves stay as they are.
    """
    properties = {
        "DeploymentConfig": {},
        "EndpointName": "e",
        "Specification": {"Container": {"Image": "i", "ArtifactUrl": "a"}},
        "Specifications": [{"Container": {"Image": "i"}}, {"ModelName": "m"}],
        "RuntimeConfig": {"CopyCount": 1},
    }

    assert without_write_only(COMPONENT, properties) == {
        "EndpointName": "e",
        "Specification": {"Container": {"ArtifactUrl": "a"}},
        "Specifications": [{"Container": {}}, {"ModelName": "m"}],
        "RuntimeConfig": {},
    }
    assert properties["DeploymentConfig"] == {}


def test_what_is_taken_over_is_found_by_the_registrys_properties() -> None:
    """
    In their own order, of which a name is put together; of other types none are kept.
    """
    target = "AWS::ApplicationAutoScaling::ScalableTarget"

    assert identifier("AWS::SageMaker::Endpoint") == ["EndpointArn"]
    assert identifier(target) == ["ResourceId", "ScalableDimension", "ServiceNamespace"]
    assert identifier("AWS::S3::Bucket") == []


def test_the_file_is_what_the_schemas_say() -> None:
    """
    Those that the installed cfn-lint ships.
    """
    content = load("resource_types.json")

    assert build(type_names(), importable_names()) == content
    assert render(content).endswith("\n")
    assert build(["AWS::Not::There"], ())["types"] == {}
