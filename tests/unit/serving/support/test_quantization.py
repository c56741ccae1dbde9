"""
Which quantization vLLM comes to: each name, and each condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA, QWEN = "LlamaForCausalLM", "Qwen/Qwen2.5-7B-Instruct"


def _asked(
    where: str,
    own: str,
    asked: str | None,
    **more: Any,  # noqa: ANN401 - JSON
) -> Example:
    config = {"quantization_config": {"quant_method": own, **more}}
    return case(f"vllm {where}", LLAMA, config, quantization=asked)


STANDS_FOR: list[Row] = [
    *(
        (codes, _asked(f"{release} H100", own, asked))
        for own, asked, release, codes in (
            ("awq", "awq", "0.10.2", ""),
            ("awq", "AWQ", "0.10.2", ""),
            ("awq", None, "0.10.2", ""),
            ("awq", "none", "0.10.2", ""),
            ("awq", "gptq", "0.10.2", "LLM925"),
            ("awq", "gptq", "0.2.7", "LLM925"),
            ("awq", "gptq", "0.2.1.post1", ""),
            ("awq", "awq_marlin", "0.4.2", "LLM925"),
            ("awq", "awq_marlin", "0.5.3.post1", ""),
            ("awq", "marlin", "0.5.3.post1", ""),
            ("awq", "marlin", "0.4.2", "LLM925"),
            ("awq", "auto_awq", "0.23.0", "LLM925"),
            ("awq", "auto_awq", "0.24.0", ""),
            ("awq", "moe_wna16", "0.7.1", ""),
            ("awq", "gptq_marlin", "0.10.2", "LLM925"),
            ("gptq", "gptq_marlin", "0.3.3", "LLM925"),
            ("gptq", "gptq_marlin", "0.4.2", ""),
            ("gptq", "marlin", "0.4.2", ""),
            ("gptq", "marlin", "0.3.3", "LLM925"),
            ("gptq", "auto_gptq", "0.21.0", "LLM925"),
            ("gptq", "auto_gptq", "0.22.0", ""),
            ("gptq", "moe_wna16", "0.7.1", ""),
            ("gptq", "awq_marlin", "0.10.2", "LLM925"),
            ("modelopt", "modelopt", "0.12.0", ""),
            ("modelopt", "modelopt_fp4", "0.12.0", ""),
            ("modelopt", "nvfp4", "0.12.0", ""),
            ("modelopt", "fp8", "0.12.0", "LLM925"),
            ("modelopt_fp4", "modelopt", "0.12.0", "LLM884"),
            ("mxfp4", "gpt_oss_mxfp4", "0.19.1", "LLM925"),
            ("mxfp4", "gpt_oss_mxfp4", "0.20.0", ""),
            ("mxfp4", "fp8", "0.20.0", "LLM925"),
            ("fp8", "compressed-tensors", "0.12.0", "LLM925"),
            ("compressed-tensors", "fp8", "0.12.0", "LLM925"),
            ("bitsandbytes", "fp8", "0.12.0", "LLM925"),
            ("fbgemm_fp8", "fp8", "0.12.0", "LLM925"),
            ("aqlm", "fp8", "0.7.1", "LLM925"),
            ("squeezellm", "awq", "0.4.2", "LLM925"),
            ("gguf", "awq", "0.12.0", ""),
            ("quark", "fp8", "0.12.0", ""),
            ("compressed_tensors", "compressed-tensors", "0.12.0", ""),
            # From 0.15 on the files alone decide, whatever is asked for.
            ("auto-round", "auto_round", "0.13.0", "LLM925"),
            ("auto-round", "auto-round", "0.13.0", ""),
            ("auto-round", "auto_round", "0.15.1", ""),
            ("auto-round", "fp8", "0.15.1", ""),
            ("auto-round", "inc", "0.22.0", ""),
        )
    ),
    # As they do where NVIDIA's tool says which numbers they are in, and for gpt-oss.
    *(
        (codes, _asked(f"{release} H100", "modelopt", asked, quant_algo=algorithm))
        for release, algorithm, asked, codes in (
            ("0.9.2", "FP8", "fp8", "LLM880 LLM925"),
            ("0.10.0", "FP8", "fp8", "LLM880"),
            ("0.10.2", "NVFP4", "fp8", "LLM884"),
        )
    ),
    *(
        (
            codes,
            case(
                f"vllm {release} H100",
                "GptOssForCausalLM",
                {"quantization_config": {"quant_method": "mxfp4"}},
                quantization="fp8",
            ),
        )
        for release, codes in (("0.19.1", "LLM925"), ("0.20.0", ""))
    ),
    # Whoever asks for it has such files, of which nothing else may be known.
    *(
        (codes, case(f"vllm {release} H100", LLAMA, quantization=asked))
        for release, asked, codes in (
            ("0.13.0", "auto_round", "LLM915"),
            ("0.15.1", "auto_round", ""),
            ("0.15.1", "auto-round", ""),
            ("0.15.1", "auto_rounded", "LLM915"),
        )
    ),
    *(
        ("", _asked("0.20.0 H100", own, asked))
        for own, others in (
            ("awq", "ipex cpu_awq cpu_wna16 inc humming bitblas"),
            (
                "gptq",
                (
                    "ipex cpu_gptq cpu_wna16 inc humming bitblas gptq_bitblas "
                    "gptq_marlin_24"
                ),
            ),
            ("fp8", "deepseek_v4_fp8 humming petit_nvfp4"),
            ("mxfp4", "humming quark"),
            ("modelopt", "humming petit_nvfp4"),
        )
        for asked in others.split()
    ),
    *(
        ("LLM884", _asked("0.20.0 H100", "modelopt_fp4", asked))
        for asked in ("humming", "petit_nvfp4")
    ),
]


@pytest.mark.parametrize(("codes", "example"), STANDS_FOR)
def test_takes_what_can_stand_for_the_method_of_the_weights(
    codes: str, example: Example
) -> None:
    """
    Kernels of the same weights, from some release on.
    """
    assert codes_of(example) == codes


NEEDS_FILES = (
    "awq",
    "awq_marlin",
    "auto_awq",
    "gptq",
    "gptq_marlin",
    "auto_gptq",
    "marlin",
    "squeezellm",
    "aqlm",
    "hqq",
    "compressed-tensors",
    "auto-round",
    "fbgemm_fp8",
    "torchao",
)


@pytest.mark.parametrize("asked", NEEDS_FILES)
def test_needs_weights_that_were_quantized_so(asked: str) -> None:
    """
    What it cannot make of others when it loads them.
    """
    whole = {"architectures": [LLAMA], "hidden_size": 4096}

    assert "LLM927" in codes_of(
        case("vllm 0.10.2 A10G", "a/b", whole, quantization=asked)
    )
    assert "LLM927" not in codes_of(case("vllm 0.10.2 A10G", LLAMA, quantization=asked))
    assert "LLM927" not in codes_of(
        case("vllm 0.2.1.post1 A10G", "a/b", whole, quantization=asked)
    )


@pytest.mark.parametrize(
    "asked", ["fp8", "bitsandbytes", "experts_int8", "none", "", None]
)
def test_makes_other_formats_when_it_loads(asked: str | None) -> None:
    """
    Of weights that are not quantized.
    """
    whole = {"architectures": [LLAMA], "hidden_size": 4096}

    assert "LLM927" not in codes_of(
        case("vllm 0.10.2 L40S", "a/b", whole, quantization=asked)
    )


# A kernel of Marlin's takes bfloat16, the plain one float16 alone.
MARLIN: list[Row] = [
    *(
        (
            codes,
            case(
                f"vllm {where}",
                LLAMA,
                {"quantization_config": {"quant_method": own, **more}},
                dtype="bfloat16",
                **arguments,
            ),
        )
        for where, own, more, arguments, codes in (
            ("0.10.2 A10G", "gptq", {"bits": 4}, {}, ""),
            ("0.10.2 A10G", "gptq", {}, {}, ""),
            ("0.10.2 A10G", "gptq", {"bits": 8}, {}, ""),
            ("0.10.2 A10G", "gptq", {"bits": 3}, {}, "LLM921"),
            ("0.10.2 A10G", "gptq", {"sym": False}, {}, "LLM921"),
            ("0.10.2 A10G", "gptq", {"sym": True}, {}, ""),
            ("0.10.2 A10G", "gptq", {"group_size": None}, {}, ""),
            ("0.10.2 A10G", "gptq", {"group_size": 256}, {}, "LLM921"),
            ("0.10.2 A10G", "awq", {}, {}, ""),
            ("0.10.2 A10G", "awq", {"bits": 4}, {}, ""),
            ("0.10.2 A10G", "awq", {"bits": 8}, {}, "LLM938 LLM921"),
            ("0.10.2 A10G", "awq", {"sym": False}, {}, ""),
            ("0.10.2 A10G", "awq", {"group_size": 16}, {}, "LLM921"),
            ("0.10.2 A10G", "awq", {"group_size": 64}, {}, ""),
            ("0.10.2 A10G", "awq", {}, {"quantization": "awq"}, "LLM921"),
            ("0.10.2 A10G", "awq", {}, {"quantization": "awq_marlin"}, ""),
            ("0.10.2 A10G", "awq", {}, {"quantization": "moe_wna16"}, ""),
            ("0.10.2 CPU", "awq", {}, {}, ""),
            ("0.23.0 A10G", "awq", {}, {"quantization": "awq"}, "LLM921"),
            ("0.24.0 A10G", "awq", {}, {"quantization": "awq"}, ""),
            ("0.24.0 A10G", "awq", {"bits": 8}, {}, "LLM938"),
            ("0.21.0 A10G", "gptq", {"bits": 3}, {}, "LLM921"),
            ("0.22.0 A10G", "gptq", {"bits": 3}, {}, "LLM938"),
            ("0.4.2 A10G", "awq", {}, {}, "LLM921"),
            ("0.5.3.post1 A10G", "awq", {}, {}, ""),
            ("0.3.3 A10G", "gptq", {}, {}, "LLM921"),
            ("0.5.3.post1 A10G", "gptq", {}, {}, ""),
        )
    ),
    *(
        (
            codes,
            case(
                f"vllm {where}",
                LLAMA,
                {"quantization_config": {"quant_method": "gptq"}},
                dtype="float16",
                quantization="gptq_marlin",
            ),
        )
        for where, codes in (
            ("0.10.2 A10G", ""),
            ("0.10.2 T4", "LLM925"),
            ("0.13.0 T4", "LLM925 LLM886"),
            ("0.14.0 T4", "LLM886"),
            ("0.14.0 V100", "LLM925 LLM886"),
            ("0.22.0 V100", "LLM923"),
        )
    ),
    # gpt-oss has a method of its own from 0.20 on.
    *(
        (
            codes,
            case(
                f"vllm {release} A10G",
                name,
                {"quantization_config": {"quant_method": "mxfp4"}},
                dtype="float16",
            ),
        )
        for release, name, codes in (
            ("0.19.1", "GptOssForCausalLM", "LLM921"),
            ("0.20.0", "GptOssForCausalLM", "LLM921"),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), MARLIN)
def test_comes_to_marlin_where_it_fits(codes: str, example: Example) -> None:
    """
    By bits, groups, symmetry, GPU and release.
    """
    assert codes_of(example) == codes


def test_names_the_kernel_that_refuses_a_data_type() -> None:
    """
    gpt-oss has one of its own from 0.20 on, and others the plain one.
    """
    config = {"quantization_config": {"quant_method": "mxfp4"}}
    told = [
        str(found)
        for name, release in (
            ("GptOssForCausalLM", "0.19.1"),
            ("GptOssForCausalLM", "0.20.0"),
            (LLAMA, "0.20.0"),
        )
        for found in case(f"vllm {release} A10G", name, config, dtype="half")()
    ]

    assert told == [
        (
            "LLM921 dtype=float16 is not taken by the quantization method mxfp4 of "
            "vLLM 0.19.1; write dtype=bfloat16"
        ),
        (
            "LLM921 dtype=float16 is not taken by the quantization method "
            "gpt_oss_mxfp4 of vLLM 0.20.0; write dtype=bfloat16"
        ),
        (
            "LLM921 dtype=float16 is not taken by the quantization method mxfp4 of "
            "vLLM 0.20.0; write dtype=bfloat16"
        ),
    ]


ROUNDED = {"quantization_config": {"quant_method": "auto-round"}}


@pytest.mark.parametrize(
    ("release", "name", "more", "codes"),
    [
        ("0.23.0", "Gemma4ForConditionalGeneration", {}, ""),
        ("0.24.0", "Gemma4ForConditionalGeneration", {}, "LLM922"),
        ("0.25.0", "Gemma4ForConditionalGeneration", {}, ""),
        ("0.24.0", LLAMA, {"tie_word_embeddings": True}, "LLM922"),
        ("0.24.0", LLAMA, {"tie_word_embeddings": False}, ""),
        ("0.24.0", LLAMA, {}, ""),
        ("0.24.0", "GemmaForCausalLM", {"tie_word_embeddings": False}, ""),
    ],
)
def test_shares_a_weight_beside_rounded_ones(
    release: str, name: str, more: dict[str, Any], codes: str
) -> None:
    """
    One release had no way to, whatever else shares it.
    """
    plain = case(f"vllm {release} A10G", name, more)

    assert codes_of(case(f"vllm {release} A10G", name, {**ROUNDED, **more})) == codes
    assert codes_of(plain) == ""
