"""
What a simulation reads out of the variables of an engine in an image of its own.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.images import ImageRelease, image_at
from cdk_sagemaker_llm.cli.app.containers import _served, engine_settings

REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"


def image(name: str) -> ImageRelease:
    """
    Return an image of AWS's registry.
    """
    found = image_at(f"{REGISTRY}/{name}")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "variables", "expected"),
    [
        (
            "vllm:server-sagemaker-cuda-v2.6",
            {
                "SM_VLLM_MODEL": "a/b",
                "SM_VLLM_TENSOR_PARALLEL_SIZE": "4",
                "SM_VLLM_MAX_MODEL_LEN": "8k",
                "SM_VLLM_MAX_NUM_SEQS": "32",
            },
            {
                "model": "a/b",
                "degree": "4",
                "context_length": "8000",
                "most_sequences": "32",
            },
        ),
        (
            "vllm:server-sagemaker-cuda-v2.6",
            {"HF_MODEL_ID": "a/b", "SM_VLLM_QUANTIZATION": "awq"},
            {"model": "a/b", "degree": "1", "quantize": "awq"},
        ),
        (
            "sglang:server-sagemaker-cuda-v1.4",
            {
                "SM_SGLANG_MODEL_PATH": "a/b",
                "SM_SGLANG_TP": "2",
                "SM_SGLANG_CONTEXT_LENGTH": "4096",
                "SM_SGLANG_MAX_RUNNING_REQUESTS": "16",
            },
            {
                "model": "a/b",
                "degree": "2",
                "context_length": "4096",
                "most_sequences": "16",
            },
        ),
        (
            "llama-cpp:server-sagemaker-cuda-v1.0.1",
            {
                "SM_LLAMA_CPP_MODEL": "/opt/ml/model/x.gguf",
                "SM_LLAMA_CPP_CTX_SIZE": "4096",
                "SM_LLAMA_CPP_PARALLEL": "4",
            },
            {
                "model": "/opt/ml/model/x.gguf",
                "degree": "1",
                "context_length": "4096",
                "most_sequences": "4",
            },
        ),
    ],
    ids=["vLLM", "vLLM by its Hub id", "SGLang", "llama.cpp"],
)
def test_what_an_engine_is_told(
    name: str, variables: dict[str, str], expected: dict[str, str]
) -> None:
    """
    As its entry point and its parser read it.
    """
    assert engine_settings(image(name), variables) == expected


def test_other_images_have_none() -> None:
    """
    Nor has one that nobody knows.
    """
    assert engine_settings(None, {}) is None
    lmi = image("djl-inference:0.36.0-lmi28.0.0-cu130")
    assert engine_settings(lmi, {"OPTION_MODEL_ID": "a/b"}) is None
    tei = image("tei:2.0.1-tei1.9.3-gpu-py310-cu129-ubuntu24.04")
    assert engine_settings(tei, {"HF_MODEL_ID": "a/b"}) is None


def test_an_engine_that_does_not_start() -> None:
    """
    The simulation says why.
    """
    wrong = {"SM_VLLM_MODEL": "a/b", "SM_VLLM_NO_SUCH": "1"}
    with pytest.raises(ValueError, match="unrecognized arguments: --no-such"):
        engine_settings(image("vllm:server-sagemaker-cuda-v2.6"), wrong)


@pytest.mark.parametrize(
    ("name", "settings", "engine", "version", "model_type", "gguf"),
    [
        (
            "vllm:server-sagemaker-cuda-v2.6",
            {"model": "Qwen/Qwen3-4B"},
            *("vllm", "0.30.0", "qwen3", None),
        ),
        (
            "sglang:server-sagemaker-cuda-v1.4",
            {"model": "Qwen/Qwen3-4B"},
            *("sglang", "0.5.19", "qwen3", None),
        ),
        (
            "llama-cpp:server-sagemaker-cuda-v1.0.1",
            {"model": "Qwen/Qwen3-4B-GGUF:Q4_K_M"},
            *("llama.cpp", None, "qwen3", "Q4_K_M"),
        ),
        (
            "llama-cpp:server-sagemaker-cuda-v1.0.1",
            {"model": "Qwen/Qwen3-4B-gguf", "file": "qwen3-4b-q8_0.gguf"},
            *("llama.cpp", None, "qwen3", "Q8_0"),
        ),
        (
            "tei:2.0.1-tei1.9.3-gpu-py310-cu129-ubuntu24.04",
            {"HF_MODEL_ID": "BAAI/bge-m3"},
            *("tei", None, "xlm-roberta", None),
        ),
        (
            "djl-inference:0.30.0-tensorrtllm0.12.0-cu125",
            {"option.model_id": "mistralai/Mistral-7B-v0.1"},
            *("tensorrt-llm", None, "mistral", None),
        ),
    ],
    ids=["vLLM", "SGLang", "GGUF", "GGUF by its file", "TEI", "TensorRT-LLM"],
)
def test_a_plan_is_of_the_engine_in_the_image(
    name: str,
    settings: dict[str, str],
    engine: str,
    version: str | None,
    model_type: str,
    gguf: str | None,
) -> None:
    """
    With its release, where a plan knows it, and the type of its file.
    """
    served = _served(settings, {}, image(name))

    assert (served.engine, served.engine_version) == (engine, version)
    assert served.gguf_type == gguf
    assert served.architecture is not None
    assert served.architecture.model_type == model_type
