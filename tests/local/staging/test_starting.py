"""
The function that starts staging, with the embedded AWS's bucket and a socket for what
CloudFormation would be told.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.staging import starting
from cdk_sagemaker_llm.staging.jobs import Made
from cdk_sagemaker_llm.staging.prefix import Ownership
from tests.local.staging.listener import Told

BASE = "models/tiny--model/" + "a" * 40
MANIFEST = b'{"files": {}}'


@pytest.fixture(name="s3")
def _s3(in_aws: EmbeddedAws) -> Untyped:
    return in_aws.client("s3")


def event(
    told: Told,
    bucket: str,
    kind: str,
    *,
    stack: str = "one",
    handle: str = "/handle",
    keep: str = "false",
    before: str | None = None,
) -> dict[str, Any]:
    """
    Write what CloudFormation sends.
    """
    properties = {
        "Bucket": bucket,
        "Base": BASE,
        "Handle": told.url + handle,
        "Keep": keep,
        "Project": "no-such-project",
        "Order": "{}",
    }
    old = {**properties, "Handle": told.url + before} if before else None
    made = {"PhysicalResourceId": f"s3://{bucket}/{BASE}/"}
    return {
        "RequestType": kind,
        "RequestId": f"{stack}-{kind}",
        "ResponseURL": f"{told.url}/answer",
        "StackId": f"arn:aws:cloudformation:us-east-1:123456789012:stack/{stack}/1",
        "LogicalResourceId": "Start",
        "ResourceProperties": properties,
        **({} if kind == "Create" else made),
        **({"OldResourceProperties": old} if old else {}),
    }


def staged(s3: Untyped, bucket: str) -> None:
    """
    Put a model there as a worker leaves it.
    """
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key=f"{BASE}/model.safetensors", Body=b"weights")
    s3.put_object(Bucket=bucket, Key=f"{BASE}.json", Body=MANIFEST)


def keys(s3: Untyped, bucket: str) -> set[str]:
    """
    Return what is in a bucket, with marks of owners under one name.
    """
    found = s3.list_objects_v2(Bucket=bucket).get("Contents", [])
    names = (one["Key"].removeprefix(BASE) for one in found)
    return {"mark" if name.startswith(".owners/") else name for name in names}


def test_what_is_staged_already_is_told_at_once(s3: Untyped, told: Told) -> None:
    """
    The condition is met, the stack's mark stands, and the prefix is the physical id.
    """
    staged(s3, "starting-done")
    starting.handler(event(told, "starting-done", "Create"), None)

    assert told.at("/handle") == [
        {
            "Status": "SUCCESS",
            "Reason": "staged",
            "UniqueId": f"{BASE}.json",
            "Data": "",
        }
    ]
    (answer,) = told.at("/answer")
    assert answer == {
        "Status": "SUCCESS",
        "Reason": "",
        "PhysicalResourceId": f"s3://starting-done/{BASE}/",
        "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/one/1",
        "RequestId": "one-Create",
        "LogicalResourceId": "Start",
        "Data": {},
    }
    assert keys(s3, "starting-done") == {"/model.safetensors", ".json", "mark"}


def test_nothing_is_begun_for_a_handle_that_was_awaited(
    s3: Untyped, told: Told
) -> None:
    """
    An update of another property neither signals nor builds.
    """
    s3.create_bucket(Bucket="starting-same")
    starting.handler(event(told, "starting-same", "Update", before="/handle"), None)

    assert told.at("/handle") == []
    assert [one["Status"] for one in told.at("/answer")] == ["SUCCESS"]
    assert keys(s3, "starting-same") == set()


def test_an_update_with_a_new_handle_begins(s3: Untyped, told: Told) -> None:
    """
    Another key is another prefix, which is awaited.
    """
    staged(s3, "starting-new")
    starting.handler(event(told, "starting-new", "Update", before="/old"), None)

    assert [one["Status"] for one in told.at("/handle")] == ["SUCCESS"]


def test_an_expired_handle_does_not_break_a_roll_back(s3: Untyped, told: Told) -> None:
    """
    The condition behind it was met long ago.
    """
    staged(s3, "starting-expired")
    asked = event(told, "starting-expired", "Update", before="/old", handle="/expired")
    starting.handler(asked, None)

    assert [one["Status"] for one in told.at("/answer")] == ["SUCCESS"]


@pytest.mark.usefixtures("s3")
def test_what_cannot_be_started_fails_with_its_reason(told: Told) -> None:
    """
    The stack's event says what it was.
    """
    asked = event(told, "starting-no-such-bucket", "Create")
    starting.handler(asked, None)

    (answer,) = told.at("/answer")
    assert answer["Status"] == "FAILED"
    assert answer["PhysicalResourceId"] == "nothing-staged"
    assert answer["Reason"] == "bucket starting-no-such-bucket does not exist"
    assert told.at("/handle") == []


@pytest.mark.usefixtures("s3")
def test_a_bucket_that_is_gone_does_not_break_a_roll_back(told: Told) -> None:
    """
    Nor the deletion of the stack.
    """
    starting.handler(event(told, "starting-no-such-bucket", "Delete"), None)

    assert [one["Status"] for one in told.at("/answer")] == ["SUCCESS"]


def test_the_last_stack_removes_what_it_was_told_to(s3: Untyped, told: Told) -> None:
    """
    Two stacks want it: the first that goes leaves it to the other.
    """
    staged(s3, "starting-shared")
    for stack in ("one", "two"):
        asked = event(told, "starting-shared", "Create", stack=stack)
        starting.handler(asked, None)
    starting.handler(event(told, "starting-shared", "Delete", stack="one"), None)
    assert keys(s3, "starting-shared") == {"/model.safetensors", ".json", "mark"}

    starting.handler(event(told, "starting-shared", "Delete", stack="two"), None)
    assert keys(s3, "starting-shared") == set()


def test_what_is_kept_loses_its_mark_only(s3: Untyped, told: Told) -> None:
    """
    The weights stay for the next stack.
    """
    staged(s3, "starting-kept")
    for kind in ("Create", "Delete"):
        starting.handler(event(told, "starting-kept", kind, keep="true"), None)

    assert keys(s3, "starting-kept") == {"/model.safetensors", ".json"}


def test_what_was_never_finished_stays(
    s3: Untyped, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A roll-back deletes the resource, and the next deployment goes on from there; that
    its project is gone holds nothing up.
    """
    staged(s3, "starting-half")
    s3.delete_object(Bucket="starting-half", Key=f"{BASE}.json")
    starting.handler(event(told, "starting-half", "Delete"), None)

    said = capsys.readouterr().out
    assert said.startswith(
        "the builds of no-such-project are not stopped: ResourceNotFo"
    )
    assert [one["Status"] for one in told.at("/answer")] == ["SUCCESS"]
    assert keys(s3, "starting-half") == {"/model.safetensors"}


