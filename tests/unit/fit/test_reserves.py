"""
What SGLang reserves, and how much its pool is.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.fit import Assumptions, Case, plan
from cdk_sagemaker_llm.fit.releases import (
    SGLANG_0_5_5,
    SGLANG_0_5_10,
    SGLANG_0_5_22,
    Reserve,
    recorded_lengths,
    release_of,
)
from cdk_sagemaker_llm.fit.setting import GIB

LLAMA_8B = "meta-llama/Llama-3.1-8B"


@pytest.mark.parametrize(
    ("gib", "tokens", "few", "many"),
    [
        (16, 2048, 8, 8),
        (19.9, 2048, 8, 8),
        (20, 2048, 24, 80),
        (34.9, 2048, 24, 80),
        (35, 4096, 32, 160),
        (59.9, 4096, 32, 160),
        (60, 8192, 256, 512),
        (159.9, 8192, 256, 512),
        (160, 16384, 512, 512),
    ],
)
def test_steps_and_graphs_grow_with_the_gpu(
    gib: float, tokens: int, few: int, many: int
) -> None:
    """
    From four accelerators on graphs are recorded for larger batches.
    """
    assert SGLANG_0_5_10.prefill_tokens(gib) == tokens
    assert SGLANG_0_5_10.graph_batch(gib, 3) == few
    assert SGLANG_0_5_10.graph_batch(gib, 4) == many


def test_gpus_of_24_gib_take_larger_steps_since_0_5_22() -> None:
    """
    4,096 tokens, and graphs for 48 and 160.
    """
    assert SGLANG_0_5_22.prefill_tokens(22.35) == 4096
    assert SGLANG_0_5_22.graph_batch(22.35, 1) == 48
    assert SGLANG_0_5_22.graph_batch(22.35, 4) == 160
    assert SGLANG_0_5_22.prefill_tokens(16) == SGLANG_0_5_5.prefill_tokens(16)


@pytest.mark.parametrize(
    ("reserve", "gib", "degree", "share"),
    [
        # 512 + 2048 * 1.5 + 24 * 2 + 128 = 3760 of 22886.4 MiB.
        (SGLANG_0_5_5, 22.35, 1, 0.836),
        # 42 lengths of prompts more, 8 MiB each.
        (SGLANG_0_5_10, 22.35, 1, 0.821),
        # 512 + 4096 * 1.5 + 48 * 2 + 128 + 50 * 8 = 7280.
        (SGLANG_0_5_22, 22.35, 1, 0.682),
        # 512 + 8192 * 1.5 + 256 * 2 + 128 = 13440 of 81920.
        (SGLANG_0_5_5, 80, 1, 0.836),
        # 58 lengths: 464 MiB.
        (SGLANG_0_5_10, 80, 1, 0.83),
        # Graphs for 512, and eight times 128: 14848.
        (SGLANG_0_5_5, 80, 8, 0.819),
    ],
)
def test_the_share_is_what_the_reserve_leaves(
    reserve: Reserve, gib: float, degree: int, share: float
) -> None:
    """
    In three digits, as SGLang rounds it.
    """
    tokens = reserve.prefill_tokens(gib)

    assert reserve.share(gib, degree, tokens, is_latent=False) == share


def test_latent_attention_reserves_more_for_prompts() -> None:
    """
    1.5 GiB instead of 8 MiB a length: 13440 + 1536 of 81920 MiB.
    """
    assert SGLANG_0_5_10.share(80, 1, 8192, is_latent=True) == 0.817
    assert SGLANG_0_5_5.share(80, 1, 8192, is_latent=True) == 0.836


@pytest.mark.parametrize(
    ("gib", "share"),
    # 512 + 3072 + 512 + 128 + 42 * 8 = 4560 MiB are less than 10 GiB of a large GPU.
    [(60, 0.926), (60.1, 0.834)],
)
def test_a_large_gpu_has_a_least_reserve(gib: float, share: float) -> None:
    """
    Beyond 60 GiB.
    """
    assert SGLANG_0_5_10.share(gib, 1, 2048, is_latent=False) == share


def test_a_small_step_reserves_as_2048_tokens_do() -> None:
    """
    And the reserve is no more than there is.
    """
    usual = SGLANG_0_5_5.share(22.35, 1, 2048, is_latent=False)

    assert SGLANG_0_5_5.share(22.35, 1, 16, is_latent=False) == usual
    assert SGLANG_0_5_5.share(22.35, 1, 100_000, is_latent=False) == 0


@pytest.mark.parametrize(
    ("longest", "count"),
    [(3, 0), (4, 1), (32, 8), (2048, 42), (4096, 50), (4607, 50), (8192, 58)],
)
def test_lengths_are_recorded_up_to_a_step(longest: int, count: int) -> None:
    """
    Closer together the shorter they are.
    """
    assert recorded_lengths(longest) == count


@pytest.mark.parametrize(
    ("version", "reserve"),
    [
        ("0.5.5", SGLANG_0_5_5),
        ("0.5.9", SGLANG_0_5_5),
        ("0.5.10", SGLANG_0_5_10),
        ("0.5.21.post1", SGLANG_0_5_10),
        ("0.5.22", SGLANG_0_5_22),
        ("1.0", SGLANG_0_5_22),
        (None, SGLANG_0_5_22),
    ],
)
def test_each_release_has_its_own(version: str | None, reserve: Reserve) -> None:
    """
    By three numbers; one that is not known reserves as the newest.
    """
    found = release_of("sglang", version)

    assert found.reserve == reserve
    assert found.least_reserve == (SGLANG_0_5_5 if version is None else None)


def test_a_release_that_is_not_known_is_no_error_for_what_an_old_one_holds() -> None:
    """
    At best it reserves as the oldest does.
    """
    found = plan(LLAMA_8B, "ml.g5.xlarge", engine="sglang").setting

    assert [found.share(case) for case in Case] == [0.836, 0.682, 0.682]


def test_the_pool_is_a_share_of_what_is_free_before_loading() -> None:
    """
    22.05 GiB less 0.5 of the CUDA context, of which 0.821 are weights and cache.
    """
    found = plan(LLAMA_8B, "ml.g5.xlarge", engine="sglang", engine_version="0.5.19")
    weights = 8_030_261_248 * 2 + int(0.05 * GIB)

    pool = int((found.capacity - GIB // 2) * 0.821) - weights
    assert found.expected.kv_cache_room == pool
    assert found.expected.kv_cache_tokens == pool // (131072 * 16) * 16 == 21984


def test_the_pool_is_no_more_than_graphs_and_activations_leave() -> None:
    """
    With a share that reserves too little for them.
    """
    taken = Assumptions(gpu_memory_utilization=0.99)
    found = plan(LLAMA_8B, "ml.g5.xlarge", engine="sglang", assumptions=taken)

    terms = found.expected.terms
    left = found.capacity - terms.fixed - terms.cuda_graphs
    assert found.expected.kv_cache_room == left


def test_what_reads_images_leaves_less() -> None:
    """
    0.95 of the share, and less or more by the size of its tower.
    """
    found = plan("google/gemma-3-4b-it", "ml.g5.xlarge", engine="sglang").setting
    plain = 0.682

    assert [found.share(case) for case in Case] == pytest.approx(
        [0.836 * 0.9975, plain * 0.95, plain * 0.76]
    )


def test_states_have_a_pool_of_their_own() -> None:
    """
    0.9 parts for states, of which a sequence takes three, and one for the cache.
    """
    found = plan(
        "Qwen/Qwen3-Next-80B-A3B-Instruct",
        "ml.p5.48xlarge",
        engine="sglang",
        engine_version="0.5.19",
        tensor_parallel_degree=4,
    ).expected
    room = int((plan_capacity() - int(2.35 * GIB)) * 0.819) - found.terms.weights

    assert found.kv_cache_room == int(room / 1.9)
    state = 36 * 548_864 * 2 // 4
    assert found.most_sequences == (room - int(room / 1.9)) // state // 3
    by_cache = found.kv_cache_room // found.terms.kv_cache
    assert found.sequences == min(by_cache, found.most_sequences)


def plan_capacity() -> int:
    """
    What CUDA shows of an H100.
    """
    return int(79.19 * GIB)
