"""
What models take for requests and to start: measured, estimated, or assumed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.cli.app.containers import ServedModel
from cdk_sagemaker_llm.cli.app.playing import (
    RunSettings,
    VariantResult,
    play,
    service_of,
)
from cdk_sagemaker_llm.cli.app.scaling import Scaling
from cdk_sagemaker_llm.cli.app.simulated import HostedModel, HostedVariant
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.simulation.fleet import FleetTimes, Pool, ScaleIn
from cdk_sagemaker_llm.simulation.metrics import Metric, MetricDelays, MetricQuery
from cdk_sagemaker_llm.simulation.scaling import (
    Bounds,
    ScheduledAction,
    TargetTracking,
)
from cdk_sagemaker_llm.simulation.service.measurement import Measurement
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths
from cdk_sagemaker_llm.simulation.traffic.rates import Constant, Spike

GPU_MEMORY = "/aws/sagemaker/InferenceComponents"
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
    assert whole.times.source.startswith("a model of a step for 4 x A10G")
    assert share.times.source.startswith("a model of a step for 1 x A10G")
    # A quarter of what is read, and the exchange beside it.
    assert 2.5 < share.times.pace(1) / whole.times.pace(1) < 4
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


def test_service_times_are_those_of_the_instance_type() -> None:
    """
    Of needs by type, those on that type; what no type is known of is not guessed.
    """
    needs = {
        "ml.g5.12xlarge": ResourceRequirements(accelerators=2),
        "ml.g6.12xlarge": ResourceRequirements(accelerators=4),
    }
    one = replace(model(), needs=needs)

    def source(kind: str) -> str:
        return service_of(one, kind, LENGTHS).times.source

    assert source("ml.g5.12xlarge").startswith("a model of a step for 2 x A10G")
    assert source("ml.g6.12xlarge").startswith("a model of a step for 4 x L4")
    # Of a type of its own, what the first one takes.
    assert source("ml.g5.48xlarge").startswith("a model of a step for 2 x A10G")
    assert "ml.z9.xlarge" in service_of(model(), "ml.z9.xlarge", LENGTHS).times.source


def test_what_an_engine_holds_of_its_memory_is_known_of_a_plan() -> None:
    """
    Some nine tenths, by vLLM's own default; of what is not known, nothing.
    """
    known = service_of(model(), "ml.g5.12xlarge", LENGTHS)
    unknown = service_of(
        HostedModel(name="x", needs=None, copies=1), "ml.g5.xlarge", LENGTHS
    )

    assert known.memory_share == pytest.approx(0.944, abs=0.001)
    assert unknown.memory_share is None
    assert (unknown.start_seconds, unknown.start_words) == (None, "")
    assert unknown.times_words == ""


def test_weights_on_s3_start_from_there() -> None:
    """
    And their bits count.
    """
    served = model().served._replace(source="s3", weight_bits=8)
    found = service_of(replace(model(), served=served), "ml.g5.12xlarge", LENGTHS)

    assert found.start_words == (
        "the start of blue is an estimate: 7.5 GB from S3 and a minute of the engine "
        "are 1.1 minutes"
    )


def test_a_measurement_of_what_is_not_known_says_so() -> None:
    """
    Where the app does not name its model.
    """
    other = measurement("other/model", "ml.g5.12xlarge", 0.1)
    unknown = HostedModel(name="blue", needs=None, copies=1)
    found = service_of(unknown, "ml.g5.xlarge", LENGTHS, [other])

    assert found.times_words == (
        "the service times of blue were measured of other/model on ml.g5.12xlarge with "
        "vllm 0.10.2 on 2026-11-21, and are used for a model that is not known on "
        "ml.g5.xlarge"
    )


SETTINGS = RunSettings(
    traffic=TrafficSettings(shape="constant", rate=0.5, even=True), duration=120.0
)
BARE = HostedModel(name="blue", needs=None, copies=2)
HOSTED = HostedVariant(
    endpoint="Prod/Chat",
    variant="blue",
    pools=(Pool("ml.g5.xlarge"),),
    instances=2,
    minimum=1,
    maximum=3,
    models=(BARE,),
)


def played(
    hosted: HostedVariant = HOSTED, settings: RunSettings = SETTINGS
) -> VariantResult:
    """
    Play out one variant, beside nothing.
    """
    (found,) = play([hosted], settings, [hosted])
    return found


def test_a_variant_is_played_out_as_it_is_hosted() -> None:
    """
    Every part of it, and every setting of the run.
    """
    query = MetricQuery(
        Metric.of_variant("InvocationsPerInstance", "Prod/Chat", "blue"), "Sum", 60
    )
    scaling = Scaling(
        bounds=Bounds(minimum=1, maximum=3),
        policies=(TargetTracking(name="Track", query=query, target=5.0),),
        schedules=(ScheduledAction(name="Up", schedule="rate(1 hour)", minimum=2),),
        suspended=("DynamicScalingIn",),
    )
    hosted = replace(
        HOSTED,
        managed=False,
        scale_in=ScaleIn(strategy="IDLE_RELEASE", maximum_step=2, cooldown=600.0),
        routing="RANDOM",
        models=(replace(BARE, scaling=scaling),),
    )
    settings = replace(
        SETTINGS,
        start=datetime(2026, 3, 2, 8, tzinfo=UTC),
        seed=5,
        times={"provision": 10.0},
        delays=MetricDelays(standard=60.0),
        model_start=77.0,
        available={"ml.g5.xlarge": 4},
    )
    found = played(hosted, settings)
    scenario = found.scenario
    (workload,) = scenario.workloads

    assert found.hosted == hosted
    assert (scenario.endpoint, scenario.variant) == ("Prod/Chat", "blue")
    assert (scenario.duration, scenario.seed) == (120.0, 5)
    assert scenario.start == datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert scenario.routing == "RANDOM"
    assert scenario.pools == hosted.pools
    assert (scenario.instances, scenario.minimum, scenario.maximum) == (2, 1, 3)
    assert (scenario.managed, scenario.scale_in) == (False, hosted.scale_in)
    assert scenario.times == FleetTimes(provision=10.0)
    assert scenario.delays == MetricDelays(standard=60.0)
    assert scenario.capacity("ml.g5.xlarge", 0.0) == 4
    assert scenario.capacity("ml.g6.xlarge", 0.0) == float("inf")
    assert workload.name == "blue"
    assert workload.traffic == Constant(
        rate=0.5, lengths=SETTINGS.traffic.lengths, spacing="even"
    )
    assert (workload.needs, workload.copies) == (None, 2)
    assert workload.bounds == scaling.bounds
    assert workload.policies == scaling.policies
    assert workload.schedules == scaling.schedules
    assert workload.suspended == ("DynamicScalingIn",)
    assert (workload.start_seconds, workload.timeout) == (77.0, 60.0)
    assert (workload.at_once, workload.memory_share) == (None, None)
    assert found.traffic == {"blue": "30/min from minute 0 on"}
    bare = played().scenario.workloads[0]
    assert (bare.bounds, bare.policies, bare.schedules, bare.suspended) == (
        None,
        (),
        (),
        (),
    )
    assert played(replace(HOSTED, managed=True)).scenario.managed


def test_a_variant_waits_for_capacity_as_long_as_it_says() -> None:
    """
    Unless the run is told otherwise.
    """
    patient = replace(HOSTED, provision_timeout=600.0)
    told = replace(SETTINGS, times={"refusal": 60.0})

    assert played().scenario.times == FleetTimes()
    assert played(patient).scenario.times == FleetTimes(refusal=600.0)
    assert played(patient, told).scenario.times == FleetTimes(refusal=60.0)


def test_a_queue_has_more_time_for_each_request() -> None:
    """
    A quarter of an hour, whatever a client would wait.
    """
    queued = replace(HOSTED, models=(replace(BARE, at_once=3),))
    (workload,) = played(queued).scenario.workloads

    assert (workload.at_once, workload.timeout) == (3, 900.0)
    users = replace(SETTINGS, traffic=replace(SETTINGS.traffic, users=2))
    for settings, why in (
        (
            users,
            (
                "--users wait for answers, and nobody waits for Prod/Chat, which is "
                "asynchronous; give --rate, or another --endpoint"
            ),
        ),
        (
            replace(SETTINGS, method="aggregate"),
            (
                "--method aggregate computes no queue, which Prod/Chat has; leave it "
                "out, or give another --endpoint"
            ),
        ),
    ):
        with pytest.raises(ValueError, match=".") as raised:
            played(queued, settings)
        assert str(raised.value) == why
    assert played(queued, replace(SETTINGS, method="requests"))


def test_a_variant_gets_its_share_of_the_requests() -> None:
    """
    Times what all of them are scaled by.
    """
    third = replace(HOSTED, share=0.25)
    settings = replace(SETTINGS, traffic=replace(SETTINGS.traffic, scale=2.0))
    (workload,) = played(third, settings).scenario.workloads

    assert isinstance(workload.traffic, Constant)
    assert workload.traffic.rate == 0.25


def test_what_is_compared_gets_the_traffic_of_the_first() -> None:
    """
    By its targets and its service times, model by model; what it has not, by its own.
    """

    def hosted(target: float, kind: str = "ml.g5.xlarge") -> HostedVariant:
        query = MetricQuery(
            Metric.of_variant("ConcurrentRequestsPerModel", "Prod/Chat", "blue"),
            "Maximum",
            60,
        )
        policy = TargetTracking(name="Track", query=query, target=target)
        scaling = Scaling(bounds=Bounds(minimum=1, maximum=3), policies=(policy,))
        one = replace(BARE, served=model().served, scaling=scaling)
        return replace(HOSTED, pools=(Pool(kind),), models=(one,))

    settings = replace(SETTINGS, traffic=TrafficSettings(), duration=60.0)
    first, other = hosted(1.0), hosted(3.0, "ml.g5.12xlarge")

    def peaks(measure: list[HostedVariant]) -> list[float]:
        return [
            workload.traffic.peak
            for one in play([other, other], settings, measure)
            for workload in one.scenario.workloads
            if isinstance(workload.traffic, Spike)
        ]

    like_first, own = peaks([first])
    assert like_first == pytest.approx(peaks([first, first])[1])
    assert own == pytest.approx(peaks([other])[0])
    assert own > 3 * like_first
    two = replace(other, models=(*other.models, replace(BARE, name="green")))
    (found,) = play([replace(two, variant="v")], settings, [first])
    assert list(found.traffic) == ["blue", "green"]
    assert len(play([first], settings, [first, other])) == 1


def test_what_was_estimated_or_measured_is_noted() -> None:
    """
    After what the run itself notes; a start that is told is no estimate.
    """
    one = replace(HOSTED, models=(replace(BARE, served=model().served),))
    measured = (measurement(MISTRAL, "ml.g5.xlarge", 0.02),)
    found = played(one, replace(SETTINGS, measured=measured))
    told = played(one, replace(SETTINGS, measured=measured, model_start=5.0))
    words = (
        f"the service times of blue were measured of {MISTRAL} on ml.g5.xlarge with "
        "vllm 0.10.2 on 2026-11-21"
    )

    assert [note.partition(":")[0] for note in found.notes[-2:]] == [
        "the start of blue is an estimate",
        words,
    ]
    assert told.notes[-1] == words
    assert "the start of blue is an estimate" not in "".join(told.notes)
    start = found.scenario.workloads[0].start_seconds
    assert start == pytest.approx(175.9, abs=0.1)
    assert told.scenario.workloads[0].start_seconds == 5.0
    assert found.scenario.workloads[0].memory_share is not None


def test_a_run_in_aggregate_says_so() -> None:
    """
    With what it leaves out; one request by request does not.
    """
    rough = played(settings=replace(SETTINGS, method="aggregate"))
    exact = played(settings=replace(SETTINGS, method="requests"))

    assert (rough.outcome.method, exact.outcome.method) == ("aggregate", "requests")
    assert rough.notes[-1] == (
        "requests are computed in aggregate, with rates and means: that they come by "
        "chance is left out, and with it the waits that this makes close to what "
        "copies can serve; --method requests follows each of them"
    )
    assert "computed in aggregate" not in "".join(exact.notes)


def on_memory(name: str, needs: ResourceRequirements | None) -> HostedVariant:
    """
    Host a model that is scaled by a metric of its hosts.
    """
    dimensions = (
        {"InferenceComponentName": "blue"}
        if needs
        else {"EndpointName": "Prod/Chat", "VariantName": "blue"}
    )
    space = GPU_MEMORY if needs else "/aws/sagemaker/Endpoints"
    query = MetricQuery(Metric.of(space, name, dimensions), "Average", 60)
    policy = TargetTracking(name="Track", query=query, target=50.0)
    scaling = Scaling(bounds=Bounds(minimum=1, maximum=3), policies=(policy,))
    one = replace(BARE, needs=needs, scaling=scaling, copies=1)
    return replace(HOSTED, models=(one,))


def test_metrics_without_values_are_told() -> None:
    """
    And those that do not follow the load.
    """
    share = ResourceRequirements(accelerators=1)
    unknown = on_memory("GPUMemoryUtilizationNormalized", share)
    known = replace(
        unknown, models=(replace(unknown.models[0], served=model().served),)
    )

    assert played(unknown).notes[-1] == (
        "GPUMemoryUtilizationNormalized has no values, as what blue holds is not known"
    )
    assert played(known).notes[-1] == (
        "GPUMemoryUtilizationNormalized is what engines hold from their start on, by "
        "the plan: they take the KV cache then, so that it does not follow the load"
    )
    plain = on_memory("GPUUtilizationNormalized", share)
    assert not [note for note in played(plain).notes if "Normalized" in note]
    assert [
        note
        for note in played(on_memory("GPUReservation", None)).notes
        if note.startswith("GPUReservation")
    ] == [
        (
            "GPUReservation has no values: SageMaker publishes it for endpoints of "
            "components alone"
        )
    ]
    used = played(on_memory("GPUUtilization", None)).notes
    assert not [note for note in used if "has no values" in note]
