"""
Drift: found where boto3 changed what a stack had made, and nowhere else.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.local import tiny_app
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template, hosted, hosting_components

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.local.conftest import Cdk

DIMENSION = "sagemaker:variant:DesiredInstanceCount"


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


def test_a_stack_as_it_was_deployed_has_not_drifted(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Numbers that the template writes as strings included; a topic is not checked.
    """
    name = unique("stack")
    template = hosted()
    template["Resources"]["Topic"] = {"Type": "AWS::SNS::Topic"}
    template["Resources"]["Alarm"] = alarm(Threshold="5", Tags=[TAG])
    stacks.create(name, template)

    assert detected(near_aws, name)["StackDriftStatus"] == "IN_SYNC"
    assert {k: d["StackResourceDriftStatus"] for k, d in drifts(near_aws, name)} == {
        "Model": "IN_SYNC",
        "Config": "IN_SYNC",
        "Endpoint": "IN_SYNC",
        "Target": "IN_SYNC",
        "Policy": "IN_SYNC",
        "Alarm": "IN_SYNC",
    }
    client = near_aws.client("cloudformation")
    listed = client.list_stack_resources(StackName=name)["StackResourceSummaries"]
    states = {
        r["LogicalResourceId"]: r["DriftInformation"]["StackResourceDriftStatus"]
        for r in listed
    }
    assert (states["Topic"], states["Target"]) == ("NOT_CHECKED", "IN_SYNC")
    assert stacks.describe(name)["DriftInformation"]["StackDriftStatus"] == "IN_SYNC"


def test_what_boto3_changed_is_found(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    With both values and the path of the property; an update makes it good.
    """
    name = unique("stack")
    stacks.create(name, {**hosted(), "Resources": hosted()["Resources"]})
    resource_id = stacks.outputs(name)["Target"].split("|")[0]
    stacks.scaling.register_scalable_target(
        ServiceNamespace="sagemaker",
        ResourceId=resource_id,
        ScalableDimension=DIMENSION,
        MaxCapacity=9,
    )
    stacks.scaling.put_scaling_policy(
        PolicyName="Traffic",
        PolicyType="TargetTrackingScaling",
        ServiceNamespace="sagemaker",
        ResourceId=resource_id,
        ScalableDimension=DIMENSION,
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 70.0,
            "PredefinedMetricSpecification": {
                "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
            },
        },
    )

    assert detected(near_aws, name)["DriftedStackResourceCount"] == 2
    found = dict(drifts(near_aws, name, "MODIFIED"))
    assert found["Target"]["PropertyDifferences"] == [
        {
            "PropertyPath": "/MaxCapacity",
            "ExpectedValue": "4",
            "ActualValue": "9",
            "DifferenceType": "NOT_EQUAL",
        }
    ]
    assert json.loads(found["Target"]["ActualProperties"])["MaxCapacity"] == 9
    path = "/TargetTrackingScalingPolicyConfiguration/TargetValue"
    assert found["Policy"]["PropertyDifferences"][0]["PropertyPath"] == path
    stacks.update(name, hosted(max_capacity=6, target_value=7))
    assert detected(near_aws, name)["StackDriftStatus"] == "IN_SYNC"


def test_a_deleted_component_is_found(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    By the operation for one resource, too.
    """
    name = unique("stack")
    stacks.create(name, hosting_components())
    client = near_aws.client("cloudformation")
    one = {"StackName": name, "LogicalResourceId": "Component"}
    before = client.detect_stack_resource_drift(**one)["StackResourceDrift"]
    component = before["PhysicalResourceId"].rpartition("/")[2]
    stacks.sagemaker.delete_inference_component(InferenceComponentName=component)

    after = client.detect_stack_resource_drift(**one)["StackResourceDrift"]

    assert before["StackResourceDriftStatus"] == "IN_SYNC"
    assert after["StackResourceDriftStatus"] == "DELETED"
    assert detected(near_aws, name)["StackDriftStatus"] == "DRIFTED"


def test_a_changed_tag_is_found(near_aws: EmbeddedAws, stacks: Stacks) -> None:
    """
    And a tag that was added, where the template declares tags.
    """
    name = unique("stack")
    template = hosted()
    template["Resources"]["Model"]["Properties"]["Tags"] = [TAG]
    stacks.create(name, template)
    arn = stacks.outputs(name)["Model"]
    more = [{"Key": "team", "Value": "b"}, {"Key": "extra", "Value": "c"}]
    stacks.sagemaker.add_tags(ResourceArn=arn, Tags=more)

    detected(near_aws, name)

    found = dict(drifts(near_aws, name, "MODIFIED"))["Model"]
    kinds = {d["DifferenceType"] for d in found["PropertyDifferences"]}
    assert kinds == {"NOT_EQUAL", "ADD"}


def test_what_cannot_be_detected_is_refused(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    An unknown detection, a type that is not checked, and a resource that is not there.
    """
    client = near_aws.client("cloudformation")
    name = unique("stack")
    stacks.create(name, {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})

    with pytest.raises(ClientError, match="does not exist for this account"):
        client.describe_stack_drift_detection_status(StackDriftDetectionId="none")
    with pytest.raises(ClientError, match="not supported for resource type"):
        client.detect_stack_resource_drift(StackName=name, LogicalResourceId="Topic")
    with pytest.raises(ClientError, match="Resource Nothing does not exist"):
        client.detect_stack_resource_drift(StackName=name, LogicalResourceId="Nothing")


def test_an_alarm_of_metric_math_is_kept_and_described(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    With its queries, its band's id, its option for few samples and its tags.
    """
    cloudwatch = near_aws.client("cloudwatch")
    name = unique("alarm")
    metric = {
        "Namespace": "AWS/SageMaker",
        "MetricName": "Invocations",
        "Dimensions": [{"Name": "EndpointName", "Value": "e"}],
    }
    queries: list[dict[str, Any]] = [
        {
            "Id": "m1",
            "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Sum"},
            "ReturnData": False,
        },
        {"Id": "e1", "Expression": "m1 / 60", "Label": "A second", "ReturnData": True},
    ]
    properties = {
        "AlarmName": name,
        "ComparisonOperator": "GreaterThanUpperThreshold",
        "EvaluationPeriods": 1,
        "Metrics": queries,
        "ThresholdMetricId": "e1",
        "EvaluateLowSampleCountPercentile": "ignore",
        "Tags": [TAG],
    }
    stack = unique("stack")
    resource = {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}
    stacks.create(stack, {"Resources": {"Alarm": resource}})

    found = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]
    assert found["Metrics"] == queries
    assert found["ThresholdMetricId"] == "e1"
    assert found["EvaluateLowSampleCountPercentile"] == "ignore"
    tags = cloudwatch.list_tags_for_resource(ResourceARN=found["AlarmArn"])["Tags"]
    assert tags == [TAG]
    assert detected(near_aws, stack)["StackDriftStatus"] == "IN_SYNC"


