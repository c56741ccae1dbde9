"""
Running a simulation of what an app hosts, under some traffic.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.cli.app.simulated import HostedModel, HostedVariant
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings, traffic_of
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.simulation.fleet import FleetTimes, start_seconds
from cdk_sagemaker_llm.simulation.metrics import MetricDelays
from cdk_sagemaker_llm.simulation.outcome import Outcome
from cdk_sagemaker_llm.simulation.publishing import ENDPOINTS, OF_VARIANTS
from cdk_sagemaker_llm.simulation.running import run
from cdk_sagemaker_llm.simulation.scenario import Method, Scenario, Workload
from cdk_sagemaker_llm.simulation.service.estimate import estimate_service_times
from cdk_sagemaker_llm.simulation.service.measurement import Measurement
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.base import Traffic, Users
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths

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
# What is taken for a model of which nothing is known; it says so wherever it appears.
_ASSUMED_PACE, _ASSUMED_SEQUENCES = 0.03, 16
_MEMORY = "GPUMemoryUtilization"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSettings:
    """
    The settings of a run, besides the app.

    Args:
        method: How it is computed; ``None`` for whichever suits.

        times: Times of the fleet, by field; the usual ones where it has none.

        measured: Measured service times; without any they are estimated.

        model_start: Seconds that a model takes to start; ``None`` to estimate them.
    """

    traffic: TrafficSettings
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
class VariantResult:
    """
    What came of one variant.
    """

    hosted: HostedVariant
    scenario: Scenario
    outcome: Outcome
    traffic: Mapping[str, str]
    notes: tuple[str, ...]


def play(
    variants: Sequence[HostedVariant],
    settings: RunSettings,
    measure: Sequence[HostedVariant],
) -> list[VariantResult]:
    """
    Play out every variant.

    Args:
        measure: The variants whose targets set the traffic where no rate is written,
            so that what is compared gets the same.
    """
    pairs = itertools.zip_longest(variants, measure[: len(variants)])
    return [_play(hosted, settings, other or hosted) for hosted, other in pairs]


def _play(
    hosted: HostedVariant, settings: RunSettings, measure: HostedVariant
) -> VariantResult:
    _check_queue(hosted, settings)
    kind = hosted.pools[0].instance_type
    traffic = replace(settings.traffic, scale=settings.traffic.scale * hosted.share)
    workloads, words, notes = [], {}, []
    for model, other in itertools.zip_longest(
        hosted.models, measure.models[: len(hosted.models)]
    ):
        service = service_of(model, kind, traffic.lengths, settings.measured)
        # What is compared gets the same traffic, by the targets of the first.
        target = other or model
        aim = service_of(
            target, measure.pools[0].instance_type, traffic.lengths, settings.measured
        )
        model_traffic = traffic_of(traffic, target, aim.times, settings.duration)
        words[model.name] = model_traffic.words
        start = service.start_seconds
        if settings.model_start is not None:
            start = settings.model_start
        elif service.start_words:
            notes.append(service.start_words)
        if service.times_words:
            notes.append(service.times_words)
        workloads.append(
            _workload(model, service, model_traffic.traffic, start, settings)
        )
    times = dict(settings.times)
    if hosted.provision_timeout is not None:
        times.setdefault("refusal", hosted.provision_timeout)
    scenario = Scenario(
        workloads=tuple(workloads),
        duration=settings.duration,
        start=settings.start,
        seed=settings.seed,
        routing=hosted.routing,
        endpoint=hosted.endpoint,
        variant=hosted.variant,
        pools=hosted.pools,
        instances=hosted.instances,
        minimum=hosted.minimum,
        maximum=hosted.maximum,
        managed=hosted.managed,
        scale_in=hosted.scale_in,
        times=FleetTimes(**times),
        capacity=lambda name, _: settings.available.get(name, float("inf")),
        delays=settings.delays,
    )
    notes += still(scenario)
    outcome = run(scenario, settings.method)
    if outcome.method == "aggregate":
        notes.append(_AGGREGATE)
    return VariantResult(
        hosted=hosted,
        scenario=scenario,
        outcome=outcome,
        traffic=words,
        notes=(*outcome.notes, *notes),
    )


def _check_queue(hosted: HostedVariant, settings: RunSettings) -> None:
    if all(model.at_once is None for model in hosted.models):
        return
    if settings.traffic.users:
        raise ValueError(
            f"--users wait for answers, and nobody waits for {hosted.endpoint}, which "
            "is asynchronous; give --rate, or another --endpoint"
        )
    if settings.method == "aggregate":
        raise ValueError(
            f"--method aggregate computes no queue, which {hosted.endpoint} has; leave "
            "it out, or give another --endpoint"
        )


def _workload(
    model: HostedModel,
    service: Service,
    traffic: Traffic | Users,
    start: float | None,
    settings: RunSettings,
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
        image=model.served.image,
        memory_share=service.memory_share,
        timeout=settings.traffic.timeout if model.at_once is None else _QUEUED_TIMEOUT,
        at_once=model.at_once,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """
    How a model serves and starts.

    Args:
        start_seconds: What a copy takes to start; ``None`` if nothing is known of it.

        times_words: What there is to say of measured times.

        memory_share: Which part of its accelerators' memory the engine holds; ``None``
            if that is not known.
    """

    times: ServiceTimes
    start_seconds: float | None
    start_words: str = ""
    times_words: str = ""
    memory_share: float | None = None


def service_of(
    model: HostedModel,
    instance_type: str,
    lengths: Lengths,
    measured: Sequence[Measurement] = (),
) -> Service:
    """
    Find out how a model serves on an instance type.
    """
    start, start_words = _start(model)
    chosen = _chosen(model, instance_type, measured)
    found = model.served.plan_on(instance_type, _accelerators(model, instance_type))
    if chosen is None:
        times, times_words = _estimated(found, lengths), ""
    else:
        times, times_words = chosen.times, _measured_words(model, instance_type, chosen)
    memory_share = None
    if isinstance(found, Plan):
        # What the engine takes at its start, its KV cache included.
        usual = found.expected
        held = usual.terms.fixed + usual.terms.cuda_graphs + max(usual.kv_cache_room, 0)
        memory_share = min(held / found.capacity, 1.0)
    return Service(
        times=times,
        start_seconds=start,
        start_words=start_words,
        times_words=times_words,
        memory_share=memory_share,
    )


def _chosen(
    model: HostedModel, instance_type: str, measured: Sequence[Measurement]
) -> Measurement | None:
    """
    Choose the measurement of the model on the type, else of the model, else the only
    one there is.
    """
    own = (model.served.model or "").lower()
    same = [one for one in measured if one.model.lower() == own]
    there = [one for one in same if one.instance_type == instance_type]
    return next(iter([*there, *same, *(measured if len(measured) == 1 else ())]), None)


def _measured_words(
    model: HostedModel, instance_type: str, measured: Measurement
) -> str:
    engine = f"{measured.engine} {measured.engine_version}"
    of = f"{measured.model} on {measured.instance_type}"
    used = f"{model.served.model or 'a model that is not known'} on {instance_type}"
    other = "" if of.lower() == used.lower() else f", and are used for {used}"
    return (
        f"the service times of {model.name} were measured of {of} with {engine} on "
        f"{measured.date}{other}"
    )


def _accelerators(model: HostedModel, instance_type: str) -> int | None:
    if isinstance(model.needs, Mapping) and instance_type in model.needs:
        return model.needs[instance_type].accelerators
    if model.needs is not None:
        return model.accelerators
    try:
        return find_instance_type(instance_type).accelerators or None
    except ValueError:
        return None


def _estimated(found: Plan | str, lengths: Lengths) -> ServiceTimes:
    why = found
    if isinstance(found, Plan):
        try:
            return estimate_service_times(
                found,
                prompt_tokens=lengths.prompts.mean,
                answer_tokens=lengths.answers.mean,
            )
        except ValueError as fault:
            why = str(fault)
    return ServiceTimes(
        decode=((1, _ASSUMED_PACE),),
        max_sequences=_ASSUMED_SEQUENCES,
        source=(
            f"{_ASSUMED_PACE * 1000:g} ms a token and {_ASSUMED_SEQUENCES} sequences "
            f"at once are assumed, since {why}; give --service-times"
        ),
        is_estimate=True,
    )


def _start(model: HostedModel) -> tuple[float | None, str]:
    served = model.served
    if served.architecture is None:
        return None, ""
    size = served.architecture.weight_bytes(served.weight_bits)
    seconds = start_seconds(size, source=served.source)
    place = "the Hugging Face Hub" if served.source == "hub" else "S3"
    return seconds, (
        f"the start of {model.name} is an estimate: {size / 1e9:.1f} GB from {place} "
        f"and a minute of the engine are {seconds / 60:.1f} minutes"
    )


def still(scenario: Scenario) -> Iterator[str]:
    """
    Say which metrics have no values, or do not follow the load, and why.
    """
    metrics = {query.metric for query in scenario.queries}
    if any(workload.needs is None for workload in scenario.workloads):
        of_hosts = {m.name for m in metrics if m.namespace == ENDPOINTS} - OF_VARIANTS
        if of_hosts:
            yield (
                f"{', '.join(sorted(of_hosts))} has no values: SageMaker publishes it "
                "for endpoints of components alone"
            )
    names = sorted({m.name for m in metrics if m.name.startswith(_MEMORY)})
    if not names:
        return
    words = ", ".join(names)
    unknown = [one.name for one in scenario.workloads if one.memory_share is None]
    if unknown:
        yield f"{words} has no values, as what {', '.join(unknown)} holds is not known"
    else:
        yield (
            f"{words} is what engines hold from their start on, by the plan: they take "
            "the KV cache then, so that it does not follow the load"
        )
