"""
Publishing what was counted, at the end of every period of the embedded time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cdk_sagemaker_llm.local.watching.meter import TEN_SECONDS, Meter
from cdk_sagemaker_llm.local.watching.subjects import Subject
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.metrics import Datapoint, Metric

Publish = Callable[[Metric, int, Datapoint], None]


class Publisher:
    """
    Publishes every ten seconds, for as long as the timeline runs.

    Args:
        timeline: The time it lives in.

        meter: What counts.

        live: Tells which subjects serve now, and with how many instances or copies.

        publish: Takes a metric, the start of the period and its values.
    """

    def __init__(
        self,
        timeline: Timeline,
        meter: Meter,
        live: Callable[[], Iterable[tuple[Subject, int]]],
        publish: Publish,
    ) -> None:
        self._timeline = timeline
        self._meter = meter
        self._live = live
        self._publish = publish
        self._plan()

    def _plan(self) -> None:
        due = (self._timeline.now // TEN_SECONDS + 1) * TEN_SECONDS
        self._timeline.at(due, self._tick)

    def _tick(self) -> None:
        # First of all: what goes wrong once does not stop it.
        self._plan()
        now = self._timeline.now
        for subject, capacity in self._live():
            self._meter.idle(subject, capacity, now - TEN_SECONDS)
        for metric, start, point in self._meter.take(now):
            self._publish(metric, start, point)
