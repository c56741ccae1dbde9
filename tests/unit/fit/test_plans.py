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
on ml.p4d.24xlarge: 8 x A100-40GB with 40 GiB, tensor parallel degree 1, vllm 0.11.0

GiB per accelerator             best  expected  cautious
  weights                      24.24     24.29     24.39  13,015,864,320 parameters
  runtime                       0.13      0.25      0.50  kernels, workspaces
  activations                   0.03      0.30      0.30  256 sequences, 2048 tokens \
in a step
  CUDA graphs                   0.00      0.67      0.80  the engine's share is 0.9
  KV cache of one sequence      3.12      3.12      3.12  4096 tokens
  total                        27.53     28.63     29.12
  capacity                     39.40     39.40     39.40  as CUDA shows it
  room for KV cache            11.06     10.62     10.27

fits: 8 per instance; each has 10.27 GiB for KV cache on each accelerator: \
13456 tokens, 3 sequences of 4096; expected are 13904 tokens, at best 14480
limit: accelerators"""
SPLIT = """\
GiB per accelerator             best  expected  cautious
  weights                      12.12     12.17     12.27  13,015,864,320 parameters, \
split over 2
  runtime                       0.43      2.10      2.50  kernels, workspaces, \
collectives
  activations                   0.03      0.30      0.30  256 sequences, 2048 tokens \
in a step
  CUDA graphs                   0.00      0.67      0.80  the engine's share is 0.9
  KV cache of one sequence      1.56      1.56      1.56  4096 tokens, split over 2
  total                        14.14     16.80     17.43
  capacity                     39.40     39.40     39.40  as CUDA shows it
  room for KV cache            22.88     20.89     20.39

fits: 4 per instance; each has 20.39 GiB for KV cache on each accelerator: \
53440 tokens, 13 sequences of 4096; expected are 54752 tokens, at best 59968
limit: accelerators"""
V11 = "0.11.0"


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
    Llama 2 13B on one A100: 0.9 of 39.4 GiB are vLLM's; 4096 tokens take 3.125.
    """
    found = plan(LLAMA_13B, P4D, engine_version=V11)

    assert found.terms == MemoryTerms(
        # 13,015,864,320 in two bytes, and 0.15 GiB.
        weights=26_192_789_913,
        runtime=536_870_912,
        # 256 x 32000 x 39 for logits.
        activations=319_488_000,
        # 40 layers of 0.02 GiB.
        cuda_graphs=858_993_459,
        # 4096 tokens, 40 layers, 40 heads of 128, key and value, in 16 bits.
        kv_cache=3_355_443_200,
    )
    assert figures(found) == {
        "capacity": 42_305_427_865,
        "kv_cache_room": 11_025_736_253,
        "kv_cache_tokens": 13_456,
        "loads": True,
        "fits": True,
        "replicas": 8,
        "concurrent_sequences": 3,
        "largest_batch": 3,
        "largest_context": 4096,
        "headroom": 11_041_842_381,
        "limit": "accelerators",
    }


def test_the_range_lies_around_what_is_expected() -> None:
    """
    What is promised is the cautious case.
    """
    found = plan(LLAMA_13B, P4D, engine_version=V11)
    rooms = [each.kv_cache_room for each in (found.best, found.expected)]

    assert rooms == [11_870_802_001, 11_401_545_891]
    assert found.kv_cache_room == found.cautious.kv_cache_room
    assert (found.engine, found.engine_version) == ("vllm", V11)


def test_a_copy_that_is_split_has_these_terms() -> None:
    """
    Half of weights and cache on each of two, and collectives between them.
    """
    found = plan(LLAMA_13B, P4D, tensor_parallel_degree=2, engine_version=V11)

    assert found.terms == MemoryTerms(
        weights=13_176_925_593,
        # 0.5 and 2 GiB.
        runtime=2_684_354_560,
        activations=319_488_000,
        cuda_graphs=858_993_459,
        kv_cache=1_677_721_600,
    )


def test_what_does_not_load_has_no_tokens_and_no_copies() -> None:
    """
    Llama 2 13B on an A10G of 22.05 GiB: short by 5.35 GiB before any cache.
    """
    assert figures(plan(LLAMA_13B, "ml.g5.2xlarge", engine_version=V11)) == {
        "capacity": 23_676_007_219,
        "kv_cache_room": -5_740_742_328,
        "kv_cache_tokens": 0,
        "loads": False,
        "fits": False,
        "replicas": 0,
        "concurrent_sequences": 0,
        "largest_batch": 0,
        "largest_context": 0,
        "headroom": -7_587_578_265,
        "limit": "weights",
    }


