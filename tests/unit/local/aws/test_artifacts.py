"""
Where model data is, and the options in it.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.artifacts import ModelData, read_properties
from cdk_sagemaker_llm.local.aws.surroundings import Location


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


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://b/a/c", ("b", "a/c")),
        ("s3://b", ("b", "")),
        ("https://b.s3.amazonaws.com/a/c", ("b", "a/c")),
        ("https://b.s3.us-east-1.amazonaws.com/a", ("b", "a")),
        ("https://s3.us-east-1.amazonaws.com/b/a/c", ("b", "a/c")),
        ("https://example.org/b/a", None),
        ("http://b.s3.amazonaws.com/a", None),
        ("a/c", None),
    ],
)
def test_an_address_is_of_s3(url: str, place: tuple[str, str] | None) -> None:
    """
    Its own form, or one of a host's; or it is none.
    """
    found = Location.of(url)

    assert (found and (found.bucket, found.key)) == place


@pytest.mark.parametrize(
    ("bucket", "is_public"),
    [
        ("jumpstart-cache-prod-us-east-1", True),
        ("jumpstart-private-cache-prod-us-east-1", True),
        ("sagemaker-sample-files", True),
        ("sagemaker-example-files-prod-us-east-1", True),
        ("my-sagemaker-sample-files", False),
    ],
)
def test_aws_has_buckets_for_everybody(bucket: str, *, is_public: bool) -> None:
    """
    By how their names begin.
    """
    assert Location(bucket, "a").is_public is is_public
    assert Location(bucket, "a/").child("c") == Location(bucket, "a/c")
