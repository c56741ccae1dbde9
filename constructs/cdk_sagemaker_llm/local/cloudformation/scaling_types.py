"""
``AWS::ApplicationAutoScaling::*``, on the backend that boto3 reads as well.
"""

from __future__ import annotations

from typing import Any

from moto.applicationautoscaling.models import (
    ApplicationAutoscalingBackend,
    applicationautoscaling_backends,
)

from cdk_sagemaker_llm.local import shapes
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    Scope,
    attributes,
)

_TARGET_KEY = ("ResourceId", "ScalableDimension", "ServiceNamespace")


class ScalableTargetType:
    """
    ``AWS::ApplicationAutoScaling::ScalableTarget``.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Register the target and its scheduled actions.
        """
        _register(properties, scope)
        identity = "|".join(properties[key] for key in _TARGET_KEY)
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=identity,
            read_attribute=attributes({"Id": identity}),
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Register it again, which changes it, and exchange the scheduled actions.
        """
        _unschedule(resource.properties, scope)
        _register(properties, scope)

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Deregister the target, unless deleting its endpoint did so already.
        """
        resource_id, dimension, namespace = resource.physical_resource_id.split("|")
        _unschedule(resource.properties, scope)
        if _backend(scope).describe_scalable_targets(
            namespace, [resource_id], dimension
        ):
            _backend(scope).deregister_scalable_target(
                namespace, resource_id, dimension
            )

    def actual(self, resource: Resource, scope: Scope) -> Properties | None:
        """
        Read the target back, with its scheduled actions.
        """
        resource_id, dimension, namespace = resource.physical_resource_id.split("|")
        found = _backend(scope).describe_scalable_targets(
            namespace, [resource_id], dimension
        )
        if not found:
            return None
        target = found[0]
        observed = {
            "MinCapacity": target.min_capacity,
            "MaxCapacity": target.max_capacity,
            "SuspendedState": target.suspended_state,
            "ScheduledActions": _scheduled(resource_id, dimension, scope),
        }
        declared = resource.properties.keys()
        return {key: value for key, value in observed.items() if key in declared}


class ScalingPolicyType:
    """
    ``AWS::ApplicationAutoScaling::ScalingPolicy``.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Put the policy.
        """
        arn, key = _put(properties, scope)
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=arn,
            read_attribute=attributes({"Arn": arn}),
            native=key,
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Put the policy again; its ARN stays, which moto would make anew.
        """
        _put(properties, scope)
        policy = _policies(scope)["\t".join(resource.native)]
        policy.policy_arn = resource.physical_resource_id

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Delete the policy, unless deregistering its target did so already.
        """
        if "\t".join(resource.native) in _policies(scope):
            namespace, resource_id, dimension, name = resource.native
            _backend(scope).delete_scaling_policy(
                name, namespace, resource_id, dimension
            )

    def actual(self, resource: Resource, scope: Scope) -> Properties | None:
        """
        Read the policy back.
        """
        policy = _policies(scope).get("\t".join(resource.native))
        if policy is None:
            return None
        tracking = policy.target_tracking_scaling_policy_configuration
        observed = {
            "PolicyType": policy.policy_type,
            "TargetTrackingScalingPolicyConfiguration": tracking,
            "StepScalingPolicyConfiguration": policy.step_scaling_policy_configuration,
        }
        declared = resource.properties.keys()
        return {key: value for key, value in observed.items() if key in declared}


def _backend(scope: Scope) -> ApplicationAutoscalingBackend:
    return applicationautoscaling_backends[scope.account][scope.region]


def _policies(scope: Scope) -> dict[str, Any]:
    return _backend(scope).policies


def _register(properties: Properties, scope: Scope) -> None:
    plain = {k: v for k, v in properties.items() if k != "ScheduledActions"}
    request = _checked("RegisterScalableTarget", plain)
    _backend(scope).register_scalable_target(
        request["ServiceNamespace"],
        request["ResourceId"],
        request["ScalableDimension"],
        min_capacity=request.get("MinCapacity"),
        max_capacity=request.get("MaxCapacity"),
        role_arn=request.get("RoleARN", ""),
        suspended_state=request.get("SuspendedState", {}),
    )
    for action in properties.get("ScheduledActions", ()):
        _schedule(request, action, scope)


def _schedule(target: dict[str, Any], action: dict[str, Any], scope: Scope) -> None:
    named = {key: target[key] for key in _TARGET_KEY}
    request = _checked("PutScheduledAction", {**named, **action})
    _backend(scope).put_scheduled_action(
        service_namespace=request["ServiceNamespace"],
        schedule=request["Schedule"],
        timezone=request.get("Timezone", "UTC"),
        scheduled_action_name=request["ScheduledActionName"],
        resource_id=request["ResourceId"],
        scalable_dimension=request["ScalableDimension"],
        # None as of a client that sets none: an empty text is no time to boto3.
        start_time=request.get("StartTime"),  # type: ignore[arg-type] # moto says text
        end_time=request.get("EndTime"),  # type: ignore[arg-type] # moto says text
        scalable_target_action=request.get("ScalableTargetAction", ""),
    )


def _scheduled(resource_id: str, dimension: str, scope: Scope) -> list[dict[str, Any]]:
    actions = _backend(scope).scheduled_actions
    return [
        {
            "ScheduledActionName": action.scheduled_action_name,
            "Schedule": action.schedule,
            "Timezone": action.timezone,
            "StartTime": action.start_time,
            "EndTime": action.end_time,
            "ScalableTargetAction": action.scalable_target_action,
        }
        for action in actions
        if (action.resource_id, action.scalable_dimension) == (resource_id, dimension)
    ]


def _unschedule(properties: Properties, scope: Scope) -> None:
    for action in properties.get("ScheduledActions", ()):
        _backend(scope).delete_scheduled_action(
            properties["ServiceNamespace"],
            action["ScheduledActionName"],
            properties["ResourceId"],
            properties["ScalableDimension"],
        )


def _put(properties: Properties, scope: Scope) -> tuple[str, tuple[str, ...]]:
    wanted = dict(properties)
    target = wanted.pop("ScalingTargetId", None)
    if target:
        wanted.update(zip(_TARGET_KEY, target.split("|"), strict=True))
    request = _checked("PutScalingPolicy", wanted)
    policy = _backend(scope).put_scaling_policy(
        request["PolicyName"],
        request["ServiceNamespace"],
        request["ResourceId"],
        request["ScalableDimension"],
        policy_body=request.get("TargetTrackingScalingPolicyConfiguration")
        or request.get("StepScalingPolicyConfiguration", {}),
        policy_type=request.get("PolicyType"),
    )
    key = (
        request["ServiceNamespace"],
        request["ResourceId"],
        request["ScalableDimension"],
        request["PolicyName"],
    )
    return policy.policy_arn, key


def _checked(operation: str, properties: Properties) -> dict[str, Any]:
    tags = properties.get("Tags")
    if isinstance(tags, list):
        # A list in CloudFormation, a map in the API.
        properties = {**properties, "Tags": {t["Key"]: t["Value"] for t in tags}}
    shape = shapes.input_shape("application-autoscaling", operation)
    request: dict[str, Any] = shapes.coerce(shape, properties)
    shapes.check("application-autoscaling", operation, request)
    return request
