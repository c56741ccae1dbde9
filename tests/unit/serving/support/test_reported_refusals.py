"""
Refusals that reports of users told of: each from both sides of its releases, and of
what it asks for.
"""

from __future__ import annotations

import pytest

from tests.unit.serving.support.cases import case, codes_of, table
from tests.unit.support_rule_examples import Example

QWEN, QWEN_3_5 = "Qwen2ForCausalLM", "Qwen3_5ForConditionalGeneration"
GRANITE, SEES = "GraniteMoeHybridForCausalLM", "Qwen2VLForConditionalGeneration"
TURBO = {"kv_cache_dtype": "turboquant_4bit_nc"}
EIGHT_BITS = {"kv_cache_dtype": "fp8", "dtype": "half"}
R1 = {"enable_reasoning": True, "reasoning_parser": "deepseek_r1"}
TOOLS = {"enable_auto_tool_choice": True, "tool_call_parser": "hermes"}
BGE, INTERN = "BAAI/bge-m3", "OpenGVLab/InternVL3-78B-AWQ"
KIMI, ALPHA = "KimiK25ForConditionalGeneration", "StableLMAlphaForCausalLM"
FLASH_3 = {"mm_attention_backend": "fa3"}
E5M2 = {"attention_backend": "fa3", "kv_cache_dtype": "fp8_e5m2"}
TRUSTED = {"trust_remote_code": True}
SHARDS = {"num_shard": 2, **TRUSTED}


def _texts(release: str, tokens: int, **more: object) -> Example:
    return case(
        f"vllm {release} A10G",
        "BertModel",
        max_model_len=512,
        max_num_batched_tokens=tokens,
        **more,
    )


