"""
Loads that are worked out: by hand, and as they are when they are played out.
"""

from __future__ import annotations

import math

import pytest

from cdk_sagemaker_llm.simulation import (
    Constant,
    Figure,
    Lengths,
    LogNormal,
    Scenario,
    ServiceTimes,
    Users,
    Workload,
    estimate_performance,
    run,
)
from cdk_sagemaker_llm.simulation.service.batching import BatchingCopy
from cdk_sagemaker_llm.simulation.service.performance import (
    Served,
    at_rate,
    of_burst,
    of_users,
)

TIMES = ServiceTimes(
    decode=((1, 0.02), (64, 0.05)),
    max_sequences=64,
    prompt_seconds_per_token=0.00005,
    overhead_seconds=0.05,
)
LENGTHS = Lengths(
    prompt=LogNormal(median=400, spread=0.5, most=4000),
    answer=LogNormal(median=150, spread=0.5, most=2000),
)
MEANS = {
    "prompt_tokens": LENGTHS.prompts.mean,
    "answer_tokens": LENGTHS.answers.mean,
}


def test_one_user_waits_for_nobody() -> None:
    """
    50 ms outside, 50 ms of a prompt of 1,000 tokens and 100 tokens of 20 ms: 2.1 s.
    """
    found = estimate_performance(TIMES, prompt_tokens=1000, answer_tokens=100, users=1)

    assert found.time_per_output_token == Figure(0.02)
    assert found.time_to_first_token.value == pytest.approx(0.05 + 0.05 + 0.02)
    assert found.time_to_first_token.low is None
    assert found.requests_per_second.value == pytest.approx(1 / 2.1, rel=1e-3)
    assert found.output_tokens_per_second.value == pytest.approx(100 / 2.1, rel=1e-3)
    assert not found.is_saturated


def test_more_users_than_places_wait_in_line() -> None:
    """
    64 of them are written: 64 prompts of 50 ms and 100 tokens of 50 ms are 8.2 s, and
    64 more wait for as long.
    """
    found = estimate_performance(
        TIMES, prompt_tokens=1000, answer_tokens=100, users=128
    )

    assert found.is_saturated
    assert found.requests_per_second.value == pytest.approx(64 / 8.2, rel=1e-3)
    assert found.time_per_output_token.value == pytest.approx(0.05 + 63 * 0.0005)
    assert found.time_to_first_token.value > 8


def test_a_rate_beyond_what_can_be_served_has_no_first_token() -> None:
    """
    7.8 requests a second are the most; the line of more grows without end.
    """
    just, beyond = (
        estimate_performance(TIMES, prompt_tokens=1000, answer_tokens=100, rate=rate)
        for rate in (7.7, 7.9)
    )

    assert not just.is_saturated
    assert just.requests_per_second.value == 7.7
    assert math.isfinite(just.time_to_first_token.value)
    assert beyond.is_saturated
    assert beyond.requests_per_second.value == pytest.approx(64 / 8.2)
    assert beyond.time_to_first_token.value == math.inf


def test_the_cache_bounds_how_many_are_written() -> None:
    """
    Room for 4,400 tokens is room for four sequences of 1,100.
    """
    times = ServiceTimes(decode=((1, 0.02),), max_sequences=64, kv_tokens=4_400)

    found = estimate_performance(times, prompt_tokens=1000, answer_tokens=100, users=8)

    assert found.requests_per_second.value == pytest.approx(4 / 2)


def test_intervals_are_those_of_the_times() -> None:
    """
    Twice as slow is half as much, and the other way round.
    """
    times = ServiceTimes(decode=((1, 0.02),), max_sequences=8, spread=(0.5, 2.0))

    found = estimate_performance(times, prompt_tokens=10, answer_tokens=100, users=4)

    token, tokens = found.time_per_output_token, found.output_tokens_per_second
    assert (token.low, token.value, token.high) == pytest.approx((0.01, 0.02, 0.04))
    assert (tokens.low, tokens.value, tokens.high) == pytest.approx((100, 200, 400))


@pytest.mark.parametrize("users", [1, 8, 40, 100])
def test_users_are_served_as_when_they_are_played_out(users: int) -> None:
    """
    Within 5 % of the requests a second, in an hour.
    """
    played = run(
        Scenario(
            workloads=(
                Workload(
                    name="chat",
                    traffic=Users(count=users, think=0, lengths=LENGTHS, joining=5.0),
                    service=TIMES,
                    timeout=3600,
                ),
            ),
            duration=3600,
        ),
        "requests",
    )

    found = estimate_performance(TIMES, **MEANS, users=users)

    served = played.workloads["chat"].totals.served / 3600
    assert found.requests_per_second.value == pytest.approx(served, rel=0.05)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.7])
def test_a_rate_is_served_as_when_it_is_played_out(share: float) -> None:
    """
    Within 7 % of the latency, up to seven tenths of what can be served.
    """
    most = estimate_performance(TIMES, **MEANS, rate=1000).requests_per_second.value
    rate = share * most
    played = run(
        Scenario(
            workloads=(
                Workload(
                    name="chat",
                    traffic=Constant(rate=rate, lengths=LENGTHS),
                    service=TIMES,
                    timeout=3600,
                ),
            ),
            duration=7200,
        ),
        "requests",
    )

    found = estimate_performance(TIMES, **MEANS, rate=rate)

    series = played.workloads["chat"]
    pairs = zip(series.latency_mean, series.served, strict=True)
    latency = sum((mean or 0) * count for mean, count in pairs) / sum(series.served)
    ours = (
        found.time_to_first_token.value
        + (MEANS["answer_tokens"] - 1) * found.time_per_output_token.value
    )
    assert ours == pytest.approx(latency, rel=0.07)


