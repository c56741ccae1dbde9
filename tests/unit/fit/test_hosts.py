"""
Plans of llama.cpp and of TEI, on GPUs and on hosts without any.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import ModelArchitecture, ResourceRequirements
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.cli.output.plans import Choice, show_plan, show_ranking
from cdk_sagemaker_llm.fit import Assumptions, plan
from cdk_sagemaker_llm.fit.setting import GIB, visible_bytes
from tests.unit.cli.output.results import NO_PRICES, price_list

LLAMA_8B = "meta-llama/Llama-3.1-8B"
BGE = "BAAI/bge-large-en-v1.5"
CPU = InstanceType.of("ml.m7i.4xlarge", accelerators=0, vcpus=16, memory_gib=64)


def test_a_gguf_file_has_its_own_bits() -> None:
    """
    4.8944 of them, and 512 tokens of a step have logits in 32 bits.
    """
    found = plan(
        LLAMA_8B,
        "ml.g6.xlarge",
        engine="llama.cpp",
        gguf_type="Q4_K_M",
        context_length=8192,
    )

    assert found.best.terms.items() == {
        "weights": int(8_030_261_248 * 4.8944 / 8),
        "runtime": int(0.4 * GIB),
        "activations": 512 * 128_256 * 4,
        "cuda_graphs": 0,
        "kv_cache": GIB,
    }
    assert found.weight_bits == 5
    assert found.concurrent_sequences == 4
    assert found.expected.terms.activations == int(512 * 128_256 * 4.8)
    assert found.cautious.terms.activations == 512 * 128_256 * 8


@pytest.mark.parametrize(
    ("degree", "slices"),
    # 32 layers and the head.
    [(1, 33), (2, 17), (3, 11), (4, 9)],
)
def test_layers_are_split_whole(degree: int, slices: int) -> None:
    """
    Over any number of accelerators, whatever the heads are.
    """
    found = plan(
        LLAMA_8B,
        "ml.g6.12xlarge",
        engine="llama.cpp",
        gguf_type="F16",
        tensor_parallel_degree=degree,
    )
    whole = int(8_030_261_248 * 16.0005 / 8)

    assert found.obstacle == ""
    assert found.best.terms.weights == whole * slices // 33
    assert found.best.terms.runtime == int(0.4 * GIB)


def test_what_one_accelerator_does_not_hold_several_do() -> None:
    """
    70B in eight bits take four of L4.
    """
    found = plan(
        "meta-llama/Llama-3.3-70B-Instruct",
        "ml.g6.12xlarge",
        engine="llama.cpp",
        gguf_type="Q8_0",
    )

    assert (found.tensor_parallel_degree, found.replicas) == (4, 1)


def test_a_host_has_most_of_its_memory() -> None:
    """
    0.94 of it, as Linux shows it.
    """
    assert visible_bytes(CPU) == int(64 * 0.94 * GIB)


def test_a_host_holds_one_copy_with_most_of_its_cores() -> None:
    """
    And reserves no accelerator.
    """
    found = plan(LLAMA_8B, CPU, engine="llama.cpp", gguf_type="Q4_K_M")

    assert found.is_on_host
    assert (found.replicas, found.limit) == (1, "host_memory")
    assert found.resources == ResourceRequirements(copies=1, cpus=12, memory_mib=1024)
    assert found.expected.terms.runtime == GIB
    choice = Choice(found, copies=3, prices=price_list({CPU.name: 0.5}))
    assert (choice.instances, choice.accelerators, choice.cost) == (3, 0, 1.5)


def test_a_plan_of_a_host_is_told_without_accelerators(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Nor CUDA, of which it has none.
    """
    found = plan(
        LLAMA_8B, CPU, engine="llama.cpp", gguf_type="q4_k_m", context_length=8192
    )
    show_plan(Choice(found, copies=1, prices=NO_PRICES))
    shown = capsys.readouterr().out

    assert "in Q4_K_M, 4.89 bits, 8192 tokens of context" in shown
    assert "on ml.m7i.4xlarge: 16 vCPUs with 64 GiB, llama.cpp of any version" in shown
    assert "GiB of the host " in shown
    assert "60.16  as Linux shows it" in shown
    assert "the process and the system" in shown
    assert (
        "fits: 1 per instance; the KV cache of all 8192 tokens is allocated at start, "
        "and shared by 4 slots; the host has room for "
    ) in shown
    assert "limit: host_memory" in shown
    assert "1 copy: 1 instance, no price known\n" in shown
    assert "accelerator" not in shown
    assert "CUDA" not in shown
    show_ranking([Choice(found, copies=1, prices=NO_PRICES)])
    assert "parameters in q4_k_m, 8192 tokens" in capsys.readouterr().out


