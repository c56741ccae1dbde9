"""
What single releases refuse of a checkpoint: each from both sides.
"""

from __future__ import annotations

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

LLAMA, PHI, V2 = "LlamaForCausalLM", "Phi3ForCausalLM", "DeepseekV2ForCausalLM"
CODE = {"auto_map": {"AutoConfig": "configuration.Config"}}
YARN = {"model_type": "llama", "rope_scaling": {"type": "yarn", "factor": 32.0}}
LONG = {"rope_scaling": {"type": "longrope"}}
PACKED = {"quant_method": "compressed-tensors", "format": "pack-quantized"}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128}
INTERN = {
    "llm_config": {"num_attention_heads": 64, "intermediate_size": 29568},
    "quantization_config": AWQ,
}
GPTQ = {"quantization_config": {"quant_method": "gptq", "bits": 4}}
FLOATS = {
    "quantization_config": {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
    }
}
EAGLE = {"model": "yuhuili/EAGLE-Qwen2-7B-Instruct", "num_speculative_tokens": 3}


def _drafts(release: str, model: str) -> Example:
    asked = {**EAGLE, "method": "eagle", "model": model}
    where = f"vllm {release} A10G"
    return case(where, "Qwen2ForCausalLM", speculative_config=asked)


def _reads_tekken(release: str, model: str) -> Example:
    return case(
        f"vllm {release} H100",
        model,
        {"architectures": ["MistralForCausalLM"]},
        tokenizer_mode="mistral",
        config_format="mistral",
        load_format="mistral",
    )


def _attends(release: str, backend: str, pattern: str | None) -> Example:
    windows = {"sliding_window_pattern": pattern}
    where = f"sglang 0.5.{release} H100"
    return case(where, "Exaone4ForCausalLM", windows, attention_backend=backend)


def _thinks(release: str, model: str, parser: str, mode: str = "auto") -> Example:
    return case(
        f"vllm {release} H100",
        model,
        {"architectures": [LLAMA]},
        reasoning_parser=parser,
        tokenizer_mode=mode,
    )


