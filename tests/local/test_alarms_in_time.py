"""
Alarms that change state while time runs; the time is run by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import NOON, HandRunAws, hand_run_aws

_METRIC: dict[str, Any] = {
    "Namespace": "Shop",
    "MetricName": "Orders",
    "Dimensions": [{"Name": "Till", "Value": "1"}],
}
_RULE: dict[str, Any] = {
    "ComparisonOperator": "GreaterThanThreshold",
    "Threshold": 5.0,
    "EvaluationPeriods": 2,
}
_ALARM: dict[str, Any] = {**_METRIC, **_RULE, "Statistic": "Sum", "Period": 60}


@pytest.fixture(name="aws")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws() as aws:
        yield aws


def _put(aws: HandRunAws, value: float, **settings: Untyped) -> None:
    datum = {"MetricName": "Orders", "Value": value, **settings}
    datum.setdefault("Dimensions", _METRIC["Dimensions"])
    aws.client("cloudwatch").put_metric_data(Namespace="Shop", MetricData=[datum])


def _alarm(aws: HandRunAws, name: str = "Busy") -> dict[str, Any]:
    found = aws.client("cloudwatch").describe_alarms(AlarmNames=[name])
    alarm: dict[str, Any] = found["MetricAlarms"][0]
    return alarm


def test_an_alarm_goes_off_and_comes_back(aws: HandRunAws) -> None:
    """
    Two minutes above, readable two minutes later; then one below.
    """
    aws.client("cloudwatch").put_metric_alarm(AlarmName="Busy", **_ALARM)
    assert _alarm(aws)["StateValue"] == "INSUFFICIENT_DATA"

    states = []
    for value in (9, 9, 1, 1, 1, 1):
        _put(aws, value)
        aws.run(60)
        states.append(_alarm(aws)["StateValue"])

    assert states == [
        *("INSUFFICIENT_DATA", "INSUFFICIENT_DATA"),
        *("OK", "ALARM", "OK", "OK"),
    ]
    alarm = _alarm(aws)
    assert alarm["StateReason"] == (
        "Threshold Crossed: 1 datapoint [1.0 (17/01/27 12:02:00)] was not greater than "
        "the threshold (5.0)."
    )
    assert alarm["StateUpdatedTimestamp"].timestamp() == NOON + 300
    assert json.loads(alarm["StateReasonData"])["recentDatapoints"] == [9.0, 1.0]


def test_the_history_tells_every_change(aws: HandRunAws) -> None:
    """
    The newest first, in pages, and of one alarm if asked.
    """
    cloudwatch = aws.client("cloudwatch")
    for name in ("Busy", "Other"):
        cloudwatch.put_metric_alarm(AlarmName=name, **_ALARM)
    for value in (9, 9, 1, 1, 1):
        _put(aws, value)
        aws.run(60)

    first = cloudwatch.describe_alarm_history(AlarmName="Busy", MaxRecords=2)
    rest = cloudwatch.describe_alarm_history(
        AlarmName="Busy", NextToken=first["NextToken"]
    )

    found = first["AlarmHistoryItems"] + rest["AlarmHistoryItems"]
    assert [item["HistorySummary"] for item in found] == [
        "Alarm updated from ALARM to OK",
        "Alarm updated from OK to ALARM",
        "Alarm updated from INSUFFICIENT_DATA to OK",
    ]
    assert found[1]["Timestamp"].timestamp() == NOON + 240
    assert len(cloudwatch.describe_alarm_history()["AlarmHistoryItems"]) == 6
    late = cloudwatch.describe_alarm_history(
        StartDate=datetime.fromtimestamp(NOON + 241, UTC)
    )
    assert len(late["AlarmHistoryItems"]) == 2


def test_silence_is_insufficient_data(aws: HandRunAws) -> None:
    """
    Unless the alarm says how missing points count.
    """
    cloudwatch = aws.client("cloudwatch")
    cloudwatch.put_metric_alarm(AlarmName="Busy", **_ALARM)
    cloudwatch.put_metric_alarm(
        AlarmName="Strict", **_ALARM, TreatMissingData="breaching"
    )
    _put(aws, 1)
    aws.run(180)
    assert _alarm(aws)["StateValue"] == "OK"

    aws.run(600)

    assert _alarm(aws)["StateValue"] == "INSUFFICIENT_DATA"
    assert _alarm(aws, "Strict")["StateReason"] == (
        "Threshold Crossed: no datapoints were received for 2 periods and 2 missing "
        "datapoints were treated as [Breaching]."
    )


def test_an_alarm_put_again_keeps_its_state(aws: HandRunAws) -> None:
    """
    And goes by its new threshold from then on.
    """
    cloudwatch = aws.client("cloudwatch")
    cloudwatch.put_metric_alarm(AlarmName="Busy", **_ALARM)
    for _ in range(4):
        _put(aws, 9)
        aws.run(60)
    assert _alarm(aws)["StateValue"] == "ALARM"

    cloudwatch.put_metric_alarm(AlarmName="Busy", **{**_ALARM, "Threshold": 50.0})
    assert _alarm(aws)["StateValue"] == "ALARM"
    aws.run(180)

    assert _alarm(aws)["StateValue"] == "OK"


def test_a_deleted_alarm_is_watched_no_more(aws: HandRunAws) -> None:
    """
    What comes under its name later starts anew.
    """
    cloudwatch = aws.client("cloudwatch")
    cloudwatch.put_metric_alarm(AlarmName="Busy", **_ALARM)
    for _ in range(4):
        _put(aws, 9)
        aws.run(60)

    cloudwatch.delete_alarms(AlarmNames=["Busy"])
    aws.run(120)
    assert cloudwatch.describe_alarms()["MetricAlarms"] == []
    cloudwatch.put_metric_alarm(AlarmName="Busy", **_ALARM)

    assert _alarm(aws)["StateValue"] == "INSUFFICIENT_DATA"


def test_metric_math_is_understood_where_the_engine_knows_it(aws: HandRunAws) -> None:
    """
    A sum of two; an anomaly band stays without data.
    """
    orders = {"Metric": _METRIC, "Period": 60, "Stat": "Sum"}
    cloudwatch = aws.client("cloudwatch")
    for name, expression in (
        ("Twice", "m1 * 2"),
        ("Odd", "ANOMALY_DETECTION_BAND(m1)"),
    ):
        cloudwatch.put_metric_alarm(
            AlarmName=name,
            **_RULE,
            Metrics=[
                {"Id": "m1", "MetricStat": orders, "ReturnData": False},
                {"Id": "e1", "Expression": expression, "ReturnData": True},
            ],
        )
    for _ in range(4):
        _put(aws, 3)
        aws.run(60)

    assert _alarm(aws, "Twice")["StateValue"] == "ALARM"
    assert _alarm(aws, "Odd")["StateValue"] == "INSUFFICIENT_DATA"


def test_percentiles_stay_without_data(aws: HandRunAws) -> None:
    """
    They cannot be computed of what is kept.
    """
    settings = {k: v for k, v in _ALARM.items() if k != "Statistic"}
    aws.client("cloudwatch").put_metric_alarm(
        AlarmName="Slow", ExtendedStatistic="p99", **settings
    )
    for _ in range(4):
        _put(aws, 9)
        aws.run(60)

    assert _alarm(aws, "Slow")["StateValue"] == "INSUFFICIENT_DATA"


@pytest.mark.parametrize(
    "datum",
    [
        {"Values": [1.0, 2.0], "Counts": [3.0, 2.0]},
        {
            "StatisticValues": {
                "Sum": 7.0,
                "Maximum": 3.0,
                "Minimum": 1.0,
                "SampleCount": 3.0,
            }
        },
        {"Value": 7.0, "Timestamp": NOON + 30},
    ],
)
def test_every_form_of_data_counts(aws: HandRunAws, datum: dict[str, Any]) -> None:
    """
    Values with counts, statistics, and a value with its time: seven each.
    """
    aws.client("cloudwatch").put_metric_alarm(
        AlarmName="Busy", **{**_ALARM, "EvaluationPeriods": 1, "Threshold": 6.5}
    )
    aws.client("cloudwatch").put_metric_data(
        Namespace="Shop",
        MetricData=[
            {"MetricName": "Orders", "Dimensions": _METRIC["Dimensions"], **datum}
        ],
    )
    aws.run(180)

    alarm = _alarm(aws)
    assert (alarm["StateValue"], "[7.0 (" in alarm["StateReason"]) == ("ALARM", True)


def test_a_state_that_is_set_lasts_until_the_next_evaluation(aws: HandRunAws) -> None:
    """
    And stands in the history with the reason that was given.
    """
    cloudwatch = aws.client("cloudwatch")
    cloudwatch.put_metric_alarm(AlarmName="Busy", **_ALARM)
    for _ in range(3):
        _put(aws, 1)
        aws.run(60)
    cloudwatch.set_alarm_state(
        AlarmName="Busy", StateValue="ALARM", StateReason="a drill"
    )
    assert _alarm(aws)["StateReason"] == "a drill"
    newest = cloudwatch.describe_alarm_history()["AlarmHistoryItems"][0]
    assert json.loads(newest["HistoryData"])["newState"]["stateReason"] == "a drill"

    aws.run(60)

    assert _alarm(aws)["StateValue"] == "OK"


def test_a_set_state_of_an_unknown_alarm_is_refused(aws: HandRunAws) -> None:
    """
    And data that is no JSON; both say what is wrong.
    """
    client = aws.client("cloudwatch")
    settings = {"StateValue": "ALARM", "StateReason": "a drill"}
    with pytest.raises(ClientError, match=r"ResourceNotFound.*There is no alarm None"):
        client.set_alarm_state(AlarmName="None", **settings)
    client.put_metric_alarm(AlarmName="Busy", **_ALARM)
    with pytest.raises(ClientError, match=r"StateReasonData is not valid JSON"):
        client.set_alarm_state(AlarmName="Busy", StateReasonData="{x", **settings)


def test_statistics_are_of_whole_minutes(aws: HandRunAws) -> None:
    """
    Of a start within a minute too, whenever the first value came.
    """
    client = aws.client("cloudwatch")
    aws.run(25)
    for value in (1.0, 2.0, 4.0):
        _put(aws, value)
        aws.run(40)
    asked = {
        **_METRIC,
        "StartTime": datetime.fromtimestamp(NOON + 7, UTC),
        "EndTime": datetime.fromtimestamp(NOON + 600, UTC),
        "Period": 60,
        "Statistics": ["Sum"],
    }

    found = client.get_metric_statistics(**asked)["Datapoints"]
    metric = {"Metric": _METRIC, "Period": 60, "Stat": "Sum"}
    data = client.get_metric_data(
        MetricDataQueries=[{"Id": "m", "MetricStat": metric}],
        StartTime=asked["StartTime"],
        EndTime=asked["EndTime"],
        ScanBy="TimestampAscending",
    )["MetricDataResults"][0]

    # At 25, 65 and 105 s.
    assert [(p["Timestamp"].timestamp() - NOON, p["Sum"]) for p in found] == [
        (0.0, 1.0),
        (60.0, 6.0),
    ]
    assert [t.timestamp() - NOON for t in data["Timestamps"]] == [0.0, 60.0]
    assert data["Values"] == [1.0, 6.0]


def test_without_time_nothing_goes_off() -> None:
    """
    The default: alarms stay as they were made, and are told of at once.
    """
    with hand_run_aws(takes_time=False) as aws:
        aws.client("cloudwatch").put_metric_alarm(AlarmName="Busy", **_ALARM)
        for _ in range(4):
            _put(aws, 9)
            aws.run(60)

        assert _alarm(aws)["StateValue"] == "OK"
        assert aws.client("cloudwatch").describe_alarm_history() != []
        history = aws.client("cloudwatch").describe_alarm_history()
        assert history["AlarmHistoryItems"] == []
