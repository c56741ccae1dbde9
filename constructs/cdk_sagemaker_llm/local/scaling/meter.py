"""
Counting requests on their way, and nothing more: requests do not wait for metrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cdk_sagemaker_llm.local.hosting.traffic import Served, Where
from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.metrics import (
    HIGH_RESOLUTION,
    LATENCIES,
    SAGEMAKER,
    Datapoint,
    Metric,
)
from cdk_sagemaker_llm.simulation.publishing import COMPONENTS, ENDPOINTS

TEN_SECONDS, MINUTE = 10, 60
NO_CAPACITY = "NoCapacityInvocationFailures"
_MICROSECONDS = 1e6
_PERCENT = 100.0
# The guide's page async-inference-monitor.
_UNITS = {
    "ApproximateAgeOfOldestRequest": "Seconds",
    "ApproximateBacklogSize": "Count",
    "ApproximateBacklogSizePerInstance": "Count",
    "ExpiredRequests": "Count",
    "HasBacklogWithoutCapacity": "Count",
    "InvocationFailures": "Count",
    "InvocationsProcessed": "Count",
    "NotificationFailures": "Count",
    "RequestDownloadFailures": "Count",
    "TimeInBacklog": "Microseconds",
    "TotalProcessingTime": "Milliseconds",
}
_OF_COMPONENT, _OF_VARIANT = "GPUUtilizationNormalized", "GPUUtilization"
GPU = frozenset({_OF_COMPONENT, _OF_VARIANT})


class Meter:
    """
    What has been counted and not been published yet.

    Args:
        devices: Tells how many accelerators an instance of a subject has, or 0.
            If omitted, nothing is said of accelerators.
    """

    def __init__(self, devices: Callable[[Subject], float] | None = None) -> None:
        self._devices = devices
        self._work: dict[Subject, Work] = {}
        self._in_flight: Counter[Subject] = Counter()
        self._capacity: Counter[Subject] = Counter()
        self._counted: dict[tuple[Subject, int, int], dict[str, Datapoint]] = {}

    @property
    def pending(self) -> int:
        return len(self._counted)

    def begin(self, subject: Subject, capacity: int, now: float) -> None:
        """
        Count a request that comes in, for its share of the instances or copies.
        """
        self._pass(subject, now)
        self._in_flight[subject] += 1
        self._sample(subject, capacity, now)
        counts = self._counts(subject, MINUTE, now)
        _add(counts, "Invocations", 1.0)
        _add(counts, subject.invocations_each, 1.0 / max(1, capacity))

    def end(self, served: Served) -> None:
        """
        Count what is known of a request when it is over, in the minute in which it is.
        """
        subject = Subject.of((served.endpoint, served.variant, served.component))
        if served.no_capacity:
            counts = self._counts(subject, TEN_SECONDS, served.ended)
            _add(counts, NO_CAPACITY, 1.0)
            return
        # It was there until now.
        self._sample(subject, self._capacity[subject], served.ended)
        self._pass(subject, served.ended)
        self._in_flight[subject] -= 1
        counts = self._counts(subject, MINUTE, served.ended)
        for name, value in _values(served):
            _add(counts, name, value)

    def note(self, subject: Subject, now: float, values: Mapping[str, float]) -> None:
        """
        Count values of a minute as they are.
        """
        counts = self._counts(subject, MINUTE, now)
        for name, value in values.items():
            _add(counts, name, value)

    def idle(self, subject: Subject, capacity: int, start: float) -> None:
        """
        Count what a subject that serves publishes even if nothing comes.

        The guide: "If traffic to a variant becomes zero ... SageMaker AI emits metrics
        with a value of zero" (endpoint-auto-scaling-prerequisites).
        """
        self._sample(subject, capacity, start)
        self._utilize(subject, capacity, start)
        if (start + TEN_SECONDS) % MINUTE == 0:
            counts = self._counts(subject, MINUTE, start)
            for name in ("Invocations", subject.invocations_each):
                if name not in counts:
                    _add(counts, name, 0.0)

    def take(self, until: float) -> list[tuple[Metric, int, Datapoint]]:
        """
        Take out the periods that have ended by a moment, with when each started.
        """
        keys = [key for key in self._counted if key[2] + key[1] <= until]
        entries = [(key, self._counted.pop(key)) for key in keys]
        return [
            (subject.metric(name), start, point)
            for (subject, _, start), counts in entries
            for name, point in counts.items()
        ]

    def _pass(self, subject: Subject, now: float) -> None:
        work = self._work.setdefault(subject, Work(now))
        work.go_on(now, min(self._in_flight[subject], self._capacity[subject]))

    def _utilize(self, subject: Subject, capacity: int, start: float) -> None:
        """
        Count for which share of ten seconds accelerators had something to do.
        """
        devices = self._devices(subject) if self._devices is not None else 0
        self._pass(subject, start + TEN_SECONDS)
        share = self._work[subject].take() / (capacity * TEN_SECONDS)
        if devices:
            value = _PERCENT * min(share, 1.0)
            value *= 1.0 if subject.component else devices
            counts = self._counts(subject, MINUTE, start)
            _add(counts, subject.utilization, value)

    def _sample(self, subject: Subject, capacity: int, now: float) -> None:
        # One sample from each instance or copy. Requests go to the one with the fewest:
        # no two differ by more than one.
        copies = self._capacity[subject] = max(1, capacity)
        under_way = self._in_flight[subject]
        least, most = under_way // copies, -(-under_way // copies)
        counts = self._counts(subject, TEN_SECONDS, now)
        samples = Datapoint(float(under_way), float(copies), float(least), float(most))
        counts.setdefault(subject.concurrency, Datapoint()).add(samples)

    def _counts(
        self, subject: Subject, period: int, now: float
    ) -> dict[str, Datapoint]:
        start = int(now) // period * period
        return self._counted.setdefault((subject, period, start), {})


def _values(served: Served) -> Iterator[tuple[str, float]]:
    # Errors are 0 or 1 for each request, so that their average is a rate.
    status, seconds = served.status, served.ended - served.started
    yield "Invocation4XXErrors", float(400 <= status < 500)  # noqa: PLR2004 - HTTP's classes
    yield "Invocation5XXErrors", float(status >= 500)  # noqa: PLR2004 - the same
    yield "InvocationModelErrors", float(not 200 <= status < 300)  # noqa: PLR2004 - the same
    # The container is called at once: the service adds nothing here.
    yield "ModelLatency", _MICROSECONDS * seconds
    yield "OverheadLatency", 0.0
    if served.first_chunk is not None:
        first = _MICROSECONDS * (served.first_chunk - served.started)
        yield "MidStreamErrors", float(served.is_cut)
        yield "FirstChunkLatency", first
        yield "FirstChunkModelLatency", first
        yield "FirstChunkOverheadLatency", 0.0


def _add(counts: dict[str, Datapoint], name: str, value: float) -> None:
    point = counts.get(name)
    if point is None:
        point = counts[name] = Datapoint()
    if name in LATENCIES:
        point.spread = point.spread or Histogram()
        point.spread.add((value,))
    point.total += value
    point.count += 1.0
    point.least = min(point.least, value)
    point.most = max(point.most, value)


def unit_of(name: str) -> str:
    if name in GPU:
        return "Percent"
    if name in _UNITS:
        return _UNITS[name]
    return "Microseconds" if name.endswith("Latency") else "None"


def period_of(name: str) -> int:
    return TEN_SECONDS if name in HIGH_RESOLUTION else MINUTE


class Subject(NamedTuple):
    """
    A variant, or one of the components on it; or an endpoint with its queue.
    """

    endpoint: str
    variant: str  # Empty for the endpoint.
    component: str = ""  # Empty for a variant with a model.

    @classmethod
    def of(cls, where: Where) -> Subject:
        endpoint, variant, component = where
        return cls(endpoint, variant, component or "")

    def metric(self, name: str) -> Metric:
        if name in GPU and self.component:
            dimensions = {"InferenceComponentName": self.component}
            return Metric.of(COMPONENTS, name, dimensions)
        if name in GPU:
            dimensions = {"EndpointName": self.endpoint, "VariantName": self.variant}
            return Metric.of(ENDPOINTS, name, dimensions)
        if self.component:
            return Metric.of_component(name, self.component)
        if not self.variant:
            return Metric.of(SAGEMAKER, name, {"EndpointName": self.endpoint})
        return Metric.of_variant(name, self.endpoint, self.variant)

    @property
    def utilization(self) -> str:
        return _OF_COMPONENT if self.component else _OF_VARIANT

    @property
    def invocations_each(self) -> str:
        return "InvocationsPerCopy" if self.component else "InvocationsPerInstance"

    @property
    def concurrency(self) -> str:
        if self.component:
            return "ConcurrentRequestsPerCopy"
        return "ConcurrentRequestsPerModel"


@dataclass(slots=True)
class Work:
    """
    The seconds of all of them together that nobody has asked for yet.
    """

    _since: float
    _seconds: float = 0.0

    def go_on(self, now: float, busy: int) -> None:
        """
        Count the time since the last change, in which so many were busy.
        """
        # A request may end a little before the moment at which that is known.
        passed = max(0.0, now - self._since)
        self._seconds += busy * passed
        self._since = max(self._since, now)

    def take(self) -> float:
        """
        Return the seconds since the last time.
        """
        seconds, self._seconds = self._seconds, 0.0
        return seconds
