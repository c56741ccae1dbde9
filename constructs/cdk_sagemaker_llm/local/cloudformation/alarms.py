"""
``AWS::CloudWatch::Alarm``, which moto serves by API and not by CloudFormation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moto.cloudwatch.models import (
    Alarm,
    CloudWatchBackend,
    Dimension,
    MetricDataQuery,
    cloudwatch_backends,
)

from cdk_sagemaker_llm.local import shapes
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    Scope,
    attributes,
    physical_name,
)
from cdk_sagemaker_llm.local.metric_queries import queries_of


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

    def actual(self, resource: Resource, scope: Scope) -> Properties | None:
        """
        Read the alarm back.
        """
        alarm = _backend(scope).alarms.get(resource.physical_resource_id)
        if alarm is None:
            return None
        observed = _observed(alarm)
        tags = _backend(scope).tagger.get_tag_dict_for_resource(alarm.alarm_arn)
        observed["Tags"] = [{"Key": k, "Value": v} for k, v in tags.items()]
        declared = resource.properties.keys()
        return {key: value for key, value in observed.items() if key in declared}


def _backend(scope: Scope) -> CloudWatchBackend:
    return cloudwatch_backends[scope.account][scope.region]


def _put(name: str, properties: Properties, scope: Scope) -> None:
    shape = shapes.input_shape("cloudwatch", "PutMetricAlarm")
    wanted = shapes.coerce(shape, {**properties, "AlarmName": name})
    shapes.check("cloudwatch", "PutMetricAlarm", wanted)
    backend = _backend(scope)
    alarm = backend.put_metric_alarm(
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
        metric_data_queries=queries_of(wanted.get("Metrics", [])),
        unit=wanted.get("Unit"),
        datapoints_to_alarm=wanted.get("DatapointsToAlarm"),
        treat_missing_data=wanted.get("TreatMissingData"),
        actions_enabled=wanted.get("ActionsEnabled", True),
        extended_statistic=wanted.get("ExtendedStatistic"),
        evaluate_low_sample_count_percentile=wanted.get(
            "EvaluateLowSampleCountPercentile"
        ),
        threshold_metric_id=wanted.get("ThresholdMetricId"),
    )
    backend.tagger.delete_all_tags_for_resource(alarm.alarm_arn)
    backend.tagger.tag_resource(alarm.alarm_arn, wanted.get("Tags", []))


def _observed(alarm: Alarm) -> dict[str, Any]:
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
