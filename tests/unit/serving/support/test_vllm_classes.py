"""
Classes of vLLM: each condition from both sides.
"""

from __future__ import annotations

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, HELIUM, OWN = "LlamaForCausalLM", "HeliumForCausalLM", "FooBarForCausalLM"
KIMI = "KimiLinearForCausalLM"
GPT_OSS, PICTURES = "GptOssForCausalLM", "FooBarForConditionalGeneration"
QWEN_HEAD = "Qwen3ForSequenceClassification"

CLASSES: list[Row] = [
    (codes, case(f"vllm {release} H100", name, **arguments))
    for release, name, arguments, codes in (
        ("0.10.2", LLAMA, {}, ""),
        ("0.10.2", "", {}, ""),
        ("0.7.1", HELIUM, {}, "LLM901"),
        ("0.8.4", HELIUM, {}, "LLM881"),
        ("0.7.1", OWN, {"trust_remote_code": True}, "LLM901"),
        ("0.8.4", OWN, {"trust_remote_code": True}, "LLM882"),
        ("0.8.4", OWN, {"trust_remote_code": False}, "LLM901"),
        ("0.8.4", OWN, {}, "LLM901"),
        ("0.8.4", PICTURES, {"trust_remote_code": True}, "LLM901"),
        ("0.10.2", PICTURES, {"trust_remote_code": True}, "LLM882"),
        ("0.10.2", PICTURES, {}, "LLM901"),
        # Which sees too, though its name does not say so.
        ("0.8.4", "JinaEmbeddingsV4Model", {"trust_remote_code": True}, "LLM901"),
        ("0.10.2", "JinaEmbeddingsV4Model", {"trust_remote_code": True}, "LLM882"),
        ("0.12.0", KIMI, {"trust_remote_code": True}, "LLM920"),
        ("0.13.0", KIMI, {"trust_remote_code": True}, ""),
        ("0.11.1", KIMI, {"trust_remote_code": True}, ""),
        # A config.json that names none is known to.
        ("0.10.2", LLAMA, {"config.architectures": None}, "LLM901"),
        ("0.10.2", OWN, {"config.architectures": [LLAMA]}, ""),
        # What reads texts alone the backend takes with transformers 5.
        ("0.19.0", "FooBarModel", {}, "LLM901"),
        ("0.24.0", "FooBarModel", {}, "LLM882"),
        ("0.24.0", OWN, {}, "LLM901"),
        ("0.24.0", "FooBarLMHeadModel", {}, "LLM901"),
        # What has a release of its own is refused before it.
        ("0.8.4", GPT_OSS, {"trust_remote_code": True}, "LLM901"),
        # params.json makes a class of vLLM's own.
        ("0.10.2", OWN, {"config_format": "mistral"}, ""),
        ("0.10.2", OWN, {"config_format": "MISTRAL"}, ""),
        ("0.10.2", OWN, {"config_format": "hf"}, "LLM901"),
        (
            "0.8.4",
            "VoxtralForConditionalGeneration",
            {"config_format": "mistral"},
            "LLM901",
        ),
    )
]

HEADS: list[Row] = [
    (codes, case(f"vllm {release} H100", name, config, **arguments))
    for release, name, config, arguments, codes in table(
        ("0.10.2", LLAMA, {}, {"convert": "classify"}, "LLM929"),
        ("0.8.4", LLAMA, {}, {"task": "classify"}, "LLM929"),
        ("0.10.2", LLAMA, {}, {"convert": "embed"}, ""),
        ("0.10.2", LLAMA, {}, {}, ""),
        ("0.10.2", QWEN_HEAD, {}, {"convert": "classify"}, ""),
        *(
            ("0.10.2", LLAMA, {key: value}, {"convert": "classify"}, "")
            for key, value in (
                ("classifier_from_token", ["no", "yes"]),
                ("is_original_qwen3_reranker", True),
                ("method", "no_post_processing"),
            )
        ),
        ("0.10.2", QWEN_HEAD, {"is_original_qwen3_reranker": True}, {}, "LLM929"),
        ("0.8.4", QWEN_HEAD, {"is_original_qwen3_reranker": True}, {}, "LLM901"),
        ("0.10.2", QWEN_HEAD, {"is_original_qwen3_reranker": False}, {}, ""),
        (
            "0.10.2",
            QWEN_HEAD,
            {
                "is_original_qwen3_reranker": True,
                "classifier_from_token": ["no", "yes"],
            },
            {},
            "",
        ),
        (
            "0.10.2",
            QWEN_HEAD,
            {"is_original_qwen3_reranker": True, "classifier_from_token": []},
            {},
            "LLM929",
        ),
        ("0.10.2", "Qwen3Model", {"is_original_qwen3_reranker": True}, {}, ""),
    )
]

ABILITIES: list[Row] = [
    (codes, case(f"vllm {release} H100", name, **arguments))
    for release, name, arguments, codes in (
        ("0.10.2", GPT_OSS, {"enable_lora": True}, "LLM905"),
        ("0.10.2", GPT_OSS, {"enable_lora": "true"}, "LLM905"),
        ("0.10.2", GPT_OSS, {"enable_lora": False}, ""),
        ("0.10.2", GPT_OSS, {}, ""),
        ("0.11.1", GPT_OSS, {"enable_lora": True}, ""),
        ("0.10.2", "", {"enable_lora": True}, ""),
        ("0.8.4", HELIUM, {"enable_lora": True}, "LLM881"),
        ("0.4.2", LLAMA, {"pipeline_parallel_size": 2}, "LLM907"),
        ("0.4.2", LLAMA, {"pipeline_parallel_size": "2"}, "LLM907"),
        ("0.4.2", LLAMA, {"pipeline_parallel_size": 1}, ""),
        ("0.4.2", LLAMA, {"pipeline_parallel_size": None}, ""),
        ("0.5.3.post1", LLAMA, {"pipeline_parallel_size": 2}, ""),
        ("0.4.2", "", {"pipeline_parallel_size": 2}, ""),
        ("0.8.4", HELIUM, {"pipeline_parallel_size": 2}, "LLM881"),
    )
]

