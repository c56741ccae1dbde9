"""
What Application Auto Scaling shows of targets, policies and scheduled actions, member
by member, and the alarms that it makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.local.by_hand import NOON, HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    make_config,
    make_endpoint,
    make_model,
    unique,
    words,
)
from tests.local.scaled import Scaled, scaled_component, scaled_variant

_OF = {"ServiceNamespace": "sagemaker"}
_STEPS: dict[str, Any] = {
    "AdjustmentType": "PercentChangeInCapacity",
    "StepAdjustments": [{"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 50}],
    "MinAdjustmentMagnitude": 1,
    "Cooldown": 30,
}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws() as aws:
        yield aws


@pytest.fixture(name="variant")
def _variant(aws: HandRunAws) -> Iterator[Scaled]:
    """
    A target of its own for each test.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4)
    yield variant
    variant.scaling.deregister_scalable_target(**variant.key)


def _policies(scaled: Scaled, **asked: object) -> list[dict[str, Any]]:
    found = scaled.scaling.describe_scaling_policies(**_OF, **asked)
    policies: list[dict[str, Any]] = found["ScalingPolicies"]
    return policies


def _account(aws: HandRunAws) -> str:
    return str(aws.client("sts").get_caller_identity()["Account"])


def test_a_target_is_shown_whole(aws: HandRunAws, variant: Scaled) -> None:
    """
    Its bounds, the role of the service, whatever was named, and what is suspended.
    """
    state = {
        "DynamicScalingInSuspended": True,
        "DynamicScalingOutSuspended": False,
        "ScheduledScalingSuspended": True,
    }
    account = _account(aws)
    role = f"arn:aws:iam::{account}:role/Mine"
    registered = variant.scaling.register_scalable_target(
        **variant.key, MinCapacity=2, MaxCapacity=3, RoleARN=role, SuspendedState=state
    )
    (target,) = variant.scaling.describe_scalable_targets(
        **_OF, ResourceIds=[variant.resource_id]
    )["ScalableTargets"]

    assert target.pop("CreationTime").timestamp() == aws.wall()
    arn = target.pop("ScalableTargetARN", registered["ScalableTargetARN"])
    assert arn == registered["ScalableTargetARN"]
    assert target == {
        **variant.key,
        "MinCapacity": 2,
        "MaxCapacity": 3,
        "RoleARN": (
            f"arn:aws:iam::{account}:role/aws-service-role/"
            "sagemaker.application-autoscaling.amazonaws.com/"
            "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
        ),
        "SuspendedState": state,
    }


