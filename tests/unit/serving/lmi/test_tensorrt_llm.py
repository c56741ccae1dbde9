"""
TensorRT-LLM's configuration.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, S3Model, TensorRtLlm
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.models import ModelSource
from tests.unit.serving.answers import container_of, findings_of

MISTRAL = HuggingFaceModel("mistralai/Mistral-7B-v0.1")
UNRESOLVED = "s3://${Token[Bucket.Ref.1]}/weights/"


def written(serving: TensorRtLlm, model: ModelSource | None = MISTRAL) -> str:
    """
    Return the serving.properties of a configuration.
    """
    files = container_of(serving, model, 4).files
    return files["serving.properties"].decode()


def errors(serving: TensorRtLlm, model: ModelSource | None = MISTRAL) -> list[str]:
    """
    Return the codes of the errors found.
    """
    found = findings_of(serving, model)
    return [f.code for f in found if f.severity is Severity.ERROR]


def test_the_reference_file_is_written() -> None:
    """
    Reference deployment A, line by line.
    """
    serving = TensorRtLlm("0.26.0", tensor_parallel_degree=4, max_rolling_batch_size=16)

    assert written(serving) == (
        "engine=MPI\n"
        "option.tensor_parallel_degree=4\n"
        "option.model_id=mistralai/Mistral-7B-v0.1\n"
        "option.max_rolling_batch_size=16\n"
        "option.rolling_batch=auto\n"
    )
    assert errors(serving) == []


def test_the_last_image_has_its_own_engine() -> None:
    """
    LMI 0.33 serves through TensorRT-LLM's asynchronous API.
    """
    lines = written(TensorRtLlm("0.33.0")).splitlines()

    assert lines[0] == "engine=Python"
    assert "option.rolling_batch=disable" in lines
    assert "option.mpi_mode=true" in lines


def test_options_follow_in_order() -> None:
    """
    The same options in another order give the same file.
    """
    options = {"option.max_output_len": 512, "option.max_input_len": 1024}

    lines = written(TensorRtLlm("0.26.0", options=options)).splitlines()

    assert lines[-2:] == ["option.max_input_len=1024", "option.max_output_len=512"]


def test_weights_on_s3_are_named_in_the_file() -> None:
    """
    The container downloads an uncompressed prefix itself.
    """
    text = written(TensorRtLlm("0.26.0"), S3Model("s3://bucket/weights/"))

    assert "option.model_id=s3://bucket/weights/\n" in text


def test_a_bucket_known_at_deployment_travels_as_a_variable() -> None:
    """
    A placeholder is never written into a file.
    """
    serving = TensorRtLlm("0.26.0")
    container = container_of(serving, S3Model(UNRESOLVED), 4)

    assert b"Token" not in container.files["serving.properties"]
    assert container.environment == {"OPTION_MODEL_ID": UNRESOLVED}


@pytest.mark.parametrize(
    ("serving", "code"),
    [
        (TensorRtLlm("0.26.1"), "LLM102"),
        (TensorRtLlm("0.26.0", tensor_parallel_degree=0), "LLM137"),
        (TensorRtLlm("0.26.0", max_rolling_batch_size=0), "LLM137"),
        (TensorRtLlm("0.26.0", model_loading_timeout=-1), "LLM137"),
        (TensorRtLlm("0.26.0", options={"engine": "Python"}), "LLM113"),
        (TensorRtLlm("0.26.0", options={"option.revision": "é"}), "LLM114"),
        (
            TensorRtLlm("0.26.0", options={"option.revision": "hf_" + "a" * 30}),
            "LLM107",
        ),
    ],
    ids=str,
)
def test_fails_if_a_value_is_wrong(serving: TensorRtLlm, code: str) -> None:
    """
    Each fault has its own code.
    """
    assert errors(serving) == [code]


def test_fails_if_nothing_names_the_weights() -> None:
    """
    Without a model the container would start empty.
    """
    assert errors(TensorRtLlm("0.26.0"), None) == ["LLM112"]


def test_warns_that_the_images_have_ended() -> None:
    """
    It runs, but gets no fixes.
    """
    (found,) = findings_of(TensorRtLlm("0.26.0"), MISTRAL)

    assert found.severity is Severity.WARNING
    assert found.code == "LLM201"