def test_a_context_without_room_does_not_start() -> None:
    """
    All of it is allocated.
    """
    small = InstanceType.of("ml.m7i.large", accelerators=0, vcpus=2, memory_gib=8)
    found = plan(
        LLAMA_8B, small, engine="llama.cpp", gguf_type="Q4_K_M", context_length=131072
    )

    assert not found.may_fit
    assert (
        "does not start: there is room for 19648 tokens at best, fewer than the 131072 "
        "whose cache is allocated"
    ) in found.explain()


@pytest.mark.parametrize(
    ("hardware", "bits", "prefill"),
    # 16,384 tokens of 6 * 1024 and 3 * 4096 numbers.
    [("ml.g5.xlarge", 16, 603_979_776), (CPU, 32, 1_207_959_552)],
)
def test_tei_loads_in_the_format_of_its_hardware(
    hardware: InstanceType | str, bits: int, prefill: int
) -> None:
    """
    float16 on a GPU, float32 on a host; what it computes with has it too.
    """
    found = plan(BGE, hardware, engine="tei")

    assert found.weight_bits == bits
    assert found.best.terms.weights == 335_141_888 * bits // 8
    assert found.expected.terms.activations == prefill
    assert found.terms.kv_cache == 0
    assert found.concurrent_sequences == 16384 // 512


def test_attention_on_a_host_is_computed_as_a_whole() -> None:
    """
    For each pair of tokens a number a head, to be cautious.
    """
    found = plan(BGE, CPU, engine="tei")

    scores = 16384 * 512 * 16 * 4
    assert found.cautious.terms.activations == 1_207_959_552 + scores


def test_tei_takes_what_it_is_told() -> None:
    """
    A step of fewer tokens, and weights in 32 bits.
    """
    taken = Assumptions(max_num_batched_tokens=1024)
    found = plan(BGE, "ml.g5.xlarge", engine="tei", weight_bits=32, assumptions=taken)

    assert found.best.terms.weights == 335_141_888 * 4
    assert found.concurrent_sequences == 2
    assert found.expected.terms.activations == 1024 * (6 * 1024 + 3 * 4096) * 4


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (BGE, "an encoder keeps no KV cache"),
        ("Qwen/Qwen3-8B", "an engine for embeddings keeps no KV cache"),
    ],
)
def test_a_plan_says_why_there_is_no_cache(model: str, why: str) -> None:
    """
    Instead of a cache of nothing.
    """
    shown = plan(model, "ml.g5.xlarge", engine="tei").explain()

    assert f"fits: 1 per instance; {why}, and " in shown
    assert "KV cache of" not in shown
    assert "room for KV cache" not in shown
    assert "CUDA graphs" not in shown


def test_tei_runs_on_one_accelerator() -> None:
    """
    Each of four has a copy.
    """
    found = plan(BGE, "ml.g5.12xlarge", engine="tei")
    split = plan(BGE, "ml.g5.12xlarge", engine="tei", tensor_parallel_degree=2)

    assert (found.tensor_parallel_degree, found.replicas) == (1, 4)
    assert split.obstacle == "TEI runs on one accelerator alone"


def test_a_model_that_is_too_large_says_so_without_a_cache() -> None:
    """
    14B in 16 bits on 22 GiB.
    """
    shown = plan("Qwen/Qwen3-14B", "ml.g5.xlarge", engine="tei").explain()

    assert "does not load: at best " in shown
    assert "KV cache" not in shown


def test_fails_if_a_gguf_type_is_misplaced() -> None:
    """
    For another engine, beside bits, or unknown.
    """
    with pytest.raises(ValueError, match=r"gguf_type is for llama\.cpp, got engine="):
        plan(LLAMA_8B, "ml.g6.xlarge", gguf_type="Q4_K_M")
    with pytest.raises(ValueError, match="leave weight_bits out, got 4"):
        plan(LLAMA_8B, CPU, engine="llama.cpp", gguf_type="Q4_K_M", weight_bits=4)
    with pytest.raises(ValueError, match="gguf_type must be such as Q4_K_"):
        plan(LLAMA_8B, CPU, engine="llama.cpp", gguf_type="Q4_K_N")


def test_fails_if_an_engine_needs_a_gpu() -> None:
    """
    What vLLM takes of a host is not modelled.
    """
    with pytest.raises(
        ValueError, match=r"^ml\.m7i\.4xlarge has no GPU, and what vLLM"
    ):
        plan(LLAMA_8B, CPU)


def test_a_custom_model_is_planned_too() -> None:
    """
    Of which sizes are known alone.
    """
    model = ModelArchitecture.custom(parameters=10**9, kv_bytes_per_token=65536)
    found = plan(model, CPU, engine="llama.cpp", gguf_type="Q8_0")

    assert found.fits
    assert found.best.terms.kv_cache == 4096 * 65536
