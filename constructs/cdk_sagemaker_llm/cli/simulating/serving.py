"""
What copies of an app's models take for requests and to start: measured, or estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.cli.simulating.apps import HostedModel
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.simulation.fleet import start_seconds
from cdk_sagemaker_llm.simulation.service.measurement import Measurement
from cdk_sagemaker_llm.simulation.service.roofline import estimate_service_times
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths

# What is taken for a model of which nothing is known; it says so wherever it appears.
_ASSUMED_PACE, _ASSUMED_SEQUENCES = 0.03, 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """
    How a model serves and starts.

    Args:
        times: What requests take.

        start_seconds: What a copy takes to start; ``None`` if nothing is known of it.

        start_words: Where the start is from.

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

    Args:
        model: The model.

        instance_type: The type's name.

        lengths: How long prompts and answers are.

        measured: What was measured. If left out, it is estimated from the plan.
    """
    start, start_words = _start(model)
    chosen = _chosen(model, instance_type, measured)
    found = model.served.plan_on(instance_type, _accelerators(model, instance_type))
    if chosen is None:
        times, times_words = _estimated(found, lengths), ""
    else:
        times, times_words = chosen.times, _measured_words(model, instance_type, chosen)
    return Service(
        times=times,
        start_seconds=start,
        start_words=start_words,
        times_words=times_words,
        memory_share=_memory_share(found),
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


def _memory_share(found: Plan | str) -> float | None:
    """
    Return what the engine takes at its start, its KV cache included.
    """
    if isinstance(found, str):
        return None
    usual = found.expected
    held = usual.terms.fixed + usual.terms.cuda_graphs + max(usual.kv_cache_room, 0)
    return min(held / found.capacity, 1.0)


def _estimated(found: Plan | str, lengths: Lengths) -> ServiceTimes:
    why = found
    if isinstance(found, Plan):
        # A sequence is half written on average.
        tokens = round(lengths.prompts.mean + lengths.answers.mean / 2)
        try:
            return estimate_service_times(found, sequence_tokens=tokens)
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
