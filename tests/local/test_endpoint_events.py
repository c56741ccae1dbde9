"""
What rules hear of endpoints: the states that they enter, and the updates that SageMaker
turns back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Template
from aws_cdk.aws_sns import Topic

from cdk_sagemaker_llm import AllAtOnce, Endpoint, EndpointConfig
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import make_config, make_endpoint, make_model, unique
from tests.local.waiting import endpoint_status, until


@pytest.fixture(name="aws")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(TIMES) as aws:
        yield aws


def configured(aws: HandRunAws) -> str:
    """
    Make a configuration of a model on two instances.
    """
    variant = {
        "ModelName": make_model(aws),
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": 2,
    }
    return make_config(aws, variant=variant)


def pattern_of(define: str, endpoint: str, config: str, **given: Any) -> str:  # noqa: ANN401 - what the method takes
    """
    Return the pattern of the rule that a method makes for an endpoint; that of its
    rollout where no method is named.
    """
    stack = Stack(App(), "Stack")
    rollout = None if define else AllAtOnce(notify=Topic(stack, "Topic"))
    made = Endpoint(
        stack,
        "Endpoint",
        endpoint_config=EndpointConfig.from_endpoint_config_name(stack, "On", config),
        endpoint_name=endpoint,
        rollout=rollout,
    )
    if define:
        getattr(made, define)("Rule", **given)
    (rule,) = Template.from_stack(stack).find_resources("AWS::Events::Rule").values()
    text = json.dumps(rule["Properties"]["EventPattern"])
    reference = r'\{"Fn::GetAtt": \["\w+", "EndpointName"\]\}'
    return re.sub(reference, json.dumps(endpoint), text)


def listen(aws: HandRunAws, pattern: str) -> str:
    """
    Have a rule tell a topic, and the topic a queue; return the queue's address.
    """
    name = unique("told")
    topic = aws.client("sns").create_topic(Name=name)["TopicArn"]
    queue = aws.client("sqs").create_queue(QueueName=name)["QueueUrl"]
    place = topic.replace(":sns:", ":sqs:")
    aws.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=place)
    events = aws.client("events")
    events.put_rule(Name=name, EventPattern=pattern)
    events.put_targets(Rule=name, Targets=[{"Id": "Topic", "Arn": topic}])
    return str(queue)


def heard(aws: HandRunAws, queue: str, least: int = 0) -> list[Untyped]:
    """
    Take the events that have come to a queue, when there are so many.
    """
    sqs = aws.client("sqs")
    events: list[Untyped] = []

    def are_there() -> bool:
        found = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        bodies = [json.loads(each["Body"]) for each in found.get("Messages", ())]
        events.extend(json.loads(body["Message"]) for body in bodies)
        return len(events) >= least

    until(are_there)
    return events


def update(aws: HandRunAws, endpoint: str, config: str, alarm: str) -> None:
    """
    Move an endpoint to another configuration, watched by an alarm.
    """
    aws.client("cloudwatch").put_metric_alarm(
        AlarmName=alarm,
        MetricName="Orders",
        Namespace="Shop",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1.0,
        ComparisonOperator="GreaterThanThreshold",
    )
    aws.client("sagemaker").update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=config,
        DeploymentConfig={
            "BlueGreenUpdatePolicy": {
                "TrafficRoutingConfiguration": {
                    "Type": "ALL_AT_ONCE",
                    "WaitIntervalInSeconds": 0,
                },
                "TerminationWaitInSeconds": 600,
            },
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": alarm}]},
        },
    )


@pytest.mark.parametrize("by_rollout", [True, False], ids=["notify", "on_rollback"])
@pytest.mark.parametrize("goes_off", [True, False], ids=["turned back", "done"])
def test_only_an_update_that_is_turned_back_is_told(
    aws: HandRunAws, *, goes_off: bool, by_rollout: bool
) -> None:
    """
    The rule is the new template's: the endpoint serves what another names.
    """
    sagemaker, alarm = aws.client("sagemaker"), unique("alarm")
    old, new = configured(aws), configured(aws)
    endpoint = make_endpoint(aws, old)
    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)
    define = "" if by_rollout else "on_rollback"
    queue = listen(aws, pattern_of(define, endpoint, new))

    update(aws, endpoint, new, alarm)
    if goes_off:
        aws.client("cloudwatch").set_alarm_state(
            AlarmName=alarm, StateValue="ALARM", StateReason="a test"
        )
    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)

    if not goes_off:
        assert heard(aws, queue) == []
        return
    (event,) = heard(aws, queue, 1)
    assert event["detail-type"] == "SageMaker Endpoint State Change"
    assert event["detail"]["EndpointName"] == endpoint
    assert event["detail"]["EndpointStatus"] == "IN_SERVICE"
    assert event["detail"]["EndpointConfigName"] == old


def test_each_state_is_told(aws: HandRunAws) -> None:
    """
    In the words of events, with times in milliseconds; another endpoint's is not.
    """
    sagemaker, name, config = aws.client("sagemaker"), unique("it"), configured(aws)
    queue = listen(
        aws, pattern_of("on_state_change", name, config, statuses=["InService"])
    )
    every = listen(aws, pattern_of("on_state_change", name, config))
    make_endpoint(aws, config)
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=config)
    until(lambda: endpoint_status(sagemaker, name) == "InService", by=aws)
    sagemaker.delete_endpoint(EndpointName=name)

    statuses = [each["detail"]["EndpointStatus"] for each in heard(aws, every, 3)]
    assert sorted(statuses) == [
        "CREATING",
        "DELETING",
        "IN_SERVICE",
    ]
    (event,) = heard(aws, queue, 1)
    assert event["detail"] == {
        "EndpointName": name,
        "EndpointArn": event["resources"][0],
        "EndpointConfigName": config,
        "EndpointStatus": "IN_SERVICE",
        "ProductionVariants": [{"DesiredWeight": 1.0, "DesiredInstanceCount": 2}],
        "CreationTime": 1_800_187_200_000,
        "LastModifiedTime": event["detail"]["LastModifiedTime"],
        "Tags": {},
    }
