"""
Text Generation Inference on Neuron devices.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, S3Model
from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.serving.tgi.neuron import FAMILY, TgiNeuron
from tests.unit.serving.answers import container_of, findings_of

MODEL = HuggingFaceModel("a/b", revision="main")


def test_every_parameter_becomes_its_variable() -> None:
    """
    The shape that the model is compiled for.
    """
    serving = TgiNeuron(
        "0.0.28",
        num_cores=2,
        auto_cast_type="bf16",
        max_batch_size=4,
        max_input_length=3686,
        max_total_tokens=4096,
        max_batch_prefill_tokens=4096,
        options={"MAX_CONCURRENT_REQUESTS": 8},
        unchecked_options={"LOG_LEVEL": "debug"},
    )

    container = container_of(serving, MODEL, 1)

    assert codes(serving) == []
    assert container.image.repository == "huggingface-pytorch-tgi-inference"
    assert container.environment == {
        "HF_MODEL_ID": "a/b",
        "HF_MODEL_REVISION": "main",
        "HF_NUM_CORES": "2",
        "HF_AUTO_CAST_TYPE": "bf16",
        "MAX_BATCH_SIZE": "4",
        "MAX_INPUT_LENGTH": "3686",
        "MAX_TOTAL_TOKENS": "4096",
        "MAX_BATCH_PREFILL_TOKENS": "4096",
        "MAX_CONCURRENT_REQUESTS": "8",
        "LOG_LEVEL": "debug",
    }


@pytest.mark.parametrize("version", image_versions(FAMILY))
def test_every_image_is_served_with_nothing_but_a_model(version: str) -> None:
    """
    The rest comes from the model's own compilation.
    """
    serving = TgiNeuron(version)

    assert codes(serving) == []
    assert container_of(serving, MODEL, 1).image.version == version


def test_weights_on_s3_are_put_in_place_by_sagemaker() -> None:
    """
    A model that was compiled before, for one.
    """
    model = S3Model("s3://b/compiled/")
    container = container_of(TgiNeuron("0.3.0"), model, 1)

    assert container.environment == {"HF_MODEL_ID": "/opt/ml/model"}
    assert container.weights_uri == "s3://b/compiled/"


@pytest.mark.parametrize(
    ("serving", "found"),
    [
        (TgiNeuron("1.4.5"), ["LLM102"]),
        (TgiNeuron("0.0.28", num_cores=0), ["LLM111"]),
        (TgiNeuron("0.0.28", max_total_tokens=int(-1.8881e289)), ["LLM114"]),
        (TgiNeuron("0.0.28", auto_cast_type="bfloat16"), ["LLM180"]),
        (TgiNeuron("0.0.28", max_input_length=8, max_total_tokens=8), ["LLM115"]),
        (TgiNeuron("0.0.28", options={"HF_NUM_CORE": 2}), ["LLM160"]),
        (TgiNeuron("0.0.28", num_cores=2, options={"HF_NUM_CORES": 2}), ["LLM163"]),
        (TgiNeuron("0.0.28", options={"API_KEY": f"hf_{'a' * 34}"}), ["LLM107"]),
    ],
    ids=lambda value: value if isinstance(value, list) else "",
)
def test_fails_if_a_value_is_wrong(serving: TgiNeuron, found: list[str]) -> None:
    """
    The container would stop, or go on without.
    """
    assert codes(serving, Severity.ERROR) == found


def test_fails_without_a_model() -> None:
    """
    The image exits without HF_MODEL_ID.
    """
    found = findings_of(TgiNeuron("0.0.28"), None)

    assert "LLM112" in [finding.code for finding in found]


def test_a_variable_of_early_images_is_doubted() -> None:
    """
    Not refused: no source tells when it was given up.
    """
    serving = TgiNeuron("0.0.28", options={"HF_BATCH_SIZE": 4})

    assert codes(serving) == ["LLM270"]


def test_a_gated_model_needs_a_token() -> None:
    """
    As on GPUs.
    """
    model = HuggingFaceModel("meta-llama/Meta-Llama-3-8B")
    found = findings_of(TgiNeuron("0.0.28"), model)

    assert "LLM214" in [finding.code for finding in found]


def codes(serving: TgiNeuron, severity: Severity | None = None) -> list[str]:
    """
    Return the codes of what is found, but for the end of the family.
    """
    found = findings_of(serving, MODEL)
    return [
        f.code for f in found if f.code != "LLM201" and severity in (None, f.severity)
    ]
