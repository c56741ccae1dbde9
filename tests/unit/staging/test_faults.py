"""
What S3 refuses, which the embedded AWS does not: botocore's stubs answer.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from boto3.exceptions import S3UploadFailedError
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.prefix import Ownership, StagedPrefix
from cdk_sagemaker_llm.staging.signalling import StagingError
from cdk_sagemaker_llm.staging.storage import Storage

ORDER = Order(
    model_id="a/b",
    revision="c" * 40,
    bucket="bucket",
    prefix="models/",
    manifest="models.json",
)
WANTED = StagedPrefix(
    bucket="bucket",
    base="models",
    handle="https://handle",
    keeps=False,
    project="project",
    order="{}",
    owner="me",
)
FILE = HubFile("it.safetensors", 5, "git:0")


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Clients want a region and credentials, which nobody looks at.
    """
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


def stubbed(owner: Any) -> Stubber:  # noqa: ANN401 - whoever has a client
    """
    Have a client answer what it is told to.
    """
    stubs = Stubber(owner._s3)  # noqa: SLF001 - its client
    stubs.activate()
    return stubs


def listing(key: str, size: int) -> dict[str, Any]:
    """
    Return a list of one object.
    """
    return {"Contents": [{"Key": key, "Size": size}]}


OTHER_REGION = (
    "bucket bucket is in another region, and SageMaker reads weights from the "
    "endpoint's own; name a bucket of this region"
)
SLOW = "An error occurred (SlowDown) when calling the {} operation: said"
REFUSED = (
    "the role may not use bucket bucket or its key (said); let it in by their policies"
)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("301", OTHER_REGION),
        ("PermanentRedirect", OTHER_REGION),
        ("AuthorizationHeaderMalformed", OTHER_REGION),
        ("NoSuchBucket", "bucket bucket does not exist"),
        ("403", REFUSED),
        ("AccessDenied", REFUSED),
        ("KMS.DisabledException", REFUSED),
        ("SlowDown", f"bucket bucket: {SLOW}"),
    ],
)
def test_fails_if_the_bucket_refuses(code: str, words: str) -> None:
    """
    Whatever is asked of it first, with the way out.
    """
    storage = Storage(ORDER)
    stubs = stubbed(storage)
    for name in ("list_objects_v2", "list_objects_v2", "put_object"):
        stubs.add_client_error(name, code, "said")
    asked = (
        ("ListObjectsV2", lambda: storage.has(FILE)),
        ("ListObjectsV2", storage.is_staged),
        ("PutObject", lambda: storage.seal({})),
    )
    for operation, ask in asked:
        with pytest.raises(StagingError) as caught:
            ask()
        assert str(caught.value) == words.format(operation)


@pytest.mark.parametrize("code", ["404", "NoSuchKey"])
def test_what_is_not_there_is_not_there(code: str) -> None:
    """
    Though it was a moment ago: S3 says it in two ways, as there is a body or not.
    """
    storage = Storage(ORDER)
    stubs = stubbed(storage)
    stubs.add_response("list_objects_v2", listing("models/it.safetensors", 5))
    stubs.add_client_error("head_object", code)
    stubs.add_response("list_objects_v2", listing("models.json", 2))
    stubs.add_client_error("get_object", code)

    assert storage.has(FILE) is False
    assert storage.is_staged() is False


@pytest.mark.parametrize(
    ("size", "digest", "expected"),
    [(5, "git:0", True), (4, "git:0", False), (5, "git:1", False), (5, None, False)],
)
def test_a_file_is_there_by_its_size_and_digest(
    size: int, digest: str | None, *, expected: bool
) -> None:
    """
    Both.
    """
    storage = Storage(ORDER)
    metadata = {"hub-digest": digest} if digest else {}
    answer = {"ContentLength": size, "Metadata": metadata}
    wanted = {"Bucket": "bucket", "Key": "models/it.safetensors"}
    stubs = stubbed(storage)
    stubs.add_response("list_objects_v2", listing("models/it.safetensors", size))
    stubs.add_response("head_object", answer, wanted)

    assert storage.has(FILE) is expected


def test_the_manifest_is_encrypted_with_the_key_that_is_named() -> None:
    """
    And says what it is.
    """
    order = Order(
        model_id="a/b",
        revision="c" * 40,
        bucket="bucket",
        prefix="models/",
        manifest="models.json",
        kms_key="arn",
    )
    storage = Storage(order)
    stubs = stubbed(storage)
    stubs.add_response(
        "put_object",
        {},
        {
            "Bucket": "bucket",
            "Key": "models.json",
            "Body": b'{\n "a": 1,\n "b": 2\n}',
            "ContentType": "application/json",
            "ServerSideEncryption": "aws:kms",
            "SSEKMSKeyId": "arn",
        },
    )
    storage.seal({"b": 2, "a": 1})

    stubs.assert_no_pending_responses()


