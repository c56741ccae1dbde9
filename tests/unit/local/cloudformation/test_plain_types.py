"""
Types that are put by one call: again, under other names, and without what they need.
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

TOPIC = {"Type": "AWS::SNS::Topic"}


def declared(kind: str, **properties: object) -> dict[str, Any]:
    """
    Declare a resource.
    """
    return {"Type": f"AWS::{kind}", "Properties": properties}


def test_a_subscription_goes_and_its_topic_stays(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    One that somebody has taken away is no matter.
    """
    sns, name = near_aws.client("sns"), unique("stack")
    topic = {"Ref": "Topic"}

    def template(*addresses: str) -> Template:
        made = {
            f"S{number}": declared(
                "SNS::Subscription", TopicArn=topic, Protocol="email", Endpoint=one
            )
            for number, one in enumerate(addresses)
        }
        return {"Resources": {"Topic": TOPIC, **made}}

    stacks.create(name, template("a@example.com", "b@example.com", "c@example.com"))
    made = stacks.physical_ids(name)

    def addresses() -> list[str]:
        found = sns.list_subscriptions_by_topic(TopicArn=made["Topic"])
        return sorted(one["Endpoint"] for one in found["Subscriptions"])

    assert addresses() == ["a@example.com", "b@example.com", "c@example.com"]
    sns.unsubscribe(SubscriptionArn=made["S2"])
    assert stacks.update(name, template("a@example.com")) == "UPDATE_COMPLETE"
    assert addresses() == ["a@example.com"]
    assert "DELETE_FAILED" not in [status for _, status, _ in stacks.events(name)]


