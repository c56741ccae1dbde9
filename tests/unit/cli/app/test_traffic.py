"""
The traffic that is asked for, and what it is where nothing is said.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.scaling import Scaling
from cdk_sagemaker_llm.cli.app.simulated import HostedModel
from cdk_sagemaker_llm.cli.app.traffic import (
    TrafficSettings,
    rate_at_target,
    rate_text,
    traffic_of,
    whole_minute,
)
from cdk_sagemaker_llm.simulation.metrics import MathQuery, Metric, MetricQuery
from cdk_sagemaker_llm.simulation.scaling import Bounds, Policy, TargetTracking
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.base import Users
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths, LogNormal
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


def words_of(
    one: HostedModel = BY_MINUTE,
    duration: float = HOUR,
    **given: Any,  # noqa: ANN401 - the settings' own
) -> str:
    """
    Return a traffic in words.
    """
    return traffic_of(TrafficSettings(**given), one, SERVICE, duration).words


@pytest.mark.parametrize(
    ("given", "duration", "words"),
    [
        # A tenth of an hour, and never later than ten minutes.
        ({}, HOUR, "2.5/min, and 20/min for 20 minutes from minute 10 on"),
        ({}, 1800.0, "2.5/min, and 20/min for 10 minutes from minute 5 on"),
        ({"begin": 0.0}, HOUR, "2.5/min, and 20/min for 20 minutes from minute 0 on"),
        (
            {"lasting": 60.0},
            HOUR,
            "2.5/min, and 20/min for 1 minutes from minute 10 on",
        ),
        (
            {"shape": "ramp"},
            HOUR,
            "from 2.5/min to 20/min over 30 minutes from minute 10 on",
        ),
        (
            {"shape": "ramp", "lasting": 60.0, "begin": 0.0},
            HOUR,
            "from 2.5/min to 20/min over 1 minutes from minute 0 on",
        ),
        ({"shape": "constant"}, HOUR, "5/min from minute 0 on"),
        ({"shape": "constant", "begin": 60.0}, HOUR, "5/min from minute 1 on"),
        # What lasts begins as a spike does.
        (
            {"shape": "constant", "lasting": 60.0},
            HOUR,
            "5/min from minute 0 on until minute 11",
        ),
        ({"shape": "constant", "rate": 2.0}, HOUR, "2/s from minute 0 on"),
        ({"shape": "constant", "rate": 0.0}, HOUR, "0/s from minute 0 on"),
        ({"shape": "day"}, HOUR, "2.5/min to 20/min, the most at 14:00 UTC"),
        (
            {"shape": "day", "busiest": 3, "time_zone": "Asia/Tokyo"},
            HOUR,
            "2.5/min to 20/min, the most at 3:00 Asia/Tokyo",
        ),
        (
            {"shape": "day", "rate": 1.0, "peak": 1.0},
            HOUR,
            "1/s to 1/s, the most at 14:00 UTC",
        ),
        (
            {"shape": "day", "rate": 1.0, "peak": 1.0, "weekend": 0.3},
            HOUR,
            (
                "1/s to 1/s, the most at 14:00 UTC, 0.3 times that on Saturdays and "
                "Sundays"
            ),
        ),
        # A rate alone has its peak, and a peak alone its rate.
        (
            {"shape": "ramp", "rate": 1.0},
            HOUR,
            "from 1/s to 4/s over 30 minutes from minute 10 on",
        ),
        (
            {"shape": "ramp", "peak": 1.0},
            HOUR,
            "from 2.5/min to 1/s over 30 minutes from minute 10 on",
        ),
        ({"users": 1}, HOUR, "1 user who thinks for 20 s"),
        ({"users": 2, "think": 0.5}, HOUR, "2 users who think for 0.5 s"),
        ({"users": 2, "scale": 0.5}, HOUR, "1 user who thinks for 20 s"),
        ({"users": 0}, HOUR, "0 users who think for 20 s"),
    ],
    ids=str,
)
def test_what_is_left_open_follows_from_the_target(
    given: dict[str, Any], duration: float, words: str
) -> None:
    """
    And from how long it is played out.
    """
    assert words_of(duration=duration, **given) == words


def test_copies_count_for_what_they_are_asked() -> None:
    """
    Where there are none, the most is still that of one.
    """
    three, none = replace(BY_MINUTE, copies=3), replace(BY_MINUTE, copies=0)

    assert words_of(three, shape="constant") == "15/min from minute 0 on"
    assert words_of(none, shape="constant") == "5/min from minute 0 on"
    assert words_of(three).startswith("7.5/min, and 1/s for")
    assert words_of(none).startswith("0/s, and 20/min for")


def test_users_come_and_think_by_chance_unless_told() -> None:
    """
    All at once only where they think longer than a load test's.
    """

    def users(**given: Any) -> Users:  # noqa: ANN401 - the settings' own
        found = traffic_of(TrafficSettings(users=3, **given), BY_MINUTE, SERVICE, HOUR)
        assert isinstance(found.traffic, Users)
        return found.traffic

    assert (users().thinking, users(even=True).thinking) == ("random", "even")
    assert [users(think=each).joining for each in (0.0, 4.9, 5.0, 20.0)] == [
        5.0,
        5.0,
        None,
        None,
    ]
    assert users(prompt=7, answer=8).lengths == Lengths(prompt=7, answer=8)


@pytest.mark.parametrize("shape", ["constant", "ramp", "spike", "day"])
def test_requests_come_by_chance_unless_told(shape: str) -> None:
    """
    With the lengths that are said.
    """
    found = [
        traffic_of(
            TrafficSettings(shape=shape, even=even, prompt=7, answer=8),
            BY_MINUTE,
            SERVICE,
            HOUR,
        ).traffic
        for even in (False, True)
    ]
    assert all(isinstance(one, Constant | Ramp | Spike | DayCurve) for one in found)
    assert [getattr(one, "spacing", "") for one in found] == ["random", "even"]
    assert {getattr(one, "lengths", None) for one in found} == {
        Lengths(prompt=7, answer=8)
    }


def test_a_target_that_no_traffic_can_meet_is_refused() -> None:
    """
    Beyond a million requests a second; a rate that is said is taken.
    """
    most = model("InvocationsPerInstance", target=60e6)
    more = model("InvocationsPerInstance", target=60e6 + 60)

    assert words_of(most, shape="constant") == "1e+06/s from minute 0 on"
    assert words_of(more, shape="constant", rate=1.0) == "1/s from minute 0 on"
    with pytest.raises(ValueError, match=".") as raised:
        words_of(more)
    assert str(raised.value) == (
        "--rate must be given: blue meets its target at 1e+06 requests a second and "
        "copy, for which no traffic is made"
    )


def test_a_day_is_at_its_most_at_its_peak() -> None:
    """
    Which is not below its rate.
    """
    with pytest.raises(ValueError, match=".") as raised:
        words_of(shape="day", rate=1.0, peak=0.5)
    assert str(raised.value) == (
        "--peak of a day must be at least --rate, got 30/min and 1/s; --busiest says "
        "when the day is at its peak"
    )


def test_the_first_policy_that_says_it_sets_the_rate() -> None:
    """
    Others are passed over; what prompts and the way there take counts.
    """
    service = ServiceTimes(
        decode=((1, 0.1), (5, 0.3)),
        max_sequences=5,
        overhead_seconds=0.5,
        prompt_seconds_per_token=0.001,
    )
    lengths = TrafficSettings(prompt=100, answer=10).lengths

    def rate(*policies: Policy) -> float:
        scaling = Scaling(bounds=Bounds(minimum=1, maximum=2), policies=policies)
        return rate_at_target(replace(model(), scaling=scaling), service, lengths)

    def tracking(metric: str, target: float) -> TargetTracking:
        query = MetricQuery(Metric.of_variant(metric, "chat", "blue"), "Sum", 60)
        return TargetTracking(name=metric, query=query, target=target)

    math = TargetTracking(
        name="Math",
        query=MathQuery("a / 2", {"a": tracking("Invocations", 1).query}, 60),
        target=1.0,
    )
    three = tracking("ConcurrentRequestsPerCopy", 3.0)
    # Half a second, three prompts of 0.1 s, and ten tokens of 0.2 s.
    assert rate(three) == pytest.approx(3 / 2.8)
    assert rate(tracking("ModelLatency", 1.0), math, three) == pytest.approx(3 / 2.8)
    assert rate(tracking("InvocationsPerCopy", 30.0), three) == 0.5
    # Beyond what runs at once, prompts alone go on to cost.
    assert rate(tracking("ConcurrentRequestsPerCopy", 9.0)) == pytest.approx(9 / 4.4)
    # Less than one request waits for nobody.
    half = tracking("ConcurrentRequestsPerCopy", 0.5)
    assert rate(half) == pytest.approx(0.5 / 1.6)
    # Half of five, which take 0.5 s, 0.5 s and 3 s.
    assert rate() == pytest.approx(2.5 / 4.0)
    assert rate_at_target(model(), service, lengths) == pytest.approx(2.5 / 4.0)


def test_a_file_is_replayed_whatever_the_case_of_its_ending(tmp_path: Path) -> None:
    """
    Once, unless it is scaled; its own lengths count.
    """
    path = tmp_path / "CALLS.CSV"
    path.write_text("time,prompt_tokens,output_tokens\n0,10,5\n")
    found = traffic_of(
        TrafficSettings(shape=str(path), prompt=7), BY_MINUTE, SERVICE, HOUR
    )

    assert found.words == "the requests of CALLS.CSV"
    assert found.traffic == Replay(((0.0, 10, 5),))
    assert (
        words_of(shape=str(path), scale=0.5) == "the requests of CALLS.CSV, 0.5 times"
    )
    with pytest.raises(ValueError, match=".") as raised:
        words_of(shape="wave")
    assert str(raised.value) == (
        "--traffic must be constant, ramp, spike, day, a CSV file with the columns "
        "time, prompt_tokens and output_tokens, a trace of Azure's (.csv) or one of "
        "Mooncake's (.jsonl), got 'wave'"
    )


def test_lengths_are_those_of_a_chat_unless_told() -> None:
    """
    All the same, unless they are to differ.
    """
    assert TrafficSettings().lengths == Lengths(prompt=500, answer=150)
    assert TrafficSettings(prompt=1).lengths == Lengths(prompt=1, answer=150)
    assert TrafficSettings(answer=1).lengths == Lengths(prompt=500, answer=1)
    assert TrafficSettings(spread=0.1).lengths.prompt == LogNormal(
        median=500.0, spread=0.1
    )


def test_seconds_are_left_out_of_a_start() -> None:
    """
    No schedule has them.
    """
    start = datetime(2026, 3, 2, 8, 30, 59, 999, tzinfo=UTC)

    assert whole_minute(start) == datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
