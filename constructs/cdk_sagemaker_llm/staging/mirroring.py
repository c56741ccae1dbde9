"""
The function that starts the mirroring of an image when a stack asks for it, and tells
how it ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.staging import builds
from cdk_sagemaker_llm.staging.builds import (
    answered,
    is_new,
    signal_done,
    start_build,
    stop_builds,
    token_of,
)
from cdk_sagemaker_llm.staging.signalling import say


def handler(event: Mapping[str, Any], _context: object) -> None:
    """
    Answer a custom resource's event, or pass on how a build ended.
    """
    if "RequestType" in event:
        answered(event, _act, nothing="nothing-mirrored")
    else:
        builds.tell(event)


def _act(event: Mapping[str, Any]) -> str:
    asked = event["ResourceProperties"]
    # An image is kept: other stacks, and roll-backs, may need it.
    if event["RequestType"] == "Delete":
        stop_builds(asked["Project"], asked["Handle"])
        return str(event["PhysicalResourceId"])
    if is_new(event):
        _begin(asked, token_of(event))
    return f"{asked['Repository']}@{asked['Digest']}"


def _begin(asked: Mapping[str, str], token: str) -> None:
    if _is_mirrored(asked):
        say(f"{asked['Digest']} is mirrored already")
        signal_done(asked["Handle"], unique_id=asked["Digest"])
        return
    build = start_build(
        asked["Project"], token, order=asked["Order"], handle=asked["Handle"]
    )
    say(f"{asked['Digest']} is mirrored by {build}")


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
