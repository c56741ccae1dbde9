"""
How stacks come, change and go, step by step; what types around an endpoint are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.building.projects import Projects, buildspec
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template, hosted

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

TOPIC: dict[str, Any] = {"Type": "AWS::SNS::Topic"}


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="client", scope="module")
def _client(near_aws: EmbeddedAws) -> Untyped:
    return near_aws.client("cloudformation")


def value(text: Untyped, **more: Untyped) -> dict[str, Any]:
    """
    Declare a parameter of Systems Manager; one of no text fails.
    """
    return {
        "Type": "AWS::SSM::Parameter",
        "Properties": {"Type": "String", "Value": text},
        **more,
    }


def test_what_fails_to_go_is_named_and_may_be_left(
    near_aws: EmbeddedAws, client: Untyped, stacks: Stacks
) -> None:
    """
    A bucket with something in it; what is retained stays when the rest has gone.
    """
    name, bucket = unique("stack"), unique("bucket")
    stacks.create(
        name,
        {
            "Resources": {
                "Bucket": {
                    "Type": "AWS::S3::Bucket",
                    "Properties": {"BucketName": bucket},
                },
                "Kept": value("x", DeletionPolicy="Retain"),
                "Mere": value("x", UpdateReplacePolicy="Retain"),
            }
        },
    )
    kept = stacks.physical_ids(name)
    s3, ssm = near_aws.client("s3"), near_aws.client("ssm")
    s3.put_object(Bucket=bucket, Key="key", Body=b"")

    assert stacks.delete(name) == "DELETE_FAILED"
    stack_id = stacks.describe(name)["StackId"]
    events = stacks.events(name)
    assert (
        name,
        "DELETE_FAILED",
        "The following resource(s) failed to delete: [Bucket]. ",
    ) in events
    assert ("Kept", "DELETE_SKIPPED", "") in events
    assert stacks.physical_ids(name).keys() == {"Bucket", "Kept"}
    client.delete_stack(StackName=name, RetainResources=["Bucket"])
    assert stacks.status(stack_id) == "DELETE_COMPLETE"
    assert s3.head_bucket(Bucket=bucket)
    left = ssm.get_parameters(Names=[kept["Kept"], kept["Mere"]])["Parameters"]
    assert [one["Name"] for one in left] == [kept["Kept"]]


def test_what_one_that_fails_to_go_holds_on_to_stays(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    It would be of no use without, such as a bucket without its key.
    """
    name, bucket = unique("stack"), unique("bucket")
    stacks.create(
        name,
        {
            "Resources": {
                "Bucket": {
                    "Type": "AWS::S3::Bucket",
                    "Properties": {"BucketName": bucket},
                    "DependsOn": "Held",
                },
                "Held": value("x", DependsOn="Far"),
                "Far": value("x"),
                "Mere": value("x"),
            }
        },
    )
    made, s3 = stacks.physical_ids(name), near_aws.client("s3")
    s3.put_object(Bucket=bucket, Key="key", Body=b"")

    assert stacks.delete(name) == "DELETE_FAILED"
    assert stacks.physical_ids(name).keys() == {"Bucket", "Held", "Far"}
    values = [made[each] for each in ("Held", "Far", "Mere")]
    left = near_aws.client("ssm").get_parameters(Names=values)["Parameters"]
    assert {one["Name"] for one in left} == {made["Held"], made["Far"]}
    s3.delete_object(Bucket=bucket, Key="key")
    stack_id = stacks.describe(name)["StackId"]
    assert stacks.delete(name) == "DELETE_COMPLETE"
    assert stacks.status(stack_id) == "DELETE_COMPLETE"


