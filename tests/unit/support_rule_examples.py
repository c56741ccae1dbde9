"""
The smallest configuration of vLLM that breaks each of its rules of support, and one
beside it that does not.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving import check_support

A10G, T4, V100, L40S = (
    "ml.g5.2xlarge",
    "ml.g4dn.xlarge",
    "ml.p3.2xlarge",
    "ml.g6e.xlarge",
)
A100, H100, B200, RTX = (
    "ml.p4d.24xlarge",
    "ml.p5.48xlarge",
    "ml.p6-b200.48xlarge",
    "ml.g7e.2xlarge",
)
LLAMA, QWEN, GPT_OSS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen2.5-7B-Instruct",
    "openai/gpt-oss-20b",
)
AWQ, FP8 = "Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen/Qwen3-30B-A3B-FP8"
MISTRAL = "mistralai/Mistral-7B-v0.1"
GPTQ_COPY = "TheBloke/Mistral-7B-v0.1-AWQ"
W4A16, W8A8 = (
    "RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16",
    "nvidia/Llama-3.1-8B-Instruct-FP8",
)
BNB = "unsloth/Llama-3.3-70B-Instruct-bnb-4bit"
GEMMA, GEMMA_2 = "google/gemma-3-4b-it", "google/gemma-2-2b-it"
SPARSE = "deepseek-ai/DeepSeek-V3.2"
MOE, HYBRID = "Qwen/Qwen3-30B-A3B-Instruct-2507", "Qwen/Qwen3.5-9B"
_BY_EXPERTS: dict[str, Any] = {
    "tensor_parallel_size": 4,
    "enable_expert_parallel": True,
}
ISOLATED: dict[str, Any] = {"network_isolation": True}
Example = partial[tuple[Finding, ...]]


def _of(
    model: str,
    release: str,
    instance_type: str = A10G,
    *,
    classes: str | None = None,
    environment: dict[str, str] | None = None,
    config: dict[str, Any] | None = None,
    network_isolation: bool = False,
    **arguments: Any,  # noqa: ANN401 - the engine's own
) -> Example:
    return partial(
        check_support,
        model,
        engine="vllm",
        release=release,
        instance_type=instance_type,
        arguments=arguments,
        config={"architectures": [classes]} if classes else config,
        environment=environment,
        network_isolation=network_isolation,
    )


def _gptq(bits: int) -> dict[str, Any]:
    values = {"quant_method": "gptq", "bits": bits}
    return {"architectures": ["LlamaForCausalLM"], "quantization_config": values}


_VOCABULARY = {"TIKTOKEN_ENCODINGS_BASE": "/opt/ml/model"}
_FORCED = {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}
_V1 = {"VLLM_USE_V1": "1"}
_NEW_TOKENIZER = {"tokenizer_config.tokenizer_class": "TokenizersBackend"}
_OLD_TOKENIZER = {"tokenizer_config.tokenizer_class": "PreTrainedTokenizerFast"}
_DRAFT = {"model": "Qwen/Qwen2.5-0.5B-Instruct", "num_speculative_tokens": 3}
_NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
_EAGLE_3 = {"method": "eagle3", "model": "a/b", "num_speculative_tokens": 3}

SUPPORT: dict[str, tuple[Example, Example]] = {
    "LLM868": (
        _of(LLAMA, "0.20.0", block_size=8),
        _of(LLAMA, "0.20.0", block_size=32),
    ),
    "LLM880": (_of(LLAMA, "0.6.5"), _of(LLAMA, "0.6.3.post1")),
    "LLM881": (
        _of("a/b", "0.8.4", classes="HeliumForCausalLM"),
        _of("a/b", "0.8.4", classes="LlamaForCausalLM"),
    ),
    "LLM882": (
        _of("a/b", "0.28.0", classes="FooBarForCausalLM", trust_remote_code=True),
        _of("a/b", "0.28.0", classes="LlamaForCausalLM", trust_remote_code=True),
    ),
    "LLM883": (_of(QWEN, "0.10.2", T4), _of(QWEN, "0.10.2", T4, dtype="float16")),
    "LLM884": (_of(FP8, "0.10.2", A100), _of(FP8, "0.10.2", L40S)),
    "LLM886": (
        _of(QWEN, "0.12.0", T4, dtype="half"),
        _of(QWEN, "0.11.1", T4, dtype="half"),
    ),
    "LLM888": (
        _of(MISTRAL, "0.20.0", max_model_len=32769, environment=_FORCED),
        _of(MISTRAL, "0.20.0", max_model_len=32768, environment=_FORCED),
    ),
    "LLM890": (
        _of(MISTRAL, "0.7.1", kv_cache_dtype="fp8"),
        _of(MISTRAL, "0.7.1", kv_cache_dtype="auto"),
    ),
    "LLM892": (
        _of(QWEN, "0.8.4", T4, dtype="half"),
        _of(QWEN, "0.7.1", T4, dtype="half"),
    ),
    "LLM894": (
        _of(QWEN, "0.23.0", config=_NEW_TOKENIZER),
        _of(QWEN, "0.24.0", config=_NEW_TOKENIZER),
    ),
    "LLM896": (
        _of(
            QWEN, "0.10.2", enable_auto_tool_choice=True, tool_call_parser="llama3_json"
        ),
        _of(QWEN, "0.10.2", enable_auto_tool_choice=True, tool_call_parser="hermes"),
    ),
    "LLM898": (
        _of("nvidia/NVIDIA-Nemotron-Nano-12B-v2", "0.24.0"),
        _of("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "0.24.0"),
    ),
    "LLM901": (_of(GEMMA, "0.7.1"), _of(GEMMA, "0.8.4")),
    "LLM903": (
        _of("google/gemma-4-E4B-it", "0.19.0"),
        _of("google/gemma-4-E4B-it", "0.20.0"),
    ),
    "LLM905": (
        _of(GPT_OSS, "0.10.2", enable_lora=True),
        _of(GPT_OSS, "0.12.0", enable_lora=True),
    ),
    "LLM907": (
        _of(LLAMA, "0.4.2", pipeline_parallel_size=2),
        _of(LLAMA, "0.5.3.post1", pipeline_parallel_size=2),
    ),
    "LLM911": (_of(QWEN, "0.8.4", T4), _of(QWEN, "0.8.4", T4, dtype="half")),
    "LLM913": (
        _of(GEMMA, "0.10.2", dtype="float16"),
        _of(GEMMA, "0.10.2", dtype="bfloat16"),
    ),
    "LLM915": (
        _of(BNB, "0.28.0", H100, dtype="bfloat16"),
        _of(BNB, "0.27.1", H100, dtype="bfloat16"),
    ),
    "LLM917": (
        _of("meta-llama/Llama-3.1-405B-Instruct-FP8", "0.14.0", H100),
        _of("meta-llama/Llama-3.1-405B-Instruct-FP8", "0.13.0", H100),
    ),
    "LLM919": (_of(AWQ, "0.8.4", V100), _of(AWQ, "0.8.4", T4)),
    "LLM921": (
        _of(AWQ, "0.23.0", quantization="awq", dtype="bfloat16"),
        _of(AWQ, "0.24.0", quantization="awq", dtype="bfloat16"),
    ),
    "LLM923": (
        _of(QWEN, "0.8.4", B200),
        _of(QWEN, "0.10.2", B200),
    ),
    "LLM925": (_of(AWQ, "0.8.4", quantization="gptq"), _of(AWQ, "0.8.4")),
    "LLM927": (
        _of(QWEN, "0.20.0", quantization="awq"),
        _of(QWEN, "0.20.0", quantization="fp8"),
    ),
    "LLM929": (
        _of("Qwen/Qwen3-8B", "0.20.0", L40S, runner="pooling", convert="classify"),
        _of("Qwen/Qwen3-8B", "0.20.0", L40S, runner="pooling", convert="embed"),
    ),
    "LLM931": (
        _of(MISTRAL, "0.10.2", max_model_len=131072),
        _of(MISTRAL, "0.10.2", max_model_len=32768),
    ),
    "LLM933": (
        _of(GPT_OSS, "0.11.1", kv_cache_dtype="fp8"),
        _of(GPT_OSS, "0.11.1", L40S, kv_cache_dtype="fp8"),
    ),
    "LLM935": (
        _of(SPARSE, "0.13.0", RTX, trust_remote_code=True),
        _of(SPARSE, "0.13.0", H100, trust_remote_code=True),
    ),
    "LLM937": (
        _of(GPT_OSS, "0.19.0", A10G, attention_backend="FLASHINFER"),
        _of(QWEN, "0.19.0", A10G, attention_backend="FLASHINFER"),
    ),
    "LLM939": (
        _of(QWEN, "0.7.1", V100, dtype="half", environment=_V1),
        _of(QWEN, "0.7.1", A10G, dtype="half", environment=_V1),
    ),
    "LLM941": (
        _of("nvidia/NVIDIA-Nemotron-Nano-12B-v2", "0.11.1"),
        _of("nvidia/NVIDIA-Nemotron-Nano-12B-v2", "0.11.1", trust_remote_code=True),
    ),
    "LLM943": (
        _of(QWEN, "0.19.0", config=_NEW_TOKENIZER),
        _of(QWEN, "0.19.0", config=_OLD_TOKENIZER),
    ),
    "LLM945": (
        _of(QWEN, "0.10.2", tensor_parallel_size=8),
        _of(QWEN, "0.10.2", tensor_parallel_size=4),
    ),
    "LLM947": (
        _of(FP8, "0.20.0", H100, tensor_parallel_size=8),
        _of(FP8, "0.20.0", H100, tensor_parallel_size=2),
    ),
    "LLM949": (
        _of(BNB, "0.20.0", H100, tensor_parallel_size=2),
        _of(BNB, "0.20.0", H100, pipeline_parallel_size=2),
    ),
    "LLM951": (
        _of(QWEN, "0.15.1", speculative_config=_DRAFT),
        _of("Qwen/Qwen2.5-3B-Instruct", "0.15.1", speculative_config=_DRAFT),
    ),
    "LLM953": (
        _of("Qwen/Qwen2.5-3B-Instruct", "0.14.0", speculative_config=_DRAFT),
        _of("Qwen/Qwen2.5-3B-Instruct", "0.15.1", speculative_config=_DRAFT),
    ),
    "LLM955": (
        _of(GPT_OSS, "0.30.0", network_isolation=True),
        _of(GPT_OSS, "0.30.0", network_isolation=True, environment=_VOCABULARY),
    ),
    "LLM957": (
        _of(LLAMA, "0.8.4", enable_lora=True, max_lora_rank=24),
        _of(LLAMA, "0.8.4", enable_lora=True, max_lora_rank=32),
    ),
    "LLM959": (
        _of(MISTRAL, "0.5.3.post1", tokenizer_mode="mistral"),
        _of(MISTRAL, "0.6.2", tokenizer_mode="mistral"),
    ),
    "LLM961": (
        _of("a/b", "0.13.0", enable_auto_tool_choice=True, tool_call_parser="glm47"),
        _of("a/b", "0.14.0", enable_auto_tool_choice=True, tool_call_parser="glm47"),
    ),
    "LLM902": (
        _of("a/b", "0.14.0", classes="Qwen3ForCausalLM", enable_expert_parallel=True),
        _of(
            "a/b", "0.14.0", classes="Qwen3MoeForCausalLM", enable_expert_parallel=True
        ),
    ),
    "LLM904": (
        _of(
            "Qwen/Qwen3-32B",
            "0.28.0",
            H100,
            tensor_parallel_size=8,
            decode_context_parallel_size=2,
        ),
        _of("Qwen/Qwen3-32B", "0.28.0", H100, tensor_parallel_size=8),
    ),
    "LLM906": (
        _of(
            "a/b",
            "0.26.0",
            RTX,
            classes="DeepseekV4ForCausalLM",
            moe_backend="deep_gemm_mega_moe",
            enable_expert_parallel=True,
        ),
        _of(
            "a/b",
            "0.26.0",
            B200,
            classes="DeepseekV4ForCausalLM",
            moe_backend="deep_gemm_mega_moe",
            enable_expert_parallel=True,
        ),
    ),
    "LLM866": (
        _of(LLAMA, "0.8.4", guided_decoding_backend="outlines"),
        _of(LLAMA, "0.8.4", guided_decoding_backend="xgrammar"),
    ),
    "LLM920": (
        _of("a/b", "0.12.0", classes="KimiLinearForCausalLM", trust_remote_code=True),
        _of("a/b", "0.13.0", classes="KimiLinearForCausalLM", trust_remote_code=True),
    ),
    "LLM922": (
        _of("Intel/gemma-3-4b-it-int4-AutoRound", "0.24.0"),
        _of("Intel/gemma-3-4b-it-int4-AutoRound", "0.25.0"),
    ),
    "LLM924": (
        _of("google/gemma-4-31B-it", "0.21.0", L40S),
        _of("google/gemma-4-31B-it", "0.22.0", L40S),
    ),
    "LLM918": (
        _of("a/b", "0.24.0", classes="Tarsier2ForConditionalGeneration"),
        _of("a/b", "0.23.0", classes="Tarsier2ForConditionalGeneration"),
    ),
    "LLM870": (
        _of("mistralai/Devstral-Small-2505", "0.10.2", H100),
        _of("mistralai/Devstral-Small-2505", "0.12.0", H100),
    ),
    "LLM872": (
        _of("microsoft/phi-2", "0.10.2"),
        _of("microsoft/phi-2", "0.10.2", dtype="float32"),
    ),
    "LLM874": (
        _of(GEMMA, "0.17.0", mm_encoder_tp_mode="data"),
        _of(GEMMA, "0.17.0", mm_encoder_tp_mode="weights"),
    ),
    "LLM928": (
        _of(MOE, "0.12.0", A100, enable_lora=True, **_BY_EXPERTS),
        _of(MOE, "0.12.0", A100, **_BY_EXPERTS),
    ),
    "LLM930": (
        _of(HYBRID, "0.20.0", enable_prefix_caching=True, enable_chunked_prefill=False),
        _of(HYBRID, "0.20.0", enable_prefix_caching=True, enable_chunked_prefill=True),
    ),
    "LLM936": (
        _of("zai-org/GLM-4.5V", "0.12.0", H100, tensor_parallel_size=8),
        _of("zai-org/GLM-4.5V", "0.12.0", H100, tensor_parallel_size=4),
    ),
    "LLM910": (
        _of(LLAMA, "0.28.0", async_scheduling=True, speculative_config=_NGRAM),
        _of(LLAMA, "0.28.0", speculative_config=_NGRAM),
    ),
    "LLM912": (
        _of("a/b", "0.19.0", eplb_config={"num_redundant_experts": 2}),
        _of("a/b", "0.19.0", eplb_config={"window_size": 2}),
    ),
    "LLM914": (
        _of("a/b", "0.6.2", max_num_batched_tokens=64, max_num_seqs=128),
        _of("a/b", "0.6.2", max_num_batched_tokens=128, max_num_seqs=128),
    ),
    "LLM967": (
        _of(LLAMA, "0.10.2", enable_reasoning=True),
        _of(LLAMA, "0.10.2", enable_reasoning=False),
    ),
    "LLM969": (
        _of(MISTRAL, "0.6.2", enable_prefix_caching=True),
        _of(MISTRAL, "0.6.2", enable_prefix_caching=True, disable_sliding_window=True),
    ),
    "LLM963": (
        _of("a/b", "0.13.0", enable_auto_tool_choice=True),
        _of("a/b", "0.13.0", enable_auto_tool_choice=False),
    ),
    "LLM965": (
        _of(
            "mistralai/Mistral-7B-Instruct-v0.3",
            "0.20.0",
            reasoning_parser="deepseek_r1",
        ),
        _of(
            "mistralai/Mistral-7B-Instruct-v0.3",
            "0.20.1",
            reasoning_parser="deepseek_r1",
        ),
    ),
    "LLM938": (
        _of("a/b", "0.20.0", config=_gptq(5)),
        _of("a/b", "0.20.0", config=_gptq(4)),
    ),
    "LLM940": (
        _of(MOE, "0.20.0", H100, moe_backend="marlin"),
        _of(MOE, "0.20.0", H100, moe_backend="triton"),
    ),
    "LLM942": (
        _of(
            MOE,
            "0.20.0",
            H100,
            **_BY_EXPERTS,
            enable_eplb=True,
            eplb_config={"num_redundant_experts": 3},
        ),
        _of(MOE, "0.20.0", H100, **_BY_EXPERTS, enable_eplb=True),
    ),
    "LLM946": (
        _of(LLAMA, "0.10.2", environment={"VLLM_USE_V1": "true"}),
        _of(LLAMA, "0.10.2", environment={"VLLM_USE_V1": "1"}),
    ),
    "LLM944": (
        _of(LLAMA, "0.20.0", load_format="sharded_state"),
        _of(LLAMA, "0.20.0", load_format="safetensors"),
    ),
}