def test_more_files_than_one_call_removes(s3: Untyped, told: Told) -> None:
    """
    S3 deletes a thousand at a time.
    """
    staged(s3, "starting-many")
    for number in range(1001):
        s3.put_object(Bucket="starting-many", Key=f"{BASE}/{number}", Body=b"")
    starting.handler(event(told, "starting-many", "Delete"), None)

    assert keys(s3, "starting-many") == set()


def test_who_comes_in_between_keeps_the_manifest(
    s3: Untyped, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A mark that is put while another stack removes is seen, and all is as it was.
    """
    staged(s3, "starting-between")
    real = Ownership._manifest  # noqa: SLF001 - between its two looks

    def slow(self: Any) -> bytes | None:  # noqa: ANN401 - the class is private's owner
        found = real(self)
        s3.put_object(Bucket="starting-between", Key=f"{BASE}.owners/another", Body=b"")
        return found

    monkeypatch.setattr(Ownership, "_manifest", slow)
    starting.handler(event(told, "starting-between", "Delete"), None)

    assert keys(s3, "starting-between") == {"/model.safetensors", ".json", "mark"}
    kept = s3.get_object(Bucket="starting-between", Key=f"{BASE}.json")
    assert kept["Body"].read() == MANIFEST
    assert kept["ContentType"] == "application/json"


def test_engines_are_put_in_place_once(s3: Untyped, told: Told) -> None:
    """
    The same event twice, and a second job's: each is told, and what is read stays.
    """
    bucket = "starting-engines"
    s3.create_bucket(Bucket=bucket)
    note = {
        "handle": f"{told.url}/handle",
        "compiled": {"image": "0.30.0"},
        "folder": "",
        "needed": "*.engine",
    }
    for job in ("first", "second"):
        folder = f"{BASE}.jobs/{job}"
        s3.put_object(Bucket=bucket, Key=f"{folder}.json", Body=json.dumps(note))
        key = f"{folder}/output/model/1/rank0.engine"
        s3.put_object(Bucket=bucket, Key=key, Body=job.encode())
    for job in ("first", "first", "second"):
        Made(bucket, BASE, job).end("")

    assert [one["Status"] for one in told.at("/handle")] == ["SUCCESS"] * 3
    body = s3.get_object(Bucket=bucket, Key=f"{BASE}/1/rank0.engine")["Body"]
    assert body.read() == b"first"
    manifest = s3.get_object(Bucket=bucket, Key=f"{BASE}.json")["Body"].read()
    assert json.loads(manifest)["job"] == "first"


def test_what_jobs_left_goes_with_their_engines(s3: Untyped, told: Told) -> None:
    """
    Where a job made it: its order and its note are nobody's any more.
    """
    staged(s3, "starting-left")
    s3.put_object(Bucket="starting-left", Key=f"{BASE}.jobs/one.json", Body=b"{}")
    asked = event(told, "starting-left", "Delete")
    asked["ResourceProperties"]["Project"] = ""
    starting.handler(asked, None)

    assert keys(s3, "starting-left") == set()


def test_what_begins_alike_is_not_removed(s3: Untyped, told: Told) -> None:
    """
    Other patterns of the same revision, and engines, are prefixes of their own.
    """
    staged(s3, "starting-alike")
    for name in ("-e9972ae8/model.safetensors", "-e9972ae8.json", "-tensorrt-llm-1/a"):
        s3.put_object(Bucket="starting-alike", Key=BASE + name, Body=b"other")
    starting.handler(event(told, "starting-alike", "Delete"), None)

    assert keys(s3, "starting-alike") == {
        "-e9972ae8/model.safetensors",
        "-e9972ae8.json",
        "-tensorrt-llm-1/a",
    }
