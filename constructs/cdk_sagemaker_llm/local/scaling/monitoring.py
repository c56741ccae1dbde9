"""
CloudWatch's alarms: moto's, with what the service refuses of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from moto.applicationautoscaling.exceptions import AWSValidationException
from moto.applicationautoscaling.responses import ApplicationAutoScalingResponse
from moto.cloudwatch import models
from moto.cloudwatch.exceptions import (
    InvalidFormat,
    InvalidParameterCombination,
    ValidationError,
)
from moto.cloudwatch.models import Alarm
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.scaling.cloudwatch import WatchedCloudWatch
from cdk_sagemaker_llm.local.scaling.watching import WATCHING

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.scaling.alarms import Change

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
_MOST_ACTIVITIES, _MOST_CHANGES = 50, 100


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
    add_alarm_operations()


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


def add_scaling_activities() -> None:
    """
    Have moto answer DescribeScalingActivities.
    """
    responses: Untyped = ApplicationAutoScalingResponse
    responses.describe_scaling_activities = _describe_scaling_activities


def add_alarm_operations() -> None:
    """
    Have moto answer DescribeAlarmHistory and PutCompositeAlarm.
    """
    responses: Untyped = CloudWatchResponse
    responses.describe_alarm_history = _describe_alarm_history
    # moto reads the rule of a composite alarm there, but lacks the name.
    responses.put_composite_alarm = CloudWatchResponse.put_metric_alarm


def _describe_scaling_activities(response: Untyped) -> str:
    request: dict[str, Any] = json.loads(response.body)
    most = request.get("MaxResults", _MOST_ACTIVITIES)
    if not 1 <= most <= _MOST_ACTIVITIES:
        raise AWSValidationException(
            f"MaxResults must be between 1 and {_MOST_ACTIVITIES}"
        )
    start = _start(request.get("NextToken"))
    if start is None:
        raise AWSValidationException("NextToken is not valid")
    found = response.applicationautoscaling_backend.describe_scaling_activities(request)
    page = [entry.as_answer() for entry in found[start : start + most]]
    token = {"NextToken": str(start + most)} if start + most < len(found) else {}
    return json.dumps({"ScalingActivities": page, **token})


def _describe_alarm_history(response: Untyped) -> ActionResult:
    request = response._get_params()  # noqa: SLF001 - as moto's own answers do
    watching = WATCHING.at(response.current_account, response.region)
    changes = list(watching.alarms.history) if watching.alarms else []
    found = [change for change in changes if _is_wanted(change, request)]
    if request.get("ScanBy") != "TimestampAscending":
        found.reverse()
    start = _start(request.get("NextToken"))
    if start is None:
        raise InvalidFormat("NextToken is not valid")
    most = int(request.get("MaxRecords") or _MOST_CHANGES)
    page = [_item(change) for change in found[start : start + most]]
    token = str(start + most) if start + most < len(found) else None
    return ActionResult({"AlarmHistoryItems": page, "NextToken": token})


def _is_wanted(change: Change, request: dict[str, Any]) -> bool:
    name, kind = request.get("AlarmName"), request.get("HistoryItemType")
    first, last = request.get("StartDate"), request.get("EndDate")
    return (
        name in {None, change.alarm}
        and kind in {None, "StateUpdate"}
        and (first is None or _seconds(first) <= change.time)
        and (last is None or change.time <= _seconds(last))
    )


def _item(change: Change) -> dict[str, Any]:
    data = {
        "version": "1.0",
        "oldState": {"stateValue": change.before},
        "newState": {"stateValue": change.after, "stateReason": change.reason},
    }
    return {
        "AlarmName": change.alarm,
        "AlarmType": "CompositeAlarm" if change.is_composite else "MetricAlarm",
        "Timestamp": datetime.fromtimestamp(change.time, UTC),
        "HistoryItemType": "StateUpdate",
        "HistorySummary": f"Alarm updated from {change.before} to {change.after}",
        "HistoryData": json.dumps(data),
    }


def _seconds(moment: datetime) -> float:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.timestamp()


def _start(token: str | None) -> int | None:
    if not token:
        return 0
    return int(token) if token.isascii() and token.isdigit() else None
