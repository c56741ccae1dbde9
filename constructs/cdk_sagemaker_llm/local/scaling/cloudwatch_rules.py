"""
What CloudWatch refuses of requests and alarms, beyond its model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from moto.cloudwatch.exceptions import (
    InvalidParameterCombination,
    InvalidParameterValue,
    ValidationError,
)

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.scaling.alarms import ALARM_MEMBERS

TARGET = "GraniteServiceVersion20100801"
"""The service's name in the protocols of JSON and CBOR."""

_HOUR, _DAY, _WEEK = 3600, 86_400, 604_800
_MISSING_DATA = ("breaching", "ignore", "missing", "notBreaching")
_SHORT_PERIODS = frozenset({10, 20, 30})
# The user guide's page "CloudWatch statistics definitions".
_EXTENDED = re.compile(
    r"(?:p|tm|wm|tc|ts)(?:\d{1,2}(?:\.\d{1,10})?|100)|IQM"
    r"|(?:PR|TM|WM|TC|TS)\((?:\d+(?:\.\d+)?%?)?:(?:\d+(?:\.\d+)?%?)?\)",
    re.IGNORECASE,
)


def check_alarm(settings: dict[str, Untyped]) -> None:
    """
    Refuse an alarm of a metric that CloudWatch does not take.
    """
    request = {
        member: settings[name]
        for name, member in ALARM_MEMBERS.items()
        if settings.get(name) is not None
    }
    try:
        shapes.check("cloudwatch", "PutMetricAlarm", request)
    except AwsError as error:
        raise ValidationError(error.message) from error
    for fault in _alarm_faults(settings):
        raise ValidationError(fault)
    extended = settings.get("extended_statistic")
    if settings.get("metric_name") is None:
        return
    if (settings.get("statistic") is None) == (extended is None):
        raise InvalidParameterCombination(
            "Exactly one of Statistic and ExtendedStatistic must be specified."
        )
    if extended is not None and not _EXTENDED.fullmatch(extended):
        raise InvalidParameterValue(
            f"The value {extended} for parameter ExtendedStatistic is not supported."
        )


def _alarm_faults(settings: dict[str, Untyped]) -> Iterator[str]:
    for name in ("comparison_operator", "evaluation_periods"):
        if settings.get(name) is None:
            yield f"The parameter {ALARM_MEMBERS[name]} is required."
            return
    has_threshold = settings.get("threshold") is not None or settings.get(
        "threshold_metric_id"
    )
    # An alarm of CloudFormation with metrics does not show here which they are.
    has_metric = (
        settings.get("metric_name") or settings.get("metric_data_queries") is None
    )
    if has_metric and not has_threshold:
        yield "The parameter Threshold is required."
    points = settings.get("datapoints_to_alarm")
    if points is not None and points > settings["evaluation_periods"]:
        yield "DatapointsToAlarm must be less than or equal to EvaluationPeriods."
    missing = settings.get("treat_missing_data")
    if missing is not None and missing not in _MISSING_DATA:
        yield (
            f"Option {missing} is not supported. Supported options for parameter "
            f"TreatMissingData are {', '.join(_MISSING_DATA)}."
        )
    if settings.get("metric_name") is not None:
        yield from _period_faults(settings)
    elif settings.get("metric_data_queries") is None:
        yield "Specify either MetricName or Metrics."


def _period_faults(settings: dict[str, Untyped]) -> Iterator[str]:
    period, count = settings.get("period"), settings["evaluation_periods"]
    if not settings.get("namespace"):
        yield "The parameter Namespace is required."
    if period is None:
        yield "The parameter Period is required."
        return
    if period not in _SHORT_PERIODS and period % 60:
        yield f"Period must be 10, 20, 30 or a multiple of 60, got {period}."
    if period < _HOUR and period * count > _DAY:
        yield (
            "Metrics cannot be checked across more than a day (EvaluationPeriods * "
            f"Period must be <= {_DAY})"
        )
    if period * count > _WEEK:
        yield (
            "Metrics cannot be checked across more than seven days "
            f"(EvaluationPeriods * Period must be <= {_WEEK})"
        )


def refuse_wrong_types(operation: str, request: dict[str, Any]) -> None:
    """
    Refuse a call whose members the service could not read; moto fails on them.
    """
    if shapes.has_operation("cloudwatch", operation):
        shapes.refuse_wrong_types("cloudwatch", operation, request)


def refuse_nameless(queries: list[dict[str, Any]]) -> None:
    """
    Refuse a metric without a name or a namespace, of which the model requires neither.
    """
    for number, query in enumerate(queries, start=1):
        metric = query.get("MetricStat", {}).get("Metric")
        for name in ("Namespace", "MetricName"):
            if metric is not None and not metric.get(name):
                raise ValidationError(
                    f"The parameter MetricDataQueries.member.{number}.MetricStat."
                    f"Metric.{name} is required.\n"
                )
