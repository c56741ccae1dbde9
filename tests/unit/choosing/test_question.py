"""
What a question takes, and what is assumed of accelerations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.checkpoints import quantized_copies
from cdk_sagemaker_llm.choosing import Objective, Question, Speedups, choose
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.simulation import (
    Constant,
    DayCurve,
    Lengths,
    ServiceTimes,
    Users,
)

LENGTHS = Lengths(prompt=500, answer=150)
OBJECTIVE = Objective(ttft=1, tpot=0.05)
STEADY = Constant(rate=1, lengths=LENGTHS)


def asked(**fields: Any) -> Question:  # noqa: ANN401 - any field of a question
    """
    Ask for a model under a steady load.
    """
    fields = {"traffic": STEADY, "objective": OBJECTIVE, **fields}
    return Question(model="HuggingFaceH4/zephyr-7b-beta", **fields)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Objective(ttft=0, tpot=1), "ttft must be above 0 s, got 0"),
        (lambda: Objective(ttft=1, tpot=-1), "tpot must be above 0 s, got -1"),
        (
            lambda: Objective(ttft=1, tpot=1, share=1.1),
            "share must be above 0 and at most 1, got 1.1",
        ),
        (lambda: Objective(ttft=1, tpot=1, requests=1), "requests must be below 1"),
        (lambda: asked(budget=0), "budget must be above 0, got 0"),
        (
            lambda: asked(prices={"ml.g5.xlarge": -1.0}),
            "prices must be from 0 to 1,000,000 US dollars an hour, got -1 for",
        ),
        (lambda: asked(prices={"ml.g5.xlarge": 1e308}), "got 1e\\+308 for ml.g5.xla"),
        (
            lambda: asked(revision="no commit"),
            "revision must be a commit, branch or tag such as 'main', without blanks",
        ),
        (lambda: asked(revision=""), "revision must be a commit, branch or tag"),
        (lambda: asked(duration=59), "duration must be at least a minute, got 59 s"),
        (lambda: asked(engines=()), "engines must name at least one, got none"),
        (lambda: asked(instance_types=("ml.g5.huge",)), "instance_types: "),
        (lambda: asked(traffic=7), "traffic must be requests at a rate"),
        (lambda: Speedups(shared_prefix=1), "shared_prefix must be at least 0 and"),
        (
            lambda: Speedups(drafted_tokens=3),
            "drafted_tokens and acceptance must be given together, got 3 and 0",
        ),
        (lambda: Speedups(adapter_cost=0.9), "adapter_cost must be at least 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_asked_is_refused(
    wrong: Callable[[], object], said: str
) -> None:
    """
    In the words of who asks.
    """
    with pytest.raises(ValueError, match=said):
        wrong()


def test_requests_beyond_the_context_are_refused() -> None:
    """
    Of the model's 32,768 tokens.
    """
    lengths = Lengths(prompt=32_768, answer=1)

    with pytest.raises(ValueError, match="must fit the model's 32768 tokens"):
        choose(asked(traffic=Constant(rate=1, lengths=lengths), duration=60.0))


def test_nothing_to_do_is_refused() -> None:
    """
    Neither a load without requests, nor a model that writes no text.
    """
    with pytest.raises(ValueError, match="traffic must have requests, got none in 60"):
        choose(asked(traffic=Constant(rate=0, lengths=LENGTHS), duration=60.0))
    encoder = Question(
        model="BAAI/bge-m3", traffic=STEADY, objective=OBJECTIVE, duration=60.0
    )
    with pytest.raises(ValueError, match="model must write text, which BAAI/bge-m3"):
        choose(encoder)


def test_drafts_end_at_their_first_mistake() -> None:
    """
    Of 2 tokens, each accepted in half of the cases, a step yields 1 + 1/2 + 1/4.
    """
    times = ServiceTimes(
        decode=((1, 0.07),), max_sequences=8, prompt_seconds_per_token=0.001
    )
    speedups = Speedups(drafted_tokens=2, acceptance=0.5, shared_prefix=0.75)

    sped = speedups.applied(times)

    assert sped.pace(1) == pytest.approx(0.04)
    assert sped.prompt_seconds_per_token == pytest.approx(0.00025)
    assert [note.partition(":")[0] for note in speedups.notes()] == ["assumed"] * 2
    assert list(Speedups().notes()) == []
    assert Speedups().applied(times) is times


def test_a_draft_of_any_length_is_reckoned_at_once() -> None:
    """
    A step yields what the series comes to, and one token without a draft.
    """
    assert Speedups().tokens_a_step == 1
    assert Speedups(drafted_tokens=2, acceptance=0.5).tokens_a_step == 1.75
    long = Speedups(drafted_tokens=100_000_000, acceptance=0.5)
    assert long.tokens_a_step == pytest.approx(2.0)


def test_a_day_is_few_levels_that_are_none_too_low() -> None:
    """
    64 at most; each minute's is at least its rate, and the peak is the peak.
    """
    day = DayCurve.between(1, 10, lengths=LENGTHS)

    load = Load.of(asked(traffic=day, duration=86400.0))

    levels = [load.levels[number] for number in load.minutes]
    assert 24 < len(load.levels) <= 64
    assert max(levels) == pytest.approx(10, rel=0.001)
    assert sum(levels) / len(levels) == pytest.approx(5.5, rel=0.02)
    assert sum(levels) / len(levels) >= 5.5
    assert load.levels[load.tops[14]] == max(levels)
    assert load.levels[load.peak(1.0)] == max(levels)
    assert load.levels[load.peak(0.5)] == pytest.approx(5.5, rel=0.05)


def test_users_are_one_level() -> None:
    """
    How many requests they make follows from how fast they are answered.
    """
    users = Users(count=40, think=20, lengths=LENGTHS)

    load = Load.of(asked(traffic=users), factor=2.0)

    assert (load.levels, load.think) == ((80.0,), 20)


def test_quantized_copies_are_of_the_same_model() -> None:
    """
    Those of its own organisation come first; a model that is none has none.
    """
    assert quantized_copies("Qwen/Qwen3-8B") == [
        "Qwen/Qwen3-8B-AWQ",
        "Qwen/Qwen3-8B-FP8",
    ]
    assert quantized_copies("meta-llama/Llama-3.3-70B-Instruct") == [
        "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic",
        "RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16",
        "RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8",
    ]
    assert quantized_copies("mistralai/Mistral-7B-v0.1") == []
