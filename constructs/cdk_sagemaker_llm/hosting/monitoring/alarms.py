"""
Alarms on metrics of endpoints and components: which thresholds there are, what each is
held against, and how they are evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from constructs import Construct

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.catalog.metrics import COMPONENT
from cdk_sagemaker_llm.catalog.prices import list_date
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.elsewhere import FAR_SOURCE
from cdk_sagemaker_llm.hosting.common.limits import (
    UNCOUNTABLE,
    bounds_findings,
    count_findings,
    least_findings,
    range_findings,
    seconds,
    together_findings,
)
from cdk_sagemaker_llm.hosting.common.reporting import at_synth, checked, report
from cdk_sagemaker_llm.hosting.common.scope import region_of
from cdk_sagemaker_llm.hosting.monitoring.metrics import (
    MetricOptions,
    Subject,
    metric_of,
    normalised,
    period_findings,
)
from cdk_sagemaker_llm.hosting.monitoring.spend import (
    HOURS_A_DAY,
    HourlyPrices,
    price_findings,
)
from cdk_sagemaker_llm.hosting.monitoring.topics import topic_findings
from cdk_sagemaker_llm.serving.parameters import IMPOSSIBLE_NAME
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

_MINUTE = 60
_SHORT_PERIODS = (10, 30)
# Of instances of several types; it has the instance type as an option.
_OF_ONE_TYPE = (
    "leave gpu_memory_percent out, and make an alarm of "
    "metric_gpu_memory_utilization_normalized(instance_type=...) for each type"
)

_MICROSECONDS = 1e6
_NO_CAPACITY_FAILURES = 1
Unit = Literal["share", "seconds", "percent", "count", "ratio"]
_MOST: Mapping[Unit, float] = {"share": 1, "percent": 100}


@dataclass(frozen=True, kw_only=True, slots=True)
class AlarmOptions:
    """
    When alarms go off, and what they do.

    ``AlarmOptions(alarm_actions=[SnsAction(topic)])``
    ``AlarmOptions(period=Duration.minutes(5), evaluation_periods=3,
    datapoints_to_alarm=2)``

    Args:
        alarm_actions: What is done when an alarm goes off: ``[SnsAction(topic)]``.

        ok_actions: What is done when it is over.

        insufficient_data_actions: What is done when there is nothing to judge by.

        period:
            The time that one value stands for.
            If omitted, it is a minute.

        evaluation_periods: Of how many periods an alarm looks at the values.

        datapoints_to_alarm: How many of them must be too much.
    """

    alarm_actions: Sequence[cloudwatch.IAlarmAction] = ()
    ok_actions: Sequence[cloudwatch.IAlarmAction] = ()
    insufficient_data_actions: Sequence[cloudwatch.IAlarmAction] = ()
    period: Duration | None = None
    evaluation_periods: int = 5
    datapoints_to_alarm: int = 3

    def __post_init__(self) -> None:
        hold_kinds(self)

    def findings(self) -> list[Finding]:
        """
        Check what CloudWatch takes.
        """
        most, least = self.evaluation_periods, self.datapoints_to_alarm
        return [
            *count_findings("evaluation_periods", most, 1),
            *count_findings("datapoints_to_alarm", least, 1),
            *bounds_findings("datapoints_to_alarm", least, "evaluation_periods", most),
            *self._period_findings(),
        ]

    def _period_findings(self) -> list[Finding]:
        length = _MINUTE if self.period is None else seconds(self.period)
        return period_findings(self.period, _SHORT_PERIODS) or together_findings(
            length, self.evaluation_periods
        )


class MetricAlarms:
    """
    The alarms of an endpoint's variants, or of an inference component.
    """

    def _metric_subject(self, variant_name: str | None) -> Subject:
        raise NotImplementedError

    def _own_prices(self) -> Mapping[str, float]:
        return {}

    @checked
    def add_alarms(
        self,
        id: str = "Alarms",
        *,
        server_error_rate: float | None = 0.05,
        model_error_rate: float | None = 0.05,
        mid_stream_error_rate: float | None = 0.05,
        client_error_rate: float | None = None,
        model_latency_seconds: float | None = 50,
        overhead_latency_seconds: float | None = 1,
        first_chunk_latency_seconds: float | None = None,
        gpu_memory_percent: float | None = None,
        concurrency: float | None = None,
        copies: int | None = None,
        instances: int | None = None,
        backlog_per_instance: float | None = None,
        no_capacity_failures: float | Literal["usual"] | None = "usual",
        spend_a_day: float | None = None,
        hourly_prices: Mapping[str, float] | None = None,
        variant_name: str | None = None,
        options: AlarmOptions | None = None,
    ) -> dict[str, cloudwatch.Alarm]:
        """
        Raise alarms where requests fail, or take too long.

        Each threshold is one alarm, and ``None`` is none. Where there is no traffic,
        none goes off.

        Args:
            id: The id of the alarms together, for another call.

            server_error_rate: The share of requests with a 5xx status, 0 to 1.

            model_error_rate:
                The share of requests that the container does not answer, 0 to 1.

            mid_stream_error_rate: The share of requests whose stream breaks, 0 to 1.

            client_error_rate:
                The share of requests with a 4xx status, 0 to 1.
                If omitted, there is no such alarm: the fault is the callers'.

            model_latency_seconds:
                The time to an answer that 99 of 100 requests get; SageMaker waits 60
                seconds for one that is not streamed, and an hour for asynchronous ones.

            overhead_latency_seconds:
                The average time that requests take beside the container.

            first_chunk_latency_seconds:
                The time to the first part that 99 of 100 bidirectional streams get.
                If omitted, there is no such alarm.

            gpu_memory_percent:
                The use of GPU memory, 0 to 100.
                If omitted, there is no such alarm: engines fill it on purpose.

            concurrency:
                The requests under way on one copy, or on one instance of an endpoint.
                If omitted, there is no such alarm.

            copies:
                So many copies of a component or more, such as scaling's
                ``max_capacity``. They are counted by their requests: without traffic
                there is nothing to count.
                If omitted, there is no such alarm.

            instances:
                So many instances of an endpoint or more, counted likewise.
                If omitted, there is no such alarm.

            backlog_per_instance:
                The requests in an asynchronous endpoint's queue, for each instance.
                If omitted, there is no such alarm.

            no_capacity_failures:
                The requests of a period that come while no copy of a component is
                there; while what has scaled to zero wakes, there are some.
                If omitted, a component has the alarm at one request, and an endpoint,
                which publishes no such number, has none.

            spend_a_day:
                The estimated spend in US dollars a day: the instances of an endpoint,
                counted likewise, by the price of an hour of the dearest type.
                If omitted, there is no such alarm.

            hourly_prices:
                US dollars for an hour of an instance, by type.
                If omitted, they are the pattern's, and those of the package's list.

            variant_name:
                Which variant of an endpoint; give the alarms of another an ``id`` of
                their own.
                If omitted, it is the only one.

            options:
                When the alarms go off, and what they do, such as
                ``AlarmOptions(alarm_actions=[SnsAction(topic)])``.
                If omitted, three minutes of five must be too much, and nothing is done.

        Returns:
            The alarms by their thresholds' keywords.

        Raises:
            ValueError: If a threshold, or the options, are impossible.

            TypeError: If an endpoint is given a component's threshold, or the other
                way round.
        """
        subject = self._metric_subject(variant_name)
        prices = HourlyPrices(
            subject.region or region_of(subject.construct),
            {**self._own_prices(), **(hourly_prices or {})},
        )
        if no_capacity_failures == "usual":
            no_capacity_failures = (
                _NO_CAPACITY_FAILURES if _is_copies(subject) else None
            )
        watches = _watches_of(
            subject,
            {
                "server_error_rate": server_error_rate,
                "model_error_rate": model_error_rate,
                "mid_stream_error_rate": mid_stream_error_rate,
                "client_error_rate": client_error_rate,
                "model_latency_seconds": model_latency_seconds,
                "overhead_latency_seconds": overhead_latency_seconds,
                "first_chunk_latency_seconds": first_chunk_latency_seconds,
                "gpu_memory_percent": gpu_memory_percent,
                "concurrency": concurrency,
                "copies": copies,
                "instances": instances,
                "backlog_per_instance": backlog_per_instance,
                "no_capacity_failures": no_capacity_failures,
                "spend_a_day": spend_a_day,
            },
        )
        report(subject.construct, id, price_findings(hourly_prices))
        if "spend_a_day" in watches:
            watch, threshold = watches["spend_a_day"]
            watches["spend_a_day"] = watch.priced(subject, prices), threshold
        return _make_alarms(subject, id, watches, options or AlarmOptions())


@dataclass(frozen=True, slots=True)
class _Watch:
    """
    A metric, how it is compared with a threshold, and how its alarm describes it.

    It may be divided by another, or be the endpoint's, whatever the variant.
    """

    metric: str
    statistic: str
    unit: Unit
    words: str
    at_least: bool = False
    divided_by: str = ""
    of_endpoint: bool = False
    times: float | None = None

    def priced(self, subject: Subject, prices: HourlyPrices) -> _Watch:
        """
        Return it in dollars a day; refuse types whose price is not known.
        """
        price = prices.of(subject.types)
        if price is None:
            names = prices.unknown(subject.types) or ["<instance type>"]
            raise TypeError(
                f"add_alarms takes spend_a_day for instances whose price is known, and "
                f"the list of {list_date()} has none of {', '.join(names)}; give "
                f"hourly_prices={{{names[0]!r}: dollars}}"
            )
        words = f"{self.words}, by requests and requests of each {price}"
        return replace(self, words=words, times=price.dollars * HOURS_A_DAY)

    def findings(self, name: str, threshold: float) -> list[Finding]:
        if self.unit == "seconds" and is_unresolved(threshold):
            return [
                UNCOUNTABLE.finding(
                    f"{name} must be known at synth: it is written in microseconds"
                )
            ]
        if self.unit in _MOST:
            return range_findings(name, threshold, 0, _MOST[self.unit])
        return least_findings(name, threshold, 1 if self.unit == "count" else 0)


_OF_REQUESTS = {
    "server_error_rate": _Watch(
        "Invocation5XXErrors",
        "Average",
        "share",
        "The share of requests that end with a 5xx status",
    ),
    "model_error_rate": _Watch(
        "InvocationModelErrors",
        "Average",
        "share",
        "The share of requests that the container does not answer",
    ),
    "mid_stream_error_rate": _Watch(
        "MidStreamErrors",
        "Average",
        "share",
        "The share of requests whose stream breaks",
    ),
    "client_error_rate": _Watch(
        "Invocation4XXErrors",
        "Average",
        "share",
        "The share of requests that end with a 4xx status",
    ),
    "model_latency_seconds": _Watch(
        "ModelLatency",
        "p99",
        "seconds",
        "The time to an answer that 99 of 100 requests get, in microseconds",
    ),
    "first_chunk_latency_seconds": _Watch(
        "FirstChunkLatency",
        "p99",
        "seconds",
        "The time to a first part that 99 of 100 streams get, in microseconds",
    ),
    # The service lists no percentiles of it.
    "overhead_latency_seconds": _Watch(
        "OverheadLatency",
        "Average",
        "seconds",
        "The time that requests take beside the container, in microseconds",
    ),
}
_GPU_MEMORY = _Watch(
    "GPUMemoryUtilizationNormalized",
    "Maximum",
    "percent",
    "The use of GPU memory, in percent",
)
_OF_COMPONENTS: Mapping[str, _Watch] = {
    **_OF_REQUESTS,
    "gpu_memory_percent": _GPU_MEMORY,
    "concurrency": _Watch(
        "ConcurrentRequestsPerCopy",
        "Maximum",
        "count",
        "The requests under way on a copy",
    ),
    "copies": _Watch(
        "Invocations",
        "Sum",
        "count",
        "The copies that serve, by requests and requests of each copy",
        at_least=True,
        divided_by="InvocationsPerCopy",
    ),
    "no_capacity_failures": _Watch(
        "NoCapacityInvocationFailures",
        "Sum",
        "count",
        "The requests that come while no copy is there",
        at_least=True,
    ),
}
_OF_VARIANTS: Mapping[str, _Watch] = {
    **_OF_REQUESTS,
    "gpu_memory_percent": _GPU_MEMORY,
    "concurrency": _Watch(
        "ConcurrentRequestsPerModel",
        "Maximum",
        "count",
        "The requests under way on an instance",
    ),
    "instances": _Watch(
        "Invocations",
        "Sum",
        "count",
        "The instances that serve, by requests and requests of each instance",
        at_least=True,
        divided_by="InvocationsPerInstance",
    ),
    "spend_a_day": _Watch(
        "Invocations",
        "Sum",
        "ratio",
        "The estimated spend in US dollars a day",
        divided_by="InvocationsPerInstance",
    ),
    "backlog_per_instance": _Watch(
        "ApproximateBacklogSizePerInstance",
        "Maximum",
        "ratio",
        "The requests in the queue, for each instance",
        of_endpoint=True,
    ),
}


def _is_copies(subject: Subject) -> bool:
    return tuple(subject.dimensions) == COMPONENT


def _watches_of(
    subject: Subject, thresholds: Mapping[str, float | None]
) -> dict[str, tuple[_Watch, float]]:
    """
    Return what each threshold is held against, with it; refuse those of other subjects.
    """
    is_component = _is_copies(subject)
    watches = _OF_COMPONENTS if is_component else _OF_VARIANTS
    chosen = {name: value for name, value in thresholds.items() if value is not None}
    if foreign := [name for name in chosen if name not in watches]:
        own, other = "an endpoint", "components"
        if is_component:
            own, other = "an inference component", "endpoints"
        raise TypeError(
            f"add_alarms takes {' and '.join(foreign)} for {other}, and this is {own}; "
            "leave it out"
        )
    return {name: (watches[name], value) for name, value in chosen.items()}


def _place_findings(subject: Subject, id: str) -> list[Finding]:
    parent, found = subject.construct, []
    # Where the id was left out, the CDK's error would name what the caller never wrote.
    if not id:
        found.append(IMPOSSIBLE_NAME.finding("id must not be empty", "leave it out"))
    elif is_unresolved(id):
        report(parent, "", [IMPOSSIBLE_NAME.finding("id must be known at synth")])
    elif parent.node.try_find_child(id) is not None:
        found.append(
            IMPOSSIBLE_NAME.finding(
                f"the id {id!r} is taken, such as by an earlier call of add_alarms",
                "pass another as the first argument",
            )
        )
    if subject.region is not None:
        found.append(
            FAR_SOURCE.finding(
                f"alarms must be in the region of what they watch, {subject.region}",
                "define them in a stack of that region",
            )
        )
    return found


def _make_alarms(
    subject: Subject,
    id: str,
    watches: Mapping[str, tuple[_Watch, float]],
    options: AlarmOptions,
) -> dict[str, cloudwatch.Alarm]:
    parent = subject.construct
    found = _place_findings(subject, id)
    found += options.findings()
    for name, (watch, threshold) in watches.items():
        found += watch.findings(name, threshold)
    report(parent, id, found)
    if not watches:
        return {}
    metrics = {
        name: _metric(subject, watch, options) for name, (watch, _) in watches.items()
    }
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

    above = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
    from_it_on = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
    scope = Construct(parent, id)
    made = {}
    for name, (watch, threshold) in watches.items():
        in_seconds = watch.unit == "seconds"
        made[name] = alarm = cloudwatch.Alarm(
            scope,
            name.title().replace("_", ""),
            metric=metrics[name],
            threshold=threshold * _MICROSECONDS if in_seconds else threshold,
            comparison_operator=from_it_on if watch.at_least else above,
            evaluation_periods=options.evaluation_periods,
            datapoints_to_alarm=options.datapoints_to_alarm,
            # Without requests there is nothing, and nothing is wrong.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            # A percentile of a handful of requests says little.
            evaluate_low_sample_count_percentile="ignore"
            if watch.statistic.startswith("p")
            else None,
            alarm_description=watch.words,
        )
        for actions, add in (
            (options.alarm_actions, alarm.add_alarm_action),
            (options.ok_actions, alarm.add_ok_action),
            (options.insufficient_data_actions, alarm.add_insufficient_data_action),
        ):
            if actions:
                add(*actions)
    if options.alarm_actions or options.ok_actions or options.insufficient_data_actions:
        at_synth(scope, lambda: topic_findings(made.values()))
    return made


def _metric(
    subject: Subject, watch: _Watch, alarm_options: AlarmOptions
) -> cloudwatch.Metric | cloudwatch.MathExpression:
    options: MetricOptions = {"statistic": watch.statistic}
    if alarm_options.period is not None:
        options["period"] = alarm_options.period
    if watch.metric.endswith("Normalized"):
        return normalised(subject, watch.metric, options, of_one_type=_OF_ONE_TYPE)
    of = subject.endpoint if watch.of_endpoint else subject
    metric = metric_of(of, watch.metric, options)
    if not watch.divided_by:
        return metric
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

    each = metric_of(subject, watch.divided_by, options)
    return cloudwatch.MathExpression(
        expression="requests / each"
        if watch.times is None
        else f"requests / each * {watch.times:g}",
        using_metrics={"requests": metric, "each": each},
        period=metric.period,
    )
