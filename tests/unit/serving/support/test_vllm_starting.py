"""
What vLLM refuses when it sets to work: files, stages, and what the server is asked.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, SEES = "LlamaForCausalLM", "Qwen2_5_VLForConditionalGeneration"
QWEN, AWQ = "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct-AWQ"
MOE, GPT_OSS = "Qwen/Qwen3-30B-A3B-Instruct-2507", "openai/gpt-oss-20b"
COPY = "stelterlab/Mistral-Small-3.2-24B-Instruct-2506-FP8"
PIXTRAL = "mistralai/Pixtral-12B-2409"
BACKEND: dict[str, Any] = {"model_impl": "transformers"}
STATES: dict[str, Any] = {"mamba_cache_mode": "all", "enable_prefix_caching": True}
STAGED: dict[str, Any] = {"pipeline_parallel_size": 2}
LAYERS = {"num_hidden_layers": 32}
MISTRAL: dict[str, Any] = {"config_format": "mistral", "load_format": "mistral"}
GGUF = {"quantization_config": {"quant_method": "gguf"}}
EAGLE_3 = {"method": "eagle3", "model": "a/eagle3", "num_speculative_tokens": 2}


def _parts(text: str) -> dict[str, Any]:
    return {"environment": {"VLLM_PP_LAYER_PARTITION": text}, **STAGED}


def _compiled(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - as vLLM takes them
    return {"compilation_config": values}


STARTS = table(
    ("LLM944", case("vllm 0.14.0 A10G", "BloomForCausalLM", **BACKEND)),
    ("", case("vllm 0.14.0 A10G", LLAMA, **BACKEND)),
    ("LLM944", case("vllm 0.14.0 H100", GPT_OSS, **BACKEND)),
    ("LLM880", case("vllm 0.11.0 H100", MOE, **BACKEND)),
    ("LLM944", case("vllm 0.12.0 H100", MOE, **BACKEND)),
    ("", case("vllm 0.24.0 H100", MOE, **BACKEND)),
    ("LLM967", case("vllm 0.14.0 H100", "Qwen3NextForCausalLM", **STATES)),
    ("LLM944", case("vllm 0.15.1 H100", "Qwen3NextForCausalLM", **STATES)),
    ("", case("vllm 0.15.1 H100", "BambaForCausalLM", **STATES)),
    ("LLM914", case("vllm 0.6.3.post1 A10G", QWEN, load_format="runai_streamer")),
    ("", case("vllm 0.7.1 A10G", QWEN, load_format="runai_streamer")),
    ("LLM914", case("vllm 0.7.1 A10G", QWEN, load_format="fastsafetensors")),
    ("", case("vllm 0.8.4 A10G", QWEN, load_format="fastsafetensors")),
    ("LLM944", case("vllm 0.10.2 A10G", AWQ, load_format="bitsandbytes")),
    ("", case("vllm 0.10.2 A10G", QWEN, load_format="bitsandbytes")),
    ("LLM944", case("vllm 0.20.0 A10G", QWEN, model_loader_extra_config={"a": 1})),
    (
        "",
        case(
            "vllm 0.20.0 A10G",
            QWEN,
            model_loader_extra_config={"enable_multithread_load": True},
        ),
    ),
    (
        "LLM944",
        case(
            "vllm 0.8.4 A10G",
            QWEN,
            model_loader_extra_config={"enable_multithread_load": True},
        ),
    ),
    ("LLM944", case("vllm 0.20.0 A10G", QWEN, load_format="sharded_state")),
    ("", case("vllm 0.20.0 A10G", LLAMA, load_format="sharded_state")),
    (
        "LLM944 LLM944",
        case("vllm 0.20.0 A10G", QWEN, config_format="mistral", load_format="pt"),
    ),
    ("LLM944", case("vllm 0.20.0 A10G", QWEN, load_format="mistral")),
    ("LLM880", case("vllm 0.11.0 L40S", COPY, **MISTRAL, tokenizer_mode="mistral")),
    ("LLM944", case("vllm 0.20.0 L40S", PIXTRAL, **MISTRAL, tokenizer_mode="hf")),
    ("", case("vllm 0.20.0 L40S", PIXTRAL, **MISTRAL, tokenizer_mode="mistral")),
    ("LLM944", case("vllm 0.20.0 A100", LLAMA, LAYERS, **_parts("10,10"))),
    ("LLM944", case("vllm 0.20.0 A100", LLAMA, LAYERS, **_parts("10,10,12"))),
    ("", case("vllm 0.20.0 A100", LLAMA, LAYERS, **_parts("12,20"))),
    ("LLM944", case("vllm 0.20.0 A10G", LLAMA, default_mm_loras={"image": "/a"})),
    ("", case("vllm 0.20.0 A10G", SEES, default_mm_loras={"image": "/a"})),
    ("LLM944", case("vllm 0.20.0 A10G", LLAMA, runner="pooling", convert="none")),
    ("", case("vllm 0.20.0 A10G", LLAMA, runner="pooling", convert="embed")),
    ("LLM944", case("vllm 0.20.0 A10G", SEES, GGUF)),
    ("", case("vllm 0.20.0 A10G", SEES, GGUF, tokenizer="Qwen/Qwen2.5-VL-7B-Instruct")),
    ("LLM944", case("vllm 0.20.0 A10G", LLAMA, enable_log_outputs=True)),
    (
        "",
        case(
            "vllm 0.20.0 A10G",
            LLAMA,
            enable_log_outputs=True,
            enable_log_requests=True,
        ),
    ),
    (
        "LLM944",
        case(
            "vllm 0.20.0 A10G",
            LLAMA,
            environment={"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"},
            api_server_count=2,
        ),
    ),
    ("", case("vllm 0.20.0 A10G", LLAMA, api_server_count=2)),
    (
        "LLM944",
        case(
            "vllm 0.20.0 A10G",
            LLAMA,
            attention_backend="FLASHINFER",
            attention_config={"backend": "FLASHINFER"},
        ),
    ),
    ("LLM944", case("vllm 0.20.0 A10G", LLAMA, **_compiled(backend="tensorrt"))),
    ("", case("vllm 0.20.0 A10G", LLAMA, **_compiled(backend="inductor"))),
    ("LLM944", case("vllm 0.20.0 A10G", LLAMA, **_compiled(custom_ops=["silu"]))),
    (
        "LLM944",
        case("vllm 0.20.0 A10G", LLAMA, **_compiled(custom_ops=["all", "none"])),
    ),
    ("", case("vllm 0.20.0 A10G", LLAMA, **_compiled(custom_ops=["none", "+silu"]))),
    (
        "LLM944",
        case(
            "vllm 0.20.0 A10G",
            LLAMA,
            **_compiled(cudagraph_capture_sizes=[1, 4], max_cudagraph_capture_size=8),
        ),
    ),
    (
        "",
        case(
            "vllm 0.20.0 A10G",
            LLAMA,
            **_compiled(cudagraph_capture_sizes=[1, 8], max_cudagraph_capture_size=8),
        ),
    ),
    (
        "LLM944",
        case(
            "vllm 0.20.0 A10G",
            LLAMA,
            max_model_len=4096,
            speculative_config={**EAGLE_3, "max_model_len": 4097},
        ),
    ),
    (
        "",
        case(
            "vllm 0.20.0 A10G",
            LLAMA,
            max_model_len=4096,
            speculative_config={**EAGLE_3, "max_model_len": 4096},
        ),
    ),
)


@pytest.mark.parametrize(("codes", "example"), STARTS)
def test_starts_with_what_is_asked_for(codes: str, example: Example) -> None:
    """
    And with the model's files.
    """
    assert codes_of(example) == codes
