"""
What copies of an app's models take for requests and to start: measured, or estimated.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.cli.simulating.apps import HostedModel
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.simulation.fleet import start_seconds
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

        words: Where the start is from.
    """

    times: ServiceTimes
    start_seconds: float | None
    words: str = ""


def service_of(
    model: HostedModel,
    instance_type: str,
    lengths: Lengths,
    measured: ServiceTimes | None = None,
) -> Service:
    """
    Find out how a model serves on an instance type.

    Args:
        model: The model.

        instance_type: The type's name.

        lengths: How long prompts and answers are.

        measured: What was measured. If left out, it is estimated from the plan.
    """
    found = model.served.plan_on(instance_type, _accelerators(model, instance_type))
    start, words = _start(model)
    times = _estimated(found, lengths) if measured is None else measured
    return Service(times=times, start_seconds=start, words=words)


def _accelerators(model: HostedModel, instance_type: str) -> int | None:
    if model.needs is not None:
        return model.accelerators
    try:
        return find_instance_type(instance_type).accelerators or None
    except ValueError:
        return None


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
            f"at once are assumed, for {why}; give --service-times"
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
