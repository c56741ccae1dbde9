"""
Which numbers the engines' parameters take, whatever the release.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlamaCpp,
    Sglang,
    TextEmbeddings,
    Vllm,
    VllmNeuron,
    VllmOmni,
)
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving.engines.base import EngineServing
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings
from cdk_sagemaker_llm.serving.parameters import Bounds

MODEL = HuggingFaceModel("a/b")
COUNTS: dict[type[EngineServing], tuple[str, ...]] = {
    Vllm: (
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "data_parallel_size",
        "max_num_seqs",
        "max_num_batched_tokens",
        "max_loras",
        "max_lora_rank",
    ),
    Sglang: ("tp_size", "dp_size", "pp_size", "context_length", "max_running_requests"),
    TextEmbeddings: ("tokenization_workers",),
    VllmOmni: (
        "max_num_seqs",
        "num_gpus",
        "stage_init_timeout",
        "ulysses_degree",
        "ring_degree",
        "cfg_parallel_size",
    ),
    VllmNeuron: (
        "tensor_parallel_size",
        "batch_size",
        "sequence_length",
        "data_parallel_size",
    ),
}


def errors(serving: EngineServing, accelerators: int | None = 1) -> list[str]:
    """
    Return the errors that are told of a configuration.
    """
    found = serving.prepare(MODEL, accelerators).findings
    return [str(one) for one in errors_of(found)]


@pytest.mark.parametrize(
    ("kind", "keyword"),
    [(kind, keyword) for kind, keywords in COUNTS.items() for keyword in keywords],
)
def test_a_count_is_at_least_one(kind: type[EngineServing], keyword: str) -> None:
    """
    No more is said of a smaller one than that.
    """
    given: dict[str, Any] = {keyword: 1}
    none: dict[str, Any] = {keyword: 0}
    negative: dict[str, Any] = {keyword: -1}
    words = f"LLM507 {keyword} must be at least 1, got"

    assert errors(kind(**given)) == []
    assert errors(kind(**none)) == [f"{words} 0"]
    assert errors(kind(**negative)) == [f"{words} -1"]


@pytest.mark.parametrize(
    ("serving", "found"),
    [
        (Vllm(max_model_len=1), []),
        (Vllm(max_model_len=-1), []),
        (
            Vllm(max_model_len=0),
            ["LLM507 max_model_len must be at least 1, or -1, got 0"],
        ),
        (
            Vllm(max_model_len=-2),
            ["LLM507 max_model_len must be at least 1, or -1, got -2"],
        ),
        (Vllm(gpu_memory_utilization=1), []),
        (Sglang(mem_fraction_static=0.01), []),
        (
            Sglang(mem_fraction_static=0),
            [
                "LLM507 mem_fraction_static must be above 0 and at most 1, got 0",
            ],
        ),
        (Sglang(chunked_prefill_size=-1), []),
        (LlamaCpp(ctx_size=0), []),
        (LlamaCpp(ctx_size=-1), ["LLM507 ctx_size must be at least 0, got -1"]),
        (LlamaCpp(parallel=-1), []),
        (
            LlamaCpp(parallel=0),
            ["LLM507 parallel must be at least 1, or -1, got 0"],
        ),
        (LlamaCpp(threads=-1, n_gpu_layers=-1), []),
    ],
)
def test_other_numbers_have_limits_of_their_own(
    serving: EngineServing, found: list[str]
) -> None:
    """
    Both sides of each.
    """
    assert errors(serving) == found


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (4, []),
        (
            9,
            [
                (
                    "LLM516 num_gpus=9 needs 9 accelerators, and there are 4; write "
                    "num_gpus=4"
                )
            ],
        ),
    ],
)
def test_a_diffusion_model_gets_its_gpus(number: int, found: list[str]) -> None:
    """
    Each stage of vLLM-Omni asks for as many as it is told.
    """
    assert errors(VllmOmni(num_gpus=number), 4) == found
    assert errors(VllmOmni(num_gpus=number), None) == []


@pytest.mark.parametrize(
    ("number", "is_told"), [("4", False), ("5", True), ("x", False)]
)
def test_the_same_of_an_environment(number: str, *, is_told: bool) -> None:
    """
    By the variable's name.
    """
    found = engine_findings(
        {"SM_VLLM_MODEL": "a/b", "SM_VLLM_NUM_GPUS": number},
        family="vllm-omni",
        version="1.8",
        accelerators=4,
    )

    told = [str(one) for one in found if one.code == "LLM516"]
    assert bool(told) == is_told
    assert all("SM_VLLM_NUM_GPUS=5 needs 5" in one for one in told)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_option_is_a_finite_number(value: float) -> None:
    """
    And none that begins with a dash.
    """
    with pytest.raises(ValueError, match=r"options\['flow_shift'\] must be text"):
        VllmOmni(options={"flow_shift": value})
    (found,) = errors(VllmOmni(options={"flow_shift": -1.0}))

    assert found.startswith("LLM555 flow_shift cannot be told to this image")


def test_bounds_name_what_is_taken_beside_them() -> None:
    """
    A word for another value among numbers.
    """
    bounds = Bounds(least=1, also=(-1,))

    assert [bounds.fault(value) for value in (-1, 1, 0)] == [
        None,
        None,
        "at least 1, or -1",
    ]
