"""
What a serving configuration asks of an accelerator's memory.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.demand import Assumptions, Demand, weight_bits_of


def test_what_is_taken_for_granted_of_an_engine() -> None:
    """
    Each with its source in the docstring.
    """
    assert Assumptions() == Assumptions(
        gpu_memory_utilization=0.9,
        runtime_gib=0.6,
        collectives_gib=0.5,
        cuda_graphs_gib=3.0,
        max_num_batched_tokens=8192,
        max_num_seqs=256,
        kv_cache_dtype_bytes=2,
    )


def test_what_is_not_said_is_not_asked() -> None:
    """
    But for the bits of a weight, which are 16 without a quantization.
    """
    usual = Assumptions()

    assert Demand(architecture=None, assumptions=usual) == Demand(
        architecture=None,
        assumptions=usual,
        weight_bits=16,
        context_length=None,
        batch_tokens=None,
        tensor_parallel_degree=None,
    )


@pytest.mark.parametrize(
    ("quantize", "bits"),
    [
        (None, 16),
        ("", 16),
        ("none", 16),
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
        ("exl2", 16),
    ],
)
def test_a_quantization_leaves_its_bits(quantize: str | None, bits: int) -> None:
    """
    By what the engines call their methods.
    """
    assert weight_bits_of(quantize) == bits
