"""
The roofline, by numbers worked out by hand.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.fit import Assumptions, plan
from cdk_sagemaker_llm.simulation import estimate_service_times

# 2 GB of weights, 100,000 bytes of cache a token.
SMALL = ModelArchitecture.custom(
    parameters=10**9, kv_bytes_per_token=100_000, num_key_value_heads=8
)
# The same, of which a token passes a quarter.
EXPERTS = ModelArchitecture.custom(
    parameters=10**9,
    active_parameters=250_000_000,
    kv_bytes_per_token=100_000,
    num_key_value_heads=8,
)


def test_one_sequence_reads_the_weights_and_its_cache() -> None:
    """
    2 GB and 1,000 tokens of 100 kB on an A10G's 600 GB/s: 3.5 ms at the roof; a prompt
    token computes 2 x 10^9 of 70 x 10^12 operations: 28.6 microseconds.
    """
    found = estimate_service_times(
        plan(SMALL, "ml.g5.xlarge"),
        sequence_tokens=1000,
        bandwidth_share=1,
        arithmetic_share=1,
    )

    assert found.pace(1) == pytest.approx(2.1e9 / 600e9)
    assert found.pace(101) == pytest.approx(12.1e9 / 600e9)
    assert found.prompt_seconds_per_token == pytest.approx(2e9 / 70e12)


def test_what_engines_do_not_reach_is_left_out() -> None:
    """
    60 % of the bandwidth and half of the arithmetic are assumed.
    """
    found = estimate_service_times(plan(SMALL, "ml.g5.xlarge"), sequence_tokens=1000)

    assert found.pace(1) == pytest.approx(2.1e9 / 600e9 / 0.6)
    assert found.prompt_seconds_per_token == pytest.approx(2e9 / 70e12 / 0.5)


def test_a_split_copy_reads_and_computes_on_all_its_accelerators() -> None:
    """
    Over four each has a quarter of the weights and of the cache.
    """
    alone, split = (
        estimate_service_times(
            plan(SMALL, "ml.g5.12xlarge", tensor_parallel_degree=degree),
            sequence_tokens=1000,
        )
        for degree in (1, 4)
    )

    assert split.pace(1) == pytest.approx(alone.pace(1) / 4)
    assert split.prompt_seconds_per_token * 4 == pytest.approx(
        alone.prompt_seconds_per_token
    )


def test_few_sequences_read_few_experts() -> None:
    """
    One reads a quarter of the weights, two 7/16 of them, many all.
    """
    found = estimate_service_times(
        plan(EXPERTS, "ml.g5.xlarge"), sequence_tokens=0, bandwidth_share=1
    )

    assert found.pace(1) == pytest.approx(2e9 / 4 / 600e9)
    assert found.pace(2) == pytest.approx(2e9 * 7 / 16 / 600e9)
    assert found.pace(64) == pytest.approx(2e9 / 600e9, rel=1e-3)
    assert found.prompt_seconds_per_token == pytest.approx(0.5e9 / 70e12 / 0.5)


def test_large_batches_are_bound_by_arithmetic() -> None:
    """
    Without any cache 256 sequences compute longer than the weights take to read.
    """
    found = estimate_service_times(
        plan(SMALL, "ml.g5.xlarge"),
        sequence_tokens=0,
        bandwidth_share=1,
        arithmetic_share=0.5,
    )

    assert found.pace(256) == pytest.approx(256 * 2e9 / 35e12)


def test_bounds_and_words_come_from_the_plan() -> None:
    """
    It is always an estimate, and says of what.
    """
    made = plan(SMALL, "ml.g5.xlarge", assumptions=Assumptions(max_num_seqs=48))
    found = estimate_service_times(made)

    assert found.max_sequences == 48
    assert found.kv_tokens == made.kv_cache_tokens
    assert found.is_estimate
    assert found.source == (
        "roofline of 1 x A10G (NVIDIA A10G Tensor Core GPU data sheet, as made for "
        "AWS: 600 GB/s, 70 TFLOPS), of which 60% and 50% are assumed to be reached, "
        "with 2048 tokens a sequence"
    )


def test_fails_if_the_model_does_not_fit() -> None:
    """
    There is no cache then, and no copy.
    """
    large = plan("meta-llama/Llama-2-13b-hf", "ml.g5.xlarge")
    with pytest.raises(ValueError, match="must fit ml.g5.xlarge .* larger type"):
        estimate_service_times(large)


def test_fails_if_the_accelerator_is_not_known() -> None:
    """
    The way out is to measure.
    """
    new = InstanceType.of(
        "ml.p9.xlarge",
        accelerators=1,
        vcpus=8,
        memory_gib=64,
        accelerator_model="B9",
        accelerator_memory_gib=80,
    )
    with pytest.raises(ValueError, match="of B9 .* measure service times"):
        estimate_service_times(plan(SMALL, new))


@pytest.mark.parametrize("share", [0, -0.1, 1.01])
def test_fails_if_a_share_is_none(share: float) -> None:
    """
    More than the nameplate is not reached.
    """
    made = plan(SMALL, "ml.g5.xlarge")
    with pytest.raises(ValueError, match="bandwidth_share must be above 0 and at most"):
        estimate_service_times(made, bandwidth_share=share)
    with pytest.raises(
        ValueError, match="arithmetic_share must be above 0 and at most"
    ):
        estimate_service_times(made, arithmetic_share=share)


@pytest.mark.parametrize(
    ("gguf_type", "weights"), [(None, 2e9), ("F16", 2e9), ("Q8_0", 8.5 / 8 * 1e9)]
)
def test_a_gguf_file_is_read_as_it_is_stored(
    gguf_type: str | None, weights: float
) -> None:
    """
    A weight of Q8_0 has eight bits, and half of one of its block's scale.
    """
    found = estimate_service_times(
        plan(
            SMALL,
            "ml.g5.xlarge",
            engine="llama.cpp",
            context_length=2000,
            gguf_type=gguf_type,
        ),
        sequence_tokens=1000,
        bandwidth_share=1,
        arithmetic_share=1,
    )

    # The file itself adds some ten kilobytes.
    assert found.pace(1) == pytest.approx((weights + 1e8) / 600e9, rel=1e-3)
