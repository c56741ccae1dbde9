"""
Which counting belongs to which family of models, and which names of classes are known
or likely mistaken.

The Hub has classes that nobody here has heard of: only what is certainly no class, or
a known one with its letters in another order, is a fault.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from functools import partial

from cdk_sagemaker_llm.architectures import classic, encoders, gated, mixtures
from cdk_sagemaker_llm.architectures.config import Config, Shape

Count = Callable[[Config], Shape]

_ENDINGS = (
    "ForCausalLM",
    "LMHeadModel",
    "ForConditionalGeneration",
    "ForSequenceClassification",
    "ForMaskedLM",
    "Model",
)
# Classes that are served, and that no family here counts: vLLM's and LMI's lists.
_OTHERS = (
    "BaichuanForCausalLM",
    "ChatGLMModel",
    "CohereForCausalLM",
    "Gemma3ForConditionalGeneration",
    "Gemma3TextModel",
    "Gemma3nForConditionalGeneration",
    "GPT2LMHeadModel",
    "GPTNeoForCausalLM",
    "DistilBertModel",
    "InternLMForCausalLM",
    "JinaBertModel",
    "KimiK25ForConditionalGeneration",
    "Llama4ForConditionalGeneration",
    "LlavaForConditionalGeneration",
    "MPTForCausalLM",
    "Mistral3ForConditionalGeneration",
    "OlmoForCausalLM",
    "PhiForCausalLM",
    "QWenLMHeadModel",
    "RWForCausalLM",
    "T5ForConditionalGeneration",
)
_ALIKE = 0.8

# Names that older files and files of several modalities have for one of these.
_ALIASES = {
    "gemma3": "gemma3_text",
    "mistral3": "mistral",
    "Mistral3ForConditionalGeneration": "mistral",
    "new": "gte",
    "RefinedWeb": "falcon",
    "RefinedWebModel": "falcon",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "Gemma3ForConditionalGeneration": "gemma3_text",
    "Gemma3TextModel": "gemma3_text",
    "Llama4ForConditionalGeneration": "llama4_text",
    "kimi_k2": "deepseek_v3",
    "llama4": "llama4_text",
    "NewModel": "gte",
    "RWForCausalLM": "falcon",
    "MPTForCausalLM": "mpt",
}

# What encoders' classes have for a head, where a family's own has none.
_HEADS = ("ForSequenceClassification", "ForMaskedLM")


def family_of(model_type: str | None, architecture: str | None) -> str | None:
    """
    Return a family's name by the model's type, or else by its class.
    """
    by_class = {name: family for family, (name, _) in FAMILIES.items()}
    for ending in _HEADS:
        if architecture is not None and architecture.endswith(ending):
            architecture = architecture.removesuffix(ending) + "Model"
    for name in (model_type, architecture):
        family = _ALIASES.get(name or "", name or "")
        if family in FAMILIES:
            return family
        if family in by_class:
            return by_class[family]
    return None


def class_fault(name: str) -> str | None:
    """
    Return the class that a name certainly stands for, though it is not its name: a
    family's bare name, or one with its letters in another order; ``None`` otherwise.
    """
    if name in known_classes():
        return None
    meant = _families().get(name.lower())
    turned = (one for one in known_classes() if sorted(one) == sorted(name))
    return meant or next(turned, None)


def class_doubt(name: str) -> str | None:
    """
    Return the known class that a name is likely meant to be; empty if it has no ending
    of a class and none is near, ``None`` if there is no doubt.
    """
    if name in known_classes():
        return None
    ending = next((one for one in _ENDINGS if name.endswith(one)), None)

    def likeness(other: str) -> float:
        found = _likeness(_stem(name), _stem(other))
        if ending is None:
            return max(found, _likeness(name, other))
        # Of a name like another but for digits, either may be a later version.
        return found if found < 1 else 0

    nearest = max(known_classes(), key=likeness)
    if likeness(nearest) > _ALIKE:
        return nearest
    return None if ending else ""


def known_classes() -> tuple[str, ...]:
    """
    Return the names of the classes that are known.
    """
    return (*(name for name, _ in FAMILIES.values()), *_OTHERS)


@functools.cache
def _families() -> Mapping[str, str]:
    return {_stem(name).lower(): name for name in reversed(known_classes())}


def _stem(name: str) -> str:
    ending = next((one for one in _ENDINGS if name.endswith(one)), "")
    return name.removesuffix(ending)


def _likeness(one: str, other: str) -> float:
    """
    Return how alike two names are, 1 for the same; digits are versions, and not seen.
    """
    import difflib  # noqa: PLC0415 - few names are wrong

    first, second = (re.sub(r"[\d_]", "", name) for name in (one, other))
    return difflib.SequenceMatcher(None, first, second).ratio()


def _encoder(kind: encoders.Kind) -> Count:
    return partial(encoders.count_bert, kind=kind)


def _dense(traits: gated.Traits) -> Count:
    return partial(gated.count_dense, traits=traits)


FAMILIES: Mapping[str, tuple[str, Count]] = {
    "bert": ("BertModel", _encoder(encoders.BERT)),
    "bloom": ("BloomForCausalLM", classic.count_bloom),
    "deepseek_v2": ("DeepseekV2ForCausalLM", mixtures.count_deepseek),
    "deepseek_v3": ("DeepseekV3ForCausalLM", mixtures.count_deepseek),
    "deepseek_v32": ("DeepseekV32ForCausalLM", mixtures.count_deepseek_sparse),
    "falcon": ("FalconForCausalLM", classic.count_falcon),
    "gemma": ("GemmaForCausalLM", _dense(gated.GEMMA)),
    "gemma2": ("Gemma2ForCausalLM", _dense(gated.GEMMA2)),
    "gemma3_text": ("Gemma3ForCausalLM", _dense(gated.GEMMA3)),
    "glm4_moe": ("Glm4MoeForCausalLM", mixtures.count_glm4_moe),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", classic.count_gpt_bigcode),
    "gpt_neox": ("GPTNeoXForCausalLM", classic.count_gpt_neox),
    "gpt_oss": ("GptOssForCausalLM", mixtures.count_gpt_oss),
    "gptj": ("GPTJForCausalLM", classic.count_gpt_j),
    "gte": ("GteModel", encoders.count_gte),
    "llama": ("LlamaForCausalLM", _dense(gated.LLAMA)),
    "llama4_text": ("Llama4ForCausalLM", mixtures.count_llama4),
    "ministral3": ("Ministral3ForCausalLM", _dense(gated.MINISTRAL3)),
    "mistral": ("MistralForCausalLM", _dense(gated.MISTRAL)),
    "mixtral": ("MixtralForCausalLM", mixtures.count_mixtral),
    "modernbert": ("ModernBertModel", encoders.count_modernbert),
    "mpnet": ("MPNetModel", _encoder(encoders.MPNET)),
    "mpt": ("MptForCausalLM", classic.count_mpt),
    "nomic_bert": ("NomicBertModel", encoders.count_nomic_bert),
    "opt": ("OPTForCausalLM", classic.count_opt),
    "phi3": ("Phi3ForCausalLM", _dense(gated.PHI3)),
    "qwen2": ("Qwen2ForCausalLM", _dense(gated.QWEN2)),
    "qwen2_moe": (
        "Qwen2MoeForCausalLM",
        partial(mixtures.count_qwen_moe, traits=gated.QWEN2_MOE),
    ),
    "qwen3": ("Qwen3ForCausalLM", _dense(gated.QWEN3)),
    "qwen3_moe": (
        "Qwen3MoeForCausalLM",
        partial(mixtures.count_qwen_moe, traits=gated.QWEN3_MOE),
    ),
    "qwen3_next": ("Qwen3NextForCausalLM", mixtures.count_qwen3_next),
    "roberta": ("RobertaModel", _encoder(encoders.ROBERTA)),
    "xlm-roberta": ("XLMRobertaModel", _encoder(encoders.ROBERTA)),
}