def test_what_may_fit_is_promised_nothing() -> None:
    """
    A share that holds a sequence in the best case alone.
    """
    taken = Assumptions(gpu_memory_utilization=0.703)
    found = plan(
        LLAMA_13B,
        P4D,
        tensor_parallel_degree=1,
        assumptions=taken,
        engine_version=V11,
    )

    assert (found.fits, found.may_fit, found.replicas) == (False, True, 0)
    assert "may fit: in the best case the KV cache holds" in found.explain()


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
        # 24.39 GiB of weights leave 11.07 of 35.46; one sequence takes 3.12.
        ({}, "accelerators"),
        ({"runtime_gib": 10.5}, "kv_cache"),
        ({"runtime_gib": 11.0}, "activations"),
        ({"runtime_gib": 11.5}, "runtime"),
        # The graphs are beyond the share, until they are more than a tenth.
        ({"cuda_graphs_gib": 3.9}, "accelerators"),
        ({"cuda_graphs_gib": 12.0}, "kv_cache"),
        ({"cuda_graphs_gib": 16.0}, "weights"),
        ({"gpu_memory_utilization": 0.61}, "weights"),
        ({"gpu_memory_utilization": 0.63}, "runtime"),
        ({"gpu_memory_utilization": 0.65}, "kv_cache"),
        ({"gpu_memory_utilization": 0.73}, "accelerators"),
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
    found = plan(
        LLAMA_13B,
        P4D,
        tensor_parallel_degree=1,
        assumptions=taken,
        engine_version=V11,
    )

    assert found.limit == limit
    assert found.fits == (limit == "accelerators")


def test_one_token_more_than_the_cache_holds_does_not_fit() -> None:
    """
    1,558 blocks of 16 tokens have a place on an A10G, and no block more.
    """
    most, one_more = (
        plan(
            "meta-llama/Llama-3.1-8B",
            "ml.g5.xlarge",
            context_length=tokens,
            engine_version=V11,
        )
        for tokens in (24_928, 24_929)
    )

    assert (most.fits, most.concurrent_sequences) == (True, 1)
    assert (one_more.fits, one_more.loads, one_more.limit) == (False, True, "kv_cache")
    assert (one_more.concurrent_sequences, one_more.largest_context) == (0, 24_928)


@pytest.mark.parametrize(
    ("cache", "fits"), [(11_025_736_253, True), (11_025_736_254, False)]
)
def test_the_last_byte_of_the_cache_can_be_used(cache: int, *, fits: bool) -> None:
    """
    A sequence that takes all of it fits, and one byte more does not.
    """
    found = plan(LLAMA_13B, P4D, engine_version=V11).cautious
    exact = replace(found, terms=replace(found.terms, kv_cache=cache))

    assert (exact.fits, exact.sequences) == (fits, int(fits))


def test_less_than_a_block_is_no_room() -> None:
    """
    Even where it would hold the sequence, whose padding is not counted at best.
    """
    found = plan(LLAMA_13B, P4D, engine_version=V11).best
    terms = replace(found.terms, kv_cache=1)
    empty = replace(found, terms=terms, kv_cache_room=1, kv_cache_tokens=0)

    assert (empty.loads, empty.fits, empty.sequences) == (False, False, 0)


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
    assert plan(LLAMA_13B, P4D, engine_version=V11).explain() == FITS


def test_a_plan_that_is_split_says_of_each_term_how() -> None:
    """
    The terms of one of the two accelerators.
    """
    found = plan(LLAMA_13B, P4D, tensor_parallel_degree=2, engine_version=V11)
    text = found.explain()

    assert text.endswith(SPLIT)
    assert "tensor parallel degree 2, vllm 0.11.0\n\n" in text


@pytest.mark.parametrize(
    ("model", "instance_type", "wanted", "verdict"),
    [
        (
            "meta-llama/Llama-3.1-8B",
            "ml.g5.xlarge",
            {"context_length": 131_072},
            (
                "  activations                   0.12      1.19      1.19  256 seq",
                (
                    "loads, but its KV cache holds at best 37968 tokens, fewer than "
                    "one sequence of 131072\nlimit: kv_cache"
                ),
            ),
        ),
        (
            LLAMA_13B,
            "ml.g5.2xlarge",
            {},
            (
                "with 22.35 GiB, tensor parallel degree 1, vllm 0.11.0",
                (
                    "does not load: at best 4.56 GiB short before any KV cache\n"
                    "limit: weights"
                ),
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
        engine_version=V11,
    )
    shown, end = verdict

    assert shown in found.explain()
    assert found.explain().endswith(end)
