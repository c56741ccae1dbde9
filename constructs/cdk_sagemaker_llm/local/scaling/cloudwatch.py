"""
CloudWatch that time runs in: metrics of the runtime, alarms that change state, and what
the service refuses of alarms.
"""

from __future__ import annotations

import functools
import json
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from botocore import xform_name
from moto.cloudwatch import models, urls
from moto.cloudwatch.exceptions import (
    InvalidFormat,
    ResourceNotFound,
    ValidationError,
)
from moto.cloudwatch.metric_data_expression_parser import parse_expression
from moto.cloudwatch.models import (
    Alarm,
    CloudWatchBackend,
    Dimension,
    MetricAggregatedDatum,
    MetricDatum,
    MetricDatumBase,
    Statistics,
)
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.scaling.alarms import (
    Change,
    moment,
    spell_metric,
)
from cdk_sagemaker_llm.local.scaling.cloudwatch_rules import (
    check_alarm,
    refuse_nameless,
)
from cdk_sagemaker_llm.local.scaling.meter import period_of, unit_of
from cdk_sagemaker_llm.local.scaling.watching import WATCHING
from cdk_sagemaker_llm.simulation.alarms import INSUFFICIENT_DATA
from cdk_sagemaker_llm.simulation.from_api import metric_of
from cdk_sagemaker_llm.simulation.metrics import Datapoint, Metric

_DAY = 86_400
_MOST_CHANGES = 100
# What an alarm keeps that is put again.
_STATE = (
    *("state_value", "state_reason"),
    *("state_reason_data", "state_updated_timestamp"),
)


class _RuntimeDatum(MetricAggregatedDatum):
    def __new__(cls, *_: Untyped, **__: Untyped) -> Self:
        """
        Make one that is forgotten with its series: moto keeps all it ever made.
        """
        return object.__new__(cls)


