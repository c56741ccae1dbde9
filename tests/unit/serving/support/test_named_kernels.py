"""
Kernels and backends that are asked for by name, against the model, its weights and the
GPU.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, BLOOM, WHISPER = (
    "LlamaForCausalLM",
    "BloomForCausalLM",
    "WhisperForConditionalGeneration",
)
GEMMA = "Gemma3ForConditionalGeneration"
MOE = "Qwen/Qwen3-30B-A3B-Instruct-2507"
MOE_FP8, GPT_OSS = f"{MOE}-FP8", "openai/gpt-oss-20b"
DEEPSEEK = "DeepseekV3ForCausalLM"
SEES = "Qwen2_5_VLForConditionalGeneration"
AWQ = {"num_experts": 128, "quantization_config": {"quant_method": "awq", "bits": 4}}
NVFP4 = {
    "num_experts": 128,
    "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
}
SHARED: dict[str, Any] = {"enable_expert_parallel": True, "tensor_parallel_size": 4}
QWEN_MOE, OLD_MOE = "Qwen3MoeForCausalLM", "Qwen2MoeForCausalLM"
GPTQ = {"num_experts": 60, "quantization_config": {"quant_method": "gptq", "bits": 4}}
MEGA = "deep_gemm_mega_moe"
WHOLE: dict[str, Any] = {"disable_chunked_mm_input": True}


def _by(kernel: str) -> dict[str, Any]:
    return {"moe_backend": kernel}


def _at(backend: str) -> dict[str, Any]:
    return {"attention_backend": backend}


EXPERTS = table(
    ("LLM940", case("vllm 0.20.0 H100", MOE, **_by("cutlass"))),
    ("LLM940", case("vllm 0.20.0 A10G", MOE, **_by("marlin"))),
    ("LLM940", case("vllm 0.20.0 H100", MOE, **_by("flashinfer_trtllm"))),
    ("", case("vllm 0.20.0 B200", MOE, **_by("flashinfer_trtllm"))),
    ("LLM940", case("vllm 0.20.0 L4", MOE, **_by("flashinfer_cutlass"))),
    ("", case("vllm 0.20.0 L4", MOE, **_by("triton"))),
    ("", case("vllm 0.20.0 H100", MOE, **_by("cutlass"), enable_lora=True)),
    ("LLM884 LLM940", case("vllm 0.20.0 A10G", MOE_FP8, **_by("triton"))),
    ("LLM884", case("vllm 0.20.0 A10G", MOE_FP8, **_by("marlin"))),
    ("", case("vllm 0.20.0 L4", MOE_FP8, **_by("triton"))),
    ("LLM940", case("vllm 0.20.0 L4", MOE_FP8, **_by("deep_gemm"))),
    ("", case("vllm 0.20.0 H100", MOE_FP8, **_by("deep_gemm"))),
    ("LLM940", case("vllm 0.20.0 H100", MOE_FP8, **_by("cutlass"))),
    ("LLM940", case("vllm 0.21.0 RTX", MOE_FP8, **_by("deep_gemm"))),
    ("", case("vllm 0.22.0 RTX", MOE_FP8, **_by("deep_gemm"))),
    ("LLM940", case("vllm 0.20.0 B200", QWEN_MOE, NVFP4, **_by("triton"))),
    ("", case("vllm 0.20.0 B200", QWEN_MOE, NVFP4, **_by("cutlass"))),
    ("LLM940", case("vllm 0.19.0 H100", GPT_OSS, **_by("flashinfer_trtllm"))),
    ("", case("vllm 0.18.0 H100", GPT_OSS, **_by("flashinfer_trtllm"))),
    ("LLM940", case("vllm 0.20.0 A100", GPT_OSS, **_by("triton"))),
    ("", case("vllm 0.20.0 H100", GPT_OSS, **_by("triton"))),
    ("", case("vllm 0.24.0 H100", QWEN_MOE, AWQ, **_by("deep_gemm"))),
    ("LLM940", case("vllm 0.25.1 H100", QWEN_MOE, AWQ, **_by("deep_gemm"))),
    ("LLM940", case("vllm 0.20.2 B200", "DeepseekV4ForCausalLM", **_by(MEGA))),
    ("", case("vllm 0.20.2 B200", "DeepseekV4ForCausalLM", **_by(MEGA), **SHARED)),
    ("LLM942", case("vllm 0.20.0 H100", QWEN_MOE, AWQ, **SHARED, enable_eplb=True)),
    ("", case("vllm 0.20.0 H100", MOE, **SHARED, enable_eplb=True)),
    (
        "LLM942",
        case(
            "vllm 0.20.0 H100",
            MOE,
            **SHARED,
            enable_eplb=True,
            eplb_config={"num_redundant_experts": 3},
        ),
    ),
    (
        "",
        case(
            "vllm 0.20.0 H100",
            MOE,
            **SHARED,
            enable_eplb=True,
            eplb_config={"num_redundant_experts": 4},
        ),
    ),
)

# LLM880, LLM886 and LLM892 are warnings of the release and of the GPU.
PACKED = table(
    ("LLM915", case("vllm 0.6.2 A10G", OLD_MOE, AWQ, dtype="float16")),
    ("", case("vllm 0.6.3.post1 A10G", OLD_MOE, AWQ, dtype="float16")),
    ("LLM880 LLM915", case("vllm 0.5.4 A10G", OLD_MOE, GPTQ, dtype="float16")),
    ("LLM880", case("vllm 0.6.0 A10G", OLD_MOE, GPTQ, dtype="float16")),
    ("LLM919", case("vllm 0.10.2 T4", QWEN_MOE, AWQ, dtype="float16")),
    ("LLM886", case("vllm 0.14.0 T4", QWEN_MOE, AWQ, dtype="float16")),
    ("", case("vllm 0.10.2 T4", LLAMA, AWQ, dtype="float16")),
)

ATTENTION = table(
    ("LLM937", case("vllm 0.20.0 A10G", BLOOM, **_at("FLEX_ATTENTION"))),
    ("", case("vllm 0.20.0 A10G", BLOOM, **_at("TRITON_ATTN"))),
    ("LLM937", case("vllm 0.20.0 A10G", "Gemma2ForCausalLM", **_at("FLEX_ATTENTION"))),
    ("", case("vllm 0.12.0 A10G", GEMMA, **_at("FLASHINFER"))),
    ("LLM937", case("vllm 0.13.0 A10G", GEMMA, **_at("FLASHINFER"))),
    ("LLM937", case("vllm 0.23.0 A10G", GEMMA, **_at("FLASH_ATTN"))),
    ("", case("vllm 0.24.0 H100", GEMMA, **_at("FLASH_ATTN"))),
    ("", case("vllm 0.20.0 A10G", GEMMA, **_at("TRITON_ATTN"))),
    (
        "",
        case(
            "vllm 0.20.0 A10G",
            GEMMA,
            **_at("FLASH_ATTN"),
            limit_mm_per_prompt={"image": 0},
        ),
    ),
    ("LLM937", case("vllm 0.13.0 A10G", WHISPER, **_at("TRITON_ATTN"))),
    ("", case("vllm 0.14.0 A10G", WHISPER, **_at("TRITON_ATTN"))),
    ("LLM937", case("vllm 0.20.0 A10G", WHISPER, **_at("FLASHINFER"))),
    ("LLM868", case("vllm 0.20.0 A10G", LLAMA, block_size=8)),
    ("LLM935", case("vllm 0.20.0 A10G", LLAMA, block_size=8, **_at("FLASH_ATTN"))),
    ("LLM935", case("vllm 0.21.0 A10G", LLAMA, block_size=8)),
    ("", case("vllm 0.21.0 A10G", LLAMA, block_size=48)),
    ("", case("vllm 0.17.1 H100", DEEPSEEK, block_size=16, **_at("FLASHMLA"))),
    ("LLM935", case("vllm 0.18.0 H100", DEEPSEEK, block_size=16, **_at("FLASHMLA"))),
    ("", case("vllm 0.18.0 H100", DEEPSEEK, block_size=64, **_at("FLASHMLA"))),
    (
        "LLM937",
        case("vllm 0.20.0 A10G", SEES, mm_encoder_attn_backend="FLEX_ATTENTION"),
    ),
    ("", case("vllm 0.20.0 A10G", SEES, mm_encoder_attn_backend="TORCH_SDPA")),
    ("LLM935", case("vllm 0.20.0 A10G", SEES, **WHOLE, max_num_batched_tokens=16383)),
    ("", case("vllm 0.20.0 A10G", SEES, **WHOLE, max_num_batched_tokens=16384)),
)


@pytest.mark.parametrize(("codes", "example"), [*EXPERTS, *PACKED])
def test_runs_experts_by_kernels_that_fit(codes: str, example: Example) -> None:
    """
    Their weights and the GPU, and copies of them.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), ATTENTION)
def test_attends_by_what_does_what_the_model_needs(
    codes: str, example: Example
) -> None:
    """
    Where a backend, or a size of blocks, is asked for.
    """
    assert codes_of(example) == codes
