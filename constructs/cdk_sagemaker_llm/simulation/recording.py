"""
The minutes of one model, as a run goes by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.outcome import Refusal, Series

SHARES = (0.5, 0.95, 0.99)
REASONS: tuple[Refusal, ...] = get_args(Refusal)


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


class Minutes:
    """
    Makes a series out of minutes.

    Args:
        latencies: Where those of the whole run are kept by who records them.
            If left out, they are not.
    """

    def __init__(self, latencies: Histogram | None = None) -> None:
        self.minute = Minute()
        self._refused: dict[str, list[float]] = {why: [] for why in REASONS}
        self._latencies: tuple[list[float | None], ...] = ([], [], [], [])
        self._series = Series(
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
        End a minute.

        Args:
            waiting: Requests in line now.

            under_way: Requests without an answer now.

            copies: Copies that serve now.

            desired: Copies that are asked for now.

            latencies: The mean and the percentiles of the minute, in seconds.
        """
        series, minute = self._series, self.minute
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

    @property
    def series(self) -> Series:
        """
        What has been recorded.
        """
        return self._series


def summary(latencies: list[float], overhead: float) -> list[float | None]:
    """
    Return the mean and the percentiles of a minute's latencies.

    Args:
        latencies: Seconds, in any order; they are put in order.

        overhead: Seconds that come on top of each.
    """
    if not latencies:
        return [None] * (1 + len(SHARES))
    latencies.sort()
    count = len(latencies)
    ranks = (math.ceil(share * count) - 1 for share in SHARES)
    mean = math.fsum(latencies) / count
    return [overhead + each for each in (mean, *(latencies[rank] for rank in ranks))]
