"""
Variables that vLLM reads as numbers or by name, and settings of its older releases.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, LLAVA = "LlamaForCausalLM", "LlavaForConditionalGeneration"
GGUF, GGUF_FILE = "TheBloke/Llama-2-7B-Chat-GGUF", "unsloth/Qwen3-8B-GGUF:Q4_K_M"
MLX = "mlx-community/Qwen2.5-7B-Instruct-4bit"
CLASS = {"architectures": [LLAMA]}
MARLIN = {"quantization_config": {"quant_method": "gptq", "is_marlin_format": True}}
AWQ = {"quantization_config": {"quant_method": "awq", "bits": 4}}
DRAFT: dict[str, Any] = {
    "speculative_model": "a/b",
    "num_speculative_tokens": 3,
    "use_v2_block_manager": True,
}
WORDS: dict[str, Any] = {**DRAFT, "speculative_model": "[ngram]"}


def _at(where: str, **variables: str) -> Example:
    return case(where, LLAMA, environment=variables)


VARIABLES = table(
    ("LLM946", _at("vllm 0.10.2 A10G", VLLM_USE_V1="true")),
    ("LLM892", _at("vllm 0.8.4 T4", VLLM_USE_V1="0")),
    ("", _at("vllm 0.12.0 A10G", VLLM_USE_V1="true")),
    ("LLM946", _at("vllm 0.10.2 A10G", VLLM_PORT="tcp://10.0.0.1:80")),
    ("", _at("vllm 0.10.2 A10G", VLLM_PORT="8000")),
    ("", _at("vllm 0.10.2 A10G", VLLM_WORKER_MULTIPROC_METHOD="thread")),
    ("LLM946", _at("vllm 0.12.0 A10G", VLLM_WORKER_MULTIPROC_METHOD="thread")),
    ("", _at("vllm 0.12.0 A10G", VLLM_WORKER_MULTIPROC_METHOD="spawn")),
    ("LLM946", _at("vllm 0.28.0 A10G", VLLM_KV_CACHE_LAYOUT="BHLNC")),
    ("", _at("vllm 0.29.0 A10G", VLLM_KV_CACHE_LAYOUT="BHLNC")),
    ("LLM946", _at("vllm 0.10.2 A10G", VLLM_LOGGING_LEVEL="verbose")),
    ("", _at("vllm 0.10.2 A10G", VLLM_LOGGING_LEVEL="debug")),
    ("LLM946", _at("vllm 0.6.3.post1 A10G", VLLM_LOGGING_LEVEL="debug")),
)

OLDER = table(
    ("LLM914", case("vllm 0.4.2 A10G", LLAMA, block_size=64)),
    ("", case("vllm 0.4.2 A10G", LLAMA, block_size=32)),
    ("LLM914", case("vllm 0.4.2 A10G", LLAVA)),
    ("", case("vllm 0.4.2 A10G", LLAVA, image_input_type="pixel_values")),
    ("", case("vllm 0.6.3.post1 A10G", LLAVA)),
    ("LLM914", case("vllm 0.3.3 A10G", LLAMA, AWQ, enable_lora=True)),
    ("", case("vllm 0.4.2 A10G", LLAMA, AWQ, enable_lora=True)),
    ("LLM938", case("vllm 0.4.2 T4", LLAMA, MARLIN)),
    ("", case("vllm 0.4.2 A10G", LLAMA, MARLIN)),
    ("LLM914", case("vllm 0.4.2 A10G", LLAMA, load_format="gguf")),
    ("LLM914", case("vllm 0.6.3.post1 A10G", LLAMA, load_format="runai_streamer")),
    ("", case("vllm 0.7.1 A10G", LLAMA, load_format="runai_streamer")),
    (
        "LLM914",
        case("vllm 0.6.3.post1 A10G", LLAMA, speculative_model="a/b"),
    ),
    (
        "LLM914",
        case(
            "vllm 0.6.3.post1 A10G",
            LLAMA,
            **WORDS,
            ngram_prompt_lookup_min=3,
            ngram_prompt_lookup_max=2,
        ),
    ),
    (
        "",
        case(
            "vllm 0.6.3.post1 A10G",
            LLAMA,
            **WORDS,
            ngram_prompt_lookup_min=2,
            ngram_prompt_lookup_max=2,
        ),
    ),
    (
        "LLM914",
        case(
            "vllm 0.6.3.post1 A10G",
            LLAMA,
            **DRAFT,
            speculative_disable_by_batch_size=1,
        ),
    ),
    (
        "LLM914",
        case(
            "vllm 0.6.3.post1 A10G",
            LLAMA,
            **DRAFT,
            max_model_len=4096,
            speculative_max_model_len=4097,
        ),
    ),
    ("LLM944", case("vllm 0.10.2 A10G", GGUF, CLASS)),
    ("", case("vllm 0.12.0 A10G", GGUF_FILE, CLASS)),
    ("LLM938", case("vllm 0.10.2 A10G", MLX, CLASS)),
    (
        "LLM944",
        case("vllm 0.10.2 A10G", LLAMA, override_pooler_config={"pooling_type": "MAX"}),
    ),
    (
        "",
        case(
            "vllm 0.10.2 A10G", LLAMA, override_pooler_config={"pooling_type": "MEAN"}
        ),
    ),
    (
        "LLM944",
        case("vllm 0.10.2 A10G", "Qwen/Qwen2.5-7B-Instruct", load_format="tensorizer"),
    ),
)


@pytest.mark.parametrize(("codes", "example"), VARIABLES)
def test_reads_variables_as_the_release_does(codes: str, example: Example) -> None:
    """
    A number, or one of the names.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), OLDER)
def test_foretells_what_older_releases_refuse(codes: str, example: Example) -> None:
    """
    And what is no longer refused after them.
    """
    assert codes_of(example) == codes