def test_what_is_replaced_goes_unless_it_is_retained(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    By the policy for replacements, not by the one for deletions.
    """
    name, ssm = unique("stack"), near_aws.client("ssm")
    one, other, new = (f"/{unique('parameter')}" for _ in range(3))

    def named(first: str, second: str) -> Template:
        policies: list[dict[str, Any]] = [
            {"UpdateReplacePolicy": "Retain"},
            {"DeletionPolicy": "Retain"},
        ]
        found: dict[str, Any] = {}
        for key, path, policy in zip("AB", (first, second), policies, strict=True):
            found[key] = value("x", **policy)
            found[key]["Properties"]["Name"] = path
        return {"Resources": found}

    stacks.create(name, named(one, other))
    assert stacks.update(name, named(f"{new}/a", f"{new}/b")) == "UPDATE_COMPLETE"

    left = ssm.get_parameters(Names=[one, other])["Parameters"]
    assert [it["Name"] for it in left] == [one]
    events = stacks.events(name)
    assert (
        "A",
        "UPDATE_IN_PROGRESS",
        (
            "Requested update requires the creation of a new physical resource; hence "
            "creating one."
        ),
    ) in events
    assert ("A", "DELETE_SKIPPED", "") in events
    assert ("B", "DELETE_COMPLETE", "") in events
    assert [status for what, status, _ in events if what == name][-3:] == [
        "UPDATE_IN_PROGRESS",
        "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
        "UPDATE_COMPLETE",
    ]


def test_a_failed_update_is_told_step_by_step(stacks: Stacks) -> None:
    """
    What was changed is changed back, what is new goes.
    """
    name = unique("stack")
    stacks.create(name, {"Resources": {"A": value("first")}})
    wrong = {
        "A": value("second"),
        "N": value("new", DependsOn="A"),
        "W": value("", DependsOn="N"),
    }

    assert stacks.update(name, {"Resources": wrong}) == "UPDATE_ROLLBACK_COMPLETE"

    events = [(what, status) for what, status, _ in stacks.events(name)]
    begin = events.index((name, "UPDATE_IN_PROGRESS"))
    assert events[begin : begin + 8] == [
        (name, "UPDATE_IN_PROGRESS"),
        ("A", "UPDATE_IN_PROGRESS"),
        ("A", "UPDATE_COMPLETE"),
        ("N", "CREATE_IN_PROGRESS"),
        ("N", "CREATE_COMPLETE"),
        ("W", "CREATE_IN_PROGRESS"),
        ("W", "CREATE_FAILED"),
        (name, "UPDATE_ROLLBACK_IN_PROGRESS"),
    ]
    after = events[begin + 8 :]
    assert [status for what, status in after if what == "A"] == [
        "UPDATE_IN_PROGRESS",
        "UPDATE_COMPLETE",
    ]
    assert [status for what, status in after if what == "N"] == [
        "DELETE_IN_PROGRESS",
        "DELETE_COMPLETE",
    ]
    assert after[-1] == (name, "UPDATE_ROLLBACK_COMPLETE")
    (reason,) = [
        why
        for what, status, why in stacks.events(name)
        if (what, status) == (name, "UPDATE_ROLLBACK_IN_PROGRESS")
    ]
    assert reason == "The following resource(s) failed to create: [W]. "


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [("Nothing", "Attribute 'Nothing' does not exist"), ("Arn", "")],
)
def test_an_attribute_that_is_not_there_fails_what_asks_for_it(
    stacks: Stacks, attribute: str, reason: str
) -> None:
    """
    And nothing else.
    """
    name = unique("stack")
    policy = {
        "Type": "AWS::S3::BucketPolicy",
        "Properties": {
            "Bucket": {"Ref": "Bucket"},
            "PolicyDocument": {"Version": "2012-10-17", "Statement": []},
        },
    }
    asked = value({"Fn::GetAtt": ["Project", attribute]})
    stacks.create(
        name,
        {
            "Resources": {
                "Bucket": {"Type": "AWS::S3::Bucket"},
                "Project": policy,
                "Asks": asked,
            }
        },
    )

    found = [
        why for what, status, why in stacks.events(name) if status == "CREATE_FAILED"
    ]
    assert found == ([reason] if reason else [])


def test_a_project_of_a_stack_has_its_arn_and_words(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    What CodeBuild refuses fails the stack in CodeBuild's words.
    """
    name, project = unique("stack"), unique("project")
    projects = Projects(near_aws)
    properties = {
        "Name": project,
        "Source": {"Type": "NO_SOURCE", "BuildSpec": buildspec(build=["true"])},
        "Artifacts": {"Type": "NO_ARTIFACTS"},
        "Visibility": "PRIVATE",
        "Environment": {
            "Type": "LINUX_CONTAINER",
            "Image": "aws/codebuild/standard:7.0",
            "ComputeType": "BUILD_GENERAL1_SMALL",
        },
        "ServiceRole": projects.role,
    }
    made = {"Type": "AWS::CodeBuild::Project", "Properties": properties}
    arn, own = {"Fn::GetAtt": ["P", "Arn"]}, {"Fn::GetAtt": ["P", "Id"]}
    outputs = {"Arn": {"Value": arn}, "Id": {"Value": own}}
    template = {"Resources": {"P": made}, "Outputs": outputs}

    assert stacks.create(name, template) == "CREATE_COMPLETE", stacks.events(name)
    second = unique("stack")
    stacks.create(second, template)

    assert stacks.outputs(name) == {
        "Arn": f"arn:aws:codebuild:us-east-1:{near_aws.account}:project/{project}",
        "Id": project,
    }
    (reason,) = [
        why for what, status, why in stacks.events(second) if status == "CREATE_FAILED"
    ]
    assert reason == (
        'Resource handler returned message: "Project already exists: '
        f'arn:aws:codebuild:us-east-1:{near_aws.account}:project/{project}" '
        "(HandlerErrorCode: InvalidRequest)"
    )


def test_a_secret_whose_name_is_taken_fails_its_stack(stacks: Stacks) -> None:
    """
    In the service's words.
    """
    name, secret = unique("stack"), unique("secret")
    declared = {"Type": "AWS::SecretsManager::Secret", "Properties": {"Name": secret}}
    stacks.create(unique("stack"), {"Resources": {"S": declared}})

    assert stacks.create(name, {"Resources": {"S": declared}}) == "ROLLBACK_COMPLETE"

    words = f"The operation failed because the secret {secret} already exists."
    assert ("S", "CREATE_FAILED", words) in stacks.events(name)


@pytest.mark.parametrize(
    ("wish", "length", "letters"),
    [
        ({}, 32, None),
        ({"PasswordLength": "8"}, 8, None),
        (
            {
                "ExcludePunctuation": True,
                "ExcludeUppercase": "true",
                "ExcludeLowercase": True,
                "RequireEachIncludedType": False,
            },
            32,
            "0123456789",
        ),
        (
            {
                "ExcludeNumbers": True,
                "ExcludePunctuation": True,
                "ExcludeUppercase": True,
                "ExcludeCharacters": "abcdefghijklmnopqrstuvwx",
                "PasswordLength": 5,
            },
            5,
            "yz",
        ),
    ],
)
def test_a_generated_secret_is_as_it_was_wished_for(
    near_aws: EmbeddedAws,
    stacks: Stacks,
    wish: dict[str, Any],
    length: int,
    letters: str | None,
) -> None:
    """
    Thirty-two characters of every type, if nothing is said.
    """
    name = unique("stack")
    properties = {"GenerateSecretString": wish, "Description": "generated"}
    declared = {"Type": "AWS::SecretsManager::Secret", "Properties": properties}
    stacks.create(name, {"Resources": {"S": declared}})
    secret = stacks.physical_ids(name)["S"]
    client = near_aws.client("secretsmanager")

    text = client.get_secret_value(SecretId=secret)["SecretString"]

    assert client.describe_secret(SecretId=secret)["Description"] == "generated"
    assert len(text) == length
    if letters is None:
        kinds = [str.isdigit, str.isupper, str.islower]
        assert all(any(map(kind, text)) for kind in kinds)
    else:
        assert set(text) <= set(letters)
    assert stacks.delete(name) == "DELETE_COMPLETE"
    with pytest.raises(ClientError, match="ResourceNotFound"):
        client.describe_secret(SecretId=secret)


def test_a_filter_and_a_subscription_have_their_settings(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Under a name of one's own; a text is left as it is.
    """
    name, group = unique("stack"), f"/{unique('group')}"
    counted = {"MetricName": "E", "MetricNamespace": "N", "MetricValue": "2"}
    stacks.create(
        name,
        {
            "Resources": {
                "Topic": TOPIC,
                "Subscription": {
                    "Type": "AWS::SNS::Subscription",
                    "Properties": {
                        "TopicArn": {"Ref": "Topic"},
                        "Protocol": "https",
                        "Endpoint": "https://example.com/",
                        "RawMessageDelivery": "true",
                        "FilterPolicy": {"a": ["b"]},
                        "FilterPolicyScope": "MessageBody",
                    },
                },
                "Group": {
                    "Type": "AWS::Logs::LogGroup",
                    "Properties": {"LogGroupName": group},
                },
                "Filter": {
                    "Type": "AWS::Logs::MetricFilter",
                    "Properties": {
                        "FilterName": "errors",
                        "LogGroupName": {"Ref": "Group"},
                        "FilterPattern": "ERROR",
                        "MetricTransformations": [counted],
                    },
                },
            }
        },
    )
    sns, logs = near_aws.client("sns"), near_aws.client("logs")
    arn = stacks.physical_ids(name)["Subscription"]

    kept = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
    (shown,) = logs.describe_metric_filters(logGroupName=group)["metricFilters"]

    assert (kept["Protocol"], kept["Endpoint"]) == ("https", "https://example.com/")
    assert (kept["RawMessageDelivery"], kept["FilterPolicyScope"]) == (
        "true",
        "MessageBody",
    )
    assert (shown["filterName"], shown["filterPattern"]) == ("errors", "ERROR")
    assert shown["metricTransformations"] == [
        {"metricName": "E", "metricNamespace": "N", "metricValue": "2"}
    ]
    assert stacks.delete(name) == "DELETE_COMPLETE"
    with pytest.raises(ClientError, match="NotFound"):
        sns.get_subscription_attributes(SubscriptionArn=arn)


def test_a_wait_that_is_not_said_is_none(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    CloudFormation does not ask for it, and SageMaker does.
    """
    name = unique("stack")
    stacks.create(name, hosted())
    template = hosted(environment={"NUMBER": 2})
    template["Resources"]["Endpoint"]["Properties"]["DeploymentConfig"] = {
        "BlueGreenUpdatePolicy": {
            "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE"}
        }
    }

    assert stacks.update(name, template) == "UPDATE_COMPLETE", stacks.events(name)

    shown = near_aws.client("sagemaker").describe_endpoint(
        EndpointName=stacks.outputs(name)["Name"]
    )["LastDeploymentConfig"]
    routing = shown["BlueGreenUpdatePolicy"]["TrafficRoutingConfiguration"]
    assert routing == {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0}


def test_a_truth_that_is_written_as_a_text_has_not_drifted(
    client: Untyped, stacks: Stacks
) -> None:
    """
    However it is written; another one has.
    """
    name = unique("stack")
    template = hosted()
    model = template["Resources"]["Model"]["Properties"]
    model["EnableNetworkIsolation"] = "true"
    stacks.create(name, template)

    def drift() -> Untyped:
        return client.detect_stack_resource_drift(
            StackName=name, LogicalResourceId="Model"
        )["StackResourceDrift"]

    found = drift()

    assert found["StackResourceDriftStatus"] == "IN_SYNC"
    assert found["PropertyDifferences"] == []
    assert (found["LogicalResourceId"], found["ResourceType"]) == (
        "Model",
        "AWS::SageMaker::Model",
    )
    assert found["PhysicalResourceId"] == stacks.physical_ids(name)["Model"]
    stacks.sagemaker.delete_endpoint(EndpointName=stacks.outputs(name)["Name"])
    stacks.sagemaker.delete_model(
        ModelName=stacks.outputs(name)["Model"].rpartition("/")[2]
    )
    assert drift()["StackResourceDriftStatus"] == "DELETED"
