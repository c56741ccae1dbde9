"""
Passing on that a build failed which could not say so itself.

A worker tells its own reason; who was stopped, timed out or never started cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import boto3

from cdk_sagemaker_llm.staging.order import HANDLE
from cdk_sagemaker_llm.staging.signalling import say, signal


def tell(event: Mapping[str, Any]) -> None:
    """
    Tell the wait condition that waits for a build how it ended.

    Args:
        event: EventBridge's event of the build.
    """
    build_id = event["detail"]["build-id"].rpartition("build/")[2]
    found = boto3.client("codebuild").batch_get_builds(ids=[build_id])["builds"]
    for build in found:
        variables = build["environment"].get("environmentVariables", [])
        for one in variables:
            if one["name"] == HANDLE:
                say(f"{build_id} ended: {_reason(build)}")
                signal(one["value"], unique_id=build_id, reason=_reason(build))


def _reason(build: Mapping[str, Any]) -> str:
    told = "; ".join(_troubles(build)) or "no phase says why"
    return f"build {build['id']} ended as {build['buildStatus']}: {told}; {_log(build)}"


def _log(build: Mapping[str, Any]) -> str:
    where = build.get("logs", {})
    if not where.get("streamName"):
        # A build that was never provisioned has none.
        return "it has no log"
    return f"its log is {where['streamName']} in {where['groupName']}"


def _troubles(build: Mapping[str, Any]) -> list[str]:
    return [
        f"{phase['phaseType']} {phase['phaseStatus']} {_said(phase)}".rstrip()
        for phase in build.get("phases", [])
        if phase.get("phaseStatus", "SUCCEEDED") != "SUCCEEDED"
    ]


def _said(phase: Mapping[str, Any]) -> str:
    messages = (one.get("message") for one in phase.get("contexts", []))
    return ", ".join(filter(None, messages))
