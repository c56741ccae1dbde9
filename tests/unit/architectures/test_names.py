"""
Names of models' classes.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel
from cdk_sagemaker_llm.architectures.families import (
    class_doubt,
    class_fault,
    known_classes,
)
from cdk_sagemaker_llm.catalog._data import load


@pytest.mark.parametrize("name", known_classes())
def test_what_is_known_is_never_doubted(name: str) -> None:
    """
    Nor is it taken for another.
    """
    assert class_fault(name) is None
    assert class_doubt(name) is None


def test_what_is_known_is_a_class_of_an_engine_or_of_transformers() -> None:
    """
    Jina's first BERT comes with code of its own, which TEI reimplements.
    """
    engines = load("model_classes.json")["engines"]
    transformers = load("transformers.json")
    published = {
        *engines["vllm"]["classes"],
        *engines["sglang"]["classes"],
        *transformers["classes"],
        *transformers["class_types"],
    }

    assert {*known_classes()} - published == {"JinaBertModel"}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Mistral", "MistralForCausalLM"),
        ("llama", "LlamaForCausalLM"),
        ("Qwen2", "Qwen2ForCausalLM"),
        ("MistralForCasualLM", "MistralForCausalLM"),
        ("MsitralForCausalLM", "MistralForCausalLM"),
    ],
)
def test_fails_for_what_is_certainly_no_class(name: str, meant: str) -> None:
    """
    The message says the class that is meant.
    """
    with pytest.raises(ValueError, match=rf"got {name!r}; write {meant!r}$"):
        HuggingFaceModel("a/b", architecture=name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("LlamForCausalLM", "LlamaForCausalLM"),
        ("MistralForCausal", "MistralForCausalLM"),
        ("Mistrall", "MistralForCausalLM"),
        ("x", ""),
        ("custom", ""),
    ],
)
def test_what_is_likely_mistaken_is_doubted(name: str, meant: str) -> None:
    """
    It is taken all the same.
    """
    HuggingFaceModel("a/b", architecture=name)

    assert class_doubt(name) == meant


@pytest.mark.parametrize(
    "name",
    [
        "MineForCausalLM",
        "Phi4ForCausalLM",
        "Qwen3NextForCausalLM",
        "LLaMAForCausalLM",
        "Llama4ForConditionalGeneration",
        "InternVLChatModel",
        "GptOssForCausalLM",
        "Olmo2ForCausalLM",
        "HymbaForCausalLM",
    ],
)
def test_a_class_that_nobody_here_knows_passes(name: str) -> None:
    """
    The Hub has new ones every week.
    """
    assert class_fault(name) is None
    assert class_doubt(name) is None
