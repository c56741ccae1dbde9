"""
The function that starts the mirroring of an image when a stack asks for it, and tells
how it ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.staging import ended
from cdk_sagemaker_llm.staging.order import HANDLE, VARIABLE
from cdk_sagemaker_llm.staging.progress import say
from cdk_sagemaker_llm.staging.signalling import answer, signal

_NOTHING_MADE = "nothing-mirrored"
_TOKEN_LENGTH = 32


def handler(event: Mapping[str, Any], _context: object) -> None:
    """
    Answer a custom resource's event, or pass on how a build ended.
    """
    if "RequestType" not in event:
        ended.tell(event)
        return
    made, reason = event.get("PhysicalResourceId", _NOTHING_MADE), ""
    try:
        made = _act(event)
    except Exception as fault:  # noqa: BLE001 - the stack's event must say what it was
        reason = f"{type(fault).__name__}: {fault}"
        say(reason)
    answer(event, made, reason)


def _act(event: Mapping[str, Any]) -> str:
    # An image is kept: other stacks, and roll-backs, may need it.
    if event["RequestType"] == "Delete":
        return str(event["PhysicalResourceId"])
    asked = event["ResourceProperties"]
    before = event.get("OldResourceProperties", {})
    # The handle is new with each order: what is the same was awaited before.
    if before.get("Handle") != asked["Handle"]:
        _begin(asked, event["RequestId"])
    return f"{asked['Repository']}@{asked['Digest']}"


def _begin(asked: Mapping[str, str], request_id: str) -> None:
    if _is_mirrored(asked):
        say(f"{asked['Digest']} is mirrored already")
        _signal_done(asked)
        return
    # The same event may come twice, and is one build.
    token = hashlib.sha256(request_id.encode()).hexdigest()[:_TOKEN_LENGTH]
    build = boto3.client("codebuild").start_build(
        projectName=asked["Project"],
        idempotencyToken=token,
        environmentVariablesOverride=[
            {"name": VARIABLE, "value": asked["Order"], "type": "PLAINTEXT"},
            {"name": HANDLE, "value": asked["Handle"], "type": "PLAINTEXT"},
        ],
    )
    say(f"{asked['Digest']} is mirrored by {build['build']['id']}")


def _is_mirrored(asked: Mapping[str, str]) -> bool:
    """
    Whether the repository has the image under its tag, which it gets last.
    """
    wanted = {"imageTag": asked["Tag"]}
    try:
        found = boto3.client("ecr").describe_images(
            repositoryName=asked["Repository"], imageIds=[wanted]
        )
    except ClientError as fault:
        if fault.response["Error"]["Code"] == "ImageNotFoundException":
            return False
        raise
    return any(one["imageDigest"] == asked["Digest"] for one in found["imageDetails"])


def _signal_done(asked: Mapping[str, str]) -> None:
    try:
        signal(asked["Handle"], unique_id=asked["Digest"])
    except OSError as fault:
        # Of a roll-back: the condition was met long ago, and its address has expired.
        say(f"the wait condition took no signal: {fault}")
