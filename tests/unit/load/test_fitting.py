"""
Service times from a sweep: found again where they are known, and what they predict.
"""

from __future__ import annotations

from functools import cache

import pytest

from cdk_sagemaker_llm.load.benchmark import Row
from cdk_sagemaker_llm.load.fitting import Fitted, fit_service_times
from cdk_sagemaker_llm.simulation import Lengths, Scenario, Users, Workload, run
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from tests.local.loading import engine
from tests.unit.load.virtual import Asked, sweep

# Two of the eight copies, and a quarter of the users: a copy sees the same.
COPIES = 2
PUBLISHED = {
    100: (24.74, 3.76),
    150: (26.32, 5.58),
    200: (26.72, 7.81),
    250: (25.83, 8.89),
    300: (25.66, 9.78),
    500: (26.17, 16.90),
}


@cache
def row(users: int, prompt: int = 1000, answer: int = 50) -> Row:
    """
    Measure so many users.
    """
    asked = Asked(users=users, prompt=prompt, answer=answer)
    (found,) = sweep(asked, copies=COPIES)
    return found


def fit(*users: int, is_alone: bool = True, given: int | None = None) -> Fitted:
    """
    Fit service times to a sweep.
    """
    alone = (row(1, 250), row(1)) if is_alone else ()
    rows = [row(each) for each in users]
    return fit_service_times(rows, COPIES, alone=alone, max_sequences=given)


def predicted(
    times: ServiceTimes, users: int, prompt: int = 1000, answer: int = 50
) -> float:
    """
    Simulate as many users; return their median latency.
    """
    traffic = Users(
        count=users, think=0, joining=5, lengths=Lengths(prompt=prompt, answer=answer)
    )
    workload = Workload(name="chat", traffic=traffic, service=times, copies=COPIES)
    found = run(Scenario(workloads=(workload,), duration=180.0)).workloads["chat"]
    assert found.latencies is not None
    return found.latencies.at(0.5) or 0.0


def simulated_rate(times: ServiceTimes, users: int, prompt: int, answer: int) -> float:
    """
    Simulate as many users on one copy; return their requests a second.
    """
    lengths = Lengths(prompt=prompt, answer=answer)
    traffic = Users(count=users, think=0, joining=5, lengths=lengths)
    workload = Workload(name="chat", traffic=traffic, service=times, copies=1)
    found = run(Scenario(workloads=(workload,), duration=600.0)).workloads["chat"]
    steady = found.served[2:]
    return sum(steady) / len(steady) / 60


@pytest.mark.parametrize("users", PUBLISHED)
def test_the_stand_in_does_as_was_published(users: int) -> None:
    """
    On all eight copies; in the table's own rows latency times throughput is up to 18 %
    less than there were users.
    """
    rate, latency = PUBLISHED[users]
    (found,) = sweep(Asked(users=users))

    assert found.latency is not None
    assert found.rate.value == pytest.approx(rate, rel=0.05)
    assert found.latency.value == pytest.approx(latency, rel=0.15)


def test_what_is_known_is_found_again() -> None:
    """
    From a sweep that takes in the whole range.
    """
    found = fit(3, 12, 25, 50, 100)
    times, true = found.times, engine.PUBLISHED

    assert found.warnings == ()
    assert (found.prompt_tokens, found.output_tokens) == (1000, 50)
    assert times.max_sequences == 15
    assert times.kv_tokens is None
    # What each prompt takes besides is in its tokens, or in the network.
    besides = true.pass_ / 1000
    assert true.prompt < times.prompt_seconds_per_token < true.prompt + besides
    assert true.network - 0.01 < times.overhead_seconds < true.network + true.pass_
    assert [count for count, _ in times.decode] == [1, 4, 15]
    # Three users on two copies are two on one of them at times.
    assert times.pace(1) == pytest.approx(true.alone, rel=0.02)
    for count in (6, 12, 15):
        # A token of each, and the prompts that come meanwhile.
        step = true.alone + true.beside * (count - 1)
        step += (true.pass_ + true.prompt * 1000) * count / 50
        found_step = times.pace(count)
        found_step += times.prompt_seconds_per_token * 1000 * count / 50
        assert found_step == pytest.approx(step, rel=0.05)


@pytest.mark.parametrize(
    ("measured", "given"),
    [((25, 50, 100), None), ((6, 25, 38, 60, 125), None), ((25, 75), 15)],
    ids=["three rows", "five rows", "max_sequences given"],
)
@pytest.mark.parametrize("users", [3, 12, 18, 45, 62, 88, 110])
def test_a_sweep_that_nobody_measured_is_predicted(
    measured: tuple[int, ...], given: int | None, users: int
) -> None:
    """
    Other numbers of users, with a line and without.
    """
    times = fit(*measured, given=given).times
    actual = row(users).latency

    assert actual is not None
    assert predicted(times, users) == pytest.approx(actual.value, rel=0.08)


@pytest.mark.parametrize(
    ("users", "prompt", "answer"),
    [
        (15, 400, 80),
        (50, 400, 80),
        (50, 600, 60),
        (75, 2000, 25),
        (25, 250, 200),
        (5, 1000, 20),
    ],
)
def test_other_lengths_are_predicted(users: int, prompt: int, answer: int) -> None:
    """
    From prompts of 1000 tokens and answers of 50.
    """
    times = fit(25, 50, 100).times
    actual = row(users, prompt, answer).latency

    assert actual is not None
    simulated = predicted(times, users, prompt, answer)
    assert simulated == pytest.approx(actual.value, rel=0.10)


def test_a_sweep_without_a_line_says_that_it_does_not_know_the_most() -> None:
    """
    The most that was seen is taken, unless it is given.
    """
    found, given = fit(3, 6, 12), fit(3, 6, 12, given=15)

    assert found.times.max_sequences == 6
    (warning,) = found.warnings
    assert warning.startswith("max_sequences: the sweep does not reach saturation")
    assert given.times.max_sequences == 15
    assert given.warnings == ()


def test_a_sweep_that_had_a_line_all_the_time_tells_the_most_too() -> None:
    """
    By its throughput, and by what of latency comes after the first token.
    """
    found = fit(50, 75, 125)

    assert found.warnings == ()
    assert found.times.max_sequences == pytest.approx(15, abs=2)
    assert predicted(found.times, 62) == pytest.approx(9.4, rel=0.10)


def test_without_anybody_alone_prompts_are_told_from_what_they_hold_up() -> None:
    """
    And it says what is less sure.
    """
    found = fit(12, 25, 50, 100, is_alone=False)

    assert found.times.prompt_seconds_per_token == pytest.approx(0.00017, rel=0.1)
    assert found.times.max_sequences == pytest.approx(15, abs=1)
    assert [each.split(":")[0] for each in found.warnings] == [
        "overhead_seconds, prompt_seconds_per_token",
        "decode",
    ]
    assert predicted(found.times, 18) == pytest.approx(row(18).latency.value, rel=0.1)  # type: ignore[union-attr]  # measured
