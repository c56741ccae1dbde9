"""
The function that starts a build or a job when a stack asks for it, and tells how it
ended.

It answers at once: a custom resource waits an hour at most, a wait condition twelve.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from cdk_sagemaker_llm.staging import builds, jobs
from cdk_sagemaker_llm.staging.builds import (
    answered,
    is_new,
    signal_done,
    start_build,
    stop_builds,
    stop_jobs,
    token_of,
)
from cdk_sagemaker_llm.staging.prefix import Ownership, StagedPrefix
from cdk_sagemaker_llm.staging.signalling import bucket_failure, say

_NOTHING_MADE = "nothing-staged"
_NO_BUCKET = "NoSuchBucket"


def handler(event: Mapping[str, Any], _context: object) -> None:
    """
    Answer a custom resource's event, or pass on how a build or a job ended.
    """
    if "RequestType" in event:
        answered(event, _act, nothing=_NOTHING_MADE)
    elif event["source"] == "aws.codebuild":
        builds.tell(event)
    else:
        jobs.tell(event)


def _act(event: Mapping[str, Any]) -> str:
    place = StagedPrefix.of(event, "ResourceProperties")
    if event["RequestType"] == "Delete":
        if place.project:
            stop_builds(place.project, place.handle)
        else:
            stop_jobs(place)
        _release(place, str(event["PhysicalResourceId"]))
        return str(event["PhysicalResourceId"])
    if is_new(event):
        _begin(place, token_of(event))
    return place.uri


def _release(place: StagedPrefix, made: str) -> None:
    try:
        Ownership(place).release()
    except ClientError as fault:
        # What could not be begun, or is gone with its bucket, holds no roll-back up.
        if made != _NOTHING_MADE and fault.response["Error"]["Code"] != _NO_BUCKET:
            raise
        say(f"there is nothing to release: {fault}")


def _begin(place: StagedPrefix, token: str) -> None:
    ownership = Ownership(place)
    try:
        # Marked first: who removes looks for marks last.
        ownership.claim()
        is_staged = ownership.is_staged()
    except ClientError as fault:
        raise bucket_failure(fault, place.bucket) from fault
    if is_staged:
        say(f"{place.uri} is staged already")
        signal_done(place.handle, unique_id=place.manifest)
    elif place.project:
        build = start_build(
            place.project, token, order=place.order, handle=place.handle
        )
        say(f"{place.uri} is staged by {build}")
    else:
        jobs.start(place, token)
