"""
What backends other than vLLM's refuse at synth, for their release does not load it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.models import HuggingFaceModel
from cdk_sagemaker_llm.serving import (
    LmiDist,
    Sglang,
    TextEmbeddings,
    Tgi,
    TgiNeuron,
    VllmNeuron,
    check_environment,
)
from cdk_sagemaker_llm.serving.base import Serving

GEMMA_3, MISTRAL = "google/gemma-3-4b-it", "mistralai/Mistral-7B-v0.1"
QWEN_MOE = "Qwen/Qwen3-30B-A3B"
EMBEDDER = "Qwen/Qwen3-Embedding-0.6B"


def _refusals(serving: Serving, model: str) -> list[str]:
    found = serving.prepare(HuggingFaceModel(model), 1).findings
    return [one.code for one in errors_of(found)]


@pytest.mark.parametrize(
    ("broken", "beside", "model", "code"),
    [
        (Tgi("3.1.1"), Tgi("3.2.0"), GEMMA_3, "LLM975"),
        (
            Sglang("0.5.14", context_length=32769),
            Sglang("0.5.14", context_length=32768),
            MISTRAL,
            "LLM931",
        ),
        (TextEmbeddings("1.7.0"), TextEmbeddings("1.8.0"), EMBEDDER, "LLM983"),
        (TgiNeuron("0.2.0"), TgiNeuron("0.0.28"), MISTRAL, "LLM991"),
        (TgiNeuron("0.3.0"), VllmNeuron(), QWEN_MOE, "LLM991"),
        (LmiDist("0.30.0"), LmiDist("0.30.0"), GEMMA_3, "LLM901"),
    ],
    ids=["tgi", "sglang", "tei", "tgi-neuron", "vllm-neuron", "lmi-dist"],
)
def test_refuses_what_the_release_does_not_load(
    broken: Serving, beside: Serving, model: str, code: str
) -> None:
    """
    The release or the value beside it loads the model.
    """
    other = MISTRAL if isinstance(beside, LmiDist) else model

    assert code in _refusals(broken, model)
    assert code not in _refusals(beside, other)


def test_holds_an_environment_of_tgi_against_its_gpu() -> None:
    """
    Flash attention of the second kind does not run on T4.
    """

    def codes(instance_type: str) -> list[str]:
        found = check_environment(
            {"HF_MODEL_ID": MISTRAL},
            container="huggingface-llm",
            version="1.3.3",
            accelerators=1,
            instance_type=instance_type,
        )
        return [one.code for one in found]

    assert "LLM979" in codes("ml.g4dn.xlarge")
    assert "LLM979" not in codes("ml.g5.xlarge")
