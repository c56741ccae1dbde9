"""
Number formats against the GPU and the release: each condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA, GPT_OSS = "LlamaForCausalLM", "GptOssForCausalLM"
BF16 = {"torch_dtype": "bfloat16"}


def _quantized(method: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"quantization_config": {"quant_method": method, **more}}


FP8, BLOCKED = _quantized("fp8"), _quantized("fp8", weight_block_size=[128, 128])
COMPRESSED = "compressed-tensors"
FP4 = _quantized(COMPRESSED, scheme="nvfp4")

TYPES: list[Row] = [
    *(
        (codes, case(f"vllm {where}", LLAMA, config, dtype=dtype))
        for where, config, dtype, codes in (
            ("0.8.4 T4", {}, "bfloat16", "LLM911 LLM892"),
            ("0.8.4 T4", {}, "BFLOAT16", "LLM911 LLM892"),
            ("0.8.4 T4", {}, "bf16", "LLM911 LLM892"),
            ("0.8.4 T4", {}, "torch.bfloat16", "LLM911 LLM892"),
            ("0.10.2 T4", {}, "bfloat16", "LLM911"),
            ("0.10.2 T4", BF16, "bfloat16", "LLM911"),
            ("0.10.2 V100", {}, "bfloat16", "LLM911"),
            ("0.10.2 A100", {}, "bfloat16", ""),
            ("0.10.2 CPU", {}, "bfloat16", ""),
            ("0.10.2 T4", BF16, "half", ""),
            ("0.10.2 T4", BF16, "float", ""),
            ("0.10.2 T4", {}, None, ""),
            ("0.10.2 T4", BF16, None, "LLM883"),
            ("0.10.2 T4", BF16, "auto", "LLM883"),
            ("0.10.2 T4", {"dtype": "bfloat16"}, None, "LLM883"),
            ("0.10.2 T4", {"torch_dtype": "torch.bfloat16"}, None, "LLM883"),
            ("0.10.2 T4", {"text_config": BF16}, None, "LLM883"),
            ("0.10.2 T4", {"torch_dtype": "float16"}, None, ""),
            ("0.10.2 T4", {"torch_dtype": "float32"}, None, ""),
            ("0.7.1 T4", BF16, None, "LLM911"),
            ("0.7.1 T4", BF16, "auto", "LLM911"),
            ("0.7.1 A10G", BF16, None, ""),
            ("0.7.1 CPU", BF16, None, ""),
        )
    ),
    *(
        (codes, case(f"vllm {where}", LLAMA, {"model_type": kind}, dtype=dtype))
        for where, kind, dtype, codes in (
            ("0.10.2 A10G", "gemma2", "float16", "LLM913"),
            ("0.10.2 A10G", "gemma2", "half", "LLM913"),
            ("0.10.2 A10G", "gemma2", "fp16", "LLM913"),
            ("0.10.2 CPU", "gemma2", "float16", "LLM913"),
            ("0.10.2 A10G", "gemma2", "bfloat16", ""),
            ("0.10.2 A10G", "gemma2", "float32", ""),
            ("0.10.2 A10G", "gemma2", None, ""),
            ("0.8.4 A10G", "gemma2", "float16", ""),
            ("0.10.2 A10G", "gemma", "float16", ""),
            ("0.10.2 A10G", "gemma3", "float16", "LLM913"),
            ("0.10.2 A10G", "gemma3_text", "float16", "LLM913"),
            ("0.10.2 A10G", "glm4", "float16", "LLM913"),
            ("0.8.4 A10G", "glm4", "float16", ""),
            ("0.8.4 A10G", "gemma3_text", "float16", ""),
            ("0.8.4 A10G", "plamo2", "float16", ""),
            ("0.10.2 A10G", "plamo2", "float16", "LLM913"),
            ("0.26.0 A10G", "plamo2", "float16", "LLM913"),
            ("0.27.0 A10G", "plamo2", "float16", ""),
            ("0.27.0 A10G", "gemma2", "float16", "LLM913"),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), TYPES)
def test_takes_a_data_type_that_the_gpu_has_and_the_model_holds(
    codes: str, example: Example
) -> None:
    """
    However it is spelt, and whoever says it.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (
            "gemma2",
            (
                "LLM883 the weights are in bfloat16, which T4 (compute capability 7.5) "
                "lacks: vLLM 0.10.2 falls back to float32, which takes twice the memory"
            ),
        ),
        (
            "llama",
            (
                "LLM883 the weights are in bfloat16, which T4 (compute capability 7.5) "
                "lacks: vLLM 0.10.2 falls back to float16; write dtype=float16 if that "
                "is meant"
            ),
        ),
    ],
)
def test_tells_what_stands_for_bfloat16(kind: str, told: str) -> None:
    """
    What overflows in float16 is widened.
    """
    [found] = case("vllm 0.10.2 T4", LLAMA, {**BF16, "model_type": kind})()

    assert str(found) == told


