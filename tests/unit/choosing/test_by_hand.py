"""
Choices that can be worked out by hand, with service times that are simple numbers.

An hour of any instance costs one dollar, so that a month of one costs 730.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from cdk_sagemaker_llm.choosing import (
    Answer,
    Hours,
    Objective,
    Question,
    Scaling,
    choose,
    choose_together,
)
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.sizing import Sizing, erlang_c
from cdk_sagemaker_llm.simulation import (
    Constant,
    DayCurve,
    Lengths,
    Measurement,
    ServiceTimes,
    Users,
)

MODEL = "HuggingFaceH4/zephyr-7b-beta"
ONE_GPU, FOUR_GPUS = "ml.g6e.xlarge", "ml.g5.12xlarge"
HOUR, DAY = 3600.0, 86400.0


def measured(
    times: ServiceTimes, instance_type: str = ONE_GPU, accelerators: int = 1
) -> Measurement:
    """
    Pretend that times were measured.
    """
    return Measurement(
        times=times,
        instance_type=instance_type,
        model=MODEL,
        engine="vllm",
        engine_version="0.30.0",
        date=date(2026, 11, 1),
        accelerators=accelerators,
        prompt_tokens=10,
        output_tokens=50,
        requests=100,
    )


def seats(pace: float, count: int) -> ServiceTimes:
    """
    Return a copy with so many seats, at each of which a token takes as long.
    """
    return ServiceTimes(decode=((1, pace),), max_sequences=count)


def scaling_costs(answer: Answer) -> dict[Scaling, float]:
    """
    Return what each way of scaling costs a month.
    """
    return {one.candidate.scaling: round(one.cost, 2) for one in answer.choices}


TEN_EACH = Lengths(prompt=10, answer=10)
# A second for each request: 10 tokens of 0.1 s.
SECOND_EACH = Question(
    model=MODEL,
    traffic=Constant(rate=2, lengths=TEN_EACH),
    objective=Objective(ttft=0.6, tpot=0.2),
    instance_types=(ONE_GPU,),
    engines=("vllm",),
    prices={ONE_GPU: 1.0},
    measured=(measured(seats(0.1, 1)),),
    duration=HOUR,
)


@pytest.mark.parametrize(
    ("servers", "share"), [(3, 4 / 9), (4, 4 / 23)], ids=["three", "four"]
)
def test_who_waits_is_erlangs(servers: int, share: float) -> None:
    """
    Of two requests a second that take one second each.

    Erlang B of 1 is 2/3, of 2 it is 2/5, of 3 it is 4/19, of 4 it is 2/21; C is
    B / (1 - 2 / servers * (1 - B)).
    """
    assert erlang_c(servers, 2.0) == pytest.approx(share)


def test_four_servers_keep_what_three_do_not() -> None:
    """
    M/D/c. The first token comes 0.1 s after the wait, so that 95 % may wait 0.5 s.

    Of those that wait the mean is 1 s / (2 * (servers - 2)), and 95 % of all wait for
    at most that, times the logarithm of Erlang C by 0.05: with 3 servers
    0.5 * ln(8.889) = 1.09 s, with 4 they are 0.25 * ln(3.478) = 0.31 s. Four instances
    of a dollar an hour cost 4 * 730 = 2,920.
    """
    answer = choose(SECOND_EACH)

    sizing = Sizing(seats(0.1, 1), Load.of(SECOND_EACH), SECOND_EACH.objective)
    waits = [speed.ttft - 0.1 for n in (3, 4) if (speed := sizing.speed(2.0, n))]
    assert waits == pytest.approx([1.0924, 0.3116], abs=0.001)
    assert answer.best is not None
    assert answer.best.candidate.scaling == Scaling(least=4, most=4)
    assert answer.best.cost == pytest.approx(2920.0)


@pytest.mark.parametrize(
    ("budget", "is_found"), [(2919.0, False), (2920.0, True)], ids=["short", "enough"]
)
def test_a_budget_is_held(budget: float, *, is_found: bool) -> None:
    """
    Of the four servers at 2,920 dollars a month.
    """
    answer = choose(replace(SECOND_EACH, budget=budget))

    assert (answer.best is not None) == is_found
    if not is_found:
        first = answer.choices[0]
        assert first.reason == "it costs 2,920 $ a month, over the budget of 2,919"
        with pytest.raises(ValueError, match="nothing keeps the objective"):
            _ = answer.construct_call


def test_both_ends_of_the_interval_are_asked() -> None:
    """
    Of requests that may take half or twice their second.

    In half of it, one request is under way, and the first token comes after 0.05 s:
    with 2 servers Erlang C is 1/3, and 95 % wait for at most 0.5 / (2 * 1) *
    ln(6.667) = 0.47 s of 0.55. In twice of it four are under way, and the first token
    takes 0.2 s: with 6 servers C is 0.285, and 95 % wait 2 / (2 * 2) * ln(5.7) = 0.87
    s of 0.4; with 7 it is 0.135, and they wait 2 / (2 * 3) * ln(2.7) = 0.33 s.
    """
    times = replace(seats(0.1, 1), spread=(0.5, 2.0))
    question = replace(
        SECOND_EACH,
        measured=(measured(times),),
        objective=replace(SECOND_EACH.objective, tpot=0.3),
    )

    found = {
        one.what: one.candidate.scaling.most
        for one in choose(question).sensitivity
        if one.candidate is not None
    }

    assert found["service times at the quick end of their interval"] == 2
    assert found["service times at the slow end of their interval"] == 7


def test_of_equal_costs_the_models_own_answers_win() -> None:
    """
    A quantized copy that is quicker on the same instance is no reason to take it.
    """
    names = ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-FP8", "Qwen/Qwen3-8B-AWQ")
    question = replace(
        SECOND_EACH,
        model=names[0],
        traffic=Constant(rate=0.1, lengths=TEN_EACH),
        objective=Objective(ttft=5, tpot=0.3),
        measured=tuple(
            replace(measured(seats(pace, 8)), model=name)
            for name, pace in zip(names, (0.1, 0.05, 0.04), strict=True)
        ),
    )

    choices = choose(question).choices

    one_each = [one for one in choices if one.candidate.scaling.most == 1]
    assert one_each[0].candidate.setup.model == names[0]
    assert {one.cost for one in one_each} == {730.0}
    assert {one.reason for one in one_each} == {
        "",
        "it costs the same, and its answers are not the model's own",
    }


def test_the_same_question_has_the_same_answer() -> None:
    """
    In the same order, to the last digit.
    """
    first, second = choose(SECOND_EACH), choose(SECOND_EACH)

    assert [one.result for one in first.choices] == [
        one.result for one in second.choices
    ]


def test_users_slow_down_with_the_service() -> None:
    """
    Twenty who think for 9 s and wait for one ask at most 2 requests a second, so that
    the four servers of that rate keep it for them as well.
    """
    users = Users(count=20, think=9, lengths=TEN_EACH)

    best = choose(replace(SECOND_EACH, traffic=users)).best

    assert best is not None
    assert best.candidate.scaling == Scaling(least=4, most=4)


def test_a_day_opens_and_closes() -> None:
    """
    A copy has 10 seats, and each request takes one for 50 * 0.2 = 10 s.

    By night 0.4 a second take 4 seats, by day 1.6 take 16: one copy and two. The
    rate climbs from 6:00 to 7:00 and falls from 18:00 to 19:00, so that hours 6 to 18
    need two. A start takes 201 + 213 + 176 s, in steps of five minutes 10, and five
    more: the day opens at 5:45. The second instance runs 201 s after that, and until
    30 s after 19:00: 13.25 h - 171 s = 13.2025 h. With 24 h of the first one a day has
    37.2025 h, and a month of 730 / 24 days costs 1,131.58; two all the time cost 1,460.
    """
    rates = [0.4] * 7 + [1.6] * 12 + [0.4] * 5
    question = Question(
        model=MODEL,
        traffic=DayCurve(rates=tuple(rates), lengths=Lengths(prompt=10, answer=50)),
        objective=Objective(ttft=5, tpot=0.25),
        instance_types=(ONE_GPU,),
        engines=("vllm",),
        prices={ONE_GPU: 1.0},
        measured=(measured(seats(0.2, 10)),),
        duration=DAY,
    )

    costs = scaling_costs(choose(question))

    opens, closes = 5 * 60 + 45, 19 * 60
    by_the_clock = Scaling(
        least=1, most=2, hours=Hours(opens=opens, closes=closes, copies=2)
    )
    assert costs[by_the_clock] == pytest.approx(1131.58, abs=0.5)
    assert costs[Scaling(least=2, most=2)] == pytest.approx(1460.0)


@pytest.mark.parametrize("weekend", [1.0, 0.5])
def test_hours_know_no_weekend_and_say_so(weekend: float) -> None:
    """
    Six hours, of which four need both copies.
    """
    rates = [0.4] * 2 + [1.6] * 4 + [0.4] * 18
    question = replace(
        SECOND_EACH,
        traffic=DayCurve(
            rates=tuple(rates), lengths=Lengths(prompt=10, answer=50), weekend=weekend
        ),
        objective=Objective(ttft=5, tpot=0.25),
        measured=(measured(seats(0.2, 10)),),
        duration=6 * HOUR,
    )

    answer = choose(question)

    assert answer.best is not None
    assert answer.best.candidate.scaling.hours is not None
    said = "the hours are those of every day: on Saturdays and Sundays as much runs"
    assert any(said in note for note in answer.notes) == (weekend != 1)


def test_nothing_runs_at_night() -> None:
    """
    As above, and nobody asks from 20:00 to 6:00.

    One copy runs from 5:45 on. Its instance is there 201 s later, and goes 720 s after
    the copy has drained, 30 s after 20:00: 14.4025 h. The one that the endpoint begins
    with at midnight goes after 720 s: 0.2 h. A day of 14.6025 h is 444.16 a month; one
    all the time is 730.
    """
    rates = [0.0] * 7 + [0.4] * 13 + [0.0] * 4
    question = Question(
        model=MODEL,
        traffic=DayCurve(rates=tuple(rates), lengths=Lengths(prompt=10, answer=50)),
        # Who wakes a copy loses eleven minutes of a day: 0.8 %.
        objective=Objective(ttft=5, tpot=0.25, share=0.995),
        instance_types=(ONE_GPU,),
        engines=("vllm",),
        prices={ONE_GPU: 1.0},
        measured=(measured(seats(0.2, 10)),),
        duration=DAY,
        scale_to_zero=True,
    )

    answer = choose(question)

    opens, closes = 5 * 60 + 45, 20 * 60
    assert answer.best is not None
    assert answer.best.candidate.setup.shares
    assert answer.best.candidate.scaling == Scaling(
        least=0, most=1, hours=Hours(opens=opens, closes=closes, copies=1)
    )
    assert answer.best.cost == pytest.approx(444.16, abs=0.5)
    assert scaling_costs(answer)[Scaling(least=1, most=1)] == pytest.approx(730.0)


@pytest.mark.parametrize(
    ("tpot", "degree", "copies", "cost"),
    [(0.05, 1, 4, 730.0), (0.02, 4, 2, 1460.0)],
    ids=["slow enough for one GPU", "four together"],
)
def test_four_together_against_four_copies(
    tpot: float, degree: int, copies: int, cost: float
) -> None:
    """
    Answers of 100 tokens, 20 a second.

    On one GPU a token takes 30 ms and there are 32 seats: 60 seats are taken of the
    128 of one instance's four copies. Split over all four a token takes 10 ms and
    there are 16 seats: 20 are taken, so that two instances have 32. Four copies cost
    half, and are too slow where a token may take 20 ms.
    """
    question = Question(
        model=MODEL,
        traffic=Constant(rate=20, lengths=Lengths(prompt=10, answer=100)),
        objective=Objective(ttft=0.5, tpot=tpot),
        instance_types=(FOUR_GPUS,),
        engines=("vllm",),
        prices={FOUR_GPUS: 1.0},
        measured=(
            measured(seats(0.03, 32), FOUR_GPUS, 1),
            measured(seats(0.03, 4), FOUR_GPUS, 2),
            measured(seats(0.01, 16), FOUR_GPUS, 4),
        ),
        duration=HOUR,
    )

    best = choose(question).best

    assert best is not None
    assert best.candidate.setup.degree == degree
    assert best.candidate.scaling == Scaling(least=copies, most=copies)
    assert best.cost == pytest.approx(cost)


@pytest.mark.parametrize(
    ("prices", "separate", "together"),
    [
        ({FOUR_GPUS: 4.0}, 5840.0, 2920.0),
        ({FOUR_GPUS: 4.0, ONE_GPU: 1.0}, 1460.0, 2920.0),
    ],
    ids=["hosts of four GPUs alone", "hosts of one GPU as well"],
)
def test_two_models_on_one_host_against_two(
    prices: dict[str, float], separate: float, together: float
) -> None:
    """
    Each needs one copy on one GPU: 1 request a second takes one of 10 seats.

    Where all instances have four GPUs, two of 4 dollars an hour are 8 * 730 = 5,840 a
    month, and one is 2,920. Where there are instances of one GPU for 1 dollar, two of
    them are 1,460.
    """
    question = Question(
        model=MODEL,
        traffic=Constant(rate=1, lengths=Lengths(prompt=10, answer=50)),
        objective=Objective(ttft=0.5, tpot=0.1),
        instance_types=tuple(prices),
        engines=("vllm",),
        prices=prices,
        measured=tuple(
            measured(seats(0.02, 10), name, degree)
            for name, degree in (
                (ONE_GPU, 1),
                (FOUR_GPUS, 1),
                (FOUR_GPUS, 2),
                (FOUR_GPUS, 4),
            )
        ),
        duration=HOUR,
    )

    found = choose_together([question, question])

    assert found.host is not None
    assert found.separate_cost == pytest.approx(separate)
    assert found.host.monthly_cost == pytest.approx(together)
    assert [one.copies for one in found.host.tenants] == [1, 1]
    assert found.host.instances == 1
    assert found.is_shared == (together < separate)
