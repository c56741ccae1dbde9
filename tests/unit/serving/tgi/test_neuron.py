"""
Text Generation Inference on Neuron devices.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from aws_cdk import SecretValue

from cdk_sagemaker_llm import HuggingFaceModel, S3Model
from cdk_sagemaker_llm.catalog.images import find_image, image_versions
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.serving.base import Container, Prepared
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


# By keyword: a value, and the variable that it becomes.
PARAMETERS: list[tuple[str, Any, tuple[str, str]]] = [
    ("num_cores", 2, ("HF_NUM_CORES", "2")),
    ("auto_cast_type", "fp16", ("HF_AUTO_CAST_TYPE", "fp16")),
    ("max_batch_size", 4, ("MAX_BATCH_SIZE", "4")),
    ("max_input_length", 3686, ("MAX_INPUT_LENGTH", "3686")),
    ("max_total_tokens", 4096, ("MAX_TOTAL_TOKENS", "4096")),
    ("max_batch_prefill_tokens", 1, ("MAX_BATCH_PREFILL_TOKENS", "1")),
    ("options", {"HF_SEQUENCE_LENGTH": 8}, ("HF_SEQUENCE_LENGTH", "8")),
    ("unchecked_options", {"LOG_LEVEL": "debug"}, ("LOG_LEVEL", "debug")),
]


def test_every_parameter_has_a_row() -> None:
    """
    A new one comes with the variable that it becomes.
    """
    assert {row[0] for row in PARAMETERS} | {"version", "image"} == set(
        inspect.signature(TgiNeuron).parameters
    )


@pytest.mark.parametrize(
    ("keyword", "value", "variable"), PARAMETERS, ids=[row[0] for row in PARAMETERS]
)
def test_a_parameter_becomes_its_variable_alone(
    keyword: str, value: object, variable: tuple[str, str]
) -> None:
    """
    Beside the model.
    """
    serving = TgiNeuron("0.0.28", **{keyword: value})  # type: ignore[arg-type] # any of all

    assert container_of(serving, HuggingFaceModel("a/b"), None).environment == {
        "HF_MODEL_ID": "a/b",
        variable[0]: variable[1],
    }


def test_all_that_it_answers() -> None:
    """
    The container, the warning of its end, and no demand, which is not modelled.
    """
    prepared = TgiNeuron("0.0.28").prepare(S3Model("s3://b/p/"), 2)

    assert prepared == Prepared(
        Container(
            image=find_image("huggingface-llm-neuronx", "0.0.28"),
            files={},
            environment={"HF_MODEL_ID": "/opt/ml/model"},
            token_variables=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
            weights_uri="s3://b/p/",
            loading_seconds=None,
            start_up_seconds=None,
        ),
        prepared.findings,
        None,
    )
    assert [f.code for f in prepared.findings] == ["LLM201"]


NUMBER_AT_DEPLOYMENT = int(-1.8881545897087e289)


@pytest.mark.parametrize(
    ("serving", "expected"),
    [
        (
            TgiNeuron("9.9.9"),
            [
                (
                    "LLM102 image huggingface-llm-neuronx has no version '9.9.9'; use "
                    "0.3.0, 0.2.0 or 0.0.28"
                )
            ],
        ),
        *(
            (
                TgiNeuron("0.0.28", **{keyword: 0}),  # type: ignore[arg-type] # one of all
                [f"LLM111 {keyword} must be at least 1, got 0"],
            )
            for keyword in (
                "num_cores",
                "max_batch_size",
                "max_input_length",
                "max_total_tokens",
                "max_batch_prefill_tokens",
            )
        ),
        (
            TgiNeuron("0.0.28", max_input_length=8, max_total_tokens=8),
            ["LLM115 max_input_length must be below max_total_tokens, got 8 and 8"],
        ),
        (TgiNeuron("0.0.28", max_input_length=7, max_total_tokens=8), []),
        (
            TgiNeuron(
                "0.0.28", max_input_length=8, max_total_tokens=NUMBER_AT_DEPLOYMENT
            ),
            [
                (
                    "LLM114 max_total_tokens is known only at deployment, and is "
                    "checked at synth; pass a number"
                )
            ],
        ),
        (
            TgiNeuron("0.0.28", auto_cast_type="bf61"),
            [
                (
                    "LLM180 auto_cast_type must be bf16 or fp16, got 'bf61'; did you "
                    "mean bf16?"
                )
            ],
        ),
        (
            TgiNeuron("0.0.28", auto_cast_type="zzz"),
            ["LLM180 auto_cast_type must be bf16 or fp16, got 'zzz'"],
        ),
        (
            TgiNeuron("0.0.28", options={"HF_SEQUENCE_LENGTH": 8, "HF_BATCH_SIZE": 4}),
            [
                (
                    "LLM270 HF_BATCH_SIZE is known of early Neuron images only; set "
                    "max_batch_size and max_total_tokens"
                ),
                (
                    "LLM270 HF_SEQUENCE_LENGTH is known of early Neuron images only; "
                    "set max_batch_size and max_total_tokens"
                ),
            ],
        ),
        (
            TgiNeuron("0.0.28", options={"HF_NUM_CORE": 2, "MAX_BEST": 1}),
            [
                (
                    "LLM160 HF_NUM_CORE is no option of TGI's launcher; write "
                    "HF_NUM_CORES, or pass it in unchecked_options if something else "
                    "reads it"
                ),
                (
                    "LLM160 MAX_BEST is no option of TGI's launcher; write "
                    "MAX_BEST_OF, or pass it in unchecked_options if something else "
                    "reads it"
                ),
            ],
        ),
        (
            TgiNeuron(
                "0.0.28",
                options={"HF_NUM_CORES": 2, "HF_MODEL_QUANTIZE": "awq", "PORT": 8080},
                unchecked_options={"MODEL_ID": "a/b", "PORT": 8080},
            ),
            [
                (
                    "LLM163 MODEL_ID is set twice: a parameter or another option sets "
                    "it already; keep one of them"
                ),
                (
                    "LLM163 PORT is set twice: a parameter or another option sets it "
                    "already; keep one of them"
                ),
            ],
        ),
        (
            TgiNeuron("0.0.28", unchecked_options={"HF_TOKEN": "x"}),
            [
                (
                    "LLM107 HF_TOKEN in unchecked_options looks like a Hugging Face "
                    "token; keep it in Secrets Manager and pass HuggingFaceModel(..., "
                    "token=secret)"
                )
            ],
        ),
    ],
    ids=lambda value: "" if isinstance(value, TgiNeuron) else "".join(value)[:40],
)
def test_what_is_said_in_the_callers_words(
    serving: TgiNeuron, expected: list[str]
) -> None:
    """
    Word for word, and an error stands in the way of a container.
    """
    prepared = serving.prepare(HuggingFaceModel("a/b"), 2)
    found = [str(f) for f in prepared.findings]
    refused = any(line.startswith("LLM1") for line in expected)

    assert [line for line in found if not line.startswith("LLM201")] == expected
    assert (prepared.container is None) == refused


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (None, ["LLM112 model is missing: TGI needs HF_MODEL_ID"]),
        (
            HuggingFaceModel("meta-llama/Meta-Llama-3-8B"),
            [
                (
                    "LLM214 meta-llama/Meta-Llama-3-8B has been gated on the Hugging "
                    "Face Hub, and no token is set; pass HuggingFaceModel(..., "
                    "token=secret), or stage the weights on S3"
                )
            ],
        ),
        (
            HuggingFaceModel(
                "meta-llama/Meta-Llama-3-8B", token=SecretValue.secrets_manager("hub")
            ),
            [],
        ),
        (HuggingFaceModel("a/b"), []),
        (S3Model("s3://b/p/"), []),
    ],
    ids=["none", "gated", "gated with a token", "public", "on S3"],
)
def test_what_is_said_of_the_model(
    model: HuggingFaceModel | S3Model | None, expected: list[str]
) -> None:
    """
    Whether there is one, and whether it may be downloaded.
    """
    found = [str(f) for f in findings_of(TgiNeuron("0.0.28"), model)]

    assert [line for line in found if not line.startswith("LLM201")] == expected


def codes(serving: TgiNeuron, severity: Severity | None = None) -> list[str]:
    """
    Return the codes of what is found, but for the end of the family.
    """
    found = findings_of(serving, MODEL)
    return [
        f.code for f in found if f.code != "LLM201" and severity in (None, f.severity)
    ]
