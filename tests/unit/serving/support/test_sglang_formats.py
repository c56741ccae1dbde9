"""
What SGLang asks of the GPU and of quantized weights: each condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, GPT_OSS, V3 = "LlamaForCausalLM", "GptOssForCausalLM", "DeepseekV3ForCausalLM"
AT = "sglang 0.5.14"


def _quantized(method: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"quantization_config": {"quant_method": method, **more}}


GPUS: list[Row] = [
    ("LLM973", case(f"{AT} V100", LLAMA)),
    ("LLM850", case(f"{AT} T4", LLAMA)),
    ("LLM850 LLM883", case(f"{AT} T4", LLAMA, dtype="bfloat16")),
    ("LLM850", case(f"{AT} T4", LLAMA, dtype="half")),
    ("LLM973", case(f"{AT} V100", LLAMA, dtype="bfloat16")),
    ("", case(f"{AT} A100", LLAMA, dtype="bfloat16")),
    ("", case(f"{AT} CPU", LLAMA)),
]

METHODS: list[Row] = [
    *(
        (codes, case(f"sglang {where}", LLAMA, config, **arguments))
        for where, config, arguments, codes in table(
            ("0.5.14 H100", _quantized("foo"), {}, "LLM915"),
            ("0.5.14 H100", {}, {"quantization": "foo"}, "LLM915"),
            ("0.5.14 H100", {}, {"quantization": "FP8"}, ""),
            ("0.5.7 H100", _quantized("bitsandbytes"), {}, ""),
            ("0.5.7 H100", {}, {"quantization": "bitsandbytes"}, "LLM915"),
            ("0.5.8 H100", {}, {"quantization": "bitsandbytes"}, ""),
            ("0.5.19 H100", _quantized("gptq"), {}, ""),
            ("0.5.20 H100", _quantized("gptq"), {}, ""),
            ("0.5.20 T4", _quantized("gptq"), {}, "LLM850"),
            ("0.5.20 H100", {}, {"quantization": "gptq"}, ""),
            ("0.5.20 T4", {}, {"quantization": "gptq"}, "LLM850 LLM915"),
            ("0.5.20 CPU", {}, {"quantization": "gptq"}, ""),
            ("0.5.16 H100", {}, {"quantization": "qoq"}, "LLM915"),
            # What can stand for the weights' own.
            *(
                (f"0.5.20 {gpu}", _quantized(own), {"quantization": asked}, "")
                for gpu, own, names in (
                    ("H100", "awq", "awq awq_marlin moe_wna16"),
                    ("H100", "gptq", "gptq_marlin moe_wna16"),
                    ("B200", "fp8", "nvfp4_online modelopt_fp4 w4afp8 mxfp8 humming"),
                    (
                        "H100",
                        "compressed-tensors",
                        "w8a8_int8 w8a8_fp8 auto-round-int8 humming",
                    ),
                    ("H100", "mxfp4", "quark humming mxfp_w4a8"),
                    ("H100", "bitsandbytes", "bitsandbytes"),
                )
                for asked in names.split()
            ),
            ("0.5.20 H100", _quantized("awq"), {"quantization": "fp8"}, "LLM925"),
            ("0.5.20 H100", _quantized("gptq"), {"quantization": "fp8"}, "LLM925"),
            ("0.5.20 H100", _quantized("fp8"), {"quantization": "awq"}, "LLM925"),
            ("0.5.20 H100", _quantized("mxfp4"), {"quantization": "fp8"}, "LLM925"),
            (
                "0.5.20 H100",
                _quantized("bitsandbytes"),
                {"quantization": "fp8"},
                "LLM925",
            ),
            (
                "0.5.20 H100",
                _quantized("compressed-tensors"),
                {"quantization": "fp8"},
                "LLM925",
            ),
            ("0.5.20 H100", _quantized("gguf"), {"quantization": "fp8"}, ""),
            # What needs files, and what does not.
            *(
                ("0.5.14 H100", {"hidden_size": 64}, {"quantization": asked}, codes)
                for asked, codes in (
                    ("awq", "LLM927"),
                    ("awq_marlin", "LLM927"),
                    ("gptq", "LLM927"),
                    ("gptq_marlin", "LLM927"),
                    ("fp8", ""),
                    (None, ""),
                )
            ),
            ("0.5.14 H100", {}, {"quantization": "awq"}, ""),
            # The GPU.
            ("0.5.14 L40S", _quantized("w4afp8"), {}, "LLM919"),
            ("0.5.14 H100", _quantized("w4afp8"), {}, ""),
            ("0.5.14 CPU", _quantized("w4afp8"), {}, ""),
            ("0.5.14 A100", _quantized("awq"), {}, ""),
            ("0.5.14 T4", _quantized("awq"), {}, "LLM850"),
            (
                "0.5.14 V100",
                _quantized("awq"),
                {"quantization": "awq"},
                "LLM973 LLM919",
            ),
            # The data type.
            ("0.5.14 A100", _quantized("awq"), {"dtype": "bfloat16"}, ""),
            (
                "0.5.14 A100",
                _quantized("awq"),
                {"dtype": "bfloat16", "quantization": "awq"},
                "LLM921",
            ),
            (
                "0.5.14 A100",
                _quantized("awq"),
                {"dtype": "half", "quantization": "awq"},
                "",
            ),
            (
                "0.5.14 A100",
                _quantized("awq"),
                {"dtype": "bfloat16", "quantization": "moe_wna16"},
                "",
            ),
            (
                "0.5.14 CPU",
                _quantized("awq"),
                {"dtype": "bfloat16"},
                "",
            ),
            (
                "0.5.14 A100",
                {**_quantized("awq"), "torch_dtype": "bfloat16"},
                {"quantization": "awq"},
                "LLM921",
            ),
            (
                "0.5.14 A100",
                {**_quantized("awq"), "torch_dtype": "bfloat16"},
                {"quantization": "awq", "dtype": "auto"},
                "LLM921",
            ),
            (
                "0.5.14 T4",
                {**_quantized("awq"), "torch_dtype": "bfloat16"},
                {"quantization": "awq"},
                "LLM850",
            ),
            (
                "0.5.14 A100",
                {**_quantized("awq"), "torch_dtype": "float32"},
                {"quantization": "awq"},
                "",
            ),
            (
                "0.5.14 A100",
                {**_quantized("awq"), "torch_dtype": "float32"},
                {"quantization": "awq", "dtype": "auto"},
                "",
            ),
            ("0.5.14 L4", _quantized("fp8"), {"dtype": "float"}, "LLM921"),
            ("0.5.14 L4", _quantized("fp8"), {"dtype": "float32"}, "LLM921"),
            ("0.5.14 L4", _quantized("fp8"), {"dtype": "bfloat16"}, ""),
        )
    ),
]

BACKENDS: list[Row] = [
    *(
        (codes, case(f"sglang {where}", name, config, **{argument: asked}))
        for where, name, config, argument, asked, codes in (
            *(
                ("0.5.14 B200", GPT_OSS, {}, "attention_backend", asked, codes)
                for asked, codes in (
                    ("triton", ""),
                    ("TRITON", ""),
                    ("trtllm_mha", ""),
                    ("fa4", ""),
                    ("fa3", "LLM937"),
                    ("flashinfer", "LLM937"),
                    (None, ""),
                )
            ),
            ("0.5.14 H100", GPT_OSS, {}, "attention_backend", "fa3", ""),
            ("0.5.14 CPU", GPT_OSS, {}, "attention_backend", "flashinfer", "LLM937"),
            *(
                (where, "Qwen3NextForCausalLM", {}, argument, asked, codes)
                for where, argument, asked, codes in (
                    ("0.5.9 RTX", "attention_backend", "flashinfer", "LLM937"),
                    ("0.5.5 B200", "attention_backend", "flashinfer", "LLM937"),
                    ("0.5.9 RTX", "attention_backend", "triton", ""),
                    ("0.5.9 B200", "attention_backend", "trtllm_mha", ""),
                    ("0.5.9 RTX", "prefill_attention_backend", "flashinfer", ""),
                    ("0.5.10 RTX", "attention_backend", "flashinfer", ""),
                    ("0.5.9 H100", "attention_backend", "flashinfer", ""),
                )
            ),
            ("0.5.14 CPU", LLAMA, {}, "attention_backend", "trtllm_mha", ""),
            ("0.5.14 H100", LLAMA, {}, "attention_backend", "flashinfer", ""),
            ("0.5.14 H100", LLAMA, {}, "attention_backend", "fa3", ""),
            ("0.5.14 A100", LLAMA, {}, "attention_backend", "fa3", ""),
            ("0.5.14 L40S", LLAMA, {}, "attention_backend", "fa3", ""),
            ("0.5.14 B200", LLAMA, {}, "attention_backend", "fa3", "LLM937"),
            ("0.5.14 T4", LLAMA, {}, "attention_backend", "fa3", "LLM850 LLM937"),
            ("0.5.14 A100", V3, {}, "attention_backend", "fa3", "LLM937"),
            ("0.5.14 H100", V3, {}, "attention_backend", "fa3", ""),
            ("0.5.14 H100", LLAMA, {}, "attention_backend", "trtllm_mha", "LLM937"),
            ("0.5.14 H100", LLAMA, {}, "decode_attention_backend", "trtllm_mha", ""),
            (
                "0.5.9 H100",
                LLAMA,
                {},
                "decode_attention_backend",
                "trtllm_mha",
                "LLM937",
            ),
            (
                "0.5.14 L40S",
                LLAMA,
                {},
                "decode_attention_backend",
                "trtllm_mha",
                "LLM937",
            ),
            (
                "0.5.14 H100",
                LLAMA,
                {},
                "prefill_attention_backend",
                "trtllm_mha",
                "LLM937",
            ),
            ("0.5.14 B200", LLAMA, {}, "prefill_attention_backend", "trtllm_mha", ""),
            ("0.5.5 RTX", LLAMA, {}, "attention_backend", "trtllm_mha", "LLM937"),
            ("0.5.14 RTX", LLAMA, {}, "attention_backend", "trtllm_mha", "LLM937"),
            ("0.5.14 RTX", LLAMA, {}, "decode_attention_backend", "trtllm_mha", ""),
            ("0.5.19 RTX", LLAMA, {}, "attention_backend", "trtllm_mha", ""),
            ("0.5.19 H100", LLAMA, {}, "attention_backend", "trtllm_mha", ""),
            ("0.5.19 L40S", LLAMA, {}, "attention_backend", "trtllm_mha", "LLM937"),
            ("0.5.14 H100", V3, {}, "attention_backend", "trtllm_mla", "LLM937"),
            ("0.5.14 H100", V3, {}, "attention_backend", "cutlass_mla", "LLM937"),
            ("0.5.14 B200", V3, {}, "attention_backend", "trtllm_mla", ""),
            ("0.5.14 B200", V3, {}, "attention_backend", "cutlass_mla", ""),
            ("0.5.10 RTX", V3, {}, "attention_backend", "trtllm_mla", "LLM937"),
            ("0.5.11 RTX", V3, {}, "attention_backend", "trtllm_mla", ""),
            ("0.5.10 B200", V3, {}, "attention_backend", "trtllm_mla", ""),
            ("0.5.10 RTX", V3, {}, "attention_backend", "cutlass_mla", ""),
            *(
                (
                    "0.5.14 B200",
                    LLAMA,
                    {"hidden_size": 64},
                    "attention_backend",
                    asked,
                    codes,
                )
                for asked, codes in (
                    ("trtllm_mla", "LLM937"),
                    ("cutlass_mla", "LLM937"),
                    ("flashmla", "LLM937"),
                    ("flashinfer", ""),
                )
            ),
            (
                "0.5.14 B200",
                LLAMA,
                {"hidden_size": 64, "kv_lora_rank": 512},
                "attention_backend",
                "flashmla",
                "",
            ),
            ("0.5.14 B200", LLAMA, {}, "attention_backend", "flashmla", ""),
        )
    ),
    *(
        (codes, case(f"sglang {where}", name))
        for where, name, codes in (
            ("0.5.14 A100", "DeepseekV32ForCausalLM", "LLM935"),
            ("0.5.14 H100", "DeepseekV32ForCausalLM", ""),
            ("0.5.14 B200", "DeepseekV32ForCausalLM", ""),
            ("0.5.16 RTX", "DeepseekV32ForCausalLM", "LLM935"),
            ("0.5.17 RTX", "DeepseekV32ForCausalLM", ""),
            ("0.5.14 CPU", "DeepseekV32ForCausalLM", ""),
            ("0.5.14 A100", "GlmMoeDsaForCausalLM", "LLM935"),
            ("0.5.14 A100", V3, ""),
        )
    ),
    *(
        (
            codes,
            case(
                f"sglang 0.5.14 {gpu}",
                name,
                kv_cache_dtype=kind,
                attention_backend=backend,
            ),
        )
        for gpu, name, kind, backend, codes in (
            ("A100", GPT_OSS, "fp8_e4m3", None, "LLM890"),
            ("A100", GPT_OSS, "fp8_e4m3", "triton", "LLM890"),
            ("A100", GPT_OSS, "fp8_e5m2", None, ""),
            ("A100", GPT_OSS, "auto", None, ""),
            ("L4", GPT_OSS, "fp8_e4m3", None, ""),
            ("CPU", GPT_OSS, "fp8_e4m3", None, ""),
            ("A100", GPT_OSS, "fp8_e4m3", "fa3", ""),
            ("A100", V3, "fp8_e4m3", None, "LLM890"),
            ("A100", V3, "fp8_e4m3", "flashinfer", ""),
            ("A100", LLAMA, "fp8_e4m3", None, ""),
            ("A100", LLAMA, "fp8_e4m3", "triton", "LLM890"),
            ("A100", LLAMA, "FP8_E4M3", "TRITON", "LLM890"),
        )
    ),
]

BLOCKS = {
    **_quantized("fp8", weight_block_size=[128, 128]),
    "moe_intermediate_size": 768,
}
HEADS = {"num_attention_heads": 28}

SPLITS: list[Row] = [
    *(
        (codes, case("sglang 0.5.14 H100", name, config, **arguments))
        for name, config, arguments, codes in table(
            (LLAMA, HEADS, {}, ""),
            (LLAMA, HEADS, {"tp": 8}, "LLM945"),
            (LLAMA, HEADS, {"tp": "8"}, "LLM945"),
            (LLAMA, HEADS, {"tp_size": 8}, "LLM945"),
            (LLAMA, HEADS, {"tensor_parallel_size": 8}, "LLM945"),
            (LLAMA, HEADS, {"tensor-parallel-size": 8}, "LLM945"),
            (LLAMA, HEADS, {"tp": 4}, ""),
            (LLAMA, HEADS, {"tp": 1}, ""),
            (LLAMA, HEADS, {"tp": 2}, ""),
            (LLAMA, {"num_attention_heads": 27}, {"tp": 2}, "LLM945"),
            (LLAMA, HEADS, {"tp": 8, "enable_dp_attention": True}, ""),
            (LLAMA, HEADS, {"tp": 8, "enable_dp_attention": False}, "LLM945"),
            (LLAMA, HEADS, {"tp": 8, "json_model_override_args": "{}"}, ""),
            (LLAMA, {}, {"tp": 8}, ""),
            (LLAMA, BLOCKS, {"tp": 4}, "LLM947"),
            (LLAMA, BLOCKS, {"tp": 2}, ""),
            (LLAMA, BLOCKS, {}, ""),
            *(
                (LLAMA, BLOCKS, {"tp": 4, name: value}, "")
                for name, value in (
                    ("ep_size", 4),
                    ("ep", 4),
                    ("expert_parallel_size", 4),
                    ("enable_ep_moe", True),
                    ("moe_a2a_backend", "deepep"),
                )
            ),
            (LLAMA, {**BLOCKS, **_quantized("fp8")}, {"tp": 4}, ""),
            (
                LLAMA,
                {**BLOCKS, **_quantized("mxfp8", weight_block_size=[128, 128])},
                {"tp": 4},
                "LLM919",
            ),
            (
                LLAMA,
                {**BLOCKS, **_quantized("fp8", weight_block_size=["128", 128])},
                {"tp": 4},
                "",
            ),
            (
                LLAMA,
                {**BLOCKS, **_quantized("fp8", weight_block_size=[64, 128])},
                {"tp": 4},
                "",
            ),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), [*GPUS, *METHODS, *BACKENDS, *SPLITS])
def test_runs_what_gpu_and_release_take(codes: str, example: Example) -> None:
    """
    GPUs, methods, attention, the cache's format, and devices.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (
            case(f"{AT} H100", LLAMA, _quantized("foo")),
            (
                "LLM915 SGLang 0.5.14 does not have the quantization method foo, which "
                "a/b asks for; take weights in another format"
            ),
        ),
        (
            case(f"{AT} H100", LLAMA, quantization="foo"),
            (
                "LLM915 SGLang 0.5.14 does not have the quantization method foo, which "
                "quantization asks for; take weights in another format"
            ),
        ),
        (
            case(f"{AT} L40S", LLAMA, _quantized("w4afp8")),
            (
                "LLM919 SGLang 0.5.14 needs a compute capability of 9.0 for weights in "
                "w4afp8, got L40S (compute capability 8.9); take a newer GPU, or "
                "weights in another format"
            ),
        ),
        (
            case(f"{AT} L4", LLAMA, _quantized("fp8"), dtype="float"),
            (
                "LLM921 SGLang 0.5.14 takes bfloat16 or float16 with weights in fp8, "
                "got float32; set dtype=bfloat16"
            ),
        ),
        (
            case(f"{AT} H100", LLAMA, {"hidden_size": 64}, quantization="awq"),
            (
                "LLM927 quantization=awq needs weights that were quantized so, and "
                "those of a/b are not quantized; leave it out, or name a model that "
                "was quantized"
            ),
        ),
        (
            case(f"{AT} H100", LLAMA, _quantized("awq"), quantization="fp8"),
            (
                "LLM925 quantization must be left out or be that of the weights, awq, "
                "got fp8; leave quantization out: SGLang 0.5.14 reads it from the "
                "weights"
            ),
        ),
        (
            case(f"{AT} A100", GPT_OSS, attention_backend="flashinfer"),
            (
                "LLM937 attention_backend=flashinfer does not fit: gpt-oss needs fa3, "
                "fa4, triton or trtllm_mha; leave attention_backend out: SGLang 0.5.14 "
                "takes one that fits"
            ),
        ),
        (
            case(f"{AT} B200", LLAMA, decode_attention_backend="fa3"),
            (
                "LLM937 decode_attention_backend=fa3 does not fit: it does not run on "
                "B200 (compute capability 10.0); leave decode_attention_backend out: "
                "SGLang 0.5.14 takes one that fits"
            ),
        ),
        (
            case(
                f"{AT} H100", LLAMA, {"hidden_size": 64}, attention_backend="flashmla"
            ),
            (
                "LLM937 attention_backend=flashmla does not fit: LlamaForCausalLM has "
                "no latent attention; leave attention_backend out: SGLang 0.5.14 takes "
                "one that fits"
            ),
        ),
        (
            case(f"{AT} H100", LLAMA, BLOCKS, tp=4),
            (
                "LLM947 tp=4 cuts layers of 768 into parts of 192, which are no "
                "multiple of the 128 that the quantized weights have in blocks; use 1 "
                "or 2, or ep_size=4"
            ),
        ),
    ],
)
def test_tells_what_is_wrong_and_the_way_out(example: Example, told: str) -> None:
    """
    In the caller's words.
    """
    assert [str(found) for found in example()] == [told]


