"""
Projects and builds, as the API shows them and as EventBridge is told of them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.local.aws.clock import now

Answer = dict[str, Any]
IN_PROGRESS, SUCCEEDED, FAILED = "IN_PROGRESS", "SUCCEEDED", "FAILED"
STOPPED, TIMED_OUT, FAULT = "STOPPED", "TIMED_OUT", "FAULT"
_KEPT = (
    *("source", "sourceVersion", "cache", "environment", "serviceRole"),
    *("timeoutInMinutes", "queuedTimeoutInMinutes", "encryptionKey"),
)
_TIMEOUT, _QUEUED = 60, 480  # Minutes, where a project says nothing.
SOURCE = "aws.codebuild"
STATE_CHANGE = "CodeBuild Build State Change"


@dataclass
class Project:
    arn: str
    settings: Answer
    created: float
    last_modified: float
    builds: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.settings["name"])

    def as_answer(self) -> Answer:
        return {
            "timeoutInMinutes": _TIMEOUT,
            "queuedTimeoutInMinutes": _QUEUED,
            "cache": {"type": "NO_CACHE"},
            "badge": {"badgeEnabled": False},
            **{k: v for k, v in self.settings.items() if k != "badgeEnabled"},
            "arn": self.arn,
            "created": moment(self.created),
            "lastModified": moment(self.last_modified),
        }


@dataclass
class Phase:
    """
    A phase of a build, under way or over.
    """

    type: str
    start: float = field(default_factory=now)
    end: float | None = None
    status: str | None = None
    code: str = ""
    message: str = ""

    def as_answer(self) -> Answer:
        answer: Answer = {"phaseType": self.type, "startTime": moment(self.start)}
        if self.end is not None:
            answer |= {
                "phaseStatus": self.status,
                "endTime": moment(self.end),
                "durationInSeconds": int(self.end - self.start),
                "contexts": [{"statusCode": self.code, "message": self.message}],
            }
        return answer


@dataclass
class Build:
    """
    A build, under way or over.
    """

    id: str  # The project's name, and a part of its own.
    arn: str
    number: int  # Which of its project it is.
    request: Answer  # What it was started with, laid over its project.
    started: float
    initiator: str
    log_group: str
    log_stream: str
    status: str = IN_PROGRESS
    ended: float | None = None
    phases: list[Phase] = field(default_factory=list)

    @property
    def project_name(self) -> str:
        return str(self.request["name"])

    @property
    def is_over(self) -> bool:
        return self.ended is not None

    @property
    def timeout(self) -> float:
        # In seconds.
        return 60.0 * int(self.request["timeoutInMinutes"])

    @property
    def variables(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.request["environment"].get(
            "environmentVariables", []
        )
        return found

    def as_answer(self) -> Answer:
        partition, _, region, account = self.arn.split(":")[1:5]
        logs = f"arn:{partition}:logs:{region}:{account}:log-group"
        answer: Answer = {
            "id": self.id,
            "arn": self.arn,
            "buildNumber": self.number,
            "startTime": moment(self.started),
            "currentPhase": self.phases[-1].type if self.phases else "SUBMITTED",
            "buildStatus": self.status,
            "projectName": self.project_name,
            "phases": [phase.as_answer() for phase in self.phases],
            "artifacts": {"location": ""},
            "logs": {
                "groupName": self.log_group,
                "streamName": self.log_stream,
                "cloudWatchLogs": {"status": "ENABLED"},
                "cloudWatchLogsArn": f"{logs}:{self.log_group}:log-stream:"
                f"{self.log_stream}",
            },
            "buildComplete": self.is_over,
            "initiator": self.initiator,
        }
        answer |= {key: self.request[key] for key in _KEPT if key in self.request}
        if self.ended is not None:
            answer["endTime"] = moment(self.ended)
        return copy.deepcopy(answer)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


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
    answer: dict[str, Any] = {
        "phase-context": [],
        "start-time": _date(phase.start),
        "phase-type": phase.type,
    }
    if phase.end is not None:
        answer |= {
            "phase-context": [f"{phase.code}: {phase.message}"],
            "end-time": _date(phase.end),
            "duration-in-seconds": int(phase.end - phase.start),
            "phase-status": phase.status,
        }
    return answer


def _date(seconds: float) -> str:
    # Such as "Sep 1, 2017 4:12:29 PM".
    when = moment(seconds)
    return f"{when:%b} {when.day}, {when.year} {when.hour % 12 or 12}:{when:%M:%S %p}"
