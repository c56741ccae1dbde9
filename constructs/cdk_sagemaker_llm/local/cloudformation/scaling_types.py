"""
Alarms, scalable targets and policies, on the backends that boto3 reads as well.

moto serves them by API and not by CloudFormation.
"""

from __future__ import annotations

from typing import Any

from moto.applicationautoscaling.models import (
    FakeApplicationAutoscalingPolicy,
    applicationautoscaling_backends,
)
from moto.cloudwatch.models import CloudWatchBackend, cloudwatch_backends

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.plain_types import PlainType, ReadableType
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Properties,
    Resource,
    ResourceType,
    Scope,
)
from cdk_sagemaker_llm.local.scaling.alarms import ALARM_MEMBERS, spell_alarm
from cdk_sagemaker_llm.local.scaling.application_auto_scaling import EmbeddedScaling
from cdk_sagemaker_llm.local.scaling.scalable_targets import queries_of

_TARGET_KEY = ("ResourceId", "ScalableDimension", "ServiceNamespace")
_ALARM_ARN = {"Arn": "arn:{partition}:cloudwatch:{region}:{account}:alarm:{}"}


def _cloudwatch(scope: Scope) -> CloudWatchBackend:
    return cloudwatch_backends[scope.account][scope.region]


def _put_alarm(name: str, properties: Properties, scope: Scope) -> str:
    operation = "PutCompositeAlarm" if "AlarmRule" in properties else "PutMetricAlarm"
    shape = shapes.input_shape("cloudwatch", operation)
    request = shapes.coerce(shape, {**properties, "AlarmName": name})
    shapes.check("cloudwatch", operation, request)
    settings: Untyped = {k: request.get(name) for k, name in ALARM_MEMBERS.items()}
    settings["alarm_actions"] = request.get("AlarmActions", [])
    settings["dimensions"] = request.get("Dimensions", [])
    settings["metric_data_queries"] = queries_of(request.get("Metrics", []))
    backend = _cloudwatch(scope)
    alarm = backend.put_metric_alarm(**settings)
    backend.tagger.delete_all_tags_for_resource(alarm.alarm_arn)
    backend.tagger.tag_resource(alarm.alarm_arn, request.get("Tags", []))
    return name


def _drop_alarm(resource: Resource, scope: Scope) -> None:
    _cloudwatch(scope).delete_alarms([resource.physical_resource_id])


def _read_alarm(resource: Resource, scope: Scope) -> Properties | None:
    backend = _cloudwatch(scope)
    alarm = backend.alarms.get(resource.physical_resource_id)
    if alarm is None:
        return None
    tags = backend.tagger.get_tag_dict_for_resource(alarm.alarm_arn)
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    return {**spell_alarm(alarm), "Tags": listed}


def _scaling(scope: Scope) -> EmbeddedScaling:
    backend = applicationautoscaling_backends[scope.account][scope.region]
    assert isinstance(backend, EmbeddedScaling)  # noqa: S101 - for mypy
    return backend


def _put_target(_: str, properties: Properties, scope: Scope) -> str:
    scaling = _scaling(scope)
    plain = {k: v for k, v in properties.items() if k != "ScheduledActions"}
    target = _request("RegisterScalableTarget", plain)
    registered = scaling.register_scalable_target(
        target["ServiceNamespace"],
        target["ResourceId"],
        target["ScalableDimension"],
        min_capacity=target.get("MinCapacity"),
        max_capacity=target.get("MaxCapacity"),
        role_arn=target.get("RoleARN", ""),
        suspended_state=target.get("SuspendedState", {}),
    )
    scaling.tag(registered.arn, target.get("Tags", {}))
    key = {name: target[name] for name in _TARGET_KEY}
    for each in properties.get("ScheduledActions", ()):
        action = _request("PutScheduledAction", {**key, **each})
        scaling.put_scheduled_action(
            service_namespace=action["ServiceNamespace"],
            schedule=action["Schedule"],
            # None as of a client that sets none: an empty text is no time to boto3,
            # and a time zone that nobody named is shown by nobody.
            timezone=action.get("Timezone"),
            scheduled_action_name=action["ScheduledActionName"],
            resource_id=action["ResourceId"],
            scalable_dimension=action["ScalableDimension"],
            start_time=action.get("StartTime"),
            end_time=action.get("EndTime"),
            scalable_target_action=action.get("ScalableTargetAction", ""),
        )
    return "|".join(key.values())


def _change_target(resource: Resource, properties: Properties, scope: Scope) -> None:
    _unschedule(resource.properties, scope)
    _put_target(resource.physical_resource_id, properties, scope)


