"""
One region, watched: its requests counted, its alarms evaluated, its targets scaled.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.local.sagemaker.queueing import work_everywhere
from cdk_sagemaker_llm.local.watching.alarms import Alarms
from cdk_sagemaker_llm.local.watching.backlogs import count_backlogs, count_processed
from cdk_sagemaker_llm.local.watching.capacity import devices, live, serving
from cdk_sagemaker_llm.local.watching.meter import MINUTE, TEN_SECONDS, Meter
from cdk_sagemaker_llm.local.watching.publisher import Publisher
from cdk_sagemaker_llm.local.watching.subjects import Subject
from cdk_sagemaker_llm.local.watching.targets import Targets
from cdk_sagemaker_llm.simulation.metrics import Datapoint, Metric, MetricStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from cdk_sagemaker_llm.local.sagemaker.service import SageMaker
    from cdk_sagemaker_llm.local.sagemaker.traffic import Where
    from cdk_sagemaker_llm.simulation.clock import Timeline


_PENDING = 1000  # Periods that nobody has read, where no time runs.
_DAY, _HOUR = 86_400, 3600


class Watching:
    """
    What happens by itself in one account and region.

    Args:
        hosting: Its SageMaker.

        publish: Takes what the runtime measured in a period.

        now: What time it is.

        timeline: The time it lives in. If left out, nothing happens by itself, and
            what is counted is published when it is read.
    """

    def __init__(
        self,
        hosting: SageMaker,
        publish: Callable[[Metric, float, Datapoint], None],
        now: Callable[[], float],
        timeline: Timeline | None = None,
    ) -> None:
        self.meter = Meter(lambda subject: devices(hosting.world, subject))
        self.store = MetricStore()
        self.alarms: Alarms | None = None
        self.targets: Targets | None = None
        self.now = now
        self._publish = publish
        self._timeline = timeline
        self._world = hosting.world
        self._world.traffic.arrivals.append(self._begin)
        self._world.traffic.listeners.append(self.meter.end)
        self._world.traffic.later.append(partial(count_processed, self.meter))
        if timeline is not None:
            self.targets = Targets(timeline, hosting)
            self.alarms = Alarms(timeline, self.store.read, self.targets.act)
            Publisher(timeline, self.meter, lambda: live(self._world), self._take)
            self._drain()
            self._settle()
            self._forget()

    def publish_now(self) -> None:
        """
        Publish what is counted, where no time runs that would do it.
        """
        if self._timeline is None:
            for metric, start, point in self.meter.take(self.now() + MINUTE):
                self._take(metric, start, point)

    def _begin(self, where: Where) -> None:
        if self.meter.pending > _PENDING:
            self.publish_now()
        capacity = serving(self._world, where)
        self.meter.begin(Subject.of(where), capacity, self.now())

    def _take(self, metric: Metric, start: float, point: Datapoint) -> None:
        self.store.add(metric, start, point)
        self._publish(metric, start, point)

    def _drain(self) -> None:
        if self._timeline is not None:
            now = self._timeline.now
            due = (now // TEN_SECONDS + 1) * TEN_SECONDS
            self._timeline.at(due, self._drain)
            work_everywhere(self._world)
            count_backlogs(self.meter, self._world, now)

    def _settle(self) -> None:
        if self._timeline is not None and self.targets is not None:
            self._timeline.after(TEN_SECONDS, self._settle)
            self.targets.settle()

    def _forget(self) -> None:
        if self._timeline is not None:
            self.store.forget(self._timeline.now - _DAY)
            self._timeline.after(_HOUR, self._forget)
