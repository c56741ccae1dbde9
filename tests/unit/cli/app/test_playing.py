"""
What models take for requests and to start: measured, estimated, or assumed.
"""

from __future__ import annotations

from datetime import date

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.cli.app.containers import ServedModel
from cdk_sagemaker_llm.cli.app.playing import service_of
from cdk_sagemaker_llm.cli.app.simulated import HostedModel
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.simulation.service.measurement import Measurement
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths

LENGTHS = Lengths(prompt=500, answer=150)
MISTRAL = "mistralai/Mistral-7B-v0.1"


def model(name: str = MISTRAL, accelerators: int | None = None) -> HostedModel:
    """
    Make a model of the catalogue, on a whole instance unless it reserves something.
    """
    needs = ResourceRequirements(accelerators=accelerators) if accelerators else None
    served = ServedModel(model=name, architecture=ModelArchitecture.of(name))
    return HostedModel(name="blue", needs=needs, copies=1, served=served)


def measurement(name: str, instance_type: str, seconds: float) -> Measurement:
    """
    Make a measurement.
    """
    return Measurement(
        times=ServiceTimes(decode=((1, seconds),), max_sequences=4),
        instance_type=instance_type,
        model=name,
        engine="vllm",
        engine_version="0.10.2",
        date=date(2026, 11, 21),
        accelerators=1,
        prompt_tokens=500,
        output_tokens=150,
        requests=100,
    )


def test_a_model_of_the_catalogue_is_estimated_from_its_plan() -> None:
    """
    Over all accelerators of its instance, or over those it reserves.
    """
    whole = service_of(model(), "ml.g5.12xlarge", LENGTHS)
    share = service_of(model(accelerators=1), "ml.g5.12xlarge", LENGTHS)

    assert whole.times.is_estimate
    assert whole.times.source.startswith("roofline of 4 x A10G")
    assert share.times.source.startswith("roofline of 1 x A10G")
    assert share.times.pace(1) > 3 * whole.times.pace(1)
    # 14.48 GB at 0.125 GB/s, and a minute of the engine.
    assert whole.start_seconds == pytest.approx(175.9, abs=0.1)
    assert whole.start_words == (
        "the start of blue is an estimate: 14.5 GB from the Hugging Face Hub and a "
        "minute of the engine are 2.9 minutes"
    )


@pytest.mark.parametrize(
    ("one", "instance_type", "why"),
    [
        (
            HostedModel(
                name="x", needs=None, copies=1, served=ServedModel(unknown="it hides")
            ),
            "ml.g5.xlarge",
            "it hides",
        ),
        (
            model("meta-llama/Llama-2-70b-hf"),
            "ml.g5.xlarge",
            "the model must fit ml.g5.xlarge",
        ),
        (model(), "ml.c5.xlarge", "ml.c5.xlarge has no GPU"),
    ],
    ids=["unknown", "too large", "no accelerator"],
)
def test_what_cannot_be_estimated_is_assumed(
    one: HostedModel, instance_type: str, why: str
) -> None:
    """
    And says so, why, and what to give.
    """
    times = service_of(one, instance_type, LENGTHS).times

    assert times.is_estimate
    assert times.source.startswith(
        f"30 ms a token and 16 sequences at once are assumed, since {why}"
    )
    assert "give --service-times" in times.source
    assert (times.pace(1), times.max_sequences) == (0.03, 16)


def test_a_measurement_is_used_for_its_model() -> None:
    """
    On the same type if there is one, in any case of the name.
    """
    measured = [
        measurement("other/model", "ml.g5.12xlarge", 0.1),
        measurement(MISTRAL.upper(), "ml.g6.12xlarge", 0.2),
        measurement(MISTRAL, "ml.g5.12xlarge", 0.3),
    ]

    there = service_of(model(), "ml.g5.12xlarge", LENGTHS, measured)
    near = service_of(model(), "ml.g5.12xlarge", LENGTHS, measured[:2])

    assert there.times.pace(1) == 0.3
    assert there.times_words == (
        f"the service times of blue were measured of {MISTRAL} on ml.g5.12xlarge with "
        "vllm 0.10.2 on 2026-11-21"
    )
    assert near.times.pace(1) == 0.2
    assert near.times_words.endswith(f", and are used for {MISTRAL} on ml.g5.12xlarge")


def test_the_only_measurement_is_used_for_every_model() -> None:
    """
    Of several none is, unless it is the model's.
    """
    other = measurement("other/model", "ml.g5.12xlarge", 0.1)

    assert service_of(model(), "ml.g5.12xlarge", LENGTHS, [other]).times.pace(1) == 0.1
    two = service_of(model(), "ml.g5.12xlarge", LENGTHS, [other, other])
    assert two.times.is_estimate
