"""
CloudWatch's alarms: moto's, with what the service refuses of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from moto.cloudwatch import models
from moto.cloudwatch.exceptions import InvalidParameterCombination, ValidationError
from moto.cloudwatch.models import Alarm

from cdk_sagemaker_llm.local import shapes
from cdk_sagemaker_llm.local.errors import AwsError
from cdk_sagemaker_llm.local.untyped import Untyped
from cdk_sagemaker_llm.local.watching import answers
from cdk_sagemaker_llm.local.watching.cloudwatch import WatchedCloudWatch

_MISSING_DATA = ("breaching", "ignore", "missing", "notBreaching")
_SHORT_PERIODS = frozenset({10, 20, 30})
_HOUR, _DAY, _WEEK = 3600, 86_400, 604_800
# The user guide's page "CloudWatch statistics definitions".
_EXTENDED = re.compile(
    r"(?:p|tm|wm|tc|ts)(?:\d{1,2}(?:\.\d{1,10})?|100)|IQM"
    r"|(?:PR|TM|WM|TC|TS)\((?:\d+(?:\.\d+)?%?)?:(?:\d+(?:\.\d+)?%?)?\)",
    re.IGNORECASE,
)
_MEMBERS = {
    "name": "AlarmName",
    "description": "AlarmDescription",
    "namespace": "Namespace",
    "metric_name": "MetricName",
    "statistic": "Statistic",
    "period": "Period",
    "evaluation_periods": "EvaluationPeriods",
    "datapoints_to_alarm": "DatapointsToAlarm",
    "comparison_operator": "ComparisonOperator",
    "threshold": "Threshold",
    "unit": "Unit",
    "treat_missing_data": "TreatMissingData",
    "alarm_actions": "AlarmActions",
    "ok_actions": "OKActions",
    "insufficient_data_actions": "InsufficientDataActions",
}


class EmbeddedCloudWatch(WatchedCloudWatch):
    """
    moto's CloudWatch with the rules of PutMetricAlarm.
    """

    @property
    def _url_module(self) -> Untyped:
        # moto derives it from the name of the module the class is in.
        from moto.cloudwatch import urls  # noqa: PLC0415 - as moto does

        return urls

    def put_metric_alarm(self, **settings: Untyped) -> Alarm:  # type: ignore[override]  # keywords of moto's own
        """
        Keep an alarm that can go off.
        """
        if settings.get("rule"):  # A composite alarm, which has none of the rest.
            return super().put_metric_alarm(**settings)
        _refuse_shape(settings)
        for fault in _faults(settings):
            raise ValidationError(fault)
        if settings.get("metric_name") is not None:
            _refuse_statistics(settings)
        return super().put_metric_alarm(**settings)


def install() -> None:
    """
    Put the rules into moto, before any backend is made.
    """
    models.cloudwatch_backends.backend = EmbeddedCloudWatch
    answers.add_alarm_operations()


def _refuse_shape(settings: dict[str, Untyped]) -> None:
    request = {
        member: settings[name]
        for name, member in _MEMBERS.items()
        if settings.get(name) is not None
    }
    try:
        shapes.check("cloudwatch", "PutMetricAlarm", request)
    except AwsError as error:
        raise ValidationError(error.message) from error


def _faults(settings: dict[str, Untyped]) -> Iterator[str]:
    for name in ("comparison_operator", "evaluation_periods"):
        if settings.get(name) is None:
            yield f"The parameter {_MEMBERS[name]} is required."
            return
    has_threshold = settings.get("threshold") is not None or settings.get(
        "threshold_metric_id"
    )
    # An alarm of CloudFormation with metrics does not show here which they are.
    shown = settings.get("metric_name") or settings.get("metric_data_queries") is None
    if shown and not has_threshold:
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


def _refuse_statistics(settings: dict[str, Untyped]) -> None:
    extended = settings.get("extended_statistic")
    if (settings.get("statistic") is None) == (extended is None):
        raise InvalidParameterCombination(
            "Exactly one of Statistic and ExtendedStatistic must be specified."
        )
    if extended is not None and not _EXTENDED.fullmatch(extended):
        raise ValidationError(
            f"The value {extended} for parameter ExtendedStatistic is not supported."
        )
