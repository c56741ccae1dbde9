"""
What vLLM does with common configurations, by its releases and the rules of its source.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.serving import check_support

# Verdict, model, release, instance type, class where it is not the catalogue's, and
# arguments.
JUDGED: list[tuple[str, str, str, str, str | None, dict[str, Any]]] = [
    (
        "refuses",
        "microsoft/Phi-3-medium-4k-instruct",
        "0.8.4",
        "ml.g5.12xlarge",
        None,
        {"tensor_parallel_size": 4},
    ),
    ("loads", "tiiuae/falcon-7b-instruct", "0.8.4", "ml.g5.2xlarge", None, {}),
    (
        "refuses",
        "tiiuae/falcon-7b-instruct",
        "0.8.4",
        "ml.g5.12xlarge",
        None,
        {"tensor_parallel_size": 4},
    ),
    (
        "loads",
        "Qwen/Qwen2.5-72B-Instruct-AWQ",
        "0.8.4",
        "ml.g5.48xlarge",
        None,
        {"tensor_parallel_size": 8},
    ),
    (
        "refuses",
        "Qwen/Qwen2.5-VL-72B-Instruct-AWQ",
        "0.8.4",
        "ml.g5.48xlarge",
        None,
        {"tensor_parallel_size": 8},
    ),
    (
        "refuses",
        "deepseek-ai/DeepSeek-V3",
        "0.8.4",
        "ml.p4de.24xlarge",
        None,
        {"tensor_parallel_size": 8, "trust_remote_code": True},
    ),
    (
        "falls_back",
        "deepseek-ai/DeepSeek-V3",
        "0.10.2",
        "ml.p4de.24xlarge",
        None,
        {"tensor_parallel_size": 8},
    ),
    (
        "loads",
        "deepseek-ai/DeepSeek-R1",
        "0.10.2",
        "ml.p5en.48xlarge",
        None,
        {"tensor_parallel_size": 8},
    ),
    (
        "refuses",
        "deepseek-ai/DeepSeek-R1",
        "0.7.1",
        "ml.p4de.24xlarge",
        None,
        {"tensor_parallel_size": 8},
    ),
    (
        "loads",
        "mistralai/Mixtral-8x7B-Instruct-v0.1",
        "0.3.3",
        "ml.g5.48xlarge",
        None,
        {"tensor_parallel_size": 8},
    ),
    (
        "loads",
        "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic",
        "0.8.4",
        "ml.g6e.xlarge",
        None,
        {},
    ),
    (
        "falls_back",
        "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic",
        "0.8.4",
        "ml.g5.2xlarge",
        None,
        {},
    ),
    (
        "refuses",
        "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic",
        "0.8.4",
        "ml.g4dn.2xlarge",
        None,
        {"dtype": "half"},
    ),
    (
        "refuses",
        "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic",
        "0.8.4",
        "ml.g6e.xlarge",
        None,
        {"quantization": "fp8"},
    ),
    (
        "refuses",
        "meta-llama/Llama-3.2-11B-Vision-Instruct",
        "0.11.1",
        "ml.g6e.xlarge",
        None,
        {},
    ),
    (
        "loads",
        "meta-llama/Llama-3.2-11B-Vision-Instruct",
        "0.8.4",
        "ml.g6e.xlarge",
        None,
        {},
    ),
    (
        "refuses",
        "microsoft/Phi-3-vision-128k-instruct",
        "0.8.4",
        "ml.g5.2xlarge",
        None,
        {},
    ),
    ("refuses", "THUDM/glm-4-9b-chat", "0.8.4", "ml.g5.2xlarge", None, {}),
    (
        "refuses",
        "google/gemma-2-9b-it",
        "0.6.3.post1",
        "ml.g4dn.2xlarge",
        None,
        {"dtype": "half"},
    ),
    (
        "loads",
        "Qwen/Qwen3-8B",
        "0.20.0",
        "ml.g6e.xlarge",
        None,
        {
            "max_model_len": 131072,
            "hf_overrides": {
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 32768,
                }
            },
        },
    ),
    (
        "refuses",
        "Qwen/Qwen3-8B",
        "0.20.0",
        "ml.g6e.xlarge",
        None,
        {"max_model_len": 131072},
    ),
    (
        "loads",
        "Qwen/Qwen3-8B",
        "0.30.0",
        "ml.g6e.xlarge",
        None,
        {
            "max_model_len": 131072,
            "hf_overrides": {
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 32768,
                }
            },
        },
    ),
    (
        "refuses",
        "openai/gpt-oss-20b",
        "0.20.0",
        "ml.g6e.xlarge",
        None,
        {"dtype": "float16"},
    ),
    (
        "refuses",
        "nvidia/Llama-3.1-8B-Instruct-FP8",
        "0.20.0",
        "ml.g5.2xlarge",
        None,
        {},
    ),
    (
        "refuses",
        "TheBloke/Mistral-7B-v0.1-AWQ",
        "0.10.2",
        "ml.g5.2xlarge",
        None,
        {"quantization": "awq"},
    ),
    # AutoAWQ saves float16, whatever the data type of the original was.
    (
        "loads",
        "TheBloke/Mistral-7B-Instruct-v0.2-AWQ",
        "0.10.2",
        "ml.g5.2xlarge",
        None,
        {"quantization": "awq"},
    ),
    (
        "loads",
        "TheBloke/LlamaGuard-7B-AWQ",
        "0.3.3",
        "ml.g5.12xlarge",
        None,
        {"quantization": "awq"},
    ),
    # params.json makes a class of vLLM's own, whatever config.json has.
    (
        "loads",
        "someone/voxtral-copy",
        "0.21.0",
        "ml.g6.xlarge",
        "VoxtralRealtimeForConditionalGeneration",
        {"config_format": "mistral", "max_model_len": 8192},
    ),
    (
        "refuses",
        "someone/voxtral-copy",
        "0.21.0",
        "ml.g6.xlarge",
        "VoxtralRealtimeForConditionalGeneration",
        {"max_model_len": 8192},
    ),
    (
        "loads",
        "mistralai/Voxtral-Mini-4B-Realtime-2602",
        "0.21.0",
        "ml.g6.xlarge",
        None,
        {"max_model_len": 8192},
    ),
    # Made with AutoFP8, before compressed-tensors.
    (
        "loads",
        "neuralmagic/Qwen2-7B-Instruct-FP8",
        "0.8.4",
        "ml.g6.12xlarge",
        None,
        {"quantization": "fp8"},
    ),
    (
        "refuses",
        "neuralmagic/Qwen2-7B-Instruct-FP8",
        "0.8.4",
        "ml.g6.12xlarge",
        None,
        {"quantization": "compressed-tensors"},
    ),
    # Which of the two it is made with, its name does not tell.
    (
        "loads",
        "neuralmagic/Mistral-Nemo-Instruct-2407-FP8",
        "0.8.4",
        "ml.g6.12xlarge",
        None,
        {"quantization": "fp8"},
    ),
    (
        "loads",
        "TheBloke/Mistral-7B-Instruct-v0.2-AWQ",
        "0.10.2",
        "ml.g5.2xlarge",
        None,
        {},
    ),
    ("loads", "Qwen/Qwen2.5-7B-Instruct-AWQ", "0.8.4", "ml.g4dn.xlarge", None, {}),
    (
        "refuses",
        "x/y",
        "0.20.0",
        "ml.p3.2xlarge",
        "LlamaForCausalLM",
        {"dtype": "half"},
    ),
    ("refuses", "x/y", "0.6.2", "ml.g5.2xlarge", "HeliumForCausalLM", {}),
    ("loads", "a/b", "0.8.4", "ml.g5.2xlarge", "MistralModel", {}),
    ("loads", "x/y", "0.10.2", "ml.g5.2xlarge", "Qwen3ForSequenceClassification", {}),
    ("refuses", "a/b", "0.10.2", "ml.g5.2xlarge", "CodeGenForCausalLM", {}),
    (
        "refuses",
        "zai-org/GLM-4.5-Air",
        "0.8.4",
        "ml.p5.48xlarge",
        None,
        {"tensor_parallel_size": 8},
    ),
    (
        "refuses",
        "Qwen/Qwen3-235B-A22B-FP8",
        "0.10.2",
        "ml.p5.48xlarge",
        None,
        {"tensor_parallel_size": 8},
    ),
    (
        "loads",
        "Qwen/Qwen3-235B-A22B-FP8",
        "0.10.2",
        "ml.p5.48xlarge",
        None,
        {"tensor_parallel_size": 8, "enable_expert_parallel": True},
    ),
    ("loads", "microsoft/Phi-4-mini-instruct", "0.8.4", "ml.g5.2xlarge", None, {}),
    (
        "refuses",
        "Qwen/Qwen2.5-7B-Instruct",
        "0.10.2",
        "ml.g5.2xlarge",
        None,
        {
            "speculative_config": {
                "model": "Qwen/Qwen2.5-0.5B-Instruct",
                "num_speculative_tokens": 5,
            }
        },
    ),
    (
        "refuses",
        "google/gemma-3-27b-it",
        "0.10.2",
        "ml.g5.12xlarge",
        None,
        {"dtype": "half", "tensor_parallel_size": 4},
    ),
    ("refuses", "google/gemma-3-4b-it", "0.10.2", "ml.g4dn.xlarge", None, {}),
]


@pytest.mark.parametrize(
    ("verdict", "model", "release", "instance_type", "name", "arguments"), JUDGED
)
def test_judges_by_release_gpu_and_checkpoint(
    verdict: str,
    model: str,
    release: str,
    instance_type: str,
    name: str | None,
    arguments: dict[str, Any],
) -> None:
    """
    An error where the engine refuses, a warning where it falls back, and neither where
    it loads.
    """
    found = check_support(
        model,
        engine="vllm",
        release=release,
        instance_type=instance_type,
        arguments=arguments,
        config={"architectures": [name]} if name else None,
    )

    refuses = any(one.severity is Severity.ERROR for one in found)
    assert refuses == (verdict == "refuses"), found
    if verdict == "falls_back":
        assert found