@pytest.mark.whole
def test_cdk_drift_tells_what_was_changed(
    embedded_aws: EmbeddedAws, cdk: Cdk, tmp_path: Path
) -> None:
    """
    Nothing right after a deployment; the changed target by its values.
    """
    app = tiny_app.synth(tmp_path / "app")
    assert cdk("deploy", "--require-approval", "never", app=app).returncode == 0

    clean = cdk("drift", "--fail", app=app)
    embedded_aws.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="sagemaker",
        ResourceId=f"endpoint/{tiny_app.ENDPOINT}/variant/AllTraffic",
        ScalableDimension=DIMENSION,
        MaxCapacity=7,
    )
    drifted = cdk("drift", "--fail", app=app)

    assert clean.returncode == 0, clean.stdout
    assert "No drift detected" in clean.stdout
    assert drifted.returncode == 1
    assert "1 resource has drifted" in drifted.stdout
    assert "/MaxCapacity" in drifted.stdout
    assert cdk("destroy", "--force", app=app).returncode == 0


TAG = {"Key": "team", "Value": "a"}


def alarm(**properties: object) -> Template:
    """
    Declare an alarm on an endpoint's invocations.
    """
    plain = {
        "Namespace": "AWS/SageMaker",
        "MetricName": "Invocations",
        "Dimensions": [
            {"Name": "VariantName", "Value": "v"},
            {"Name": "EndpointName", "Value": "e"},
        ],
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 1,
        "Period": 60,
        "Statistic": "Sum",
    }
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": {**plain, **properties}}


def detected(aws: EmbeddedAws, stack: str) -> dict[str, Any]:
    """
    Detect a stack's drift and return how the detection ended.
    """
    client = aws.client("cloudformation")
    detection = client.detect_stack_drift(StackName=stack)["StackDriftDetectionId"]
    found: dict[str, Any] = client.describe_stack_drift_detection_status(
        StackDriftDetectionId=detection
    )
    assert found["DetectionStatus"] == "DETECTION_COMPLETE"
    return found


def drifts(
    aws: EmbeddedAws, stack: str, *states: str
) -> list[tuple[str, dict[str, Any]]]:
    """
    Return the drifts by logical id, those of some states alone if any is given.
    """
    filters = {"StackResourceDriftStatusFilters": [*states]} if states else {}
    found = aws.client("cloudformation").describe_stack_resource_drifts(
        StackName=stack, **filters
    )
    return [(d["LogicalResourceId"], d) for d in found["StackResourceDrifts"]]
