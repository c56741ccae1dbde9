"""
Which counting belongs to which family.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.architectures.families import FAMILIES, family_of

CLASSES = {
    "bert": "BertModel",
    "bloom": "BloomForCausalLM",
    "deepseek_v2": "DeepseekV2ForCausalLM",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "deepseek_v32": "DeepseekV32ForCausalLM",
    "falcon": "FalconForCausalLM",
    "gemma": "GemmaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "glm4_moe": "Glm4MoeForCausalLM",
    "gpt_bigcode": "GPTBigCodeForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM",
    "gpt_oss": "GptOssForCausalLM",
    "gptj": "GPTJForCausalLM",
    "gte": "GteModel",
    "llama": "LlamaForCausalLM",
    "llama4_text": "Llama4ForCausalLM",
    "ministral3": "Ministral3ForCausalLM",
    "mistral": "MistralForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "modernbert": "ModernBertModel",
    "mpnet": "MPNetModel",
    "mpt": "MptForCausalLM",
    "nomic_bert": "NomicBertModel",
    "opt": "OPTForCausalLM",
    "phi3": "Phi3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
    "qwen3_next": "Qwen3NextForCausalLM",
    "roberta": "RobertaModel",
    "xlm-roberta": "XLMRobertaModel",
}


def test_every_family_has_its_class() -> None:
    """
    As the files of its models name it.
    """
    assert {family: name for family, (name, _) in FAMILIES.items()} == CLASSES


@pytest.mark.parametrize(("family", "name"), CLASSES.items())
def test_a_family_is_known_by_its_type_or_its_class(family: str, name: str) -> None:
    """
    The type first.
    """
    assert family_of(family, None) == family
    assert family_of(None, name) == family
    assert family_of("unheard_of", name) == family
    assert family_of(name, "LlamaForCausalLM") == family


@pytest.mark.parametrize(
    ("alias", "family"),
    [
        ("gemma3", "gemma3_text"),
        ("Gemma3ForConditionalGeneration", "gemma3_text"),
        ("RefinedWeb", "falcon"),
        ("RefinedWebModel", "falcon"),
        ("RWForCausalLM", "falcon"),
        ("MPTForCausalLM", "mpt"),
        ("DeepseekV3ForCausalLM", "deepseek_v3"),
        ("Gemma3TextModel", "gemma3_text"),
        ("kimi_k2", "deepseek_v3"),
        ("llama4", "llama4_text"),
        ("Llama4ForConditionalGeneration", "llama4_text"),
        ("mistral3", "mistral"),
        ("Mistral3ForConditionalGeneration", "mistral"),
        ("new", "gte"),
        ("NewModel", "gte"),
    ],
)
def test_older_names_are_known(alias: str, family: str) -> None:
    """
    As a type and as a class.
    """
    assert family_of(alias, None) == family
    assert family_of(None, alias) == family


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("BertForSequenceClassification", "bert"),
        ("BertForMaskedLM", "bert"),
        ("XLMRobertaForSequenceClassification", "xlm-roberta"),
        ("MPNetForMaskedLM", "mpnet"),
        ("NewForSequenceClassification", "gte"),
    ],
)
def test_an_encoder_is_known_with_any_head(name: str, family: str) -> None:
    """
    That of a ranker, or of what guesses words.
    """
    assert family_of(None, name) == family


def test_what_is_of_no_family_is_none() -> None:
    """
    Nor is nothing.
    """
    assert family_of("mamba", "MambaForCausalLM") is None
    assert family_of(None, None) is None
    assert family_of("", "") is None
