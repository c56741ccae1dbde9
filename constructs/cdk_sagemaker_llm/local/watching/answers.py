"""
Operations that moto lacks: what scaling did, and what alarms went through.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from moto.applicationautoscaling.exceptions import AWSValidationException
from moto.applicationautoscaling.responses import ApplicationAutoScalingResponse
from moto.cloudwatch.exceptions import InvalidFormat
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult

from cdk_sagemaker_llm.local import regions
from cdk_sagemaker_llm.local.untyped import Untyped

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.watching.alarms import Change

_MOST_ACTIVITIES, _MOST_CHANGES = 50, 100


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
    page = [told.as_answer() for told in found[start : start + most]]
    token = {"NextToken": str(start + most)} if start + most < len(found) else {}
    return json.dumps({"ScalingActivities": page, **token})


def _describe_alarm_history(response: Untyped) -> ActionResult:
    request = response._get_params()  # noqa: SLF001 - as moto's own answers do
    watching = regions.watching(response.current_account, response.region)
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
