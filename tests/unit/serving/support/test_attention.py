"""
Attention against the GPU: each condition of vLLM's rules from both sides.
"""

from __future__ import annotations

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA, GPT_OSS, V2 = "LlamaForCausalLM", "GptOssForCausalLM", "DeepseekV2ForCausalLM"
V32, GEMMA_2 = "DeepseekV32ForCausalLM", "Gemma2ForCausalLM"
FP8 = {"quantization_config": {"quant_method": "fp8"}}
MODELOPT = {"quantization_config": {"quant_method": "modelopt"}}
V1 = {"VLLM_USE_V1": "1"}

CACHES: list[Row] = [
    ("LLM890", case("vllm 0.7.1 A10G", LLAMA, kv_cache_dtype="fp8")),
    ("LLM890", case("vllm 0.7.1 A10G", LLAMA, kv_cache_dtype="FP8")),
    ("LLM890", case("vllm 0.7.1 A10G", LLAMA, kv_cache_dtype="fp8_e4m3")),
    ("LLM890", case("vllm 0.7.1 A10G", LLAMA, kv_cache_dtype="fp8_e5m2")),
    ("LLM890", case("vllm 0.7.1 H100", LLAMA, kv_cache_dtype="fp8")),
    ("", case("vllm 0.7.1 A10G", LLAMA, kv_cache_dtype="auto")),
    ("LLM914", case("vllm 0.7.1 A10G", LLAMA, kv_cache_dtype="fp8_inc")),
    ("", case("vllm 0.7.1 A10G", LLAMA, kv_cache_dtype=None)),
    ("", case("vllm 0.7.1 CPU", LLAMA, kv_cache_dtype="fp8")),
    # The new engine of 0.8 to 0.10 has it on Hopper, and on B200 at last.
    ("LLM890", case("vllm 0.8.4 A10G", LLAMA, kv_cache_dtype="fp8")),
    ("LLM890", case("vllm 0.8.4 L40S", LLAMA, kv_cache_dtype="fp8")),
    ("", case("vllm 0.8.4 H100", LLAMA, kv_cache_dtype="fp8")),
    ("LLM923 LLM890", case("vllm 0.8.4 B200", LLAMA, kv_cache_dtype="fp8")),
    ("", case("vllm 0.10.2 B200", LLAMA, kv_cache_dtype="fp8")),
    ("LLM890", case("vllm 0.10.2 RTX", LLAMA, kv_cache_dtype="fp8")),
    ("LLM933", case("vllm 0.8.4 A10G", LLAMA, environment=V1, kv_cache_dtype="fp8")),
    ("", case("vllm 0.8.4 H100", LLAMA, environment=V1, kv_cache_dtype="fp8")),
    ("LLM890", case("vllm 0.7.1 A10G", LLAMA, environment=V1, kv_cache_dtype="fp8")),
    (
        "LLM890",
        case(
            "vllm 0.8.4 A10G",
            LLAMA,
            environment={"VLLM_USE_V1": "0"},
            kv_cache_dtype="fp8",
        ),
    ),
    # From 0.11.1 on FlashInfer has it before Ada, for some sizes of heads.
    ("LLM890", case("vllm 0.11.1 A10G", LLAMA, kv_cache_dtype="fp8")),
    ("", case("vllm 0.11.1 L4", LLAMA, kv_cache_dtype="fp8")),
    ("LLM886 LLM890", case("vllm 0.23.0 T4", LLAMA, kv_cache_dtype="fp8")),
    ("LLM886 LLM933", case("vllm 0.24.0 T4", LLAMA, kv_cache_dtype="fp8")),
    ("LLM890", case("vllm 0.24.0 A10G", LLAMA, kv_cache_dtype="fp8")),
    ("LLM933", case("vllm 0.24.0 A10G", LLAMA, {"head_dim": 80}, kv_cache_dtype="fp8")),
    ("", case("vllm 0.24.0 L4", LLAMA, {"head_dim": 80}, kv_cache_dtype="fp8")),
    *(
        (
            codes,
            case(
                f"vllm {release} A10G",
                LLAMA,
                {"head_dim": size},
                kv_cache_dtype=kind,
            ),
        )
        for release, size, kind, codes in (
            ("0.23.0", 64, "fp8", "LLM890"),
            ("0.23.0", 128, "fp8", "LLM890"),
            ("0.23.0", 256, "fp8", "LLM890"),
            ("0.23.0", 96, "fp8", "LLM933"),
            ("0.23.0", 96, "fp8_e4m3", "LLM933"),
            ("0.21.0", 512, "fp8", "LLM933"),
            ("0.22.0", 512, "fp8", "LLM890"),
            ("0.23.0", 96, "fp8_e5m2", "LLM890"),
            ("0.24.0", 96, "fp8_e5m2", "LLM933"),
        )
    ),
    # A head's size is the hidden size over the heads where it is not told.
    (
        "LLM933",
        case(
            "vllm 0.12.0 A10G",
            LLAMA,
            {"hidden_size": 3072, "num_attention_heads": 32},
            kv_cache_dtype="fp8",
        ),
    ),
    (
        "LLM890",
        case(
            "vllm 0.12.0 A10G",
            LLAMA,
            {"hidden_size": 3072, "num_attention_heads": 32, "head_dim": 128},
            kv_cache_dtype="fp8",
        ),
    ),
    (
        "LLM933",
        case(
            "vllm 0.12.0 A10G",
            LLAMA,
            {"n_embd": 3072, "n_head": 32},
            kv_cache_dtype="fp8",
        ),
    ),
    (
        "LLM933",
        case(
            "vllm 0.12.0 A10G",
            LLAMA,
            {"d_model": 3072, "n_heads": 32},
            kv_cache_dtype="fp8",
        ),
    ),
    (
        "LLM890",
        case(
            "vllm 0.12.0 A10G",
            LLAMA,
            {"hidden_size": 3073, "num_attention_heads": 32},
            kv_cache_dtype="fp8",
        ),
    ),
    (
        "LLM890",
        case("vllm 0.12.0 A10G", LLAMA, {"hidden_size": 3072}, kv_cache_dtype="fp8"),
    ),
    ("LLM933", case("vllm 0.11.1 A10G", GPT_OSS, kv_cache_dtype="fp8")),
    ("", case("vllm 0.11.1 L40S", GPT_OSS, kv_cache_dtype="fp8")),
    # Latent attention has it on Hopper and B200, until the others come.
    ("LLM933", case("vllm 0.11.1 A100", V2, kv_cache_dtype="fp8")),
    ("LLM933", case("vllm 0.11.1 L40S", V2, kv_cache_dtype="fp8")),
    ("LLM933", case("vllm 0.17.1 L40S", V2, kv_cache_dtype="fp8")),
    ("", case("vllm 0.18.0 L40S", V2, kv_cache_dtype="fp8")),
    ("LLM890", case("vllm 0.18.0 A100", V2, kv_cache_dtype="fp8")),
    ("", case("vllm 0.11.1 H100", V2, kv_cache_dtype="fp8")),
    ("", case("vllm 0.11.1 B200", V2, kv_cache_dtype="fp8")),
    ("LLM933", case("vllm 0.11.1 RTX", V2, kv_cache_dtype="fp8")),
    *(
        (
            "LLM933",
            case(
                "vllm 0.17.1 L40S", name, kv_cache_dtype="fp8", trust_remote_code=True
            ),
        )
        for name in (
            "DeepseekV3ForCausalLM",
            "DeepseekVLV2ForCausalLM",
            "KimiVLForConditionalGeneration",
            "KimiK25ForConditionalGeneration",
        )
    ),
    # Weights in fp8 bring scales for one of the two kinds.
    ("LLM933", case("vllm 0.7.1 L40S", LLAMA, FP8, kv_cache_dtype="fp8_e5m2")),
    ("LLM933", case("vllm 0.5.3.post1 L40S", LLAMA, FP8, kv_cache_dtype="fp8_e5m2")),
    ("LLM890", case("vllm 0.4.2 L40S", LLAMA, FP8, kv_cache_dtype="fp8")),
    ("LLM890", case("vllm 0.7.1 L40S", LLAMA, FP8, kv_cache_dtype="fp8_e4m3")),
    ("LLM933", case("vllm 0.8.4 H100", LLAMA, MODELOPT, kv_cache_dtype="fp8_e5m2")),
    # NVIDIA's own files of DeepSeek say it, from a release on.
    ("LLM884", case("vllm 0.13.0 L40S", "nvidia/DeepSeek-V3-NVFP4")),
    ("LLM884 LLM933", case("vllm 0.14.0 L40S", "nvidia/DeepSeek-V3-NVFP4")),
    (
        "LLM884",
        case("vllm 0.14.0 L40S", "nvidia/DeepSeek-V3-NVFP4", kv_cache_dtype="auto"),
    ),
    ("LLM884", case("vllm 0.14.0 L40S", "nvidia/Kimi-V3-NVFP4")),
]


