"""
What engines raise at their start, read where their source does: each from both sides of
its releases, and of what it asks for.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, MISTRAL, BLOOM = "LlamaForCausalLM", "MistralForCausalLM", "BloomForCausalLM"
PHI, V2, GPT_OSS = "PhiForCausalLM", "DeepseekV2ForCausalLM", "GptOssForCausalLM"
BAICHUAN, FALCON = "BaichuanForCausalLM", "FalconForCausalLM"
GEMMA_2, COHERE = "Gemma2ForCausalLM", "Cohere2ForCausalLM"
HALF: dict[str, Any] = {"dtype": "half"}
TRUSTED = {**HALF, "trust_remote_code": True}
WINDOW = {"sliding_window": 4096}
EIGHTY = {"head_dim": 80, "torch_dtype": "float16"}
NGRAM = {
    "speculative_config": {
        "method": "ngram",
        "num_speculative_tokens": 4,
        "prompt_lookup_max": 4,
    }
}


def _asked(name: str, **more: str) -> dict[str, str]:
    return {"VLLM_ATTENTION_BACKEND": name, **more}


OLD = {"VLLM_USE_V1": "0"}
FLEX, FLASH_MLA = _asked("FLEX_ATTENTION"), _asked("FLASHMLA")
TRITON = _asked("TRITON_ATTN_VLLM_V1")

# FlexAttention is what the new engine of 0.10.2 has on GPUs before Ampere.
FLEXIBLE = table(
    ("LLM935", case("vllm 0.10.2 T4", MISTRAL, WINDOW, **HALF)),
    ("LLM935", case("vllm 0.10.2 V100", MISTRAL, WINDOW, **HALF)),
    ("", case("vllm 0.10.2 A10G", MISTRAL, WINDOW, **HALF)),
    ("", case("vllm 0.10.2 T4", MISTRAL, **HALF)),
    ("", case("vllm 0.10.2 T4", MISTRAL, WINDOW, disable_sliding_window=True, **HALF)),
    ("", case("vllm 0.10.2 T4", MISTRAL, WINDOW, environment=OLD, **HALF)),
    ("", case("vllm 0.10.2 T4", MISTRAL, WINDOW, environment=TRITON, **HALF)),
    ("LLM890", case("vllm 0.10.2 T4", MISTRAL, WINDOW, kv_cache_dtype="fp8", **HALF)),
    ("LLM886", case("vllm 0.12.0 T4", MISTRAL, WINDOW, **HALF)),
    ("LLM935", case("vllm 0.10.2 A10G", MISTRAL, WINDOW, environment=FLEX)),
    ("", case("vllm 0.10.2 A10G", MISTRAL, environment=FLEX)),
    ("", case("vllm 0.10.2 T4", "Qwen2ForCausalLM", WINDOW, **HALF)),
    (
        "",
        case(
            "vllm 0.10.2 T4",
            "Qwen2ForCausalLM",
            {**WINDOW, "use_sliding_window": False},
            **HALF,
        ),
    ),
    ("LLM880", case("vllm 0.11.0 T4", MISTRAL, WINDOW, **HALF)),
    ("LLM935", case("vllm 0.10.2 T4", BLOOM, **HALF)),
    ("LLM880 LLM935", case("vllm 0.11.0 T4", BLOOM, **HALF)),
    ("", case("vllm 0.11.1 T4", BLOOM, **HALF)),
    ("LLM935", case("vllm 0.10.2 T4", BAICHUAN, {"hidden_size": 5120}, **TRUSTED)),
    ("", case("vllm 0.10.2 T4", BAICHUAN, {"hidden_size": 4096}, **TRUSTED)),
    ("LLM935", case("vllm 0.10.2 T4", FALCON, {"alibi": True}, **HALF)),
    ("", case("vllm 0.10.2 T4", FALCON, {"alibi": False}, **HALF)),
    (
        "LLM880 LLM935",
        case("vllm 0.11.0 T4", LLAMA, {"attn_logit_softcapping": 50.0}, **HALF),
    ),
)

# What FlashAttention lacks is done by something slower.
SLOWER = table(
    *(
        (codes, case(f"vllm {where}", PHI, {**EIGHTY, "head_dim": size}, **asked))
        for where, size, asked, codes in (
            ("0.10.2 A10G", 80, {}, "LLM872"),
            ("0.10.2 A10G", 96, {}, ""),
            ("0.10.2 A10G", 80, {"dtype": "float32"}, ""),
            ("0.10.2 T4", 80, {}, ""),
            ("0.11.1 A10G", 80, {}, ""),
            ("0.6.3.post1 A10G", 80, {}, "LLM872"),
            ("0.7.1 A10G", 80, {}, "LLM872"),
            ("0.5.3.post1 A10G", 80, {}, "LLM872"),
            ("0.4.2 A10G", 80, {}, ""),
            ("0.6.3.post1 A10G", 64, {}, ""),
            ("0.6.3.post1 T4", 80, {}, ""),
            ("0.6.3.post1 A10G", 100, {}, "LLM935"),
        )
    ),
    (
        "LLM937",
        case("vllm 0.10.2 A10G", "microsoft/phi-2", environment=_asked("FLASH_ATTN")),
    ),
    (
        "LLM872",
        case("vllm 0.10.2 A10G", "microsoft/phi-2"),
    ),
)

# The backends of the old engine are few, and drafts are none of its own.
GENERATIONS = table(
    ("LLM937", case("vllm 0.10.2 H100", GPT_OSS, environment=_asked("FLASHINFER"))),
    ("", case("vllm 0.10.2 B200", GPT_OSS, environment=_asked("FLASHINFER"))),
    ("", case("vllm 0.10.2 H100", LLAMA, environment=_asked("FLASHINFER"))),
    ("LLM937", case("vllm 0.10.2 A100", V2, environment=FLASH_MLA)),
    ("LLM937", case("vllm 0.10.2 B200", V2, environment=FLASH_MLA)),
    ("LLM937", case("vllm 0.10.2 B200", V2, environment=FLASH_MLA, block_size=64)),
    ("", case("vllm 0.10.2 A100", V2, environment=FLASH_MLA, block_size=64)),
    ("", case("vllm 0.10.2 H100", V2, environment=FLASH_MLA)),
    ("", case("vllm 0.10.2 A100", V2)),
    (
        "LLM890 LLM937",
        case("vllm 0.10.2 A10G", LLAMA, environment=TRITON, kv_cache_dtype="fp8"),
    ),
    (
        "LLM890",
        case("vllm 0.10.2 L40S", LLAMA, environment=TRITON, kv_cache_dtype="fp8"),
    ),
    ("LLM890", case("vllm 0.10.2 A10G", LLAMA, kv_cache_dtype="fp8")),
    ("", case("vllm 0.10.2 A10G", LLAMA, environment=TRITON)),
    (
        "LLM937",
        case("vllm 0.10.2 A10G", LLAMA, environment={**TRITON, **OLD}),
    ),
    (
        "LLM937",
        case("vllm 0.10.2 A10G", LLAMA, environment=_asked("FLASHINFER", **OLD)),
    ),
    ("", case("vllm 0.10.2 A10G", LLAMA, environment=_asked("XFORMERS", **OLD))),
    ("", case("vllm 0.10.2 A10G", LLAMA, environment=_asked("FLASH_ATTN", **OLD))),
    ("", case("vllm 0.10.2 A10G", V2, environment=_asked("TRITON_MLA", **OLD))),
    ("LLM953", case("vllm 0.10.2 A10G", LLAMA, environment=OLD, **NGRAM)),
    ("LLM953", case("vllm 0.10.2 A10G", LLAMA, preemption_mode="swap", **NGRAM)),
    (
        "LLM890 LLM953",
        case("vllm 0.10.2 A10G", LLAMA, kv_cache_dtype="fp8", **NGRAM),
    ),
    ("", case("vllm 0.10.2 H100", LLAMA, kv_cache_dtype="fp8", **NGRAM)),
    ("", case("vllm 0.10.2 A10G", LLAMA, **NGRAM)),
    ("", case("vllm 0.8.4 A10G", LLAMA, environment=OLD, **NGRAM)),
)


def _long(release: str, name: str, backend: str, length: int, **more: str) -> Example:
    return case(
        f"vllm {release} A10G",
        name,
        {**WINDOW, "max_position_embeddings": 8192, "torch_dtype": "bfloat16"},
        environment=_asked(backend, **more),
        max_model_len=length,
    )


# Where windows and whole layers take turns, these backends have neither.
WINDOWS = table(
    ("LLM931", _long("0.8.4", GEMMA_2, "XFORMERS", 8192)),
    ("", _long("0.8.4", GEMMA_2, "XFORMERS", 4096)),
    ("", _long("0.8.4", GEMMA_2, "FLASH_ATTN", 8192)),
    ("LLM931", _long("0.7.1", COHERE, "FLASHINFER", 8192)),
    ("", _long("0.8.4", LLAMA, "XFORMERS", 8192)),
    ("", _long("0.10.2", GEMMA_2, "XFORMERS", 8192)),
    ("LLM931", _long("0.10.2", GEMMA_2, "XFORMERS", 8192, **OLD)),
)


@pytest.mark.parametrize(
    ("codes", "example"), [*FLEXIBLE, *SLOWER, *GENERATIONS, *WINDOWS]
)
def test_refuses_what_raises_at_start(codes: str, example: Example) -> None:
    """
    Errors where the source raises, warnings where it takes something else.
    """
    assert codes_of(example) == codes


QWEN, QWEN_MOE, NEXT = "Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "Qwen3NextForCausalLM"
QWEN_3_5, NEMOTRON = "Qwen3_5ForConditionalGeneration", "NemotronHForCausalLM"
GEMMA_4, GRANITE = "Gemma4ForConditionalGeneration", "GraniteMoeForCausalLM"
EXPERTS = {"num_experts": 128, "moe_intermediate_size": 768}
LORA: dict[str, Any] = {"enable_lora": True}
BY_EXPERTS = {"tensor_parallel_size": 4, "enable_expert_parallel": True}
MTP = {"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}}
WIDE: dict[str, Any] = {"dtype": "float32"}
V3_2, CODE = "DeepseekV32ForCausalLM", {"trust_remote_code": True}

# Adapters against the GPU, the vocabulary and the experts.
ADAPTERS = table(
    *(
        (codes, case(f"vllm {where}", LLAMA, {"torch_dtype": "float16"}, **asked))
        for where, asked, codes in (
            ("0.3.3 V100", LORA, "LLM928"),
            ("0.3.3 T4", LORA, "LLM928"),
            ("0.3.3 A100", LORA, ""),
            ("0.3.3 V100", {}, ""),
            ("0.5.3.post1 T4", LORA, "LLM928"),
            ("0.5.3.post1 A10G", LORA, ""),
            ("0.6.2 T4", LORA, ""),
        )
    ),
    *(
        (codes, case(f"vllm {release} A10G", name, {"vocab_size": size}, **asked))
        for release, name, size, asked, codes in (
            ("0.3.3", LLAMA, 33025, LORA, "LLM928"),
            ("0.3.3", LLAMA, 33024, LORA, ""),
            ("0.4.2", LLAMA, 128512, LORA, ""),
            ("0.4.2", LLAMA, 128513, LORA, "LLM928"),
            ("0.5.3.post1", MISTRAL, 131072, LORA, "LLM928"),
            ("0.5.3.post1", MISTRAL, 131072, {}, ""),
            ("0.5.3.post1", "Qwen2ForCausalLM", 151936, LORA, ""),
            ("0.6.2", MISTRAL, 131072, LORA, ""),
        )
    ),
    *(
        (codes, case(f"vllm {release} A100", name, EXPERTS, **asked))
        for release, name, asked, codes in (
            ("0.11.1", QWEN_MOE, {**LORA, **BY_EXPERTS}, "LLM928"),
            ("0.20.2", QWEN_MOE, {**LORA, **BY_EXPERTS}, "LLM928"),
            ("0.21.0", QWEN_MOE, {**LORA, **BY_EXPERTS}, ""),
            ("0.10.2", QWEN_MOE, {**LORA, **BY_EXPERTS}, ""),
            ("0.20.0", QWEN_MOE, {**LORA, "tensor_parallel_size": 4}, ""),
            ("0.20.0", QWEN_MOE, {**LORA, "enable_expert_parallel": True}, ""),
            ("0.20.0", QWEN_MOE, BY_EXPERTS, ""),
            ("0.20.0", GEMMA_4, LORA, "LLM928"),
            ("0.24.0", GEMMA_4, LORA, "LLM928"),
            ("0.25.0", GEMMA_4, LORA, ""),
            ("0.20.0", GEMMA_4, {}, ""),
            ("0.11.1", GRANITE, LORA, "LLM928"),
            ("0.10.2", GRANITE, LORA, ""),
        )
    ),
    ("", case("vllm 0.20.0 A100", GEMMA_4, **LORA)),
)

# States of hybrid models, and what is kept of them.
UNALIGNED = {"enable_prefix_caching": True, "enable_chunked_prefill": False}
UNKEPT = {"enable_prefix_caching": False, "mamba_block_size": 1024}
SHORT: dict[str, Any] = {"max_model_len": 8192}
STATES = table(
    *(
        (codes, case(f"vllm {release} L40S", name, **asked))
        for release, name, asked, codes in (
            ("0.20.0", QWEN_3_5, UNALIGNED, "LLM930"),
            ("0.28.0", QWEN_3_5, UNALIGNED, "LLM930"),
            ("0.29.0", QWEN_3_5, UNALIGNED, ""),
            ("0.15.1", NEXT, UNALIGNED, "LLM930"),
            ("0.14.0", NEXT, UNALIGNED, ""),
            ("0.20.0", QWEN_3_5, {"enable_prefix_caching": True}, ""),
            ("0.20.0", QWEN_3_5, {"enable_chunked_prefill": False}, ""),
            ("0.20.0", NEMOTRON, {**UNALIGNED, **CODE}, ""),
            ("0.20.0", QWEN, UNALIGNED, ""),
            ("0.15.1", NEXT, {"enable_prefix_caching": True, **MTP}, "LLM930"),
            ("0.16.0", NEXT, {"enable_prefix_caching": True, **MTP}, "LLM930"),
            ("0.17.0", NEXT, {"enable_prefix_caching": True, **MTP}, ""),
            ("0.20.0", NEMOTRON, {**UNKEPT, **SHORT, **CODE}, "LLM930"),
            ("0.20.0", NEMOTRON, {**UNKEPT, **CODE, "max_model_len": 1024}, ""),
            ("0.20.0", NEMOTRON, {**UNKEPT, **CODE}, ""),
            (
                "0.20.0",
                NEMOTRON,
                {**UNKEPT, **SHORT, **CODE, "enable_prefix_caching": True},
                "",
            ),
        )
    ),
)

# Pictures, and how they are handed on.
RENDERERS: dict[str, Any] = {"renderer_num_workers": 2}
IN_MEMORY = {"mm_tensor_ipc": "torch_shm"}
WHOLE_PICTURES = {"disable_chunked_mm_input": True, "enable_prefix_caching": True}
FAST, EAGLE = {"kv_sharing_fast_prefill": True}, {"method": "eagle3", "model": "a/b"}
LLAVA_NEXT = "LlavaNextForConditionalGeneration"
PICTURES = table(
    *(
        (codes, case(f"vllm {release} A10G", name, **asked))
        for release, name, asked, codes in (
            ("0.20.0", LLAVA_NEXT, RENDERERS, "LLM914"),
            ("0.19.0", LLAVA_NEXT, RENDERERS, "LLM914"),
            ("0.30.0", LLAVA_NEXT, RENDERERS, "LLM914"),
            ("0.20.0", LLAVA_NEXT, {**RENDERERS, "mm_processor_cache_gb": 0}, ""),
            ("0.20.0", LLAVA_NEXT, {"renderer_num_workers": 1}, ""),
            ("0.20.0", LLAMA, RENDERERS, ""),
            ("0.20.0", LLAVA_NEXT, IN_MEMORY, ""),
            ("0.20.0", LLAMA, {**IN_MEMORY, "pipeline_parallel_size": 1}, ""),
            ("0.20.0", QWEN_3_5, WHOLE_PICTURES, "LLM930"),
            ("0.20.0", QWEN_3_5, {"disable_chunked_mm_input": True}, ""),
            ("0.20.0", LLAMA, WHOLE_PICTURES, ""),
        )
    ),
    (
        "LLM914",
        case("vllm 0.20.0 A100", LLAVA_NEXT, tensor_parallel_size=2, **IN_MEMORY),
    ),
    *(
        (
            codes,
            case(
                f"vllm {release} A10G",
                LLAMA,
                speculative_config={**drafts, "num_speculative_tokens": 2},
                **asked,
            ),
        )
        for release, drafts, asked, codes in (
            ("0.10.2", EAGLE, FAST, "LLM953"),
            ("0.20.0", EAGLE, FAST, "LLM953"),
            ("0.20.0", EAGLE, {}, ""),
            ("0.20.0", {"method": "ngram"}, FAST, ""),
        )
    ),
)

# Numbers in 32 bits, and backends by class.
NUMBERS = table(
    *(
        (codes, case(f"vllm {release} H100", name, attention_backend=asked, **more))
        for release, name, asked, more, codes in (
            ("0.20.0", QWEN, "FLASH_ATTN", WIDE, "LLM937"),
            ("0.20.0", QWEN, "FLASHINFER", WIDE, "LLM937"),
            ("0.20.0", QWEN, "FLASH_ATTN", {"dtype": "bfloat16"}, ""),
            ("0.20.0", QWEN, "TRITON_ATTN", WIDE, ""),
            ("0.20.0", QWEN, "FLEX_ATTENTION", WIDE, ""),
            ("0.20.0", V2, "TRITON_MLA", WIDE, "LLM937"),
        )
    ),
    ("LLM935", case("vllm 0.20.0 H100", V2, **WIDE)),
    ("", case("vllm 0.20.0 H100", V2, environment={"VLLM_MLA_DISABLE": "1"}, **WIDE)),
    ("", case("vllm 0.20.0 H100", V2, dtype="bfloat16")),
    ("LLM935", case("vllm 0.12.0 B200", V3_2)),
    ("LLM935", case("vllm 0.11.1 B200", V3_2)),
    ("", case("vllm 0.13.0 B200", V3_2)),
    ("", case("vllm 0.12.0 H200", V3_2)),
    ("", case("vllm 0.12.0 B200", V3_2, environment=_asked("FLASHMLA_SPARSE"))),
)

# Files and parts of them.
QWEN_1 = {"intermediate_size": 27392, "num_attention_heads": 40}
GROUPS = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
MIXTRAL, GLM_V = "MixtralForCausalLM", "Glm4vMoeForConditionalGeneration"
FP8_NEXT, MINICPM = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", "MiniCPMV"
PARAMS, MISTRAL_3 = (
    "stelterlab/Mistral-Small-3.2-24B-Instruct-2506-FP8",
    {"tokenizer_mode": "mistral", "config_format": "mistral", "load_format": "mistral"},
)
PARTIAL: dict[str, Any] = {"max_num_partial_prefills": 4, "max_model_len": 8192}
IN_PARTS = {**PARTIAL, "enable_chunked_prefill": True}
FILES = table(
    ("LLM914", case("vllm 0.2.7 A10G", MIXTRAL, load_format="pt")),
    ("LLM914", case("vllm 0.3.3 A10G", MIXTRAL, load_format="pt")),
    ("", case("vllm 0.4.2 A10G", MIXTRAL, load_format="pt")),
    ("", case("vllm 0.2.7 A10G", MIXTRAL, load_format="safetensors")),
    ("", case("vllm 0.2.7 A10G", LLAMA, load_format="pt")),
    *(
        (
            codes,
            case(
                "vllm 0.2.7 A10G",
                "QWenLMHeadModel",
                {**QWEN_1, **GROUPS},
                tensor_parallel_size=size,
                **TRUSTED,
            ),
        )
        for size, codes in ((2, "LLM947"), (1, ""))
    ),
    *(
        (
            codes,
            case(
                "vllm 0.2.7 A10G",
                "csdc-atl/Baichuan2-7B-Chat-GPTQ-Int4",
                tensor_parallel_size=size,
                **TRUSTED,
            ),
        )
        for size, codes in ((4, "LLM947"), (2, ""))
    ),
    ("LLM947", case("vllm 0.10.2 H100", FP8_NEXT, tensor_parallel_size=4)),
    ("", case("vllm 0.10.2 H100", FP8_NEXT)),
    ("", case("vllm 0.11.1 H100", FP8_NEXT, tensor_parallel_size=4)),
    ("LLM901", case("vllm 0.8.4 L40S", MINICPM, {"version": 4.5}, **CODE)),
    ("", case("vllm 0.8.4 L40S", MINICPM, {"version": 2.6}, **CODE)),
    ("", case("vllm 0.10.2 L40S", MINICPM, {"version": 4.5}, **CODE)),
    ("LLM915", case("vllm 0.12.0 L40S", PARAMS, **MISTRAL_3)),
    ("LLM915", case("vllm 0.16.0 L40S", PARAMS, **MISTRAL_3)),
    ("", case("vllm 0.17.0 L40S", PARAMS, **MISTRAL_3)),
    ("", case("vllm 0.15.1 L40S", PARAMS)),
    ("LLM914", case("vllm 0.10.2 A10G", LLAMA, **PARTIAL)),
    ("", case("vllm 0.10.2 A10G", LLAMA, **IN_PARTS)),
    (
        "",
        case("vllm 0.10.2 A10G", LLAMA, **{**PARTIAL, "max_model_len": 40000}),
    ),
    ("", case("vllm 0.10.2 A10G", LLAMA, **{**PARTIAL, "max_num_partial_prefills": 1})),
    ("LLM936", case("vllm 0.12.0 H100", GLM_V, tensor_parallel_size=8)),
    ("", case("vllm 0.12.0 H100", GLM_V, tensor_parallel_size=4)),
    (
        "",
        case(
            "vllm 0.12.0 H100",
            GLM_V,
            tensor_parallel_size=8,
            mm_encoder_tp_mode="data",
        ),
    ),
    (
        "",
        case(
            "vllm 0.12.0 H100",
            GLM_V,
            {"vision_config": {"num_heads": 16}},
            tensor_parallel_size=8,
        ),
    ),
    ("", case("vllm 0.29.0 H100", GLM_V, tensor_parallel_size=8)),
)

# What TGI and TEI do not start with.
INFER = {"ATTENTION": "flashinfer"}
PAGED, DECODING = {"ATTENTION": "paged"}, {"ATTENTION": "flashdecoding"}
KEPT, KEPT_BEFORE = {"PREFIX_CACHING": "1"}, {"USE_PREFIX_CACHING": "true"}
E5M2: dict[str, Any] = {"kv_cache_dtype": "fp8_e5m2"}
LLAVA, BGE = "LlavaNextForConditionalGeneration", "BAAI/bge-base-en-v1.5"
NAMED = {"default_prompt_name": "query"}
OTHERS = table(
    ("LLM932", case("tgi 2.4.0 A10G", LLAMA, environment=PAGED, **E5M2)),
    ("LLM932", case("tgi 3.0.1 A10G", LLAMA, environment=PAGED, **E5M2)),
    ("", case("tgi 3.1.1 A10G", LLAMA, environment=PAGED, **E5M2)),
    ("LLM932", case("tgi 3.1.1 A10G", LLAMA, environment=DECODING, **E5M2)),
    ("", case("tgi 2.4.0 A10G", LLAMA, environment=INFER, **E5M2)),
    ("", case("tgi 2.4.0 A10G", LLAMA, **E5M2)),
    ("", case("tgi 2.4.0 A10G", LLAMA, environment=PAGED)),
    ("LLM932", case("tgi 2.4.0 A10G", LLAMA, {"head_dim": 96}, **E5M2)),
    ("", case("tgi 2.4.0 A10G", LLAMA, {"head_dim": 128}, **E5M2)),
    ("LLM932", case("tgi 2.4.0 A10G", LLAVA, environment=KEPT)),
    ("LLM932", case("tgi 3.3.6 A10G", LLAVA, environment=KEPT)),
    ("", case("tgi 2.4.0 A10G", LLAVA, environment={"PREFIX_CACHING": "0"})),
    ("", case("tgi 2.4.0 A10G", LLAMA, environment=KEPT)),
    ("LLM932", case("tgi 2.3.1 A10G", LLAVA, environment=KEPT_BEFORE)),
    ("", case("tgi 2.3.1 A10G", LLAVA, environment=KEPT)),
    ("", case("tgi 2.2.0 A10G", LLAVA, environment=KEPT_BEFORE)),
    ("LLM932", case("tgi 2.4.0 A10G", LLAMA, environment={**KEPT, **PAGED})),
    ("LLM934", case("tei 1.8.2 A10G", BGE, **NAMED)),
    ("LLM934", case("tei 1.4.0 A10G", BGE, **NAMED)),
    ("", case("tei 1.8.2 A10G", BGE, default_prompt="query: ")),
    ("", case("tei 1.8.2 A10G", "intfloat/multilingual-e5-large-instruct", **NAMED)),
)


@pytest.mark.parametrize(
    ("codes", "example"), [*ADAPTERS, *STATES, *PICTURES, *NUMBERS, *FILES, *OTHERS]
)
def test_refuses_settings_that_raise_at_start(codes: str, example: Example) -> None:
    """
    Of adapters, states, pictures, numbers, files, and of the other engines.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("where", "shards", "codes"),
    [
        ("tgi 2.0.2 A10G", 2, ["LLM174"]),
        ("tgi 2.0.2 A10G", 1, []),
        ("tgi 2.0.2 CPU", 1, []),
        ("tgi 2.0.2 A100", 8, []),
        ("tgi 2.0.2 A100", 9, ["LLM174"]),
    ],
)
def test_each_shard_of_tgi_takes_a_gpu(
    where: str, shards: int, codes: list[str]
) -> None:
    """
    Of those that the instance has.
    """
    found = case(where, LLAMA, num_shard=shards)()

    assert [one.code for one in found] == codes
