"""
A run in aggregate: what it costs, and what it says of itself.
"""

from __future__ import annotations

import tracemalloc

import pytest

from cdk_sagemaker_llm.simulation import Constant, Lengths, Scenario, ServiceTimes, run
from tests.unit.simulation.scenarios import CHAT, of_rate

FAST = ServiceTimes(decode=((1, 0.0001),), max_sequences=10_000)


def memory(rate: float) -> int:
    """
    Return the memory that two hours at a rate take at most, in bytes.
    """
    workload = of_rate(rate, service=FAST)
    scenario = Scenario(workloads=(workload,), duration=7200)
    tracemalloc.start()
    run(scenario, "aggregate")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_rate() -> None:
    """
    A thousand times the requests take the same.
    """
    memory(1)

    assert memory(10_000) < 1.1 * memory(10)


def test_it_says_that_latencies_are_approximated() -> None:
    """
    In the first note.
    """
    outcome = run(Scenario(workloads=(of_rate(5),), duration=600), "aggregate")

    assert outcome.method == "aggregate"
    assert "latencies are approximated" in outcome.notes[0]


@pytest.mark.parametrize(("rate", "method"), [(10, "requests"), (1000, "aggregate")])
def test_the_way_follows_the_number_of_requests(rate: float, method: str) -> None:
    """
    36,000 are followed, 3,600,000 are not.
    """
    traffic = Constant(rate=rate, lengths=CHAT)
    workload = of_rate(0, traffic=traffic, service=FAST)

    assert run(Scenario(workloads=(workload,), duration=3600)).method == method


def test_an_estimate_is_said_to_be_one() -> None:
    """
    With where it is from.
    """
    guess = ServiceTimes(
        decode=((1, 0.02),), max_sequences=8, source="a guess", is_estimate=True
    )
    outcome = run(Scenario(workloads=(of_rate(1, service=guess),), duration=60))

    assert outcome.notes == ("the service times of chat are an estimate: a guess",)


def test_a_rate_that_is_served_steadily_comes_to_its_hand_count() -> None:
    """
    A copy writes any number at 0.01 s a token: answers of 100 tokens take 1 s, after
    prompts of 0.1 s; at 2 a second the others' prompts stretch each by a fifth.
    """
    service = ServiceTimes(
        decode=((1, 0.01),), max_sequences=1000, prompt_seconds_per_token=0.001
    )
    traffic = Constant(rate=2, lengths=Lengths(prompt=100, answer=100), spacing="even")
    workload = of_rate(0, traffic=traffic, service=service)
    outcome = run(Scenario(workloads=(workload,), duration=3600), "aggregate")
    series = outcome.workloads["chat"]

    # 0.1 s of its own, 0.0125 s of those before it, and 1 s stretched to 1.25 s.
    assert series.latency_mean[30] == pytest.approx(1.3625)
    assert series.concurrency[30] == pytest.approx(2 * 1.3625)
    assert series.served[30] == pytest.approx(120)
    assert series.arrived[30] == pytest.approx(120)