METHODS: list[Row] = [
    *(
        (codes, case(f"vllm {where}", LLAMA, config, **arguments))
        for where, config, arguments, codes in (
            ("0.10.2 A10G", {}, {}, ""),
            ("0.10.2 A10G", {}, {"quantization": "deepspeedfp"}, ""),
            ("0.15.1 A10G", {}, {"quantization": "deepspeedfp"}, "LLM915"),
            ("0.10.2 A10G", {}, {"quantization": "none"}, ""),
            # Before 0.2.7 it was not read from the files.
            ("0.2.1.post1 A10G", _quantized("gptq"), {}, ""),
            ("0.2.7 A10G", _quantized("fp8"), {}, "LLM915"),
            ("0.2.1.post1 A10G", _quantized("fp8"), {}, ""),
            ("0.4.2 L40S", FP8, {}, ""),
            ("0.4.2 A10G", FP8, {}, "LLM919"),
            # Marlin stands for what the files call gptq.
            ("0.3.3 A10G", _quantized("gptq"), {}, ""),
            ("0.8.4 A10G", _quantized("gptq"), {"quantization": "gptq"}, ""),
            # What is deprecated is allowed in so many words.
            ("0.13.0 A10G", _quantized("hqq"), {}, ""),
            ("0.14.0 A10G", _quantized("hqq"), {}, "LLM917"),
            (
                "0.14.0 A10G",
                _quantized("hqq"),
                {"allow_deprecated_quantization": "true"},
                "",
            ),
            (
                "0.14.0 A10G",
                _quantized("hqq"),
                {"allow_deprecated_quantization": "false"},
                "LLM917",
            ),
            ("0.14.0 T4", _quantized("hqq"), {}, "LLM917 LLM919 LLM886"),
            ("0.15.1 A10G", _quantized("hqq"), {}, "LLM915"),
            # The GPU.
            ("0.2.1.post1 V100", {}, {"quantization": "awq"}, "LLM919"),
            ("0.2.1.post1 T4", {}, {"quantization": "awq"}, ""),
            ("0.2.7 V100", _quantized("awq"), {}, "LLM919"),
            ("0.2.7 T4", _quantized("awq"), {}, ""),
            ("0.2.7 CPU", _quantized("awq"), {}, ""),
            ("0.3.3 V100", _quantized("squeezellm"), {}, ""),
            ("0.12.0 L40S", _quantized("modelopt"), {}, ""),
            ("0.12.0 A10G", _quantized("modelopt"), {}, "LLM919"),
            ("0.27.0 A10G", _quantized("modelopt"), {}, ""),
            ("0.10.2 A10G", _quantized("mxfp4"), {}, ""),
            ("0.10.2 T4", _quantized("mxfp4"), {}, "LLM919"),
        )
    ),
    # The data type.
    *(
        (codes, case(f"vllm {where}", LLAMA, config, dtype=dtype))
        for where, config, dtype, codes in (
            ("0.2.7 A10G", _quantized("awq"), "float16", ""),
            ("0.2.7 A10G", _quantized("awq"), "half", ""),
            ("0.2.7 A10G", _quantized("awq"), "bfloat16", "LLM921"),
            ("0.2.7 A10G", _quantized("awq"), None, ""),
            ("0.2.7 A10G", {**_quantized("awq"), **BF16}, None, "LLM921"),
            ("0.2.7 A10G", {**_quantized("awq"), **BF16}, "auto", "LLM921"),
            ("0.2.7 A10G", {**_quantized("awq"), **BF16}, "half", ""),
            ("0.10.2 A10G", _quantized("mxfp4"), "float16", "LLM921"),
            ("0.10.2 A10G", _quantized("mxfp4"), "bfloat16", ""),
            ("0.10.2 A10G", _quantized("awq"), "float32", "LLM921"),
            # Of files in float32 earlier releases took halves.
            (
                "0.2.7 A10G",
                {**_quantized("awq"), "torch_dtype": "float32"},
                None,
                "",
            ),
            (
                "0.8.4 A10G",
                {**_quantized("mxfp8"), "torch_dtype": "float32"},
                None,
                "LLM915",
            ),
            (
                "0.10.2 A10G",
                {**_quantized("mxfp4"), "torch_dtype": "float32"},
                None,
                "",
            ),
            # From 0.9 on T4 has them in float16 instead.
            (
                "0.10.2 T4",
                {**_quantized("awq"), **BF16},
                None,
                "LLM883",
            ),
            (
                "0.8.4 T4",
                {**_quantized("awq"), **BF16},
                None,
                "LLM921 LLM911 LLM892",
            ),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), METHODS)
def test_takes_a_method_that_release_and_gpu_have(codes: str, example: Example) -> None:
    """
    In a data type of the method's.
    """
    assert sorted(codes_of(example).split()) == sorted(codes.split())


SINCE = {
    "AquilaForCausalLM": "0.5.3.post1",
    "AquilaModel": "0.5.3.post1",
    "DeciLMForCausalLM": "0.5.3.post1",
    "InternLMForCausalLM": "0.5.3.post1",
    "LLaMAForCausalLM": "0.5.3.post1",
    "LlamaForCausalLM": "0.5.3.post1",
    "MistralForCausalLM": "0.5.3.post1",
    "Phi3ForCausalLM": "0.5.3.post1",
    "ExaoneForCausalLM": "0.6.2",
    "Gemma2ForCausalLM": "0.6.2",
    "GraniteForCausalLM": "0.6.2",
    "NemotronForCausalLM": "0.6.2",
    "SolarForCausalLM": "0.6.2",
    "FalconForCausalLM": "0.6.3.post1",
    "GemmaForCausalLM": "0.6.3.post1",
    "OPTForCausalLM": "0.6.3.post1",
    "PhiForCausalLM": "0.6.3.post1",
    "RWForCausalLM": "0.6.3.post1",
    "Qwen2ForCausalLM": "0.7.1",
}
EARLY = ("0.5.3.post1", "0.6.2", "0.6.3.post1", "0.7.1")
UNTIL = {
    "DbrxForCausalLM": ("0.7.1", "0.27.1"),
    "GPT2LMHeadModel": ("0.7.1", "0.27.1"),
    "GPTJForCausalLM": ("0.7.1", "0.27.1"),
    "GPTNeoXForCausalLM": ("0.7.1", "0.27.1"),
    "MPTForCausalLM": ("0.7.1", "0.27.1"),
    "Mamba2ForCausalLM": ("0.8.4", "0.27.1"),
    "MambaForCausalLM": ("0.7.1", "0.27.1"),
    "OrionForCausalLM": ("0.7.1", "0.27.1"),
    "StableLmForCausalLM": ("0.7.1", "0.27.1"),
    "DeepseekForCausalLM": ("0.7.1", "0.8.4"),
    "DeepseekV2ForCausalLM": ("0.7.1", "0.8.4"),
    "DeepseekV3ForCausalLM": ("0.7.1", "0.8.4"),
    "Olmo2ForCausalLM": ("0.7.1", "0.8.4"),
    "OlmoForCausalLM": ("0.7.1", "0.8.4"),
    "GptOssForCausalLM": ("0.10.2", "0.10.2"),
    "OlmoeForCausalLM": ("0.7.1", "0.8.4"),
    "Qwen2MoeForCausalLM": ("0.7.1", "0.8.4"),
    "Qwen3MoeForCausalLM": ("0.8.4", "0.8.4"),
    "Starcoder2ForCausalLM": ("0.7.1", "0.24.0"),
}
LATER = ("0.7.1", "0.8.4", "0.10.2", "0.11.1", "0.22.0", "0.24.0", "0.25.0", "0.27.1")
OF_BNB = {"quantization": "bitsandbytes", "load_format": "bitsandbytes"}


def _is_refused_in_four_bits(release: str, name: str) -> bool:
    found = case(f"vllm {release} H100", name, **OF_BNB)()
    return any(
        one.code == "LLM915" and f"does not keep {name} in weights" in one.message
        for one in found
    )


@pytest.mark.parametrize(("name", "since"), SINCE.items())
def test_knows_since_when_bitsandbytes_takes_a_class(name: str, since: str) -> None:
    """
    Before 0.7 it had a list of them.
    """
    taken = [
        one
        for one in EARLY
        if not _is_refused_in_four_bits(one, name)
        and "LLM901" not in codes_of(case(f"vllm {one} H100", name))
    ]

    assert taken[0] == since
    assert taken == list(EARLY[EARLY.index(since) :])


@pytest.mark.parametrize(("name", "span"), UNTIL.items())
def test_knows_which_class_bitsandbytes_lacks_later(
    name: str, span: tuple[str, str]
) -> None:
    """
    For the class has not what its loader asks for.
    """
    lacking = [one for one in LATER if _is_refused_in_four_bits(one, name)]

    assert (lacking[0], lacking[-1]) == span


SCHEMES: list[Row] = [
    *(
        (codes, case(f"vllm {where}", LLAMA, _quantized(COMPRESSED, **more)))
        for where, more, codes in (
            ("0.15.1 T4", {"scheme": "nvfp4"}, "LLM919 LLM886"),
            ("0.16.0 T4", {"scheme": "nvfp4"}, "LLM886"),
            ("0.11.1 T4", {"scheme": "w4a16"}, "LLM919"),
            ("0.12.0 T4", {"scheme": "w4a16"}, "LLM886"),
            ("0.11.1 T4", {"scheme": "w8a16"}, "LLM919"),
            ("0.11.1 A10G", {"scheme": "w4a16"}, ""),
            ("0.11.1 CPU", {"scheme": "w4a16"}, ""),
            ("0.10.2 V100", {"scheme": "w8a8"}, "LLM919"),
            ("0.10.2 T4", {"scheme": "w8a8"}, ""),
            ("0.10.2 T4", {"scheme": "other"}, ""),
            ("0.10.2 T4", {}, ""),
            ("0.10.2 T4", {"scheme": "fp8"}, "LLM919"),
            ("0.10.2 A10G", {"scheme": "fp8"}, "LLM884"),
            ("0.10.2 L40S", {"scheme": "fp8"}, ""),
            ("0.16.0 T4", {"scheme": "fp8"}, "LLM884 LLM886"),
            ("0.15.1 T4", {"scheme": "fp8"}, "LLM919 LLM886"),
            ("0.10.2 A10G", {"scheme": "nvfp4"}, "LLM884"),
            ("0.10.2 B200", {"scheme": "nvfp4"}, ""),
            ("0.10.2 T4", {"scheme": "nvfp4"}, "LLM919"),
            ("0.16.0 T4", {"scheme": "nvfp4"}, "LLM886"),
        )
    ),
    *(
        (
            codes,
            case(
                "vllm 0.10.2 T4",
                LLAMA,
                _quantized(
                    COMPRESSED,
                    config_groups={
                        "group_0": {
                            "weights": {"num_bits": bits, "type": kind},
                            "input_activations": activations,
                        }
                    },
                ),
            ),
        )
        for bits, kind, activations, codes in (
            (8, "float", None, "LLM919"),
            (4, "float", None, "LLM919"),
            (2, "float", None, ""),
            (4, "int", None, "LLM919"),
            (4, "int", {"num_bits": 8}, ""),
            (8, "int", None, ""),
            (8, "int", {"num_bits": 8}, ""),
        )
    ),
    (
        "LLM919",
        case(
            "vllm 0.10.2 V100",
            LLAMA,
            _quantized(
                COMPRESSED,
                config_groups={
                    "group_0": {
                        "weights": {"num_bits": 8, "type": "int"},
                        "input_activations": {"num_bits": 8},
                    }
                },
            ),
        ),
    ),
    *(
        (codes, case("vllm 0.10.2 T4", LLAMA, _quantized(COMPRESSED, **more)))
        for more, codes in (
            ({"config_groups": {}}, ""),
            ({"config_groups": None}, ""),
            ({"config_groups": {"group_0": None}}, ""),
            ({"config_groups": {"group_0": {"weights": None}}}, ""),
        )
    ),
    # The scheme is that of compressed-tensors alone.
    ("", case("vllm 0.10.2 T4", LLAMA, _quantized("awq", scheme="fp8"))),
]


@pytest.mark.parametrize(("codes", "example"), SCHEMES)
def test_takes_a_scheme_that_the_gpu_has(codes: str, example: Example) -> None:
    """
    As its name says, or its groups.
    """
    assert sorted(codes_of(example).split()) == sorted(codes.split())


EIGHT: list[Row] = [
    *(
        (codes, case(f"vllm {where}", name, config))
        for where, name, config, codes in (
            ("0.10.2 A10G", LLAMA, FP8, "LLM884"),
            ("0.10.2 L4", LLAMA, FP8, ""),
            ("0.10.2 CPU", LLAMA, FP8, ""),
            ("0.5.3.post1 A10G", LLAMA, FP8, "LLM884"),
            ("0.13.0 T4", LLAMA, FP8, "LLM886 LLM919"),
            ("0.14.0 T4", LLAMA, FP8, "LLM884 LLM886"),
            # Blocks had no kernel before Ada until 0.9.
            ("0.7.1 A10G", LLAMA, BLOCKED, "LLM919"),
            ("0.8.4 A10G", LLAMA, BLOCKED, "LLM919"),
            ("0.10.2 A10G", LLAMA, BLOCKED, "LLM884"),
            ("0.6.3.post1 A10G", LLAMA, BLOCKED, "LLM884"),
            ("0.8.4 L4", LLAMA, BLOCKED, ""),
            ("0.8.4 A10G", LLAMA, FP8, "LLM884"),
            # Four bits are computed with on Blackwell alone.
            ("0.12.0 A10G", LLAMA, _quantized("modelopt_fp4"), "LLM884"),
            ("0.12.0 H100", LLAMA, _quantized("modelopt_fp4"), "LLM884"),
            ("0.12.0 B200", LLAMA, _quantized("modelopt_fp4"), ""),
            ("0.12.0 RTX", LLAMA, _quantized("modelopt_fp4"), ""),
            ("0.12.0 CPU", LLAMA, _quantized("modelopt_fp4"), ""),
            ("0.14.0 T4", LLAMA, _quantized("modelopt_fp4"), "LLM886"),
            (
                "0.12.0 H100",
                LLAMA,
                _quantized("modelopt", quant_algo="NVFP4"),
                "LLM884",
            ),
            (
                "0.12.0 H100",
                LLAMA,
                _quantized("modelopt", quant_algo="nvfp4"),
                "LLM884",
            ),
            ("0.12.0 H100", LLAMA, _quantized("modelopt", quant_algo="FP8"), ""),
            ("0.8.4 H100", LLAMA, _quantized("modelopt_fp4"), "LLM919"),
            ("0.12.0 H100", LLAMA, _quantized("awq"), ""),
            ("0.12.0 RTX", GPT_OSS, {}, "LLM884"),
            ("0.12.0 B200", GPT_OSS, {}, ""),
            ("0.12.0 RTX", LLAMA, {}, ""),
        )
    ),
]


@pytest.mark.parametrize(("codes", "example"), EIGHT)
def test_computes_in_few_bits_where_the_gpu_does(codes: str, example: Example) -> None:
    """
    And widens them elsewhere, where it has a way to.
    """
    assert sorted(codes_of(example).split()) == sorted(codes.split())


BUILT: list[Row] = [
    ("LLM923", case("vllm 0.8.4 B200", "")),
    ("LLM923", case("vllm 0.8.4 RTX", "")),
    ("LLM923", case("vllm 0.2.7 B200", "")),
    ("", case("vllm 0.10.2 B200", "")),
    ("", case("vllm 0.8.4 H100", "")),
    ("", case("vllm 0.8.4 CPU", "")),
    ("", case("vllm 0.10.2 V100", "")),
    ("LLM886", case("vllm 0.11.1 V100", "")),
    ("LLM886", case("vllm 0.19.1 V100", "")),
    ("LLM923", case("vllm 0.20.0 V100", "")),
    ("", case("vllm 0.11.1 T4", "")),
    ("LLM886", case("vllm 0.12.0 T4", "")),
    ("LLM886", case("vllm 0.30.0 T4", "")),
    ("", case("vllm 0.30.0 A100", "")),
]


@pytest.mark.parametrize(("codes", "example"), BUILT)
def test_knows_for_which_gpus_a_release_is_built(codes: str, example: Example) -> None:
    """
    By its CUDA, and by what was reported.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("release", "name", "method", "codes"),
    [
        ("0.4.2", "Qwen2MoeForCausalLM", "gptq", "LLM915"),
        ("0.4.3", "Qwen2MoeForCausalLM", "gptq", "LLM880 LLM915"),
        ("0.4.2", "Qwen2MoeForCausalLM", "awq", "LLM915"),
        ("0.4.2", "Qwen2MoeForCausalLM", "fp8", "LLM919"),
        ("0.4.2", "Qwen2ForCausalLM", "gptq", ""),
        ("0.5.3.post1", "Qwen2MoeForCausalLM", "gptq", ""),
        ("0.5.5", "DeepseekForCausalLM", "gptq", "LLM880 LLM915"),
        ("0.6.2", "DeepseekForCausalLM", "gptq", ""),
    ],
)
def test_keeps_experts_in_packed_weights(
    release: str, name: str, method: str, codes: str
) -> None:
    """
    Where the class does not join them by their plain weights.
    """
    example = case(
        f"vllm {release} A10G",
        name,
        _quantized(method),
        dtype="half",
        trust_remote_code=True,
    )

    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("gpu", "model", "codes"),
    [
        ("RTX", "nvidia/Qwen3.6-27B-NVFP4", "LLM884"),
        ("B200", "nvidia/Qwen3.6-27B-NVFP4", "LLM884"),
        ("H100", "nvidia/Qwen3.6-27B-NVFP4", "LLM884"),
        ("B200", "nvidia/Qwen3-32B-NVFP4", ""),
    ],
)
def test_widens_layers_whose_weights_alone_are_in_four_bits(
    gpu: str, model: str, codes: str
) -> None:
    """
    On GPUs that compute in four bits too.
    """
    assert codes_of(case(f"vllm 0.24.0 {gpu}", model)) == codes
