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
from cdk_sagemaker_llm.load.fitting import (
    Probe,
    before_line,
    fit_service_times,
    rises,
    save_service_times,
)
from cdk_sagemaker_llm.load.observed import Observed
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


def observed(users: int, latency: float, first_token: float) -> Observed:
    """
    Make what a copy did.
    """
    return Observed(
        users=users,
        under_way=float(users),
        latency=latency,
        first_token=first_token,
        between=0.1,
        prompt=100.0,
        answer=46.0,
        disturbance="",
    )


def test_the_mean_time_between_tokens() -> None:
    """
    There is one less of them than tokens, and one at least.
    """
    one = observed(1, 10.0, 1.0)

    assert one.mean_between == pytest.approx(0.2)
    assert replace(one, answer=1.0).mean_between == 9.0


def test_a_user_alone_tells_what_a_request_takes() -> None:
    """
    From prompts of two lengths, in whichever order.
    """
    for rows in (ALONE, ALONE[::-1]):
        times = fit_service_times([seen(4, 10.03)], alone=rows).times

        assert times.prompt_seconds_per_token == pytest.approx(0.001)
        assert times.overhead_seconds == pytest.approx(0.03)
        assert times.pace(1) == pytest.approx(0.02)


def test_a_token_of_a_user_alone_is_the_mean_of_both_lengths() -> None:
    """
    And what is left of the time to the first token is the network's.
    """
    rows = (alone(100, 0.15), alone(1000, 1.05, between=0.03))
    times = fit_service_times([seen(4, 10.03)], alone=rows).times

    assert times.pace(1) == pytest.approx(0.025)
    assert times.overhead_seconds == pytest.approx(0.15 - 0.1 - 0.025)


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


def test_it_is_told_from_how_many_users_on_requests_wait() -> None:
    """
    Where all that answers take longer goes by before their first token.
    """
    found = fit_service_times([seen(4, 10.0), seen(8, 20.0, 11.0)], alone=ALONE)
    most = found.times.max_sequences

    # The row before a line may have had one already, and there is none before it.
    assert (
        f"max_sequences: {most}, between 1 and 8; from 8 users on, requests wait in "
        "line, and by Little's law so many are written at once"
    ) in found.found


def test_a_batch_moves_on_while_no_prompt_holds_it_up() -> None:
    """
    Four for ten seconds each are 0.4 a second, of which prompts take 0.1 s each.
    """
    row = seen(4 / (1 - 0.03 / 10.03), 10.03)
    times = fit_service_times([row], alone=ALONE, max_sequences=8).times
    # By the time in which it was on the way, too, there are a hair more a second.
    rate = row.facts["steady"]["under_way"] / 10.03

    assert [count for count, _ in times.decode] == [1, 4]
    assert [pace for _, pace in times.decode] == pytest.approx(
        [0.02, 10.0 * (1 - rate * 0.1) / 46]
    )


def test_one_at_a_time_is_written_when_its_prompt_is_read() -> None:
    """
    Less what it is on the way; as often as it was measured, the mean counts.
    """
    times = fit_service_times([seen(1.0, 10.03)], alone=ALONE, max_sequences=8).times

    assert [count for count, _ in times.decode] == [1]
    assert times.decode[0][1] == pytest.approx((0.02 + (10.0 - 0.1) / 46) / 2)


def test_answers_that_take_no_time_are_refused() -> None:
    """
    With what to do.
    """
    rows = (alone(100, 20.0, between=0.0), alone(1000, 20.0, between=0.0))

    with pytest.raises(
        ValueError, match="^answers took no longer than their prompts; "
    ):
        fit_service_times([seen(1.0, 10.0)], alone=rows)


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


@pytest.mark.parametrize(
    ("under_way", "pace"),
    [
        # As many as are written at once, or hardly more: none waits.
        (8.0, 10.0 * (1 - 0.8 * 0.1) / 46),
        (8.4, 10.0 * (1 - 0.84 * 0.1) / 46),
        # A line: the copy answers one each 10 / 8.41 s, with eight at once.
        (8.41, (10.0 / 8.41 - 0.1) * 8 / 46),
    ],
)
def test_who_waits_in_line_is_not_written(under_way: float, pace: float) -> None:
    """
    From a twentieth more on than are written at once.
    """
    rows = (alone(100, 0.12), alone(1000, 1.02))
    times = fit_service_times(
        [seen(under_way, 10.0)], alone=rows, max_sequences=8
    ).times

    assert times.overhead_seconds == pytest.approx(0.0, abs=1e-12)
    assert times.decode[-1] == pytest.approx((8, pace))


def test_the_order_of_rows_does_not_count() -> None:
    """
    They are put in the order of their users.
    """
    rows = [seen(3, 8.0), seen(6, 10.0, 1.1), seen(12, 20.0, 10.0)]
    found, turned = (fit_service_times(each) for each in (rows, rows[::-1]))

    assert found.times == turned.times
    assert found.found == turned.found


