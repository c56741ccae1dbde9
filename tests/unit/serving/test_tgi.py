"""
Text Generation Inference's configuration.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, S3Model, Tgi
from cdk_sagemaker_llm.findings import Severity

LLAMA = HuggingFaceModel("meta-llama/Llama-2-13b-chat-hf")


def test_the_reference_environment_is_written() -> None:
    """
    Reference deployment C, value for value.
    """
    serving = Tgi(
        "1.4.5",
        max_input_length=2048,
        max_total_tokens=4096,
        max_batch_total_tokens=16384,
    )

    container = serving.container(LLAMA, accelerators=1)

    assert container.environment == {
        "HF_MODEL_ID": "meta-llama/Llama-2-13b-chat-hf",
        "SM_NUM_GPUS": "1",
        "MAX_INPUT_LENGTH": "2048",
        "MAX_TOTAL_TOKENS": "4096",
        "MAX_BATCH_TOTAL_TOKENS": "16384",
    }
    assert container.files == {}
    assert container.token_variables == ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


@pytest.mark.parametrize("quantize", ["gptq", "awq"])
def test_quantization_is_passed_on(quantize: str) -> None:
    """
    The optional setting of reference deployment C.
    """
    container = Tgi("1.4.5", quantize=quantize).container(LLAMA, accelerators=1)

    assert container.environment["HF_MODEL_QUANTIZE"] == quantize


def test_the_gpus_of_a_copy_are_used_unless_said_otherwise() -> None:
    """
    ``num_gpus`` wins over what the copy reserves.
    """
    ours = Tgi("1.4.5").container(LLAMA, accelerators=4).environment
    theirs = Tgi("1.4.5", num_gpus=2).container(LLAMA, accelerators=4).environment

    assert ours["SM_NUM_GPUS"] == "4"
    assert theirs["SM_NUM_GPUS"] == "2"


def test_weights_on_s3_are_put_in_place_by_sagemaker() -> None:
    """
    TGI reads a local path, never an S3 address.
    """
    container = Tgi("1.4.5").container(S3Model("s3://b/weights/"), accelerators=1)

    assert container.environment["HF_MODEL_ID"] == "/opt/ml/model"
    assert container.weights_uri == "s3://b/weights/"


@pytest.mark.parametrize(
    ("serving", "codes"),
    [
        (Tgi("1.4.6"), ["LLM102"]),
        (Tgi("1.4.5", max_input_length=0), ["LLM111"]),
        (Tgi("1.4.5", max_input_length=8, max_total_tokens=8), ["LLM115"]),
        (Tgi("1.4.5", max_total_tokens=8, max_batch_total_tokens=7), ["LLM116"]),
    ],
    ids=str,
)
def test_fails_if_a_value_is_wrong(serving: Tgi, codes: list[str]) -> None:
    """
    The launcher would exit on each of them.
    """
    found = serving.findings(LLAMA)

    assert [f.code for f in found if f.severity is Severity.ERROR] == codes


def test_fails_without_a_model() -> None:
    """
    The image exits without HF_MODEL_ID.
    """
    assert "LLM112" in [f.code for f in Tgi("1.4.5").findings(None)]
