"""
Alarms as CloudWatch takes, tells and refuses them, word for word; and their history.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import NOON, HandRunAws, hand_run_aws
from tests.local.hosting_requests import unchecked, words

_ALARM: dict[str, Any] = {
    "AlarmName": "Words",
    "Namespace": "Shop",
    "MetricName": "Orders",
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 3,
    "Threshold": 1.0,
    "ComparisonOperator": "GreaterThanThreshold",
}
_WHOLE_ALARM: dict[str, Any] = {
    **_ALARM,
    "AlarmDescription": "too many",
    "ActionsEnabled": False,
    "OKActions": ["arn:aws:sns:us-east-1:1:ok"],
    "AlarmActions": ["arn:aws:sns:us-east-1:1:alarm"],
    "InsufficientDataActions": ["arn:aws:sns:us-east-1:1:silent"],
    "Dimensions": [{"Name": "Till", "Value": "1"}],
    "Unit": "Count",
    "DatapointsToAlarm": 2,
    "TreatMissingData": "ignore",
}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws() as aws:
        yield aws


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"Threshold": None}, "The parameter Threshold is required."),
        (
            {"ComparisonOperator": None},
            "The parameter ComparisonOperator is required.",
        ),
        ({"EvaluationPeriods": None}, "The parameter EvaluationPeriods is required."),
        ({"Namespace": None}, "The parameter Namespace is required."),
        ({"Period": None}, "The parameter Period is required."),
        ({"Period": 40}, "Period must be 10, 20, 30 or a multiple of 60, got 40."),
        (
            {"DatapointsToAlarm": 4},
            "DatapointsToAlarm must be less than or equal to EvaluationPeriods.",
        ),
        (
            {"TreatMissingData": "forget"},
            (
                "Option forget is not supported. Supported options for parameter "
                "TreatMissingData are breaching, ignore, missing, notBreaching."
            ),
        ),
        ({"MetricName": None}, "Specify either MetricName or Metrics."),
        (
            {"Statistic": None},
            "Exactly one of Statistic and ExtendedStatistic must be specified.",
        ),
        (
            {"Statistic": None, "ExtendedStatistic": "p100.1"},
            "The value p100.1 for parameter ExtendedStatistic is not supported.",
        ),
        (
            {"EvaluationPeriods": 1441},
            (
                "Metrics cannot be checked across more than a day (EvaluationPeriods "
                "* Period must be <= 86400)"
            ),
        ),
        (
            {"Period": 3600, "EvaluationPeriods": 169},
            (
                "Metrics cannot be checked across more than seven days "
                "(EvaluationPeriods * Period must be <= 604800)"
            ),
        ),
        *(
            (
                {member: ["arn:aws:sns:us-east-1:1:x"] * 6},
                (
                    "1 validation error detected: Value '"
                    f"{['arn:aws:sns:us-east-1:1:x'] * 6}' at '{place}' failed to "
                    "satisfy constraint: Member must have length less than or equal "
                    "to 5"
                ),
            )
            for member, place in (
                ("OKActions", "oKActions"),
                ("AlarmActions", "alarmActions"),
                ("InsufficientDataActions", "insufficientDataActions"),
            )
        ),
        *(
            (
                {member: "x" * (most + 1)},
                (
                    f"1 validation error detected: Value '{'x' * (most + 1)}' at "
                    f"'{place}' failed to satisfy constraint: Member must have length "
                    f"less than or equal to {most}"
                ),
            )
            for member, place, most in (
                ("AlarmDescription", "alarmDescription", 1024),
                ("MetricName", "metricName", 255),
            )
        ),
    ],
)
def test_alarms(aws: HandRunAws, change: dict[str, Any], told: str) -> None:
    """
    Refused, and not there.
    """
    client = unchecked(aws, "cloudwatch")

    assert words(client.put_metric_alarm, **{**_ALARM, **change}) == told
    assert client.describe_alarms(AlarmNames=["Words"])["MetricAlarms"] == []


def test_an_alarm_is_told_as_it_was_put(aws: HandRunAws) -> None:
    """
    Every member; and put again with less, it has less.
    """
    client = aws.client("cloudwatch")
    client.put_metric_alarm(**_WHOLE_ALARM)
    (first,) = client.describe_alarms(AlarmNames=["Words"])["MetricAlarms"]
    client.put_metric_alarm(**_ALARM)
    (second,) = client.describe_alarms(AlarmNames=["Words"])["MetricAlarms"]
    client.delete_alarms(AlarmNames=["Words"])

    assert {key: first[key] for key in _WHOLE_ALARM} == _WHOLE_ALARM
    assert {key: second[key] for key in _ALARM} == _ALARM
    assert "Unit" not in second
    assert second["ActionsEnabled"] is True


def states(aws: HandRunAws) -> dict[str, str]:
    """
    Return the state of every alarm.
    """
    kinds = ["MetricAlarm", "CompositeAlarm"]
    found = aws.client("cloudwatch").describe_alarms(AlarmTypes=kinds)
    every = found["MetricAlarms"] + found["CompositeAlarms"]
    return {alarm["AlarmName"]: alarm["StateValue"] for alarm in every}


def test_composites_that_lead_to_themselves_come_to_an_end() -> None:
    """
    Each is looked at once in turn; and a composite follows as often as its alarm goes.
    """
    with hand_run_aws() as aws:
        client = aws.client("cloudwatch")
        client.put_composite_alarm(AlarmName="Not", AlarmRule="NOT ALARM(Same)")
        client.put_composite_alarm(AlarmName="Same", AlarmRule="ALARM(Not)")
        assert states(aws) == {"Not": "OK", "Same": "OK"}
        client.put_composite_alarm(AlarmName="Self", AlarmRule="NOT ALARM(Self)")
        assert states(aws)["Self"] == "OK"

        client.put_metric_alarm(**_ALARM)
        client.put_composite_alarm(AlarmName="Any", AlarmRule="ALARM(Words)")
        for state in ("ALARM", "OK", "ALARM"):
            client.set_alarm_state(
                AlarmName="Words", StateValue=state, StateReason="a drill"
            )
            assert states(aws)["Any"] == state
        client.delete_alarms(AlarmNames=["Any"])
        client.set_alarm_state(
            AlarmName="Words", StateValue="OK", StateReason="a drill"
        )
        history = client.describe_alarm_history(AlarmName="Any")["AlarmHistoryItems"]

    assert len(history) == 4


def test_the_history_is_told_as_asked() -> None:
    """
    Every member; by time, by kind and by the page, whose size is a hundred.
    """
    with hand_run_aws() as aws:
        client = aws.client("cloudwatch")
        client.put_metric_alarm(**_ALARM, TreatMissingData="ignore")
        for number in range(102):
            client.set_alarm_state(
                AlarmName="Words",
                StateValue="OK" if number % 2 else "ALARM",
                StateReason=f"drill {number}",
            )
            aws.run(1)

        def told(**asked: Untyped) -> list[str]:
            items = client.describe_alarm_history(**asked)["AlarmHistoryItems"]
            return [
                json.loads(one["HistoryData"])["newState"]["stateReason"]
                for one in items
            ]

        def at(seconds: int) -> datetime:
            return datetime.fromtimestamp(NOON + seconds, UTC)

        first = client.describe_alarm_history()
        rest = client.describe_alarm_history(NextToken=first["NextToken"])
        assert len(first["AlarmHistoryItems"]) == 100
        assert len(rest["AlarmHistoryItems"]) == 2
        assert "NextToken" not in rest
        item = rest["AlarmHistoryItems"][-1]
        assert json.loads(item.pop("HistoryData")) == {
            "version": "1.0",
            "oldState": {"stateValue": "INSUFFICIENT_DATA"},
            "newState": {"stateValue": "ALARM", "stateReason": "drill 0"},
        }
        assert item.pop("Timestamp").timestamp() == NOON
        assert item == {
            "AlarmName": "Words",
            "AlarmType": "MetricAlarm",
            "HistoryItemType": "StateUpdate",
            "HistorySummary": "Alarm updated from INSUFFICIENT_DATA to ALARM",
        }
        both = {"StartDate": at(3), "EndDate": at(4)}
        assert told(**both) == ["drill 4", "drill 3"]
        assert told(**both, ScanBy="TimestampAscending") == ["drill 3", "drill 4"]
        assert told(**both, HistoryItemType="StateUpdate", AlarmName="Words") == [
            "drill 4",
            "drill 3",
        ]
        assert told(HistoryItemType="Action") == []
        assert told(AlarmName="Other") == []
        made_up = words(client.describe_alarm_history, NextToken="x")
        assert made_up == "NextToken is not valid"
        alarms = aws.watching.alarms
        assert alarms is not None
        assert alarms.history.maxlen == 1000


@pytest.mark.parametrize(
    ("data", "newest"),
    [
        ('{"recentDatapoints": [4.0, 8.0, 20.0]}', 20.0),
        ('{"recentDatapoints": []}', None),
        ('{"recentDatapoints": [4.0, null]}', None),
        ('{"recentDatapoints": "no"}', None),
        ("{}", None),
        ("[]", None),
    ],
)
def test_what_a_set_state_says_is_the_last_value(
    data: str, newest: float | None
) -> None:
    """
    If it says one.
    """
    with hand_run_aws() as aws:
        client = aws.client("cloudwatch")
        client.put_metric_alarm(**_ALARM, AlarmActions=["arn:aws:sns:us-east-1:1:a"])
        alarms = aws.watching.alarms
        assert alarms is not None
        acted: list[float | None] = []
        alarms._act = lambda _, alarm: acted.append(alarm.latest)  # noqa: SLF001 - what a policy hears
        client.set_alarm_state(
            AlarmName="Words",
            StateValue="ALARM",
            StateReason="a drill",
            StateReasonData=data,
        )

    assert acted == ([] if newest is None else [newest])