@pytest.mark.parametrize("burst", [1, 30, 64, 200])
def test_a_burst_is_served_as_by_a_copy(burst: int) -> None:
    """
    To the second, where all answers have the same length.
    """
    copy = BatchingCopy(TIMES)
    for number in range(burst):
        copy.offer(0.0, 1000, 100, number)
    done = 0.0
    while copy.outstanding:
        done = copy.next
        copy.finish()

    found = estimate_performance(
        TIMES, prompt_tokens=1000, answer_tokens=100, burst=burst
    )

    seconds = burst / found.requests_per_second.value
    assert seconds == pytest.approx(done + TIMES.overhead_seconds, rel=0.01)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({}, "exactly one of users, rate and burst must be given, got none"),
        (
            {"users": 1, "rate": 1},
            "exactly one of users, rate and burst must be given, got users and rate",
        ),
        ({"users": 0}, "users must be above 0, got 0"),
        ({"rate": -1.0}, "rate must be above 0, got -1.0"),
        ({"burst": math.inf}, "burst must be a finite number, got inf (float)"),
        (
            {"users": 1, "prompt_tokens": 0},
            "prompt_tokens must be above 0, got 0",
        ),
        (
            {"users": 1, "answer_tokens": math.nan},
            "answer_tokens must be a finite number, got nan (float)",
        ),
    ],
)
def test_fails_if_it_is_no_load(load: dict[str, float], message: str) -> None:
    """
    The name, the rule and the value.
    """
    with pytest.raises(ValueError, match="must be") as caught:
        estimate_performance(
            TIMES, **{"prompt_tokens": 10, "answer_tokens": 10, **load}
        )

    assert str(caught.value) == message


@pytest.mark.parametrize(("rate", "milliseconds"), [(0.95, 20.0), (0.98, 100 / 3)])
def test_prompts_leave_some_time_to_answers(rate: float, milliseconds: float) -> None:
    """
    A prompt takes a second and a token one millisecond: 95 % of the time leave a
    twentieth of it, and 98 % are taken for 97.
    """
    times = ServiceTimes(
        decode=((1, 0.001),), max_sequences=100, prompt_seconds_per_token=0.01
    )

    found = estimate_performance(times, prompt_tokens=100, answer_tokens=1, rate=rate)

    assert not found.is_saturated
    assert found.time_per_output_token.value * 1000 == pytest.approx(milliseconds)


@pytest.mark.parametrize(("in_step", "token"), [(0.0, 0.103), (1.0, 0.0535)])
def test_answers_that_end_together_wait_for_half_of_the_prompts(
    in_step: float, token: float
) -> None:
    """
    Four waves of 100: the 99 other prompts take 9.9 s, and 100 tokens 4 ms each. Where
    the waves do not run into each other, each waits for half of them.
    """
    served = Served(
        pace=lambda _: 0.004,
        prompt=0.1,
        answer=100,
        overhead=0,
        most=100,
        in_step=in_step,
    )

    assert of_burst(served, 400).token == pytest.approx(token)


@pytest.mark.parametrize(
    ("rate", "milliseconds"),
    [
        # Nobody else is there.
        (1e-9, 120),
        # Half of the time prompts are worked off: a step takes 40 ms, and who comes
        # meets one of 106.67 on average. It waits for half of it, and its own step has
        # the 0.53 prompts that came meanwhile.
        (5, 120 + 106.66667),
    ],
)
def test_the_first_token_waits_for_a_step_and_for_those_who_came_with_it(
    rate: float, milliseconds: float
) -> None:
    """
    A prompt takes 100 ms, and a step of tokens 20.
    """
    served = Served(
        pace=lambda _: 0.02, prompt=0.1, answer=1000, overhead=0, most=10_000
    )

    found = at_rate(served, rate)

    assert found.first == pytest.approx(milliseconds / 1e3, abs=1e-5)


def test_few_others_prolong_no_step_by_more_than_their_prompts() -> None:
    """
    Three users: 97 % of the time are prompts', which would be steps of 670 ms and more;
    two others are there, so that no step met is longer than 220.
    """
    served = Served(pace=lambda _: 0.02, prompt=0.1, answer=1, overhead=0, most=3)

    found = of_users(served, 3)

    busy = min(3 / 0.32 * 0.1, 0.97)
    assert found.requests == pytest.approx(3 / 0.32)
    assert found.first == pytest.approx((0.5 + busy) * 0.22 + 0.12)


@pytest.mark.parametrize(
    ("in_step", "token", "first"), [(0.0, 0.05, 0.33), (1.0, 0.035, 0.345)]
)
def test_users_in_step_have_their_prompts_worked_off_together(
    in_step: float, token: float, first: float
) -> None:
    """
    Four users, each of whose prompts takes 100 ms, and ten tokens 20 ms each. In step
    three quarters of the other three prompts come before a first token, and each waits
    for half of them as it is written. Apart, two thirds of the time are prompts', a
    step that is met takes 60 + 120 ms, and 1.17 times that are waited.
    """
    served = Served(
        pace=lambda _: 0.02,
        prompt=0.1,
        answer=10,
        overhead=0,
        most=4,
        in_step=in_step,
    )

    found = of_users(served, 4)

    assert found.requests == pytest.approx(4 / 0.6)
    assert found.token == pytest.approx(token)
    assert found.first == pytest.approx(first, abs=1e-5)
