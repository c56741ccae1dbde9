"""
The KV cache of vLLM: each format, release and GPU from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA, GEMMA = "LlamaForCausalLM", "Gemma4ForConditionalGeneration"
NEMOTRON = "NemotronHForCausalLM"
DRAFTED = {"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}}
TRITON = {"attention_backend": "TRITON_ATTN"}

FORMATS: list[Row] = [
    # Heads of two sizes go to Triton, which has no 8 bits before Ada.
    *(
        (codes, case(f"vllm {where}", name, kv_cache_dtype=kind))
        for where, name, kind, codes in (
            ("0.22.0 A10G", GEMMA, "fp8_e4m3", "LLM933"),
            ("0.22.0 A10G", GEMMA, "fp8", "LLM933"),
            ("0.19.1 A10G", "Gemma4ForCausalLM", "fp8", "LLM933"),
            ("0.28.0 A10G", GEMMA, "fp8", "LLM933"),
            ("0.22.0 A10G", GEMMA, "fp8_e5m2", "LLM890"),
            ("0.24.0 A10G", GEMMA, "fp8_e5m2", "LLM890"),
            ("0.22.0 A10G", LLAMA, "fp8_e4m3", "LLM890"),
            ("0.22.0 L4", GEMMA, "fp8_e4m3", ""),
            ("0.22.0 H100", GEMMA, "fp8_e4m3", ""),
        )
    ),
    *(
        (codes, case(f"vllm {where}", LLAMA, kv_cache_dtype=kind, **TRITON))
        for where, kind, codes in (
            ("0.22.0 A10G", "fp8", "LLM890 LLM937"),
            ("0.22.0 A10G", "auto", ""),
            ("0.22.0 A10G", "fp8_e5m2", "LLM890"),
            ("0.24.0 A10G", "fp8_e5m2", "LLM890"),
            ("0.24.0 A10G", "fp8_e4m3", "LLM890 LLM937"),
            ("0.22.0 L4", "fp8", ""),
        )
    ),
    # Scales beside each head make pages that have no common measure.
    *(
        (codes, case(f"vllm {release} H100", name, kv_cache_dtype=kind))
        for release, name, kind, codes in (
            ("0.20.0", GEMMA, "int8_per_token_head", "LLM933"),
            ("0.23.1", GEMMA, "int8_per_token_head", "LLM933"),
            ("0.22.0", GEMMA, "fp8_per_token_head", "LLM933"),
            ("0.24.0", GEMMA, "int8_per_token_head", ""),
            ("0.22.0", LLAMA, "int8_per_token_head", ""),
            ("0.22.0", GEMMA, "auto", ""),
        )
    ),
    # TurboQuant was asked for no format by any layer.
    *(
        (codes, case(f"vllm {release} A10G", name, kv_cache_dtype=kind))
        for release, name, kind, codes in (
            ("0.24.0", LLAMA, "turboquant_k8v4", ""),
            ("0.25.0", LLAMA, "turboquant_k8v4", "LLM933"),
            ("0.25.1", "Qwen3_5ForConditionalGeneration", "turboquant_k8v4", "LLM933"),
            ("0.26.0", LLAMA, "turboquant_4bit_nc", "LLM933"),
            ("0.27.0", LLAMA, "turboquant_4bit_nc", ""),
            ("0.25.0", LLAMA, "auto", ""),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), FORMATS)
def test_keeps_what_some_attention_takes(codes: str, example: Example) -> None:
    """
    By its format, the model, the release and the GPU.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("release", "name", "arguments", "is_refused"),
    [
        ("0.17.0", NEMOTRON, DRAFTED, False),
        ("0.17.1", NEMOTRON, DRAFTED, True),
        ("0.19.1", NEMOTRON, DRAFTED, True),
        ("0.20.0", NEMOTRON, DRAFTED, False),
        ("0.19.0", NEMOTRON, {}, False),
        ("0.19.0", NEMOTRON, {**DRAFTED, "mamba_cache_mode": "all"}, True),
        ("0.19.0", NEMOTRON, {**DRAFTED, "mamba_cache_mode": "align"}, False),
        ("0.19.0", "Qwen3NextForCausalLM", DRAFTED, False),
    ],
)
def test_keeps_no_prefixes_of_states_while_it_drafts(
    release: str, name: str, arguments: dict[str, Any], *, is_refused: bool
) -> None:
    """
    From 0.20.0 on it keeps fewer of them instead.
    """
    where = f"vllm {release} B200"
    kept = codes_of(case(where, name, enable_prefix_caching=True, **arguments))

    assert ("LLM969" in kept) == is_refused
    assert "LLM969" not in codes_of(case(where, name, **arguments))
