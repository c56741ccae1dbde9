"""
A plan in numbers and in words, each written out.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk_sagemaker_llm.fit import (
    Assumptions,
    MemoryTerms,
    Plan,
    ResourceRequirements,
    plan,
)

LLAMA_13B = "meta-llama/Llama-2-13b-hf"
LLAMA_70B = "meta-llama/Llama-2-70b-hf"
P4D = "ml.p4d.24xlarge"
FITS = """\
LlamaForCausalLM, 13,015,864,320 parameters in 16 bits, 4096 tokens of context
on ml.p4d.24xlarge: 8 x A100-40GB with 40 GiB, tensor parallel degree 1

per accelerator                GiB
  weights                    24.24  13,015,864,320 parameters
  runtime                     0.60  CUDA context, kernels
  activations                 0.61  a prefill of 4096 tokens
  CUDA graphs                 3.00  beyond the engine's share of 0.9
  KV cache of one sequence    3.12  4096 tokens
  total                      31.58
  capacity                   40.00

fits: 8 per instance; each has 10.54 GiB for KV cache on each accelerator: \
13808 tokens, 3 sequences of 4096
limit: accelerators"""
SPLIT = """\
per accelerator                GiB
  weights                    12.12  13,015,864,320 parameters, split over 2
  runtime                     1.10  CUDA context, kernels, collectives
  activations                 0.45  a prefill of 4096 tokens
  CUDA graphs                 3.00  beyond the engine's share of 0.9
  KV cache of one sequence    1.56  4096 tokens, split over 2
  total                      18.24
  capacity                   40.00

