"""
What the ``transformers`` package knows of a class.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.transformers import model_type_of


@pytest.mark.parametrize(
    ("class_name", "model_type"),
    [
        ("LlamaForCausalLM", "llama"),
        # Which the package does not have, and LMI's guides name.
        ("AquilaForCausalLM", "aquila"),
        ("ChatGLMModel", "chatglm"),
        ("NobodysForCausalLM", None),
    ],
)
def test_names_the_model_type_of_a_class(
    class_name: str, model_type: str | None
) -> None:
    """
    Other engines go by it.
    """
    assert model_type_of(class_name) == model_type