def test_a_target_keeps_the_bound_that_is_left_out(variant: Scaled) -> None:
    """
    Either of them, and both of them hold against each other.
    """
    register = variant.scaling.register_scalable_target
    register(**variant.key, MaxCapacity=6)
    register(**variant.key, MinCapacity=3)
    refused = words(register, **variant.key, MaxCapacity=2)
    register(**variant.key)

    (target,) = variant.scaling.describe_scalable_targets(
        **_OF, ResourceIds=[variant.resource_id]
    )["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (3, 6)
    assert refused == "Maximum capacity cannot be less than minimum capacity"
    refused = words(register, **variant.key, MinCapacity=7)
    assert refused == "Maximum capacity cannot be less than minimum capacity"


def test_targets_are_found_by_dimension_and_resource(
    aws: HandRunAws, variant: Scaled
) -> None:
    """
    Or by neither.
    """
    component = scaled_component(aws)
    component.register(0, 2)
    describe = variant.scaling.describe_scalable_targets

    def found(**asked: object) -> set[str]:
        targets = describe(**_OF, **asked)["ScalableTargets"]
        return {one["ResourceId"] for one in targets}

    both = {variant.resource_id, component.resource_id}
    assert found() == both
    assert found(ScalableDimension=component.key["ScalableDimension"]) == {
        component.resource_id
    }
    assert found(ResourceIds=[variant.resource_id]) == {variant.resource_id}
    assert found(ResourceIds=[*both]) == both
    component.scaling.deregister_scalable_target(**component.key)


def test_a_policy_of_steps_is_shown_whole(aws: HandRunAws, variant: Scaled) -> None:
    """
    With every alarm of a client's that names it, and no other.
    """
    arn = variant.step(**_STEPS)
    alarm = {
        "Namespace": "Shop",
        "MetricName": "Orders",
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 5.0,
        "ComparisonOperator": "GreaterThanThreshold",
    }
    put = variant.cloudwatch.put_metric_alarm
    put(AlarmName="Mine", AlarmActions=[arn], **alarm)
    put(AlarmName="Calm", OKActions=[arn], **alarm)
    put(AlarmName="Other", AlarmActions=[f"{arn}x"], **alarm)
    put(AlarmName="None", **alarm)
    (policy,) = _policies(variant, PolicyNames=["Steps"])
    variant.cloudwatch.delete_alarms(AlarmNames=["Mine", "Calm", "Other", "None"])

    (mine,) = policy.pop("Alarms")
    assert mine["AlarmName"] == "Mine"
    assert mine["AlarmARN"].endswith(":alarm:Mine")
    assert policy.pop("CreationTime").timestamp() == aws.wall()
    assert policy == {
        **variant.key,
        "PolicyARN": arn,
        "PolicyName": "Steps",
        "PolicyType": "StepScaling",
        "StepScalingPolicyConfiguration": _STEPS,
    }
    (policy,) = _policies(variant, PolicyNames=["Steps"])
    assert policy["Alarms"] == []


def test_a_policy_of_tracking_is_shown_whole(aws: HandRunAws, variant: Scaled) -> None:
    """
    With the alarms that were made for it.
    """
    made = variant.track(5.0, ScaleInCooldown=60, ScaleOutCooldown=30)
    (policy,) = _policies(variant)

    assert policy.pop("CreationTime").timestamp() == aws.wall()
    assert policy == {
        **variant.key,
        "PolicyARN": made["PolicyARN"],
        "PolicyName": "Traffic",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": {
            "TargetValue": 5.0,
            "PredefinedMetricSpecification": {
                "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
            },
            "ScaleInCooldown": 60,
            "ScaleOutCooldown": 30,
        },
        "Alarms": made["Alarms"],
    }
    alarms = variant.alarms()
    assert [one["AlarmName"] for one in made["Alarms"]] == list(alarms)
    for one in made["Alarms"]:
        assert one["AlarmARN"] == alarms[one["AlarmName"]]["AlarmArn"]


def test_policies_are_found_by_their_place(aws: HandRunAws, variant: Scaled) -> None:
    """
    By resource, dimension and name, in any combination.
    """
    component = scaled_component(aws)
    component.register(0, 2)
    component.step()
    variant.step()
    variant.track(5.0)

    def found(**asked: object) -> list[tuple[str, str]]:
        policies = _policies(variant, **asked)
        return sorted((one["PolicyName"], one["ResourceId"]) for one in policies)

    steps = "Steps", variant.resource_id
    traffic = "Traffic", variant.resource_id
    theirs = "Steps", component.resource_id
    assert found() == sorted([steps, traffic, theirs])
    assert found(ResourceId=variant.resource_id) == [steps, traffic]
    assert found(ScalableDimension=component.key["ScalableDimension"]) == [theirs]
    assert found(PolicyNames=["Steps"]) == sorted([steps, theirs])
    assert found(PolicyNames=["Steps"], ResourceId=variant.resource_id) == [steps]
    component.scaling.deregister_scalable_target(**component.key)
    assert found() == [steps, traffic]


def test_a_policy_put_without_settings_keeps_them(variant: Scaled) -> None:
    """
    Both kinds; and one of steps that becomes one of tracking has alarms.
    """
    put = variant.scaling.put_scaling_policy
    arn = variant.step(**_STEPS)
    again = put(**variant.key, PolicyName="Steps", PolicyType="StepScaling")
    assert again["PolicyARN"] == arn
    (policy,) = _policies(variant)
    assert policy["StepScalingPolicyConfiguration"] == _STEPS

    made = variant.track(5.0)
    again = put(**variant.key, PolicyName="Traffic", PolicyType="TargetTrackingScaling")
    assert again["Alarms"] == made["Alarms"]
    assert set(variant.alarms()) == {one["AlarmName"] for one in made["Alarms"]}


def test_a_policy_may_change_its_type(variant: Scaled) -> None:
    """
    The alarms of tracking come and go with it.
    """
    variant.step()
    put = variant.scaling.put_scaling_policy
    metric = {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}
    tracking = {"TargetValue": 5.0, "PredefinedMetricSpecification": metric}
    made = put(
        **variant.key,
        PolicyName="Steps",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration=tracking,
    )
    assert len(made["Alarms"]) == len(variant.alarms()) == 2
    variant.step()
    assert variant.alarms() == {}
    (policy,) = _policies(variant)
    assert policy["PolicyType"] == "StepScaling"


