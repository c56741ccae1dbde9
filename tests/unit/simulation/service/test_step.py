"""
A step and its parts, by numbers worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk_sagemaker_llm.simulation.service.step import (
    Copy,
    Step,
    factors,
    larger,
    resolved,
    smaller,
    step_of,
)

# All parts nothing, but where a test says otherwise.
NOTHING = Step(
    weights=0.0,
    idle=0.0,
    likeness=1.0,
    arithmetic=0.0,
    overlap=1.0,
    attention=0.0,
    cache=1e-30,
    windowed_cache=0.0,
    window=1.0,
    state=0.0,
    sequence=0.0,
    exchange=0.0,
    exchange_per_token=0.0,
    fixed=0.0,
    launch=0.0,
    chunk=8192.0,
    request=0.0,
)
COPY = Copy(
    bandwidth=1e12,
    operations=2e14,
    plain_operations=1e14,
    link=1e11,
    weight_bytes=1e10,
    operations_per_token=2e10,
    attention_per_pair=1e6,
    cache_bytes=1e5,
    windowed_cache_bytes=0.0,
    window=1.0,
    state_bytes=0.0,
    layers=40.0,
    hidden=5000.0,
    degree=1.0,
    idle=0.0,
    chunk=8192.0,
    experts=0.0,
)
FOUND = {
    "memory": 0.8,
    "arithmetic": 0.5,
    "attention": 0.4,
    "cache": 0.5,
    "latency": 1e-5,
    "link": 0.5,
    "step": 0.001,
    "sequence": 1e-5,
    "request": 0.02,
    "launch": 1e-4,
    "experts_memory": 0.5,
    "experts_arithmetic": 0.25,
    "likeness": 0.7,
    "overlap": 2.0,
    "layer": 1e-5,
    "layer_experts": 2e-5,
    "layer_latent": 4e-5,
    "layer_states": 8e-5,
    "layer_eager": 1e-4,
    "launch_experts": 3e-4,
    "launch_latent": 5e-4,
    "split": 0.002,
}


def test_weights_and_cache_are_read_and_sequences_cost_time() -> None:
    """
    10 ms of weights, 1 ms and as much again of two sequences' cache of 1,000 tokens,
    0.5 ms each for their states and for the host, and 3 ms of the engine's own.
    """
    step = replace(
        NOTHING, weights=0.01, cache=1e-6, state=2.5e-4, sequence=2.5e-4, fixed=0.003
    )

    assert step.seconds(2, 1000) == pytest.approx(0.01 + 0.002 + 0.001 + 0.003)


@pytest.mark.parametrize(
    ("overlap", "seconds"), [(1.0, 0.007), (2.0, 0.005), (60.0, 0.004)]
)
def test_reading_and_computing_overlap(overlap: float, seconds: float) -> None:
    """
    3 ms of weights and 4 ms of products: one after the other, as a right angle has it,
    or the longer one alone.
    """
    step = replace(NOTHING, weights=0.003, arithmetic=0.001, overlap=overlap)

    assert step.products(4) == pytest.approx(seconds, rel=1e-3)


@pytest.mark.parametrize(
    ("likeness", "tokens", "touched"),
    [(1.0, 1, 0.25), (1.0, 2, 0.4375), (0.5, 4, 0.4375), (1.0, 64, 1.0)],
)
def test_few_tokens_touch_few_experts(
    likeness: float, tokens: int, touched: float
) -> None:
    """
    One passes a quarter of the weights, two 7/16 of them, and many all; if they choose
    alike, four touch what two by chance do.
    """
    step = replace(NOTHING, weights=0.01, idle=0.75, likeness=likeness)

    assert step.products(tokens) == pytest.approx(0.01 * touched, rel=1e-6)


def test_a_window_bounds_what_is_read_and_attended() -> None:
    """
    Of half of the layers 100 tokens are looked back at, and no more.
    """
    step = replace(
        NOTHING, cache=1e-6, windowed_cache=1e-6, window=100.0, attention=1e-9
    )

    assert step.seconds(1, 1000) == pytest.approx(1e-3 + 1e-4)
    assert step.seconds(1, 50) == pytest.approx(1e-4)
    assert step.lone_prompt_seconds(1000) == pytest.approx(1e-6 * (500 + 50))


def test_a_prompt_computes_and_reads_no_weights_for_itself() -> None:
    """
    2,000 tokens of 10 microseconds are 20 ms beside 5 ms of weights: with nine tokens'
    0.09 ms they come to 20.09 ms, where the step has been 5 ms without them.
    """
    step = replace(NOTHING, weights=0.005, arithmetic=1e-5, overlap=60.0)

    assert step.lone_prompt_seconds(2000) == pytest.approx(0.02001 - 0.005, rel=1e-3)
    assert step.prompt_seconds(2000) == pytest.approx(0.02008 - 0.005, rel=1e-3)


def test_short_prompts_share_a_step_and_long_ones_take_several() -> None:
    """
    The launch of a step is 8 ms: 128 tokens take an eighth of it under load and all of
    it alone; 16,384 take two.
    """
    step = replace(NOTHING, launch=0.008)

    assert step.prompt_seconds(128) == pytest.approx(0.001)
    assert step.lone_prompt_seconds(128) == pytest.approx(0.008)
    assert step.prompt_seconds(16_384) == pytest.approx(0.016)


def test_a_copy_is_made_of_nameplates_and_what_is_reached_of_them() -> None:
    """
    10 GB at 80 % of 1 TB/s, 20 GFLOP at half of 200 TFLOPS, attention at 40 % of 100
    TFLOPS, 100 kB of cache at half of the bandwidth; 40 layers of 10 microseconds.
    """
    step = step_of(COPY, FOUND)

    assert step.weights == pytest.approx(0.0125)
    assert step.arithmetic == pytest.approx(2e-4)
    assert step.attention == pytest.approx(2.5e-8)
    assert step.cache == pytest.approx(2e-7)
    assert step.fixed == pytest.approx(0.001 + 40 * 1e-5)
    assert step.launch == pytest.approx(40 * 1e-4)
    assert (step.exchange, step.exchange_per_token) == (0, 0)
    assert (step.overlap, step.request, step.sequence) == (3.0, 0.02, 1e-5)


def test_split_copies_exchange() -> None:
    """
    Twice a layer, of 10 microseconds, and 10,000 bytes of a token twice over, of which
    three quarters leave an accelerator of four, at half of 100 GB/s.
    """
    step = step_of(replace(COPY, degree=4.0), FOUND)

    assert step.exchange == pytest.approx(80 * 1e-5)
    assert step.exchange_per_token == pytest.approx(80 * 20_000 * 0.75 / 5e10)
    assert step.fixed == pytest.approx(0.001 + 40 * 1e-5 + 0.002)


def test_kinds_of_models_take_more_of_each_layer() -> None:
    """
    Experts are read and multiplied less well, too.
    """
    kinds = ("experts", "latent", "states", "eager")
    plain = step_of(COPY, FOUND)
    found = {kind: step_of(replace(COPY, **{kind: 1.0}), FOUND) for kind in kinds}

    more = [found[kind].fixed - plain.fixed for kind in kinds]
    assert more == pytest.approx([40 * 2e-5, 40 * 4e-5, 40 * 8e-5, 40 * 1e-4])
    assert found["experts"].weights == pytest.approx(2 * plain.weights)
    assert found["experts"].arithmetic == pytest.approx(4 * plain.arithmetic)
    launches = [found[kind].launch for kind in kinds]
    assert launches == pytest.approx([40 * 4e-4, 40 * 6e-4, 40 * 1e-4, 40 * 1e-4])
    states = step_of(replace(COPY, state_bytes=1e8), FOUND)
    assert states.state == pytest.approx(2 * 1e8 / 5e11)


def test_terms_are_products_of_constants_and_unknown_ones_are_one() -> None:
    """
    A GPU or format that nobody measured is as the others are.
    """
    names = factors("H100", "fp8", "vllm-v1", by_pcie=False)
    constants = {"memory": 0.8, "memory:fp8": 0.5, "latency:nvlink": 8e-6}

    found = resolved(constants, names)

    assert found["memory"] == pytest.approx(0.4)
    assert found["latency"] == 8e-6
    assert found["link"] == 1
    inside = factors("H100", "fp8", "vllm-v1", by_pcie=True, in_process=True)
    assert inside["link"] == ("link:pcie",)
    assert inside["request"] == ("request:in-process",)


def test_the_larger_and_the_smaller_number() -> None:
    """
    Also where both are the same.
    """
    assert [larger(1, 2), larger(2, 1), larger(3, 3)] == [2, 2, 3]
    assert [smaller(1, 2), smaller(2, 1), smaller(3, 3)] == [1, 1, 3]
