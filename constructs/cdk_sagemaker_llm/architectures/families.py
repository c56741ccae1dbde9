"""
Which counting belongs to which family of models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from cdk_sagemaker_llm.architectures import classic, gated, latent
from cdk_sagemaker_llm.architectures.config import Config
from cdk_sagemaker_llm.architectures.shape import Shape

Count = Callable[[Config], Shape]


def _dense(traits: gated.Traits) -> Count:
    return partial(gated.count_dense, traits=traits)


FAMILIES: Mapping[str, tuple[str, Count]] = {
    "bloom": ("BloomForCausalLM", classic.count_bloom),
    "deepseek_v2": ("DeepseekV2ForCausalLM", latent.count_deepseek),
    "deepseek_v3": ("DeepseekV3ForCausalLM", latent.count_deepseek),
    "falcon": ("FalconForCausalLM", classic.count_falcon),
    "gemma": ("GemmaForCausalLM", _dense(gated.GEMMA)),
    "gemma2": ("Gemma2ForCausalLM", _dense(gated.GEMMA2)),
    "gemma3_text": ("Gemma3ForCausalLM", _dense(gated.GEMMA3)),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", classic.count_gpt_bigcode),
    "gpt_neox": ("GPTNeoXForCausalLM", classic.count_gpt_neox),
    "gpt_oss": (
        "GptOssForCausalLM",
        partial(gated.count_gpt_oss, traits=gated.GPT_OSS),
    ),
    "gptj": ("GPTJForCausalLM", classic.count_gpt_j),
    "llama": ("LlamaForCausalLM", _dense(gated.LLAMA)),
    "mistral": ("MistralForCausalLM", _dense(gated.MISTRAL)),
    "mixtral": (
        "MixtralForCausalLM",
        partial(gated.count_mixtral, traits=gated.MISTRAL),
    ),
    "mpt": ("MptForCausalLM", classic.count_mpt),
    "opt": ("OPTForCausalLM", classic.count_opt),
    "phi3": ("Phi3ForCausalLM", _dense(gated.PHI3)),
    "qwen2": ("Qwen2ForCausalLM", _dense(gated.QWEN2)),
    "qwen2_moe": (
        "Qwen2MoeForCausalLM",
        partial(gated.count_qwen_moe, traits=gated.QWEN2_MOE),
    ),
    "qwen3": ("Qwen3ForCausalLM", _dense(gated.QWEN3)),
    "qwen3_moe": (
        "Qwen3MoeForCausalLM",
        partial(gated.count_qwen_moe, traits=gated.QWEN3_MOE),
    ),
}
# Names that older files and files of several modalities have for one of these.
_ALIASES = {
    "gemma3": "gemma3_text",
    "RefinedWeb": "falcon",
    "RefinedWebModel": "falcon",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "Gemma3ForConditionalGeneration": "gemma3_text",
    "RWForCausalLM": "falcon",
    "MPTForCausalLM": "mpt",
}


def family_of(model_type: str | None, architecture: str | None) -> str | None:
    """
    Return a family's name by the model's type, or else by its class.
    """
    by_class = {name: family for family, (name, _) in FAMILIES.items()}
    for known in (model_type, architecture):
        family = _ALIASES.get(known or "", known or "")
        if family in FAMILIES:
            return family
        if family in by_class:
            return by_class[family]
    return None