def test_a_scheduled_action_is_shown_whole(aws: HandRunAws, variant: Scaled) -> None:
    """
    Its window too; and only by its name and its place.
    """
    aws.run(60)
    put = variant.scaling.put_scheduled_action
    for name in ("Later", "Latest"):
        put(
            **variant.key,
            ScheduledActionName=name,
            Schedule="cron(0 9 * * ? *)",
            Timezone="Europe/Berlin",
            StartTime=NOON + 86_400,
            EndTime=NOON + 172_800,
            ScalableTargetAction={"MinCapacity": 1, "MaxCapacity": 2},
        )
    describe = variant.scaling.describe_scheduled_actions
    (action,) = describe(**_OF, ScheduledActionNames=["Later"])["ScheduledActions"]

    assert action.pop("ScheduledActionARN").endswith(
        f"{variant.resource_id}:scheduledActionName/Later"
    )
    times = [
        action.pop(name).timestamp()
        for name in ("CreationTime", "StartTime", "EndTime")
    ]
    assert times == [aws.wall(), NOON + 86_400, NOON + 172_800]
    assert action == {
        **variant.key,
        "ScheduledActionName": "Later",
        "Schedule": "cron(0 9 * * ? *)",
        "Timezone": "Europe/Berlin",
        "ScalableTargetAction": {"MinCapacity": 1, "MaxCapacity": 2},
    }
    elsewhere = "sagemaker:inference-component:DesiredCopyCount"
    for asked, count in (
        ({"ResourceId": variant.resource_id}, 2),
        ({"ResourceId": f"{variant.resource_id}x"}, 0),
        ({"ScalableDimension": elsewhere}, 0),
    ):
        found = describe(**_OF, **asked)["ScheduledActions"]
        assert len(found) == count, asked
    variant.scaling.delete_scheduled_action(**variant.key, ScheduledActionName="Later")
    (left,) = describe(**_OF)["ScheduledActions"]
    assert left["ScheduledActionName"] == "Latest"


def test_a_variant_of_an_endpoint_with_a_queue_may_have_no_instance(
    aws: HandRunAws,
) -> None:
    """
    Requests wait for it there; a serverless one has concurrency that nothing scales.
    """
    output = {"S3OutputPath": "s3://there/out"}
    model = make_model(aws)
    queued = make_endpoint(
        aws,
        make_config(
            aws,
            variant={"ModelName": model, "InstanceType": "ml.g5.xlarge"},
            AsyncInferenceConfig={"OutputConfig": output},
        ),
    )
    key = {
        **_OF,
        "ResourceId": f"endpoint/{queued}/variant/AllTraffic",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    }
    scaling = aws.client("application-autoscaling")
    scaling.register_scalable_target(**key, MinCapacity=0, MaxCapacity=0)
    (target,) = scaling.describe_scalable_targets(
        **_OF, ResourceIds=[key["ResourceId"]]
    )["ScalableTargets"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (0, 0)
    scaling.deregister_scalable_target(**key)


def test_concurrency_of_a_serverless_variant_has_alarms_alone(aws: HandRunAws) -> None:
    """
    By the minute, on its own metric; nothing scales it here.
    """
    name, sagemaker = unique("config"), aws.client("sagemaker")
    serverless = {"MaxConcurrency": 4, "MemorySizeInMB": 1024}
    variant = {"VariantName": "AllTraffic", "ModelName": make_model(aws)}
    sagemaker.create_endpoint_config(
        EndpointConfigName=name,
        ProductionVariants=[{**variant, "ServerlessConfig": serverless}],
    )
    key = {
        **_OF,
        "ResourceId": f"endpoint/{make_endpoint(aws, name)}/variant/AllTraffic",
        "ScalableDimension": "sagemaker:variant:DesiredProvisionedConcurrency",
    }
    scaling = aws.client("application-autoscaling")
    scaling.register_scalable_target(**key, MinCapacity=2, MaxCapacity=4)
    kind = "SageMakerVariantProvisionedConcurrencyUtilization"
    metric = {"PredefinedMetricType": kind}
    made = scaling.put_scaling_policy(
        **key,
        PolicyName="Busy",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 0.5,
            "PredefinedMetricSpecification": metric,
        },
    )
    names = [one["AlarmName"] for one in made["Alarms"]]
    alarms = aws.client("cloudwatch").describe_alarms(AlarmNames=names)["MetricAlarms"]
    assert [(one["MetricName"], one["Statistic"], one["Period"]) for one in alarms] == [
        (kind, "Average", 60)
    ] * 2
    asked = {**_OF, "ResourceId": key["ResourceId"]}
    assert scaling.describe_scaling_activities(**asked)["ScalingActivities"] == []
    scaling.deregister_scalable_target(**key)


