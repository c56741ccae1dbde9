"""
What the CDK's own custom resources do, in Python.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from cdk_sagemaker_llm.local.untyped import Untyped


def empty_bucket(event: dict[str, Any]) -> None:
    """
    Delete the objects of a bucket that is about to go, all versions of them.
    """
    if event["RequestType"] != "Delete":
        return
    bucket, s3 = event["ResourceProperties"]["BucketName"], _client("s3")
    for found in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        entries = [*found.get("Versions", ()), *found.get("DeleteMarkers", ())]
        keys = [{"Key": e["Key"], "VersionId": e["VersionId"]} for e in entries]
        if keys:
            s3.delete_objects(Bucket=bucket, Delete={"Objects": keys})


def retain_logs(event: dict[str, Any]) -> dict[str, Any]:
    """
    Make a log group if need be, and set how long its events are kept.
    """
    properties, logs = event["ResourceProperties"], _client("logs")
    name = properties["LogGroupName"]
    if event["RequestType"] == "Delete":
        if properties.get("RemovalPolicy") == "destroy":
            logs.delete_log_group(logGroupName=name)
        return {"PhysicalResourceId": name}
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_group(logGroupName=name)
    days = properties.get("RetentionInDays")
    if days:
        logs.put_retention_policy(logGroupName=name, retentionInDays=int(days))
    else:
        logs.delete_retention_policy(logGroupName=name)
    return {"PhysicalResourceId": name, "Data": {"LogGroupName": name}}


def _client(service: str) -> Untyped:
    import boto3  # noqa: PLC0415 - a quarter of a second, which few stacks need
    from botocore.config import Config  # noqa: PLC0415 - the same

    return boto3.client(  # type: ignore[call-overload]  # any service by name
        service,
        endpoint_url=os.environ["AWS_ENDPOINT_URL"],
        config=Config(retries={"max_attempts": 0}, proxies={"http": ""}),
    )
