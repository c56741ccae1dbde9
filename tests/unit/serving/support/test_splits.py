"""
A model over several devices: each condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA, MOE = "LlamaForCausalLM", "Qwen3MoeForCausalLM"
HEADS = {"num_attention_heads": 24, "num_key_value_heads": 6}

SPLITS: list[Row] = [
    *(
        (codes, case("vllm 0.10.2 H100", name, config, tensor_parallel_size=size))
        for name, config, size, codes in (
            (LLAMA, HEADS, None, ""),
            (LLAMA, HEADS, 1, ""),
            (LLAMA, HEADS, 2, ""),
            (LLAMA, HEADS, "2", ""),
            (LLAMA, HEADS, 5, "LLM945"),
            (LLAMA, HEADS, "5", "LLM945"),
            (LLAMA, HEADS, "many", ""),
            (LLAMA, HEADS, 4, "LLM945"),
            (LLAMA, HEADS, 6, ""),
            (LLAMA, HEADS, 12, ""),
            (LLAMA, {"num_attention_heads": 25}, 2, "LLM945"),
            (LLAMA, {"n_head": 25}, 2, "LLM945"),
            (LLAMA, {"n_heads": 25}, 2, "LLM945"),
            (LLAMA, {}, 2, ""),
            (LLAMA, {"num_attention_heads": "25"}, 2, ""),
            (LLAMA, {"num_attention_heads": 24, "num_kv_heads": 3}, 2, "LLM945"),
            (LLAMA, {"num_attention_heads": 24}, 2, ""),
            (LLAMA, {**HEADS, "kv_lora_rank": 512}, 4, ""),
            (LLAMA, {"text_config": {"num_attention_heads": 25}}, 2, "LLM945"),
            ("MambaForCausalLM", {"num_attention_heads": 25}, 2, ""),
            ("LlamaForSequenceClassification", {"num_attention_heads": 25}, 2, ""),
            ("", {"num_attention_heads": 25}, 2, "LLM945"),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), SPLITS)
def test_divides_heads_over_devices(codes: str, example: Example) -> None:
    """
    Those of attention, and those of keys and values that they share.
    """
    assert codes_of(example) == codes


def test_tells_the_heads_of_keys_and_values() -> None:
    """
    Which a size must divide, or be a multiple of.
    """
    [found] = case("vllm 0.10.2 H100", LLAMA, HEADS, tensor_parallel_size=4)()

    assert str(found) == (
        "LLM945 tensor_parallel_size must divide the 6 key and value heads or be a "
        "multiple of them, got 4"
    )


def _blocks(method: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"quantization_config": {"quant_method": method, **more}}


FP8 = _blocks("fp8", weight_block_size=[128, 128])
EXPERTS = {**FP8, "moe_intermediate_size": 768}

BLOCKS: list[Row] = [
    *(
        (
            codes,
            case(f"vllm {where}", MOE, config, **arguments),
        )
        for where, config, arguments, codes in (
            ("0.10.2 H100", EXPERTS, {}, ""),
            ("0.10.2 H100", EXPERTS, {"tensor_parallel_size": 2}, ""),
            ("0.10.2 H100", EXPERTS, {"tensor_parallel_size": 4}, "LLM947"),
            (
                "0.10.2 H100",
                EXPERTS,
                {"tensor_parallel_size": 4, "enable_expert_parallel": True},
                "",
            ),
            (
                "0.10.2 H100",
                EXPERTS,
                {"tensor_parallel_size": 4, "enable_expert_parallel": False},
                "LLM947",
            ),
            (
                "0.10.2 H100",
                EXPERTS,
                {"tensor_parallel_size": 4, "enable_expert_parallel": "true"},
                "",
            ),
            (
                "0.10.2 H100",
                {**_blocks("fp8"), "moe_intermediate_size": 768},
                {"tensor_parallel_size": 4},
                "",
            ),
            (
                "0.10.2 H100",
                {**FP8, "intermediate_size": 768},
                {"tensor_parallel_size": 4},
                "LLM947",
            ),
            (
                "0.10.2 H100",
                {**FP8, "intermediate_size": 768},
                {"tensor_parallel_size": 2},
                "",
            ),
            # What is told of experts counts before the dense layers.
            (
                "0.10.2 H100",
                {**EXPERTS, "intermediate_size": 1024},
                {"tensor_parallel_size": 4},
                "LLM947",
            ),
            ("0.10.2 H100", FP8, {"tensor_parallel_size": 4}, ""),
            # Finer blocks of 32 from 0.29 on.
            ("0.28.0 H100", EXPERTS, {"tensor_parallel_size": 4}, "LLM947"),
            ("0.29.0 H100", EXPERTS, {"tensor_parallel_size": 4}, ""),
            ("0.29.0 H100", EXPERTS, {"tensor_parallel_size": 16}, "LLM947"),
            (
                "0.29.0 H100",
                {**EXPERTS, "shared_expert_intermediate_size": 512},
                {"tensor_parallel_size": 8},
                "LLM947",
            ),
            (
                "0.29.0 H100",
                {**EXPERTS, "shared_expert_intermediate_size": 512},
                {"tensor_parallel_size": 4},
                "",
            ),
            (
                "0.29.0 H100",
                {**EXPERTS, "shared_expert_intermediate_size": 512},
                {"tensor_parallel_size": 8, "enable_expert_parallel": True},
                "",
            ),
            (
                "0.29.0 H100",
                {**FP8, "intermediate_size": 768},
                {"tensor_parallel_size": 4},
                "LLM947",
            ),
        )
    ),
    *(
        (
            codes,
            case(f"vllm {where}", LLAMA, config, **arguments),
        )
        for where, config, arguments, codes in (
            # Groups of AWQ and GPTQ.
            (
                "0.10.2 H100",
                {**_blocks("awq", group_size=128), "intermediate_size": 1920},
                {"tensor_parallel_size": 2},
                "LLM947",
            ),
            (
                "0.10.2 H100",
                {**_blocks("awq", group_size=64), "intermediate_size": 1920},
                {"tensor_parallel_size": 2},
                "",
            ),
            (
                "0.10.2 H100",
                {**_blocks("awq"), "intermediate_size": 1920},
                {"tensor_parallel_size": 2},
                "LLM947",
            ),
            (
                "0.10.2 H100",
                {**_blocks("gptq"), "intermediate_size": 1920},
                {"tensor_parallel_size": 2},
                "",
            ),
            (
                "0.10.2 H100",
                {**_blocks("gptq", group_size=128), "intermediate_size": 1920},
                {"tensor_parallel_size": 2},
                "LLM947",
            ),
            (
                "0.10.2 H100",
                {**_blocks("gptq", group_size=-1), "intermediate_size": 1920},
                {"tensor_parallel_size": 2},
                "",
            ),
            (
                "0.10.2 H100",
                {**_blocks("gptq", group_size=128), "intermediate_size": 1920},
                {},
                "",
            ),
            (
                "0.24.0 H100",
                {**_blocks("awq", group_size=128), "intermediate_size": 1920},
                {"tensor_parallel_size": 2},
                "LLM947",
            ),
            (
                "0.24.0 H100",
                {**_blocks("gptq", group_size=128), "intermediate_size": 1920},
                {"tensor_parallel_size": 2},
                "LLM947",
            ),
            (
                "0.10.2 H100",
                {**_blocks("awq", group_size=128)},
                {"tensor_parallel_size": 2},
                "",
            ),
            (
                "0.10.2 H100",
                {
                    **_blocks("awq", group_size=128),
                    "intermediate_size": 1920,
                    "moe_intermediate_size": 1024,
                },
                {"tensor_parallel_size": 2},
                "",
            ),
            (
                "0.10.2 H100",
                {**_blocks("gguf", group_size=128), "intermediate_size": 1920},
                {"tensor_parallel_size": 2},
                "",
            ),
            # A kernel takes 128 of dense layers at once, beside experts.
            (
                "0.7.1 H100",
                {
                    **_blocks("awq"),
                    "intermediate_size": 1920 + 64,
                    "moe_intermediate_size": 1024,
                },
                {},
                "LLM947",
            ),
            (
                "0.8.4 H100",
                {
                    **_blocks("awq"),
                    "intermediate_size": 1920 + 64,
                    "moe_intermediate_size": 1024,
                },
                {},
                "",
            ),
            (
                "0.7.1 H100",
                {
                    **_blocks("gptq"),
                    "intermediate_size": 1920 + 64,
                    "moe_intermediate_size": 1024,
                },
                {},
                "LLM947",
            ),
            (
                "0.7.1 H100",
                {
                    **_blocks("awq"),
                    "intermediate_size": 1920,
                    "moe_intermediate_size": 1024,
                },
                {},
                "",
            ),
            (
                "0.7.1 H100",
                {**_blocks("awq"), "intermediate_size": 1920 + 64},
                {},
                "",
            ),
            (
                "0.7.1 H100",
                {
                    **_blocks("awq"),
                    "intermediate_size": 1920 + 64,
                    "moe_intermediate_size": 1024,
                },
                {"quantization": "awq"},
                "",
            ),
        )
    ),
    *(
        (
            codes,
            case(
                "vllm 0.10.2 H100",
                model,
                {"architectures": [LLAMA], "intermediate_size": 1920},
                tensor_parallel_size=2,
            ),
        )
        for model, codes in (
            ("Qwen/Any-GPTQ-Int4", "LLM947"),
            ("TheBloke/Any-GPTQ", "LLM947"),
            ("someone/Any-GPTQ", ""),
            ("someone/Any-AWQ", "LLM947"),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), BLOCKS)
def test_cuts_weights_between_their_blocks(codes: str, example: Example) -> None:
    """
    Blocks, groups, and what a kernel takes at once.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("release", "config", "arguments", "told"),
    [
        (
            "0.10.2",
            EXPERTS,
            {"tensor_parallel_size": 4},
            (
                "LLM947 tensor_parallel_size=4 cuts layers of 768 into parts of 192, "
                "which are no multiple of the 128 that the quantized weights have in "
                "blocks; use 1 or 2, or enable_expert_parallel"
            ),
        ),
        (
            "0.29.0",
            {**EXPERTS, "moe_intermediate_size": 160},
            {"tensor_parallel_size": 2},
            (
                "LLM947 tensor_parallel_size=2 cuts layers of 160 into parts of 80, "
                "which are no multiple of the 32 that the quantized weights have in "
                "blocks; use 1, or enable_expert_parallel"
            ),
        ),
        (
            "0.10.2",
            {**FP8, "intermediate_size": 1000},
            {"tensor_parallel_size": 3},
            (
                "LLM947 tensor_parallel_size=3 cuts layers of 1000 into parts of "
                "333.333, which are no multiple of the 128 that the quantized weights "
                "have in blocks; take weights in another format"
            ),
        ),
        (
            "0.10.2",
            {**FP8, "intermediate_size": 1024},
            {"tensor_parallel_size": 3},
            (
                "LLM947 tensor_parallel_size=3 cuts layers of 1024 into parts of "
                "341.333, which are no multiple of the 128 that the quantized weights "
                "have in blocks; use 1, 2, 4 or 8"
            ),
        ),
        (
            "0.10.2",
            {**_blocks("awq"), "intermediate_size": 1920},
            {"tensor_parallel_size": 2},
            (
                "LLM947 tensor_parallel_size=2 cuts layers of 1920 into parts of 960, "
                "which are no multiple of the 128 that the quantized weights have in "
                "groups; use 1"
            ),
        ),
        (
            "0.7.1",
            {
                **_blocks("awq"),
                "intermediate_size": 1984,
                "moe_intermediate_size": 1024,
            },
            {},
            (
                "LLM947 tensor_parallel_size=1 cuts layers of 1984 into parts of 1984, "
                "which are no multiple of the 128 that the quantized weights have in "
                "steps of the kernel; take weights in another format, or write "
                "quantization=awq"
            ),
        ),
    ],
)
def test_tells_how_weights_are_cut(
    release: str, config: dict[str, Any], arguments: dict[str, Any], told: str
) -> None:
    """
    Which parts they make, and which sizes fit.
    """
    [found] = case(f"vllm {release} H100", LLAMA, config, **arguments)()

    assert str(found) == told


