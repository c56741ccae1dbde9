"""
The two ways to play a scenario out agree where both apply.

That is where batches have 20 places or more of which 12 are in use on average, copies
are at 70 % of what they could serve or less, and prompts take a quarter of the time or
less. There what is served agrees within 1 %, the mean latency within 5 % and, if
answers differ in length, the 95th percentile within 15 %. What is served agrees within
2 % up to 80 %, and what is finished within 5 % above 120 %. In between chance decides,
and only single requests have any.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from cdk_sagemaker_llm.fit import ResourceRequirements
from cdk_sagemaker_llm.simulation import (
    Constant,
    Lengths,
    LogNormal,
    Outcome,
    Ramp,
    Scenario,
    Series,
    ServiceTimes,
    Users,
    run,
)
from cdk_sagemaker_llm.simulation.scenario import Routing
from cdk_sagemaker_llm.simulation.service.performance import Equilibrium
from cdk_sagemaker_llm.simulation.service.times import Rows
from tests.unit.simulation.scenarios import CHAT, TIMES, of_rate, scaled

CAPACITY = Equilibrium(TIMES, CHAT.prompts.mean, CHAT.answers.mean).capacity


def both(scenario: Scenario) -> tuple[Series, Series]:
    """
    Play a scenario out in both ways.
    """
    followed, computed = run(scenario, "requests"), run(scenario, "aggregate")
    return followed.workloads["chat"], computed.workloads["chat"]


def over(series: Series, column: Sequence[float | None]) -> float:
    """
    Return the average of a minute's figure, by the answers of the minute.
    """
    pairs = zip(column, series.served, strict=True)
    return sum((each or 0) * count for each, count in pairs) / sum(series.served)


def average(column: Sequence[float]) -> float:
    """
    Return the average of a column.
    """
    return sum(column) / len(column)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("load", [0.1, 0.3, 0.5, 0.7, 0.8])
def test_they_agree_up_to_four_fifths_of_the_capacity(load: float, copies: int) -> None:
    """
    With the batches of a chat, also where few places are in use, in five hours at a
    steady rate; by chance a few more or fewer requests come.
    """
    workload = of_rate(load * CAPACITY * copies, copies=copies)
    followed, computed = both(Scenario(workloads=(workload,), duration=20_000, seed=1))

    theirs, ours = followed.totals, computed.totals
    assert ours.served / ours.arrived == pytest.approx(
        theirs.served / theirs.arrived, rel=0.02
    )
    concurrency = average(followed.concurrency) * ours.arrived / theirs.arrived
    # Looked at once a minute: chance alone moves the average of few requests.
    assert average(computed.concurrency) == pytest.approx(
        concurrency, rel=0.05, abs=0.15
    )
    for column, share in (("mean", 0.05), ("p50", 0.05), ("p95", 0.1)):
        found = over(computed, getattr(computed, f"latency_{column}"))
        seen = over(followed, getattr(followed, f"latency_{column}"))
        assert found == pytest.approx(seen, rel=share), column


# To shrink what fails would take minutes: each example is some tenths of a second.
# The same services each time: of 250 drawn at random the mean of one was off by 5.5 %,
# of which a run of this length has some for chance alone.
@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate])
@given(
    decode=st.sampled_from(
        [
            ((1, 0.02), (32, 0.045)),
            ((1, 0.01), (8, 0.012), (64, 0.06)),
            ((1, 0.03),),
            ((1, 0.007), (8, 0.024), (256, 0.043)),
        ]
    ),
    places=st.integers(20, 200),
    prompt_cost=st.sampled_from([0.0, 0.00005, 0.0002]),
    kv_tokens=st.sampled_from([None, 100_000]),
    spread=st.sampled_from([0.0, 0.5, 0.8]),
    copies=st.integers(1, 4),
    load=st.floats(0.2, 0.7),
    routing=st.sampled_from(["LEAST_OUTSTANDING_REQUESTS", "RANDOM"]),
    seed=st.integers(0, 1000),
)
def test_they_agree_for_any_service(
    decode: Rows,
    places: int,
    prompt_cost: float,
    kv_tokens: int | None,
    spread: float,
    copies: int,
    load: float,
    routing: Routing,
    seed: int,
) -> None:
    """
    In the domain that is stated above.
    """
    lengths = Lengths(
        prompt=LogNormal(median=500, spread=spread, most=3000),
        answer=LogNormal(median=200, spread=spread, most=1000),
    )
    service = ServiceTimes(
        decode=decode,
        max_sequences=places,
        prompt_seconds_per_token=prompt_cost,
        kv_tokens=kv_tokens,
    )
    kind = Equilibrium(service, lengths.prompts.mean, lengths.answers.mean)
    rate = load * kind.capacity
    steady = kind.at(rate, copies)
    assume(steady is not None and steady.sequences >= 12)
    assume(kind.most >= 20 and rate * kind.prompt_seconds <= 0.25)
    traffic = Constant(rate=rate * copies, lengths=lengths)
    workload = of_rate(0, traffic=traffic, service=service, copies=copies, timeout=600)
    duration = 40_000 / (rate * copies)
    followed, computed = both(
        Scenario(workloads=(workload,), duration=duration, seed=seed, routing=routing)
    )

    theirs, ours = followed.totals, computed.totals
    assert ours.served / ours.arrived == pytest.approx(
        theirs.served / theirs.arrived, rel=0.01
    )
    shares = {"mean": 0.05, "p95": 0.15} if spread else {"mean": 0.05}
    for column, share in shares.items():
        found = over(computed, getattr(computed, f"latency_{column}"))
        seen = over(followed, getattr(followed, f"latency_{column}"))
        assert found == pytest.approx(seen, rel=share), column


@pytest.mark.parametrize("load", [1.2, 2])
def test_they_agree_in_what_is_finished_when_there_is_too_much(load: float) -> None:
    """
    Most of it too late: the client has gone, and the copy is not told.
    """
    workload = of_rate(load * CAPACITY * 2, copies=2, timeout=600)
    followed, computed = both(Scenario(workloads=(workload,), duration=7200))

    ours, theirs = computed.totals, followed.totals
    assert ours.served + ours.timed_out == pytest.approx(
        theirs.served + theirs.timed_out, rel=0.05
    )
    assert ours.under_way == pytest.approx(theirs.under_way, rel=0.05)


def test_they_agree_where_the_cache_bounds_the_batch() -> None:
    """
    16 sequences of 1,200 tokens fit; prompts take most of the time.
    """
    lengths = Lengths(prompt=1000, answer=200)
    service = ServiceTimes(
        decode=((1, 0.02), (32, 0.045)),
        max_sequences=32,
        prompt_seconds_per_token=0.0002,
        kv_tokens=20_000,
    )
    rate = 0.7 * 2 * Equilibrium(service, 1000, 200).capacity
    traffic = Constant(rate=rate, lengths=lengths)
    workload = of_rate(0, traffic=traffic, service=service, copies=2)
    followed, computed = both(Scenario(workloads=(workload,), duration=7200))

    assert computed.totals.served == pytest.approx(followed.totals.served, rel=0.02)
    theirs = over(followed, followed.latency_mean)
    assert over(computed, computed.latency_mean) == pytest.approx(theirs, rel=0.05)


@pytest.mark.parametrize("count", [20, 60, 120, 200, 300])
def test_they_agree_on_users(count: int) -> None:
    """
    Who wait for each answer, so that there are never more requests than users; 160 of
    them are all that two copies can serve.
    """
    traffic = Users(count=count, think=15, lengths=CHAT)
    workload = of_rate(0, traffic=traffic, copies=2)
    followed, computed = both(Scenario(workloads=(workload,), duration=7200))

    assert computed.totals.served == pytest.approx(followed.totals.served, rel=0.02)
    theirs = over(followed, followed.latency_mean)
    assert over(computed, computed.latency_mean) == pytest.approx(theirs, rel=0.05)


def decided(outcome: Outcome) -> list[tuple[float, int, int]]:
    """
    Return when scaling changed what.
    """
    return [
        (activity.time, activity.before, activity.after)
        for activity in outcome.activities["chat"]
        if not activity.not_scaled
    ]


@pytest.mark.parametrize("is_component", [True, False])
def test_they_scale_at_the_same_moments(*, is_component: bool) -> None:
    """
    Traffic rises well above the target and ends: the logs of scaling and of the fleet
    are the same.
    """
    needs = ResourceRequirements(accelerators=1) if is_component else None
    rising = Ramp(start=0.2, stop=9, over=60, begin=600, lengths=CHAT)
    scenario = scaled(rising, duration=5400, needs=needs)
    followed, computed = run(scenario, "requests"), run(scenario, "aggregate")

    assert decided(followed) == decided(computed) != []
    assert followed.steps == computed.steps
    assert followed.instance_hours == computed.instance_hours
    theirs = followed.workloads["chat"].totals
    ours = computed.workloads["chat"].totals
    assert ours.served == pytest.approx(theirs.served, rel=0.05)
