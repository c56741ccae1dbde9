"""
What loads beside what does not, at each engine: the nearest of releases, GPUs and
arguments, by the engines' source and by public threads.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving import check_support

Case = tuple[str, str, str, dict[str, Any]]
V4 = "deepseek-ai/DeepSeek-V4-Flash"
FINE = "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8"
SHARED = "Qwen/Qwen3.6-35B-A3B-FP8"
KIMI = "moonshotai/Kimi-K2-Instruct"
DRAFT = {
    "speculative_model": "Qwen/Qwen2.5-7B-Instruct-AWQ",
    "num_speculative_tokens": 5,
}
MTP = {"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}}
OF_8: dict[str, Any] = {"tensor_parallel_size": 8}
OF_4: dict[str, Any] = {"tensor_parallel_size": 4}
TRUSTED: dict[str, Any] = {"trust_remote_code": True}
LLAMA_70 = "meta-llama/Llama-2-70b-chat-hf"
MODERN_RERANKER = "Alibaba-NLP/gte-reranker-modernbert-base"
RERANKER = "Qwen/Qwen3-Reranker-8B"
NO_TOKENS = {
    "hf_overrides": {
        "architectures": ["Qwen3ForSequenceClassification"],
        "is_original_qwen3_reranker": True,
    }
}
FROM_TOKENS = {
    "hf_overrides": {
        **NO_TOKENS["hf_overrides"],
        "classifier_from_token": ["no", "yes"],
    }
}
SHORT = {"max_model_len": 8192}
DISTIL = "sentence-transformers/distiluse-base-multilingual-cased-v2"
WINDOWED = "HuggingFaceH4/zephyr-7b-beta"
FOUR_BITS = {"quantization": "bitsandbytes", "load_format": "bitsandbytes"}
PREFIXES: dict[str, Any] = {"enable_prefix_caching": True}
EAGLE = {
    "speculative_config": {
        "method": "eagle3",
        "model": "a/draft",
        "num_speculative_tokens": 3,
    }
}
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
BY_TRTLLM = {"decode_attention_backend": "trtllm_mha"}

# The engine and release, the model, the instance type, the arguments: first what it
# refuses, then what it loads.
PAIRS: dict[str, tuple[Case, Case]] = {
    "sparse attention came to RTX PRO 6000": (
        ("vllm 0.23.0", "zai-org/GLM-5.1", "g7e.48xlarge", OF_8),
        ("vllm 0.24.0", "zai-org/GLM-5.1", "g7e.48xlarge", OF_8),
    ),
    "DeepSeek-V4 needs Hopper": (
        ("vllm 0.23.0", V4, "p4de.24xlarge", {**OF_8, **TRUSTED}),
        ("vllm 0.23.0", V4, "p5en.48xlarge", {**OF_8, **TRUSTED}),
    ),
    "blocks of experts are cut finer later": (
        ("vllm 0.28.0", FINE, "p5en.48xlarge", OF_8),
        ("vllm 0.29.0", FINE, "p5en.48xlarge", OF_8),
    ),
    "a shared expert keeps its blocks": (
        ("vllm 0.29.0", SHARED, "p5.48xlarge", OF_8),
        ("vllm 0.29.0", SHARED, "p5.48xlarge", {"tensor_parallel_size": 4}),
    ),
    "a draft is on one device": (
        (
            "vllm 0.6.3.post1",
            "Qwen/Qwen2.5-72B-Instruct-AWQ",
            "g6e.12xlarge",
            {
                **DRAFT,
                "tensor_parallel_size": 4,
                "speculative_draft_tensor_parallel_size": 4,
            },
        ),
        (
            "vllm 0.7.1",
            "Qwen/Qwen2.5-72B-Instruct-AWQ",
            "g6e.12xlarge",
            {
                **DRAFT,
                "tensor_parallel_size": 4,
                "speculative_draft_tensor_parallel_size": 4,
            },
        ),
    ),
    "what drafts has no stages": (
        (
            "vllm 0.23.0",
            "deepseek-ai/DeepSeek-V3.1",
            "p5en.48xlarge",
            {**MTP, "tensor_parallel_size": 4, "pipeline_parallel_size": 2},
        ),
        (
            "vllm 0.30.0",
            "deepseek-ai/DeepSeek-V3.1",
            "p5en.48xlarge",
            {**MTP, "tensor_parallel_size": 4, "pipeline_parallel_size": 2},
        ),
    ),
    "a part of each head is turned": (
        ("vllm 0.6.3.post1", "microsoft/Phi-4-mini-instruct", "g5.xlarge", {}),
        ("vllm 0.8.4", "microsoft/Phi-4-mini-instruct", "g5.xlarge", {}),
    ),
    "a mirror is its original": (
        ("vllm 0.8.4", "unsloth/Llama-3.2-3B-Instruct", "g4dn.xlarge", {}),
        ("vllm 0.10.2", "unsloth/Llama-3.2-3B-Instruct", "g4dn.xlarge", {}),
    ),
    "Seed-OSS needs a newer transformers": (
        (
            "vllm 0.10.2",
            "ByteDance-Seed/Seed-OSS-36B-Instruct",
            "p5.48xlarge",
            OF_8,
        ),
        (
            "vllm 0.11.1",
            "ByteDance-Seed/Seed-OSS-36B-Instruct",
            "p5.48xlarge",
            OF_8,
        ),
    ),
    "transformers reads the GGUF file": (
        ("vllm 0.13.0", "unsloth/gemma-3n-E4B-it-GGUF", "g6e.xlarge", {}),
        ("vllm 0.13.0", "unsloth/Qwen3-8B-GGUF:Q4_K_M", "g6e.xlarge", {}),
    ),
    "a repository on the Hub has a configuration beside its GGUF files": (
        ("vllm 0.13.0", "unsloth/gpt-oss-20b-GGUF", "g6e.xlarge", {}),
        ("vllm 0.13.0", "unsloth/gpt-oss-20b-GGUF:Q4_K_M", "g6e.xlarge", {}),
    ),
    "experts in bitsandbytes came to gpt-oss": (
        ("vllm 0.10.2", "unsloth/gpt-oss-20b-bnb-4bit", "g6e.2xlarge", {}),
        ("vllm 0.11.1", "unsloth/gpt-oss-20b-bnb-4bit", "g6e.2xlarge", {}),
    ),
    "some heads of Gemma 4 are large": (
        (
            "vllm 0.19.1",
            "google/gemma-4-E4B-it",
            "g7e.2xlarge",
            {"attention_backend": "FLASHINFER"},
        ),
        (
            "vllm 0.22.0",
            "google/gemma-4-E4B-it",
            "g7e.2xlarge",
            {"attention_backend": "FLASHINFER"},
        ),
    ),
    "a cache for sparse attention is for that alone": (
        ("vllm 0.15.1", LLAMA, "p5.48xlarge", {"kv_cache_dtype": "fp8_ds_mla"}),
        (
            "vllm 0.15.1",
            "deepseek-ai/DeepSeek-V3.2",
            "p5en.48xlarge",
            {"kv_cache_dtype": "fp8_ds_mla", **OF_8},
        ),
    ),
    "a variable stood for the backend once": (
        (
            "vllm 0.12.0",
            "openai/gpt-oss-20b",
            "g6e.2xlarge",
            {"attention_backend": "FLASH_ATTN"},
        ),
        (
            "vllm 0.12.0",
            "openai/gpt-oss-20b",
            "p5.4xlarge",
            {"attention_backend": "FLASH_ATTN"},
        ),
    ),
    "Mistral's tokenizer needs its configuration": (
        (
            "vllm 0.8.4",
            "mistralai/Mistral-Small-3.1-24B-Instruct-2503",
            "g6e.12xlarge",
            {"tokenizer_mode": "mistral", "tensor_parallel_size": 2},
        ),
        (
            "vllm 0.8.4",
            "mistralai/Mistral-Small-3.1-24B-Instruct-2503",
            "g6e.12xlarge",
            {
                "tokenizer_mode": "mistral",
                "config_format": "mistral",
                "load_format": "mistral",
                "tensor_parallel_size": 2,
            },
        ),
    ),
    "settings of HQQ stand in files": (
        ("vllm 0.12.0", LLAMA, "g5.2xlarge", {"quantization": "hqq"}),
        ("vllm 0.12.0", LLAMA, "g5.2xlarge", {"quantization": "bitsandbytes"}),
    ),
    "Falcon's length is the class's": (
        ("vllm 0.8.4", "tiiuae/falcon-7b", "g5.2xlarge", {"max_model_len": 2049}),
        ("vllm 0.8.4", "tiiuae/falcon-7b", "g5.2xlarge", {"max_model_len": 2048}),
    ),
    "an override lengthens only what SGLang multiplies": (
        (
            "sglang 0.5.9",
            "Qwen/Qwen2.5-72B-Instruct",
            "p5.48xlarge",
            {
                **OF_8,
                "context_length": 131072,
                "json_model_override_args": '{"rope_scaling": {"rope_type": "yarn", '
                '"factor": 4.0, "original_max_position_embeddings": 32768}}',
            },
        ),
        (
            "sglang 0.5.9",
            "Qwen/Qwen2.5-72B-Instruct",
            "p5.48xlarge",
            {
                **OF_8,
                "context_length": 131072,
                "json_model_override_args": '{"rope_scaling": {"rope_type": "yarn", '
                '"factor": 4.0}}',
            },
        ),
    ),
    "a loader of bitsandbytes takes a class from some release on": (
        ("vllm 0.6.2", "google/gemma-2b", "g5.2xlarge", FOUR_BITS),
        ("vllm 0.6.3.post1", "google/gemma-2b", "g5.2xlarge", FOUR_BITS),
    ),
    "Qwen in bitsandbytes came later than Llama": (
        ("vllm 0.6.3.post1", "Qwen/Qwen2.5-7B-Instruct", "g5.2xlarge", FOUR_BITS),
        ("vllm 0.7.1", "Qwen/Qwen2.5-7B-Instruct", "g5.2xlarge", FOUR_BITS),
    ),
    "prefixes are kept beside a window by the new engine alone": (
        ("vllm 0.7.1", "mistralai/Mistral-7B-v0.1", "g5.2xlarge", PREFIXES),
        ("vllm 0.8.4", "mistralai/Mistral-7B-v0.1", "g5.2xlarge", PREFIXES),
    ),
    "a window that is off leaves prefixes": (
        ("vllm 0.6.2", "mistralai/Mistral-7B-v0.1", "g5.2xlarge", PREFIXES),
        ("vllm 0.6.2", "mistralai/Mistral-7B-v0.3", "g5.2xlarge", PREFIXES),
    ),
    "Gemma 2 is no longer than its window where all layers have it": (
        (
            "vllm 0.6.3.post1",
            "google/gemma-2-9b-it",
            "g5.12xlarge",
            {"max_model_len": 8192, "tensor_parallel_size": 4},
        ),
        (
            "vllm 0.8.4",
            "google/gemma-2-9b-it",
            "g5.12xlarge",
            {"max_model_len": 8192, "tensor_parallel_size": 4},
        ),
    ),
    "EAGLE-3 drafts for some families": (
        ("vllm 0.14.0", "google/gemma-3-4b-it", "g6e.2xlarge", EAGLE),
        ("vllm 0.14.0", "Qwen/Qwen3-8B", "g6e.2xlarge", EAGLE),
    ),
    "EAGLE-3 came to gpt-oss": (
        ("vllm 0.10.2", "openai/gpt-oss-20b", "p5.4xlarge", EAGLE),
        ("vllm 0.11.1", "openai/gpt-oss-20b", "p5.4xlarge", EAGLE),
    ),
    "a kernel takes 128 at once": (
        (
            "vllm 0.6.3.post1",
            "TechxGenus/DeepSeek-Coder-V2-Lite-Instruct-AWQ",
            "g6e.2xlarge",
            {**TRUSTED, "dtype": "float16"},
        ),
        (
            "vllm 0.10.2",
            "TechxGenus/DeepSeek-Coder-V2-Lite-Instruct-AWQ",
            "g6e.2xlarge",
            {**TRUSTED, "dtype": "float16"},
        ),
    ),
    "a cache of the files' own is in 8 bits": (
        ("vllm 0.14.0", "nvidia/DeepSeek-R1-0528-NVFP4", "g7e.48xlarge", OF_8),
        ("vllm 0.14.0", "nvidia/DeepSeek-R1-0528-NVFP4", "p6-b200.48xlarge", OF_8),
    ),
    "TurboQuant needs FlashAttention": (
        (
            "vllm 0.21.0",
            "Qwen/Qwen2.5-0.5B",
            "g4dn.xlarge",
            {"kv_cache_dtype": "turboquant_4bit_nc"},
        ),
        (
            "vllm 0.21.0",
            "Qwen/Qwen2.5-0.5B",
            "g5.xlarge",
            {"kv_cache_dtype": "turboquant_4bit_nc"},
        ),
    ),
    "AWQ needs Turing from the first release on": (
        (
            "vllm 0.2.1.post1",
            "TheBloke/Llama-2-7B-Chat-AWQ",
            "p3.2xlarge",
            {"quantization": "awq", "dtype": "half"},
        ),
        (
            "vllm 0.2.1.post1",
            "TheBloke/Llama-2-7B-Chat-AWQ",
            "g4dn.xlarge",
            {"quantization": "awq", "dtype": "half"},
        ),
    ),
    "TGI's launcher has choices": (
        (
            "tgi 1.3.3",
            "mistralai/Mistral-7B-v0.1",
            "g6.2xlarge",
            {"rope_scaling": "yarn"},
        ),
        (
            "tgi 1.3.3",
            "mistralai/Mistral-7B-v0.1",
            "g6.2xlarge",
            {"rope_scaling": "dynamic"},
        ),
    ),
    "a tokenizer's code is trusted in SGLang too": (
        ("sglang 0.5.9", KIMI, "p5en.48xlarge", OF_8),
        ("sglang 0.5.9", KIMI, "p5en.48xlarge", {**OF_8, **TRUSTED}),
    ),
    "a window leaves T4 to transformers in TGI": (
        ("tgi 1.4.2", WINDOWED, "g4dn.2xlarge", {"quantize": "awq"}),
        ("tgi 1.4.2", WINDOWED, "g5.2xlarge", {"quantize": "awq"}),
    ),
    "a quantization came with a release of TGI": (
        (
            "tgi 1.0.3",
            "TheBloke/Llama-2-7B-Chat-AWQ",
            "g5.2xlarge",
            {"quantize": "awq"},
        ),
        (
            "tgi 1.1.0",
            "TheBloke/Llama-2-7B-Chat-AWQ",
            "g5.2xlarge",
            {"quantize": "awq"},
        ),
    ),
    "a head is made from tokens that are named": (
        ("vllm 0.10.2", RERANKER, "g6e.12xlarge", {**NO_TOKENS, **OF_4}),
        ("vllm 0.10.2", RERANKER, "g6e.12xlarge", {**FROM_TOKENS, **OF_4}),
    ),
    "Gaudi's cache is no GPU's": (
        ("vllm 0.14.0", LLAMA, "g5.2xlarge", {**SHORT, "kv_cache_dtype": "fp8_inc"}),
        ("vllm 0.14.0", LLAMA, "g5.2xlarge", {**SHORT, "kv_cache_dtype": "fp8"}),
    ),
    "FlashAttention 3 reads one cache in 8 bits": (
        ("vllm 0.19.1", LLAMA, "p5.4xlarge", {**SHORT, "kv_cache_dtype": "fp8_e5m2"}),
        ("vllm 0.19.1", LLAMA, "p5.4xlarge", {**SHORT, "kv_cache_dtype": "fp8_e4m3"}),
    ),
    "no attention took a cache by its own format": (
        ("vllm 0.14.0", LLAMA, "g5.2xlarge", {**SHORT, "kv_cache_dtype": "bfloat16"}),
        ("vllm 0.15.0", LLAMA, "g5.2xlarge", {**SHORT, "kv_cache_dtype": "bfloat16"}),
    ),
    "SGLang has sparse attention for some GPUs": (
        ("sglang 0.5.12", "deepseek-ai/DeepSeek-V3.2", "g7e.48xlarge", OF_8),
        ("sglang 0.5.12", "deepseek-ai/DeepSeek-V3.2", "p6-b200.48xlarge", OF_8),
    ),
    "the first Mistral of TGI needs a window": (
        ("tgi 1.2.0", "mistralai/Mistral-7B-Instruct-v0.2", "g5.2xlarge", {}),
        ("tgi 1.2.0", "mistralai/Mistral-7B-Instruct-v0.1", "g5.2xlarge", {}),
    ),
    "heads share keys in TGI from a release on": (
        ("tgi 0.8.2", LLAMA_70, "p4d.24xlarge", {"num_shard": 8}),
        ("tgi 0.9.3", LLAMA_70, "p4d.24xlarge", {"num_shard": 8}),
    ),
    "TEI finds ModernBERT's head from a release on": (
        ("tei 1.7.0", MODERN_RERANKER, "g5.xlarge", {}),
        ("tei 1.8.0", MODERN_RERANKER, "g5.xlarge", {}),
    ),
    "TEI has a head for Jina from a release on": (
        ("tei 1.6.0", "jinaai/jina-reranker-v1-turbo-en", "g5.xlarge", {}),
        ("tei 1.8.0", "jinaai/jina-reranker-v1-turbo-en", "g5.xlarge", {}),
    ),
    "TEI finds the layers of a bare DistilBERT from a release on": (
        ("tei 1.6.0", DISTIL, "g5.xlarge", {}),
        ("tei 1.8.0", DISTIL, "g5.xlarge", {}),
    ),
    "TEI has to know how to pool": (
        ("tei 1.8.2", "Qwen/Qwen3-Reranker-0.6B", "g5.xlarge", {}),
        ("tei 1.8.2", "Qwen/Qwen3-Embedding-0.6B", "g5.xlarge", {}),
    ),
    "experts came to TEI's Nomic": (
        ("tei 1.7.0", "nomic-ai/nomic-embed-text-v2-moe", "g5.xlarge", {}),
        ("tei 1.8.0", "nomic-ai/nomic-embed-text-v2-moe", "g5.xlarge", {}),
    ),
    "TensorRT-LLM compiles no class of later": (
        ("tensorrt-llm 0.21.0", "openai/gpt-oss-20b", "g6e.2xlarge", {}),
        ("tensorrt-llm 0.21.0", "Qwen/Qwen3-8B", "g6e.2xlarge", {}),
    ),
    "TensorRT-LLM's transformers reads the positions": (
        ("tensorrt-llm 0.9.0", LLAMA, "g5.2xlarge", {}),
        ("tensorrt-llm 0.12.0", LLAMA, "g5.2xlarge", {}),
    ),
    "DeepSpeed's transformers knows the type": (
        ("deepspeed 0.12.6", "google/gemma-3-4b-it", "g5.12xlarge", {}),
        ("deepspeed 0.12.6", "mistralai/Mistral-7B-v0.1", "g5.12xlarge", {}),
    ),
    "DeepSpeed leaves a type that it does not know to the model's code": (
        ("deepspeed 0.12.6", "google/gemma-3-4b-it", "g5.12xlarge", {}),
        ("deepspeed 0.12.6", "OpenGVLab/InternVL2-8B", "g5.12xlarge", {}),
    ),
    "SGLang decodes with TensorRT-LLM's kernel on Hopper from a release on": (
        ("sglang 0.5.9", LLAMA, "p5.48xlarge", BY_TRTLLM),
        ("sglang 0.5.10", LLAMA, "p5.48xlarge", BY_TRTLLM),
    ),
    "an argument that is off is not asked for": (
        ("vllm 0.6.3.post1", LLAMA, "p5.48xlarge", {"async_scheduling": True}),
        ("vllm 0.6.3.post1", LLAMA, "p5.48xlarge", {"async_scheduling": False}),
    ),
    "adapters that are off are not asked for": (
        ("vllm 0.10.2", "tiiuae/falcon-7b", "g5.2xlarge", {"enable_lora": True}),
        ("vllm 0.10.2", "tiiuae/falcon-7b", "g5.2xlarge", {"enable_lora": False}),
    ),
    "LMI-Dist is held to the length of its vLLM": (
        ("lmi-dist 12.0.0", LLAMA, "g5.2xlarge", {"max_model_len": 262144}),
        ("lmi-dist 12.0.0", LLAMA, "g5.2xlarge", {"max_model_len": 8192}),
    ),
}


def _is_refused(case: Case) -> bool:
    engine, _, release = case[0].partition(" ")
    found = check_support(
        case[1],
        engine=engine,
        release=release,
        instance_type=f"ml.{case[2]}",
        arguments=case[3],
        config={"quantization_config": {"quant_method": "awq"}}
        if case[3].get("quantize") == "awq"
        else None,
    )
    return bool(errors_of(found))


@pytest.mark.parametrize("name", PAIRS)
def test_refuses_one_and_loads_its_neighbour(name: str) -> None:
    """
    Each limit has two sides.
    """
    refused, loaded = PAIRS[name]

    assert _is_refused(refused)
    assert not _is_refused(loaded)
