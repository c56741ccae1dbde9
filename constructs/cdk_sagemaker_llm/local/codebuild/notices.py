"""
What EventBridge is told of a build.

The form is that of https://docs.aws.amazon.com/codebuild/latest/userguide/
sample-build-notifications-ref.html
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.local.codebuild.records import Build, Phase

SOURCE = "aws.codebuild"
STATE_CHANGE = "CodeBuild Build State Change"

_MONTHS = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_NOON = 12


def state_change(build: Build) -> dict[str, Any]:
    """
    Describe the state that a build has come to.
    """
    environment = build.request["environment"]
    return {
        "build-status": build.status,
        "project-name": build.project_name,
        "build-id": build.arn,
        "additional-information": {
            "artifact": {"location": ""},
            "environment": {
                "image": environment.get("image"),
                "privileged-mode": bool(environment.get("privilegedMode", False)),
                "compute-type": environment.get("computeType"),
                "type": environment.get("type"),
                "environment-variables": build.variables,
            },
            "timeout-in-minutes": int(build.request["timeoutInMinutes"]),
            "build-complete": build.is_over,
            "initiator": build.initiator,
            "build-start-time": _date(build.started),
            "source": {
                "location": build.request["source"].get("location", ""),
                "type": build.request["source"]["type"],
            },
            "logs": {"group-name": build.log_group, "stream-name": build.log_stream},
            "phases": [_phase(phase) for phase in build.phases],
        },
        "current-phase": build.phases[-1].type if build.phases else "SUBMITTED",
        "current-phase-context": "[]",
        "version": "1",
    }


def _phase(phase: Phase) -> dict[str, Any]:
    told: dict[str, Any] = {
        "phase-context": [],
        "start-time": _date(phase.start),
        "phase-type": phase.type,
    }
    if phase.end is not None:
        told |= {
            "phase-context": [f"{phase.code}: {phase.message}"],
            "end-time": _date(phase.end),
            "duration-in-seconds": int(phase.end - phase.start),
            "phase-status": phase.status,
        }
    return told


def _date(seconds: float) -> str:
    # "Sep 1, 2017 4:12:29 PM", in any locale.
    when = datetime.fromtimestamp(seconds, UTC)
    half = "AM" if when.hour < _NOON else "PM"
    month = _MONTHS[when.month - 1]
    hour = when.hour % _NOON or _NOON
    return f"{month} {when.day}, {when.year} {hour}:{when:%M:%S} {half}"
