"""
What messages leave out: placeholders, and whatever looks like a credential.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.serving.lmi.environment.findings import lmi_findings

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