@pytest.mark.parametrize(("codes", "example"), CACHES)
def test_keeps_a_cache_in_8_bits_where_attention_takes_it(
    codes: str, example: Example
) -> None:
    """
    By release, GPU, kind and size of the heads.
    """
    assert codes_of(example) == codes


SPECIAL: list[Row] = [
    ("", case("vllm 0.10.2 H100", LLAMA, kv_cache_dtype="fp8_ds_mla")),
    ("LLM933", case("vllm 0.11.1 H100", LLAMA, kv_cache_dtype="fp8_ds_mla")),
    ("", case("vllm 0.11.1 H100", "", kv_cache_dtype="fp8_ds_mla")),
    ("", case("vllm 0.11.1 H100", V2, kv_cache_dtype="fp8_ds_mla")),
    (
        "",
        case(
            "vllm 0.11.1 H100",
            LLAMA,
            {"kv_lora_rank": 512},
            kv_cache_dtype="fp8_ds_mla",
        ),
    ),
    ("", case("vllm 0.11.1 H100", LLAMA, kv_cache_dtype="fp8_inc")),
    ("LLM933", case("vllm 0.12.0 H100", LLAMA, kv_cache_dtype="fp8_inc")),
    ("LLM933", case("vllm 0.30.0 H100", V2, kv_cache_dtype="fp8_inc")),
    ("", case("vllm 0.11.1 H100", LLAMA, kv_cache_dtype="bfloat16")),
    ("LLM933", case("vllm 0.12.0 H100", LLAMA, kv_cache_dtype="bfloat16")),
    ("LLM933", case("vllm 0.14.0 H100", LLAMA, kv_cache_dtype="bfloat16")),
    ("", case("vllm 0.15.1 H100", LLAMA, kv_cache_dtype="bfloat16")),
    ("", case("vllm 0.14.0 H100", V2, kv_cache_dtype="bfloat16")),
    ("", case("vllm 0.14.0 H100", LLAMA, kv_cache_dtype="float16")),
    *(
        (
            codes,
            case(
                f"vllm {where}",
                name,
                config,
                environment=environment,
                kv_cache_dtype=kind,
                **arguments,
            ),
        )
        for where, name, config, environment, kind, arguments, codes in (
            ("0.11.1 H100", LLAMA, {"head_dim": 128}, {}, "fp8_e5m2", {}, ""),
            ("0.12.0 H100", LLAMA, {"head_dim": 128}, {}, "fp8_e5m2", {}, "LLM933"),
            ("0.21.0 H100", LLAMA, {"head_dim": 128}, {}, "fp8_e5m2", {}, "LLM933"),
            ("0.22.0 H100", LLAMA, {"head_dim": 128}, {}, "fp8_e5m2", {}, ""),
            ("0.12.0 H100", LLAMA, {"head_dim": 256}, {}, "fp8_e5m2", {}, "LLM933"),
            ("0.12.0 H100", LLAMA, {"head_dim": 257}, {}, "fp8_e5m2", {}, ""),
            ("0.12.0 H100", LLAMA, {}, {}, "fp8_e5m2", {}, ""),
            ("0.12.0 H100", "", {"head_dim": 128}, {}, "fp8_e5m2", {}, ""),
            ("0.12.0 L40S", LLAMA, {"head_dim": 128}, {}, "fp8_e5m2", {}, ""),
            ("0.12.0 B200", LLAMA, {"head_dim": 128}, {}, "fp8_e5m2", {}, ""),
            ("0.12.0 H100", LLAMA, {"head_dim": 128}, {}, "fp8_e4m3", {}, ""),
            ("0.12.0 H100", LLAMA, {"head_dim": 128}, {}, "fp8", {}, ""),
            (
                "0.12.0 H100",
                LLAMA,
                {"head_dim": 128, "kv_lora_rank": 512},
                {},
                "fp8_e5m2",
                {},
                "",
            ),
            (
                "0.12.0 H100",
                LLAMA,
                {"head_dim": 128, "global_head_dim": 512},
                {},
                "fp8_e5m2",
                {},
                "",
            ),
            (
                "0.12.0 H100",
                LLAMA,
                {"head_dim": 128},
                {},
                "fp8_e5m2",
                {"attention_backend": "FLASHINFER"},
                "",
            ),
            (
                "0.12.0 H100",
                LLAMA,
                {"head_dim": 128},
                {"VLLM_ATTENTION_BACKEND": "FLASHINFER"},
                "fp8_e5m2",
                {},
                "",
            ),
        )
    ),
    ("LLM886 LLM933", case("vllm 0.21.0 T4", LLAMA, kv_cache_dtype="turboquant_k8v4")),
    ("", case("vllm 0.21.0 A100", LLAMA, kv_cache_dtype="turboquant_k8v4")),
    ("", case("vllm 0.21.0 CPU", LLAMA, kv_cache_dtype="turboquant_k8v4")),
]


