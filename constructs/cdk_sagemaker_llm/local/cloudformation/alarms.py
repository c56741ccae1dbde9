"""
``AWS::CloudWatch::Alarm``, which moto serves by API and not by CloudFormation.
"""

from __future__ import annotations

from moto.cloudwatch.models import CloudWatchBackend, cloudwatch_backends

from cdk_sagemaker_llm.local import shapes
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    Scope,
    attributes,
    changed,
    physical_name,
)


class AlarmType:
    """
    An alarm that can be described; no metric ever makes it go off.
    """

    def must_replace(self, before: Properties, after: Properties) -> bool:
        """
        Replace when the name changes.
        """
        return "AlarmName" in changed(before, after)

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource:
        """
        Put the alarm.
        """
        name = properties.get("AlarmName") or physical_name(declaration.logical_id)
        _put(name, properties, scope)
        place = f"{scope.region}:{scope.account}"
        arn = f"arn:{_backend(scope).partition}:cloudwatch:{place}:alarm:{name}"
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
        _put(resource.physical_resource_id, properties, scope)

    def delete(self, resource: Resource, scope: Scope) -> None:
        """
        Delete the alarm.
        """
        _backend(scope).delete_alarms([resource.physical_resource_id])


def _backend(scope: Scope) -> CloudWatchBackend:
    return cloudwatch_backends[scope.account][scope.region]


def _put(name: str, properties: Properties, scope: Scope) -> None:
    shape = shapes.input_shape("cloudwatch", "PutMetricAlarm")
    wanted = shapes.coerce(shape, {**properties, "AlarmName": name})
    shapes.check("cloudwatch", "PutMetricAlarm", wanted)
    _backend(scope).put_metric_alarm(
        name=name,
        comparison_operator=wanted["ComparisonOperator"],
        evaluation_periods=wanted["EvaluationPeriods"],
        period=wanted.get("Period"),
        threshold=wanted.get("Threshold"),
        statistic=wanted.get("Statistic"),
        description=wanted.get("AlarmDescription"),
        dimensions=wanted.get("Dimensions", []),
        alarm_actions=wanted.get("AlarmActions", []),
        ok_actions=wanted.get("OKActions", []),
        insufficient_data_actions=wanted.get("InsufficientDataActions", []),
        metric_name=wanted.get("MetricName"),
        namespace=wanted.get("Namespace"),
        metric_data_queries=[],
        unit=wanted.get("Unit"),
        datapoints_to_alarm=wanted.get("DatapointsToAlarm"),
        treat_missing_data=wanted.get("TreatMissingData"),
        actions_enabled=wanted.get("ActionsEnabled", True),
        extended_statistic=wanted.get("ExtendedStatistic"),
    )
