"""
Drafts and caches of SGLang beside its attention: each condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA, V3 = "LlamaForCausalLM", "DeepseekV3ForCausalLM"
OWN_DRAFT = {"speculative_draft_model_path": "a/b"}
SHARED = {"enable_dp_attention": True, "dp_size": 8, "tp_size": 8}
ADAPTERS = {"enable_lora": True, "lora_paths": ["x=/y"]}


@pytest.mark.parametrize(
    ("release", "algorithm", "arguments", "codes"),
    [
        # Up to 0.5.11 the conditions that are kept as data tell it.
        ("0.5.11", "STANDALONE", {**OWN_DRAFT, **SHARED}, ""),
        ("0.5.12", "STANDALONE", {**OWN_DRAFT, **SHARED}, "LLM953"),
        ("0.5.20", "STANDALONE", {**OWN_DRAFT, **SHARED}, "LLM953"),
        ("0.5.20", "STANDALONE", OWN_DRAFT, ""),
        ("0.5.20", "EAGLE", {**OWN_DRAFT, **SHARED}, ""),
        ("0.5.14", "DFLASH", {}, "LLM953"),
        ("0.5.14", "DFLASH", OWN_DRAFT, ""),
        ("0.5.14", "EAGLE", {**OWN_DRAFT, **ADAPTERS}, "LLM953"),
        ("0.5.14", "EAGLE3", {**OWN_DRAFT, "lora_paths": ["x=/y"]}, "LLM953"),
        ("0.5.14", "NGRAM", ADAPTERS, ""),
        ("0.5.14", "EAGLE", OWN_DRAFT, ""),
        ("0.5.18", "EAGLE", {**OWN_DRAFT, **ADAPTERS}, "LLM953"),
        ("0.5.19", "EAGLE", {**OWN_DRAFT, **ADAPTERS}, ""),
    ],
)
def test_drafts_with_what_it_needs(
    release: str, algorithm: str, arguments: dict[str, Any], codes: str
) -> None:
    """
    And beside what it runs with.
    """
    example = case(
        f"sglang {release} H100", LLAMA, speculative_algorithm=algorithm, **arguments
    )

    assert codes_of(example) == codes


FOUR_BITS: list[Row] = [
    (codes, case(f"sglang {where}", name, kv_cache_dtype=kind, **arguments))
    for where, name, kind, arguments, codes in (
        ("0.5.6 H100", LLAMA, "fp4_e2m1", {}, ""),
        ("0.5.7 H100", LLAMA, "fp4_e2m1", {}, "LLM933"),
        ("0.5.20 A10G", LLAMA, "fp4_e2m1", {}, "LLM933"),
        ("0.5.20 B200", LLAMA, "fp4_e2m1", {}, ""),
        ("0.5.20 CPU", LLAMA, "fp4_e2m1", {}, ""),
        ("0.5.20 H100", "Qwen3NextForCausalLM", "fp4_e2m1", {}, ""),
        ("0.5.20 H100", LLAMA, "auto", {}, ""),
        ("0.5.20 H100", LLAMA, "fp4_e2m1", {"attention_backend": "triton"}, ""),
        ("0.5.20 H100", LLAMA, "fp4_e2m1", {"attention_backend": "fa3"}, "LLM933"),
        (
            "0.5.20 H100",
            LLAMA,
            "fp4_e2m1",
            {"prefill_attention_backend": "fa3", "decode_attention_backend": "triton"},
            "",
        ),
        ("0.5.20 H100", V3, "fp4_e2m1", {}, "LLM933"),
        ("0.5.20 H100", V3, "fp4_e2m1", {"attention_backend": "flashmla"}, ""),
        ("0.5.20 B200", V3, "fp4_e2m1", {}, ""),
    )
]


@pytest.mark.parametrize(("codes", "example"), FOUR_BITS)
def test_keeps_a_cache_in_four_bits_that_attention_reads(
    codes: str, example: Example
) -> None:
    """
    By the backend that is asked for, or that the GPU comes to.
    """
    assert codes_of(example) == codes
