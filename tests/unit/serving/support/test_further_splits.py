"""
Experts, parts of the context, caches and drafts, by release: what vLLM and SGLang share
and what they take of a checkpoint beside it.
"""

from __future__ import annotations

import pytest

from tests.unit.serving.support.cases import case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, QWEN = "LlamaForCausalLM", "Qwen3ForCausalLM"
HEADS = {"num_attention_heads": 64, "num_key_value_heads": 4}
COMPRESSED = {"quantization_config": {"quant_method": "compressed-tensors"}}
WITH_SCALES = {
    "quantization_config": {
        "quant_method": "compressed-tensors",
        "kv_cache_scheme": {"num_bits": 8},
    }
}
BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
STEP = {"share_expert_dim": 1280, "quantization_config": BLOCKS}
DENSE = {"intermediate_size": 1280, "quantization_config": BLOCKS}
LOOKUP = {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 2}
COPIES = {"num_redundant_experts": 2}
SPECULATOR = {"method": "eagle3", "model": "a/b-speculator.eagle3"}
LATENT = "DeepseekV3ForCausalLM"
EAGLE = {"method": "eagle3", "model": "a/eagle"}
GLM = "Glm4vMoeForConditionalGeneration"
NEXT = "Qwen3NextForCausalLM"
SEEING = {"vision_config": {"num_heads": 12}}
BY_EXPERT = {"enable_expert_parallel": True}
MEGA = {"moe_backend": "deep_gemm_mega_moe"}


def _shared(parts: int, size: int, where: str = "vllm 0.12.0 H100") -> Example:
    return case(
        where,
        QWEN,
        HEADS,
        tensor_parallel_size=size,
        decode_context_parallel_size=parts,
    )