CACHES = table(
    ("LLM933", case("vllm 0.20.0 A100", QWEN_3_5, **TURBO)),
    ("LLM933", case("vllm 0.20.2 A100", QWEN_3_5, **TURBO)),
    ("", case("vllm 0.21.0 A100", QWEN_3_5, **TURBO)),
    ("", case("vllm 0.20.0 A100", "Qwen3ForCausalLM", **TURBO)),
    ("", case("vllm 0.20.0 A100", QWEN_3_5)),
    ("LLM933", case("vllm 0.20.0 A100", GRANITE, **TURBO)),
    ("", case("vllm 0.20.0 A100", GRANITE, {"layer_types": ["attention"]}, **TURBO)),
    (
        "LLM933",
        case(
            "vllm 0.20.0 A100",
            GRANITE,
            {"layer_types": ["attention", "mamba"]},
            **TURBO,
        ),
    ),
    ("LLM886 LLM933", case("vllm 0.16.0 V100", QWEN, **EIGHT_BITS)),
    ("LLM886 LLM933", case("vllm 0.11.1 V100", QWEN, **EIGHT_BITS)),
    ("LLM890", case("vllm 0.10.2 V100", QWEN, **EIGHT_BITS)),
    ("LLM886 LLM890", case("vllm 0.16.0 T4", QWEN, **EIGHT_BITS)),
    ("LLM886", case("vllm 0.16.0 V100", QWEN, dtype="half")),
    ("LLM890", case("sglang 0.5.5 H100", QWEN, **E5M2)),
    ("LLM890", case("sglang 0.5.20 H100", QWEN, **E5M2)),
    ("LLM880", case("sglang 0.5.4 H100", QWEN, **E5M2)),
    ("", case("sglang 0.5.9 H100", QWEN, **{**E5M2, "kv_cache_dtype": "fp8_e4m3"})),
    ("", case("sglang 0.5.9 H100", QWEN, kv_cache_dtype="fp8_e5m2")),
)
PARSERS = table(
    ("LLM963", case("vllm 0.7.1 A100", QWEN, enable_reasoning=True)),
    ("LLM963", case("vllm 0.8.4 A100", QWEN, enable_reasoning=True)),
    ("LLM880 LLM963", case("vllm 0.8.5.post1 A100", QWEN, enable_reasoning=True)),
    ("LLM880", case("vllm 0.9.2 A100", QWEN, enable_reasoning=True)),
    ("", case("vllm 0.8.4 A100", QWEN, **R1)),
    ("", case("vllm 0.8.4 A100", QWEN, enable_reasoning=False)),
    ("LLM880 LLM963", case("vllm 0.7.3 A100", QWEN, **R1, **TOOLS)),
    ("", case("vllm 0.8.4 A100", QWEN, **R1, **TOOLS)),
    ("LLM963", case("vllm 0.6.2 A100", QWEN, enable_auto_tool_choice=True)),
    ("LLM963", case("vllm 0.30.0 A100", QWEN, enable_auto_tool_choice=True)),
)
BATCHES = table(
    ("LLM914", _texts("0.10.2", 511)),
    ("", _texts("0.10.2", 512)),
    ("LLM914", _texts("0.8.4", 511)),
    ("", _texts("0.8.4", 512)),
    ("LLM914", _texts("0.11.1", 511)),
    ("LLM914", _texts("0.30.0", 511)),
    ("", _texts("0.30.0", 512)),
    ("", _texts("0.30.0", 511, enable_chunked_prefill=True)),
    ("LLM914", _texts("0.30.0", 511, enable_chunked_prefill=False)),
    ("", _texts("0.30.0", 511, pooler_config={"pooling_type": "LAST"})),
    ("LLM914", case("vllm 0.10.2 A10G", BGE, max_num_batched_tokens=2048)),
    ("LLM914", case("vllm 0.10.2 A10G", BGE, max_num_batched_tokens=8191)),
    ("", case("vllm 0.10.2 A10G", BGE, max_num_batched_tokens=8192)),
    # Others may have a shorter limit beside config.json.
    (
        "",
        case(
            "vllm 0.10.2 A10G",
            "BertModel",
            {"max_position_embeddings": 512},
            max_num_batched_tokens=256,
        ),
    ),
    (
        "",
        case("vllm 0.10.2 A10G", QWEN, max_num_batched_tokens=511, max_model_len=512),
    ),
)
PARTS = table(
    ("LLM947", case("vllm 0.10.2 A100", INTERN, tensor_parallel_size=2, **TRUSTED)),
    ("LLM947", case("vllm 0.8.4 A100", INTERN, tensor_parallel_size=8, **TRUSTED)),
    (
        "LLM880 LLM947",
        case("vllm 0.10.0 A100", INTERN, tensor_parallel_size=4, **TRUSTED),
    ),
    (
        "LLM947",
        case(
            "vllm 0.30.0 A100",
            INTERN,
            tensor_parallel_size=2,
            quantization="awq",
            dtype="half",
            **TRUSTED,
        ),
    ),
    ("", case("vllm 0.10.2 A100", INTERN, tensor_parallel_size=1, **TRUSTED)),
    (
        "",
        case(
            "vllm 0.10.2 A100",
            "OpenGVLab/InternVL3-78B",
            tensor_parallel_size=8,
            **TRUSTED,
        ),
    ),
)
CLASSES = table(
    ("LLM901", case("vllm 0.8.4 A100", ALPHA, **TRUSTED)),
    ("LLM882", case("vllm 0.8.4 A100", "OtherAlphaForCausalLM", **TRUSTED)),
    ("LLM937", case("sglang 0.5.5 B200", SEES, **FLASH_3)),
    ("LLM937", case("sglang 0.5.20 RTX", SEES, **FLASH_3)),
    ("LLM880", case("sglang 0.5.4 B200", SEES, **FLASH_3)),
    ("", case("sglang 0.5.9 H100", SEES, **FLASH_3)),
    ("", case("sglang 0.5.9 B200", SEES, mm_attention_backend="triton_attn")),
    ("", case("sglang 0.5.9 B200", QWEN, **FLASH_3)),
    ("LLM937", case("sglang 0.5.9 B200", KIMI, **FLASH_3, **TRUSTED)),
    ("LLM977", case("tgi 2.0.3 A100", "DeepseekV2ForCausalLM", **SHARDS)),
    ("LLM880 LLM977", case("tgi 2.0.4 A100", "DeepseekV2ForCausalLM", **SHARDS)),
    ("LLM880 LLM977", case("tgi 2.1.1 A100", "DeepseekV2ForCausalLM", **SHARDS)),
    ("", case("tgi 2.2.0 A100", "DeepseekV2ForCausalLM", **SHARDS)),
    ("LLM854", case("tgi 2.0.3 A100", "DeepseekV2ForCausalLM", **TRUSTED)),
    (
        "LLM977",
        case("tgi 2.0.3 A100", "DeepseekV2ForCausalLM", sharded=True, **TRUSTED),
    ),
    (
        "LLM854",
        case(
            "tgi 2.0.3 A100",
            "DeepseekV2ForCausalLM",
            sharded=False,
            num_shard=2,
            **TRUSTED,
        ),
    ),
    ("LLM977", case("tgi 3.0.1 A100", "", {"model_type": "own"}, **SHARDS)),
    ("LLM854", case("tgi 3.1.1 A100", "", {"model_type": "own"}, **SHARDS)),
    ("LLM880", case("tgi 2.1.0 A100", "Gemma2ForCausalLM")),
)


@pytest.mark.parametrize(("codes", "example"), CACHES)
def test_knows_which_caches_attention_keeps(codes: str, example: Example) -> None:
    """
    Of which model, on which GPU.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), PARSERS)
def test_asks_for_the_parsers_that_switches_need(codes: str, example: Example) -> None:
    """
    While the release has the switch.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), BATCHES)
def test_holds_batches_against_the_longest_text(codes: str, example: Example) -> None:
    """
    Of what reads it at once.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), PARTS)
def test_cuts_between_groups_of_weights(codes: str, example: Example) -> None:
    """
    Of a model that is known by its name alone, too.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), CLASSES)
def test_knows_what_classes_run_with(codes: str, example: Example) -> None:
    """
    Backends, shards and code.
    """
    assert codes_of(example) == codes
