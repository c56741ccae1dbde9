"""
Why a build failed, in one line.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.staging.builds import _reason

# CodeBuild API reference, Build and BuildPhase: what lacks here may lack there.
PHASES: list[dict[str, Any]] = [
    {"phaseType": "SUBMITTED", "phaseStatus": "SUCCEEDED"},
    {
        "phaseType": "BUILD",
        "phaseStatus": "FAILED",
        "contexts": [
            {"message": "exit status 1"},
            {"statusCode": "X"},
            {"message": "b"},
        ],
    },
    {"phaseType": "UPLOAD_ARTIFACTS", "phaseStatus": "TIMED_OUT"},
    {"phaseType": "COMPLETED"},
]
TROUBLES = (
    "BUILD FAILED exit status 1, b; UPLOAD_ARTIFACTS TIMED_OUT; "
    "its log is stream in /a/group"
)
LOGS = {"groupName": "/a/group", "streamName": "stream"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"phases": PHASES, "logs": LOGS}, TROUBLES),
        (
            {"phases": PHASES[:1], "logs": LOGS},
            "no phase says why; its log is stream in /a/group",
        ),
        ({"logs": {"groupName": "group"}}, "no phase says why; it has no log"),
        ({}, "no phase says why; it has no log"),
    ],
    ids=["phases", "none failed", "no stream", "nothing"],
)
def test_a_reason_names_phases_and_the_log(more: dict[str, Any], expected: str) -> None:
    """
    Of each phase that did not succeed what its contexts say.
    """
    build = {"id": "project:1", "buildStatus": "STOPPED", **more}

    assert _reason(build) == f"build project:1 ended as STOPPED: {expected}"