EIGHT: list[Row] = [
    (codes, case(f"sglang {where}", name, {**_quantized(own), **more}, **arguments))
    for where, name, own, more, arguments, codes in table(
        ("0.4.4 A10G", LLAMA, "fp8", {}, {}, "LLM880"),
        ("0.4.5 A10G", LLAMA, "fp8", {}, {}, "LLM880 LLM919"),
        ("0.5.5 A10G", LLAMA, "fp8", {}, {}, "LLM919"),
        ("0.5.5 L4", LLAMA, "fp8", {}, {}, ""),
        ("0.5.5 A10G", LLAMA, "compressed-tensors", {}, {}, ""),
        ("0.5.6 A10G", LLAMA, "fp8", {}, {}, "LLM884"),
        ("0.5.20 A100", LLAMA, "fp8", {}, {}, "LLM884"),
        ("0.5.20 L4", LLAMA, "fp8", {}, {}, ""),
        ("0.5.20 A10G", LLAMA, "fp8", {"num_experts": 128}, {}, "LLM919"),
        ("0.5.3 A10G", LLAMA, "fp8", {"num_experts": 128}, {}, "LLM880 LLM919"),
        ("0.5.20 A10G", LLAMA, "fp8", {"moe_intermediate_size": 768}, {}, "LLM919"),
        ("0.5.20 L4", LLAMA, "fp8", {"num_experts": 128}, {}, ""),
        (
            "0.5.20 A10G",
            LLAMA,
            "fp8",
            {"num_experts": 128},
            {"moe_runner_backend": "triton"},
            "LLM919",
        ),
        (
            "0.5.20 A10G",
            LLAMA,
            "fp8",
            {"num_experts": 128},
            {"moe_runner_backend": "marlin"},
            "",
        ),
    )
]


@pytest.mark.parametrize(("codes", "example"), EIGHT)
def test_widens_weights_where_the_gpu_lacks_fp8(codes: str, example: Example) -> None:
    """
    By Marlin, which experts are not left to.
    """
    assert codes_of(example) == codes
