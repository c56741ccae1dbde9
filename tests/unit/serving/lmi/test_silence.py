"""
What messages leave out: placeholders, and whatever looks like a credential.
"""

from __future__ import annotations

import pytest
from aws_cdk import Token

from cdk_sagemaker_llm.serving.lmi.lmi_family import lmi_findings

AT_DEPLOYMENT = "${Token[TOKEN.1]}"
CREDENTIAL = "hf" + "_" + "a" * 34


def messages(environment: dict[str, str], file: dict[str, str]) -> list[str]:
    """
    Return what is said of variables beside a file.
    """
    found = lmi_findings(
        environment, container="djl-lmi", version="0.36.0", accelerators=4, file=file
    )
    return [finding.message for finding in found]


@pytest.mark.parametrize(
    ("name", "given", "written", "shown"),
    [
        ("dtype", AT_DEPLOYMENT, "fp16", "option.dtype=fp16"),
        ("hf_token", CREDENTIAL, CREDENTIAL[:-1], "option.hf_token"),
        ("revision", CREDENTIAL, CREDENTIAL[:-1], "option.revision"),
    ],
)
def test_values_that_must_not_be_shown_are_left_out(
    name: str, given: str, written: str, shown: str
) -> None:
    """
    The names say enough.
    """
    variable = f"OPTION_{name.upper()}"
    file = {"engine": "Python", f"option.{name}": written}
    said = messages({variable: given}, file)

    wins = f"{shown} in serving.properties wins over it"
    assert f"{variable} has no effect: {wins}" in said
    assert not any(given in one for one in said)


def test_a_model_that_deployment_names_may_be_the_folders_own() -> None:
    """
    ``/opt/ml/model`` is no second model.
    """
    file = {"engine": "Python", "option.model_id": "a/b"}

    assert messages({"HF_MODEL_ID": AT_DEPLOYMENT}, file) == []


TOO_MANY = {"HF_MODEL_ID": "a/b", "TENSOR_PARALLEL_DEGREE": "8"}


def codes(
    environment: dict[str, str], accelerators: float = 4, image: str = "djl-lmi 0.36.0"
) -> list[str]:
    """
    Return the codes of what is found of variables alone.
    """
    container, version = image.split()
    found = lmi_findings(
        environment,
        container=container,
        version=version,
        accelerators=accelerators,  # type: ignore[arg-type]  # a placeholder is a float
    )
    return [finding.code for finding in found]


@pytest.mark.parametrize(
    "name",
    [
        "DJL_ENTRY_POINT",
        "OPTION_ASYNC_MODE",
        "OPTION_BATCH_SIZE",
        "OPTION_ENGINE",
        "OPTION_ENTRYPOINT",
        "OPTION_MPI_MODE",
        "OPTION_ROLLING_BATCH",
        "SERVING_LOAD_MODELS",
    ],
)
def test_nothing_is_said_where_the_backend_is_not_known(name: str) -> None:
    """
    Deployment chooses it, and with it every rule.
    """
    assert codes({**TOO_MANY, name: AT_DEPLOYMENT}) == []
    assert codes({**TOO_MANY, "OPTION_DTYPE": AT_DEPLOYMENT}) == ["LLM154"]


def test_devices_that_deployment_decides_are_not_counted() -> None:
    """
    A placeholder for a number is a number of no meaning.
    """
    assert codes(TOO_MANY, Token.as_number({"Ref": "Devices"})) == []
    assert codes(TOO_MANY) == ["LLM154"]


def test_what_deployment_sets_is_not_missed() -> None:
    """
    NeuronX 0.29 wants it written, and it is.
    """
    image, name = "djl-neuronx 0.29.0", "OPTION_TENSOR_PARALLEL_DEGREE"

    assert codes({"HF_MODEL_ID": "a/b"}, 2, image) == ["LLM225"]
    assert codes({"HF_MODEL_ID": "a/b", name: AT_DEPLOYMENT}, 2, image) == []
