"""
What a serving configuration asks of an accelerator's memory.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.demand import Assumptions, Demand, weight_bits_of


def test_what_is_taken_for_granted_of_an_engine() -> None:
    """
    Nothing, beyond what its release takes.
    """
    assert Assumptions() == Assumptions(
        gpu_memory_utilization=None,
        runtime_gib=None,
        collectives_gib=None,
        cuda_graphs_gib=None,
        max_num_batched_tokens=None,
        max_num_seqs=None,
        kv_cache_dtype_bytes=2,
    )


def test_what_is_not_said_is_not_asked() -> None:
    """
    The engine is vLLM, of no particular release.
    """
    usual = Assumptions()

    assert Demand(architecture=None, assumptions=usual) == Demand(
        architecture=None,
        assumptions=usual,
        weight_bits=None,
        context_length=None,
        batch_tokens=None,
        tensor_parallel_degree=None,
        engine="vllm",
        engine_version=None,
    )


@pytest.mark.parametrize(
    ("quantize", "bits"),
    [
        (None, None),
        ("", None),
        ("none", None),
        ("awq", 4),
        ("AWQ", 4),
        ("awq_marlin", 4),
        ("int4_awq", 4),
        ("gptq", 4),
        ("gptq_marlin_24", 4),
        ("marlin", 4),
        ("bitsandbytes-nf4", 4),
        ("bitsandbytes-fp4", 4),
        ("squeezellm", 4),
        ("bitsandbytes4", 4),
        ("fp8", 8),
        ("fbgemm_fp8", 8),
        ("dynamic_int8", 8),
        ("static_int8", 8),
        ("smoothquant", 8),
        ("bitsandbytes", 8),
        ("bitsandbytes8", 8),
        ("eetq", 8),
        ("deepspeedfp", 8),
        ("exl2", None),
    ],
)
def test_a_quantization_leaves_its_bits(quantize: str | None, bits: int | None) -> None:
    """
    By what the engines call their methods.
    """
    assert weight_bits_of(quantize) == bits


@pytest.mark.parametrize(
    ("quantize", "dtype", "bits"),
    [
        (None, "fp32", 32),
        (None, "float32", 32),
        (None, "bf16", None),
        (None, "auto", None),
        ("awq", "fp32", 4),
    ],
)
def test_a_number_format_of_32_bits_says_so(
    quantize: str | None, dtype: str, bits: int | None
) -> None:
    """
    In 16 bits it says nothing: quantized weights stay as they are published.
    """
    assert weight_bits_of(quantize, dtype) == bits
