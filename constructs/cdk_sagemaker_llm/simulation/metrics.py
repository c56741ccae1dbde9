"""
Metrics as CloudWatch keeps them: values in periods, read by statistic, late.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.metric_math import evaluate, names_in

SAGEMAKER = "AWS/SageMaker"
STATISTICS = ("Average", "Maximum", "Minimum", "SampleCount", "Sum")
PERCENTILE = re.compile(r"p(?P<share>100|\d{1,2}(\.\d{1,2})?)")
# What has percentiles: of other metrics nobody keeps single values.
LATENCIES = frozenset({"FirstChunkLatency", "FirstChunkModelLatency", "ModelLatency"})

# What SageMaker publishes every ten seconds; the rest comes by the minute. The first
# two by the guide (endpoint-auto-scaling-add-code-define), the third because AWS's own
# sample alarms on it with a period of 30 seconds, which only such a metric has.
HIGH_RESOLUTION = frozenset(
    {
        "ConcurrentRequestsPerModel",
        "ConcurrentRequestsPerCopy",
        "NoCapacityInvocationFailures",
    }
)

# Metric, statistic and period of what AWS predefines (API reference of Application Auto
# Scaling, PredefinedMetricType; guide: endpoint-auto-scaling-add-code-define).
PREDEFINED: Mapping[str, tuple[str, str, int]] = {
    "SageMakerVariantInvocationsPerInstance": ("InvocationsPerInstance", "Sum", 60),
    "SageMakerInferenceComponentInvocationsPerCopy": ("InvocationsPerCopy", "Sum", 60),
    "SageMakerVariantConcurrentRequestsPerModelHighResolution": (
        "ConcurrentRequestsPerModel",
        "Maximum",
        10,
    ),
    "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution": (
        "ConcurrentRequestsPerCopy",
        "Maximum",
        10,
    ),
}

_BUCKET = 10  # Seconds; the finest period of any metric here.
KEPT_SECONDS = 24 * 60 * 60  # What is kept of a metric: one day.
_KEPT = KEPT_SECONDS // _BUCKET


@dataclass(frozen=True, slots=True)
class Metric:
    """
    One series of CloudWatch's.

    ``Metric.of_component("InvocationsPerCopy", "llama")``

    Args:
        namespace: CloudWatch's namespace, such as ``AWS/SageMaker``.

        name: The metric's name.

        dimensions: Names and values of its dimensions, in the order of the names.
    """

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, namespace: str, name: str, dimensions: Mapping[str, str]) -> Metric:
        """
        Make a metric of dimensions in any order.

        Args:
            namespace: CloudWatch's namespace, such as ``AWS/SageMaker``.

            name: The metric's name.

            dimensions: Its dimensions by their names.
        """
        return cls(namespace, name, tuple(sorted(dimensions.items())))

    @classmethod
    def of_variant(cls, name: str, endpoint: str, variant: str) -> Metric:
        """
        Make one of SageMaker's metrics of a variant.

        Args:
            name: The metric's name.

            endpoint: The endpoint's name.

            variant: The variant's name.
        """
        dimensions = {"EndpointName": endpoint, "VariantName": variant}
        return cls.of(SAGEMAKER, name, dimensions)

    @classmethod
    def of_component(cls, name: str, component: str) -> Metric:
        """
        Make one of SageMaker's metrics of an inference component.

        Args:
            name: The metric's name.

            component: The inference component's name.
        """
        return cls.of(SAGEMAKER, name, {"InferenceComponentName": component})


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """
    A metric by period.

    Args:
        metric: Which.

        statistic: One of Average, Maximum, Minimum, SampleCount and Sum, or of a
            latency a percentile such as p99.

        period: Seconds; 10, 30 or a multiple of 60.
    """

    metric: Metric
    statistic: str
    period: int

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS and not self.is_percentile:
            raise ValueError(
                f"statistic must be one of {', '.join(STATISTICS)}, got "
                f"{self.statistic!r}; percentiles are not computed here"
            )
        _check_period(self.period)

    @property
    def is_percentile(self) -> bool:
        """
        Whether it asks for a percentile of a metric that has them.
        """
        asks = PERCENTILE.fullmatch(self.statistic or "") is not None
        is_kept = self.metric.namespace == SAGEMAKER and self.metric.name in LATENCIES
        return asks and is_kept

    def metrics(self) -> tuple[Metric, ...]:
        """
        Return what is read.
        """
        return (self.metric,)

    def singles(self) -> tuple[MetricQuery, ...]:
        """
        Return the queries of one metric in it: itself.
        """
        return (self,)


@dataclass(frozen=True, slots=True)
class MathQuery:
    """
    Metric math: one expression over several metrics.

    Args:
        expression: In CloudWatch's language, such as ``m1 / m2``.

        queries: The metrics and further expressions by their ids.

        period: Seconds.
    """

    expression: str
    queries: Mapping[str, MetricQuery | MathQuery]
    period: int

    def __post_init__(self) -> None:
        _check_period(self.period)
        unknown = sorted(names_in(self.expression) - self.queries.keys())
        if unknown:
            raise ValueError(
                f"expression {self.expression!r} names {', '.join(unknown)}, which no "
                "query has as its id"
            )

    def metrics(self) -> tuple[Metric, ...]:
        """
        Return what is read.
        """
        return tuple(m for query in self.queries.values() for m in query.metrics())

    def singles(self) -> tuple[MetricQuery, ...]:
        """
        Return the queries of one metric in it.
        """
        return tuple(one for query in self.queries.values() for one in query.singles())


def _check_period(period: int) -> None:
    if period % _BUCKET or period <= 0:
        raise ValueError(f"period must be a multiple of 10 s, got {period}")


Query = MetricQuery | MathQuery


# Gives the value of a query's period that ends at a moment; None if there is no data.
Reader = Callable[[Query, float], float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricDelays:
    """
    How long after the end of a period its value can be read, in seconds.

    AWS publishes no figure. Two users' clocks are at hand. A target of invocations by
    the minute was exceeded for "more than 5 minutes" before the first scale-out
    (re:Post QUf450Wsd9RROGGOIwaolN9w; its alarm wants three minutes), which leaves two
    minutes. An alarm on refused requests fired 67 s after the first one (measured July
    2026, ml.g5.xlarge), which leaves about half a minute.

    Args:
        standard: Of metrics by the minute.

        high_resolution: Of metrics in ten seconds.
    """

    standard: float = 120.0
    high_resolution: float = 30.0

    def __post_init__(self) -> None:
        for name in ("standard", "high_resolution"):
            delay = getattr(self, name)
            if not 0 <= delay < math.inf:
                raise ValueError(f"{name} must be 0 s or more, got {delay}")

    def of(self, query: Query) -> float:
        """
        Return the delay of a query: that of its slowest metric.

        Args:
            query: The query that waits for its metrics.
        """
        fast = all(metric.name in HIGH_RESOLUTION for metric in query.metrics())
        return self.high_resolution if fast else self.standard


@dataclass(slots=True)
class Datapoint:
    """
    What is kept of the values of one period.
    """

    total: float = 0.0
    count: float = 0.0
    least: float = float("inf")
    most: float = float("-inf")
    # The single values, where somebody asks for percentiles of them.
    spread: Histogram | None = None

    def add(self, other: Datapoint) -> None:
        """
        Take in another period's values.
        """
        self.total += other.total
        self.count += other.count
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        if other.spread is not None:
            self.spread = self.spread or Histogram()
            self.spread.merge(other.spread)

    def value(self, statistic: str) -> float | None:
        """
        Return a statistic; ``None`` for a percentile of what was not kept.
        """
        percentile = PERCENTILE.fullmatch(statistic)
        if percentile is not None:
            share = float(percentile["share"]) / 100
            return None if self.spread is None else self.spread.at(share)
        if statistic == "Sum":
            return self.total
        if statistic == "SampleCount":
            return self.count
        if statistic == "Average":
            return self.total / self.count
        return self.least if statistic == "Minimum" else self.most


@dataclass(slots=True)
class MetricStore:
    """
    The metrics of one run; a day of each is kept.
    """

    _series: dict[Metric, OrderedDict[int, Datapoint]] = field(default_factory=dict)

    def record(
        self, metric: Metric, time: float, value: float, count: float = 1.0
    ) -> None:
        """
        Add samples of one value.
        """
        self.add(metric, time, Datapoint(value * count, count, value, value))

    def add(self, metric: Metric, time: float, point: Datapoint) -> None:
        """
        Add the values of ten seconds at once.
        """
        series = self._series.setdefault(metric, OrderedDict())
        bucket = int(time // _BUCKET)
        kept = series.get(bucket)
        if kept is None:
            series[bucket] = kept = Datapoint()
            kept.add(point)
            if len(series) > _KEPT:
                # A plain dict looks for its first entry ever longer.
                series.popitem(last=False)
        else:
            kept.add(point)

    def forget(self, before: float) -> None:
        """
        Drop the metrics that have had no value since a moment.
        """
        last = int(before // _BUCKET)
        for metric in [m for m, series in self._series.items() if max(series) < last]:
            del self._series[metric]

    def read(self, query: Query, end: float) -> float | None:
        """
        Return the value of the period that ends at a moment, if there is one.
        """
        if isinstance(query, MathQuery):
            values = {name: self.read(q, end) for name, q in query.queries.items()}
            return evaluate(query.expression, values)
        series = self._series.get(query.metric)
        if series is None:
            return None
        last = int(end // _BUCKET)
        found: Datapoint | None = None
        for bucket in range(last - query.period // _BUCKET, last):
            point = series.get(bucket)
            if point is not None:
                if found is None:
                    found = Datapoint()
                found.add(point)
        return (
            None if found is None or not found.count else found.value(query.statistic)
        )
