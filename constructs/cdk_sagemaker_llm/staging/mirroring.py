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
    properties = event["ResourceProperties"]
    # An image is kept: other stacks, and roll-backs, may need it.
    if event["RequestType"] == "Delete":
        stop_builds(properties["Project"], properties["Handle"])
        return str(event["PhysicalResourceId"])
    if is_new(event):
        _begin(properties, token_of(event))
    return f"{properties['Repository']}@{properties['Digest']}"


def _begin(properties: Mapping[str, str], token: str) -> None:
    if _is_mirrored(properties):
        say(f"{properties['Digest']} is mirrored already")
        signal_done(properties["Handle"], unique_id=properties["Digest"])
        return
    build = start_build(
        properties["Project"],
        token,
        order=properties["Order"],
        handle=properties["Handle"],
    )
    say(f"{properties['Digest']} is mirrored by {build}")


def _is_mirrored(properties: Mapping[str, str]) -> bool:
    """
    Whether the repository has the image under its tag, which it gets last.
    """
    image = {"imageTag": properties["Tag"]}
    try:
        found = boto3.client("ecr").describe_images(
            repositoryName=properties["Repository"], imageIds=[image]
        )
    except ClientError as fault:
        if fault.response["Error"]["Code"] == "ImageNotFoundException":
            return False
        raise
    return any(
        one["imageDigest"] == properties["Digest"] for one in found["imageDetails"]
    )
