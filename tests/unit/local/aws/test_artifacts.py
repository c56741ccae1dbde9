"""
Where model data is, and the options in it.
"""

from __future__ import annotations

import io
import tarfile
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.artifacts import (
    Artifacts,
    ModelData,
    read_archive,
    read_member,
    read_properties,
)
from cdk_sagemaker_llm.local.aws.surroundings import InRegions, Location
from tests.local.by_hand import REGION, hand_run_aws


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


def archive(folder: str = "", **files: str) -> bytes:
    """
    Pack texts by their names, with a folder beside them.
    """
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as packed:
        packed.addfile(tarfile.TarInfo("./empty/"))
        inside = tarfile.TarInfo("folder")
        inside.type = tarfile.DIRTYPE
        packed.addfile(inside)
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{folder}{name}")
            entry.size = len(text)
            packed.addfile(entry, io.BytesIO(text.encode()))
    return written.getvalue()


class Bucket:
    """
    A bucket, and the artifacts of its region.
    """

    def __init__(self, s3: Any, artifacts: Artifacts) -> None:  # noqa: ANN401 - a boto3 client
        self._s3, self.artifacts = s3, artifacts
        s3.create_bucket(Bucket="model-data")

    def put(self, key: str, body: bytes = b"") -> ModelData:
        """
        Write an object; return the model data that it is.
        """
        self._s3.put_object(Bucket="model-data", Key=key, Body=body)
        return ModelData(f"s3://model-data/{key}")


@pytest.fixture(name="bucket")
def _bucket() -> Any:  # noqa: ANN401 - a generator
    with hand_run_aws(takes_time=False) as aws:
        s3 = aws.client("s3")
        bucket = Bucket(s3, Artifacts(aws.hosting.world.surroundings))
        yield bucket
        for one in s3.list_objects_v2(Bucket="model-data").get("Contents", ()):
            s3.delete_object(Bucket="model-data", Key=one["Key"])
        s3.delete_bucket(Bucket="model-data")


NOWHERE = ModelData("https://example.org/a")
PUBLIC = ModelData("s3://jumpstart-cache-prod-us-east-1/a.tar.gz")


def test_an_archive_is_looked_into(bucket: Bucket) -> None:
    """
    Its files, one of them, and its options, in whatever folder they are.
    """
    data = bucket.put(
        "a.tar.gz", archive("./", a="1", **{"serving.properties": "option.x=1"})
    )
    artifacts = bucket.artifacts

    assert artifacts.is_there(data)
    assert artifacts.files(data) == ("empty/", "a", "serving.properties")
    assert artifacts.read(data, "a") == b"1"
    assert artifacts.read(data, "folder") is None
    assert artifacts.read(data, "other") is None
    assert artifacts.options(data) == {"x": "1"}
    inner = bucket.put(
        "b.tar.gz", archive("code/", **{"serving.properties": "option.y=2"})
    )
    assert artifacts.options(inner) == {"y": "2"}
    assert artifacts.files(inner) == ("empty/", "code/serving.properties")
    assert artifacts.options(bucket.put("c.tar.gz", archive(a="1"))) == {}


def test_a_prefix_is_looked_into(bucket: Bucket) -> None:
    """
    It ends with a slash, and there is something under it.
    """
    bucket.put("m/")
    bucket.put("m/a", b"1")
    bucket.put("m/deep/b", b"2")
    bucket.put("m/serving.properties", b"option.x=1")
    artifacts, data = bucket.artifacts, ModelData("s3://model-data/m/", prefix=True)

    assert artifacts.is_there(data)
    assert artifacts.files(data) == ("a", "deep/b", "serving.properties")
    assert artifacts.read(data, "deep/b") == b"2"
    assert artifacts.read(data, "other") is None
    assert artifacts.options(data) == {"x": "1"}
    for url in ("s3://model-data/m", "s3://model-data/other/"):
        assert not artifacts.is_there(ModelData(url, prefix=True))
    bare = ModelData("s3://model-data/m/deep/", prefix=True)
    assert artifacts.options(bare) == {}


def test_what_is_not_there_is_empty(bucket: Bucket) -> None:
    """
    Or lies nowhere in S3; what is of AWS's own cannot be looked into.
    """
    artifacts = bucket.artifacts
    for data in (NOWHERE, ModelData("s3://model-data/none"), ModelData("s3://none/a")):
        assert not artifacts.is_there(data)
        assert artifacts.files(data) == ()
        assert artifacts.read(data, "a") is None
        assert artifacts.options(data) == {}
    assert artifacts.is_there(PUBLIC)
    assert artifacts.files(PUBLIC) == ("weights",)
    prefix = ModelData("s3://jumpstart-cache-prod-us-east-1/m/", prefix=True)
    assert artifacts.is_there(prefix)
    assert artifacts.files(prefix) == ("weights",)


def test_weights_in_another_form_are_something(bucket: Bucket) -> None:
    """
    What is empty is nothing.
    """
    artifacts = bucket.artifacts
    whole = archive(a="1" * 5000)
    for name, body in (("w.bin", b"weights"), ("cut.tar.gz", whole[:-20])):
        data = bucket.put(name, body)
        assert artifacts.is_there(data)
        assert artifacts.files(data) == ("weights",)
        assert artifacts.options(data) == {}
        assert artifacts.read(data, "b") is None
    assert artifacts.files(bucket.put("empty")) == ()


def test_an_object_is_read_again_where_it_has_changed(bucket: Bucket) -> None:
    """
    And is remembered otherwise, each of what was read of it.
    """
    artifacts = bucket.artifacts
    data = bucket.put("a.tar.gz", archive(a="1"))
    assert (artifacts.files(data), artifacts.read(data, "a")) == (("empty/", "a"), b"1")
    files = artifacts.files(data)
    assert artifacts.files(data) is files
    bucket.put("a.tar.gz", archive(a="2", b=""))

    assert artifacts.files(data) == ("empty/", "a", "b")
    assert (artifacts.read(data, "a"), artifacts.read(data, "b")) == (b"2", b"")


def test_a_few_hundred_are_remembered(bucket: Bucket) -> None:
    """
    The first goes first.
    """
    artifacts = bucket.artifacts
    data = bucket.put("a.tar.gz", archive(a="1"))
    first = artifacts.files(data)
    for number in range(255):
        artifacts.read(data, f"{number}")
    assert artifacts.files(data) is first
    artifacts.read(data, "one more")

    assert artifacts.files(data) == first
    assert artifacts.files(data) is not first


def test_a_member_may_be_in_any_folder() -> None:
    """
    If it is asked for so.
    """
    packed = archive("deep/er/", a="1")

    assert read_member(packed, "a") is None
    assert read_member(packed, "deep/er/a") == b"1"
    assert read_member(packed, "a", in_any_folder=True) == b"1"
    assert read_member(b"", "a") is None
    assert read_archive(packed) == {}


def test_the_last_that_finds_a_service_counts() -> None:
    """
    For an account and a region.
    """
    services = InRegions[str]()

    @services.finder
    def find(account: str, region: str) -> str:
        return f"first {account} {region}"

    assert find("a", "r") == services.at("a", "r") == "first a r"
    services.finder(lambda account, _: account)
    assert services.at("a", REGION) == "a"
