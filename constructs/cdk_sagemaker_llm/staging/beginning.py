"""
How a function answers a stack that asks for something: at once, with a build begun.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import boto3

from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.order import HANDLE, VARIABLE
from cdk_sagemaker_llm.staging.progress import say
from cdk_sagemaker_llm.staging.signalling import answer, signal

_TOKEN_LENGTH = 32


def answered(
    event: Mapping[str, Any], act: Callable[[Mapping[str, Any]], str], *, nothing: str
) -> None:
    """
    Do what a custom resource's event asks for, and answer it.

    Args:
        event: What CloudFormation sent.

        act: Does it, and returns the physical id.

        nothing: The physical id where nothing was made.
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
    Return what stands for an event, which may come twice.
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
