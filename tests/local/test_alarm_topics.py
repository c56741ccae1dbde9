"""
What an alarm's topics are told when it changes, and of which alarms they hear.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.scaling.alarm_words import region_name, subject
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import heard, notices, queue_of, topic_with_queue

_BUSY = {
    "AlarmName": "Busy",
    "AlarmDescription": "Too many orders",
    "Namespace": "Shop",
    "MetricName": "Orders",
    "Dimensions": [{"Name": "Till", "Value": "1"}],
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 1,
    "Threshold": 5.0,
    "ComparisonOperator": "GreaterThanThreshold",
    "TreatMissingData": "notBreaching",
}
_PAST = ("OK", "ALARM", "INSUFFICIENT_DATA")


@pytest.fixture
def aws() -> Iterator[HandRunAws]:
    """
    Give an AWS in which time passes by hand, from Sunday 17 January 2027 at noon on.
    """
    with hand_run_aws() as running:
        yield running


def _account(topic: str) -> str:
    return topic.split(":")[4]


def _order(aws: HandRunAws, count: float) -> None:
    datum = {
        "MetricName": "Orders",
        "Dimensions": [{"Name": "Till", "Value": "1"}],
        "Value": count,
    }
    aws.client("cloudwatch").put_metric_data(Namespace="Shop", MetricData=[datum])


def test_a_topic_hears_of_a_change_with_all_that_the_alarm_looks_at(
    aws: HandRunAws,
) -> None:
    """
    In the members and the subject of CloudWatch's own messages.
    """
    topic, queue = topic_with_queue(aws)
    aws.client("cloudwatch").put_metric_alarm(
        **_BUSY, DatapointsToAlarm=1, AlarmActions=[topic]
    )
    _order(aws, 9.0)
    aws.run(180)

    [notice] = notices(aws, queue)

    account = _account(topic)
    assert notice["Subject"] == 'ALARM: "Busy" in US East (N. Virginia)'
    assert json.loads(notice["Message"]) == {
        "AlarmName": "Busy",
        "AlarmDescription": "Too many orders",
        "AWSAccountId": account,
        "AlarmConfigurationUpdatedTimestamp": "2027-01-17T12:00:00.000+0000",
        "NewStateValue": "ALARM",
        "NewStateReason": (
            "Threshold Crossed: 1 out of the last 1 datapoints "
            "[9.0 (17/01/27 12:00:00)] was greater than the threshold (5.0) "
            "(minimum 1 datapoint for OK -> ALARM transition)."
        ),
        "StateChangeTime": "2027-01-17T12:03:00.000+0000",
        "Region": "US East (N. Virginia)",
        "AlarmArn": f"arn:aws:cloudwatch:us-east-1:{account}:alarm:Busy",
        "OldStateValue": "OK",
        "AlarmActions": [topic],
        "OKActions": [],
        "InsufficientDataActions": [],
        "Trigger": {
            "MetricName": "Orders",
            "Namespace": "Shop",
            "StatisticType": "Statistic",
            "Statistic": "SUM",
            "Unit": None,
            "Dimensions": [{"value": "1", "name": "Till"}],
            "Period": 60,
            "EvaluationPeriods": 1,
            "DatapointsToAlarm": 1,
            "ComparisonOperator": "GreaterThanThreshold",
            "Threshold": 5.0,
            "TreatMissingData": "notBreaching",
            "EvaluateLowSampleCountPercentile": "",
        },
    }


def test_each_state_has_topics_of_its_own_that_are_told_once(aws: HandRunAws) -> None:
    """
    An alarm that stays in ALARM says so once, unlike to a scaling policy.
    """
    topics = {state: topic_with_queue(aws) for state in _PAST}
    aws.client("cloudwatch").put_metric_alarm(
        **{**_BUSY, "TreatMissingData": "missing"},
        OKActions=[topics["OK"][0]],
        AlarmActions=[topics["ALARM"][0]],
        InsufficientDataActions=[topics["INSUFFICIENT_DATA"][0]],
    )
    for count in (9.0, 9.0, 1.0):
        _order(aws, count)
        aws.run(60)
    aws.run(900)

    told = {state: heard(aws, queue) for state, (_, queue) in topics.items()}

    assert {
        state: [(one["OldStateValue"], one["NewStateValue"]) for one in messages]
        for state, messages in told.items()
    } == {
        "ALARM": [("INSUFFICIENT_DATA", "ALARM")],
        "OK": [("ALARM", "OK")],
        "INSUFFICIENT_DATA": [("OK", "INSUFFICIENT_DATA")],
    }


def test_a_composite_tells_its_rule_and_an_expression_its_metrics(
    aws: HandRunAws,
) -> None:
    """
    Members that nobody gave are left out of the metrics.
    """
    topic, queue = topic_with_queue(aws)
    cloudwatch = aws.client("cloudwatch")
    orders = {
        "Namespace": "Shop",
        "MetricName": "Orders",
        "Dimensions": [{"Name": "Till", "Value": "1"}],
    }
    cloudwatch.put_metric_alarm(
        AlarmName="Twice",
        Metrics=[
            {
                "Id": "a",
                "MetricStat": {"Metric": orders, "Period": 60, "Stat": "Sum"},
                "ReturnData": False,
            },
            {"Id": "b", "Expression": "a * 2", "ReturnData": True},
        ],
        EvaluationPeriods=1,
        Threshold=5.0,
        ComparisonOperator="GreaterThanThreshold",
        AlarmActions=[topic],
    )
    cloudwatch.put_composite_alarm(
        AlarmName="Any", AlarmRule="ALARM(Twice)", AlarmActions=[topic]
    )
    _order(aws, 9.0)
    aws.run(180)

    by_name = {each["AlarmName"]: each for each in heard(aws, queue)}

    assert by_name["Any"]["AlarmRule"] == "ALARM(Twice)"
    assert "Trigger" not in by_name["Any"]
    assert by_name["Twice"]["Trigger"] == {
        "Metrics": [
            {
                "Id": "a",
                "MetricStat": {
                    "Metric": {
                        "Namespace": "Shop",
                        "MetricName": "Orders",
                        "Dimensions": [{"value": "1", "name": "Till"}],
                    },
                    "Period": 60,
                    "Stat": "Sum",
                },
                "ReturnData": False,
            },
            {"Id": "b", "Expression": "a * 2", "ReturnData": True},
        ],
        "EvaluationPeriods": 1,
        "ComparisonOperator": "GreaterThanThreshold",
        "Threshold": 5.0,
        "TreatMissingData": "missing",
        "EvaluateLowSampleCountPercentile": "",
    }


def test_a_percentile_is_told_as_one(aws: HandRunAws) -> None:
    """
    With what it does of few samples.
    """
    topic, queue = topic_with_queue(aws)
    client = aws.client("cloudwatch")
    settings = {name: each for name, each in _BUSY.items() if name != "Statistic"}
    client.put_metric_alarm(
        **settings,
        ExtendedStatistic="p99",
        EvaluateLowSampleCountPercentile="ignore",
        OKActions=[topic],
    )
    client.set_alarm_state(AlarmName="Busy", StateValue="OK", StateReason="calm")

    [message] = heard(aws, queue)

    trigger = message["Trigger"]
    assert trigger["StatisticType"] == "ExtendedStatistic"
    assert trigger["ExtendedStatistic"] == "p99"
    assert trigger["EvaluateLowSampleCountPercentile"] == "ignore"
    assert "DatapointsToAlarm" not in trigger
    assert message["NewStateReason"] == "calm"


@pytest.mark.parametrize("enabled", [True, False])
def test_no_topic_hears_of_what_is_no_change_or_switched_off(
    aws: HandRunAws, *, enabled: bool
) -> None:
    """
    A state that is set again is none.
    """
    topic, queue = topic_with_queue(aws)
    client = aws.client("cloudwatch")
    client.put_metric_alarm(**_BUSY, AlarmActions=[topic], ActionsEnabled=enabled)

    for _ in range(2):
        client.set_alarm_state(AlarmName="Busy", StateValue="ALARM", StateReason="x")

    assert len(heard(aws, queue)) == int(enabled)


_DENY = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "sns:Publish",
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}
_ALLOW = {
    "Effect": "Allow",
    "Principal": {"Service": "cloudwatch.amazonaws.com"},
    "Action": "sns:Publish",
}


def _allow_if(**condition: Untyped) -> dict[str, Any]:
    return {**_ALLOW, "Condition": condition}


@pytest.mark.parametrize(
    ("statements", "is_told"),
    [
        ([_DENY], False),  # As enforce_ssl alone leaves a topic.
        ([_DENY, _ALLOW], True),
        ([_ALLOW, {**_DENY, "Condition": {}}], False),
        ([{**_ALLOW, "Principal": {"Service": "events.amazonaws.com"}}], False),
        ([{**_ALLOW, "Principal": {"AWS": "ACCOUNT"}}], False),
        ([{**_ALLOW, "Principal": "*"}], True),
        ([{**_ALLOW, "Action": ["sns:Subscribe"]}], False),
        ([{**_ALLOW, "Action": ["SNS:Pub*"]}], True),
        ([_allow_if(StringEquals={"aws:SourceAccount": "ACCOUNT"})], True),
        ([_allow_if(StringEquals={"AWS:SourceOwner": ["1", "ACCOUNT"]})], True),
        ([_allow_if(StringEquals={"aws:SourceAccount": "1"})], False),
        ([_allow_if(ArnLike={"aws:SourceArn": "arn:*:ACCOUNT:alarm:B*"})], True),
        ([_allow_if(ArnLike={"aws:SourceArn": "arn:*:ACCOUNT:alarm:C*"})], False),
        ([_allow_if(StringEquals={"aws:PrincipalOrgID": "o-1"})], False),
        ([_allow_if(StringNotEquals={"aws:SourceAccount": "1"})], False),
    ],
)
def test_a_topic_hears_only_whom_its_policy_lets_speak(
    aws: HandRunAws, statements: list[dict[str, Any]], *, is_told: bool
) -> None:
    """
    ``ACCOUNT`` stands for the topic's own account.
    """
    topic, queue = topic_with_queue(aws)
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    aws.client("sns").set_topic_attributes(
        TopicArn=topic,
        AttributeName="Policy",
        AttributeValue=policy.replace("ACCOUNT", _account(topic)),
    )
    client = aws.client("cloudwatch")
    client.put_metric_alarm(**_BUSY, AlarmActions=[topic])

    client.set_alarm_state(AlarmName="Busy", StateValue="ALARM", StateReason="x")

    assert len(heard(aws, queue)) == int(is_told)


@pytest.mark.parametrize("statements", [[_DENY], [_DENY, _ALLOW]])
def test_a_stack_writes_the_policy_that_decides(
    aws: HandRunAws, statements: list[dict[str, Any]]
) -> None:
    """
    As ``examples/dashboard`` does, whose topic is for alarms of its own account alone.
    """
    topic = {"Ref": "Topic"}
    alarms = {"Fn::Sub": "arn:${AWS::Partition}:cloudwatch:*:${AWS::AccountId}:alarm:*"}
    allow = {
        "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}},
        "ArnLike": {"aws:SourceArn": alarms},
    }
    document = {
        "Version": "2012-10-17",
        "Statement": [
            {"Condition": allow, **each, "Resource": topic} for each in statements
        ],
    }
    resources = {
        "Topic": {"Type": "AWS::SNS::Topic"},
        "Policy": {
            "Type": "AWS::SNS::TopicPolicy",
            "Properties": {"Topics": [topic], "PolicyDocument": document},
        },
        "Busy": {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {**_BUSY, "AlarmActions": [topic]},
        },
    }
    outputs = {"Topic": {"Value": topic}}
    cloudformation = aws.client("cloudformation")
    cloudformation.create_stack(
        StackName="Shop",
        TemplateBody=json.dumps({"Resources": resources, "Outputs": outputs}),
    )
    aws.run(10)
    [stack] = cloudformation.describe_stacks(StackName="Shop")["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    queue = queue_of(aws, stack["Outputs"][0]["OutputValue"])

    _order(aws, 9.0)
    aws.run(180)

    assert [each["NewStateValue"] for each in heard(aws, queue)] == (
        ["ALARM"] if _ALLOW in statements else []
    )


def test_a_topic_that_is_not_there_stops_nothing(aws: HandRunAws) -> None:
    """
    The other one of the alarm hears of it all the same.
    """
    topic, queue = topic_with_queue(aws)
    client = aws.client("cloudwatch")
    client.put_metric_alarm(**_BUSY, AlarmActions=[f"{topic}-gone", topic])

    client.set_alarm_state(AlarmName="Busy", StateValue="ALARM", StateReason="x")

    assert len(heard(aws, queue)) == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a" * 70, f'OK: "{"a" * 70}" in Asia Pacific (Tokyo)'),
        ("a" * 71, f'OK: "{"a" * 71}" in Asia Pacific (To...'),
    ],
)
def test_a_subject_has_a_hundred_characters_at_most(name: str, line: str) -> None:
    """
    More is cut, and shown as cut.
    """
    assert subject(name, "OK", "ap-northeast-1") == line
    assert len(line) <= 100


def test_a_region_that_the_sdk_has_no_name_for_goes_by_its_code() -> None:
    """
    As one does that is newer than the SDK.
    """
    assert region_name("eu-west-3") == "Europe (Paris)"
    assert region_name("xx-nowhere-1") == "xx-nowhere-1"
