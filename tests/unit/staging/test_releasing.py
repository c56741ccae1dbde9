"""
What a roll-back, or a stack that goes, is told where nothing can be released.
"""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.staging import signalling, starting
from cdk_sagemaker_llm.staging.prefix import Ownership


@pytest.mark.parametrize(
    ("code", "made", "status"),
    [
        # Nothing was begun: a stack that cannot begin can be rolled back.
        ("AccessDenied", "nothing-staged", "SUCCESS"),
        ("AccessDenied", "s3://bucket/models/a--b/c/", "FAILED"),
        # The bucket went first.
        ("NoSuchBucket", "s3://bucket/models/a--b/c/", "SUCCESS"),
    ],
)
def test_what_is_not_there_holds_no_roll_back_up(
    monkeypatch: pytest.MonkeyPatch, code: str, made: str, status: str
) -> None:
    """
    What is there and cannot be removed is said.
    """

    def denied(_: Ownership) -> None:
        raise ClientError({"Error": {"Code": code}}, "DeleteObject")

    answers: list[dict[str, Any]] = []
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setattr(Ownership, "release", denied)
    monkeypatch.setattr(signalling, "put", lambda _, body: answers.append(body))
    starting.handler(
        {
            "RequestType": "Delete",
            "RequestId": "request",
            "ResponseURL": "https://example.com",
            "StackId": "stack",
            "LogicalResourceId": "Start",
            "PhysicalResourceId": made,
            "ResourceProperties": {
                "Bucket": "bucket",
                "Base": "models/a--b/c",
                "Handle": "https://example.com/handle",
                "Keep": "true",
                "Order": "{}",
            },
        },
        None,
    )

    assert [(one["Status"], one["PhysicalResourceId"]) for one in answers] == [
        (status, made)
    ]
