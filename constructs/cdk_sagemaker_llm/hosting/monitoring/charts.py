"""
Which charts a dashboard has, which metrics each draws, and the target of each policy of
scaling as a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import IConstruct

from cdk_sagemaker_llm.simulation.metrics import PREDEFINED

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

_Target = appscaling.CfnScalableTarget
_Policy = appscaling.CfnScalingPolicy

_MILLISECOND = 1000

_SECOND = 1000 * _MILLISECOND


@dataclass(frozen=True, slots=True)
class Chart:
    """
    One chart.

    Args:
        title: What it shows, with its unit.

        curves: Its curves.

        has_bounds: Whether the bounds of scaling are drawn into it.

        most: The end of its axis; ``None`` for whatever there is.
    """

    title: str
    curves: tuple[Curve, ...]
    has_bounds: bool = False
    most: int | None = None


def of_asynchronous(accelerators: int | None, cores: int | None) -> tuple[Chart, ...]:
    """
    Return the charts of an asynchronous variant.

    Args:
        accelerators: How many each instance has; ``None`` if it is not known.

        cores: How many CPU cores each has; ``None`` if it is not known.
    """
    return (*_ASYNCHRONOUS, *_hardware(accelerators, cores))


def of_variants(accelerators: int | None, cores: int | None) -> tuple[Chart, ...]:
    """
    Return the charts of a variant that a model fills.

    Args:
        accelerators: How many each instance has; ``None`` if it is not known.

        cores: How many CPU cores each has; ``None`` if it is not known.
    """
    return (
        Chart(
            "Requests a minute",
            (
                Curve("all instances", "Invocations", "Sum"),
                Curve("each instance", "InvocationsPerInstance", "Sum"),
            ),
        ),
        Chart(
            "Requests under way on an instance",
            (Curve("at most", "ConcurrentRequestsPerModel", "Maximum"),),
        ),
        Chart(
            "Instances that serve",
            (Curve("instances", "Invocations", "Sum", "InvocationsPerInstance"),),
            has_bounds=True,
        ),
        _TIME,
        Chart("Requests that fail, a minute", _ERRORS),
        _OTHER_TIME,
        *_hardware(accelerators, cores),
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """
    One curve of a chart.

    Args:
        label: Its name.

        metric: The service's metric.

        statistic: How it is read.

        divided_by: A metric, or a number, that it is divided by; ``None`` for none.
    """

    label: str
    metric: str
    statistic: str
    divided_by: str | int | None = None


_TIME = Chart(
    "Time to an answer (ms)",
    tuple(
        Curve(f"{share} of answers", "ModelLatency", statistic, _MILLISECOND)
        for share, statistic in (("half", "p50"), ("95 %", "p95"), ("99 %", "p99"))
    ),
)
_OTHER_TIME = Chart(
    "Time beside the container, and to a stream's first part (ms)",
    (
        Curve("beside the container", "OverheadLatency", "Average", _MILLISECOND),
        Curve("first part, 99 %", "FirstChunkLatency", "p99", _MILLISECOND),
    ),
)
_ERRORS = (
    Curve("5xx", "Invocation5XXErrors", "Sum"),
    Curve("4xx", "Invocation4XXErrors", "Sum"),
    Curve("the container's", "InvocationModelErrors", "Sum"),
    Curve("broken streams", "MidStreamErrors", "Sum"),
)
# What a line stands for where each model has one.
_SUMMED_TIME = Curve("", "ModelLatency", "p99", _MILLISECOND)
_SUMMED_ERRORS = Curve("", "Invocation5XXErrors", "Sum")

OF_COMPONENTS = (
    Chart(
        "Requests a minute",
        (
            Curve("all copies", "Invocations", "Sum"),
            Curve("each copy", "InvocationsPerCopy", "Sum"),
        ),
    ),
    Chart(
        "Requests under way on a copy",
        (Curve("at most", "ConcurrentRequestsPerCopy", "Maximum"),),
    ),
    Chart(
        "Copies that serve",
        (Curve("copies", "Invocations", "Sum", "InvocationsPerCopy"),),
        has_bounds=True,
    ),
    _TIME,
    Chart(
        "Requests that fail, a minute",
        (
            *_ERRORS,
            Curve("no copy there", "NoCapacityInvocationFailures", "Sum"),
        ),
    ),
    _OTHER_TIME,
    Chart(
        "GPUs (%)",
        (
            Curve("use", "GPUUtilizationNormalized", "Average"),
            Curve("memory", "GPUMemoryUtilizationNormalized", "Maximum"),
        ),
        most=100,
    ),
    Chart(
        "CPU and memory (%)",
        (
            Curve("CPU", "CPUUtilizationNormalized", "Average"),
            Curve("memory", "MemoryUtilizationNormalized", "Maximum"),
        ),
        most=100,
    ),
)
OF_HOSTS = (
    Chart(
        "Reserved by components (%)",
        (
            Curve("GPUs", "GPUReservation", "Average"),
            Curve("CPU", "CPUReservation", "Average"),
            Curve("memory", "MemoryReservation", "Average"),
        ),
        most=100,
    ),
    Chart(
        "Instances: GPUs (%)",
        (
            Curve("use", "GPUUtilizationNormalized", "Average"),
            Curve("memory", "GPUMemoryUtilizationNormalized", "Maximum"),
        ),
        most=100,
    ),
    Chart(
        "Instances: CPU, memory and disk (%)",
        (
            Curve("CPU", "CPUUtilizationNormalized", "Average"),
            Curve("memory", "MemoryUtilization", "Maximum"),
            Curve("disk", "DiskUtilization", "Maximum"),
        ),
        most=100,
    ),
)
# Of each model one line; the label is the model's.
SUMMED_COMPONENTS = (
    Chart("Requests a minute", (Curve("", "Invocations", "Sum"),)),
    Chart(
        "Requests under way on a copy",
        (Curve("", "ConcurrentRequestsPerCopy", "Maximum"),),
    ),
    Chart(
        "Copies that serve", (Curve("", "Invocations", "Sum", "InvocationsPerCopy"),)
    ),
    Chart("Time to an answer, 99 % (ms)", (_SUMMED_TIME,)),
    Chart("Requests that fail with 5xx, a minute", (_SUMMED_ERRORS,)),
)
SUMMED_VARIANTS = (
    Chart("Requests a minute", (Curve("", "Invocations", "Sum"),)),
    Chart(
        "Requests under way on an instance",
        (Curve("", "ConcurrentRequestsPerModel", "Maximum"),),
    ),
    Chart(
        "Instances that serve",
        (Curve("", "Invocations", "Sum", "InvocationsPerInstance"),),
    ),
    Chart("Time to an answer, 99 % (ms)", (_SUMMED_TIME,)),
    Chart("Requests that fail with 5xx, a minute", (_SUMMED_ERRORS,)),
)

OF_QUEUES = (
    Chart(
        "Requests in the queue",
        (
            Curve("all", "ApproximateBacklogSize", "Maximum"),
            Curve("each instance", "ApproximateBacklogSizePerInstance", "Maximum"),
        ),
    ),
    Chart(
        "Age of the oldest request (s)",
        (Curve("at most", "ApproximateAgeOfOldestRequest", "Maximum"),),
    ),
    Chart(
        "Requests wait, and no instance is there",
        (Curve("1 if so", "HasBacklogWithoutCapacity", "Average"),),
        most=1,
    ),
)

# Asynchronous endpoints publish no others of requests.
_ASYNCHRONOUS = (
    Chart(
        "Requests a minute",
        (
            Curve("processed", "InvocationsProcessed", "Sum"),
            Curve("failed", "InvocationFailures", "Sum"),
            Curve("too old", "ExpiredRequests", "Sum"),
        ),
    ),
    Chart(
        "Time of requests (s)",
        (
            Curve("in the queue", "TimeInBacklog", "Average", _SECOND),
            Curve("in the container", "ModelLatency", "Average", _SECOND),
            Curve("in all", "TotalProcessingTime", "Average", _MILLISECOND),
        ),
    ),
    Chart(
        "What fails, a minute",
        (
            Curve("5xx", "Invocation5XXErrors", "Sum"),
            Curve("4xx", "Invocation4XXErrors", "Sum"),
            Curve("reading", "RequestDownloadFailures", "Sum"),
            Curve("writing", "ResponseUploadFailures", "Sum"),
            Curve("notifying", "NotificationFailures", "Sum"),
        ),
    ),
)


class Scalings:
    """
    All scaling that some constructs have in them.

    Args:
        constructs: Every construct of the trees.
    """

    def __init__(self, constructs: Iterable[IConstruct]) -> None:
        known = list(constructs)
        self._policies = [each for each in known if isinstance(each, _Policy)]
        self._targets = {
            each.resource_id: each for each in known if isinstance(each, _Target)
        }

    def of(self, resource_id: str) -> Scaled:
        """
        Return how one number is scaled.

        Args:
            resource_id: Its name for Application Auto Scaling.
        """
        target = self._targets.get(resource_id)
        bounds: tuple[Line, ...] = ()
        if target is not None:
            least, most = target.min_capacity, target.max_capacity
            bounds = (Line("scaling's least", least), Line("scaling's most", most))
        return Scaled(bounds, tuple(self._aims(resource_id, target)))

    def _aims(
        self, resource_id: str, target: _Target | None
    ) -> Iterator[tuple[str, Line]]:
        ref = None if target is None else target.ref
        for policy in self._policies:
            is_its = policy.resource_id == resource_id or (
                ref is not None and policy.scaling_target_id == ref
            )
            tracking = policy.target_tracking_scaling_policy_configuration
            if is_its and isinstance(
                tracking, _Policy.TargetTrackingScalingPolicyConfigurationProperty
            ):
                metric = _metric(tracking)
                if metric is not None:
                    yield metric, Line("scaling's aim", tracking.target_value)


@dataclass(frozen=True, slots=True)
class Scaled:
    """
    How one number is scaled.

    Args:
        bounds: Its least and its most.

        aims: What its policies keep metrics near, by the metrics' names.
    """

    bounds: tuple[Line, ...] = ()
    aims: tuple[tuple[str, Line], ...] = ()

    def lines(self, metrics: Iterable[str], *, has_bounds: bool) -> tuple[Line, ...]:
        """
        Return the levels that belong into a chart.

        Args:
            metrics: What it draws.

            has_bounds: Whether it draws the number itself.
        """
        if has_bounds:
            return self.bounds
        drawn = {*metrics}
        return tuple(line for metric, line in self.aims if metric in drawn)


@dataclass(frozen=True, slots=True)
class Line:
    """
    A level in a chart.

    Args:
        label: What it is.

        value: Where it is.
    """

    label: str
    value: float


def alarms_in(constructs: Iterable[IConstruct]) -> list[cloudwatch.CfnAlarm]:
    """
    Return the alarms of some trees, scaling's among them.
    """
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

    return [each for each in constructs if isinstance(each, cloudwatch.CfnAlarm)]


def _hardware(accelerators: int | None, cores: int | None) -> tuple[Chart, ...]:
    gpus = Chart(
        _percent("GPUs", accelerators),
        (
            Curve("use", "GPUUtilization", "Average", accelerators),
            Curve("memory", "GPUMemoryUtilization", "Maximum", accelerators),
        ),
        most=100 if accelerators else None,
    )
    rest = Chart(
        _percent("CPU and memory", cores),
        (
            Curve("CPU", "CPUUtilization", "Average", cores),
            Curve("memory", "MemoryUtilization", "Maximum"),
            Curve("disk", "DiskUtilization", "Maximum"),
        ),
        most=100 if cores else None,
    )
    # Nothing is published of GPUs that are not there, nor can it be divided by them.
    return (rest,) if accelerators == 0 else (gpus, rest)


def _metric(
    tracking: _Policy.TargetTrackingScalingPolicyConfigurationProperty,
) -> str | None:
    predefined = tracking.predefined_metric_specification
    if isinstance(predefined, _Policy.PredefinedMetricSpecificationProperty):
        return PREDEFINED.get(predefined.predefined_metric_type, (None,))[0]
    own = tracking.customized_metric_specification
    if isinstance(own, _Policy.CustomizedMetricSpecificationProperty):
        return own.metric_name
    return None


def _percent(what: str, devices: int | None) -> str:
    return f"{what} (%)" if devices else f"{what} (%, 100 for each)"
