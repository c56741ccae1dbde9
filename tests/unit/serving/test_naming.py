"""
Doubts about what a model's class is called.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from cdk_sagemaker_llm.findings import Rule
from cdk_sagemaker_llm.serving.naming import class_findings, with_class_named

ONE = Rule("LLM100", "one")
OTHER = Rule("LLM101", "another")


@pytest.mark.parametrize(
    "architecture",
    [
        None,
        "MistralForCausalLM",
        "MineForCausalLM",
        ModelArchitecture.of("mistralai/Mistral-7B-v0.1"),
    ],
    ids=repr,
)
def test_what_is_not_doubted_is_not_told(architecture: object) -> None:
    """
    Sizes that are known say more than a name.
    """
    given = [ONE.finding("a", "b")]

    assert class_findings(architecture) == []
    assert with_class_named(given, ONE, architecture) == given


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("LlamForCausalLM", "did you mean 'LlamaForCausalLM'?"),
        ("Foo", "write the class in the model's config.json, under architectures"),
    ],
)
def test_what_is_doubted_is_told_with_the_way_out(name: str, remedy: str) -> None:
    """
    As a warning, and where it breaks a rule, there.
    """
    message = f"architecture {name!r} is no class that is known"
    given = [ONE.finding("a", "b"), OTHER.finding("c", "d")]

    assert list(map(str, class_findings(name))) == [f"LLM232 {message}; {remedy}"]
    assert with_class_named(given, ONE, name) == [
        ONE.finding("a", f"{message}: {remedy}"),
        OTHER.finding("c", "d"),
    ]
