"""
The function that starts a build or a job when a stack asks for it, and tells how it
ended.

It answers at once: a custom resource waits an hour at most, a wait condition twelve.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.staging import ended, jobs
from cdk_sagemaker_llm.staging.order import HANDLE, VARIABLE
from cdk_sagemaker_llm.staging.ownership import Ownership
from cdk_sagemaker_llm.staging.progress import say
from cdk_sagemaker_llm.staging.signalling import answer, signal
from cdk_sagemaker_llm.staging.wanted import Wanted

_NOTHING_MADE = "nothing-staged"
_NO_BUCKET = "NoSuchBucket"
_TOKEN_LENGTH = 32


def handler(event: Mapping[str, Any], _context: object) -> None:
    """
    Answer a custom resource's event, or pass on how a build or a job ended.
    """
    if "RequestType" not in event:
        tell = ended.tell if event["source"] == "aws.codebuild" else jobs.tell
        tell(event)
        return
    made, reason = event.get("PhysicalResourceId", _NOTHING_MADE), ""
    try:
        made = _act(event)
    except Exception as fault:  # noqa: BLE001 - the stack's event must say what it was
        reason = f"{type(fault).__name__}: {fault}"
        say(reason)
    answer(event, made, reason)


def _act(event: Mapping[str, Any]) -> str:
    wanted = Wanted.of(event, "ResourceProperties")
    if event["RequestType"] == "Delete":
        _release(wanted, str(event["PhysicalResourceId"]))
        return str(event["PhysicalResourceId"])
    before = event.get("OldResourceProperties", {})
    # The handle is new with each key: what is the same was awaited before.
    if before.get("Handle") != wanted.handle:
        _begin(wanted, event["RequestId"])
    return wanted.uri


def _release(wanted: Wanted, made: str) -> None:
    try:
        Ownership(wanted).release()
    except ClientError as fault:
        # What could not be begun, or is gone with its bucket, holds no roll-back up.
        if made != _NOTHING_MADE and fault.response["Error"]["Code"] != _NO_BUCKET:
            raise
        say(f"there is nothing to release: {fault}")


def _begin(wanted: Wanted, request_id: str) -> None:
    ownership = Ownership(wanted)
    ownership.claim()
    if ownership.is_staged():
        say(f"{wanted.uri} is staged already")
        _signal_done(wanted)
        return
    # The same event may come twice, and is one build.
    token = hashlib.sha256(request_id.encode()).hexdigest()[:_TOKEN_LENGTH]
    if not wanted.project:
        jobs.start(wanted, token)
        return
    build = boto3.client("codebuild").start_build(
        projectName=wanted.project,
        idempotencyToken=token,
        environmentVariablesOverride=[
            {"name": VARIABLE, "value": wanted.order, "type": "PLAINTEXT"},
            {"name": HANDLE, "value": wanted.handle, "type": "PLAINTEXT"},
        ],
    )
    say(f"{wanted.uri} is staged by {build['build']['id']}")


def _signal_done(wanted: Wanted) -> None:
    try:
        signal(wanted.handle, unique_id=wanted.manifest)
    except OSError as fault:
        # Of a roll-back: the condition was met long ago, and its address has expired.
        say(f"the wait condition took no signal: {fault}")
