"""
What one run gives: what was served and what was not, recorded minute by minute.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from cdk_sagemaker_llm.simulation.fleet import Step
from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.metrics import MetricQuery
from cdk_sagemaker_llm.simulation.scaling import Activity

# Why a request has no answer; what the service answers stands in wording().
Refusal = Literal["no capacity", "queue full", "too long", "copy gone"]

_MINUTE = 60.0
SHARES = (0.5, 0.95, 0.99)
REFUSAL_REASONS: tuple[Refusal, ...] = get_args(Refusal)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """
    What one run gives.

    Args:
        method: How it was computed: request by request, or in aggregate.

        start: When it began.

        duration: Seconds that were played out.

        workloads: Each model, minute by minute.

        instances: Instances that run at the end of each minute, by type.

        instance_hours: Hours that instances ran, by type.

        steps: What the fleet did: instances and copies that came and went.

        activities: What scaling did, and why it did not, by model.

        notes: What was assumed or estimated, with its source, one sentence each.

        watched: The value of each period of the metrics that were watched.
    """

    method: str
    start: datetime
    duration: float
    workloads: Mapping[str, Series]
    instances: Mapping[str, list[float]]
    instance_hours: Mapping[str, float]
    steps: tuple[Step, ...]
    activities: Mapping[str, tuple[Activity, ...]]
    notes: tuple[str, ...] = ()
    watched: Mapping[MetricQuery, list[float | None]] = field(default_factory=dict)


class Minutes:
    """
    Makes a series out of minutes; whoever records latencies and first tokens of the
    whole run passes where they are kept.
    """

    def __init__(
        self, latencies: Histogram | None = None, firsts: FirstTokens | None = None
    ) -> None:
        self.minute = Minute()
        self._refused: dict[str, list[float]] = {why: [] for why in REFUSAL_REASONS}
        self._latencies: tuple[list[float | None], ...] = ([], [], [], [])
        self.series = Series(
            arrived=[],
            served=[],
            timed_out=[],
            refused=self._refused,
            waiting=[],
            concurrency=[],
            copies=[],
            desired=[],
            latency_mean=self._latencies[0],
            latency_p50=self._latencies[1],
            latency_p95=self._latencies[2],
            latency_p99=self._latencies[3],
            latencies=latencies,
            firsts=firsts,
        )

    def close(
        self,
        *,
        waiting: float,
        under_way: float,
        copies: float,
        desired: float,
        latencies: Sequence[float | None],
    ) -> None:
        """
        End a minute, of which the mean and the percentiles are in seconds.
        """
        series, minute = self.series, self.minute
        series.arrived.append(minute.arrived)
        series.served.append(minute.served)
        series.timed_out.append(minute.timed_out)
        for why, each in self._refused.items():
            each.append(minute.refused.get(why, 0.0))
        series.waiting.append(waiting)
        series.concurrency.append(under_way)
        series.copies.append(copies)
        series.desired.append(desired)
        for column, value in zip(self._latencies, latencies, strict=True):
            column.append(value)
        self.minute = Minute()


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """
    One model, minute by minute; each list has one number for each minute.

    Args:
        arrived: Requests that came.

        served: Requests that were answered in time.

        timed_out: Requests whose client no longer waited.

        refused: Requests that were not taken, by reason.

        waiting: Requests in line at the minute's end.

        concurrency: Requests under way at the minute's end, those in line included.

        copies: Copies that serve at the minute's end.

        desired: Copies that are asked for at the minute's end.

        latency_mean: Seconds an answer took on average; ``None`` without answers.

        latency_p50: Seconds that half of the answers took at most.

        latency_p95: Seconds that 95 % of the answers took at most.

        latency_p99: Seconds that 99 % of the answers took at most.

        latencies: Those of the whole run; ``None`` where single requests were not
            followed.

        firsts: When the answers of the whole run began; ``None`` likewise, and for
            requests of a queue.
    """

    arrived: list[float]
    served: list[float]
    timed_out: list[float]
    refused: Mapping[str, list[float]]
    waiting: list[float]
    concurrency: list[float]
    copies: list[float]
    desired: list[float]
    latency_mean: list[float | None]
    latency_p50: list[float | None]
    latency_p95: list[float | None]
    latency_p99: list[float | None]
    latencies: Histogram | None = None
    firsts: FirstTokens | None = None

    @property
    def totals(self) -> Totals:
        """
        The sums over all minutes, and what is still under way at the end.
        """
        return Totals(
            arrived=sum(self.arrived),
            served=sum(self.served),
            timed_out=sum(self.timed_out),
            refused={why: sum(each) for why, each in self.refused.items()},
            under_way=self.concurrency[-1],
        )


@dataclass(slots=True)
class FirstTokens:
    """
    The time to the first token of each answer of a run.

    Args:
        overhead: Seconds of each outside of the batch.
    """

    overhead: float
    _seconds: array[float] = field(default_factory=lambda: array("d"), repr=False)

    def add(self, seconds: list[float]) -> None:
        """
        Take in some, the overhead aside.
        """
        self._seconds.fromlist(seconds)

    def at(self, share: float) -> float | None:
        """
        Return the seconds within which such a share of all began; ``None`` of none.
        """
        if not self._seconds:
            return None
        rank = math.ceil(share * len(self._seconds)) - 1
        return self.overhead + sorted(self._seconds)[rank]

    def within(self, seconds: float) -> float | None:
        """
        Return which share of all began within some seconds; ``None`` of none.
        """
        if not self._seconds:
            return None
        most = seconds - self.overhead
        return sum(each <= most for each in self._seconds) / len(self._seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """
    What became of all requests: nothing gets lost.

    Args:
        arrived: Requests that came.

        served: Those that were answered in time.

        timed_out: Those whose client no longer waited.

        refused: Those that were not taken, by reason.

        under_way: Those that had no answer yet at the end.
    """

    arrived: float
    served: float
    timed_out: float
    refused: Mapping[str, float]
    under_way: float

    @property
    def accounted(self) -> float:
        """
        Served, timed out, refused and under way together: as many as arrived.
        """
        lost = self.timed_out + sum(self.refused.values())
        return self.served + lost + self.under_way


@dataclass(slots=True)
class Minute:
    """
    What adds up during a minute.
    """

    arrived: float = 0.0
    served: float = 0.0
    timed_out: float = 0.0
    refused: dict[str, float] = field(default_factory=dict)

    def add(
        self,
        arrived: float,
        served: float,
        timed_out: float,
        refused: Mapping[Refusal, float],
    ) -> None:
        """
        Take in some seconds.
        """
        self.arrived += arrived
        self.served += served
        self.timed_out += timed_out
        for why, count in refused.items():
            self.refused[why] = self.refused.get(why, 0.0) + count


def summary(latencies: list[float], overhead: float) -> list[float | None]:
    """
    Return the mean and the percentiles of a minute's latencies, each with an overhead,
    in seconds. The list is put in order.
    """
    if not latencies:
        return [None] * (1 + len(SHARES))
    latencies.sort()
    count = len(latencies)
    ranks = (math.ceil(share * count) - 1 for share in SHARES)
    mean = math.fsum(latencies) / count
    return [overhead + each for each in (mean, *(latencies[rank] for rank in ranks))]


def worst_minute(series: Series) -> tuple[float, float] | None:
    """
    Return when the minute with the highest p95 began, and that p95.
    """
    values = [value for value in series.latency_p95 if value is not None]
    if not values:
        return None
    worst = max(values)
    # The first of several: that is where it began.
    return series.latency_p95.index(worst) * _MINUTE, worst


def mean_latency(series: Series) -> float | None:
    """
    Return the seconds that an answer took on average, over the whole run.
    """
    pairs = [
        (served, mean)
        for served, mean in zip(series.served, series.latency_mean, strict=True)
        if mean is not None
    ]
    total = sum(served for served, _ in pairs)
    return sum(served * mean for served, mean in pairs) / total if total else None
