"""
One region, watched: its requests counted, its alarms evaluated, its targets scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.local.aws.surroundings import InRegions
from cdk_sagemaker_llm.local.hosting.queueing import instances_of, work_everywhere
from cdk_sagemaker_llm.local.hosting.traffic import Processed
from cdk_sagemaker_llm.local.hosting.world import World
from cdk_sagemaker_llm.local.scaling.alarms import Alarms
from cdk_sagemaker_llm.local.scaling.capacity import devices, live, serving
from cdk_sagemaker_llm.local.scaling.meter import MINUTE, TEN_SECONDS, Meter, Subject
from cdk_sagemaker_llm.local.scaling.scalable_targets import Targets
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.metrics import Datapoint, Metric, MetricStore

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.hosting.service import SageMaker
    from cdk_sagemaker_llm.local.hosting.traffic import Where

_PENDING = 1000  # Periods that nobody has read, where no time runs.
_DAY, _HOUR = 86_400, 3600
Publish = Callable[[Metric, int, Datapoint], None]
_MICROSECONDS, _MILLISECONDS = 1e6, 1e3


class Watching:
    """
    What happens by itself in one account and region.

    Args:
        timeline: The time it lives in. If it is ``None``, nothing happens by itself,
            and what is counted is published when it is read.
    """

    def __init__(
        self,
        hosting: SageMaker,
        publish: Callable[[Metric, float, Datapoint], None],
        now: Callable[[], float],
        timeline: Timeline | None,
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
        self._world.traffic.later.append(partial(_count_processed, self.meter))
        if timeline is not None:
            self.targets = Targets(timeline, hosting)
            self.alarms = Alarms(
                timeline,
                self.store.read,
                self.targets.act,
                self._world.surroundings.publish_for_alarm,
            )
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


WATCHING = InRegions[Watching]()
"""What watches every account and region."""


class Publisher:
    """
    Publishes what subjects that live have measured, every ten seconds.
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


def count_backlogs(meter: Meter, world: World, now: float) -> None:
    """
    Count what waits now, at every endpoint with a queue.

    Where there is no instance, the guide says that target tracking starts one once
    more waits than its target: the backlog is divided by one then.
    """
    for endpoint in world.endpoints:
        if not endpoint.is_asynchronous:
            continue
        size, instances = endpoint.backlog.size, instances_of(endpoint)
        values = {
            "ApproximateBacklogSize": float(size),
            "ApproximateBacklogSizePerInstance": size / max(1, instances),
            "ApproximateAgeOfOldestRequest": endpoint.backlog.age(now),
            "HasBacklogWithoutCapacity": float(bool(size) and not instances),
        }
        meter.note(Subject(endpoint.name, ""), now, values)


def _count_processed(meter: Meter, done: Processed) -> None:
    values = {
        "InvocationsProcessed": 1.0,
        "InvocationFailures": float(done.failed),
        "ExpiredRequests": float(done.expired),
        "RequestDownloadFailures": float(not done.downloaded),
        "NotificationFailures": float(not done.notified),
        "TimeInBacklog": _MICROSECONDS * (done.started - done.received),
        "TotalProcessingTime": _MILLISECONDS * (done.ended - done.received),
    }
    if done.status:
        status = done.status
        values["Invocation4XXErrors"] = float(400 <= status < 500)  # noqa: PLR2004 - HTTP's classes
        values["Invocation5XXErrors"] = float(status >= 500)  # noqa: PLR2004 - the same
        values["ModelLatency"] = _MICROSECONDS * (done.ended - done.started)
    meter.note(Subject(done.endpoint, done.variant), done.ended, values)