@pytest.mark.parametrize(("codes", "example"), SPECIAL)
def test_leaves_a_format_of_some_attention_to_that(
    codes: str, example: Example
) -> None:
    """
    By model, release and GPU.
    """
    assert codes_of(example) == codes


WINDOW = {"sliding_window": 4096}
PREFIXES: list[Row] = [
    *(
        (
            codes,
            case(f"vllm {release} A10G", LLAMA, config, enable_prefix_caching=value),
        )
        for release, config, value, codes in (
            ("0.3.3", WINDOW, True, "LLM967"),
            ("0.4.2", WINDOW, True, "LLM969"),
            ("0.7.1", WINDOW, True, "LLM969"),
            ("0.7.1", WINDOW, "true", "LLM969"),
            ("0.7.1", WINDOW, False, ""),
            ("0.7.1", WINDOW, "false", ""),
            ("0.7.1", WINDOW, None, ""),
            ("0.8.4", WINDOW, True, ""),
            ("0.7.1", {}, True, ""),
            ("0.7.1", {"sliding_window": None}, True, ""),
            ("0.7.1", {**WINDOW, "use_sliding_window": False}, True, ""),
            ("0.7.1", {**WINDOW, "use_sliding_window": True}, True, "LLM969"),
            ("0.7.1", {**WINDOW, "use_sliding_window": None}, True, "LLM969"),
            ("0.7.1", {**WINDOW, "model_type": "gemma2"}, True, ""),
            ("0.7.1", {**WINDOW, "model_type": "cohere2"}, True, ""),
            ("0.7.1", {**WINDOW, "model_type": "mistral"}, True, "LLM969"),
        )
    ),
    *(
        (
            codes,
            case(
                "vllm 0.6.2 A10G",
                LLAMA,
                WINDOW,
                enable_prefix_caching=True,
                disable_sliding_window=value,
            ),
        )
        for value, codes in ((True, ""), ("1", ""), (False, "LLM969"), (None, "LLM969"))
    ),
    *(
        (
            codes,
            case(
                f"vllm {release} A10G",
                LLAMA,
                enable_prefix_caching=value,
                kv_cache_dtype=kind,
            ),
        )
        for release, kind, value, codes in (
            ("0.4.2", "fp8", True, "LLM890"),
            ("0.5.3.post1", "fp8", True, "LLM890 LLM969"),
            ("0.5.3.post1", "fp8", False, "LLM890"),
            ("0.5.3.post1", "auto", True, ""),
            ("0.5.3.post1", "fp8_e4m3", True, "LLM890"),
            ("0.6.2", "fp8", True, "LLM890"),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), PREFIXES)
def test_keeps_prefixes_where_attention_looks_at_all_of_them(
    codes: str, example: Example
) -> None:
    """
    No window, or one that is off, and no cache in 8 bits.
    """
    assert codes_of(example) == codes


BACKENDS: list[Row] = [
    *(
        ("", case("vllm 0.2.7 A10G", LLAMA, {"head_dim": size}))
        for size in (64, 80, 96, 112, 128, 256)
    ),
    ("LLM935", case("vllm 0.2.7 A10G", LLAMA, {"head_dim": 72})),
    ("LLM935", case("vllm 0.2.1.post1 CPU", LLAMA, {"head_dim": 72})),
    ("LLM935", case("vllm 0.3.3 A10G", LLAMA, {"head_dim": 100})),
    ("LLM935", case("vllm 0.4.2 A10G", LLAMA, {"head_dim": 192})),
    ("", case("vllm 0.2.7 A10G", LLAMA)),
    ("LLM935", case("vllm 0.2.7 A10G", "GPT2LMHeadModel", {"head_dim": 72})),
    ("", case("vllm 0.2.7 A10G", "", {"head_dim": 72})),
    ("", case("vllm 0.11.1 H100", V32)),
    ("", case("vllm 0.11.1 H200", V32)),
    ("LLM935", case("vllm 0.11.1 B200", V32)),
    ("LLM935", case("vllm 0.11.1 A100", V32)),
    ("LLM935", case("vllm 0.11.1 L40S", V32)),
    ("LLM935", case("vllm 0.23.0 RTX", V32)),
    ("", case("vllm 0.24.0 RTX", V32)),
    ("LLM935", case("vllm 0.24.0 L40S", V32)),
    ("", case("vllm 0.11.1 CPU", V32)),
    ("LLM935", case("vllm 0.20.0 A100", "GlmMoeDsaForCausalLM")),
    ("LLM935", case("vllm 0.20.0 A100", "DeepseekV4ForCausalLM")),
    ("", case("vllm 0.11.1 A100", V2)),
    ("LLM935", case("vllm 0.5.3.post1 T4", GEMMA_2)),
    ("LLM935", case("vllm 0.6.3.post1 V100", GEMMA_2)),
    ("", case("vllm 0.7.1 T4", GEMMA_2)),
    ("", case("vllm 0.6.3.post1 A100", GEMMA_2)),
    ("", case("vllm 0.6.3.post1 T4", "GemmaForCausalLM")),
]


@pytest.mark.parametrize(("codes", "example"), BACKENDS)
def test_finds_a_backend_for_the_model_on_the_gpu(codes: str, example: Example) -> None:
    """
    By the size of heads, sparse attention, and soft capping.
    """
    assert codes_of(example) == codes


FORCED: list[Row] = [
    *(
        (
            codes,
            case(
                f"vllm {where}",
                name,
                config,
                attention_backend=asked,
            ),
        )
        for where, name, config, asked, codes in (
            ("0.24.0 A10G", LLAMA, {}, None, ""),
            ("0.24.0 A10G", LLAMA, {}, "FLASH_ATTN", ""),
            ("0.24.0 CPU", LLAMA, {"head_dim": 96}, "FLASHINFER", ""),
            ("0.23.0 T4", LLAMA, {}, "FLASH_ATTN", "LLM886 LLM937"),
            ("0.23.0 T4", LLAMA, {}, "flash_attn", "LLM886 LLM937"),
            ("0.23.0 T4", LLAMA, {}, "FLASH_ATTN_VLLM_V1", "LLM886 LLM937"),
            ("0.23.0 T4", LLAMA, {}, "FLASHINFER", "LLM886"),
            ("0.24.0 T4", LLAMA, {}, "FLASHINFER", "LLM886 LLM937"),
            ("0.24.0 T4", LLAMA, {}, "TRITON_ATTN", "LLM886"),
            ("0.12.0 V100", LLAMA, {}, "FLASHINFER", "LLM886 LLM937"),
            ("0.24.0 H100", V2, {}, "FLASHINFER", "LLM937"),
            ("0.24.0 H100", V2, {}, "FLASH_ATTN", "LLM937"),
            ("0.24.0 H100", V2, {}, "FLASHMLA", ""),
            ("0.24.0 H100", LLAMA, {"head_dim": 96}, "FLASHINFER", "LLM937"),
            ("0.24.0 H100", LLAMA, {"head_dim": 96}, "FLASH_ATTN", ""),
            ("0.24.0 H100", LLAMA, {"head_dim": 64}, "FLASHINFER", ""),
            ("0.24.0 H100", LLAMA, {"head_dim": 128}, "FLASHINFER", ""),
            ("0.24.0 H100", LLAMA, {"head_dim": 256}, "FLASHINFER", ""),
            ("0.24.0 H100", LLAMA, {"head_dim": 512}, "FLASHINFER", ""),
            ("0.21.0 H100", LLAMA, {"head_dim": 512}, "FLASHINFER", "LLM937"),
            ("0.22.0 H100", LLAMA, {"head_dim": 512}, "FLASHINFER", ""),
            (
                "0.21.0 H100",
                LLAMA,
                {"head_dim": 256, "global_head_dim": 512},
                "FLASHINFER",
                "LLM937",
            ),
            ("0.24.0 L40S", GPT_OSS, {}, "FLASH_ATTN", "LLM937"),
            ("0.24.0 H100", GPT_OSS, {}, "FLASH_ATTN", ""),
            ("0.24.0 H100", GPT_OSS, {}, "FLASHINFER", "LLM937"),
            ("0.29.0 H100", GPT_OSS, {}, "FLASHINFER", "LLM937"),
            ("0.30.0 H100", GPT_OSS, {}, "FLASHINFER", ""),
            ("0.30.0 L40S", GPT_OSS, {}, "FLASHINFER", "LLM937"),
            ("0.24.0 B200", GPT_OSS, {}, "FLASHINFER", ""),
            ("0.27.1 RTX", GPT_OSS, {}, "FLASHINFER", "LLM884 LLM937"),
            ("0.28.0 RTX", GPT_OSS, {}, "FLASHINFER", "LLM884"),
            ("0.24.0 L40S", GPT_OSS, {}, "TRITON_ATTN", ""),
            ("0.24.0 L40S", LLAMA, {}, "FLASHINFER", ""),
        )
    ),
    *(
        (
            codes,
            case(
                f"vllm {where}",
                LLAMA,
                environment={"VLLM_ATTENTION_BACKEND": asked},
            ),
        )
        for where, asked, codes in (
            ("0.6.2 A10G", "TORCH_SDPA", "LLM937"),
            ("0.8.4 A10G", "TORCH_SDPA", "LLM937"),
            ("0.8.4 A10G", "torch_sdpa", "LLM937"),
            ("0.10.2 A10G", "TORCH_SDPA", "LLM937"),
            ("0.4.2 A10G", "TORCH_SDPA", ""),
            ("0.5.3.post1 A10G", "TORCH_SDPA", "LLM937"),
            ("0.6.2 T4", "FLASHINFER", "LLM937"),
            ("0.6.2 T4", "XFORMERS", ""),
            ("0.6.2 A10G", "FLASHINFER", ""),
            ("0.5.3.post1 T4", "FLASHINFER", ""),
            ("0.10.2 T4", "FLASHINFER_VLLM_V1", "LLM937"),
            ("0.6.2 CPU", "TORCH_SDPA", ""),
            ("0.6.2 A10G", "", ""),
        )
    ),
    # The argument counts before the variable.
    (
        "LLM886",
        case(
            "vllm 0.24.0 T4",
            "",
            environment={"VLLM_ATTENTION_BACKEND": "FLASHINFER"},
            attention_backend="TRITON_ATTN",
        ),
    ),
]


@pytest.mark.parametrize(("codes", "example"), FORCED)
def test_forces_a_backend_that_takes_the_model(codes: str, example: Example) -> None:
    """
    Named by the argument or the variable, in either case.
    """
    assert codes_of(example) == codes


GENERATIONS: list[Row] = [
    *(
        (
            codes,
            case(
                f"vllm {where}",
                name,
                environment={"VLLM_USE_V1": value} if value else None,
            ),
        )
        for where, name, value, codes in (
            ("0.7.1 T4", LLAMA, "1", "LLM939"),
            ("0.6.3.post1 T4", LLAMA, "1", ""),
            ("0.8.4 T4", LLAMA, "1", "LLM939"),
            ("0.10.2 T4", LLAMA, "1", ""),
            ("0.7.1 A10G", LLAMA, "1", ""),
            ("0.7.1 CPU", LLAMA, "1", ""),
            ("0.7.1 T4", LLAMA, "0", ""),
            ("0.7.1 T4", LLAMA, "", ""),
            ("0.8.4 T4", LLAMA, "0", "LLM892"),
            ("0.8.4 T4", LLAMA, "", "LLM892"),
            ("0.8.4 V100", LLAMA, "", "LLM892"),
            ("0.8.4 A100", LLAMA, "", ""),
            ("0.8.4 CPU", LLAMA, "", ""),
            ("0.10.2 T4", LLAMA, "", ""),
            ("0.8.4 H100", "BartForConditionalGeneration", "1", "LLM939"),
            ("0.8.4 H100", "BartForConditionalGeneration", "", ""),
            ("0.8.4 H100", "BartForConditionalGeneration", "0", ""),
            ("0.7.1 H100", "BartForConditionalGeneration", "1", ""),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), GENERATIONS)
def test_forces_an_engine_that_runs_on_the_gpu(codes: str, example: Example) -> None:
    """
    The new one needs Ampere until it has other attention.
    """
    assert codes_of(example) == codes