@pytest.mark.parametrize(
    ("latency", "last"), [(9.03, 8), (20.03, 6)], ids=["falls", "rises"]
)
def test_beyond_what_was_measured_a_pace_does_not_fall(
    latency: float, last: int
) -> None:
    """
    What falls is held as it is up to the most; what rises may rise on.
    """
    rows = [seen(4, 10.03), seen(6, latency)]
    times = fit_service_times(rows, alone=ALONE, max_sequences=8).times

    assert [count for count, _ in times.decode][:3] == [1, 4, 6]
    assert times.decode[-1][0] == last
    if last == 8:
        assert times.decode[-1][1] == times.decode[-2][1]


@pytest.mark.parametrize(("under_way", "warns"), [(1.4, False), (2.0, True)])
def test_fewer_than_were_measured_are_a_guess(*, under_way: float, warns: bool) -> None:
    """
    Where nobody asked alone.
    """
    found = fit_service_times([seen(under_way, 10.0)])

    assert found.times.decode[0][0] == round(under_way)
    assert any(each.startswith("decode: fewer") for each in found.warnings) is warns


@pytest.mark.parametrize(("longer", "is_enough"), [(199, False), (200, True)])
def test_prompts_alone_have_to_differ(*, longer: float, is_enough: bool) -> None:
    """
    One has to be twice as long as the other.
    """
    rows = (alone(100, 0.15), alone(longer, 0.05 + longer / 1000))
    found = fit_service_times([seen(4, 10.03)], alone=rows)

    told = [each for each in found.warnings if "do not differ enough" in each]
    assert bool(told) is not is_enough


def test_longer_prompts_that_are_faster_cost_nothing() -> None:
    """
    And it says how to find out.
    """
    rows = (alone(100, 0.15), alone(1000, 0.1))
    found = fit_service_times([seen(4, 10.03)], alone=rows)

    assert found.times.prompt_seconds_per_token == 0.0
    assert found.times.overhead_seconds == pytest.approx(0.15 + 0.05 / 9 - 0.02)
    assert any("were no slower than short ones" in each for each in found.warnings)


def test_a_network_takes_no_time_back() -> None:
    """
    Where the first token is faster than prompt and token together.
    """
    rows = (alone(100, 0.05), alone(1000, 0.95))

    assert fit_service_times([seen(4, 10.0)], alone=rows).times.overhead_seconds == 0.0


def test_what_throughput_leaves_for_prompts_changes_nothing_else() -> None:
    """
    Four a second leave less than a quarter of one for each, and 2.4 ms for a token.
    """
    rows = (alone(100, 0.35), alone(1000, 3.05))
    found = fit_service_times([seen(40, 10.0)], alone=rows)

    assert found.times.prompt_seconds_per_token == pytest.approx(0.95 / 400)
    assert found.times.overhead_seconds == pytest.approx(0.03)


def test_with_few_at_once_the_stalls_of_tokens_tell_what_prompts_cost() -> None:
    """
    Half of the time between tokens is no token's: 0.5 s of each, for 20 of prompt.
    """
    times = fit_service_times([seen(2, 10.0)]).times

    assert times.prompt_seconds_per_token == pytest.approx(0.5 / (0.2 * 100))


@pytest.mark.parametrize(
    ("latency", "first_token", "is_line"),
    [
        # Of ten seconds more, eight are before the first token, or a hair more.
        (20.0, 9.0, False),
        (20.0, 9.01, True),
        (20.0, 1.0, False),
        (10.0, 9.0, False),
        # It took less time: that is no line.
        (9.0, 1.0, False),
    ],
)
def test_a_line_shows_before_the_first_token(
    *, latency: float, first_token: float, is_line: bool
) -> None:
    """
    Four fifths of what answers take longer.
    """
    points = [observed(4, 10.0, 1.0), observed(8, latency, first_token)]

    assert rises(points) == ([1] if is_line else [])


def test_the_rows_before_a_line() -> None:
    """
    The one right before it may have had one already; two at once tell nothing.
    """
    few, some = observed(2, 5.0, 1.0), observed(3, 7.0, 1.0)
    last, line = observed(8, 12.0, 1.1), observed(16, 24.0, 13.0)

    assert before_line([few, some, last]) == [some, last]
    assert before_line([few, some, last, line]) == [some]
    assert before_line([last, line]) == []


def test_the_file_takes_all_that_is_known(tmp_path: Path) -> None:
    """
    Of a copy alone, and of what was asked beside the sweep.
    """
    began = "2027-01-17T12:00:00+00:00"
    rows = (seen(4, 10.03),)
    benchmark = Benchmark(endpoint="chat", began=began, rows=rows)
    probe = Probe(copies=1, alone=ALONE, max_sequences=9)
    path = tmp_path / "times.json"
    save_service_times(path, benchmark, probe, Deployed(accelerators=4))
    found = read_service_times(path)

    assert found.times.source == "benchmark of chat, 1 copy, with 4 users"
    assert found.times.max_sequences == 9
    assert found.times.prompt_seconds_per_token == pytest.approx(0.001)
    assert (found.prompt_tokens, found.output_tokens) == (100, 46)
    assert found.accelerators == 4
    assert "max_sequences: 9, as it was given" in found.notes
