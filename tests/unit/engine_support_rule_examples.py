"""
The smallest configuration of the other engines that breaks each rule of support of
theirs, and one beside it that does not.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from cdk_sagemaker_llm.serving import check_support
from tests.unit.support_rule_examples import (
    A10G,
    A100,
    AWQ,
    B200,
    FP8,
    H100,
    L40S,
    LLAMA,
    QWEN,
    RTX,
    T4,
    V100,
    Example,
)

CPU = "ml.c6i.2xlarge"
INF2 = "ml.inf2.48xlarge"
FOUR_A10G = "ml.g5.12xlarge"


def of(
    engine: str,
    release: str,
    model: str = "a/b",
    instance_type: str = A10G,
    *,
    classes: str | None = None,
    config: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    **arguments: Any,  # noqa: ANN401 - the engine's own
) -> Example:
    """
    Return a check of an engine, which is yet to be asked.
    """
    return partial(
        check_support,
        model,
        engine=engine,
        release=release,
        instance_type=instance_type,
        arguments=arguments,
        config={**({"architectures": [classes]} if classes else {}), **(config or {})},
        environment=environment,
    )


_MISTRAL, _FALCON = "MistralForCausalLM", "FalconForCausalLM"


OF_ENGINES: dict[str, tuple[Example, Example]] = {
    "LLM850": (of("sglang", "0.5.14", QWEN, T4), of("sglang", "0.5.14", QWEN, A10G)),
    "LLM852": (
        of("tgi", "3.3.4", classes="Qwen3ForCausalLM"),
        of("tgi", "3.3.4", classes="Qwen2ForCausalLM"),
    ),
    "LLM854": (
        of("tgi", "2.4.0", config={"model_type": "own"}, trust_remote_code=True),
        of("tgi", "2.4.0", config={"model_type": "llama"}, trust_remote_code=True),
    ),
    "LLM856": (
        of("tgi", "2.4.0", LLAMA, T4, classes="LlamaForCausalLM"),
        of("tgi", "2.4.0", LLAMA, A10G, classes="LlamaForCausalLM"),
    ),
    "LLM858": (
        of("tei", "1.6.0", instance_type=CPU, classes="MistralModel"),
        of("tei", "1.6.0", instance_type=A10G, classes="MistralModel"),
    ),
    "LLM860": (
        of("llama.cpp", "b9522", classes="FooBarForCausalLM"),
        of("llama.cpp", "b9522", classes="LlamaForCausalLM"),
    ),
    "LLM862": (
        of("llama.cpp", "b9522", gguf_architecture="kimi-k3"),
        of("llama.cpp", "b9522", gguf_architecture="qwen3"),
    ),
    "LLM864": (
        of("tensorrt-llm", "0.12.0", classes="BloomForCausalLM"),
        of("tensorrt-llm", "0.12.0", classes="GemmaForCausalLM"),
    ),
    "LLM876": (
        of("tei", "1.8.2", classes="BertForSequenceClassification", pooling="cls"),
        of("tei", "1.8.2", classes="BertModel", pooling="cls"),
    ),
    "LLM971": (
        of("sglang", "0.5.9", classes="BambaForCausalLM"),
        of("sglang", "0.5.9", classes="HeliumForCausalLM"),
    ),
    "LLM916": (
        of("tensorrt-llm", "0.9.0", AWQ, H100, quantize="awq"),
        of("tensorrt-llm", "0.9.0", QWEN, H100, quantize="awq"),
    ),
    "LLM908": (
        of(
            "sglang",
            "0.5.12",
            classes="Qwen3NextForCausalLM",
            speculative_algorithm="NEXTN",
        ),
        of(
            "sglang",
            "0.5.12",
            classes="Qwen3NextForCausalLM",
            speculative_algorithm="NEXTN",
            disable_radix_cache=True,
        ),
    ),
    "LLM973": (of("sglang", "0.5.14", QWEN, V100), of("sglang", "0.5.14", QWEN, T4)),
    "LLM975": (
        of("tgi", "3.1.1", classes="Gemma3ForConditionalGeneration"),
        of("tgi", "3.2.0", classes="Gemma3ForConditionalGeneration"),
    ),
    "LLM977": (
        of("tgi", "2.4.0", classes="StableLmForCausalLM", num_shard=2),
        of("tgi", "2.4.0", classes="StableLmForCausalLM", num_shard=1),
    ),
    "LLM979": (
        of("tgi", "1.3.3", instance_type=T4, classes=_MISTRAL),
        of("tgi", "1.4.0", instance_type=T4, classes=_MISTRAL),
    ),
    "LLM981": (
        of("tgi", "2.4.0", classes="StableLmForCausalLM", quantize="awq"),
        of("tgi", "2.4.0", classes="StableLmForCausalLM", quantize="bitsandbytes"),
    ),
    "LLM983": (
        of("tei", "1.7.0", classes="Qwen3ForCausalLM"),
        of("tei", "1.8.0", classes="Qwen3ForCausalLM"),
    ),
    "LLM948": (
        of("sglang", "0.5.9", LLAMA, speculative_algorithm="EAGLE3"),
        of("sglang", "0.5.9", LLAMA, speculative_algorithm="NGRAM"),
    ),
    "LLM950": (
        of("tgi", "2.4.0", LLAMA, environment={"ATTENTION": "sdpa"}),
        of("tgi", "2.4.0", LLAMA, environment={"ATTENTION": "paged"}),
    ),
    "LLM932": (
        of(
            "tgi",
            "2.4.0",
            environment={"ATTENTION": "paged"},
            kv_cache_dtype="fp8_e5m2",
        ),
        of(
            "tgi",
            "3.1.1",
            environment={"ATTENTION": "paged"},
            kv_cache_dtype="fp8_e5m2",
        ),
    ),
    "LLM934": (
        of("tei", "1.8.2", "BAAI/bge-base-en-v1.5", default_prompt_name="query"),
        of("tei", "1.8.2", "BAAI/bge-base-en-v1.5", default_prompt="query: "),
    ),
    "LLM985": (
        of("tei", "1.8.2", instance_type=B200, classes="BertModel"),
        of("tei", "1.9.3", instance_type=B200, classes="BertModel"),
    ),
    "LLM987": (
        of("tei", "1.9.3", classes="Gemma3TextModel", dtype="float16"),
        of("tei", "1.9.3", classes="Gemma3TextModel", dtype="float32"),
    ),
    "LLM926": (
        of("llama.cpp", "b4591", gguf_architecture="qwen3"),
        of("llama.cpp", "b4592", gguf_architecture="qwen3"),
    ),
    "LLM989": (
        of("llama.cpp", "b9522", gguf_architecture="foobar"),
        of("llama.cpp", "b9522", gguf_architecture="llama"),
    ),
    "LLM991": (
        of("vllm-neuron", "0.11.0", instance_type=INF2, classes="MistralForCausalLM"),
        of("vllm-neuron", "0.11.0", instance_type=INF2, classes="Qwen3MoeForCausalLM"),
    ),
}

_SCALED = {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}
_GROUPED = {"quantization_config": {"quant_method": "awq", "bits": 4}}
_BLOCKS = {
    "moe_intermediate_size": 768,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}
_LENGTH = {"max_position_embeddings": 4096}
_OWN_CODE = {"model_type": "own", "auto_map": {"AutoConfig": "a.B"}}
_FORCED = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
_GPT = "GptOssForCausalLM"

# A code that other engines share, what breaks it, and what stands beside it.
SHARED: tuple[tuple[str, Example, Example], ...] = (
    # SGLang
    (
        "LLM901",
        of("sglang", "0.5.10", classes="DeepseekV4ForCausalLM"),
        of("sglang", "0.5.12", classes="DeepseekV4ForCausalLM"),
    ),
    (
        "LLM920",
        of("tgi", "2.0.3", config={"model_type": "opt"}),
        of("tgi", "2.2.0", config={"model_type": "opt"}),
    ),
    (
        "LLM881",
        of("sglang", "0.5.9", classes="HeliumForCausalLM"),
        of("sglang", "0.5.9", classes="LlamaForCausalLM"),
    ),
    (
        "LLM903",
        of("sglang", "0.5.9", classes="Glm4MoeLiteForCausalLM"),
        of("sglang", "0.5.10", classes="Glm4MoeLiteForCausalLM"),
    ),
    (
        "LLM941",
        of("sglang", "0.5.14", config=_OWN_CODE),
        of("sglang", "0.5.14", config=_OWN_CODE, trust_remote_code=True),
    ),
    (
        "LLM931",
        of("sglang", "0.5.14", config=_LENGTH, context_length=4097),
        of("sglang", "0.5.14", config=_LENGTH, context_length=4096),
    ),
    (
        "LLM888",
        of(
            "sglang", "0.5.14", config=_LENGTH, environment=_FORCED, context_length=4097
        ),
        of(
            "sglang", "0.5.14", config=_LENGTH, environment=_FORCED, context_length=4096
        ),
    ),
    (
        "LLM961",
        of("sglang", "0.5.14", LLAMA, tool_call_parser="llama3_json"),
        of("sglang", "0.5.14", LLAMA, tool_call_parser="llama3"),
    ),
    (
        "LLM896",
        of("sglang", "0.5.14", QWEN, tool_call_parser="llama3"),
        of("sglang", "0.5.14", QWEN, tool_call_parser="qwen25"),
    ),
    (
        "LLM883",
        of("sglang", "0.5.14", QWEN, T4, dtype="bfloat16"),
        of("sglang", "0.5.14", QWEN, T4, dtype="float16"),
    ),
    (
        "LLM884",
        of("sglang", "0.5.14", "Qwen/Qwen3-8B-FP8", A100),
        of("sglang", "0.5.14", "Qwen/Qwen3-8B-FP8", L40S),
    ),
    (
        "LLM919",
        of("sglang", "0.5.14", FP8, A100),
        of("sglang", "0.5.14", FP8, L40S),
    ),
    (
        "LLM921",
        of("sglang", "0.5.14", config=_GROUPED, quantization="awq", dtype="bfloat16"),
        of("sglang", "0.5.14", config=_GROUPED, quantization="awq", dtype="float16"),
    ),
    (
        "LLM925",
        of("sglang", "0.5.14", config=_GROUPED, quantization="fp8"),
        of("sglang", "0.5.14", config=_GROUPED, quantization="awq_marlin"),
    ),
    (
        "LLM927",
        of("sglang", "0.5.14", QWEN, quantization="awq"),
        of("sglang", "0.5.14", QWEN, quantization="fp8"),
    ),
    (
        "LLM937",
        of("sglang", "0.5.14", "openai/gpt-oss-20b", attention_backend="flashinfer"),
        of("sglang", "0.5.14", "openai/gpt-oss-20b", attention_backend="triton"),
    ),
    (
        "LLM937",
        of("sglang", "0.5.14", QWEN, B200, attention_backend="fa3"),
        of("sglang", "0.5.14", QWEN, H100, attention_backend="fa3"),
    ),
    (
        "LLM937",
        of("sglang", "0.5.14", QWEN, L40S, attention_backend="trtllm_mha"),
        of("sglang", "0.5.14", QWEN, B200, attention_backend="trtllm_mha"),
    ),
    (
        "LLM890",
        of("sglang", "0.5.14", classes=_GPT, kv_cache_dtype="fp8_e4m3"),
        of("sglang", "0.5.14", "a/b", L40S, classes=_GPT, kv_cache_dtype="fp8_e4m3"),
    ),
    (
        "LLM945",
        of("sglang", "0.5.14", config={"num_attention_heads": 28}, tp_size=8),
        of("sglang", "0.5.14", config={"num_attention_heads": 28}, tp_size=4),
    ),
    (
        "LLM947",
        of("sglang", "0.5.14", config=_BLOCKS, tensor_parallel_size=4),
        of("sglang", "0.5.14", config=_BLOCKS, tensor_parallel_size=2),
    ),
    (
        "LLM947",
        of("sglang", "0.5.14", config=_BLOCKS, tensor_parallel_size=4),
        of("sglang", "0.5.14", config=_BLOCKS, tensor_parallel_size=4, ep_size=4),
    ),
    # TGI
    (
        "LLM975",
        of("tgi", "2.4.0", classes="Qwen3ForCausalLM"),
        of("tgi", "3.3.4", classes="Qwen3ForCausalLM"),
    ),
    (
        "LLM975",
        of("tgi", "0.9.3", classes=_FALCON, trust_remote_code=False),
        of("tgi", "1.0.3", classes=_FALCON, trust_remote_code=False),
    ),
    (
        "LLM854",
        of("tgi", "0.9.3", classes=_FALCON),
        of("tgi", "1.0.3", classes=_FALCON),
    ),
    (
        "LLM979",
        of("tgi", "2.2.0", instance_type=T4, classes="LlamaForCausalLM"),
        of("tgi", "2.0.3", instance_type=T4, classes="LlamaForCausalLM"),
    ),
    (
        "LLM979",
        of("tgi", "3.3.4", instance_type=T4, classes="MllamaForConditionalGeneration"),
        of("tgi", "3.3.4", classes="MllamaForConditionalGeneration"),
    ),
    (
        "LLM923",
        of("tgi", "3.3.4", instance_type=RTX, classes="LlamaForCausalLM"),
        of("tgi", "3.3.4", instance_type=H100, classes="LlamaForCausalLM"),
    ),
    (
        "LLM943",
        of("tgi", "2.0.3", classes="LlamaForCausalLM", config=_SCALED),
        of("tgi", "2.2.0", classes="LlamaForCausalLM", config=_SCALED),
    ),
    (
        "LLM927",
        of("tgi", "2.4.0", QWEN, quantize="awq"),
        of("tgi", "2.4.0", QWEN, quantize="bitsandbytes"),
    ),
    (
        "LLM945",
        of("tgi", "2.4.0", QWEN, FOUR_A10G, num_shard=8),
        of("tgi", "2.4.0", QWEN, FOUR_A10G, num_shard=4),
    ),
    # Text Embeddings Inference
    (
        "LLM983",
        of("tei", "1.6.0", classes="ModernBertModel"),
        of("tei", "1.7.0", classes="ModernBertModel"),
    ),
    (
        "LLM983",
        of("tei", "1.9.3", classes="Qwen3ForSequenceClassification"),
        of("tei", "1.9.3", classes="BertForSequenceClassification"),
    ),
    (
        "LLM985",
        of("tei", "1.8.2", instance_type=V100, classes="BertModel"),
        of("tei", "1.8.2", instance_type=T4, classes="BertModel"),
    ),
    (
        "LLM987",
        of("tei", "1.9.3", instance_type=T4, classes="MistralModel"),
        of("tei", "1.9.3", instance_type=A10G, classes="MistralModel"),
    ),
    (
        "LLM987",
        of("tei", "1.8.2", classes="Qwen2ForCausalLM", dtype="float32"),
        of("tei", "1.8.2", classes="Qwen2ForCausalLM", dtype="float16"),
    ),
    # Neuron, and what LMI has
    (
        "LLM991",
        of("tgi-neuron", "0.2.0", instance_type=INF2, classes="Qwen3ForCausalLM"),
        of("tgi-neuron", "0.3.0", instance_type=INF2, classes="Qwen3ForCausalLM"),
    ),
    (
        "LLM991",
        of("tgi-neuron", "0.2.0", instance_type=INF2, classes="MistralForCausalLM"),
        of("tgi-neuron", "0.0.28", instance_type=INF2, classes="MistralForCausalLM"),
    ),
    (
        "LLM901",
        of("lmi-dist", "12.0.0", classes="Gemma3ForConditionalGeneration"),
        of("lmi-dist", "12.0.0", classes="Gemma2ForCausalLM"),
    ),
    (
        "LLM864",
        of("deepspeed", "0.10.0", classes="MistralForCausalLM"),
        of("deepspeed", "0.10.0", classes="LlamaForCausalLM"),
    ),
    (
        "LLM931",
        of("vllm-omni", "0.20.0", classes=_MISTRAL, config=_LENGTH, max_model_len=4097),
        of("vllm-omni", "0.20.0", classes=_MISTRAL, config=_LENGTH, max_model_len=4096),
    ),
)
