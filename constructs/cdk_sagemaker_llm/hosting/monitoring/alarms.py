"""
How alarms are made of thresholds: which metrics they watch, and what makes sense. The
defaults stand with ``add_alarms``, in ``variants`` and ``components``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from constructs import Construct

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.limits import (
    IMPOSSIBLE_NAME,
    UNCOUNTABLE,
    bounds_findings,
    count_findings,
    least_findings,
    range_findings,
    seconds,
    time_findings,
    together_findings,
)
from cdk_sagemaker_llm.hosting.common.reporting import report
from cdk_sagemaker_llm.hosting.monitoring.metrics import (
    MetricOptions,
    Subject,
    metric_of,
    normalised,
)
from cdk_sagemaker_llm.serving.parameters import OUTSIDE_RANGE
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
Kind = Literal["share", "seconds", "percent", "count", "ratio"]
Subjects = Literal["components", "variants"]
_MOST: Mapping[Kind, float] = {"share": 1, "percent": 100}


def make_alarms(
    subject: Subject,
    id: str,
    subjects: Subjects,
    thresholds: Mapping[str, float | None],
    evaluation: Evaluation,
) -> dict[str, cloudwatch.Alarm]:
    """
    Make an alarm for each threshold.

    Args:
        subject: What is watched; the alarms are made in its construct.

        id: The id of the alarms together.

        subjects: What it is one of, which says what each threshold is held against.

        thresholds: The thresholds; ``None`` for no alarm.

        evaluation: When they go off, and what they do.

    Raises:
        ValueError: If a threshold or the evaluation is wrong; all reasons at once.
    """
    watches = WATCHES[subjects]
    chosen = {name: value for name, value in thresholds.items() if value is not None}
    found = [each for n, v in chosen.items() for each in watches[n].findings(n, v)]
    taken = _id_findings(subject.construct, id)
    report(subject.construct, id, [*taken, *evaluation.findings(), *found])
    if not chosen:
        return {}
    metrics = {name: _metric(subject, watches[name], evaluation) for name in chosen}
    scope = Construct(subject.construct, id)
    return {
        name: _alarm(
            scope,
            name,
            watches[name],
            metrics[name],
            threshold=value,
            evaluation=evaluation,
        )
        for name, value in chosen.items()
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """
    When an alarm goes off, and what it does.

    Args:
        evaluation_periods: Of how many periods it looks at the values.

        datapoints_to_alarm: How many of them must be too much.

        period: The time that one value stands for; ``None`` for a minute.

        alarm_actions: What is done when it goes off.

        ok_actions: What is done when it is over.

        insufficient_data_actions: What is done when there is nothing to judge by.
    """

    evaluation_periods: int
    datapoints_to_alarm: int
    period: Duration | None
    alarm_actions: Sequence[cloudwatch.IAlarmAction]
    ok_actions: Sequence[cloudwatch.IAlarmAction]
    insufficient_data_actions: Sequence[cloudwatch.IAlarmAction]

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
        faults = time_findings("period", self.period)
        if faults or length is None or is_unresolved(length):
            return faults
        if length not in _SHORT_PERIODS and (length < _MINUTE or length % _MINUTE):
            must = "10, 30 or a multiple of 60 seconds"
            return [OUTSIDE_RANGE.finding(f"period must be {must}, got {length:g}")]
        return together_findings(length, self.evaluation_periods)


@dataclass(frozen=True, slots=True)
class Watch:
    """
    A metric, and how it is compared with a threshold.

    Args:
        metric: The service's metric.

        statistic: How it is read.

        kind: What the threshold counts.

        words: What is watched, as the alarm describes it.

        at_least: Whether the threshold itself is too much already.

        divided_by: A metric that it is divided by; empty for none.

        of_endpoint: Whether it is the endpoint's, whatever the variant.
    """

    metric: str
    statistic: str
    kind: Kind
    words: str
    at_least: bool = False
    divided_by: str = ""
    of_endpoint: bool = False

    def value(self, threshold: float) -> float:
        """
        Turn a threshold into the metric's unit.
        """
        return threshold * _MICROSECONDS if self.kind == "seconds" else threshold

    def findings(self, name: str, threshold: float) -> list[Finding]:
        """
        Check a threshold.

        Args:
            name: The keyword.

            threshold: What was given for it.
        """
        if self.kind == "seconds" and is_unresolved(threshold):
            return [
                UNCOUNTABLE.finding(
                    f"{name} must be known at synth: it is written in microseconds"
                )
            ]
        if self.kind in _MOST:
            return range_findings(name, threshold, 0, _MOST[self.kind])
        return least_findings(name, threshold, 1 if self.kind == "count" else 0)


_OF_REQUESTS = {
    "server_error_rate": Watch(
        "Invocation5XXErrors",
        "Average",
        "share",
        "The share of requests that end with a 5xx status",
    ),
    "model_error_rate": Watch(
        "InvocationModelErrors",
        "Average",
        "share",
        "The share of requests that the container does not answer",
    ),
    "mid_stream_error_rate": Watch(
        "MidStreamErrors",
        "Average",
        "share",
        "The share of requests whose stream breaks",
    ),
    "client_error_rate": Watch(
        "Invocation4XXErrors",
        "Average",
        "share",
        "The share of requests that end with a 4xx status",
    ),
    "model_latency_seconds": Watch(
        "ModelLatency",
        "p99",
        "seconds",
        "The time to an answer that 99 of 100 requests get, in microseconds",
    ),
    "first_chunk_latency_seconds": Watch(
        "FirstChunkLatency",
        "p99",
        "seconds",
        "The time to a first part that 99 of 100 streams get, in microseconds",
    ),
    # The service lists no percentiles of it.
    "overhead_latency_seconds": Watch(
        "OverheadLatency",
        "Average",
        "seconds",
        "The time that requests take beside the container, in microseconds",
    ),
}
_GPU_MEMORY = Watch(
    "GPUMemoryUtilizationNormalized",
    "Maximum",
    "percent",
    "The use of GPU memory, in percent",
)
_OF_COMPONENTS: Mapping[str, Watch] = {
    **_OF_REQUESTS,
    "gpu_memory_percent": _GPU_MEMORY,
    "concurrency": Watch(
        "ConcurrentRequestsPerCopy",
        "Maximum",
        "count",
        "The requests under way on a copy",
    ),
    "copies": Watch(
        "Invocations",
        "Sum",
        "count",
        "The copies that serve, by requests and requests of each copy",
        at_least=True,
        divided_by="InvocationsPerCopy",
    ),
    "no_capacity_failures": Watch(
        "NoCapacityInvocationFailures",
        "Sum",
        "count",
        "The requests that come while no copy is there",
        at_least=True,
    ),
}
_OF_VARIANTS: Mapping[str, Watch] = {
    **_OF_REQUESTS,
    "gpu_memory_percent": _GPU_MEMORY,
    "concurrency": Watch(
        "ConcurrentRequestsPerModel",
        "Maximum",
        "count",
        "The requests under way on an instance",
    ),
    "instances": Watch(
        "Invocations",
        "Sum",
        "count",
        "The instances that serve, by requests and requests of each instance",
        at_least=True,
        divided_by="InvocationsPerInstance",
    ),
    "backlog_per_instance": Watch(
        "ApproximateBacklogSizePerInstance",
        "Maximum",
        "ratio",
        "The requests in the queue, for each instance",
        of_endpoint=True,
    ),
}
WATCHES: Mapping[Subjects, Mapping[str, Watch]] = {
    "components": _OF_COMPONENTS,
    "variants": _OF_VARIANTS,
}


def _id_findings(scope: Construct, id: str) -> list[Finding]:
    """
    Check that an id is free: where it was left out, the CDK's error would name what
    the caller never wrote.
    """
    if not id:
        return [IMPOSSIBLE_NAME.finding("id must not be empty", "leave it out")]
    if scope.node.try_find_child(id) is None:
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            f"the id {id!r} is taken, such as by an earlier call of add_alarms",
            "pass another as the first argument",
        )
    ]


def _metric(
    subject: Subject, watch: Watch, evaluation: Evaluation
) -> cloudwatch.Metric | cloudwatch.MathExpression:
    options: MetricOptions = {"statistic": watch.statistic}
    if evaluation.period is not None:
        options["period"] = evaluation.period
    if watch.metric.endswith("Normalized"):
        return normalised(
            subject, watch.metric, options, by="accelerators", of_one_type=_OF_ONE_TYPE
        )
    of = subject.endpoint if watch.of_endpoint else subject
    metric = metric_of(of, watch.metric, options)
    if not watch.divided_by:
        return metric
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

    each = metric_of(subject, watch.divided_by, options)
    return cloudwatch.MathExpression(
        expression="requests / each",
        using_metrics={"requests": metric, "each": each},
        period=metric.period,
    )


def _alarm(
    scope: Construct,
    name: str,
    watch: Watch,
    metric: cloudwatch.Metric | cloudwatch.MathExpression,
    *,
    threshold: float,
    evaluation: Evaluation,
) -> cloudwatch.Alarm:
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

    above = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
    from_it_on = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
    alarm = cloudwatch.Alarm(
        scope,
        name.title().replace("_", ""),
        metric=metric,
        threshold=watch.value(threshold),
        comparison_operator=from_it_on if watch.at_least else above,
        evaluation_periods=evaluation.evaluation_periods,
        datapoints_to_alarm=evaluation.datapoints_to_alarm,
        # Without requests there is nothing, and nothing is wrong.
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        # A percentile of a handful of requests says little.
        evaluate_low_sample_count_percentile="ignore"
        if watch.statistic.startswith("p")
        else None,
        alarm_description=watch.words,
    )
    for actions, add in (
        (evaluation.alarm_actions, alarm.add_alarm_action),
        (evaluation.ok_actions, alarm.add_ok_action),
        (evaluation.insufficient_data_actions, alarm.add_insufficient_data_action),
    ):
        if actions:
            add(*actions)
    return alarm