BNB = {"quantization_config": {"quant_method": "bitsandbytes"}}
LOADED = {"load_format": "bitsandbytes"}
ASKED = {"quantization": "bitsandbytes"}

FOUR_BITS: list[Row] = [
    *(
        (codes, case(f"vllm {release} H100", LLAMA, config, **arguments))
        for release, config, arguments, codes in (
            ("0.10.2", BNB, {"tensor_parallel_size": 2}, "LLM949"),
            ("0.10.2", BNB, {"tensor_parallel_size": 1}, ""),
            ("0.10.2", BNB, {}, ""),
            ("0.4.2", BNB, {"tensor_parallel_size": 2}, "LLM915"),
            ("0.5.3.post1", BNB, {"tensor_parallel_size": 2}, "LLM949 LLM914"),
            (
                "0.5.3.post1",
                {},
                {**ASKED, **LOADED, "tensor_parallel_size": 2},
                "LLM949",
            ),
            ("0.6.2", {}, {**ASKED, **LOADED, "tensor_parallel_size": 2}, ""),
            ("0.5.3.post1", {}, {**ASKED, **LOADED}, ""),
            ("0.5.3.post1", {}, ASKED, "LLM949"),
            ("0.7.1", {}, ASKED, "LLM949"),
            ("0.7.1", {}, {**ASKED, **LOADED}, ""),
            ("0.7.1", {}, {**ASKED, "load_format": "BitsAndBytes"}, ""),
            ("0.7.1", {}, {**ASKED, "load_format": "auto"}, "LLM949"),
            ("0.8.4", {}, ASKED, ""),
            ("0.7.1", {}, LOADED, "LLM914"),
            ("0.8.4", {}, LOADED, ""),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), FOUR_BITS)
def test_keeps_bitsandbytes_on_one_device(codes: str, example: Example) -> None:
    """
    And has them loaded as such, until both follow from the other.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("release", "config", "arguments", "told"),
    [
        (
            "0.10.2",
            BNB,
            {"tensor_parallel_size": 2},
            (
                "LLM949 tensor_parallel_size must be 1 for weights of bitsandbytes, "
                "got 2; use pipeline_parallel_size, or weights in another format"
            ),
        ),
        (
            "0.5.3.post1",
            {},
            {**ASKED, **LOADED, "tensor_parallel_size": 2},
            (
                "LLM949 tensor_parallel_size must be 1 with quantization=bitsandbytes "
                "at vLLM 0.5.3.post1, got 2; take an image with a newer release"
            ),
        ),
        (
            "0.7.1",
            {},
            ASKED,
            (
                "LLM949 quantization=bitsandbytes needs load_format=bitsandbytes at "
                "vLLM 0.7.1, got auto; write both"
            ),
        ),
        (
            "0.7.1",
            {},
            {**ASKED, "load_format": "safetensors"},
            (
                "LLM949 quantization=bitsandbytes needs load_format=bitsandbytes at "
                "vLLM 0.7.1, got safetensors; write both"
            ),
        ),
    ],
)
def test_tells_what_bitsandbytes_needs(
    release: str, config: dict[str, Any], arguments: dict[str, Any], told: str
) -> None:
    """
    And the way out.
    """
    [found] = case(f"vllm {release} H100", LLAMA, config, **arguments)()

    assert str(found) == told


NARROW = {
    "architectures": ["DiffusionGemmaForBlockDiffusion"],
    "quantization_config": {"quant_method": "compressed-tensors", "scheme": "fp8"},
}
PLAIN_FP8 = {**EXPERTS, "quantization_config": {"quant_method": "fp8"}}


@pytest.mark.parametrize(
    ("where", "config", "arguments", "codes"),
    [
        # Experts of 704 in two parts of 352, of which 64 at once are no divisor.
        ("0.24.0 A100", NARROW, {"tensor_parallel_size": 2}, "LLM884 LLM947"),
        ("0.24.0 A100", NARROW, {"tensor_parallel_size": 1}, "LLM884"),
        ("0.24.0 L4", NARROW, {}, ""),
        ("0.24.0 H100", NARROW, {"tensor_parallel_size": 2}, ""),
        ("0.25.0 A100", NARROW, {"tensor_parallel_size": 2}, "LLM884"),
        (
            "0.24.0 A100",
            NARROW,
            {"tensor_parallel_size": 2, "enable_expert_parallel": True},
            "LLM884",
        ),
        ("0.10.2 A100", PLAIN_FP8, {"tensor_parallel_size": 8}, "LLM884 LLM947"),
        ("0.10.2 A100", PLAIN_FP8, {"tensor_parallel_size": 4}, "LLM884"),
    ],
)
def test_cuts_widened_experts_into_steps_of_the_kernel(
    where: str, config: dict[str, Any], arguments: dict[str, Any], codes: str
) -> None:
    """
    Until they were padded.
    """
    assert codes_of(case(f"vllm {where}", "a/b", config, **arguments)) == codes
