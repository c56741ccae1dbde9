"""
Everything that one run is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from cdk_sagemaker_llm.arguments import hold_kinds, raise_faults
from cdk_sagemaker_llm.arguments.kinds import Fault
from cdk_sagemaker_llm.simulation.fleet import (
    Available,
    FleetTimes,
    Needs,
    Pool,
    ScaleIn,
    Seconds,
    unlimited,
)
from cdk_sagemaker_llm.simulation.metrics import (
    KEPT_SECONDS,
    MetricDelays,
    MetricQuery,
)
from cdk_sagemaker_llm.simulation.scaling import (
    Bounds,
    Policy,
    ScheduledAction,
    TargetTracking,
)
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.base import Traffic, Users

Routing = Literal["LEAST_OUTSTANDING_REQUESTS", "RANDOM"]
Method = Literal["requests", "aggregate"]
# InvokeEndpoint waits for so long (AWS, SageMaker Runtime API).
INVOKE_TIMEOUT = 60.0
# What SuspendedState of a scalable target switches off.
SUSPENDED = frozenset({"DynamicScalingIn", "DynamicScalingOut", "ScheduledScaling"})
# A Monday, so that a week of traffic is a week of the calendar.
_START = datetime(2026, 1, 5, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """
    A model, what is asked of it, and how it is scaled.

    Args:
        name: The component's name, or the variant's where the model is the variant's.

        traffic: What is asked of it: requests at a rate, a replay, or users.

        service: What a copy takes for requests.

        needs: What each copy reserves of an instance.
            If omitted, the model is the variant's, with one copy on each instance.

        copies: How many there are at the start; they serve from its first moment. Of no
            effect without needs, where there are pools.
            If omitted, it is one.

        bounds: Between which numbers scaling keeps the copies, or the instances of a
            model that is the variant's.
            If omitted, nothing scales.

        policies: What scales them.

        schedules: What moves the bounds.

        suspended: What of scaling is switched off: DynamicScalingIn,
            DynamicScalingOut, ScheduledScaling.
            If omitted, nothing is.

        start_seconds: What a copy takes to start, with its image there.
            If omitted, it is that of the fleet's times.

        image: What is pulled once for each instance.
            If omitted, all models have the same.

        timeout: Seconds that a client waits for an answer.
            If omitted, it is InvokeEndpoint's 60; a stream may take longer.

        queue_limit: How many requests may wait in line at one copy; more are refused.
            If omitted, any number may.

        memory_share: Which part of its accelerators' memory the engine holds, the KV
            cache that it takes at its start included.
            If omitted, it is not known, and no metric says it.
        at_once: Of asynchronous inference, how many requests each copy is sent at the
            same time; all others wait in one queue before the copies, and none is
            refused. ``timeout`` is how long a copy may take for one.
            If omitted, requests go to the copies as they come.
    """

    name: str
    traffic: Traffic | Users
    service: ServiceTimes
    needs: Needs = None
    copies: int = 1
    bounds: Bounds | None = None
    policies: tuple[Policy, ...] = ()
    schedules: tuple[ScheduledAction, ...] = ()
    suspended: tuple[str, ...] = ()
    start_seconds: Seconds | None = None
    image: str = ""
    timeout: float = INVOKE_TIMEOUT
    queue_limit: int | None = None
    memory_share: float | None = None
    at_once: int | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)
        if not isinstance(self.traffic, Traffic | Users):
            raise ValueError(  # noqa: TRY004 - as any argument of another kind
                "traffic must be requests at a rate such as Constant(...), a Replay or "
                f"Users, got a value of type {type(self.traffic).__name__}"
            )
        if not isinstance(self.service, ServiceTimes):
            raise ValueError(  # noqa: TRY004 - as any argument of another kind
                "service must be ServiceTimes(...), got a value of type "
                f"{type(self.service).__name__}"
            )
        least = (("copies", self.copies), ("queue_limit", self.queue_limit or 0))
        raise_faults(
            Fault(f"{name} must be at least 0, got {value}")
            for name, value in least
            if value < 0
        )
        if self.at_once is not None:
            self._hold_queue(self.at_once)
        if unknown := set(self.suspended) - SUSPENDED:
            raise ValueError(
                f"suspended must be of {', '.join(sorted(SUSPENDED))}, got "
                f"{', '.join(sorted(unknown))}"
            )
        if (self.policies or self.schedules) and self.bounds is None:
            raise ValueError(
                f"bounds of {self.name} must be given where it has policies or "
                "schedules: write Bounds(minimum=..., maximum=...)"
            )
        if self.timeout <= self.service.overhead_seconds:
            raise ValueError(
                f"timeout must be more than the service's overhead_seconds, got "
                f"{self.timeout:g} s and {self.service.overhead_seconds:g} s"
            )

    def _hold_queue(self, at_once: int) -> None:
        if at_once < 1:
            raise ValueError(f"at_once must be at least 1, got {at_once}")
        if isinstance(self.traffic, Users):
            raise ValueError(  # noqa: TRY004 - as any argument that does not fit
                "users wait for answers, which are not waited for where at_once is "
                "given; write requests at a rate such as Constant(...)"
            )
        if self.queue_limit is not None:
            raise ValueError("queue_limit has no effect where at_once is given")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """
    What runs, on what, for how long.

    Args:
        workloads: The models.

        duration: Seconds that are played out.

        start: When it begins, a whole minute with a time zone: schedules and the
            curves of days go by it. If omitted, it is a Monday at midnight UTC.

        seed: What chance follows: the same seed gives the same log.
            If omitted, it is 0.

        routing: To which copy a request goes: the one with the fewest outstanding, or
            any. If omitted, it is the one with the fewest.

        endpoint: The endpoint's name, which its metrics have.
            If omitted, it is ``endpoint``.

        variant: The name of a variant with components, which its metrics have.
            If omitted, it is ``AllTraffic``; a model that is the variant's has it as
            its own name.

        pools: The instance types that the endpoint may use.
            If omitted, copies are there and no instances are counted: nothing scales.

        instances: How many there are at the start.
            If omitted, it is one.

        minimum: How many there are at least. If omitted, as many as at the start.

        maximum: How many there are at most. If omitted, as many as at the start.

        managed: Whether copies bring instances along and take them with them, as
            managed instance scaling has it.
            If omitted, they do not.

        scale_in: How managed instance scaling lets instances go.

        times: How long instances and copies take to come and to go.
            If omitted, the defaults of ``FleetTimes``.

        capacity: How many instances of a type can be had, at a moment.
            If omitted, there is no end of them.

        delays: How late metrics can be read.
            If omitted, the defaults of ``MetricDelays``.

        watched: Metrics that are to be in the outcome, in a run of a day at most.
            If omitted, none is.
    """

    workloads: tuple[Workload, ...]
    duration: float
    start: datetime = _START
    seed: int = 0
    routing: Routing = "LEAST_OUTSTANDING_REQUESTS"
    endpoint: str = "endpoint"
    variant: str = "AllTraffic"
    pools: tuple[Pool, ...] = ()
    instances: int = 1
    minimum: int | None = None
    maximum: int | None = None
    managed: bool = False
    scale_in: ScaleIn | None = None
    times: FleetTimes | None = None
    capacity: Available = unlimited
    delays: MetricDelays = field(default_factory=MetricDelays)
    watched: tuple[MetricQuery, ...] = ()

    def __post_init__(self) -> None:
        hold_kinds(self)
        raise_faults(self._faults())

    @property
    def queries(self) -> tuple[MetricQuery, ...]:
        """
        What policies read, metric by metric, and what is watched.
        """
        read = (
            policy.query if isinstance(policy, TargetTracking) else policy.alarm.query
            for workload in self.workloads
            for policy in workload.policies
        )
        singles = (single for query in read for single in query.singles())
        return (*singles, *self.watched)

    @property
    def minutes(self) -> int:
        """
        How many minutes there are, the last one perhaps not whole.
        """
        return math.ceil(self.duration / 60)

    def _faults(self) -> Iterator[Fault]:
        names = [workload.name for workload in self.workloads]
        if not names or len(set(names)) < len(names):
            yield Fault(
                "workloads must be at least one, each with a name of its own, got "
                f"{', '.join(names) or 'none'}"
            )
        if self.duration <= 0:
            yield Fault(f"duration must be above 0, got {self.duration}")
        if self.start.tzinfo is None or self.start.timestamp() % 60:
            yield Fault(
                "start must be a whole minute with a time zone, got "
                f"{self.start.isoformat()}"
            )
        scaled = [workload.name for workload in self.workloads if workload.bounds]
        if scaled and not self.pools:
            yield Fault(
                "pools must name at least one instance type where something scales, "
                f"as {', '.join(scaled)} does"
            )
        if self.watched and self.duration > KEPT_SECONDS:
            yield Fault(
                f"duration must be at most {KEPT_SECONDS} s where metrics are watched, "
                f"got {self.duration:g}"
            )
