"""
A canary whose requests fail: the alarm that was made for it turns it back.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.local.updates.traffic import Traffic
from tests.local.updates.versions_app import FIRST, NEW, OLD
from tests.local.waiting import endpoint_status, until

if TYPE_CHECKING:
    from tests.local.updates.conftest import Team

# Seconds on the wall, for a machine that is busy.
_PATIENCE = 120.0


@pytest.mark.whole
def test_a_canary_that_fails_ends_on_the_old_version(team: Team) -> None:
    """
    Half of the requests go to it, the alarm goes off, and the stack is as it was.
    """
    team.must_deploy("Guarded", FIRST)
    before = team.endpoint("guarded")["EndpointConfigName"]
    said: list[tuple[bool, str]] = []
    deploying = threading.Thread(
        target=lambda: said.append(team.deploy("Guarded", replace(FIRST, tgi=NEW)))
    )

    with Traffic(team.aws, ("guarded", None)) as traffic:
        until(lambda: traffic.answered["guarded", None] > 10, limit=_PATIENCE)
        deploying.start()
        until(
            lambda: endpoint_status(team.sagemaker, "guarded") == "Updating",
            limit=_PATIENCE,
        )
        assert traffic.refused == []
        team.aws.fault("errors", "guarded", answer="503", rate=0.5)
        until(
            lambda: _has_gone_off(team, "guarded-Invocation5XXErrors"), limit=_PATIENCE
        )
        team.aws.clear_faults()
        deploying.join(timeout=_PATIENCE)

    ((succeeded, output),) = said
    assert not succeeded
    assert "alarms were triggered" in output
    assert "guarded-Invocation5XXErrors" in output
    (stack,) = team.aws.client("cloudformation").describe_stacks(StackName="Guarded")[
        "Stacks"
    ]
    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    shown = team.endpoint("guarded")
    assert shown["EndpointStatus"] == "InService"
    assert shown["EndpointConfigName"] == before
    assert f"tgi{OLD}" in team.image("guarded")
    assert traffic.answered["guarded", None] > 10
    # None but those that the fault was for.
    assert traffic.refused
    assert all("ModelError" in said and "503" in said for said in traffic.refused)


def _has_gone_off(team: Team, alarm: str) -> bool:
    found = team.aws.client("cloudwatch").describe_alarm_history(
        AlarmName=alarm, HistoryItemType="StateUpdate"
    )
    told = [item["HistorySummary"] for item in found["AlarmHistoryItems"]]
    return any(summary.endswith("to ALARM") for summary in told)
