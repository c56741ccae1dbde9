"""
The traffic that is asked for, and what it is where nothing is said.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cdk_sagemaker_llm.cli.app.scaling import Scaling
from cdk_sagemaker_llm.cli.app.simulated import HostedModel
from cdk_sagemaker_llm.cli.app.traffic import (
    TrafficSettings,
    rate_at_target,
    rate_text,
    traffic_of,
)
from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery
from cdk_sagemaker_llm.simulation.scaling import Bounds, TargetTracking
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.base import Users
from cdk_sagemaker_llm.simulation.traffic.lengths import LogNormal
from cdk_sagemaker_llm.simulation.traffic.rates import Constant, DayCurve, Ramp, Spike
from cdk_sagemaker_llm.simulation.traffic.replay import Replay

# An answer of 150 tokens takes fifteen seconds.
SERVICE = ServiceTimes(decode=((1, 0.1),), max_sequences=8)
HOUR = 3600.0


def model(
    metric: str | None = None, target: float = 5.0, copies: int = 1
) -> HostedModel:
    """
    Make a model that is scaled by a metric, or not at all.
    """
    if metric is None:
        return HostedModel(name="blue", needs=None, copies=copies)
    query = MetricQuery(Metric.of_variant(metric, "chat", "blue"), "Sum", 60)
    return HostedModel(
        name="blue",
        needs=None,
        copies=copies,
        scaling=Scaling(
            bounds=Bounds(minimum=0, maximum=9),
            policies=(TargetTracking(name="Track", query=query, target=target),),
        ),
    )


BY_MINUTE = model("InvocationsPerInstance")


@pytest.mark.parametrize(
    ("one", "rate"),
    [
        (BY_MINUTE, 5 / 60),
        (model("ConcurrentRequestsPerModel", target=3), 3 / 15),
        # Half of eight at once.
        (model(), 0.5 * 8 / 15),
        (model("ModelLatency"), 0.5 * 8 / 15),
    ],
    ids=["invocations", "concurrency", "nothing", "another metric"],
)
def test_what_a_copy_carries_follows_from_its_target(
    one: HostedModel, rate: float
) -> None:
    """
    Or from what it can serve.
    """
    assert rate_at_target(one, SERVICE, TrafficSettings().lengths) == pytest.approx(
        rate
    )


@pytest.mark.parametrize(
    ("copies", "base", "peak"), [(1, 2.5, 20), (2, 5, 40), (0, 0, 20)]
)
def test_a_spike_to_four_times_the_target_is_what_there_is(
    copies: int, base: float, peak: float
) -> None:
    """
    From half of it; from nothing where there are no copies.
    """
    one = replace(BY_MINUTE, copies=copies)
    found = traffic_of(TrafficSettings(), one, SERVICE, 2 * HOUR)

    assert isinstance(found.traffic, Spike)
    assert found.traffic.base == pytest.approx(base / 60)
    assert found.traffic.peak == pytest.approx(peak / 60)
    assert (found.traffic.at, found.traffic.lasting) == (600.0, 2400.0)


def test_what_is_said_is_done() -> None:
    """
    Each shape with its numbers, and in words.
    """
    settings = TrafficSettings(
        rate=1.0, peak=3.0, begin=60.0, lasting=120.0, even=True, time_zone="Asia/Tokyo"
    )
    lengths = settings.lengths

    def of(shape: str) -> tuple[object, str]:
        found = traffic_of(replace(settings, shape=shape), BY_MINUTE, SERVICE, HOUR)
        return found.traffic, found.words

    assert of("constant") == (
        Constant(rate=1.0, begin=60.0, end=180.0, lengths=lengths, spacing="even"),
        "1/s from minute 1 on until minute 3",
    )
    assert of("ramp") == (
        Ramp(
            start=1.0, stop=3.0, over=120.0, begin=60.0, lengths=lengths, spacing="even"
        ),
        "from 1/s to 3/s over 2 minutes from minute 1 on",
    )
    assert of("spike") == (
        Spike(
            base=1.0, peak=3.0, at=60.0, lasting=120.0, lengths=lengths, spacing="even"
        ),
        "1/s, and 3/s for 2 minutes from minute 1 on",
    )
    assert of("day") == (
        DayCurve.between(
            1.0,
            3.0,
            lengths=lengths,
            busiest=14,
            time_zone="Asia/Tokyo",
            spacing="even",
        ),
        "1/s to 3/s, the most at 14:00 Asia/Tokyo",
    )


def test_constant_traffic_meets_the_target_unless_told() -> None:
    """
    From the start to the end.
    """
    found = traffic_of(TrafficSettings(shape="constant"), BY_MINUTE, SERVICE, HOUR)

    assert found.words == "5/min from minute 0 on"


def test_a_peak_that_is_not_said_is_four_times_the_rate() -> None:
    """
    And the scale counts for both.
    """
    settings = TrafficSettings(rate=2.0, scale=3.0)
    found = traffic_of(settings, BY_MINUTE, SERVICE, HOUR)

    assert found.words == "6/s, and 24/s for 20 minutes from minute 10 on"


def test_users_wait_for_their_answers() -> None:
    """
    As many as are said, times the scale.
    """
    settings = TrafficSettings(users=5, scale=2.0)

    assert traffic_of(settings, BY_MINUTE, SERVICE, HOUR).traffic == Users(
        count=10, think=20.0, lengths=settings.lengths
    )


def test_lengths_may_differ() -> None:
    """
    Around what is said.
    """
    lengths = TrafficSettings(prompt=100, answer=50, spread=0.5).lengths

    assert lengths.prompt == LogNormal(median=100.0, spread=0.5)
    assert lengths.answer == LogNormal(median=50.0, spread=0.5)


def test_a_csv_file_is_replayed(tmp_path: Path) -> None:
    """
    Times the scale; what is no such file is told.
    """
    path = tmp_path / "calls.csv"
    path.write_text("time,prompt_tokens,output_tokens\n0,10,5\n60,20,5\n")
    found = traffic_of(
        TrafficSettings(shape=str(path), scale=2.0), BY_MINUTE, SERVICE, HOUR
    )

    assert found.traffic == Replay(((0.0, 10, 5), (60.0, 20, 5)), factor=2.0)
    assert found.words == "the requests of calls.csv, 2 times"
    with pytest.raises(ValueError, match="--traffic must be constant, ramp, spike"):
        traffic_of(TrafficSettings(shape="wave"), BY_MINUTE, SERVICE, HOUR)
    with pytest.raises(ValueError, match=r"gone.csv cannot be read: No such file"):
        traffic_of(TrafficSettings(shape="gone.csv"), BY_MINUTE, SERVICE, HOUR)


def test_rates_are_written_in_the_unit_that_suits_them() -> None:
    """
    Below one a second by the minute.
    """
    assert [rate_text(rate) for rate in (0, 1 / 3, 1, 12.5)] == [
        "0/s",
        "20/min",
        "1/s",
        "12.5/s",
    ]
