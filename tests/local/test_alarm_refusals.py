"""
What CloudWatch refuses of alarms, over the API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import unchecked, unique

MATH = [
    {"Id": "e", "Expression": "m * 2", "ReturnData": True},
    {
        "Id": "m",
        "ReturnData": False,
        "MetricStat": {
            "Metric": {"Namespace": "N", "MetricName": "M"},
            "Period": 60,
            "Stat": "Sum",
        },
    },
]
NO_METRIC = {"Namespace": None, "MetricName": None, "Period": None, "Statistic": None}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(takes_time=False) as aws:
        yield aws


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"Period": 15}, "Period must be 10, 20, 30 or a multiple of 60, got 15."),
        ({"Period": 90}, "Period must be 10, 20, 30 or a multiple of 60, got 90."),
        ({"Period": 0}, "'period' failed to satisfy constraint"),
        ({"Period": None}, "The parameter Period is required."),
        ({"EvaluationPeriods": 0}, "'evaluationPeriods' failed to satisfy"),
        ({"EvaluationPeriods": None}, "EvaluationPeriods is required."),
        ({"DatapointsToAlarm": 0}, "'datapointsToAlarm' failed to satisfy"),
        ({"DatapointsToAlarm": 4}, "DatapointsToAlarm must be less than or equal"),
        ({"Statistic": None}, "Exactly one of Statistic and ExtendedStatistic"),
        ({"ExtendedStatistic": "p99"}, "Exactly one of Statistic and ExtendedStatis"),
        ({"Statistic": "Median"}, "Member must satisfy enum value set: [SampleCount"),
        ({"Statistic": None, "ExtendedStatistic": "p101"}, "The value p101 for param"),
        ({"Threshold": None}, "The parameter Threshold is required."),
        ({"ComparisonOperator": None}, "ComparisonOperator is required."),
        ({"ComparisonOperator": "Above"}, "Member must satisfy enum value set"),
        ({"TreatMissingData": "forget"}, "Option forget is not supported."),
        ({"Namespace": None}, "The parameter Namespace is required."),
        (NO_METRIC, "Specify either MetricName or Metrics."),
        ({"EvaluationPeriods": 1441}, "across more than a day"),
        ({"Period": 3600, "EvaluationPeriods": 169}, "across more than seven days"),
        ({"AlarmActions": ["a"] * 6}, "Member must have length less than or equal to"),
    ],
)
def test_refused(aws: HandRunAws, change: dict[str, Any], words: str) -> None:
    """
    And no alarm is kept.
    """
    name = unique("alarm")

    with pytest.raises(ClientError, match=re.escape(words)):
        put(aws, name, change)
    assert not described(aws, name)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"Period": 10},
        {"Period": 30, "EvaluationPeriods": 1},
        {"EvaluationPeriods": 1440},
        {"Period": 3600, "EvaluationPeriods": 168},
        {"DatapointsToAlarm": 3},
        {"TreatMissingData": "notBreaching"},
        {"Statistic": None, "ExtendedStatistic": "p99.9"},
        {"Statistic": None, "ExtendedStatistic": "tm95"},
        {"Statistic": None, "ExtendedStatistic": "PR(100:2000)"},
        {**NO_METRIC, "Metrics": MATH},
        {"Threshold": 0},
    ],
)
def test_taken(aws: HandRunAws, change: dict[str, Any]) -> None:
    """
    The boundaries on the right side, and what moto does not know.
    """
    name = unique("alarm")
    put(aws, name, change)

    found = described(aws, name)[0]
    assert found.get("ExtendedStatistic") == change.get("ExtendedStatistic")


def put(aws: HandRunAws, name: str, change: dict[str, Any]) -> None:
    """
    Put an alarm, with something changed.
    """
    alarm = {
        "AlarmName": name,
        "Namespace": "AWS/SageMaker",
        "MetricName": "Invocations",
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 3,
        "Threshold": 1.0,
        "ComparisonOperator": "GreaterThanThreshold",
        **change,
    }
    unchecked(aws, "cloudwatch").put_metric_alarm(
        **{key: value for key, value in alarm.items() if value is not None}
    )


def described(aws: HandRunAws, name: str) -> list[dict[str, Any]]:
    """
    Find an alarm.
    """
    found = aws.client("cloudwatch").describe_alarms(AlarmNames=[name])
    alarms: list[dict[str, Any]] = found["MetricAlarms"]
    return alarms