def test_the_prefix_is_listed_to_its_end() -> None:
    """
    S3 tells of a thousand keys at a time.
    """
    storage = Storage(ORDER)
    stubs = stubbed(storage)
    asked = {"Bucket": "bucket", "Prefix": "models/"}
    more = {"IsTruncated": True, "NextContinuationToken": "next"}
    stubs.add_response("list_objects_v2", listing("models/a", 5) | more, asked)
    last = listing("models/it.safetensors", 5)
    stubs.add_response("list_objects_v2", last, {**asked, "ContinuationToken": "next"})
    head = {"Metadata": {"hub-digest": "git:0"}}
    stubs.add_response("head_object", head)

    assert storage.has(FILE) is True


@pytest.mark.parametrize(
    ("code", "message", "words"),
    [
        ("AccessDenied", "said", REFUSED),
        ("AccessDenied", None, REFUSED.replace("(said)", "(AccessDenied)")),
        ("NoSuchBucket", "said", "bucket bucket does not exist"),
    ],
)
def test_fails_if_the_bucket_takes_no_file(
    tmp_path: Path, code: str, message: str | None, words: str
) -> None:
    """
    In the same words, whatever the client makes of it.
    """
    local = tmp_path / "it"
    local.write_bytes(b"12345")
    storage = Storage(ORDER)

    def refuse(**_: object) -> None:
        error = {"Code": code, "Message": message} if message else {"Code": code}
        raise ClientError({"Error": error}, "PutObject")  # type: ignore[typeddict-item] # S3's own

    client = storage._s3  # noqa: SLF001 - its client
    client.meta.events.register("before-call.s3.PutObject", refuse)
    with pytest.raises(StagingError) as caught:
        storage.put(local, FILE)

    assert str(caught.value) == words


@pytest.mark.parametrize(("revision", "is_staged"), [("c", True), ("d", False)])
def test_a_manifest_is_of_a_revision(revision: str, *, is_staged: bool) -> None:
    """
    That of another one says nothing.
    """
    storage = Storage(ORDER)
    stubs = stubbed(storage)
    stubs.add_response("list_objects_v2", listing("models.json", 2))
    body = json.dumps({"revision": revision * 40}).encode()
    stubs.add_response("get_object", {"Body": io.BytesIO(body)})

    assert storage.is_staged() is is_staged


def test_fails_if_a_file_does_not_get_there(tmp_path: Path) -> None:
    """
    For another reason than the bucket's, in the client's own words.
    """
    local = tmp_path / "it"
    local.write_bytes(b"12345")
    storage = Storage(ORDER)

    def fail(*_: object, **__: object) -> None:
        raise S3UploadFailedError("the line broke")

    storage._s3.upload_file = fail  # noqa: SLF001 - its client
    with pytest.raises(StagingError, match="^the line broke$"):
        storage.put(local, FILE)


def test_fails_if_the_manifest_is_not_taken() -> None:
    """
    Nor is it said to be there.
    """
    storage = Storage(ORDER)
    stubbed(storage).add_client_error("put_object", "NoSuchBucket")

    with pytest.raises(StagingError, match="^bucket bucket does not exist$"):
        storage.seal({})


def test_fails_if_the_manifest_cannot_be_looked_at() -> None:
    """
    Which is not taken for one that is not there.
    """
    ownership = Ownership(WANTED)
    stubs = stubbed(ownership)
    stubs.add_response("list_objects_v2", listing("models.json", 2))
    stubs.add_client_error("get_object", "AccessDenied")

    with pytest.raises(ClientError, match="AccessDenied"):
        ownership.is_staged()


def test_fails_if_a_file_is_not_removed() -> None:
    """
    S3 answers 200, and tells of each file.
    """
    ownership = Ownership(WANTED)
    stubs = stubbed(ownership)
    stubs.add_response("delete_object", {}, {"Bucket": "bucket", "Key": WANTED.mark})
    nobody = {"Bucket": "bucket", "Prefix": "models.owners/"}
    stubs.add_response("list_objects_v2", {}, nobody)
    named = {"Bucket": "bucket", "Prefix": "models.json"}
    stubs.add_response("list_objects_v2", listing("models.json", 2), named)
    body = {"Body": _Body()}
    stubs.add_response("get_object", body, {"Bucket": "bucket", "Key": "models.json"})
    stubs.add_response("delete_object", {}, {"Bucket": "bucket", "Key": "models.json"})
    stubs.add_response("list_objects_v2", {}, nobody)
    there = {"Contents": [{"Key": "models/a", "Size": 1}]}
    stubs.add_response(
        "list_objects_v2", there, {"Bucket": "bucket", "Prefix": "models/"}
    )
    stubs.add_response(
        "delete_objects",
        {"Errors": [{"Key": "models/a", "Message": "locked"}]},
        {
            "Bucket": "bucket",
            "Delete": {"Objects": [{"Key": "models/a"}], "Quiet": True},
        },
    )

    words = "models/a of bucket bucket was not removed: locked"
    with pytest.raises(RuntimeError, match=f"^{words}$"):
        ownership.release()


class _Body:
    """
    The body of an answer.
    """

    def read(self) -> bytes:
        """
        Read it.
        """
        return b"{}"