ROPES: list[Row] = [
    ("LLM943", case("vllm 0.2.1.post1 A10G", LLAMA, YARN)),
    (
        "LLM943",
        case("vllm 0.2.1.post1 A10G", LLAMA, {**YARN, **CODE}, trust_remote_code=True),
    ),
    ("LLM943", case("vllm 0.2.7 A10G", LLAMA, YARN)),
    ("", case("vllm 0.2.7 A10G", LLAMA, {**YARN, **CODE}, trust_remote_code=True)),
    ("", case("vllm 0.5.3.post1 A10G", LLAMA, YARN)),
    ("", case("vllm 0.2.7 A10G", "GPTNeoXForCausalLM", YARN)),
    ("LLM943", case("vllm 0.4.2 A10G", PHI, LONG)),
    ("", case("vllm 0.4.2 A10G", PHI, {"rope_scaling": {"type": "su"}})),
    ("", case("vllm 0.5.3.post1 A10G", PHI, LONG)),
    ("", case("vllm 0.4.2 A10G", "microsoft/Phi-3-mini-128k-instruct")),
]
WEIGHTS: list[Row] = [
    ("LLM915", case("vllm 0.2.1.post1 A10G", "BloomForCausalLM", quantization="awq")),
    (
        "",
        case(
            "vllm 0.2.1.post1 A10G",
            "MistralForCausalLM",
            {"torch_dtype": "float16"},
            quantization="awq",
        ),
    ),
    (
        "LLM947",
        case(
            "vllm 0.10.2 A100",
            "InternVLChatModel",
            INTERN,
            tensor_parallel_size=2,
            trust_remote_code=True,
        ),
    ),
    ("", case("vllm 0.10.2 A100", "InternVLChatModel", INTERN, trust_remote_code=True)),
    ("LLM915", case("vllm 0.11.1 L4", "SmolLM3ForCausalLM", FLOATS)),
    ("", case("vllm 0.12.0 L4", "SmolLM3ForCausalLM", FLOATS)),
    ("", case("vllm 0.11.1 L4", "SmolLM3ForCausalLM", GPTQ)),
    (
        "LLM915",
        case(
            "sglang 0.5.9 L40S",
            "Qwen3_5ForConditionalGeneration",
            {"quantization_config": PACKED},
        ),
    ),
    (
        "",
        case(
            "sglang 0.5.10 L40S",
            "Qwen3_5ForConditionalGeneration",
            {"quantization_config": PACKED},
        ),
    ),
]
CLASSES: list[Row] = [
    (
        "LLM901",
        case("vllm 0.13.0 L40S", "LlavaQwenForCausalLM", trust_remote_code=True),
    ),
    (
        "LLM882",
        case("vllm 0.13.0 L40S", "LlavaQwenForCausalLM", CODE, trust_remote_code=True),
    ),
    ("LLM935", case("vllm 0.7.1 T4", V2, dtype="half", trust_remote_code=True)),
    ("", case("vllm 0.7.1 A10G", V2, trust_remote_code=True)),
    (
        "",
        case(
            "vllm 0.7.1 T4",
            V2,
            dtype="half",
            trust_remote_code=True,
            environment={"VLLM_MLA_DISABLE": "1"},
        ),
    ),
    ("LLM953", _drafts("0.10.2", "yuhuili/EAGLE-Qwen2-7B-Instruct")),
    ("", _drafts("0.10.2", "yuhuili/EAGLE-LLaMA3.1-Instruct-8B")),
    ("", _drafts("0.8.4", "yuhuili/EAGLE-Qwen2-7B-Instruct")),
    ("LLM965", _thinks("0.10.2", "moonshotai/Kimi-Dev-72B", "deepseek_r1")),
    ("", _thinks("0.20.1", "moonshotai/Kimi-Dev-72B", "deepseek_r1")),
    ("LLM965", _thinks("0.10.2", "openai/gpt-oss-20b", "glm45")),
    ("", _thinks("0.10.2", "openai/gpt-oss-20b", "granite")),
    ("LLM965", _thinks("0.10.2", "a/b", "mistral")),
    ("", _thinks("0.10.2", "a/b", "mistral", "mistral")),
    ("", _thinks("0.11.1", "a/b", "mistral")),
    ("LLM967", case("vllm 0.13.0 L4", LLAMA, task="embed")),
    ("LLM959", case("vllm 0.10.2 L4", "Qwen3ForCausalLM", tokenizer_mode="mistral")),
    ("", case("vllm 0.10.2 L4", "MistralForCausalLM", tokenizer_mode="mistral")),
    ("", case("vllm 0.10.2 L4", "Qwen3ForCausalLM", tokenizer_mode="auto")),
    ("", case("vllm 0.12.0 L4", "Qwen3ForCausalLM", tokenizer_mode="mistral")),
    (
        "",
        case(
            "vllm 0.10.2 L4",
            "Qwen3ForCausalLM",
            tokenizer_mode="mistral",
            tokenizer="mistralai/Devstral-Small-2507",
        ),
    ),
    ("LLM880 LLM943", _reads_tekken("0.9.2", "mistralai/Devstral-Small-2507")),
    ("LLM880", _reads_tekken("0.10.0", "mistralai/Devstral-Small-2507")),
    ("LLM880", _reads_tekken("0.9.2", "mistralai/Devstral-Small-2505")),
    ("LLM937", _attends("9", "flashinfer", "LLLG")),
    ("LLM880 LLM937", _attends("23", "flashinfer", "LLLG")),
    ("", _attends("9", "fa3", "LLLG")),
    ("", _attends("9", "flashinfer", None)),
    ("", case("vllm 0.12.0 L4", LLAMA, task="embed")),
    ("", case("vllm 0.14.0 L4", LLAMA, task="text-generation")),
]


@pytest.mark.parametrize(("codes", "example"), ROPES)
def test_knows_how_positions_are_turned(codes: str, example: Example) -> None:
    """
    By the release, and the package beside it.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), WEIGHTS)
def test_reads_quantized_weights(codes: str, example: Example) -> None:
    """
    Of the classes, and in the files that the release can.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), CLASSES)
def test_runs_what_is_asked_for(codes: str, example: Example) -> None:
    """
    Classes, drafts, parsers and tasks.
    """
    assert codes_of(example) == codes
