"""
Alarms, scalable targets and policies, on the backends that boto3 reads as well.

moto serves them by API and not by CloudFormation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moto.applicationautoscaling.models import (
    ApplicationAutoscalingBackend,
    applicationautoscaling_backends,
)
from moto.cloudwatch.models import (
    Alarm,
    CloudWatchBackend,
    Dimension,
    MetricDataQuery,
    cloudwatch_backends,
)

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    Scope,
    attributes,
    physical_name,
)
from cdk_sagemaker_llm.local.scaling.scaling_policies import queries_of

_TARGET_KEY = ("ResourceId", "ScalableDimension", "ServiceNamespace")


class AlarmType:
    """
    An alarm, which is watched where time runs.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Put the alarm.
        """
        name = properties.get("AlarmName") or physical_name(declaration.logical_id)
        _put_alarm(name, properties, scope)
        place = f"{scope.region}:{scope.account}"
        arn = f"arn:{_cloudwatch(scope).partition}:cloudwatch:{place}:alarm:{name}"
        return Resource(
            declaration=declaration,
            properties=properties,
            physical_resource_id=name,
            read_attribute=attributes({"Arn": arn}),
        )

    def update(self, resource: Resource, properties: Properties, scope: Scope) -> None:
        """
        Put the alarm again under its name.
        """
        _put_alarm(resource.physical_resource_id, properties, scope)

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Delete the alarm.
        """
        _cloudwatch(scope).delete_alarms([resource.physical_resource_id])

    def actual(self, resource: Resource, scope: Scope) -> Properties | None:
        """
        Read the alarm back.
        """
        alarm = _cloudwatch(scope).alarms.get(resource.physical_resource_id)
        if alarm is None:
            return None
        observed = _observed_alarm(alarm)
        tags = _cloudwatch(scope).tagger.get_tag_dict_for_resource(alarm.alarm_arn)
        observed["Tags"] = [{"Key": k, "Value": v} for k, v in tags.items()]
        declared = resource.properties.keys()
        return {key: value for key, value in observed.items() if key in declared}


def _cloudwatch(scope: Scope) -> CloudWatchBackend:
    return cloudwatch_backends[scope.account][scope.region]


def _put_alarm(name: str, properties: Properties, scope: Scope) -> None:
    shape = shapes.input_shape("cloudwatch", "PutMetricAlarm")
    request = shapes.coerce(shape, {**properties, "AlarmName": name})
    shapes.check("cloudwatch", "PutMetricAlarm", request)
    backend = _cloudwatch(scope)
    alarm = backend.put_metric_alarm(
        name=name,
        comparison_operator=request["ComparisonOperator"],
        evaluation_periods=request["EvaluationPeriods"],
        period=request.get("Period"),
        threshold=request.get("Threshold"),
        statistic=request.get("Statistic"),
        description=request.get("AlarmDescription"),
        dimensions=request.get("Dimensions", []),
        alarm_actions=request.get("AlarmActions", []),
        ok_actions=request.get("OKActions", []),
        insufficient_data_actions=request.get("InsufficientDataActions", []),
        metric_name=request.get("MetricName"),
        namespace=request.get("Namespace"),
        metric_data_queries=queries_of(request.get("Metrics", [])),
        unit=request.get("Unit"),
        datapoints_to_alarm=request.get("DatapointsToAlarm"),
        treat_missing_data=request.get("TreatMissingData"),
        actions_enabled=request.get("ActionsEnabled", True),
        extended_statistic=request.get("ExtendedStatistic"),
        evaluate_low_sample_count_percentile=request.get(
            "EvaluateLowSampleCountPercentile"
        ),
        threshold_metric_id=request.get("ThresholdMetricId"),
    )
    backend.tagger.delete_all_tags_for_resource(alarm.alarm_arn)
    backend.tagger.tag_resource(alarm.alarm_arn, request.get("Tags", []))


