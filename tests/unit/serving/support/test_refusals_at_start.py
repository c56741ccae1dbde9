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
