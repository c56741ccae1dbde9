"""
Alarms, targets and policies of stacks, as boto3 finds them, and their drift.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template, hosted

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

DIMENSION = "sagemaker:variant:DesiredInstanceCount"


def differences(client: Untyped, stack: str, resource: str) -> dict[str, Any]:
    """
    Return what differs of a resource by its path; nothing if it is gone.
    """
    found = client.detect_stack_resource_drift(
        StackName=stack, LogicalResourceId=resource
    )["StackResourceDrift"]
    status = found["StackResourceDriftStatus"]
    assert (status == "MODIFIED") is bool(found["PropertyDifferences"])
    if status == "DELETED":
        assert "ActualProperties" not in found
        return {"": "DELETED"}
    return {
        one["PropertyPath"]: (
            one["ExpectedValue"],
            one["ActualValue"],
            one["DifferenceType"],
        )
        for one in found["PropertyDifferences"]
    }


@pytest.fixture(name="endpoint")
def _endpoint(stacks: Stacks) -> str:
    """
    Return the name of an endpoint that can be scaled.
    """
    name = unique("stack")
    template = hosted()
    made = template["Resources"]
    resources = {key: made[key] for key in ("Model", "Config", "Endpoint")}
    outputs = {"Name": template["Outputs"]["Name"]}
    stacks.create(name, {"Resources": resources, "Outputs": outputs})
    return stacks.outputs(name)["Name"]


def scheduled(name: str, least: str, **more: object) -> dict[str, Any]:
    """
    Declare a scheduled action.
    """
    return {
        "ScheduledActionName": name,
        "Schedule": "cron(0 8 * * ? *)",
        "ScalableTargetAction": {"MinCapacity": least},
        **more,
    }


def scaled(endpoint: str, **properties: object) -> Template:
    """
    Declare a target, and its id as an output.
    """
    target = {
        "ServiceNamespace": "sagemaker",
        "ScalableDimension": DIMENSION,
        "ResourceId": f"endpoint/{endpoint}/variant/AllTraffic",
        "MinCapacity": "1",
        "MaxCapacity": 4,
        **properties,
    }
    made = {
        "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
        "Properties": target,
    }
    outputs = {"Id": {"Value": {"Fn::GetAtt": ["Target", "Id"]}}}
    return {
        "Resources": {"Target": made, "Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": outputs,
    }


def test_a_target_comes_changes_and_goes_with_its_schedule(
    stacks: Stacks, client: Untyped, endpoint: str
) -> None:
    """
    Actions that the template has no more are gone.
    """
    name = unique("stack")
    place = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": f"endpoint/{endpoint}/variant/AllTraffic",
    }

    def actions() -> dict[str, Any]:
        found = stacks.scaling.describe_scheduled_actions(**place)["ScheduledActions"]
        return {one["ScheduledActionName"]: one for one in found}

    def target() -> Untyped:
        found = stacks.scaling.describe_scalable_targets(
            ServiceNamespace="sagemaker", ResourceIds=[place["ResourceId"]]
        )["ScalableTargets"]
        return found[0] if found else None

    start = "2030-01-01T08:00:00Z"
    first = [
        scheduled("morning", "2", Timezone="Europe/Berlin", StartTime=start),
        scheduled("plain", "3"),
    ]
    suspended = {"DynamicScalingInSuspended": "true"}
    assert (
        stacks.create(
            name,
            scaled(endpoint, ScheduledActions=first, SuspendedState=suspended),
        )
        == "CREATE_COMPLETE"
    ), stacks.events(name)
    made = stacks.physical_ids(name)["Target"]
    assert made == f"{place['ResourceId']}|{DIMENSION}|sagemaker"
    assert stacks.outputs(name) == {"Id": made}
    assert (target()["MinCapacity"], target()["MaxCapacity"]) == (1, 4)
    assert target()["SuspendedState"]["DynamicScalingInSuspended"] is True
    morning, plain = actions()["morning"], actions()["plain"]
    assert morning["Schedule"] == plain["Schedule"] == "cron(0 8 * * ? *)"
    assert morning["Timezone"] == "Europe/Berlin"
    assert "Timezone" not in plain
    assert morning["ScalableTargetAction"] == {"MinCapacity": 2}
    assert morning["ScalableDimension"] == DIMENSION
    assert "StartTime" in morning
    assert "StartTime" not in plain
    assert differences(client, name, "Target") == {}

    second = [scheduled("plain", "4", Schedule="rate(1 hour)")]
    template = scaled(endpoint, ScheduledActions=second, MaxCapacity="6")
    assert stacks.update(name, template) == "UPDATE_COMPLETE", stacks.events(name)
    assert actions().keys() == {"plain"}
    assert actions()["plain"]["ScalableTargetAction"] == {"MinCapacity": 4}
    assert target()["MaxCapacity"] == 6
    stacks.scaling.put_scheduled_action(
        **place,
        ScalableDimension=DIMENSION,
        ScheduledActionName="plain",
        Schedule="rate(2 hours)",
        ScalableTargetAction={"MinCapacity": 4},
    )
    stacks.scaling.register_scalable_target(
        **place, ScalableDimension=DIMENSION, MinCapacity=2, MaxCapacity=6
    )
    assert differences(client, name, "Target") == {
        "/MinCapacity": ("1", "2", "NOT_EQUAL"),
        "/ScheduledActions/0/Schedule": ("rate(1 hour)", "rate(2 hours)", "NOT_EQUAL"),
    }
    bare = scaled(endpoint)
    del bare["Resources"]["Target"], bare["Outputs"]
    assert stacks.update(name, bare) == "UPDATE_COMPLETE"
    assert (target(), actions()) == (None, {})


def test_a_target_that_is_gone_holds_nothing_back(
    stacks: Stacks, client: Untyped, endpoint: str
) -> None:
    """
    With its policies, and nothing is left to be deleted.
    """
    name = unique("stack")
    template = scaled(endpoint, Tags=[{"Key": "team", "Value": "a"}])
    tracking = {
        "TargetValue": "5",
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
        },
    }
    policy = {
        "PolicyName": name,
        "PolicyType": "TargetTrackingScaling",
        "ScalingTargetId": {"Ref": "Target"},
        "TargetTrackingScalingPolicyConfiguration": tracking,
    }
    template["Resources"]["Policy"] = {
        "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
        "Properties": policy,
    }
    template["Outputs"]["Arn"] = {"Value": {"Fn::GetAtt": ["Policy", "Arn"]}}
    assert stacks.create(name, template) == "CREATE_COMPLETE", stacks.events(name)
    made = stacks.physical_ids(name)
    assert stacks.outputs(name)["Arn"] == made["Policy"]
    found = stacks.scaling.describe_scaling_policies(
        ServiceNamespace="sagemaker", PolicyNames=[name]
    )["ScalingPolicies"]
    assert [one["PolicyARN"] for one in found] == [made["Policy"]]
    kept = found[0]["TargetTrackingScalingPolicyConfiguration"]
    assert kept["TargetValue"] == 5.0
    assert differences(client, name, "Policy") == {}

    resource_id, dimension, namespace = made["Target"].split("|")
    stacks.scaling.deregister_scalable_target(
        ServiceNamespace=namespace,
        ResourceId=resource_id,
        ScalableDimension=dimension,
    )

    assert differences(client, name, "Target") == {"": "DELETED"}
    assert differences(client, name, "Policy") == {"": "DELETED"}
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_a_policy_of_steps_names_its_target_itself(
    stacks: Stacks, client: Untyped, endpoint: str
) -> None:
    """
    It changes in place, and goes without its target.
    """
    name = unique("stack")

    def template(cooldown: int) -> Template:
        found = scaled(endpoint)
        step = {"ScalingAdjustment": 1, "MetricIntervalLowerBound": 0}
        configuration = {
            "AdjustmentType": "ChangeInCapacity",
            "Cooldown": cooldown,
            "StepAdjustments": [step],
        }
        found["Resources"]["Policy"] = {
            "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
            "DependsOn": "Target",
            "Properties": {
                "PolicyName": name,
                "PolicyType": "StepScaling",
                "ServiceNamespace": "sagemaker",
                "ScalableDimension": DIMENSION,
                "ResourceId": f"endpoint/{endpoint}/variant/AllTraffic",
                "StepScalingPolicyConfiguration": configuration,
            },
        }
        return found

    def policies() -> Untyped:
        return stacks.scaling.describe_scaling_policies(
            ServiceNamespace="sagemaker", PolicyNames=[name]
        )["ScalingPolicies"]

    assert stacks.create(name, template(60)) == "CREATE_COMPLETE", stacks.events(name)
    arn = stacks.physical_ids(name)["Policy"]
    assert stacks.update(name, template(90)) == "UPDATE_COMPLETE", stacks.events(name)
    assert stacks.physical_ids(name)["Policy"] == arn
    (found,) = policies()
    assert found["StepScalingPolicyConfiguration"]["Cooldown"] == 90
    assert found["PolicyType"] == "StepScaling"
    assert differences(client, name, "Policy") == {}
    assert stacks.update(name, scaled(endpoint)) == "UPDATE_COMPLETE"
    assert policies() == []
    assert stacks.delete(name) == "DELETE_COMPLETE"


def alarm(**properties: object) -> dict[str, Any]:
    """
    Declare an alarm.
    """
    plain = {
        "Namespace": "AWS/SageMaker",
        "MetricName": "Invocations",
        "Dimensions": [{"Name": "B", "Value": "2"}, {"Name": "A", "Value": "1"}],
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": "1",
        "Period": 60,
        "Statistic": "Sum",
        "Threshold": "5",
    }
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": {**plain, **properties}}


def test_an_alarm_comes_changes_and_goes(
    near_aws: EmbeddedAws, stacks: Stacks, client: Untyped
) -> None:
    """
    With its actions and tags, which are those of the template alone.
    """
    cloudwatch, name = near_aws.client("cloudwatch"), unique("stack")
    topic = f"arn:aws:sns:us-east-1:{near_aws.account}:t"
    tags = [{"Key": "team", "Value": "a"}, {"Key": "old", "Value": "x"}]
    outputs = {"Arn": {"Value": {"Fn::GetAtt": ["A", "Arn"]}}}
    rest = {"Topic": {"Type": "AWS::SNS::Topic"}}

    def template(**properties: object) -> Template:
        return {"Resources": {"A": alarm(**properties), **rest}, "Outputs": outputs}

    def found() -> Untyped:
        made = stacks.physical_ids(name)["A"]
        return cloudwatch.describe_alarms(AlarmNames=[made])["MetricAlarms"][0]

    def tags_of(arn: str) -> dict[str, str]:
        listed = cloudwatch.list_tags_for_resource(ResourceARN=arn)["Tags"]
        return {one["Key"]: one["Value"] for one in listed}

    status = stacks.create(name, template(AlarmActions=[topic], Tags=tags))
    assert status == "CREATE_COMPLETE", stacks.events(name)
    first = found()
    assert first["AlarmName"].startswith("A-")
    assert first["AlarmArn"] == stacks.outputs(name)["Arn"]
    place = f"arn:aws:cloudwatch:us-east-1:{near_aws.account}:alarm:"
    assert first["AlarmArn"] == f"{place}{first['AlarmName']}"
    assert (first["Threshold"], first["EvaluationPeriods"]) == (5.0, 1)
    assert first["AlarmActions"] == [topic]
    assert sorted(one["Name"] for one in first["Dimensions"]) == ["A", "B"]
    assert tags_of(first["AlarmArn"]) == {"team": "a", "old": "x"}
    assert differences(client, name, "A") == {}

    changed = template(Threshold=7, Tags=[{"Key": "team", "Value": "b"}])
    assert stacks.update(name, changed) == "UPDATE_COMPLETE", stacks.events(name)
    second = found()
    assert second["AlarmName"] == first["AlarmName"]
    assert (second["Threshold"], second["AlarmActions"]) == (7.0, [])
    assert tags_of(first["AlarmArn"]) == {"team": "b"}
    cloudwatch.delete_alarms(AlarmNames=[first["AlarmName"]])
    assert differences(client, name, "A") == {"": "DELETED"}
    assert stacks.update(name, {"Resources": rest}) == "UPDATE_COMPLETE"


def test_a_wrong_alarm_is_refused_in_the_services_words(stacks: Stacks) -> None:
    """
    All faults together.
    """
    name = unique("stack")

    status = stacks.create(
        name, {"Resources": {"A": alarm(ComparisonOperator="More", Period="x")}}
    )

    assert status == "ROLLBACK_COMPLETE"
    (why,) = [why for _, status, why in stacks.events(name) if status == FAILED]
    assert why.startswith('Resource handler returned message: "2 validation errors')
    assert "'comparisonOperator' failed to satisfy constraint" in why


FAILED = "CREATE_FAILED"


def test_a_composite_alarm_has_its_rule(
    near_aws: EmbeddedAws, stacks: Stacks, client: Untyped
) -> None:
    """
    It is not read back, so that nobody knows of its drift.
    """
    cloudwatch, name = near_aws.client("cloudwatch"), unique("composite")
    made = {
        "Type": "AWS::CloudWatch::CompositeAlarm",
        "Properties": {"AlarmName": name, "AlarmRule": "ALARM(a)"},
    }
    stack = unique("stack")
    assert stacks.create(stack, {"Resources": {"C": made}}) == "CREATE_COMPLETE"
    kinds = {"AlarmNames": [name], "AlarmTypes": ["CompositeAlarm"]}
    (found,) = cloudwatch.describe_alarms(**kinds)["CompositeAlarms"]
    assert found["AlarmRule"] == "ALARM(a)"
    detection = client.detect_stack_drift(StackName=stack)["StackDriftDetectionId"]
    told = client.describe_stack_drift_detection_status(StackDriftDetectionId=detection)
    assert (told["StackDriftStatus"], told["DriftedStackResourceCount"]) == (
        "IN_SYNC",
        0,
    )
    assert told["DetectionStatus"] == "DETECTION_COMPLETE"
    assert told["StackId"] == stacks.describe(stack)["StackId"]
    assert abs(told["Timestamp"] - datetime.now(UTC)).total_seconds() < 60
    shown = client.describe_stack_resource_drifts(StackName=stack)
    assert shown["StackResourceDrifts"] == []
    assert stacks.delete(stack) == "DELETE_COMPLETE"
    assert cloudwatch.describe_alarms(**kinds)["CompositeAlarms"] == []


def test_drift_is_told_of_each_path(
    near_aws: EmbeddedAws, stacks: Stacks, client: Untyped
) -> None:
    """
    What was taken away, what was added, what is not equal; secrets are not looked at.
    """
    name = unique("stack")
    near_aws.client("ssm").put_parameter(Name=name, Value="d", Type="String")
    described = f"{{{{resolve:ssm:{name}}}}}"
    properties = {
        "AlarmName": name,
        "AlarmDescription": described,
        "Tags": [{"Key": "b", "Value": "1"}, {"Key": "a", "Value": "1"}],
    }
    stacks.create(name, {"Resources": {"A": alarm(**properties)}})
    assert differences(client, name, "A") == {}
    near_aws.client("cloudwatch").put_metric_alarm(
        AlarmName=name,
        AlarmDescription="another",
        Namespace="AWS/SageMaker",
        MetricName="Invocations",
        Dimensions=[{"Name": "A", "Value": "3"}],
        ComparisonOperator="GreaterThanThreshold",
        EvaluationPeriods=2,
        Period=60,
        Statistic="Sum",
        Threshold=5,
        Tags=[{"Key": "a", "Value": "1"}, {"Key": "c", "Value": "1"}],
    )

    found = differences(client, name, "A")

    assert found["/EvaluationPeriods"] == ("1", "2", "NOT_EQUAL")
    assert found["/Dimensions/0/Value"] == ("1", "3", "NOT_EQUAL")
    expected = json.dumps({"Name": "B", "Value": "2"})
    assert found["/Dimensions/1"] == (expected, "null", "REMOVE")
    assert "/AlarmDescription" not in found
    assert "/Threshold" not in found
