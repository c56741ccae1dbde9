"""
Which classes vLLM keeps in weights of bitsandbytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.model_classes import has_ability
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.support.number_formats import LACKS_METHOD
from cdk_sagemaker_llm.serving.support.support_subject import Subject


def bitsandbytes_class_findings(subject: Subject) -> Iterator[Finding]:
    """
    The loader of bitsandbytes takes the class.
    """
    name, own = subject.checkpoint.class_name, subject.checkpoint.method
    is_asked = "bitsandbytes" in {subject.text("quantization"), own}
    if name is None or not is_asked:
        return
    if name == _PIXTRAL_ON_HUB and subject.text("config_format") == "mistral":
        name = "PixtralForConditionalGeneration"
    if not has_ability(subject.engine, name, subject.release):
        return
    since, until = _IN_FOUR_BITS.get(name, "0.7.0"), _WITHOUT_FOUR_BITS.get(name)
    is_early = subject.is_at("0.5.0", "0.6.6") and not subject.is_at(since)
    is_without = until is not None and subject.is_at(*until)
    is_unpacked = has_ability(subject.engine, name, subject.release, "unpacked")
    if is_early or is_without or is_unpacked:
        yield LACKS_METHOD.finding(
            f"{subject.title} does not keep {name} in weights of bitsandbytes",
            "take weights in another format, or an image with a newer release",
        )


# What its params.json makes of it.
_PIXTRAL_ON_HUB = "Mistral3ForConditionalGeneration"
# Since when its loader takes a class, before it took nearly all
# (bitsandbytes_stacked_params_mapping of vllm/model_executor/models).
_IN_FOUR_BITS = {
    **dict.fromkeys(
        (
            "AquilaForCausalLM",
            "AquilaModel",
            "DeciLMForCausalLM",
            "InternLMForCausalLM",
            "LLaMAForCausalLM",
            "LlamaForCausalLM",
            "MistralForCausalLM",
            "Phi3ForCausalLM",
        ),
        "0.5.0",
    ),
    **dict.fromkeys(
        (
            "ExaoneForCausalLM",
            "Gemma2ForCausalLM",
            "GraniteForCausalLM",
            "NemotronForCausalLM",
            "SolarForCausalLM",
        ),
        "0.5.5",
    ),
    **dict.fromkeys(
        (
            "FalconForCausalLM",
            "GemmaForCausalLM",
            "OPTForCausalLM",
            "PhiForCausalLM",
            "RWForCausalLM",
        ),
        "0.6.3",
    ),
}
# Which it does not take since then, as far as they were read to be without
# packed_modules_mapping, or get_expert_mapping.
_WITHOUT_FOUR_BITS = {
    **dict.fromkeys(
        (
            "DbrxForCausalLM",
            "GPT2LMHeadModel",
            "GPTJForCausalLM",
            "GPTNeoXForCausalLM",
            "MPTForCausalLM",
            "Mamba2ForCausalLM",
            "MambaForCausalLM",
            "OrionForCausalLM",
            "StableLmForCausalLM",
        ),
        ("0.7.1", "0.27.1"),
    ),
    **dict.fromkeys(
        (
            "DeepseekForCausalLM",
            "DeepseekV2ForCausalLM",
            "DeepseekV3ForCausalLM",
            "Olmo2ForCausalLM",
            "OlmoForCausalLM",
        ),
        ("0.7.1", "0.10.0"),
    ),
    "GptOssForCausalLM": ("0.10.0", "0.11.0"),
    "OlmoeForCausalLM": ("0.7.1", "0.9.2"),
    "Qwen2MoeForCausalLM": ("0.7.1", "0.9.2"),
    "Qwen3MoeForCausalLM": ("0.8.4", "0.8.4"),
    "Starcoder2ForCausalLM": ("0.7.1", "0.24.0"),
}
