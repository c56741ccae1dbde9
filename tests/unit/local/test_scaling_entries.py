"""
What Application Auto Scaling tells of one activity, word for word.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.scaling.scalable_targets import ScalingEntry, queries_of
from cdk_sagemaker_llm.simulation.scaling import Activity

_CAUSE = "monitor alarm Busy in state ALARM triggered policy Traffic"
_HEAD = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": "inference-component/llama",
    "ScalableDimension": "sagemaker:inference-component:DesiredCopyCount",
    "Cause": _CAUSE,
    "StartTime": 100.0,
}
_DONE = "Successfully set desired copy count to 3."


def entry(
    *,
    completed: float | None = None,
    not_scaled: str = "",
    refusal: str = "",
    reached: int | None = None,
) -> ScalingEntry:
    """
    Make the entry of a change from two copies to three.
    """
    return ScalingEntry(
        activity=Activity(
            time=100.0,
            before=2,
            after=3,
            policy="Traffic",
            cause=_CAUSE,
            completed=completed,
            not_scaled=not_scaled,
        ),
        resource_id="inference-component/llama",
        dimension="sagemaker:inference-component:DesiredCopyCount",
        noun="copy",
        refusal=refusal,
        reached=reached,
    )


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (
            entry(),
            {
                "StatusCode": "InProgress",
                "StatusMessage": (
                    f"{_DONE} Waiting for change to be fulfilled by sagemaker."
                ),
            },
        ),
        (
            entry(completed=160.0),
            {
                "StatusCode": "Successful",
                "StatusMessage": f"{_DONE} Change successfully fulfilled by sagemaker.",
                "EndTime": 160.0,
            },
        ),
        (
            entry(completed=160.0, reached=3),
            {
                "StatusCode": "Successful",
                "StatusMessage": f"{_DONE} Change successfully fulfilled by sagemaker.",
                "EndTime": 160.0,
            },
        ),
        (
            entry(completed=160.0, reached=2),
            {
                "StatusCode": "Unfulfilled",
                "StatusMessage": f"{_DONE} Change was not fulfilled by sagemaker.",
                "EndTime": 160.0,
            },
        ),
        (
            entry(refusal="It is busy."),
            {
                "StatusCode": "Failed",
                "StatusMessage": (
                    "Failed to set desired copy count to 3. Reason: It is busy."
                ),
                "Details": "It is busy.",
                "EndTime": 100.0,
            },
        ),
    ],
    ids=["waits", "over", "reached", "short", "refused"],
)
def test_a_change_is_told_as_far_as_it_is(
    state: ScalingEntry, told: dict[str, Any]
) -> None:
    """
    It is under way, there, short of what was wanted, or refused.
    """
    answer = state.as_answer()

    identity = answer.pop("ActivityId")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", identity)
    assert identity == state.as_answer()["ActivityId"]
    described = {"Description": "Setting desired copy count to 3."}
    assert answer == {**_HEAD, **described, **told}


@pytest.mark.parametrize(
    ("code", "capacity"),
    [
        ("AlreadyAtMaxCapacity", {"MaxCapacity": 3}),
        ("AlreadyAtMinCapacity", {"MinCapacity": 3}),
        ("AlreadyAtDesiredCapacity", {"CurrentCapacity": 3}),
        ("AutoScalingAnticipatedFlapping", {}),
    ],
)
def test_what_was_not_done_has_its_reason(code: str, capacity: dict[str, int]) -> None:
    """
    With the capacity that it is about, if it is about one.
    """
    answer = entry(not_scaled=code).as_answer()

    del answer["ActivityId"]
    assert answer == {
        **_HEAD,
        "Description": "Attempting to scale due to alarm triggered",
        "StatusCode": "Failed",
        "NotScaledReasons": [{"Code": code, **capacity}],
    }


def test_an_alarm_reads_every_member_of_a_query() -> None:
    """
    A metric with its dimensions, unit and period; what says nothing returns data.
    """
    metric = {
        "Namespace": "N",
        "MetricName": "M",
        "Dimensions": [{"Name": "D", "Value": "V"}],
    }
    stat = {"Metric": metric, "Stat": "Sum", "Unit": "Count", "Period": 300}
    query = {"Id": "m", "Label": "told", "MetricStat": stat}
    read: Untyped = queries_of([query])[0]

    assert (read.id, read.label, read.return_data) == ("m", "told", True)
    assert (read.expression, read.period) == (None, None)
    found = read.metric_stat
    assert (found.stat, found.unit, found.period) == ("Sum", "Count", 300)
    assert (found.metric.namespace, found.metric.metric_name) == ("N", "M")
    assert [(one.name, one.value) for one in found.metric.dimensions] == [("D", "V")]


def test_an_alarm_reads_metric_math() -> None:
    """
    An expression has no metric; a period that is given takes the place of the query's.
    """
    metric = {"Metric": {"Namespace": "N", "MetricName": "M"}, "Stat": "Average"}
    queries: list[dict[str, Any]] = [
        {"Id": "e", "Expression": "m / 2", "Period": 60, "ReturnData": False},
        {"Id": "m", "MetricStat": {**metric, "Period": 300}},
    ]
    half: Untyped
    read: Untyped
    half, read = queries_of(queries, 60)

    assert (half.id, half.expression) == ("e", "m / 2")
    assert (half.period, half.return_data, half.metric_stat) == (60, False, None)
    found = read.metric_stat
    assert (found.period, found.unit, found.metric.dimensions) == ("60", None, [])
