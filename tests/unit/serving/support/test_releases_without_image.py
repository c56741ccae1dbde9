"""
Releases that no image of the catalogue has: what the ones around them have in common
is told of them, and nothing of those that nobody read.
"""

from __future__ import annotations

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

GPT_OSS, AWQ = "openai/gpt-oss-20b", "TheBloke/Mistral-7B-v0.1-AWQ"
HALVES = {"quantization": "awq", "dtype": "half"}
TRITON = {"VLLM_ATTENTION_BACKEND": "TRITON_ATTN_VLLM_V1"}
BLOCKS, QWEN = "Qwen/Qwen3-235B-A22B-FP8", "Qwen/Qwen2.5-7B-Instruct"
LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
OMNI = "Qwen2_5OmniForConditionalGeneration"

BETWEEN: list[Row] = [
    # The class is in neither of both neighbours, in both, and in one.
    ("LLM880 LLM901", case("vllm 0.6.5 A10G", "Qwen3ForCausalLM")),
    ("LLM880", case("vllm 0.6.5 A10G", "Qwen2ForCausalLM")),
    ("LLM880", case("vllm 0.6.5 A10G", "InternLM2VEForCausalLM")),
    ("LLM880 LLM901", case("vllm 0.8.5 L40S", OMNI)),
    ("LLM880", case("vllm 0.9.2 L40S", OMNI)),
    # Limits that were read in the source hold between images too.
    ("LLM880 LLM919", case("vllm 0.2.0 T4", AWQ, **HALVES)),
    ("LLM880", case("vllm 0.2.1 T4", AWQ, **HALVES)),
    ("LLM880", case("vllm 0.2.0 A10G", AWQ, **HALVES)),
    ("LLM880 LLM935", case("vllm 0.10.1 L40S", GPT_OSS)),
    ("LLM880 LLM935", case("vllm 0.10.1.1 A100", GPT_OSS)),
    ("LLM880", case("vllm 0.10.1 L40S", GPT_OSS, environment=TRITON)),
    ("LLM880", case("vllm 0.10.1 H100", GPT_OSS)),
    ("LLM880", case("vllm 0.10.1 B200", GPT_OSS)),
    ("", case("vllm 0.10.2 L40S", GPT_OSS)),
    ("LLM880 LLM901", case("sglang 0.5.4 H100", "Qwen3_5ForCausalLM")),
    ("LLM880 LLM975", case("tgi 1.4.3 A10G", "google/gemma-2-2b-it")),
    # SGLang had vLLM widen such weights, up to a release.
    *(
        (codes, case(f"sglang {where}", "RedHatAI/Qwen3-8B-FP8-dynamic"))
        for where, codes in (
            ("0.4.4 A10G", "LLM880"),
            ("0.4.5 A10G", "LLM880 LLM919"),
            ("0.5.3 A100", "LLM880 LLM919"),
            ("0.5.3 L4", "LLM880"),
            ("0.5.4 A10G", "LLM880 LLM884"),
            ("0.5.5 A10G", "LLM884"),
        )
    ),
    *(
        (codes, case(f"sglang {release} H100", BLOCKS, tp=8, **more))
        for release, more, codes in (
            ("0.4.4", {}, "LLM880"),
            ("0.4.9.post3", {}, "LLM880 LLM947"),
            ("0.4.9.post3", {"enable_deepep_moe": True}, "LLM880"),
            ("0.5.3", {}, "LLM880 LLM947"),
        )
    ),
    # A longer context was let through unless the variable said no.
    *(
        (codes, case(f"sglang {release} H100", QWEN, context_length=65536, **more))
        for release, more, codes in (
            ("0.5.0", {}, "LLM880 LLM888"),
            ("0.5.0", {"environment": {LONGER: "0"}}, "LLM880 LLM931"),
            ("0.5.1", {}, "LLM880 LLM931"),
            ("0.5.1", {"environment": {LONGER: "1"}}, "LLM880 LLM888"),
        )
    ),
    # Older or newer than all that was read.
    ("LLM880", case("vllm 0.1.7 A10G", "FooBarForCausalLM")),
    ("LLM880", case("vllm 0.34.0 A10G", "FooBarForCausalLM")),
    ("LLM880", case("sglang 0.4.4 A10G", "FooBarForCausalLM")),
]


@pytest.mark.parametrize(("codes", "example"), BETWEEN)
def test_judges_a_release_without_an_image(codes: str, example: Example) -> None:
    """
    By what was read around it.
    """
    assert codes_of(example) == codes
