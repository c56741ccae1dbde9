"""
Where model data is, and the options in it.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.artifacts import ModelData, read_properties


@pytest.mark.parametrize(
    ("container", "places"),
    [
        ({}, []),
        ({"ModelDataUrl": "s3://b/a.tar.gz"}, [("s3://b/a.tar.gz", False)]),
        ({"ArtifactUrl": "s3://b/a.tar.gz"}, [("s3://b/a.tar.gz", False)]),
        ({"ModelDataUrl": "s3://b/", "Mode": "MultiModel"}, []),
        (
            {
                "ModelDataSource": {
                    "S3DataSource": {"S3Uri": "s3://b/m/", "S3DataType": "S3Prefix"}
                },
                "AdditionalModelDataSources": [
                    {"S3DataSource": {"S3Uri": "s3://b/d", "S3DataType": "S3Object"}},
                    {},
                ],
            },
            [("s3://b/m/", True), ("s3://b/d", False)],
        ),
    ],
)
def test_a_container_names_its_data(
    container: dict[str, Any], places: list[tuple[str, bool]]
) -> None:
    """
    The main data first; of many models there is none yet.
    """
    found = [(data.url, data.prefix) for data in ModelData.of(container)]

    assert found == places


def test_options_are_read_as_java_reads_properties() -> None:
    """
    Without comments and blanks; what has no value has an empty one.
    """
    text = b"# one\n! two\n\n  option.a = 1 \nb=2=3\noption.option.c=\nd\n"

    assert read_properties(text) == {"a": "1", "b": "2=3", "option.c": "", "d": ""}
