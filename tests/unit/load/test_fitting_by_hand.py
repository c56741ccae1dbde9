"""
Service times from rows that were made up, so that each figure can be told by hand.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cdk_sagemaker_llm.load.benchmark import Benchmark, Row, row_of
from cdk_sagemaker_llm.load.deployed import Deployed
from cdk_sagemaker_llm.load.figures import Estimate
from cdk_sagemaker_llm.load.fitting import Probe, fit_service_times, save_service_times
from cdk_sagemaker_llm.simulation import read_service_times
from tests.unit.load.examples import run_of


def seen(
    under_way: float, latency: float, first_token: float = 1.0, between: float = 0.1
) -> Row:
    """
    Make a row of prompts of 100 tokens, and of answers of 46.
    """
    made = row_of(run_of())
    facts = {
        "steady": {
            "under_way": under_way,
            "latency": latency,
            "first_token": first_token,
        },
        "figures": {
            "between_tokens": {"p50": between},
            "prompt_tokens": 100.0,
            "tokens": 46.0,
        },
    }
    return replace(made, users=round(under_way), facts={**made.facts, **facts})


def alone(prompt: float, first_token: float, between: float = 0.02) -> Row:
    """
    Make the row of a user alone, whose tokens take 20 ms each.
    """
    made = seen(1.0, first_token + 45 * between, first_token, between)
    figures = {**made.facts["figures"], "prompt_tokens": prompt}
    return replace(made, facts={**made.facts, "figures": figures})


# 30 ms of network, a millisecond for each token of prompt, 20 ms for one of answer.
ALONE = (alone(100, 0.15), alone(1000, 1.05))


def law(
    users: int, *, prompt: float = 0.1, last: float = 0.028, late: float = 0.0
) -> Row:
    """
    Make what a copy of eight slots does: 30 ms of network, ``prompt`` seconds for each
    prompt, and tokens that take 20 ms alone and ``last`` of all eight.
    """
    held, latency, first_token = float(users), 0.0, 0.0
    for _ in range(50):
        written = min(held, 8.0)
        pace = 0.02 + (last - 0.02) * (written - 1) / 7
        latency = 0.03 + held * prompt + 46 * max(1.0, held / 8) * pace
        first_token = latency - (written - 1) * prompt - 45 * pace
        held = max(1.0, users * (1 - 0.03 / latency))
    row = seen(users, latency + late, first_token, pace)
    # A hair of late answers does not change who asks how often.
    rate = users / latency
    return replace(row, users=users, seconds=900.0, rate=Estimate(rate, rate, rate))


@pytest.mark.parametrize("order", [1, -1])
def test_what_follows_the_law_is_found_again(order: int) -> None:
    """
    All of it, in whichever order the rows come, and whichever prompts come first.
    """
    rows = [law(users) for users in (2, 4, 6, 12, 24)][::order]
    found = fit_service_times(rows, alone=ALONE[::order])
    times = found.times

    assert found.warnings == ()
    assert times.max_sequences == 8
    assert found.max_sequences_between == (8, 8)
    assert times.overhead_seconds == pytest.approx(0.03, rel=0.01)
    assert times.prompt_seconds_per_token == pytest.approx(0.001, rel=0.01)
    assert [count for count, _ in times.decode] == [1, 3, 8]
    assert [times.pace(count) for count in (1, 3, 8)] == pytest.approx(
        [0.02, 0.02 + 0.008 * 2 / 7, 0.028], rel=0.01
    )


@pytest.mark.parametrize("late", [-0.001, 0.0, 0.001])
@pytest.mark.parametrize("which", [0, 1])
def test_a_millisecond_changes_nothing(which: int, late: float) -> None:
    """
    By the rise of latency alone, with one more the slots were 16, and with one less 8.
    """
    lates = [late if number == which else 0.0 for number in range(2)]
    rows = [
        law(users, prompt=0.05, last=0.028, late=each)
        for users, each in zip((4, 16), lates, strict=True)
    ]
    alone_ = (alone(100, 0.10), alone(1000, 0.55))
    found = fit_service_times(rows, alone=alone_)

    assert found.times.max_sequences == 8
    assert found.max_sequences_between is not None
    low, high = found.max_sequences_between
    assert low <= 8 <= (high or 0)


def test_a_row_that_is_far_off_counts_little() -> None:
    """
    And it is named, by what it says more or less of.
    """
    users = (1, 2, 4, 6, 8, 12, 16, 24)
    rows = [law(each) for each in users]
    calm = fit_service_times(rows)
    rows[5] = law(12, late=6.0)
    found = fit_service_times(rows)

    assert calm.times.max_sequences == found.times.max_sequences == 8
    assert found.times.pace(8) == pytest.approx(calm.times.pace(8), rel=0.1)
    (told,) = [each for each in found.warnings if "counts little" in each][:1]
    assert told.startswith("at 12 users the latency is ")
    assert told.endswith("more than all rows together come to, and counts little")
    assert not any("counts little" in each for each in calm.warnings)


@pytest.mark.parametrize(
    ("users", "most", "is_enough"), [((1, 2, 4), 4, False), ((1, 2, 4, 12), 8, True)]
)
def test_a_sweep_that_does_not_reach_saturation_says_so(
    users: tuple[int, ...], most: int, *, is_enough: bool
) -> None:
    """
    As many as were seen are a lower bound then.
    """
    found = fit_service_times([law(each) for each in users], alone=ALONE)
    told = [each for each in found.warnings if each.startswith("max_sequences: ")]

    assert found.times.max_sequences == most
    if is_enough:
        assert (found.max_sequences_between, told) == ((8, 8), [])
    else:
        assert found.max_sequences_between == (4, None)
        (warning,) = told
        assert warning == (
            "max_sequences: the sweep does not reach saturation, so that 4 is a lower "
            "bound, and a copy may write more than 4 at once; sweep with more users, "
            "or give --max-sequences"
        )
        assert any(
            each.startswith("max_sequences: 4, at least 4; ") for each in found.found
        )


def test_slots_that_are_given_have_no_interval() -> None:
    """
    The other figures are found for them; of what was not seen nothing is drawn.
    """
    found = fit_service_times([law(2), law(4)], alone=ALONE, max_sequences=20)

    assert found.times.max_sequences == 20
    assert found.max_sequences_between is None
    assert "max_sequences: 20, as it was given" in found.found
    assert found.warnings == ()
    assert found.times.decode[-1][0] == 4
    assert found.times.pace(4) == pytest.approx(0.02 + 0.008 * 3 / 7, rel=0.01)


@pytest.mark.parametrize(
    ("seconds", "low", "is_estimate"),
    [
        # Three answers of ten seconds.
        (30.0, 1.0, False),
        (29.9, 1.0, True),
        # Three tenths more or less.
        (30.0, 0.71, False),
        (30.0, 0.69, True),
    ],
)
def test_a_sweep_that_is_short_or_noisy_is_an_estimate(
    *, seconds: float, low: float, is_estimate: bool
) -> None:
    """
    The file says so, and the notes which row.
    """
    rate = Estimate(1.0, low, 2.0 - low)
    row = replace(seen(4, 10.0), seconds=seconds, rate=rate)
    found = fit_service_times([row], alone=ALONE)
    told = [one for one in found.warnings if "all figures are estimates" in one]

    assert found.times.is_estimate is is_estimate
    assert [one[:10] for one in told] == ["at 4 users"] * is_estimate


def test_a_disturbed_sweep_is_an_estimate() -> None:
    """
    The generator measured itself.
    """
    calm = seen(4, 10.0)
    calm = replace(calm, seconds=90.0, rate=Estimate(1.0, 1.0, 1.0))
    busy = replace(calm, facts={**calm.facts, "is_generator_bottleneck": True})

    assert not fit_service_times([calm], alone=ALONE).times.is_estimate
    assert fit_service_times([busy], alone=ALONE).times.is_estimate


def test_answers_that_take_no_time_are_refused() -> None:
    """
    With what to do.
    """
    rows = (alone(100, 20.0, between=0.0), alone(1000, 20.0, between=0.0))

    with pytest.raises(
        ValueError, match="^answers took no longer than their prompts; "
    ):
        fit_service_times([seen(1.0, 20.0, 20.0, 0.0)], alone=rows)


def test_a_row_without_streams_is_left_out() -> None:
    """
    Of what is told, and of what is doubted; its requests count.
    """
    row = replace(seen(4, 10.03), seconds=90.0, rate=Estimate(1.0, 1.0, 1.0))
    whole = replace(row, users=9, facts={**row.facts, "steady": None})
    found = fit_service_times([row, whole], alone=ALONE)

    assert found.times == fit_service_times([row], alone=ALONE).times
    assert found.requests == 2 * row.requests
    assert not found.times.is_estimate


@pytest.mark.parametrize(("users", "warns"), [(1, False), (2, True)])
def test_fewer_than_were_measured_are_a_guess(*, users: int, warns: bool) -> None:
    """
    Where nobody asked alone.
    """
    found = fit_service_times([law(users), law(4), law(16)])

    told = [each for each in found.warnings if each.startswith("decode: fewer")]
    assert bool(told) is warns


@pytest.mark.parametrize(("longer", "is_enough"), [(199, False), (200, True)])
def test_prompts_alone_have_to_differ(*, longer: float, is_enough: bool) -> None:
    """
    One has to be twice as long as the other.
    """
    rows = (alone(100, 0.15), alone(longer, 0.05 + longer / 1000))
    found = fit_service_times([law(4)], alone=rows)

    told = [each for each in found.warnings if "twice as long" in each]
    assert bool(told) is not is_enough


def test_longer_prompts_that_are_faster_cost_nothing() -> None:
    """
    No figure is below zero, and a network takes no time back.
    """
    rows = (alone(100, 0.15), alone(1000, 0.1))
    times = fit_service_times([alone(100, 0.15)], alone=rows).times

    assert times.prompt_seconds_per_token == pytest.approx(0.0, abs=1e-9)
    rows = (alone(100, 0.05), alone(1000, 0.95))
    times = fit_service_times([law(4)], alone=rows).times
    assert times.overhead_seconds == pytest.approx(0.0, abs=0.002)


def test_the_file_takes_all_that_is_known(tmp_path: Path) -> None:
    """
    Of a copy alone, and of what was asked beside the sweep.
    """
    began = "2027-01-17T12:00:00+00:00"
    rows = (law(4),)
    benchmark = Benchmark(endpoint="chat", began=began, rows=rows)
    probe = Probe(copies=1, alone=ALONE, max_sequences=9)
    path = tmp_path / "times.json"
    save_service_times(path, benchmark, probe, Deployed(accelerators=4))
    found = read_service_times(path)

    assert found.times.source == "benchmark of chat, 1 copy, with 4 users"
    assert found.times.max_sequences == 9
    assert found.times.prompt_seconds_per_token == pytest.approx(0.001, rel=0.01)
    assert (found.prompt_tokens, found.output_tokens) == (100, 46)
    assert found.accelerators == 4
    assert found.max_sequences_between is None
    assert "max_sequences: 9, as it was given" in found.notes