def test_a_policy_may_come_as_a_text(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    That of a bucket; without its bucket there is nothing to take away.
    """
    s3, name, bucket = near_aws.client("s3"), unique("stack"), unique("bucket")
    s3.create_bucket(Bucket=bucket)
    document = {"Version": "2012-10-17", "Statement": []}
    policy = declared("S3::BucketPolicy", Bucket=bucket, PolicyDocument="")
    for written in (document, json.dumps(document)):
        policy["Properties"]["PolicyDocument"] = written
        template: Template = {"Resources": {"P": policy, "T": TOPIC}}
        act = stacks.update if name in _names(near_aws) else stacks.create
        assert act(name, template).endswith("_COMPLETE")
        kept = s3.get_bucket_policy(Bucket=bucket)["Policy"]
        assert json.loads(kept) == document
    assert stacks.physical_ids(name)["P"] == bucket
    s3.delete_bucket(Bucket=bucket)
    assert stacks.delete(name) == "DELETE_COMPLETE"


def _names(aws: EmbeddedAws) -> list[str]:
    found = aws.client("cloudformation").describe_stacks()["Stacks"]
    return [one["StackName"] for one in found]


def test_a_topic_has_the_policy_that_changed(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Each of the topics that it names.
    """
    sns, name = near_aws.client("sns"), unique("stack")

    def template(own: str) -> Template:
        document = {"Version": "2012-10-17", "Id": own, "Statement": []}
        topics = [{"Ref": "A"}, {"Ref": "B"}]
        policy = declared("SNS::TopicPolicy", Topics=topics, PolicyDocument=document)
        return {"Resources": {"A": TOPIC, "B": TOPIC, "P": policy}}

    for own in ("one", "two"):
        act = stacks.create if own == "one" else stacks.update
        assert act(name, template(own)).endswith("_COMPLETE")
        made = stacks.physical_ids(name)
        for key in "AB":
            shown = sns.get_topic_attributes(TopicArn=made[key])["Attributes"]
            assert json.loads(shown["Policy"])["Id"] == own
    assert made["P"].startswith("P-")


def test_a_filter_changes_under_its_name(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    And goes while its group stays.
    """
    logs, name, group = near_aws.client("logs"), unique("stack"), unique("/group")
    logs.create_log_group(logGroupName=group)

    def template(pattern: str) -> Template:
        counted = {"MetricName": "E", "MetricNamespace": "N", "MetricValue": "1"}
        made = declared(
            "Logs::MetricFilter",
            LogGroupName=group,
            FilterPattern=pattern,
            MetricTransformations=[counted],
        )
        return {"Resources": {"F": made, "T": TOPIC}}

    def filters() -> list[tuple[str, str]]:
        found = logs.describe_metric_filters(logGroupName=group)["metricFilters"]
        return [(one["filterName"], one["filterPattern"]) for one in found]

    stacks.create(name, template("ERROR"))
    made = stacks.physical_ids(name)["F"]
    assert made.startswith("F-")
    assert filters() == [(made, "ERROR")]
    assert stacks.update(name, template("FATAL")) == "UPDATE_COMPLETE"
    assert filters() == [(made, "FATAL")]
    assert stacks.update(name, {"Resources": {"T": TOPIC}}) == "UPDATE_COMPLETE"
    assert filters() == []


def test_a_secret_is_what_its_template_says(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    A text, a generated one in a template, or nothing; it changes in place.
    """
    client, name = near_aws.client("secretsmanager"), unique("stack")
    wish = {
        "SecretStringTemplate": '{"user": "u"}',
        "GenerateStringKey": "word",
        "IncludeSpace": False,
    }

    def template(text: str, description: str) -> Template:
        return {
            "Resources": {
                "Text": declared(
                    "SecretsManager::Secret",
                    Name=f"{name}-text",
                    SecretString=text,
                    Description=description,
                    Tags=[{"Key": "team", "Value": "a"}],
                ),
                "Made": declared("SecretsManager::Secret", GenerateSecretString=wish),
                "Bare": declared("SecretsManager::Secret"),
            }
        }

    assert stacks.create(name, template("one", "first")) == "CREATE_COMPLETE"
    made = stacks.physical_ids(name)

    def text(key: str) -> str:
        found: str = client.get_secret_value(SecretId=made[key])["SecretString"]
        return found

    described = client.describe_secret(SecretId=made["Text"])
    assert described["Name"] == f"{name}-text"
    assert described["Description"] == "first"
    assert described["Tags"] == [{"Key": "team", "Value": "a"}]
    assert text("Text") == "one"
    generated = text("Made")
    assert json.loads(generated).keys() == {"user", "word"}
    assert json.loads(generated)["user"] == "u"
    assert len(json.loads(generated)["word"]) == 32
    with pytest.raises(ClientError, match="ResourceNotFound"):
        text("Bare")
    assert stacks.update(name, template("two", "second")) == "UPDATE_COMPLETE"
    assert stacks.physical_ids(name) == made
    assert (text("Text"), text("Made")) == ("two", generated)
    shown = client.describe_secret(SecretId=made["Text"])
    assert shown["Description"] == "second"
    assert stacks.delete(name) == "DELETE_COMPLETE"
    assert stacks.create(name, template("three", "third")) == "CREATE_COMPLETE"


def project(name: str, **properties: object) -> Template:
    """
    Declare a project that builds nothing.
    """
    made = declared(
        "CodeBuild::Project",
        Name=name,
        Source={"Type": "NO_SOURCE", "BuildSpec": "version: 0.2"},
        Artifacts={"Type": "NO_ARTIFACTS"},
        Environment={
            "Type": "LINUX_CONTAINER",
            "Image": "aws/codebuild/standard:7.0",
            "ComputeType": "BUILD_GENERAL1_SMALL",
            "EnvironmentVariables": [{"Name": "A", "Value": "1"}],
        },
        Visibility="PRIVATE",
        Triggers={"Webhook": False},
        **properties,
    )
    return {"Resources": {"P": made, "T": TOPIC}}


def test_a_project_comes_changes_and_goes(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    In the letters of its API.
    """
    client, iam = near_aws.client("codebuild"), near_aws.client("iam")
    name = unique("project")
    statement = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": "codebuild.amazonaws.com"},
    }
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]

    def shown() -> list[Any]:
        found: list[Any] = client.batch_get_projects(names=[name])["projects"]
        return found

    first = project(name, ServiceRole=role, TimeoutInMinutes="10", Description="one")
    assert stacks.create(name, first) == "CREATE_COMPLETE", stacks.events(name)
    (made,) = shown()
    assert (made["timeoutInMinutes"], made["description"]) == (10, "one")
    assert made["source"] == {"type": "NO_SOURCE", "buildspec": "version: 0.2"}
    variables = made["environment"]["environmentVariables"]
    assert [(one["name"], one["value"]) for one in variables] == [("A", "1")]
    second = project(name, ServiceRole=role, TimeoutInMinutes=20, Description="two")
    assert stacks.update(name, second) == "UPDATE_COMPLETE", stacks.events(name)
    (made,) = shown()
    assert (made["timeoutInMinutes"], made["description"]) == (20, "two")
    assert stacks.update(name, {"Resources": {"T": TOPIC}}) == "UPDATE_COMPLETE"
    assert shown() == []


def test_a_project_has_what_the_api_has(stacks: Stacks) -> None:
    """
    What it does not have is refused by its place.
    """
    name = unique("project")

    status = stacks.create(name, project(name, ServiceRole="r", Odd=1, Cache={"A": 1}))

    assert status == "ROLLBACK_COMPLETE"
    words = (
        "Properties validation failed: #: extraneous key [odd] is not permitted; "
        "#/cache: extraneous key [a] is not permitted"
    )
    assert ("P", "CREATE_FAILED", words) in stacks.events(name)
