"""
LMI-Dist on LMI images: what each parameter writes, and what it takes.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, LmiDist, ModelArchitecture
from cdk_sagemaker_llm.demand import Assumptions, Demand
from tests.unit.serving.answers import container_of
from tests.unit.serving.lmi.parameters import (
    COMMON,
    MODEL,
    Row,
    all_of,
    keywords_of,
    named_in,
    text_of,
)

SMALL = ModelArchitecture.custom(parameters=10**9, kv_bytes_per_token=1000)
OWN: list[Row] = [
    ("quantize", "gptq", "option.quantize=gptq"),
    ("max_model_len", 4096, "option.max_model_len=4096"),
    ("enforce_eager", True, "option.enforce_eager=true"),
    ("gpu_memory_utilization", 0.85, "option.gpu_memory_utilization=0.85"),
    (
        "max_rolling_batch_prefill_tokens",
        5000,
        "option.max_rolling_batch_prefill_tokens=5000",
    ),
    ("load_format", "safetensors", "option.load_format=safetensors"),
    ("speculative_draft_model", "a/b", "option.speculative_draft_model=a/b"),
    ("speculative_length", 6, "option.speculative_length=6"),
    ("draft_model_tp_size", 2, "option.draft_model_tp_size=2"),
    ("enable_lora", False, "option.enable_lora=false"),
    ("max_loras", 3, "option.max_loras=3"),
    ("max_lora_rank", 32, "option.max_lora_rank=32"),
    ("max_cpu_loras", 5, "option.max_cpu_loras=5"),
    ("enable_prefix_caching", True, "option.enable_prefix_caching=true"),
    ("pipeline_parallel_degree", 2, "option.pipeline_parallel_degree=2"),
]


def test_every_parameter_has_a_row() -> None:
    """
    A new one comes with the line that it writes.
    """
    assert named_in(COMMON, OWN) == keywords_of(LmiDist)


@pytest.mark.parametrize(
    ("keyword", "value", "line"), [*COMMON, *OWN], ids=lambda value: str(value)[:40]
)
def test_a_parameter_writes_its_line(keyword: str, value: object, line: str) -> None:
    """
    The option that LMI-Dist reads, and no other.
    """
    serving = LmiDist("0.32.0", **{keyword: value})  # type: ignore[arg-type] # any of all

    assert line in text_of(serving).splitlines()


def test_all_parameters_are_written_in_their_order() -> None:
    """
    At 0.32, the last version that has it.
    """
    model = HuggingFaceModel("org/model", revision="abc123")

    assert text_of(LmiDist("0.32.0", **all_of(COMMON, OWN)), model) == (
        "engine=MPI\n"
        "option.tensor_parallel_degree=4\n"
        "option.model_id=org/model\n"
        "option.revision=abc123\n"
        "option.max_rolling_batch_size=24\n"
        "option.rolling_batch=lmi-dist\n"
        "option.model_loading_timeout=900\n"
        "option.predict_timeout=60\n"
        "option.dtype=fp16\n"
        "option.quantize=gptq\n"
        "option.trust_remote_code=true\n"
        "option.output_formatter=jsonlines\n"
        "option.max_model_len=4096\n"
        "option.enforce_eager=true\n"
        "option.gpu_memory_utilization=0.85\n"
        "option.max_rolling_batch_prefill_tokens=5000\n"
        "option.load_format=safetensors\n"
        "option.speculative_draft_model=a/b\n"
        "option.speculative_length=6\n"
        "option.draft_model_tp_size=2\n"
        "option.enable_lora=false\n"
        "option.max_loras=3\n"
        "option.max_lora_rank=32\n"
        "option.max_cpu_loras=5\n"
        "option.enable_prefix_caching=true\n"
        "option.pipeline_parallel_degree=2\n"
        "job_queue_size=500\n"
        "option.brand_new=1.5\n"
    )


def test_what_is_written_of_nothing_but_a_model() -> None:
    """
    The launcher and the scheduler that choose it.
    """
    assert text_of(LmiDist("0.27.0")) == (
        "engine=MPI\noption.model_id=org/model\noption.rolling_batch=lmi-dist\noption.model_loading_timeout=1800\n"
    )


@pytest.mark.parametrize(
    ("version", "family"),
    [
        ("0.26.0", "djl-deepspeed"),
        ("0.27.0", "djl-deepspeed"),
        ("0.28.0", "djl-lmi"),
        ("0.32.0", "djl-lmi"),
    ],
)
def test_the_image_that_has_it_is_of_another_family_from_0_28_on(
    version: str, family: str
) -> None:
    """
    Up to 0.27 it came with DeepSpeed.
    """
    assert container_of(LmiDist(version), MODEL, 1).image.family == family


def test_what_it_asks_of_the_memory_with_everything_set() -> None:
    """
    Each parameter that changes it, in its place.
    """
    serving = LmiDist(
        "0.32.0",
        tensor_parallel_degree=2,
        max_rolling_batch_size=48,
        quantize="gptq",
        max_model_len=3000,
        enforce_eager=True,
        gpu_memory_utilization=0.8,
        max_rolling_batch_prefill_tokens=5000,
    )
    model = HuggingFaceModel("org/model", architecture=SMALL)

    assert serving.prepare(model, 2).demand == Demand(
        architecture=SMALL,
        assumptions=Assumptions(
            gpu_memory_utilization=0.8,
            cuda_graphs_gib=0.0,
            max_num_batched_tokens=5000,
            max_num_seqs=48,
            kv_cache_dtype_bytes=2,
        ),
        weight_bits=4,
        context_length=3000,
        batch_tokens=None,
        tensor_parallel_degree=2,
        engine_version="0.7.1",
    )


def test_what_it_asks_of_the_memory_by_default() -> None:
    """
    The engine's own defaults, and the weights as they are published.
    """
    assert LmiDist("0.32.0").prepare(MODEL, None).demand == Demand(
        architecture=None,
        assumptions=Assumptions(
            max_num_seqs=256,
            kv_cache_dtype_bytes=2,
        ),
        weight_bits=None,
        context_length=None,
        batch_tokens=None,
        tensor_parallel_degree=None,
        engine_version="0.7.1",
    )
