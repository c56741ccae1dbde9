"""
Attention backends that are asked for, which vLLM holds against the configuration.
"""

from __future__ import annotations

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA = "LlamaForCausalLM"
V2 = "DeepseekV2ForCausalLM"
GPT_OSS = "GptOssForCausalLM"
BERT = "BertModel"
WHOLE = {"hidden_size": 4096, "num_attention_heads": 32}
EIGHT = {"kv_cache_dtype": "fp8"}
FIVE = {"kv_cache_dtype": "fp8_e5m2"}

ASKED: list[Row] = [
    (
        codes,
        case(f"vllm {where}", name, config, attention_backend=asked, **more),
    )
    for where, name, config, asked, more, codes in table(
        # Attention for latent vectors, by the GPU.
        ("0.13.0 H100", V2, {}, "CUTLASS_MLA", {}, "LLM937"),
        ("0.13.0 B200", V2, {}, "CUTLASS_MLA", {}, ""),
        ("0.24.0 RTX", V2, {}, "CUTLASS_MLA", {}, "LLM937"),
        ("0.24.0 H100", V2, {}, "FLASHINFER_MLA", {}, "LLM937"),
        ("0.24.0 B200", V2, {}, "FLASHINFER_MLA", {}, ""),
        ("0.24.0 A100", V2, {}, "FLASHMLA", {}, "LLM937"),
        ("0.24.0 H100", V2, {}, "FLASHMLA", {}, ""),
        ("0.24.0 B200", V2, {}, "FLASHMLA", {}, ""),
        ("0.24.0 B200", V2, {}, "FLASH_ATTN_MLA", {}, "LLM937"),
        ("0.24.0 H100", V2, {}, "FLASH_ATTN_MLA", {}, ""),
        ("0.24.0 A100", V2, {}, "TRITON_MLA", {}, ""),
        ("0.10.2 H100", V2, {}, "CUTLASS_MLA", {}, ""),
        # It is for models that have latent vectors, and they need it.
        ("0.24.0 H100", LLAMA, WHOLE, "FLASHMLA", {}, "LLM937"),
        ("0.24.0 H100", LLAMA, WHOLE, "TRITON_MLA", {}, "LLM937"),
        ("0.24.0 H100", LLAMA, {}, "TRITON_MLA", {}, ""),
        ("0.24.0 H100", V2, {}, "TRITON_ATTN", {}, "LLM937"),
        ("0.24.0 H100", V2, {}, "FLEX_ATTENTION", {}, "LLM937"),
        # A KV cache in 8 bits.
        ("0.14.0 L4", LLAMA, {}, "FLASH_ATTN", EIGHT, "LLM937"),
        ("0.14.0 H100", LLAMA, {}, "FLASH_ATTN", EIGHT, ""),
        ("0.26.0 B200", LLAMA, {}, "FLASH_ATTN", EIGHT, "LLM937"),
        ("0.27.0 B200", LLAMA, {}, "FLASH_ATTN", EIGHT, ""),
        ("0.27.0 L4", LLAMA, {}, "FLASH_ATTN", EIGHT, "LLM937"),
        ("0.14.0 H100", LLAMA, {}, "FLASH_ATTN", FIVE, "LLM937"),
        ("0.14.0 L4", LLAMA, {}, "FLASHINFER", EIGHT, ""),
        ("0.14.0 L4", LLAMA, {}, "TRITON_ATTN", EIGHT, ""),
        ("0.14.0 L4", LLAMA, {}, "FLEX_ATTENTION", EIGHT, "LLM937"),
        ("0.14.0 L4", LLAMA, {}, "FLEX_ATTENTION", {}, ""),
        ("0.24.0 H100", V2, {}, "FLASH_ATTN_MLA", EIGHT, "LLM937"),
        ("0.24.0 H100", V2, {}, "FLASHMLA", EIGHT, ""),
        ("0.24.0 H100", V2, {}, "FLASHMLA", FIVE, "LLM937"),
        ("0.17.1 H100", V2, {}, "TRITON_MLA", EIGHT, "LLM937"),
        ("0.18.0 H100", V2, {}, "TRITON_MLA", EIGHT, ""),
        # The size of heads.
        ("0.11.1 A10G", LLAMA, {"head_dim": 80}, "FLASH_ATTN", {}, "LLM937"),
        ("0.12.0 A10G", LLAMA, {"head_dim": 80}, "FLASH_ATTN", {}, ""),
        ("0.12.0 A10G", LLAMA, {"head_dim": 100}, "FLASH_ATTN", {}, "LLM937"),
        ("0.19.1 A10G", LLAMA, {"head_dim": 512}, "FLASH_ATTN", {}, "LLM937"),
        ("0.20.0 B200", LLAMA, {"head_dim": 512}, "FLASH_ATTN", {}, ""),
        # Attention in both directions.
        ("0.15.1 L4", BERT, {}, "FLASHINFER", {}, "LLM937"),
        ("0.15.1 L4", BERT, {}, "FLASH_ATTN", {}, ""),
        ("0.13.0 L4", BERT, {}, "TRITON_ATTN", {}, "LLM937"),
        ("0.14.0 L4", BERT, {}, "TRITON_ATTN", {}, ""),
        # Sinks.
        ("0.24.0 H100", GPT_OSS, {}, "FLEX_ATTENTION", {}, "LLM937"),
    )
] + [
    (
        codes,
        case(f"vllm {where}", name, environment=environment),
    )
    for where, name, environment, codes in table(
        # Nothing reads the variable from 0.15.0 on.
        ("0.14.0 H100", V2, {"VLLM_ATTENTION_BACKEND": "CUTLASS_MLA"}, "LLM937"),
        ("0.15.1 H100", V2, {"VLLM_ATTENTION_BACKEND": "CUTLASS_MLA"}, ""),
        (
            "0.14.0 H100",
            V2,
            {"VLLM_ATTENTION_BACKEND": "FLASH_ATTN", "VLLM_MLA_DISABLE": "1"},
            "",
        ),
    )
]


@pytest.mark.parametrize(("codes", "example"), ASKED)
def test_a_backend_takes_the_model_the_cache_and_the_gpu(
    codes: str, example: Example
) -> None:
    """
    By the release, as the backend's own class says.
    """
    assert codes_of(example) == codes
