"""
What the engine in the image does not load is refused, or told of, at synth.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import SecretValue, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlmEndpoint,
    LmiVllm,
    Network,
    S3Model,
    Vllm,
    VllmNeuron,
)
from tests.unit.hosting.written import warnings_of

TOKEN = SecretValue.secrets_manager("hub")
MISTRAL = HuggingFaceModel("mistralai/Mistral-7B-v0.1", token=TOKEN)
QWEN = HuggingFaceModel("Qwen/Qwen3-8B")
GPT_OSS = HuggingFaceModel("openai/gpt-oss-20b")
A10G, L40S = "ml.g5.2xlarge", "ml.g6e.2xlarge"


def defined(stack: Stack, **what: Any) -> list[str]:  # noqa: ANN401 - the pattern's arguments
    """
    Define an endpoint, and return what is warned of but the token.
    """
    LlmEndpoint(stack, "Chat", **what)
    return [text for _, text in warnings_of(stack) if not text.endswith("LLM202]")]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (
            {
                "model": HuggingFaceModel("google/gemma-3-4b-it", token=TOKEN),
                "instance_type": A10G,
                "serving": LmiVllm("0.31.0", max_model_len=4096),
            },
            (
                "LLM901 vLLM 0.6.3.post1 does not load Gemma3ForConditionalGeneration; "
                "take an image with vllm 0.8.0 and newer, such as djl-lmi 0.33.0"
            ),
        ),
        (
            {
                "model": GPT_OSS,
                "instance_type": L40S,
                "serving": LmiVllm("0.33.0", max_model_len=4096),
            },
            (
                "LLM901 vLLM 0.8.4 does not load GptOssForCausalLM; take an image with "
                "vllm 0.10.1 and newer, such as djl-lmi 0.34.0"
            ),
        ),
        (
            {
                "model": HuggingFaceModel("a/b", architecture="FooBarForCausalLM"),
                "instance_type": A10G,
                "serving": Vllm(max_model_len=4096),
            },
            (
                "LLM901 vLLM 0.30.0 does not load FooBarForCausalLM; no release of "
                "vLLM that is known loads it: correct architectures in config.json, or "
                "take another engine"
            ),
        ),
        (
            {
                "model": MISTRAL,
                "instance_type": L40S,
                "serving": Vllm(max_model_len=131072),
            },
            (
                "LLM931 max_model_len must be at most 32768, which "
                "mistralai/Mistral-7B-v0.1 was made for, got 131072; write 32768, or "
                "leave it out, or set VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 if the model is "
                "known to take it"
            ),
        ),
        (
            {
                "model": GPT_OSS,
                "instance_type": A10G,
                "serving": Vllm(max_model_len=4096, kv_cache_dtype="fp8"),
            },
            (
                "LLM933 vLLM 0.30.0 cannot keep the KV cache in 8 bits on A10G "
                "(compute capability 8.6), got SM_VLLM_KV_CACHE_DTYPE=fp8: attention "
                "sinks need Triton, which has it from 8.9 on; leave "
                "SM_VLLM_KV_CACHE_DTYPE out, or take a GPU from L4 on"
            ),
        ),
        (
            {
                "model": HuggingFaceModel("Qwen/Qwen3-1.7B"),
                "instance_type": "ml.g4dn.2xlarge",
                "serving": Vllm(max_model_len=4096, dtype="bfloat16"),
            },
            (
                "LLM911 SM_VLLM_DTYPE must be float16 on T4 (compute capability 7.5), "
                "which has no bfloat16, got bfloat16; write float16, or take a GPU "
                "from A10G on"
            ),
        ),
        (
            {
                "model": HuggingFaceModel("Qwen/Qwen3-8B-AWQ"),
                "instance_type": A10G,
                "serving": Vllm(max_model_len=4096, quantization="gptq"),
            },
            (
                "LLM925 quantization must be left out or be that of the weights, awq, "
                "got gptq; leave quantization out: vLLM 0.30.0 reads it from the "
                "weights"
            ),
        ),
        (
            {
                "model": S3Model("s3://b/gpt-oss/", architecture="openai/gpt-oss-20b"),
                "instance_type": L40S,
                "serving": Vllm(max_model_len=4096),
                "network": Network(isolated=True),
            },
            (
                "LLM955 vLLM 0.30.0 fetches o200k_base.tiktoken for the model when it "
                "starts, which a container with network isolation cannot; put the file "
                "into the artifact and set TIKTOKEN_ENCODINGS_BASE to its folder, or "
                "take an image with vLLM 0.31 or newer"
            ),
        ),
    ],
)
def test_what_does_not_start(stack: Stack, what: dict[str, Any], words: str) -> None:
    """
    One message says what is wrong, and the way out.
    """
    with pytest.raises(ValueError, match="LLM") as refusal:
        LlmEndpoint(stack, "Chat", **what)

    assert str(refusal.value) == f"Test/Chat: {words}"


def test_a_parser_of_another_family(stack: Stack) -> None:
    """
    It starts, and the first call of a tool comes back as text.
    """
    serving = Vllm(max_model_len=8192, tool_call_parser="llama3_json")

    (text,) = defined(stack, model=QWEN, instance_type=L40S, serving=serving)

    assert text == (
        "tool_call_parser=llama3_json is not for Qwen/Qwen3-8B: calls of tools fail, "
        "or stay plain text; use hermes, qwen3_coder, qwen3_xml or qwen3_json [ack: "
        "cdk-sagemaker-llm:LLM896]"
    )


def test_an_eight_bit_cache_that_nobody_was_seen_to_run(stack: Stack) -> None:
    """
    On an older GPU the engine takes another attention backend for it.
    """
    serving = Vllm(max_model_len=4096, kv_cache_dtype="fp8_e4m3")
    (text,) = defined(stack, model=QWEN, instance_type=A10G, serving=serving)

    assert text == (
        "SM_VLLM_KV_CACHE_DTYPE=fp8_e4m3 has vLLM 0.30.0 take FlashInfer on A10G "
        "(compute capability 8.6), by its tables; nobody was seen to run it [ack: "
        "cdk-sagemaker-llm:LLM890]"
    )


def test_code_that_may_have_to_be_trusted(stack: Stack) -> None:
    """
    Newer releases have the class; their transformers package may not read its layers.
    """
    model = HuggingFaceModel("nvidia/NVIDIA-Nemotron-Nano-12B-v2")
    serving = Vllm(max_model_len=4096)
    (text,) = defined(stack, model=model, instance_type=L40S, serving=serving)

    assert text == (
        "the configuration of nvidia/NVIDIA-Nemotron-Nano-12B-v2 is read by code in "
        "its repository if the image with vLLM 0.30.0 has transformers before 5.6.0; "
        "read that code, and write trust_remote_code=true [ack: "
        "cdk-sagemaker-llm:LLM898]"
    )


@pytest.mark.parametrize(
    "what",
    [
        {
            "model": HuggingFaceModel("google/gemma-3-4b-it", token=TOKEN),
            "serving": LmiVllm("0.33.0", max_model_len=4096),
        },
        {"model": GPT_OSS, "serving": LmiVllm("0.34.0", max_model_len=4096)},
        {"model": MISTRAL, "serving": Vllm(max_model_len=32768)},
        {"model": QWEN, "serving": Vllm(max_model_len=4096, kv_cache_dtype="fp8")},
        {
            "model": HuggingFaceModel("Qwen/Qwen3-8B-AWQ"),
            "serving": Vllm(max_model_len=4096, quantization="awq_marlin"),
        },
        {
            "model": QWEN,
            "serving": Vllm(max_model_len=8192, tool_call_parser="hermes"),
        },
        {
            "model": HuggingFaceModel("nvidia/NVIDIA-Nemotron-Nano-12B-v2"),
            "serving": Vllm(max_model_len=4096, trust_remote_code=True),
        },
        # optimum-neuron knows its type from 0.4.1 on.
        {
            "model": HuggingFaceModel("Qwen/Qwen3-30B-A3B"),
            "instance_type": "ml.trn1.32xlarge",
            "serving": VllmNeuron(
                tensor_parallel_size=8, sequence_length=4096, batch_size=4
            ),
        },
    ],
)
def test_what_starts(stack: Stack, what: dict[str, Any]) -> None:
    """
    The one beside each of them, about which nothing is said.
    """
    assert defined(stack, **{"instance_type": L40S, **what}) == []
