"""
The Hugging Face Hub: its tokens' variables, and the models that are gated.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.serving.hub import (
    FORWARDED_TOKEN,
    HUB_TOKEN,
    ROUTER_TOKEN,
    TOKEN_VARIABLES,
    gated_findings,
)


def test_the_variables_are_those_that_are_read() -> None:
    """
    By the Hub's client, TGI's router, and what that one hands on.
    """
    assert (HUB_TOKEN, ROUTER_TOKEN, FORWARDED_TOKEN) == (
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "HF_API_TOKEN",
    )
    assert TOKEN_VARIABLES == ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


@pytest.mark.parametrize(
    "model_id",
    [
        "meta-llama/Llama-3.1-8B",
        "mistralai/Mistral-7B-v0.1",
        "google/gemma-2b",
        "google/codegemma-7b",
        "google/paligemma-3b",
        "CohereForAI/aya",
        "tiiuae/falcon-180B-chat",
    ],
)
def test_a_gated_model_needs_a_token(model_id: str) -> None:
    """
    The whole message; with a token there is none.
    """
    assert [str(f) for f in gated_findings(model_id, has_token=False)] == [
        (
            f"LLM214 {model_id} has been gated on the Hugging Face Hub, and no token "
            "is set; pass HuggingFaceModel(..., token=secret), or stage the weights on "
            "S3"
        )
    ]
    assert gated_findings(model_id, has_token=True) == []


@pytest.mark.parametrize(
    "model_id",
    [
        "meta-llama",
        "org/meta-llama/x",
        "google/flan-t5",
        "tiiuae/falcon-40b",
        "mistral",
    ],
)
def test_other_models_are_taken_to_be_public(model_id: str) -> None:
    """
    The Hub alone knows.
    """
    assert gated_findings(model_id, has_token=False) == []