def _observed_alarm(alarm: Alarm) -> dict[str, Any]:
    return {
        "ComparisonOperator": alarm.comparison_operator,
        "EvaluationPeriods": alarm.evaluation_periods,
        "Period": alarm.period,
        "Threshold": alarm.threshold,
        "Statistic": alarm.statistic,
        "AlarmDescription": alarm.description,
        "Dimensions": _dimensions(alarm.dimensions),
        "AlarmActions": alarm.alarm_actions,
        "OKActions": alarm.ok_actions,
        "InsufficientDataActions": alarm.insufficient_data_actions,
        "MetricName": alarm.metric_name,
        "Namespace": alarm.namespace,
        "Metrics": [_observed_query(query) for query in alarm.metric_data_queries],
        "Unit": alarm.unit,
        "DatapointsToAlarm": alarm.datapoints_to_alarm,
        "TreatMissingData": alarm.treat_missing_data,
        "ActionsEnabled": alarm.actions_enabled,
        "ExtendedStatistic": alarm.extended_statistic,
        "EvaluateLowSampleCountPercentile": alarm.evaluate_low_sample_count_percentile,
        "ThresholdMetricId": alarm.threshold_metric_id,
    }


def _observed_query(query: MetricDataQuery) -> dict[str, Any]:
    observed: dict[str, Any] = {
        "Id": query.id,
        "Label": query.label,
        "Period": query.period,
        "ReturnData": query.return_data,
        "Expression": query.expression,
    }
    if query.metric_stat is not None:
        stat = query.metric_stat
        metric = {
            "MetricName": stat.metric.metric_name,
            "Namespace": stat.metric.namespace,
            "Dimensions": _dimensions(stat.metric.dimensions),
        }
        observed["MetricStat"] = {
            "Metric": metric,
            "Period": stat.period,
            "Stat": stat.stat,
            "Unit": stat.unit,
        }
    return observed


def _dimensions(dimensions: Iterable[Dimension]) -> list[dict[str, Any]]:
    return [{"Name": one.name, "Value": one.value} for one in dimensions]


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
        _register_target(properties, scope)
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
        _register_target(properties, scope)

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Deregister the target, unless deleting its endpoint did so already.
        """
        resource_id, dimension, namespace = resource.physical_resource_id.split("|")
        _unschedule(resource.properties, scope)
        if _scaling(scope).describe_scalable_targets(
            namespace, [resource_id], dimension
        ):
            _scaling(scope).deregister_scalable_target(
                namespace, resource_id, dimension
            )

    def actual(self, resource: Resource, scope: Scope) -> Properties | None:
        """
        Read the target back, with its scheduled actions.
        """
        resource_id, dimension, namespace = resource.physical_resource_id.split("|")
        found = _scaling(scope).describe_scalable_targets(
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
        arn, key = _put_policy(properties, scope)
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
        _put_policy(properties, scope)
        policy = _policies(scope)["\t".join(resource.native)]
        policy.policy_arn = resource.physical_resource_id

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Delete the policy, unless deregistering its target did so already.
        """
        if "\t".join(resource.native) in _policies(scope):
            namespace, resource_id, dimension, name = resource.native
            _scaling(scope).delete_scaling_policy(
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


def _scaling(scope: Scope) -> ApplicationAutoscalingBackend:
    return applicationautoscaling_backends[scope.account][scope.region]


def _policies(scope: Scope) -> dict[str, Any]:
    return _scaling(scope).policies


def _register_target(properties: Properties, scope: Scope) -> None:
    plain = {k: v for k, v in properties.items() if k != "ScheduledActions"}
    request = _checked("RegisterScalableTarget", plain)
    _scaling(scope).register_scalable_target(
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
    _scaling(scope).put_scheduled_action(
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
    actions = _scaling(scope).scheduled_actions
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
        _scaling(scope).delete_scheduled_action(
            properties["ServiceNamespace"],
            action["ScheduledActionName"],
            properties["ResourceId"],
            properties["ScalableDimension"],
        )


def _put_policy(properties: Properties, scope: Scope) -> tuple[str, tuple[str, ...]]:
    wanted = dict(properties)
    target = wanted.pop("ScalingTargetId", None)
    if target:
        wanted.update(zip(_TARGET_KEY, target.split("|"), strict=True))
    request = _checked("PutScalingPolicy", wanted)
    policy = _scaling(scope).put_scaling_policy(
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
