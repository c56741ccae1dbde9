"""
What is not there yet, where S3 answers a read of it with 403.

It says 404 only to who may list the bucket without a condition (S3 API reference,
GetObject), and the roles may list their prefixes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.stub import Stubber

from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.prefix import Ownership, StagedPrefix
from cdk_sagemaker_llm.staging.storage import Storage

BASE = "models/a--b/" + "c" * 40
FILE = HubFile("model.safetensors", 5, "sha256:" + "d" * 64)


@pytest.fixture(autouse=True)
def _somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


def storage() -> Storage:
    """
    Return the storage of an order.
    """
    order = Order(
        model_id="a/b",
        revision="c" * 40,
        bucket="bucket",
        prefix=f"{BASE}/",
        manifest=f"{BASE}.json",
    )
    return Storage(order)


def ownership() -> Ownership:
    """
    Return the marks of what a stack wants.
    """
    return Ownership(
        StagedPrefix(
            bucket="bucket",
            base=BASE,
            handle="",
            keeps=True,
            project="",
            order="",
            owner="me",
        )
    )


@contextmanager
def listing(asked: Any, prefix: str, *keys: str) -> Iterator[None]:  # noqa: ANN401 - whatever has a client
    """
    Answer one list, and nothing else: a read would be denied.
    """
    with Stubber(asked._s3) as stub:  # noqa: SLF001 - its client answers here
        stub.add_response(
            "list_objects_v2",
            {"Contents": [{"Key": key, "Size": 5} for key in keys]},
            {"Bucket": "bucket", "Prefix": prefix},
        )
        yield
        stub.assert_no_pending_responses()


def test_a_manifest_that_is_not_there_is_not_read() -> None:
    """
    Neither by the function that starts, nor by the worker; that another's name begins
    with its is no reason to.
    """
    started, worked = ownership(), storage()
    with listing(started, f"{BASE}.json", f"{BASE}.json.old"):
        assert not started.is_staged()
    with listing(worked, f"{BASE}.json", f"{BASE}.json.old"):
        assert not worked.is_staged()


def test_files_that_are_not_there_are_found_by_one_list() -> None:
    """
    The prefix is listed once for all of them.
    """
    worked = storage()
    with listing(worked, f"{BASE}/", f"{BASE}/other.safetensors"):
        assert not worked.has(FILE)
        assert not worked.has(FILE)
