"""
What backends other than vLLM's refuse at synth, for their release does not load it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.images import find_image
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
from cdk_sagemaker_llm.serving.base import Container, Serving
from cdk_sagemaker_llm.serving.families import container_findings

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


@pytest.mark.parametrize("classes", [[], [None]])
def test_knows_a_model_whose_class_is_left_empty(classes: list[None]) -> None:
    """
    The catalogue's class stands where the configuration names none.
    """
    found = check_environment(
        {"HF_MODEL_ID": GEMMA_3},
        container="djl-lmi",
        version="0.30.0",
        accelerators=1,
        architecture={"architectures": classes},
    )

    assert "LLM901" in [one.code for one in found]


def test_an_option_of_tgi_may_be_left_unchecked() -> None:
    """
    What it asks for is not held against the model either.
    """
    checked = Tgi("3.2.0", options={"QUANTIZE": "awq"})
    unchecked = Tgi("3.2.0", unchecked_options={"QUANTIZE": "awq"})

    assert _refusals(checked, MISTRAL) == ["LLM927"]
    assert _refusals(unchecked, MISTRAL) == []


def test_an_isolated_container_of_lmi_fetches_no_vocabulary() -> None:
    """
    gpt-oss needs a file that is not among the model's.
    """
    container = Container(
        image=find_image("djl-lmi", "0.36.0"),
        environment={"HF_MODEL_ID": "openai/gpt-oss-20b"},
    )

    def codes(*, network_isolation: bool) -> list[str]:
        found = container_findings(
            container, accelerators=1, network_isolation=network_isolation
        )
        return [one.code for one in found]

    assert "LLM955" in codes(network_isolation=True)
    assert "LLM955" not in codes(network_isolation=False)