def _alarms_of(variant: Scaled, metric: dict[str, Any]) -> list[dict[str, Any]]:
    made = variant.track_own(10.0, metric)
    return [variant.alarms()[one["AlarmName"]] for one in made["Alarms"]]


def test_alarms_of_a_clients_metric_read_all_of_it(variant: Scaled) -> None:
    """
    Its dimensions and unit, by the minute; one that has neither has neither.
    """
    metric = {"MetricName": "Orders", "Namespace": "Shop", "Statistic": "Maximum"}
    dimensions = [{"Name": "Shop", "Value": "North"}]
    high, low = _alarms_of(
        variant, {**metric, "Dimensions": dimensions, "Unit": "Count"}
    )

    for alarm in (high, low):
        shown = {name: alarm[name] for name in metric}
        assert shown == metric
        assert (alarm["Dimensions"], alarm["Unit"]) == (dimensions, "Count")
        assert alarm["Period"] == 60
        assert alarm["ActionsEnabled"]
        (action,) = alarm["AlarmActions"]
        policy, _, whose = action.partition(":createdBy/")
        assert policy == _policies(variant)[0]["PolicyARN"]
        assert len(whose) == 36
        assert alarm["AlarmDescription"] == (
            f"DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {action}."
        )
    assert high["AlarmActions"] == low["AlarmActions"]
    assert (high["Threshold"], low["Threshold"]) == (10.0, 9.0)
    assert (high["EvaluationPeriods"], low["EvaluationPeriods"]) == (3, 15)

    plain, _ = _alarms_of(variant, metric)
    assert plain["Dimensions"] == []
    assert "Unit" not in plain


def test_alarms_of_metric_math_have_its_queries_alone(variant: Scaled) -> None:
    """
    No metric of their own; those of the policy are read by the minute.
    """
    read = {"Namespace": "Shop", "MetricName": "Orders"}
    queries = [
        {
            "Id": "orders",
            "Label": "told",
            "MetricStat": {
                "Metric": {**read, "Dimensions": [{"Name": "D", "Value": "V"}]},
                "Stat": "Sum",
                "Unit": "Count",
            },
            "ReturnData": False,
        },
        {"Id": "half", "Expression": "orders / 2"},
    ]
    for alarm in _alarms_of(variant, {"Metrics": queries}):
        assert not {"MetricName", "Namespace", "Statistic", "Period"} & alarm.keys()
        orders, half = alarm["Metrics"]
        stat = orders["MetricStat"]
        assert orders["Label"] == "told"
        assert not orders["ReturnData"]
        assert (stat["Period"], stat["Stat"], stat["Unit"]) == (60, "Sum", "Count")
        assert stat["Metric"]["Dimensions"] == [{"Name": "D", "Value": "V"}]
        assert {name: stat["Metric"][name] for name in read} == read
        assert (half["Expression"], half["ReturnData"]) == ("orders / 2", True)


def test_activities_are_told_by_place(aws: HandRunAws, variant: Scaled) -> None:
    """
    By resource or dimension, and none of other services.
    """
    component = scaled_component(aws)
    component.register(2, 2)
    variant.register(2, 2)
    describe = variant.scaling.describe_scaling_activities

    def found(namespace: str = "sagemaker", **asked: object) -> set[str]:
        answer = describe(ServiceNamespace=namespace, **asked)
        return {one["ResourceId"] for one in answer["ScalingActivities"]}

    assert {variant.resource_id, component.resource_id} <= found()
    assert found(ResourceId=variant.resource_id) == {variant.resource_id}
    of_copies = found(ScalableDimension=component.key["ScalableDimension"])
    assert component.resource_id in of_copies
    assert variant.resource_id not in of_copies
    assert found("ecs") == set()
    component.scaling.deregister_scalable_target(**component.key)


def test_policies_of_other_services_have_resources_of_theirs(aws: HandRunAws) -> None:
    """
    One that cannot be taken apart is refused in the service's words.
    """
    refused = words(
        aws.client("application-autoscaling").put_scaling_policy,
        PolicyName="Other",
        ServiceNamespace="ecs",
        ResourceId="service",
        ScalableDimension="ecs:service:DesiredCount",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={"TargetValue": 1.0},
    )
    assert refused == (
        "Unsupported service namespace, resource type or scalable dimension"
    )
