"""
Playing out what an app hosts, under the traffic that was asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from cdk_sagemaker_llm.cli.simulating.apps import Hosted, HostedModel
from cdk_sagemaker_llm.cli.simulating.serving import Service, service_of
from cdk_sagemaker_llm.cli.simulating.still import still
from cdk_sagemaker_llm.cli.simulating.traffics import Meant, Wanted, traffic_of
from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from cdk_sagemaker_llm.simulation.metrics import MetricDelays
from cdk_sagemaker_llm.simulation.outcome import Outcome
from cdk_sagemaker_llm.simulation.running import run
from cdk_sagemaker_llm.simulation.scenario import Method, Scenario, Workload
from cdk_sagemaker_llm.simulation.service.measurement import Measurement
from cdk_sagemaker_llm.simulation.traffic.base import Traffic
from cdk_sagemaker_llm.simulation.traffic.users import Users

# A Monday, so that a week of traffic is a week of the calendar.
_START = datetime(2026, 1, 5, tzinfo=UTC)
# What a container has for a request that waited in a queue (API reference,
# InvokeEndpointAsync, InvocationTimeoutSeconds).
_QUEUED_TIMEOUT = 900.0
_AGGREGATE = (
    "requests are computed in aggregate, with rates and means: that they come by "
    "chance is left out, and with it the waits that this makes close to what copies "
    "can serve; --method requests follows each of them"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """
    What a run is told besides the app.

    Args:
        wanted: The traffic.

        duration: Seconds.

        start: When it begins.

        seed: What chance follows.

        method: How it is computed; ``None`` for whichever suits.

        times: Times of the fleet that were given, by field.

        delays: How late metrics can be read.

        measured: Measured service times; without any they are estimated.

        model_start: Seconds that a model takes to start; ``None`` to estimate them.

        available: How many instances can be had, by type.
    """

    wanted: Wanted
    duration: float
    start: datetime = _START
    seed: int = 0
    method: Method | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    delays: MetricDelays = field(default_factory=MetricDelays)
    measured: tuple[Measurement, ...] = ()
    model_start: float | None = None
    available: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """
    What came of one variant.

    Args:
        hosted: The variant.

        scenario: What was played out.

        outcome: What came of it.

        traffic: Each model's traffic in words.

        notes: What was assumed or estimated.
    """

    hosted: Hosted
    scenario: Scenario
    outcome: Outcome
    traffic: Mapping[str, str]
    notes: tuple[str, ...]


def play(
    variants: Sequence[Hosted], told: Told, measure: Sequence[Hosted]
) -> list[Played]:
    """
    Play out every variant.

    Args:
        variants: The variants.

        told: What else there is to know.

        measure: The variants by whose targets traffic is measured that is not given,
            so that what is compared gets the same.

    Raises:
        ValueError: If what was told does not fit.
    """
    pairs = itertools.zip_longest(variants, measure[: len(variants)])
    return [_play(hosted, told, other or hosted) for hosted, other in pairs]


def _play(hosted: Hosted, told: Told, measure: Hosted) -> Played:
    _refuse_waiting(hosted, told)
    kind = hosted.pools[0].instance_type
    wanted = replace(told.wanted, scale=told.wanted.scale * hosted.share)
    workloads, words, notes = [], {}, []
    for model, other in itertools.zip_longest(
        hosted.models, measure.models[: len(hosted.models)]
    ):
        service = service_of(model, kind, wanted.lengths, told.measured)
        meant = _meant(wanted, other or model, measure, told)
        words[model.name] = meant.words
        start = service.start_seconds
        if told.model_start is not None:
            start = told.model_start
        elif service.start_words:
            notes.append(service.start_words)
        if service.times_words:
            notes.append(service.times_words)
        workloads.append(_workload(model, service, meant.traffic, start, told))
    scenario = Scenario(
        workloads=tuple(workloads),
        duration=told.duration,
        start=told.start,
        seed=told.seed,
        routing=hosted.routing,
        endpoint=hosted.endpoint,
        variant=hosted.variant,
        pools=hosted.pools,
        instances=hosted.instances,
        minimum=hosted.minimum,
        maximum=hosted.maximum,
        managed=hosted.managed,
        scale_in=hosted.scale_in,
        times=_times(hosted, told),
        capacity=lambda name, _: told.available.get(name, float("inf")),
        delays=told.delays,
    )
    notes += still(scenario)
    outcome = run(scenario, told.method)
    if outcome.method == "aggregate":
        notes.append(_AGGREGATE)
    return Played(
        hosted=hosted,
        scenario=scenario,
        outcome=outcome,
        traffic=words,
        notes=(*outcome.notes, *notes),
    )


def _refuse_waiting(hosted: Hosted, told: Told) -> None:
    if all(model.at_once is None for model in hosted.models):
        return
    if told.wanted.users:
        raise ValueError(
            f"--users wait for answers, and nobody waits for {hosted.endpoint}, which "
            "is asynchronous; give --rate, or another --endpoint"
        )
    if told.method == "aggregate":
        raise ValueError(
            f"--method aggregate computes no queue, which {hosted.endpoint} has; leave "
            "it out, or give another --endpoint"
        )


def _meant(wanted: Wanted, model: HostedModel, hosted: Hosted, told: Told) -> Meant:
    kind = hosted.pools[0].instance_type
    service = service_of(model, kind, wanted.lengths, told.measured)
    return traffic_of(wanted, model, service.times, told.duration)


def _workload(
    model: HostedModel,
    service: Service,
    traffic: Traffic | Users,
    start: float | None,
    told: Told,
) -> Workload:
    scaling = model.scaling
    return Workload(
        name=model.name,
        traffic=traffic,
        service=service.times,
        needs=model.needs,
        copies=model.copies,
        bounds=scaling.bounds if scaling else None,
        policies=scaling.policies if scaling else (),
        schedules=scaling.schedules if scaling else (),
        suspended=scaling.suspended if scaling else (),
        start_seconds=start,
        image=model.image,
        memory_share=service.memory_share,
        timeout=told.wanted.timeout if model.at_once is None else _QUEUED_TIMEOUT,
        at_once=model.at_once,
    )


def _times(hosted: Hosted, told: Told) -> FleetTimes:
    given = dict(told.times)
    if hosted.provision_timeout is not None:
        given.setdefault("refusal", hosted.provision_timeout)
    return FleetTimes(**given)
