"""
Settings of vLLM's older releases that do not go together: each from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import case, codes_of

LORA = {"enable_lora": True}
DRAFTS = {
    "speculative_model": "[ngram]",
    "num_speculative_tokens": 5,
    "ngram_prompt_lookup_max": 4,
}
PARTS = {"enable_chunked_prefill": True}
STAGED = {"pipeline_parallel_size": 2}
UNWINDOWED = {"disable_sliding_window": True}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
LLAMA_3 = {"rope_type": "llama3", "factor": 8.0}


@pytest.mark.parametrize(
    ("release", "arguments", "is_refused"),
    [
        # The model was made for 8,192.
        ("0.2.1.post1", {"max_num_batched_tokens": 8191}, True),
        ("0.7.1", {"max_num_batched_tokens": 8191}, True),
        ("0.7.1", {"max_num_batched_tokens": 8192}, False),
        ("0.8.4", {"max_num_batched_tokens": 8191}, False),
        ("0.4.2", {"max_num_batched_tokens": 8191, **PARTS}, False),
        ("0.6.2", {"max_num_batched_tokens": 2048, "max_model_len": 2048}, False),
        ("0.6.2", {"max_num_batched_tokens": 2048, "max_model_len": 2049}, True),
        ("0.2.7", {"max_num_batched_tokens": 64, "max_num_seqs": 65}, True),
        ("0.8.4", {"max_num_batched_tokens": 64, "max_num_seqs": 65}, True),
        ("0.8.4", {"max_num_batched_tokens": 64, "max_num_seqs": 64}, False),
        ("0.3.3", {**LORA, "max_loras": 2, "max_cpu_loras": 1}, True),
        ("0.8.4", {**LORA, "max_loras": 2, "max_cpu_loras": 1}, True),
        ("0.8.4", {**LORA, "max_loras": 2, "max_cpu_loras": 2}, False),
        ("0.8.4", {"max_loras": 2, "max_cpu_loras": 1}, False),
        ("0.7.1", {**LORA, "lora_extra_vocab_size": 0}, False),
        ("0.8.4", {**LORA, "lora_extra_vocab_size": 0}, True),
        ("0.7.1", {**LORA, "lora_extra_vocab_size": 100}, True),
        ("0.4.2", {**LORA, **PARTS}, False),
        ("0.5.3.post1", {**LORA, **PARTS}, True),
        ("0.6.3.post1", {**LORA, **PARTS}, True),
        ("0.7.1", {**LORA, **PARTS}, False),
        ("0.6.2", DRAFTS, True),
        ("0.6.2", {**DRAFTS, "use_v2_block_manager": True}, False),
        ("0.6.2", {**DRAFTS, "num_scheduler_steps": 2}, True),
        ("0.6.3.post1", {**DRAFTS, "num_scheduler_steps": 2}, True),
        ("0.6.3.post1", {**DRAFTS, "num_scheduler_steps": 1}, False),
        ("0.6.3.post1", {"num_scheduler_steps": 0}, True),
        ("0.6.2", {**PARTS, "num_scheduler_steps": 2}, True),
        ("0.6.3.post1", {**PARTS, "num_scheduler_steps": 2}, False),
        ("0.7.1", {**PARTS, **STAGED, "num_scheduler_steps": 2}, True),
        ("0.7.1", {**DRAFTS, **STAGED}, True),
        ("0.6.3.post1", {**DRAFTS, **STAGED}, False),
        ("0.8.4", {"guided_decoding_backend": "sglang"}, True),
        ("0.8.4", {"guided_decoding_backend": "xgrammar:no-fallback"}, False),
        ("0.8.4", {"guided_decoding_backend": "lm-format-enforcer"}, False),
        ("0.7.1", {"load_format": "bitsandbytes"}, True),
        ("0.8.4", {"load_format": "bitsandbytes"}, False),
        ("0.3.3", {"kv_cache_dtype": "fp8"}, True),
        ("0.3.3", {"kv_cache_dtype": "fp8_e5m2"}, False),
        ("0.4.2", {"kv_cache_dtype": "fp8_e5m2"}, True),
        ("0.4.2", {"kv_cache_dtype": "fp8"}, False),
        ("0.5.3.post1", {"kv_cache_dtype": "fp8_e5m2"}, False),
        ("0.8.4", {"kv_cache_dtype": "int8"}, True),
        ("0.8.4", {"kv_cache_dtype": "auto"}, False),
        ("0.10.2", {"load_format": "safetensor"}, True),
        ("0.10.2", {"load_format": "safetensors"}, False),
        ("0.10.2", {"load_format": "of_a_plugin"}, False),
        ("0.5.3.post1", {"rope_scaling": {"type": "extended", "factor": 2}}, True),
        ("0.5.3.post1", {"rope_scaling": {"type": "linear", "factor": 2.0}}, False),
        ("0.8.4", {**UNWINDOWED, "rope_scaling": YARN}, True),
        ("0.8.4", {"rope_scaling": YARN}, False),
        ("0.8.4", {**UNWINDOWED, "rope_scaling": LLAMA_3}, False),
        # The host has 32 GiB.
        ("0.8.4", {"swap_space": 22}, False),
        ("0.8.4", {"swap_space": 23}, True),
        ("0.8.4", {"swap_space": 12, "tensor_parallel_size": 2}, True),
        ("0.18.0", {"swap_space": 23}, False),
        ("0.6.3.post1", DRAFTS, False),
        ("0.6.3.post1", {**DRAFTS, **PARTS}, True),
        ("0.7.1", {**DRAFTS, **PARTS}, False),
        ("0.7.1", {**DRAFTS, "ngram_prompt_lookup_max": None}, True),
        ("0.7.1", {"num_speculative_tokens": 5}, True),
        ("0.3.3", {"gpu_memory_utilization": 1.01}, True),
        ("0.8.4", {"gpu_memory_utilization": "1.0"}, False),
        ("0.5.3.post1", {"limit_mm_per_prompt": {"image": 2}}, False),
        ("0.6.2", {"limit_mm_per_prompt": {"image": 2}}, True),
        ("0.8.4", {"limit_mm_per_prompt": {"image": 2}}, True),
        ("0.10.2", {"limit_mm_per_prompt": {"image": 2}}, False),
        ("0.6.2", {"guided_decoding_backend": "xgrammar"}, True),
        ("0.6.2", {"guided_decoding_backend": "outlines"}, False),
        ("0.7.1", {"guided_decoding_backend": "xgrammar"}, False),
    ],
)
def test_takes_settings_beside_each_other(
    release: str, arguments: dict[str, Any], *, is_refused: bool
) -> None:
    """
    Of batches, adapters, drafts and pictures.
    """
    config = {"max_position_embeddings": 8192}
    found = case(f"vllm {release} A10G", "LlamaForCausalLM", config, **arguments)
    assert ("LLM914" in codes_of(found)) == is_refused


def test_parts_a_long_prompt_by_itself() -> None:
    """
    Where nothing is said, beyond 32,768.
    """
    config = {"max_position_embeddings": 131072}
    asked = {"max_num_batched_tokens": 4096}
    where, name = "vllm 0.6.2 A10G", "LlamaForCausalLM"
    told = case(where, name, config, enable_chunked_prefill=False, **asked)
    assert codes_of(told) == "LLM914"
    assert not codes_of(case(where, name, config, **asked))


@pytest.mark.parametrize(
    ("release", "name", "task", "is_refused"),
    [
        ("0.7.1", "BertModel", "generate", True),
        ("0.7.1", "BertModel", "embed", False),
        ("0.8.4", "LlamaForCausalLM", "transcription", True),
        ("0.8.4", "WhisperForConditionalGeneration", "transcription", False),
    ],
)
def test_does_the_task(release: str, name: str, task: str, *, is_refused: bool) -> None:
    """
    That is asked for, with a model that can.
    """
    codes = codes_of(case(f"vllm {release} A10G", name, task=task))
    assert ("LLM914" in codes) == is_refused


@pytest.mark.parametrize(
    ("name", "runner", "codes"),
    [
        ("BertModel", "generate", "LLM914"),
        ("BertModel", "pooling", ""),
        ("LlamaForCausalLM", "generate", ""),
    ],
)
def test_writes_with_a_model_that_does(name: str, runner: str, codes: str) -> None:
    """
    And not with an encoder.
    """
    assert codes_of(case("vllm 0.11.1 A10G", name, runner=runner)) == codes


@pytest.mark.parametrize(
    ("release", "arguments", "is_refused"),
    [
        ("0.6.3.post1", {}, False),
        ("0.6.3.post1", PARTS, True),
        ("0.8.4", {"enable_prefix_caching": True}, True),
        ("0.8.4", {"enable_prefix_caching": False}, False),
        ("0.7.1", {"num_scheduler_steps": 2}, True),
        ("0.7.1", DRAFTS, True),
        ("0.9.2", PARTS, False),
    ],
)
def test_runs_models_in_two_halves_plainly(
    release: str, arguments: dict[str, Any], *, is_refused: bool
) -> None:
    """
    The runner for them stops at what else there is.
    """
    mllama = "MllamaForConditionalGeneration"
    found = case(f"vllm {release} A100", mllama, **arguments)
    assert ("LLM914" in codes_of(found)) == is_refused
    plain = case(f"vllm {release} A100", "LlamaForCausalLM", **PARTS)
    assert "LLM914" not in codes_of(plain)


GEMMA, SMALL = "google/gemma-4-31B-it", "google/gemma-4-E4B-it"


@pytest.mark.parametrize(
    ("where", "name", "arguments", "codes"),
    [
        # A smaller GPU has batches of 2,048, and a video has 2,496 tokens.
        ("0.20.0 L40S", GEMMA, {}, "LLM924"),
        ("0.20.0 A100", GEMMA, {}, "LLM924"),
        ("0.20.0 H100", GEMMA, {}, ""),
        ("0.20.0 CPU", GEMMA, {}, ""),
        ("0.20.0 L40S", SMALL, {}, ""),
        ("0.19.1 L40S", GEMMA, {}, ""),
        ("0.21.0 L40S", GEMMA, {}, "LLM924"),
        ("0.22.0 L40S", GEMMA, {}, ""),
        ("0.20.0 L40S", GEMMA, {"max_model_len": 4097}, "LLM924"),
        ("0.20.0 L40S", GEMMA, {"max_model_len": 4096}, ""),
        ("0.20.0 L40S", GEMMA, {"enable_chunked_prefill": False}, ""),
        ("0.20.0 L40S", GEMMA, {"performance_mode": "throughput"}, ""),
        ("0.20.0 L40S", GEMMA, {"limit_mm_per_prompt": {"video": 0}}, ""),
        ("0.20.0 L40S", GEMMA, {"max_num_batched_tokens": 2496}, ""),
        ("0.20.0 H100", GEMMA, {"max_num_batched_tokens": 2495}, "LLM924"),
        ("0.28.0 H100", GEMMA, {"max_num_batched_tokens": 2048}, "LLM924"),
        ("0.28.0 H100", SMALL, {"max_num_batched_tokens": 2048}, ""),
        ("0.19.1 H100", GEMMA, {"max_num_batched_tokens": 2048}, ""),
    ],
)
def test_holds_what_is_read_at_once_in_a_batch(
    where: str, name: str, arguments: dict[str, Any], codes: str
) -> None:
    """
    A picture or video that is looked at in both directions.
    """
    assert codes_of(case(f"vllm {where}", name, **arguments)) == codes


@pytest.mark.parametrize(
    ("release", "name", "runner", "codes"),
    [
        ("0.14.0", "Qwen/Qwen3-Embedding-8B", "generate", "LLM914"),
        ("0.14.0", "Qwen/Qwen3-Embedding-8B", "draft", "LLM914"),
        ("0.21.0", "Qwen/Qwen3-Embedding-0.6B", "generate", "LLM914"),
        ("0.22.0", "Qwen/Qwen3-Embedding-0.6B", "generate", ""),
        ("0.14.0", "Qwen/Qwen3-Embedding-8B", "pooling", ""),
        ("0.14.0", "Qwen/Qwen3-8B", "generate", ""),
    ],
)
def test_writes_nothing_with_weights_of_an_embedder(
    release: str, name: str, runner: str, codes: str
) -> None:
    """
    Which are named otherwise than those of a model that writes.
    """
    assert codes_of(case(f"vllm {release} L40S", name, runner=runner)) == codes
