"""
Resource types around an endpoint, each made, changed and deleted by a stack.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


def test_a_bucket_policy_is_kept_and_shuts_nobody_out(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Not even one that demands TLS, which the embedded AWS has not.
    """
    s3, bucket = near_aws.client("s3"), unique("bucket")
    name = unique("stack")
    stacks.create(name, with_policy(bucket, "s3:*"))

    s3.put_object(Bucket=bucket, Key="key", Body=b"text")
    s3.delete_object(Bucket=bucket, Key="key")
    assert kept_action(s3, bucket) == "s3:*"
    stacks.update(name, with_policy(bucket, "s3:GetObject"))
    assert kept_action(s3, bucket) == "s3:GetObject"
    without = with_policy(bucket, "s3:*")
    del without["Resources"]["Policy"]
    stacks.update(name, without)
    with pytest.raises(ClientError, match="NoSuchBucketPolicy"):
        s3.get_bucket_policy(Bucket=bucket)


def test_alarms_and_dashboards_are_made(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    A composite alarm by its rule; a dashboard by its body.
    """
    cloudwatch = near_aws.client("cloudwatch")
    name, composite, board = unique("stack"), unique("composite"), unique("board")
    rule = "ALARM(one) OR ALARM(two)"
    template: Template = {
        "Resources": {
            "Composite": {
                "Type": "AWS::CloudWatch::CompositeAlarm",
                "Properties": {"AlarmName": composite, "AlarmRule": rule},
            },
            "Board": {
                "Type": "AWS::CloudWatch::Dashboard",
                "Properties": {"DashboardName": board, "DashboardBody": "{}"},
            },
        },
        "Outputs": {"Arn": {"Value": {"Fn::GetAtt": ["Composite", "Arn"]}}},
    }
    assert stacks.create(name, template) == "CREATE_COMPLETE"

    asked = {"AlarmNames": [composite], "AlarmTypes": ["CompositeAlarm"]}
    found = cloudwatch.describe_alarms(**asked)["CompositeAlarms"]
    assert (found[0]["AlarmRule"], found[0]["AlarmArn"]) == (
        rule,
        stacks.outputs(name)["Arn"],
    )
    dashboards = cloudwatch.list_dashboards()["DashboardEntries"]
    assert board in [entry["DashboardName"] for entry in dashboards]
    stacks.delete(name)
    assert cloudwatch.describe_alarms(**asked)["CompositeAlarms"] == []


def test_topics_have_subscriptions_and_policies(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    A subscription's filter changes in place, its address by another subscription.
    """
    sns, name = near_aws.client("sns"), unique("stack")
    stacks.create(name, with_subscription("one@example.com", ["a"]))
    first = stacks.physical_ids(name)

    stacks.update(name, with_subscription("one@example.com", ["b"]))
    second = stacks.physical_ids(name)
    stacks.update(name, with_subscription("two@example.com", ["b"]))

    assert second["Subscription"] == first["Subscription"]
    found = sns.list_subscriptions_by_topic(TopicArn=first["Topic"])["Subscriptions"]
    assert [one["Endpoint"] for one in found] == ["two@example.com"]
    arn = found[0]["SubscriptionArn"]
    kept = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
    assert json.loads(kept["FilterPolicy"]) == {"kind": ["b"]}
    policy = sns.get_topic_attributes(TopicArn=first["Topic"])["Attributes"]["Policy"]
    assert json.loads(policy)["Id"] == "ours"
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_a_metric_filter_is_made(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    On the log group of an endpoint.
    """
    logs, name, group = near_aws.client("logs"), unique("stack"), unique("/group")
    counted = {
        "MetricName": "Errors",
        "MetricNamespace": "Endpoints",
        "MetricValue": "1",
    }
    properties = {
        "LogGroupName": {"Ref": "Group"},
        "FilterPattern": "ERROR",
        "MetricTransformations": [counted],
    }
    template: Template = {
        "Resources": {
            "Group": {
                "Type": "AWS::Logs::LogGroup",
                "Properties": {"LogGroupName": group},
            },
            "Filter": {"Type": "AWS::Logs::MetricFilter", "Properties": properties},
        }
    }
    assert stacks.create(name, template) == "CREATE_COMPLETE", stacks.events(name)

    found = logs.describe_metric_filters(logGroupName=group)["metricFilters"]

    assert found[0]["metricTransformations"][0]["metricName"] == "Errors"
    assert stacks.delete(name) == "DELETE_COMPLETE"


def with_policy(bucket: str, action: str) -> Template:
    """
    Declare a bucket and a policy that demands TLS for an action.
    """
    statement = {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": action,
        "Resource": [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    document = {"Version": "2012-10-17", "Statement": [statement]}
    return {
        "Resources": {
            "Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": bucket}},
            "Policy": {
                "Type": "AWS::S3::BucketPolicy",
                "Properties": {"Bucket": {"Ref": "Bucket"}, "PolicyDocument": document},
            },
        }
    }


def kept_action(s3: Any, bucket: str) -> str:  # noqa: ANN401 - a boto3 client
    """
    Return what the only statement of a bucket's policy is about.
    """
    policy = json.loads(s3.get_bucket_policy(Bucket=bucket)["Policy"])
    action: str = policy["Statement"][0]["Action"]
    return action


def with_subscription(address: str, kinds: list[str]) -> Template:
    """
    Declare a topic with a policy, and a subscription with a filter.
    """
    topic = {"Ref": "Topic"}
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "cloudwatch.amazonaws.com"},
        "Action": "sns:Publish",
        "Resource": topic,
    }
    document = {"Version": "2012-10-17", "Id": "ours", "Statement": [statement]}
    return {
        "Resources": {
            "Topic": {"Type": "AWS::SNS::Topic"},
            "Policy": {
                "Type": "AWS::SNS::TopicPolicy",
                "Properties": {"Topics": [topic], "PolicyDocument": document},
            },
            "Subscription": {
                "Type": "AWS::SNS::Subscription",
                "Properties": {
                    "TopicArn": topic,
                    "Protocol": "email",
                    "Endpoint": address,
                    "FilterPolicy": {"kind": kinds},
                },
            },
        }
    }