class EmbeddedCloudWatch(CloudWatchBackend):
    """
    moto's CloudWatch, with what the runtime publishes and alarms that are watched.

    A day of every metric of the runtime is kept; what clients put stays for ever.
    """

    # moto derives it from the name of the module the class is in.
    _url_module: Untyped = urls

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self._published: dict[Metric, deque[MetricDatumBase]] = {}
        # The metrics that are being asked for; None for all.
        self._queries: set[tuple[str, str]] | None = None

    def publish(self, metric: Metric, start: float, point: Datapoint) -> None:
        datum = _RuntimeDatum(
            metric.namespace,
            metric.name,
            min_stat=point.least,
            max_stat=point.most,
            sample_count=point.count,
            sum_stat=point.total,
            dimensions=[],
            timestamp=moment(start),
            unit=unit_of(metric.name),
        )
        series = self._published.get(metric)
        if series:
            datum.dimensions = series[-1].dimensions
        else:
            datum.dimensions = [Dimension(n, v) for n, v in metric.dimensions]
            day_before = datum.timestamp - timedelta(seconds=_DAY)
            for other, others in list(self._published.items()):
                if others[-1].timestamp < day_before:
                    del self._published[other]
            length = _DAY // period_of(metric.name)
            series = self._published[metric] = deque(maxlen=length)
        series.append(datum)

    def get_all_metrics(self) -> list[MetricDatumBase]:
        queries = self._queries
        points = [
            datum
            for metric, series in self._published.items()
            if queries is None or (metric.namespace, metric.name) in queries
            for datum in series
        ]
        return super().get_all_metrics() + points

    def get_filtered_metrics(
        self, metric_name: str, namespace: str, dimensions: list[dict[str, str]]
    ) -> list[MetricDatumBase]:
        """
        Return one value of each metric, without looking at all that was published.
        """
        self._watching.publish_now()
        found: list[MetricDatumBase] = []
        newest = [series[-1] for series in self._published.values()]
        for datum in (*super().get_all_metrics(), *newest):
            if datum.filter(namespace, metric_name, dimensions, found):
                found.append(datum)
        return found

    def get_metric_data(
        self,
        queries: list[dict[str, Any]],
        start_time: datetime,
        end_time: datetime,
        scan_by: str = "TimestampAscending",
    ) -> list[dict[str, Any]]:
        """
        Answer with one look at each metric; moto's looks at all for every period.
        """
        self._watching.publish_now()
        if any(q.get("Expression", "").startswith("SELECT") for q in queries):
            return super().get_metric_data(queries, start_time, end_time, scan_by)
        super().get_metric_data([], start_time, end_time)  # It refuses wrong times.
        end = end_time.replace(microsecond=0)
        read = [
            (query, self._read(query, start_time, end, scan_by))
            for query in queries
            if "MetricStat" in query
        ]
        results = [result for query, result in read if query.get("ReturnData", True)]
        measured = [result for _, result in read]
        for query in queries:
            if "Expression" in query:
                found = parse_expression(query["Expression"], measured)
                label = query.get("Label") or query["Id"]
                results.append(_result(query["Id"], label, *found))
        return results

    def _read(
        self, query: dict[str, Any], start: datetime, end: datetime, scan_by: str
    ) -> dict[str, Any]:
        stat = query["MetricStat"]
        period, statistic = int(stat["Period"]), stat["Stat"]
        start = _rounded(start, period)
        buckets: dict[int, list[MetricDatumBase]] = {}
        for datum in self._data_of(stat["Metric"]):
            fits = not stat.get("Unit") or datum.unit == stat["Unit"]
            if fits and start <= datum.timestamp < end:
                number = int((datum.timestamp - start).total_seconds() // period)
                buckets.setdefault(number, []).append(datum)
        values, timestamps = [], []
        for number in sorted(buckets, reverse=scan_by == "TimestampDescending"):
            summary = Statistics(
                [statistic], start + timedelta(seconds=number * period)
            )
            summary.metric_data = buckets[number]
            values.append(summary.get_statistics_for_type(statistic))
            timestamps.append(summary.timestamp)
        label = query.get("Label") or f"{stat['Metric']['MetricName']} {statistic}"
        return _result(query["Id"], label, values, timestamps)

    def _data_of(self, query: dict[str, Any]) -> list[MetricDatumBase]:
        # Without dimensions it is every metric of the name, as with moto.
        namespace, name = query["Namespace"], query["MetricName"]
        dimensions = {d["Name"]: d["Value"] for d in query.get("Dimensions") or ()}
        put = [
            datum
            for datum in super().get_all_metrics()
            if (datum.namespace, datum.name) == (namespace, name)
            and (
                not dimensions
                or {one.name: one.value for one in datum.dimensions} == dimensions
            )
        ]
        if dimensions:
            metric = Metric.of(namespace, name, dimensions)
            return [*put, *self._published.get(metric, ())]
        return put + [
            datum
            for metric, series in self._published.items()
            if (metric.namespace, metric.name) == (namespace, name)
            for datum in series
        ]

    def get_metric_statistics(  # noqa: PLR0917 - moto's signature
        self,
        namespace: str,
        metric_name: str,
        start_time: datetime,
        end_time: datetime,
        period: int,
        stats: list[str],
        dimensions: list[dict[str, str]],
        unit: str | None = None,
    ) -> list[Statistics]:
        """
        Answer by periods from the start on; moto's begin with the first value.
        """
        self._watching.publish_now()
        # The service reads whole seconds.
        end_time = end_time.replace(microsecond=0)
        in_order = start_time.replace(microsecond=0) < end_time
        # The others moto refuses, in the service's words.
        start = _rounded(start_time, period) if in_order else end_time
        self._queries = {(namespace, metric_name)}
        try:
            each_value = super().get_metric_statistics(
                namespace, metric_name, start, end_time, period, [], dimensions, unit
            )
        finally:
            self._queries = None
        periods: dict[int, Statistics] = {}
        for datum in (d for one in each_value for d in one.metric_data):
            number = int((datum.timestamp - start).total_seconds() // period)
            when = start + timedelta(seconds=number * period)
            summary = periods.setdefault(number, Statistics(stats, when))
            summary.metric_data.append(datum)
            summary.unit = datum.unit
        return [periods[number] for number in sorted(periods)]

    def put_metric_data(
        self, namespace: str, metric_data: list[dict[str, Any]]
    ) -> None:
        """
        Keep what a client puts, where alarms read it too.
        """
        now = moment(self._watching.now())
        for member in metric_data:
            if not member.get("Timestamp"):
                member["Timestamp"] = now
        before = len(self.metric_data)
        super().put_metric_data(namespace, metric_data)
        for datum in self.metric_data[before:]:
            metric = metric_of(
                spell_metric(datum.namespace, datum.name, datum.dimensions)
            )
            point = _point(datum)
            if point is not None:
                self._watching.store.add(metric, _seconds(datum.timestamp), point)

    def put_metric_alarm(self, **settings: Untyped) -> Alarm:  # type: ignore[override]  # keywords of moto's own
        """
        Keep an alarm that can go off, and watch it; one put again keeps its state.
        """
        if not settings.get("rule"):  # A composite alarm has none of the rest.
            check_alarm(settings)
        before = self.alarms.get(settings["name"])
        # moto knows percentiles alone.
        extended = settings.pop("extended_statistic", None)
        alarm = super().put_metric_alarm(**settings)
        alarm.extended_statistic = extended
        watching = self._watching
        alarm.configuration_updated_timestamp = moment(watching.now())
        if before is not None:
            for name in _STATE:
                setattr(alarm, name, getattr(before, name))
        elif watching.alarms is not None:
            alarm.state_value = INSUFFICIENT_DATA
            alarm.state_updated_timestamp = moment(watching.now())
        if watching.alarms is not None:
            watching.alarms.put(alarm)
        return alarm

    def delete_alarms(self, alarm_names: list[str]) -> None:
        super().delete_alarms(alarm_names)
        alarms = self._watching.alarms
        if alarms is not None:
            for name in alarm_names:
                alarms.drop(name)

    def set_alarm_state(
        self, alarm_name: str, reason: str, reason_data: str, state_value: str
    ) -> None:
        alarm = self.alarms.get(alarm_name)
        if alarm is None:
            raise ResourceNotFound(f"There is no alarm {alarm_name}")
        before = alarm.state_value
        try:
            json.loads(reason_data or "{}")
        except ValueError as error:
            raise InvalidFormat(
                f"StateReasonData is not valid JSON: {error}"
            ) from error
        super().set_alarm_state(alarm_name, reason, reason_data, state_value)
        alarms = self._watching.alarms
        if alarms is not None:
            alarms.force(alarm, before)

    @property
    def _watching(self) -> Untyped:
        return WATCHING.at(self.account_id, self.region_name)


def _rounded(start: datetime, period: int) -> datetime:
    # GetMetricStatistics, GetMetricData: down to the whole minute, or to a period that
    # is shorter.
    start = start.replace(microsecond=0)
    return start - timedelta(seconds=start.timestamp() % min(period, 60))


def _result(
    identity: str, label: str, values: list[Any], timestamps: list[datetime]
) -> dict[str, Any]:
    return {
        "id": identity,
        "label": label,
        "values": values,
        "timestamps": timestamps,
        "status_code": "Complete",
    }


def _point(datum: MetricDatumBase) -> Datapoint | None:
    if isinstance(datum, MetricAggregatedDatum):
        return Datapoint(datum.sum, datum.sample_count, datum.min, datum.max)
    if isinstance(datum, MetricDatum):
        return Datapoint(datum.value, 1.0, datum.value, datum.value)
    return None


def _seconds(timestamp: datetime) -> float:
    aware = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
    return aware.timestamp()


def install() -> None:
    """
    Put all this into moto, before any backend is made.
    """
    models.cloudwatch_backends.backend = EmbeddedCloudWatch
    answers: Untyped = CloudWatchResponse
    answers.describe_alarm_history = _describe_alarm_history
    # moto reads the rule of a composite alarm there, but lacks the name.
    answers.put_composite_alarm = CloudWatchResponse.put_metric_alarm
    for operation in shapes.service_model("cloudwatch").operation_names:
        name = xform_name(operation)
        if hasattr(answers, name):
            setattr(answers, name, _checked(operation, getattr(answers, name)))


def _checked(operation: str, answer: Untyped) -> Untyped:
    # By the time that moto answers it has read the request, of whichever protocol.
    @functools.wraps(answer)
    def check_and_answer(response: Untyped) -> ActionResult:
        request = response._get_params()  # noqa: SLF001 - as moto's own answers do
        try:
            shapes.check("cloudwatch", operation, request)
        except AwsError as error:
            raise ValidationError(error.message) from error
        if operation == "GetMetricData":
            refuse_nameless(request["MetricDataQueries"])
        result: ActionResult = answer(response)
        return result

    return check_and_answer


def _describe_alarm_history(response: Untyped) -> ActionResult:
    request = response._get_params()  # noqa: SLF001 - as moto's own answers do
    watching = WATCHING.at(response.current_account, response.region)
    changes = list(watching.alarms.history) if watching.alarms else []
    found = [change for change in changes if _is_wanted(change, request)]
    if request.get("ScanBy") != "TimestampAscending":
        found.reverse()
    start = page_start(request.get("NextToken"))
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


def page_start(token: str | None) -> int | None:
    """
    Return where the page begins that a token asks for; ``None`` if no answer gave it.
    """
    if not token:
        return 0
    return int(token) if token.isascii() and token.isdigit() else None
