"""
Which charts a dashboard has, which metrics each draws, and the target of each policy of
scaling as a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import IConstruct

from cdk_sagemaker_llm.simulation.metrics import PREDEFINED

_Target = appscaling.CfnScalableTarget
_Policy = appscaling.CfnScalingPolicy

_MILLISECOND = 1000
_SECOND = 1000 * _MILLISECOND


@dataclass(frozen=True, slots=True)
class Chart:
    """
    One chart: the bounds of scaling are drawn into it, or its axis ends somewhere.
    """

    title: str
    curves: tuple[Curve, ...]
    has_bounds: bool = False
    most: int | None = None


def of_asynchronous(accelerators: int | None, cores: int | None) -> tuple[Chart, ...]:
    """
    Return the charts of an asynchronous variant, whose instances have so many devices.
    """
    return (*_ASYNCHRONOUS, *_hardware(accelerators, cores))


def of_variants(accelerators: int | None, cores: int | None) -> tuple[Chart, ...]:
    """
    Return the charts of a variant that a model fills, on instances of so many devices.
    """
    return (*_OF_INSTANCES.charts(), *_hardware(accelerators, cores))


@dataclass(frozen=True, slots=True)
class Curve:
    """
    One curve of a chart, divided by a metric, or a number, where there is one.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Requests:
    """
    The charts of requests to copies, or to instances, by the names of what is counted.
    """

    one: str
    all: str
    each: str
    under_way: str

    def charts(self, *further_errors: Curve) -> tuple[Chart, ...]:
        """
        Return the charts of one component or variant.
        """
        return (
            Chart(
                "Requests a minute",
                (
                    Curve(f"all {self.all}", "Invocations", "Sum"),
                    Curve(f"each {self.one}", self.each, "Sum"),
                ),
            ),
            Chart(self._under_way, (Curve("at most", self.under_way, "Maximum"),)),
            Chart(
                self._serving,
                (Curve(self.all, "Invocations", "Sum", self.each),),
                has_bounds=True,
            ),
            _TIME,
            Chart("Requests that fail, a minute", (*_ERRORS, *further_errors)),
            _OTHER_TIME,
        )

    def sum_charts(self) -> tuple[Chart, ...]:
        """
        Return the charts of several models, each of which has a line by its own name.
        """
        return (
            Chart("Requests a minute", (Curve("", "Invocations", "Sum"),)),
            Chart(self._under_way, (Curve("", self.under_way, "Maximum"),)),
            Chart(self._serving, (Curve("", "Invocations", "Sum", self.each),)),
            Chart(
                "Time to an answer, 99 % (ms)",
                (Curve("", "ModelLatency", "p99", _MILLISECOND),),
            ),
            Chart(
                "Requests that fail with 5xx, a minute",
                (Curve("", "Invocation5XXErrors", "Sum"),),
            ),
        )

    @property
    def _under_way(self) -> str:
        article = "an" if self.one == "instance" else "a"
        return f"Requests under way on {article} {self.one}"

    @property
    def _serving(self) -> str:
        return f"{self.all.title()} that serve"


_OF_COPIES = _Requests(
    one="copy",
    all="copies",
    each="InvocationsPerCopy",
    under_way="ConcurrentRequestsPerCopy",
)
_OF_INSTANCES = _Requests(
    one="instance",
    all="instances",
    each="InvocationsPerInstance",
    under_way="ConcurrentRequestsPerModel",
)
SUMMED_COMPONENTS = _OF_COPIES.sum_charts()
SUMMED_VARIANTS = _OF_INSTANCES.sum_charts()

OF_COMPONENTS = (
    *_OF_COPIES.charts(Curve("no copy there", "NoCapacityInvocationFailures", "Sum")),
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
    All scaling among some constructs.
    """

    def __init__(self, constructs: Iterable[IConstruct]) -> None:
        all_constructs = list(constructs)
        self._policies = [each for each in all_constructs if isinstance(each, _Policy)]
        self._targets = {
            each.resource_id: each
            for each in all_constructs
            if isinstance(each, _Target)
        }

    def of(self, resource_id: str) -> Scaled:
        """
        Return how one number is scaled, by its name for Application Auto Scaling.
        """
        target = self._targets.get(resource_id)
        bounds: tuple[Level, ...] = ()
        if target is not None:
            least, most = target.min_capacity, target.max_capacity
            bounds = (Level("scaling's least", least), Level("scaling's most", most))
        return Scaled(bounds, tuple(self._aims(resource_id, target)))

    def _aims(
        self, resource_id: str, target: _Target | None
    ) -> Iterator[tuple[str, Level]]:
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
                    yield metric, Level("scaling's aim", tracking.target_value)


@dataclass(frozen=True, slots=True)
class Scaled:
    """
    How one number is scaled: its bounds, and what its policies keep metrics near.
    """

    bounds: tuple[Level, ...] = ()
    aims: tuple[tuple[str, Level], ...] = ()

    def lines(self, metrics: Iterable[str], *, has_bounds: bool) -> tuple[Level, ...]:
        """
        Return the levels that belong into a chart of these metrics; ``has_bounds`` is
        for one that draws the number itself.
        """
        if has_bounds:
            return self.bounds
        drawn = {*metrics}
        return tuple(line for metric, line in self.aims if metric in drawn)


@dataclass(frozen=True, slots=True)
class Level:
    """
    A level in a chart.
    """

    label: str
    value: float


def _hardware(accelerators: int | None, cores: int | None) -> tuple[Chart, ...]:
    def title(what: str, devices: int | None) -> str:
        return f"{what} (%)" if devices else f"{what} (%, 100 for each)"

    gpus = Chart(
        title("GPUs", accelerators),
        (
            Curve("use", "GPUUtilization", "Average", accelerators),
            Curve("memory", "GPUMemoryUtilization", "Maximum", accelerators),
        ),
        most=100 if accelerators else None,
    )
    rest = Chart(
        title("CPU and memory", cores),
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
