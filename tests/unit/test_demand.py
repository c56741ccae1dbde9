"""
What a serving configuration asks of an accelerator's memory.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk_sagemaker_llm.demand import (
    VLLM_WORDS,
    Assumptions,
    Demand,
    EngineName,
    kv_bytes_of_cache_type,
    weight_bits_of,
)


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


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (None, None, 2),
        ("f16", "bf16", 2),
        ("f32", "f32", 4),
        ("q8_0", "q8_0", 34 / 32),
        ("Q8_0", "q4_0", (34 + 18) / 64),
        ("q5_0", "q5_1", (22 + 24) / 64),
        ("q4_1", "iq4_nl", (20 + 18) / 64),
        (None, "q8_0", (64 + 34) / 64),
    ],
)
def test_a_cache_of_llama_cpp_has_two_types(
    key: str | None, value: str | None, expected: float
) -> None:
    """
    Half of it is keys, and half values.
    """
    assert kv_bytes_of_cache_type(key, value) == expected


@pytest.mark.parametrize("name", ["cache_type_k", "cache_type_v"])
def test_fails_if_a_type_of_the_cache_is_unknown(name: str) -> None:
    """
    Names those that there are.
    """
    given = {"key": "q3_K"} if name.endswith("k") else {"value": "q3_K"}

    with pytest.raises(ValueError, match=rf"{name} must be f32, .* got 'q3_K'"):
        kv_bytes_of_cache_type(**given)


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("vllm", ("vLLM", "tensor_parallel_degree", "max_model_len")),
        ("sglang", ("SGLang", "tp_size", "context_length")),
        ("tgi", ("TGI", "num_gpus", "max_total_tokens")),
        (
            "tensorrt-llm",
            ("TensorRT-LLM", "tensor_parallel_degree", "max_input_len and"),
        ),
        ("llama.cpp", ("llama.cpp", "the accelerators of a copy", "ctx_size")),
        ("tei", ("TEI", "the accelerators of a copy", "max_batch_tokens")),
    ],
)
def test_each_engine_has_words_of_its_own(
    engine: EngineName, words: tuple[str, str, str]
) -> None:
    """
    Unless others are given.
    """
    demand = Demand(architecture=None, assumptions=Assumptions(), engine=engine)
    given = replace(demand, words=VLLM_WORDS)

    found = demand.spoken
    assert (found.engine, found.degree) == words[:2]
    assert found.context.startswith(words[2])
    assert given.spoken.degree == "tensor_parallel_size"