fits: 4 per instance; each has 22.32 GiB for KV cache on each accelerator: \
58512 tokens, 14 sequences of 4096
limit: accelerators"""


def figures(found: Plan) -> dict[str, object]:
    """
    Return every figure of a plan.
    """
    names = (
        "capacity",
        "kv_cache_room",
        "kv_cache_tokens",
        "loads",
        "fits",
        "replicas",
        "concurrent_sequences",
        "largest_batch",
        "largest_context",
        "headroom",
        "limit",
    )
    return {name: getattr(found, name) for name in names}


def test_a_copy_that_fits_has_these_figures() -> None:
    """
    Llama 2 13B on one A100: 36 GiB are vLLM's, and 4096 tokens take 3.125 of them.
    """
    found = plan(LLAMA_13B, P4D)

    assert found.terms == MemoryTerms(
        weights=26_031_728_640,
        runtime=644_245_094,
        # 4096 x (6 x 5120 + 3 x 13824) x 2, and 256 x 32000 x 4 x 2 for logits.
        activations=656_932_864,
        cuda_graphs=3_221_225_472,
        # 4096 tokens, 40 layers, 40 heads of 128, key and value, in 16 bits.
        kv_cache=3_355_443_200,
    )
    assert figures(found) == {
        "capacity": 42_949_672_960,
        "kv_cache_room": 11_321_799_066,
        "kv_cache_tokens": 13_808,
        "loads": True,
        "fits": True,
        "replicas": 8,
        "concurrent_sequences": 3,
        "largest_batch": 3,
        "largest_context": 4096,
        "headroom": 9_040_097_690,
        "limit": "accelerators",
    }


def test_a_copy_that_is_split_has_these_terms() -> None:
    """
    Half of weights, cache and MLP on each of two, and collectives between them.
    """
    assert plan(LLAMA_13B, P4D, tensor_parallel_degree=2).terms == MemoryTerms(
        weights=13_015_864_320,
        runtime=1_181_116_006,
        # 4096 x (6 x 5120 + 3 x 13824 / 2) x 2, and the logits.
        activations=487_063_552,
        cuda_graphs=3_221_225_472,
        kv_cache=1_677_721_600,
    )


def test_what_does_not_load_has_no_tokens_and_no_copies() -> None:
    """
    Llama 2 13B on an A10G of 22.35 GiB: short by 6.11 GiB before any cache.
    """
    assert figures(plan(LLAMA_13B, "ml.g5.2xlarge")) == {
        "capacity": 23_998_129_766,
        "kv_cache_room": -6_556_002_304,
        "kv_cache_tokens": 0,
        "loads": False,
        "fits": False,
        "replicas": 0,
        "concurrent_sequences": 0,
        "largest_batch": 0,
        "largest_context": 0,
        "headroom": -9_911_445_504,
        "limit": "weights",
    }


def test_a_batch_is_no_larger_than_the_engines_most() -> None:
    """
    The cache holds three sequences; a step serves two.
    """
    few = Assumptions(max_num_seqs=2)
    found = plan(LLAMA_13B, P4D, assumptions=few)

    assert (found.concurrent_sequences, found.largest_batch) == (3, 2)


@pytest.mark.parametrize(
    ("changed", "limit"),
    [
        # 24.24 GiB of weights leave 11.76 of 36; then 11.15 and 8.03 of the rest.
        ({}, "accelerators"),
        ({"runtime_gib": 11.0}, "kv_cache"),
        ({"runtime_gib": 11.5}, "activations"),
        ({"runtime_gib": 12.0}, "runtime"),
        # The graphs are beyond the share, until they are more than a tenth.
        ({"cuda_graphs_gib": 4.0}, "accelerators"),
        ({"cuda_graphs_gib": 12.0}, "kv_cache"),
        ({"cuda_graphs_gib": 16.0}, "weights"),
        ({"gpu_memory_utilization": 0.6}, "weights"),
        ({"gpu_memory_utilization": 0.61}, "runtime"),
        ({"gpu_memory_utilization": 0.63}, "activations"),
        ({"gpu_memory_utilization": 0.65}, "kv_cache"),
        ({"gpu_memory_utilization": 0.72}, "accelerators"),
    ],
    ids=str,
)
def test_the_term_that_is_too_much_is_the_limit(
    changed: dict[str, float], limit: str
) -> None:
    """
    The first of weights, runtime and activations that nothing is left after.
    """
    taken = Assumptions(**changed)  # type: ignore[arg-type] # none of the whole numbers
    found = plan(LLAMA_13B, P4D, tensor_parallel_degree=1, assumptions=taken)

    assert found.limit == limit
    assert found.fits == (limit == "accelerators")


def test_one_token_more_than_the_cache_holds_does_not_fit() -> None:
    """
    1,552 blocks of 16 tokens have a place on an A10G, and no block more.
    """
    taken = Assumptions(max_num_batched_tokens=4096)
    most, one_more = (
        plan(
            "meta-llama/Llama-3.1-8B",
            "ml.g5.xlarge",
            context_length=tokens,
            assumptions=taken,
        )
        for tokens in (24_832, 24_833)
    )

    assert (most.fits, most.concurrent_sequences) == (True, 1)
    assert (one_more.fits, one_more.loads, one_more.limit) == (False, True, "kv_cache")
    assert (one_more.concurrent_sequences, one_more.largest_context) == (0, 24_832)


@pytest.mark.parametrize(
    ("cache", "fits"), [(11_321_799_066, True), (11_321_799_067, False)]
)
def test_the_last_byte_of_the_cache_can_be_used(cache: int, *, fits: bool) -> None:
    """
    A sequence that takes all of it fits, and one byte more does not.
    """
    found = plan(LLAMA_13B, P4D)
    exact = replace(found, terms=replace(found.terms, kv_cache=cache))

    assert (exact.fits, exact.concurrent_sequences) == (fits, int(fits))


@pytest.mark.parametrize(
    ("weights", "limit"),
    # Nine tenths of 40 GiB; 644,245,094 of runtime fill up what is left.
    [(38_654_705_664, "weights"), (38_654_705_663, "runtime")],
)
def test_the_term_that_takes_the_last_byte_is_the_limit(
    weights: int, limit: str
) -> None:
    """
    Nothing is left after it.
    """
    found = plan(LLAMA_13B, P4D)

    assert replace(found, terms=replace(found.terms, weights=weights)).limit == limit


@pytest.mark.parametrize(
    ("degree", "copies", "cpus"),
    # 96 cores and 8 accelerators: 0.8 of each share of 12, 24, 48, 60 and 96.
    [(1, 8, 9), (2, 4, 19), (4, 2, 38), (5, 1, 48), (8, 1, 76)],
)
def test_copies_ask_for_their_share_of_the_host(
    degree: int, copies: int, cpus: int
) -> None:
    """
    Five accelerators of eight are one copy's, and three are left.
    """
    found = plan(LLAMA_13B, P4D, tensor_parallel_degree=degree)

    assert found.replicas == copies
    assert found.resources == ResourceRequirements(
        copies=copies, accelerators=degree, cpus=cpus, memory_mib=1024
    )


def test_what_does_not_fit_still_asks_for_one_copy() -> None:
    """
    For whom the cautious figures are wrong: never fewer than one core.
    """
    found = plan(LLAMA_13B, "ml.g4dn.xlarge")

    assert found.replicas == 0
    assert found.resources == ResourceRequirements(
        copies=1, accelerators=1, cpus=3, memory_mib=1024
    )


def test_a_plan_that_fits_is_explained() -> None:
    """
    Every term, to the hundredth of a GiB, and what comes of it.
    """
    assert plan(LLAMA_13B, P4D).explain() == FITS


def test_a_plan_that_is_split_says_of_each_term_how() -> None:
    """
    The terms of one of the two accelerators.
    """
    text = plan(LLAMA_13B, P4D, tensor_parallel_degree=2).explain()

    assert text.endswith(SPLIT)
    assert "tensor parallel degree 2\n\n" in text


@pytest.mark.parametrize(
    ("model", "instance_type", "wanted", "verdict"),
    [
        (
            "meta-llama/Llama-3.1-8B",
            "ml.g5.xlarge",
            {"context_length": 131_072},
            (
                "  activations                 1.28  a prefill of 8192 tokens",
                (
                    "loads, but its KV cache holds 20608 tokens, fewer than one "
                    "sequence of 131072\nlimit: kv_cache"
                ),
            ),
        ),
        (
            LLAMA_13B,
            "ml.g5.2xlarge",
            {},
            (
                "with 22.35 GiB, tensor parallel degree 1",
                "does not load: 6.11 GiB short before any KV cache\nlimit: weights",
            ),
        ),
        (
            LLAMA_13B,
            "ml.g5.12xlarge",
            {"tensor_parallel_degree": 8},
            (
                "tensor parallel degree 8",
                (
                    "does not start: ml.g5.12xlarge has 4 accelerators, fewer than 8\n"
                    "limit: tensor_parallel_degree"
                ),
            ),
        ),
        (
            LLAMA_13B,
            P4D,
            {"tensor_parallel_degree": 3, "weight_bits": 4},
            (
                "parameters in 4 bits",
                (
                    "does not start: 3 does not divide the 40 attention heads\n"
                    "limit: tensor_parallel_degree"
                ),
            ),
        ),
    ],
    ids=["kv_cache", "weights", "accelerators", "heads"],
)
def test_a_plan_that_fails_says_why(
    model: str, instance_type: str, wanted: dict[str, int], verdict: tuple[str, str]
) -> None:
    """
    What is short, and by how much.
    """
    found = plan(
        model,
        instance_type,
        weight_bits=wanted.get("weight_bits", 16),
        context_length=wanted.get("context_length"),
        tensor_parallel_degree=wanted.get("tensor_parallel_degree"),
    )
    shown, end = verdict

    assert shown in found.explain()
    assert found.explain().endswith(end)
