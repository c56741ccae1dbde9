"""
Descriptions as the requests that would make what they are of.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.adoption.descriptions import parameters_of

URL = "s3://bucket/model.tar.gz"


def source(compression: str) -> dict[str, Any]:
    """
    Return where a model's files are.
    """
    return {
        "S3DataSource": {
            "S3Uri": URL,
            "S3DataType": "S3Object" if compression == "Gzip" else "S3Prefix",
            "CompressionType": compression,
        }
    }


@pytest.mark.parametrize(
    ("container", "left"),
    [
        (
            {"ModelDataUrl": URL, "ModelDataSource": source("Gzip")},
            {"ModelDataUrl": URL},
        ),
        (
            {"ModelDataSource": source("Gzip")},
            {"ModelDataSource": source("Gzip")},
        ),
        (
            {"ModelDataUrl": URL, "ModelDataSource": source("None")},
            {"ModelDataUrl": URL, "ModelDataSource": source("None")},
        ),
        ({"Mode": "SingleModel", "Environment": {}}, {}),
        ({"Mode": "MultiModel"}, {"Mode": "MultiModel"}),
    ],
    ids=["a tarball twice", "a tarball once", "files", "one model", "many models"],
)
def test_a_container_is_described_as_a_request_names_it(
    container: dict[str, Any], left: dict[str, Any]
) -> None:
    """
    SageMaker shows a tarball by its address and as a source; a request may have one.
    """
    description = {
        "ModelName": "chat",
        "ModelArn": "arn",
        "PrimaryContainer": container,
        "EnableNetworkIsolation": False,
    }

    found = parameters_of("CreateModel", description)

    assert found == {"ModelName": "chat", "PrimaryContainer": left}
