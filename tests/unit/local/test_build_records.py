"""
Builds and their phases, as the API shows them and as EventBridge is told of them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.local.builds.build_records import (
    SUCCEEDED,
    Build,
    Phase,
    Project,
    state_change,
)

# Friday, 1 September 2017, 4:12:29 in the afternoon, as in CodeBuild's own example.
BEGAN = 1_504_282_349.0
ARN = "arn:aws:codebuild:us-west-2:123456789012:build/mine:one"
LOGS = {"group-name": "/aws/codebuild/mine", "stream-name": "one"}
REQUEST: dict[str, Any] = {
    "name": "mine",
    "source": {"type": "S3", "location": "bucket/key.zip"},
    "timeoutInMinutes": 60,
    "environment": {
        "image": "an/image",
        "computeType": "BUILD_GENERAL1_SMALL",
        "type": "LINUX_CONTAINER",
        "privilegedMode": True,
        "environmentVariables": [{"name": "A", "value": "b", "type": "PLAINTEXT"}],
    },
    "logsConfig": {"not": "kept"},
    "serviceRole": "arn:aws:iam::123456789012:role/Builder",
}


def build(**settings: Any) -> Build:  # noqa: ANN401 - fields of a build
    """
    Return a build that has begun.
    """
    return Build(
        id="mine:one",
        arn=ARN,
        number=3,
        request={**REQUEST, **settings.pop("request", {})},
        started=BEGAN,
        initiator="embedded-aws",
        log_group=LOGS["group-name"],
        log_stream=LOGS["stream-name"],
        **settings,
    )


def test_an_event_tells_of_a_build_that_is_over() -> None:
    """
    In the members that CodeBuild documents.
    """
    over = Phase("SUBMITTED", BEGAN, BEGAN + 2.9, SUCCEEDED, "", "")
    failed = Phase("BUILD", BEGAN + 3, BEGAN + 4, "FAILED", "ERROR", "it broke")
    ended = Phase("COMPLETED", BEGAN + 5)

    found = state_change(
        build(status="FAILED", ended=BEGAN + 5, phases=[over, failed, ended])
    )

    start = "Sep 1, 2017 4:12:29 PM"
    assert found == {
        "build-status": "FAILED",
        "project-name": "mine",
        "build-id": ARN,
        "additional-information": {
            "artifact": {"location": ""},
            "environment": {
                "image": "an/image",
                "privileged-mode": True,
                "compute-type": "BUILD_GENERAL1_SMALL",
                "type": "LINUX_CONTAINER",
                "environment-variables": [
                    {"name": "A", "value": "b", "type": "PLAINTEXT"}
                ],
            },
            "timeout-in-minutes": 60,
            "build-complete": True,
            "initiator": "embedded-aws",
            "build-start-time": start,
            "source": {"location": "bucket/key.zip", "type": "S3"},
            "logs": LOGS,
            "phases": [
                {
                    "phase-context": [": "],
                    "start-time": start,
                    "end-time": "Sep 1, 2017 4:12:31 PM",
                    "duration-in-seconds": 2,
                    "phase-type": "SUBMITTED",
                    "phase-status": "SUCCEEDED",
                },
                {
                    "phase-context": ["ERROR: it broke"],
                    "start-time": "Sep 1, 2017 4:12:32 PM",
                    "end-time": "Sep 1, 2017 4:12:33 PM",
                    "duration-in-seconds": 1,
                    "phase-type": "BUILD",
                    "phase-status": "FAILED",
                },
                {
                    "phase-context": [],
                    "start-time": "Sep 1, 2017 4:12:34 PM",
                    "phase-type": "COMPLETED",
                },
            ],
        },
        "current-phase": "COMPLETED",
        "current-phase-context": "[]",
        "version": "1",
    }


def test_an_event_of_a_build_that_begins_says_so() -> None:
    """
    Without a place of a source, or a privilege, where the project has none.
    """
    request = {"source": {"type": "NO_SOURCE"}, "environment": {}}
    found = state_change(build(request=request))
    more = found["additional-information"]

    assert (found["build-status"], found["current-phase"]) == (
        "IN_PROGRESS",
        "SUBMITTED",
    )
    assert more["build-complete"] is False
    assert more["source"] == {"location": "", "type": "NO_SOURCE"}
    assert more["environment"] == {
        "image": None,
        "privileged-mode": False,
        "compute-type": None,
        "type": None,
        "environment-variables": [],
    }


def test_a_date_is_of_twelve_hours() -> None:
    """
    Midnight and noon are twelve.
    """

    def start(hour: int) -> str:
        began = datetime(2017, 12, 31, hour, 5, 6, tzinfo=UTC).timestamp()
        phase = Phase("BUILD", began)
        found = state_change(build(phases=[phase]))["additional-information"]
        return str(found["phases"][0]["start-time"])

    assert [start(hour) for hour in (0, 11, 12, 23)] == [
        "Dec 31, 2017 12:05:06 AM",
        "Dec 31, 2017 11:05:06 AM",
        "Dec 31, 2017 12:05:06 PM",
        "Dec 31, 2017 11:05:06 PM",
    ]


def test_a_build_is_shown_whole() -> None:
    """
    With what it kept of its project, and nothing that a reader could change in it.
    """
    one = build(phases=[Phase("QUEUED", BEGAN, BEGAN + 1.5, SUCCEEDED, "", "")])
    found = one.as_answer()
    began = datetime.fromtimestamp(BEGAN, UTC)

    assert found == {
        "id": "mine:one",
        "arn": ARN,
        "buildNumber": 3,
        "startTime": began,
        "currentPhase": "QUEUED",
        "buildStatus": "IN_PROGRESS",
        "projectName": "mine",
        "phases": [
            {
                "phaseType": "QUEUED",
                "startTime": began,
                "phaseStatus": "SUCCEEDED",
                "endTime": datetime.fromtimestamp(BEGAN + 1.5, UTC),
                "durationInSeconds": 1,
                "contexts": [{"statusCode": "", "message": ""}],
            }
        ],
        "artifacts": {"location": ""},
        "logs": {
            "groupName": "/aws/codebuild/mine",
            "streamName": "one",
            "cloudWatchLogs": {"status": "ENABLED"},
            "cloudWatchLogsArn": "arn:aws:logs:us-west-2:123456789012:log-group:"
            "/aws/codebuild/mine:log-stream:one",
        },
        "buildComplete": False,
        "initiator": "embedded-aws",
        "source": REQUEST["source"],
        "timeoutInMinutes": 60,
        "environment": REQUEST["environment"],
        "serviceRole": REQUEST["serviceRole"],
    }
    found["environment"]["image"] = "another"
    assert one.request["environment"]["image"] == "an/image"
    assert one.timeout == 3600.0
    assert build().as_answer()["currentPhase"] == "SUBMITTED"
    assert build(ended=BEGAN + 9).as_answer()["endTime"] == (
        datetime.fromtimestamp(BEGAN + 9, UTC)
    )


def test_a_project_is_shown_with_the_defaults_of_codebuild() -> None:
    """
    An hour to build and eight in the queue, unless it says otherwise.
    """
    settings = {"name": "mine", "badgeEnabled": True}
    shown = Project("arn", settings, BEGAN, BEGAN + 1).as_answer()
    told = Project("arn", {**settings, "timeoutInMinutes": 7}, BEGAN, BEGAN)

    assert shown == {
        "name": "mine",
        "timeoutInMinutes": 60,
        "queuedTimeoutInMinutes": 480,
        "cache": {"type": "NO_CACHE"},
        "badge": {"badgeEnabled": False},
        "arn": "arn",
        "created": datetime.fromtimestamp(BEGAN, UTC),
        "lastModified": datetime.fromtimestamp(BEGAN + 1, UTC),
    }
    assert told.as_answer()["timeoutInMinutes"] == 7
