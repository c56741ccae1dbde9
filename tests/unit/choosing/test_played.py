"""
Which candidates are simulated, until one is found that keeps the objective.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk_sagemaker_llm.choosing import Answer, Objective, Question, choose
from cdk_sagemaker_llm.choosing.candidates import result_of
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.sizing import Sizing
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings, written_traffic
from cdk_sagemaker_llm.simulation import (
    Constant,
    Fixed,
    Lengths,
    Scenario,
    ServiceTimes,
    Workload,
    run,
)

DAY = 86400.0


@pytest.fixture(scope="module")
def of_a_quiet_night() -> Answer:
    """
    A load that is none at night; by estimate those that may sleep come first.
    """
    settings = TrafficSettings(shape="day", rate=0.0, peak=4.0)
    question = Question(
        model="mistralai/Mistral-7B-v0.1",
        traffic=written_traffic(settings, DAY).traffic,
        objective=Objective(ttft=1, tpot=0.05),
        instance_types=("ml.g5.xlarge",),
        engines=("vllm",),
        quantized=False,
        scale_to_zero=True,
        duration=DAY,
    )
    return choose(question)


def test_looks_on_where_the_cheapest_lose_requests_as_they_wake(
    of_a_quiet_night: Answer,
) -> None:
    """
    Those that sleep lose some, and one that never does is chosen.
    """
    best = of_a_quiet_night.best

    assert best is not None
    assert best.result.kept >= 0.99
    assert best.candidate.scaling.least == 1


def test_no_change_leads_to_what_was_refused(of_a_quiet_night: Answer) -> None:
    """
    What sleeps, and what goes by the clock, lost too many minutes, whatever estimates
    say: under half the load it does so, too. The only type remains what it is where it
    is dearer.
    """
    best = of_a_quiet_night.best
    half, twice, dearer, *_ = of_a_quiet_night.sensitivity

    assert best is not None
    assert half.candidate is not None
    assert half.candidate.scaling.least == 1
    assert half.candidate.scaling.hours is None
    assert (twice.monthly_cost or 0) >= best.cost
    assert dearer.candidate is not None
    assert dearer.candidate.scaling == best.candidate.scaling
    assert dearer.monthly_cost == pytest.approx(1.2 * best.cost)


@pytest.mark.parametrize(("lost", "kept"), [(0.0, 1.0), (0.4, 1.0), (0.5, 0.9)])
@pytest.mark.parametrize("refused", [False, True])
def test_a_minute_that_loses_a_request_is_not_kept(
    lost: float, kept: float, *, refused: bool
) -> None:
    """
    One of ten minutes; less than half a request is rounding.
    """
    times = ServiceTimes(decode=((1, 0.01),), max_sequences=8)
    lengths = Lengths(prompt=Fixed(100), answer=Fixed(10))
    traffic = Constant(rate=1, lengths=lengths)
    question = Question(
        model="Qwen/Qwen3-8B",
        traffic=traffic,
        objective=Objective(ttft=1, tpot=0.05),
        duration=600,
    )
    workload = Workload(name="model", traffic=traffic, service=times)
    outcome = run(Scenario(workloads=(workload,), duration=600), "aggregate")
    (series,) = outcome.workloads.values()
    minutes = [lost, *[0.0] * 9]
    changed = (
        replace(series, refused={"queue": minutes})
        if refused
        else replace(series, timed_out=minutes)
    )

    found = result_of(
        changed,
        Sizing(times, Load.of(question), question.objective),
        monthly_cost=1.0,
        instance_hours=1.0,
        method="aggregate",
    )

    assert found.kept == pytest.approx(kept)
