"""
Builds and jobs that a function begins when a stack asks: how it answers at once, stops
what no stack waits for any more, and passes on how a build ended.

A worker tells its own reason; a build that was stopped, timed out or never started
cannot, so that its end comes here as an event.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.staging.order import VARIABLE
from cdk_sagemaker_llm.staging.prefix import NOTE, StagedPrefix, objects
from cdk_sagemaker_llm.staging.signalling import (
    HANDLE,
    StagingError,
    answer,
    say,
    signal,
)

_TOKEN_LENGTH = 32

_RUNS = "IN_PROGRESS"


def answered(
    event: Mapping[str, Any], act: Callable[[Mapping[str, Any]], str], *, nothing: str
) -> None:
    """
    Do what a custom resource's event asks for, and answer it.
    """
    made, reason = event.get("PhysicalResourceId", nothing), ""
    try:
        made = act(event)
    except StagingError as fault:
        reason = str(fault)
        say(reason)
    except Exception as fault:  # noqa: BLE001 - the stack's event must say what it was
        reason = f"{type(fault).__name__}: {fault}"
        say(reason)
    answer(event, made, reason)


def is_new(event: Mapping[str, Any]) -> bool:
    """
    Whether something is asked for that was not awaited before: the handle is new with
    each order.
    """
    before = event.get("OldResourceProperties", {})
    return bool(before.get("Handle") != event["ResourceProperties"]["Handle"])


def token_of(event: Mapping[str, Any]) -> str:
    """
    Return a token for an event, the same if the event comes twice.
    """
    return hashlib.sha256(event["RequestId"].encode()).hexdigest()[:_TOKEN_LENGTH]


def start_build(project: str, token: str, *, order: str, handle: str) -> str:
    """
    Start a build, once for each token; return its id.
    """
    build = boto3.client("codebuild").start_build(
        projectName=project,
        idempotencyToken=token,
        environmentVariablesOverride=[
            {"name": VARIABLE, "value": order, "type": "PLAINTEXT"},
            {"name": HANDLE, "value": handle, "type": "PLAINTEXT"},
        ],
    )
    return str(build["build"]["id"])


def signal_done(handle: str, *, unique_id: str) -> None:
    """
    Tell a wait condition that what it waits for is there.
    """
    try:
        signal(handle, unique_id=unique_id)
    except OSError as fault:
        # Of a roll-back: the condition was met long ago, and its address has expired.
        say(f"the wait condition took no signal: {fault}")


def stop_builds(project: str, handle: str) -> None:
    """
    Stop the builds of an order, which its handle tells from others.
    """
    _unless_refused(f"the builds of {project}", lambda: _stop_builds(project, handle))


def stop_jobs(place: StagedPrefix) -> None:
    """
    Stop the jobs that compile for an order.
    """
    _unless_refused(f"the jobs of {place.uri}", lambda: _stop_jobs(place))


def tell(event: Mapping[str, Any]) -> None:
    """
    Tell the wait condition that waits for a build how it ended.
    """
    build_id = event["detail"]["build-id"].rpartition("build/")[2]
    found = boto3.client("codebuild").batch_get_builds(ids=[build_id])["builds"]
    for build in found:
        for handle in _handles(build):
            say(f"{build_id} ended: {_reason(build)}")
            signal(handle, unique_id=build_id, reason=_reason(build))


def _unless_refused(what: str, stop: Callable[[], None]) -> None:
    try:
        stop()
    except (ClientError, LookupError, ValueError) as fault:
        # They end by themselves: neither a refusal nor a note that is none holds up a
        # stack that goes.
        say(f"{what} are not stopped: {type(fault).__name__}: {fault}")


def _stop_builds(project: str, handle: str) -> None:
    client = boto3.client("codebuild")
    # The newest hundred, of which what is under way is the first.
    ids = client.list_builds_for_project(projectName=project)["ids"]
    found = client.batch_get_builds(ids=ids)["builds"] if ids else []
    for build in found:
        if build["buildStatus"] == _RUNS and handle in _handles(build):
            client.stop_build(id=build["id"])
            say(f"{build['id']} is stopped")


def _stop_jobs(place: StagedPrefix) -> None:
    s3, sagemaker = boto3.client("s3"), boto3.client("sagemaker")
    kind = json.loads(place.order)["kind"]
    word = kind.capitalize()
    for key, _ in objects(s3, place.bucket, place.jobs, delimiter="/"):
        note = json.loads(s3.get_object(Bucket=place.bucket, Key=key)["Body"].read())
        if note["handle"] != place.handle:
            continue
        name = key.removeprefix(place.jobs).removesuffix(NOTE)
        named = {f"{word}JobName": name}
        job = getattr(sagemaker, f"describe_{kind}_job")(**named)
        if job[f"{word}JobStatus"] == "InProgress":
            getattr(sagemaker, f"stop_{kind}_job")(**named)
            say(f"{name} is stopped")


def _reason(build: Mapping[str, Any]) -> str:
    troubles = []
    for phase in build.get("phases", []):
        if phase.get("phaseStatus", "SUCCEEDED") != "SUCCEEDED":
            said = (one.get("message") for one in phase.get("contexts", []))
            messages = ", ".join(filter(None, said))
            trouble = f"{phase['phaseType']} {phase['phaseStatus']} {messages}"
            troubles.append(trouble.rstrip())
    cause = "; ".join(troubles) or "no phase says why"
    # A build that was never provisioned has none.
    log = "it has no log"
    where = build.get("logs", {})
    if where.get("streamName"):
        log = f"its log is {where['streamName']} in {where['groupName']}"
    return f"build {build['id']} ended as {build['buildStatus']}: {cause}; {log}"


def _handles(build: Mapping[str, Any]) -> list[str]:
    variables = build["environment"].get("environmentVariables", [])
    return [one["value"] for one in variables if one["name"] == HANDLE]
