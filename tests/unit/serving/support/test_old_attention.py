"""
Attention of vLLM before 0.11.1: each generation of its engine from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA, V2, GPT_OSS = "LlamaForCausalLM", "DeepseekV2ForCausalLM", "GptOssForCausalLM"
GEMMA_2, OLD = "Gemma2ForCausalLM", {"VLLM_USE_V1": "0"}


@pytest.mark.parametrize(
    ("where", "size", "arguments", "codes"),
    [
        ("0.4.2 A10G", 120, {}, "LLM935"),
        ("0.5.3.post1 A10G", 120, {}, "LLM935"),
        ("0.5.3.post1 A10G", 192, {}, ""),
        ("0.5.3.post1 A10G", 32, {}, ""),
        ("0.5.3.post1 T4", 32, {}, "LLM935"),
        ("0.5.3.post1 A10G", 80, {}, "LLM872"),
        ("0.6.2 A10G", 120, {}, "LLM872"),
        ("0.6.2 A10G", 100, {}, "LLM935"),
        ("0.6.2 A10G", 160, {}, ""),
        ("0.6.2 T4", 160, {}, "LLM935"),
        ("0.6.2 T4", 80, {}, ""),
        ("0.6.2 A10G", 160, {"dtype": "float32"}, "LLM935"),
        ("0.6.2 A10G", 160, {"kv_cache_dtype": "fp8"}, "LLM890 LLM935"),
        ("0.7.1 T4", 32, {}, ""),
        ("0.7.1 A10G", 48, {}, "LLM935"),
        ("0.8.4 A10G", 80, {}, "LLM935"),
        ("0.8.4 A10G", 96, {}, ""),
        ("0.8.4 T4", 80, {}, "LLM892"),
        ("0.8.4 A10G", 80, {"dtype": "float32"}, ""),
        ("0.8.4 A10G", 80, {"num_scheduler_steps": 1}, "LLM935"),
        ("0.8.4 A10G", 80, {"num_scheduler_steps": 8}, ""),
        ("0.8.4 A10G", 80, {"pipeline_parallel_size": 1}, "LLM935"),
        ("0.8.4 A10G", 80, {"kv_cache_dtype": "fp8"}, "LLM890"),
        ("0.8.4 A10G", 160, {"kv_cache_dtype": "fp8"}, "LLM890"),
        ("0.10.2 A10G", 80, {}, "LLM872"),
        ("0.7.1 A10G", 64, {"block_size": 8}, ""),
        ("0.8.4 A10G", 64, {"block_size": 8}, "LLM935"),
        ("0.10.2 A10G", 64, {"block_size": 8}, "LLM935"),
        ("0.10.2 A10G", 64, {"block_size": 32}, ""),
        ("0.8.4 T4", 64, {"block_size": 8}, "LLM892"),
    ],
)
def test_has_attention_for_the_size_of_heads(
    where: str, size: int, arguments: dict[str, Any], codes: str
) -> None:
    """
    By FlashAttention, or without it where that is left.
    """
    config = {"head_dim": size, "torch_dtype": "float16"}
    example = case(f"vllm {where}", LLAMA, config, **arguments)
    assert codes_of(example) == codes


@pytest.mark.parametrize("environment", [OLD, {"VLLM_ATTENTION_BACKEND": "XFORMERS"}])
def test_has_attention_of_the_old_engine(environment: dict[str, str]) -> None:
    """
    Where it is asked for, for heads that the new one does not take.
    """
    config = {"head_dim": 80}
    example = case("vllm 0.8.4 A10G", LLAMA, config, environment=environment)
    assert not codes_of(example)


@pytest.mark.parametrize("name", ["Qwen3ForCausalLM", "MistralForCausalLM"])
def test_guesses_no_heads_that_a_class_has_by_itself(name: str) -> None:
    """
    Where config.json leaves head_dim out, and the hidden size tells another.
    """
    config = {"hidden_size": 2560, "num_attention_heads": 32}
    assert not codes_of(case("vllm 0.8.4 A10G", name, config))


@pytest.mark.parametrize(
    ("where", "backend", "codes"),
    [
        ("0.5.3.post1 A10G", "FLASHINFER", "LLM937"),
        ("0.5.3.post1 A10G", "XFORMERS", ""),
        ("0.5.3.post1 A10G", "TRITON_ATTN", "LLM937"),
        ("0.6.3.post1 A10G", "FLASHINFER", "LLM937"),
        ("0.6.3.post1 A10G", "IPEX", "LLM937"),
        ("0.7.1 A10G", "FLASHINFER", ""),
        ("0.7.1 A10G", "ROCM_FLASH", "LLM937"),
        ("0.7.1 A10G", "TRITON_MLA", "LLM937"),
        ("0.8.4 A10G", "TRITON_MLA", ""),
        ("0.8.4 A10G", "ROCM_FLASH", "LLM937"),
        ("0.8.4 T4", "TRITON_ATTN_VLLM_V1", "LLM937 LLM892"),
        ("0.8.4 A10G", "TRITON_ATTN_VLLM_V1", ""),
        ("0.10.2 A10G", "TRITON_ATTN_VLLM_V1", ""),
        ("0.10.2 A10G", "FLASH_ATTENTION", "LLM937"),
    ],
)
def test_takes_a_backend_by_name(where: str, backend: str, codes: str) -> None:
    """
    With a window, which only some look at.
    """
    variables = {"VLLM_ATTENTION_BACKEND": backend}
    config = {"head_dim": 128, "sliding_window": 4096}
    example = case(f"vllm {where}", LLAMA, config, environment=variables)
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("where", "name", "size", "backend", "codes"),
    [
        ("0.8.4 A10G", LLAMA, 96, "FLASHINFER", "LLM937"),
        ("0.8.4 A10G", LLAMA, 64, "FLASHINFER", ""),
        ("0.10.2 A10G", LLAMA, 96, "FLASHINFER", "LLM937"),
        ("0.10.2 A10G", LLAMA, 80, "FLASH_ATTN", "LLM937"),
        ("0.10.2 A10G", LLAMA, 96, "FLASH_ATTN", ""),
        ("0.10.2 A10G", V2, None, "FLASHINFER", "LLM937"),
        ("0.10.2 A10G", V2, None, "FLASH_ATTN", "LLM937"),
        ("0.10.2 A10G", V2, None, "TRITON_MLA", ""),
        ("0.10.2 A100", V2, None, "FLASH_ATTN_MLA", "LLM937"),
        ("0.10.2 H100", V2, None, "FLASH_ATTN_MLA", ""),
        ("0.10.2 A100", GPT_OSS, None, "FLASH_ATTN", "LLM937"),
        ("0.10.2 H100", GPT_OSS, None, "FLASH_ATTN", ""),
        ("0.10.2 H100", GPT_OSS, None, "FLEX_ATTENTION", "LLM937"),
        ("0.7.1 A10G", GEMMA_2, None, "XFORMERS", ""),
        ("0.6.3.post1 A10G", GEMMA_2, None, "XFORMERS", "LLM935"),
        ("0.6.3.post1 A10G", GEMMA_2, None, "FLASHINFER", ""),
    ],
)
def test_takes_the_model_by_a_backend(
    where: str, name: str, size: int | None, backend: str, codes: str
) -> None:
    """
    Heads, latent vectors, sinks and soft capping.
    """
    variables = {"VLLM_ATTENTION_BACKEND": backend}
    config = {} if size is None else {"head_dim": size}
    example = case(f"vllm {where}", name, config, environment=variables)
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("release", "arguments", "codes"),
    [
        ("0.8.4", {"num_scheduler_steps": 8}, "LLM939"),
        ("0.8.4", {"num_scheduler_steps": 1}, ""),
        ("0.8.4", {"task": "embed"}, "LLM939"),
        ("0.8.4", {"dtype": "float32"}, "LLM939"),
        ("0.8.4", {"pipeline_parallel_size": 2}, "LLM939"),
        (
            "0.8.4",
            {"pipeline_parallel_size": 2, "distributed_executor_backend": "ray"},
            "",
        ),
        ("0.8.4", {"load_format": "tensorizer"}, "LLM939"),
        ("0.8.4", {"preemption_mode": "swap"}, "LLM939"),
        ("0.10.2", {"preemption_mode": "swap"}, "LLM939"),
        ("0.10.2", {"scheduling_policy": "priority"}, ""),
        ("0.8.4", {"scheduling_policy": "priority"}, "LLM939"),
    ],
)
def test_forces_the_new_engine_where_it_takes_all(
    release: str, arguments: dict[str, Any], codes: str
) -> None:
    """
    And leaves it to the old one where nothing is forced.
    """

    def asked(environment: dict[str, str]) -> Example:
        where = f"vllm {release} A10G"
        return case(where, LLAMA, environment=environment, **arguments)

    assert codes_of(asked({"VLLM_USE_V1": "1"})) == codes
    assert not codes_of(asked(OLD))


@pytest.mark.parametrize(
    ("where", "what", "arguments", "environment", "is_told"),
    [
        ("0.8.4 A10G", LLAMA, {"guided_decoding_backend": "outlines"}, {}, True),
        ("0.8.4 A10G", LLAMA, {"guided_decoding_backend": "xgrammar"}, {}, False),
        ("0.8.4 A10G", LLAMA, {"task": "text-generation"}, {}, False),
        ("0.8.4 A10G", LLAMA, {"task": "embed"}, {}, True),
        ("0.10.2 A10G", LLAMA, {"enable_prompt_embeds": True}, {}, True),
        ("0.11.1 A10G", LLAMA, {"enable_prompt_embeds": True}, {}, False),
        ("0.10.2 A10G", LLAMA, {}, {"VLLM_ATTENTION_BACKEND": "XFORMERS"}, True),
        (
            "0.10.2 A10G",
            LLAMA,
            {},
            {"VLLM_ATTENTION_BACKEND": "XFORMERS_VLLM_V1"},
            False,
        ),
        ("0.10.2 A10G", LLAMA, {"load_format": "sharded_state"}, {}, True),
        ("0.8.4 A10G", "MambaForCausalLM", {}, {}, True),
        ("0.8.4 A10G", "MambaForCausalLM", {}, {"VLLM_USE_V1": "0"}, False),
        ("0.8.4 A10G", LLAMA, {"speculative_config": {"method": "ngram"}}, {}, True),
        ("0.9.2 A10G", LLAMA, {"speculative_config": {"method": "ngram"}}, {}, False),
    ],
)
def test_tells_what_the_old_engine_runs_for(
    where: str,
    what: str,
    arguments: dict[str, Any],
    environment: dict[str, str],
    *,
    is_told: bool,
) -> None:
    """
    It is slower, and nothing else says so before the log does.
    """
    found = case(f"vllm {where}", what, environment=environment, **arguments)()
    assert ("LLM866" in [one.code for one in found]) == is_told
