"""
What the service would refuse of how any app is scaled.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.app.templates import name_of, resource
from tests.unit.cli.app.test_requests import base, changed, codes_of, found_in


def test_a_number_is_scaled_once(tmp_path: Path) -> None:
    """
    The second target is the one that is told of.
    """
    resources = base()
    resources["Again"] = copy.deepcopy(resources["Copies"])
    found = found_in(tmp_path, resources)

    assert codes_of(found) == {"Again": ["LLM301"]}
    assert "is scaled by Host/Copies already" in str(found["Again"][0])


@pytest.mark.parametrize("is_async", [False, True])
def test_a_queue_is_followed_where_there_is_one(
    tmp_path: Path,
    is_async: bool,  # noqa: FBT001 - a table
) -> None:
    """
    By a policy's own metric and by an alarm.
    """
    resources = base()
    metric = {
        "Namespace": "AWS/SageMaker",
        "MetricName": "ApproximateBacklogSizePerInstance",
        "Dimensions": [
            {"Name": "EndpointName", "Value": name_of("Host", "EndpointName")}
        ],
    }
    resources["Alarm"] = resource("CloudWatch::Alarm", **metric)
    tracking = {"TargetValue": 5, "CustomizedMetricSpecification": metric}
    resources["Policy"] = resource(
        "ApplicationAutoScaling::ScalingPolicy",
        PolicyType="TargetTrackingScaling",
        ScalingTargetId={"Ref": "Own"},
        TargetTrackingScalingPolicyConfiguration=tracking,
    )
    resources["Other"] = resource(
        "CloudWatch::Alarm", **{**metric, "MetricName": "Invocations"}
    )
    if is_async:
        resources["Config"]["Properties"]["AsyncInferenceConfig"] = {"OutputConfig": {}}

    found = codes_of(found_in(tmp_path, resources))
    assert found == ({} if is_async else {"Alarm": ["LLM349"], "Policy": ["LLM349"]})


def test_what_belongs_to_another_service_is_not_looked_at(tmp_path: Path) -> None:
    """
    Application Auto Scaling has many.
    """
    resources = changed("Copies.ServiceNamespace", "ecs")
    resources["Copies"]["Properties"]["MinCapacity"] = -1

    assert found_in(tmp_path, resources) == {}


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        ("cron(0 8 ? * MON-FRI *)", ""),
        ("cron(0 8 * * ? *)", ""),
        ("rate(5 minutes)", ""),
        ("at(2026-11-28T08:00:00)", ""),
        ({"Ref": "Schedule"}, ""),
        # Quartz may read it.
        ("cron(0 8 ? * FRI-MON *)", ""),
        ("cron(0 8 * * *)", "LLM304"),
        ("rate(0 minutes)", "LLM304"),
        ("daily", "LLM304"),
        ("", "LLM304"),
    ],
)
def test_a_schedule_can_be_read(tmp_path: Path, schedule: object, code: str) -> None:
    """
    As the constructs read it.
    """
    action = {"ScheduledActionName": "morning", "Schedule": schedule}
    resources = changed("Own.ScheduledActions", [action])
    found = codes_of(found_in(tmp_path, resources))

    assert found == ({"Own": [code]} if code else {})


def step(lower: object, upper: object) -> dict[str, Any]:
    """
    Write a step; ``None`` is no bound.
    """
    bounds = {"MetricIntervalLowerBound": lower, "MetricIntervalUpperBound": upper}
    known = {key: value for key, value in bounds.items() if value is not None}
    return {**known, "ScalingAdjustment": 1}


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([step(0, None)], ""),
        ([step(None, 0)], ""),
        ([step(10, None), step(0, 10)], ""),
        ([step(None, 0), step(0, "10"), step(10, None)], ""),
        ([step(0, {"Ref": "End"}), step(10, None)], ""),
        ([], ""),
        ([step(0, 10), step(20, None)], "must lead on from 10, got one from 20"),
        ([step(0, 10), step(5, None)], "must lead on from 10, got one from 5"),
        ([step(0, None), step(10, None)], "must be the last, got one from 10 as well"),
        ([step(10, 10)], "must be below MetricIntervalUpperBound, got 10 and 10"),
        ([step(20, 10)], "got 20 and 10"),
    ],
)
def test_steps_neither_overlap_nor_leave_a_gap(
    tmp_path: Path, steps: list[dict[str, Any]], words: str
) -> None:
    """
    In whatever order they stand, and of both ways.
    """
    resources = base()
    resources["Policy"] = resource(
        "ApplicationAutoScaling::ScalingPolicy",
        PolicyType="StepScaling",
        ScalingTargetId={"Ref": "Own"},
        StepScalingPolicyConfiguration={"StepAdjustments": steps},
    )
    found = found_in(tmp_path, resources)

    assert codes_of(found) == ({"Policy": ["LLM303"]} if words else {})
    assert not words or words in str(found["Policy"][0])


def test_the_last_instance_goes_where_requests_wait(tmp_path: Path) -> None:
    """
    In a queue; that of a model that answers at once stays.
    """
    resources = changed("Own.MinCapacity", 0)
    at_once = codes_of(found_in(tmp_path, resources))
    resources["Config"]["Properties"]["AsyncInferenceConfig"] = {"OutputConfig": {}}

    assert at_once == {"Own": ["LLM105"]}
    assert found_in(tmp_path, resources) == {}
