"""
What the CDK's ``BucketDeployment`` ships, prunes and leaves alone.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.local.hosting_requests import unique
from tests.unit.local.cloudformation.cdk_requests import Handlers

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

KIND = "CDKBucketDeployment"


@pytest.fixture(name="ask", scope="module")
def _ask(near_aws: EmbeddedAws) -> Handlers:
    return Handlers(near_aws)


@pytest.fixture(name="s3", scope="module")
def _s3(near_aws: EmbeddedAws) -> Untyped:
    return near_aws.client("s3")


def zipped(**files: str) -> bytes:
    """
    Pack texts by their names, with a folder.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("folder/", "")
        for name, text in files.items():
            archive.writestr(name, text)
    return written.getvalue()


@pytest.fixture(name="bucket")
def _bucket(s3: Untyped) -> str:
    name = unique("deployed")
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="in/a.zip", Body=zipped(**{"a.html": "a"}))
    s3.put_object(Bucket=name, Key="in/b.zip", Body=zipped(b="b"))
    return name


def wanted(bucket: str, *keys: str, **more: object) -> dict[str, Any]:
    """
    Return the properties of a deployment into a folder.
    """
    keys = keys or ("in/a.zip",)
    return {
        "SourceBucketNames": [bucket] * len(keys),
        "SourceObjectKeys": list(keys),
        "DestinationBucketName": bucket,
        "DestinationBucketKeyPrefix": "out",
        **more,
    }


def names(s3: Untyped, bucket: str, prefix: str = "out/") -> list[str]:
    """
    Return what is in a folder.
    """
    found = s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())
    return [one["Key"].removeprefix(prefix) for one in found]


def test_files_have_their_types_and_metadata(
    ask: Handlers, s3: Untyped, bucket: str
) -> None:
    """
    Of several archives all files; what the template says of them wins.
    """
    keys = ("in/a.zip", "in/b.zip")
    told = {"UserMetadata": {"Owner": "me"}, "SystemMetadata": {}}
    ask(KIND, "Create", wanted(bucket, *keys, **told))

    page, other = (
        s3.head_object(Bucket=bucket, Key=f"out/{name}") for name in ("a.html", "b")
    )
    assert (page["ContentType"], other["ContentType"]) == (
        "text/html",
        "binary/octet-stream",
    )
    assert page["Metadata"] == {"owner": "me"}
    told = {"SystemMetadata": {"content-type": "x/y", "cache-control": "no-store"}}
    ask(KIND, "Create", wanted(bucket, **told))
    page = s3.head_object(Bucket=bucket, Key="out/a.html")
    assert (page["ContentType"], page["CacheControl"]) == ("x/y", "no-store")
    assert page["Metadata"] == {}


def test_an_archive_may_stay_one(ask: Handlers, s3: Untyped, bucket: str) -> None:
    """
    Under its own name, in the root where no folder is named.
    """
    told = {"Extract": "false", "DestinationBucketKeyPrefix": "/", "Prune": "false"}
    ask(KIND, "Create", wanted(bucket, **told))

    assert names(s3, bucket, "") == ["a.zip", "in/a.zip", "in/b.zip"]
    body = s3.get_object(Bucket=bucket, Key="a.zip")["Body"].read()
    assert zipfile.ZipFile(io.BytesIO(body)).read("a.html") == b"a"


def test_markers_are_filled_in(ask: Handlers, s3: Untyped, bucket: str) -> None:
    """
    Of each archive its own.
    """
    s3.put_object(Bucket=bucket, Key="in/c.zip", Body=zipped(c="<m> <m> <n>"))
    s3.put_object(Bucket=bucket, Key="in/d.zip", Body=zipped(d="<m>"))
    markers = [{"<m>": "one", "<n>": "two"}, {}]
    keys = ("in/c.zip", "in/d.zip")
    ask(KIND, "Create", wanted(bucket, *keys, SourceMarkers=markers))

    bodies = [
        s3.get_object(Bucket=bucket, Key=f"out/{name}")["Body"].read() for name in "cd"
    ]
    assert bodies == [b"one one two", b"<m>"]


@pytest.mark.parametrize(("prunes", "left"), [("true", ["b"]), ("false", 2)])
def test_what_is_not_shipped_any_more_is_pruned(
    ask: Handlers, s3: Untyped, bucket: str, prunes: str, left: object
) -> None:
    """
    Unless it is not to be.
    """
    ask(KIND, "Create", wanted(bucket))
    old, new = wanted(bucket), wanted(bucket, "in/b.zip", Prune=prunes)
    ask(KIND, "Update", new, old=old)

    found = names(s3, bucket)
    assert left in (found, len(found))


@pytest.mark.parametrize("retains", ["true", "false", None])
def test_another_place_leaves_the_first_or_clears_it(
    ask: Handlers, s3: Untyped, bucket: str, retains: str | None
) -> None:
    """
    As what is deployed is retained on deletion, which it is by default.
    """
    more = {} if retains is None else {"RetainOnDelete": retains}
    old = wanted(bucket, **more)
    ask(KIND, "Create", old)
    new = wanted(bucket, **more, DestinationBucketKeyPrefix="new/")
    ask(KIND, "Update", new, old=old)

    stays = [] if retains == "false" else ["a.html"]
    assert names(s3, bucket) == stays
    assert names(s3, bucket, "new/") == ["a.html"]
    ask(KIND, "Delete", new)
    assert names(s3, bucket, "new/") == stays


@pytest.mark.parametrize(
    ("tag", "left"),
    [
        ("aws-cdk:cr-owned:out:1234", ["a.html"]),
        ("aws-cdk:cr-owned:other:1234", []),
        ("other", []),
    ],
)
def test_what_another_deployment_owns_stays(
    ask: Handlers, s3: Untyped, bucket: str, tag: str, left: list[str]
) -> None:
    """
    The tag names its folder.
    """
    properties = wanted(bucket, RetainOnDelete="false")
    ask(KIND, "Create", properties)
    tags = {"TagSet": [{"Key": tag, "Value": "true"}]}
    s3.put_bucket_tagging(Bucket=bucket, Tagging=tags)
    ask(KIND, "Delete", properties)

    assert names(s3, bucket) == left


def test_the_answer_has_what_the_construct_reads(ask: Handlers, bucket: str) -> None:
    """
    Its id stays from the first on; the keys if they are wanted, as by default.
    """
    properties = wanted(bucket, DestinationBucketArn="arn")
    made = ask(KIND, "Create", properties)
    kept = {**properties, "OutputObjectKeys": "false"}
    again = ask(KIND, "Update", kept, old=properties, PhysicalResourceId="there")

    assert made["PhysicalResourceId"].startswith("aws.cdk.s3deployment.")
    data = {"DestinationBucketArn": "arn", "SourceObjectKeys": ["in/a.zip"]}
    assert made["Data"] == data
    assert again["PhysicalResourceId"] == "there"
    assert again["Data"]["SourceObjectKeys"] == []
