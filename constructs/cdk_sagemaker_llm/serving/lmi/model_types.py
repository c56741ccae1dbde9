"""
Which models an LMI container tells apart, by the type in their config.json.

The lists are those of the front end (``LmiConfigRecommender``, ``LmiUtils``) and of the
handlers, read in the branches that the images were built from.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.lmi import LmiVersion

# The class in config.json of each type that some list names, or visibly leaves out.
_TYPES = {
    "AquilaForCausalLM": "aquila",
    "ArcticForCausalLM": "arctic",
    "BaiChuanForCausalLM": "baichuan",
    "BaichuanForCausalLM": "baichuan",
    "BloomForCausalLM": "bloom",
    "BloomModel": "bloom",
    "ChameleonForConditionalGeneration": "chameleon",
    "ChatGLMForConditionalGeneration": "chatglm",
    "ChatGLMModel": "chatglm",
    "CohereForCausalLM": "cohere",
    "DbrxForCausalLM": "dbrx",
    "DeciLMForCausalLM": "deci",
    "DeepseekForCausalLM": "deepseek",
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "FalconForCausalLM": "falcon",
    "FuyuForCausalLM": "fuyu",
    "GPT2LMHeadModel": "gpt2",
    "GPTBigCodeForCausalLM": "gpt_bigcode",
    "GPTJForCausalLM": "gptj",
    "GPTNeoForCausalLM": "gpt_neo",
    "GPTNeoXForCausalLM": "gpt_neox",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3_text",
    "Gemma3ForConditionalGeneration": "gemma3",
    "GemmaForCausalLM": "gemma",
    "InternLM2ForCausalLM": "internlm2",
    "InternLMForCausalLM": "internlm",
    "JAISLMHeadModel": "jais",
    "JambaForCausalLM": "jamba",
    "LlamaForCausalLM": "llama",
    "LlavaForConditionalGeneration": "llava",
    "LlavaNextForConditionalGeneration": "llava_next",
    "MPTForCausalLM": "mpt",
    "MistralForCausalLM": "mistral",
    "MixtralForCausalLM": "mixtral",
    "MptForCausalLM": "mpt",
    "OPTForCausalLM": "opt",
    "PaliGemmaForConditionalGeneration": "paligemma",
    "Phi3ForCausalLM": "phi3",
    "Phi3SmallForCausalLM": "phi3small",
    "Phi3VForCausalLM": "phi3_v",
    "PhiForCausalLM": "phi",
    "QWenLMHeadModel": "qwen",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen2MoeForCausalLM": "qwen2_moe",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3MoeForCausalLM": "qwen3_moe",
    "RWForCausalLM": "RefinedWeb",
    "StableLmForCausalLM": "stablelm",
    "Starcoder2ForCausalLM": "starcoder2",
    "T5ForConditionalGeneration": "t5",
    "XverseForCausalLM": "xverse",
}
# Types with a class for each task.
_BY_PREFIX = {"Bert": "bert", "Roberta": "roberta", "XLMRoberta": "xlm-roberta"}

# What the front end of 0.27 starts with LMI-Dist. It writes gpt-neox and gpt-bigcode,
# which no config.json says, so that both go to the scheduler.
_LMI_DIST_0_27 = frozenset(
    {
        *("aquila", "baichuan", "bloom", "chatglm", "dbrx", "deci", "falcon", "gemma"),
        *("gpt2", "gptj", "internlm2", "llama", "mistral", "mixtral", "mpt", "opt"),
        *("phi", "qwen", "qwen2", "stablelm", "starcoder2", "t5"),
    }
)
_LMI_DIST_0_28 = _LMI_DIST_0_27 | {
    *("cohere", "internlm", "jais", "phi3", "qwen2_moe", "xverse")
}
_LMI_DIST_0_29 = _LMI_DIST_0_28 | {
    *("arctic", "chameleon", "deepseek", "deepseek_v2", "fuyu", "gemma2", "jamba"),
    *("llava", "llava_next", "paligemma", "phi3_v", "phi3small"),
}
_LMI_DIST = {27: _LMI_DIST_0_27, 28: _LMI_DIST_0_28, 29: _LMI_DIST_0_29}

# What the front end of 0.25 and 0.26 starts with DeepSpeed, where no engine is written.
STARTED_WITH_DEEPSPEED = frozenset(
    {
        *("bert", "bloom", "gpt2", "gpt_neo", "gpt_neox", "gptj", "opt", "roberta"),
        "xlm-roberta",
    }
)
# What DeepSpeed has kernels for, and so a rolling batch (OPTIMIZED_MODEL_TYPES).
BATCHED_BY_DEEPSPEED = STARTED_WITH_DEEPSPEED | {"llama"}
# What DeepSpeed smooths (SMOOTHQUANT_SUPPORTED_MODEL_TYPES).
SMOOTHED_BY_DEEPSPEED = frozenset(
    {"bloom", "gpt2", "gpt_neo", "gpt_neox", "gptj", "llama"}
)

_NEURONX_0_25 = frozenset({"bloom", "gpt2", "gpt_neox", "gptj", "llama", "opt"})
_NEURONX_0_26 = _NEURONX_0_25 | {"mistral"}
_NEURONX_0_27 = _NEURONX_0_26 | {"mixtral"}
_NEURONX = {25: _NEURONX_0_25, 26: _NEURONX_0_26}


def model_type_of(architecture: str | None) -> str | None:
    """
    Return the type of a class in config.json; ``None`` where it is not known here.
    """
    if architecture is None:
        return None
    for prefix, model_type in _BY_PREFIX.items():
        if architecture.startswith(f"{prefix}For"):
            return model_type
    return _TYPES.get(architecture)


def started_with_lmi_dist(version: LmiVersion) -> frozenset[str] | None:
    """
    Return the types that the automatic choice runs on LMI-Dist; ``None`` for all that
    generate text, as from 0.30 on.
    """
    return _LMI_DIST.get(version.minor)


def loaded_by_neuronx(version: LmiVersion) -> frozenset[str]:
    """
    Return the types that the Transformers-NeuronX loader knows.
    """
    return _NEURONX.get(version.minor, _NEURONX_0_27)