ROWS = table(
    # Experts.
    (case("vllm 0.8.4 A10G", LLAMA, enable_expert_parallel=True), "LLM902"),
    (case("vllm 0.8.4 A10G", LLAMA, enable_expert_parallel=False), ""),
    (case("vllm 0.7.1 A10G", LLAMA, enable_expert_parallel=True), "LLM967"),
    (
        case(
            "vllm 0.14.0 A10G", LLAMA, {"num_experts": 8}, enable_expert_parallel=True
        ),
        "",
    ),
    (case("vllm 0.20.0 H100", "DeepseekV4ForCausalLM", **MEGA), "LLM906"),
    (case("vllm 0.20.0 B200", "DeepseekV4ForCausalLM", **MEGA), ""),
    (case("vllm 0.20.0 B200", "DeepseekV4ForCausalLM", moe_backend="triton"), ""),
    # Parts of the context.
    (_shared(2, 4), "LLM904"),
    (_shared(2, 8), ""),
    (_shared(4, 8), "LLM904"),
    (_shared(1, 4), ""),
    (_shared(2, 4, "vllm 0.11.1 H100"), ""),
    # Caches beside weights that bring scales.
    (
        case("vllm 0.15.1 L40S", LLAMA, COMPRESSED, kv_cache_dtype="fp8_e5m2"),
        "LLM933",
    ),
    (case("vllm 0.23.0 L40S", LLAMA, COMPRESSED, kv_cache_dtype="fp8_e5m2"), ""),
    (
        case("vllm 0.23.0 L40S", LLAMA, WITH_SCALES, kv_cache_dtype="fp8_e5m2"),
        "LLM933",
    ),
    (case("vllm 0.15.1 L40S", LLAMA, COMPRESSED, kv_cache_dtype="fp8_e4m3"), ""),
    # Drafts that are not told how many.
    (case("vllm 0.8.4 H100", LLAMA, speculative_config=EAGLE), "LLM953"),
    (
        case(
            "vllm 0.8.4 H100",
            LLAMA,
            speculative_config={**EAGLE, "num_speculative_tokens": 2},
        ),
        "",
    ),
    (
        case("vllm 0.24.0 H100", LLAMA, speculative_config=EAGLE, spec_tokens=2),
        "",
    ),
    # What goes beside each other.
    (
        case(
            "vllm 0.30.0 H100",
            LLAMA,
            async_scheduling=True,
            speculative_config={"method": "ngram", "num_speculative_tokens": 2},
        ),
        "LLM910",
    ),
    (
        case(
            "vllm 0.12.0 H100",
            LLAMA,
            async_scheduling=True,
            speculative_config={**EAGLE, "num_speculative_tokens": 2},
        ),
        "",
    ),
    (
        case(
            "vllm 0.15.1 H100",
            LLAMA,
            speculative_config=LOOKUP,
            enable_lora=True,
            max_num_seqs=100,
            max_num_batched_tokens=300,
        ),
        "",
    ),
    (
        case(
            "vllm 0.15.1 H100",
            LLAMA,
            speculative_config=LOOKUP,
            enable_lora=True,
            max_num_seqs=100,
            max_num_batched_tokens=299,
        ),
        "LLM953",
    ),
    (
        case(
            "vllm 0.15.1 H100",
            LLAMA,
            speculative_config='{"method": "ngram", "num_speculative_tokens": 2, '
            '"prompt_lookup_min": 3, "prompt_lookup_max": 2}',
        ),
        "LLM953",
    ),
    (
        case(
            "vllm 0.15.1 H100",
            LLAMA,
            speculative_config={**LOOKUP, "tensor_parallel_size": 1},
        ),
        "LLM953",
    ),
    (
        case("vllm 0.19.0 H100", LLAMA, enable_eplb=True, eplb_config=COPIES),
        "",
    ),
    (case("vllm 0.17.0 H100", LLAMA, eplb_config=COPIES), "LLM912"),
    # The condition is told of the arguments alone there.
    (case("vllm 0.16.0 H100", LLAMA, eplb_config=COPIES), ""),
    (
        case("vllm 0.22.0 B200", LATENT, kv_cache_dtype="nvfp4"),
        "LLM933",
    ),
    (case("vllm 0.22.0 B200", LLAMA, kv_cache_dtype="nvfp4"), ""),
    (case("vllm 0.17.0 H100", LLAMA, speculative_config=SPECULATOR), ""),
    # The other format of Mistral's files.
    (
        case("vllm 0.8.4 H100", LLAMA, COMPRESSED, quantization="fp8"),
        "LLM925",
    ),
    (
        case(
            "vllm 0.8.4 H100",
            LLAMA,
            COMPRESSED,
            quantization="fp8",
            config_format="mistral",
        ),
        "",
    ),
    # SGLang.
    (case("sglang 0.5.12 H100", "Step3p5ForCausalLM", STEP, tp_size=4), "LLM947"),
    (case("sglang 0.5.12 H100", "Step3p5ForCausalLM", STEP, tp_size=2), ""),
    (case("sglang 0.5.12 H100", QWEN, DENSE, tp_size=4), "LLM947"),
    (case("sglang 0.5.12 H100", QWEN, DENSE, tp_size=2), ""),
    (case("sglang 0.5.9 H100", NEXT, speculative_algorithm="NEXTN"), ""),
    (case("sglang 0.5.10 H100", NEXT, speculative_algorithm="NEXTN"), "LLM908"),
    (case("sglang 0.5.13 H100", NEXT, speculative_algorithm="NEXTN"), ""),
    (
        case(
            "sglang 0.5.12 H100",
            NEXT,
            speculative_algorithm="NEXTN",
            mamba_scheduler_strategy="extra_buffer",
        ),
        "",
    ),
    (case("sglang 0.5.8 H100", NEXT, speculative_algorithm="EAGLE3"), "LLM953"),
    (case("sglang 0.5.9 H100", NEXT, speculative_algorithm="EAGLE3"), ""),
    (
        case("sglang 0.5.5 H100", GLM, SEEING, tp_size=8),
        "LLM945",
    ),
    (
        case("sglang 0.5.5 H100", GLM, SEEING, tp_size=4),
        "",
    ),
    (
        case("sglang 0.5.6 H100", GLM, SEEING, tp_size=8),
        "",
    ),
    (
        case(
            "sglang 0.5.14 L40S",
            "Gemma4ForConditionalGeneration",
            attention_backend="flashinfer",
        ),
        "LLM937",
    ),
    (
        case(
            "sglang 0.5.14 L40S",
            "Gemma4ForConditionalGeneration",
            attention_backend="triton",
        ),
        "",
    ),
    # TGI loads no weights in 4 bits by code of their own.
    (
        case(
            "tgi 2.4.0 A10G",
            "",
            {"model_type": "own"},
            trust_remote_code=True,
            quantize="gptq",
        ),
        "LLM981",
    ),
    (
        case(
            "tgi 2.4.0 A10G",
            "",
            {"model_type": "own"},
            trust_remote_code=True,
            quantize="bitsandbytes",
        ),
        "LLM854",
    ),
)


@pytest.mark.parametrize(("example", "codes"), ROWS)
def test_shares_and_keeps_what_the_release_can(example: Example, codes: str) -> None:
    """
    On both sides of each limit.
    """
    assert codes_of(example) == codes