GGUF = {"quantization_config": {"quant_method": "gguf"}}
GEMMA_3N = {**GGUF, "architectures": ["Gemma3nForConditionalGeneration"]}
FILES: list[Row] = [
    ("LLM903", case("vllm 0.10.2 H100", "a/b", GEMMA_3N)),
    ("", case("vllm 0.10.2 H100", "a/b", GEMMA_3N, hf_config_path="a/c")),
    ("LLM915", case("vllm 0.24.0 H100", "a/b", GEMMA_3N)),
    ("LLM903", case("vllm 0.10.2 H100", "a/b:Q4_K_M", GEMMA_3N)),
    ("LLM944", case("vllm 0.12.0 H100", "a/b:Q4_K_M", GEMMA_3N)),
    ("", case("vllm 0.12.0 H100", "a/b:Q4_K_M", GEMMA_3N, tokenizer="a/c")),
    ("LLM903", case("vllm 0.12.0 H100", "a/b", GEMMA_3N)),
    ("", case("vllm 0.10.2 H100", LLAMA, GGUF)),
    ("", case("vllm 0.10.2 H100", "", GGUF)),
]


@pytest.mark.parametrize(("codes", "example"), [*CLASSES, *HEADS, *ABILITIES, *FILES])
def test_loads_a_class_that_the_release_has(codes: str, example: Example) -> None:
    """
    With its head, its adapters, its stages, and its files.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize("kind", ["qwen3_5_text", "qwen3_5_moe_text"])
@pytest.mark.parametrize(("release", "codes"), [("0.19.0", "LLM903"), ("0.20.0", "")])
def test_knows_parts_of_a_whole_with_a_new_transformers(
    kind: str, release: str, codes: str
) -> None:
    """
    Of a version that is not known nothing is said.
    """
    assert codes_of(case(f"vllm {release} H100", LLAMA, {"model_type": kind})) == codes
    assert codes_of(case(f"vllm {release} H100", LLAMA, {"model_type": "llama"})) == ""


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (
            case("vllm 0.10.2 H100", OWN),
            (
                "LLM901 vLLM 0.10.2 does not load FooBarForCausalLM; no release of "
                "vLLM that is known loads it: correct architectures in config.json, "
                "or take another engine"
            ),
        ),
        (
            case("vllm 0.8.4 H100", HELIUM),
            (
                "LLM881 vLLM 0.8.4 has no HeliumForCausalLM of its own, and falls back "
                "to the Transformers backend, which is slower"
            ),
        ),
        (
            case("vllm 0.4.2 H100", LLAMA, pipeline_parallel_size=2),
            (
                "LLM907 vLLM 0.4.2 cannot split LlamaForCausalLM into pipeline stages, "
                "got pipeline_parallel_size=2; take an image with vllm 0.5.1 or "
                "newer, such as djl-lmi 0.29.0"
            ),
        ),
        # No image has it yet.
        (
            case("vllm 0.28.0 H100", "BertModel", enable_lora=True),
            (
                "LLM905 vLLM 0.28.0 does not serve LoRA adapters on BertModel, and "
                "enable_lora asks for them; take an image with vllm 0.32.0 or newer"
            ),
        ),
        (
            case("vllm 0.24.0 H100", "BartForConditionalGeneration"),
            (
                "LLM901 vLLM 0.24.0 does not load BartForConditionalGeneration, which "
                "was dropped after 0.10.2; take an image with vllm 0.5.5 to 0.10.2, "
                "such as djl-lmi 0.34.0"
            ),
        ),
        (
            case("vllm 0.5.3.post1 H100", "BartForConditionalGeneration"),
            (
                "LLM901 vLLM 0.5.3.post1 does not load BartForConditionalGeneration; "
                "take an image with vllm 0.5.5 to 0.10.2, such as djl-lmi 0.34.0"
            ),
        ),
        (
            case("vllm 0.10.2 H100", LLAMA, convert="classify"),
            (
                "LLM929 vLLM 0.10.2 classifies with weights for it, and "
                "LlamaForCausalLM of a/b has none; name a model that was trained to "
                "classify, or write classifier_from_token into hf_overrides"
            ),
        ),
    ],
)
def test_tells_what_is_wrong_and_the_way_out(example: Example, told: str) -> None:
    """
    Which releases have it, and an image with one of them.
    """
    assert [str(found) for found in example()] == [told]


SCOUT = "Llama4ForConditionalGeneration"


@pytest.mark.parametrize(
    ("release", "value", "codes"),
    [
        ("0.8.3", "0", "LLM880 LLM920"),
        ("0.8.3", "1", "LLM880"),
        ("0.8.4", "0", ""),
    ],
)
def test_makes_llama_4_without_the_old_engine(
    release: str, value: str, codes: str
) -> None:
    """
    Whose attention did not know it for one release.
    """
    environment = {"VLLM_USE_V1": value}
    example = case(f"vllm {release} H100", SCOUT, environment=environment)

    assert codes_of(example) == codes