def _drop_target(resource: Resource, scope: Scope) -> None:
    resource_id, dimension, namespace = resource.physical_resource_id.split("|")
    _unschedule(resource.properties, scope)
    # Deleting its endpoint may have done so already.
    if _scaling(scope).describe_scalable_targets(namespace, [resource_id], dimension):
        _scaling(scope).deregister_scalable_target(namespace, resource_id, dimension)


def _unschedule(properties: Properties, scope: Scope) -> None:
    for action in properties.get("ScheduledActions", ()):
        _scaling(scope).delete_scheduled_action(
            properties["ServiceNamespace"],
            action["ScheduledActionName"],
            properties["ResourceId"],
            properties["ScalableDimension"],
        )


def _read_target(resource: Resource, scope: Scope) -> Properties | None:
    resource_id, dimension, namespace = resource.physical_resource_id.split("|")
    scaling = _scaling(scope)
    found = scaling.describe_scalable_targets(namespace, [resource_id], dimension)
    if not found:
        return None
    return {
        "Tags": [
            {"Key": key, "Value": value}
            for key, value in scaling.tags_of(found[0].arn).items()
        ],
        "MinCapacity": found[0].min_capacity,
        "MaxCapacity": found[0].max_capacity,
        "SuspendedState": found[0].suspended_state,
        "ScheduledActions": [
            {
                "ScheduledActionName": action.scheduled_action_name,
                "Schedule": action.schedule,
                "Timezone": action.timezone,
                "StartTime": action.start_time,
                "EndTime": action.end_time,
                "ScalableTargetAction": action.scalable_target_action,
            }
            for action in scaling.scheduled_actions
            if (action.resource_id, action.scalable_dimension)
            == (resource_id, dimension)
        ],
    }


def _put_policy(_: str, properties: Properties, scope: Scope) -> str:
    members = dict(properties)
    target = members.pop("ScalingTargetId", None)
    if target:
        members.update(zip(_TARGET_KEY, target.split("|"), strict=True))
    request = _request("PutScalingPolicy", members)
    policy = _scaling(scope).put_scaling_policy(
        policy_name=request["PolicyName"],
        service_namespace=request["ServiceNamespace"],
        resource_id=request["ResourceId"],
        scalable_dimension=request["ScalableDimension"],
        policy_body=request.get("TargetTrackingScalingPolicyConfiguration")
        or request.get("StepScalingPolicyConfiguration", {}),
        policy_type=request.get("PolicyType"),
    )
    return str(policy.policy_arn)


def _policy(
    resource: Resource, scope: Scope
) -> FakeApplicationAutoscalingPolicy | None:
    policies = _scaling(scope).policies.values()
    arn = resource.physical_resource_id
    return next((policy for policy in policies if policy.policy_arn == arn), None)


def _drop_policy(resource: Resource, scope: Scope) -> None:
    policy = _policy(resource, scope)
    # Deregistering its target may have done so already.
    if policy is not None:
        _scaling(scope).delete_scaling_policy(
            policy.policy_name,
            policy.service_namespace,
            policy.resource_id,
            policy.scalable_dimension,
        )


def _read_policy(resource: Resource, scope: Scope) -> Properties | None:
    policy = _policy(resource, scope)
    if policy is None:
        return None
    tracking = policy.target_tracking_scaling_policy_configuration
    return {
        "PolicyType": policy.policy_type,
        "TargetTrackingScalingPolicyConfiguration": tracking,
        "StepScalingPolicyConfiguration": policy.step_scaling_policy_configuration,
    }


def _request(operation: str, properties: Properties) -> dict[str, Any]:
    tags = properties.get("Tags")
    if isinstance(tags, list):
        # A list in CloudFormation, a map in the API.
        properties = {**properties, "Tags": {t["Key"]: t["Value"] for t in tags}}
    shape = shapes.input_shape("application-autoscaling", operation)
    request: dict[str, Any] = shapes.coerce(shape, properties)
    shapes.check("application-autoscaling", operation, request)
    return request


SCALING_TYPES: dict[str, ResourceType] = {
    "AWS::CloudWatch::Alarm": ReadableType(
        put=_put_alarm,
        drop=_drop_alarm,
        read=_read_alarm,
        name="AlarmName",
        attributes=_ALARM_ARN,
    ),
    "AWS::CloudWatch::CompositeAlarm": PlainType(
        put=_put_alarm, drop=_drop_alarm, name="AlarmName", attributes=_ALARM_ARN
    ),
    "AWS::ApplicationAutoScaling::ScalableTarget": ReadableType(
        put=_put_target,
        drop=_drop_target,
        change=_change_target,
        read=_read_target,
        attributes={"Id": "{}"},
    ),
    "AWS::ApplicationAutoScaling::ScalingPolicy": ReadableType(
        put=_put_policy,
        drop=_drop_policy,
        read=_read_policy,
        attributes={"Arn": "{}"},
    ),
}
