"""
Composite alarms: their rules, and what becomes of them while time runs.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.local.scaling.alarms import composite_state
from tests.local.by_hand import hand_run_aws

_STATES = {"a": "ALARM", "b": "OK", "c d": "INSUFFICIENT_DATA"}


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("ALARM(a)", "ALARM"),
        ("  ALARM(a)  ", "ALARM"),
        ('ALARM("b")', "OK"),
        ('OK(b) AND INSUFFICIENT_DATA("c d")', "ALARM"),
        ("ALARM( arn:aws:cloudwatch:us-east-1:1:alarm:a )", "ALARM"),
        ("ALARM(unknown)", "OK"),
        ("NOT ALARM(b)", "ALARM"),
        # NOT binds closest, then AND, then OR.
        ("ALARM(a) OR ALARM(a) AND ALARM(b)", "ALARM"),
        ("(ALARM(a) OR ALARM(a)) AND ALARM(b)", "OK"),
        ("NOT ALARM(b) AND ALARM(b)", "OK"),
        ("NOT (ALARM(b) AND ALARM(b))", "ALARM"),
        ("TRUE AND NOT FALSE", "ALARM"),
        ("", None),
        ("ALARM(a", None),
        ("ALARM(a) ALARM(b)", None),
        ("ALARM(a) AND", None),
        ("(ALARM(a)", None),
        ("(ALARM(a) OR (", None),
        ("AND", None),
        ("SLOW(a)", None),
    ],
)
def test_a_rule_is_read_as_cloudwatch_reads_it(rule: str, state: str | None) -> None:
    """
    What cannot be read has no state.
    """
    assert composite_state(rule, _STATES.get) == state


def test_a_composite_follows_its_alarms() -> None:
    """
    And those that are made of it follow in turn, each with its reason.
    """
    with hand_run_aws() as aws:
        cloudwatch = aws.client("cloudwatch")
        cloudwatch.put_metric_alarm(
            AlarmName="Busy",
            Namespace="Shop",
            MetricName="Orders",
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=5.0,
            ComparisonOperator="GreaterThanThreshold",
        )
        cloudwatch.put_composite_alarm(AlarmName="Any", AlarmRule="ALARM(Busy)")
        cloudwatch.put_composite_alarm(AlarmName="None", AlarmRule="NOT ALARM(Any)")
        # Two that lead to each other come to an end.
        cloudwatch.put_composite_alarm(AlarmName="Egg", AlarmRule="NOT ALARM(Hen)")
        cloudwatch.put_composite_alarm(AlarmName="Hen", AlarmRule="NOT ALARM(Egg)")

        def states() -> dict[str, str]:
            found = cloudwatch.describe_alarms(
                AlarmTypes=["MetricAlarm", "CompositeAlarm"]
            )
            every = found["MetricAlarms"] + found["CompositeAlarms"]
            return {alarm["AlarmName"]: alarm["StateValue"] for alarm in every}

        before = states()
        cloudwatch.put_metric_data(
            Namespace="Shop", MetricData=[{"MetricName": "Orders", "Value": 9.0}]
        )
        aws.run(180)
        after = states()
        aws.run(60)
        found = cloudwatch.describe_alarm_history(
            AlarmName="Any", ScanBy="TimestampAscending"
        )
        history = found["AlarmHistoryItems"]

    names = ("Busy", "Any", "None")
    assert [before[name] for name in names] == ["INSUFFICIENT_DATA", "OK", "ALARM"]
    assert [after[name] for name in names] == ["ALARM", "ALARM", "OK"]
    assert {item["AlarmType"] for item in history} == {"CompositeAlarm"}
    assert "was created and its alarm rule was evaluated" in history[0]["HistoryData"]
    assert (
        "alarm:Busy transitioned to ALARM at Sunday 17 January, 2027 12:03:00 UTC"
        in history[1]["HistoryData"]
    )
