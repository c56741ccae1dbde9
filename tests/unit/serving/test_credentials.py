"""
Credentials in plain text.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.serving.credentials import credential_findings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "hf_" + "aB3" * 11),
        ("X", "Bearer hf_" + "aB3" * 11),
        ("X", "AKIA" + "ABCD" * 4),
        ("X", "ghp_" + "a" * 36),
        ("X", "sk-" + "a" * 30),
        ("HF_TOKEN", "anything"),
        ("hugging_face_hub_token", "anything"),
    ],
)
def test_a_credential_is_found_and_not_repeated(name: str, value: str) -> None:
    """
    The message may end up in a log.
    """
    (found,) = credential_findings("environment", {name: value})

    assert found.code == "LLM107"
    assert name in found.message
    assert value not in str(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "{{resolve:secretsmanager:hub:SecretString:::}}"),
        ("HF_TOKEN", "${Token[TOKEN.12]}"),
        ("HF_MODEL_ID", "hf_internal/tiny"),
        ("X", "skip-this-one"),
    ],
)
def test_references_and_ordinary_values_pass(name: str, value: str) -> None:
    """
    A reference is the right way; a name that begins alike is no token.
    """
    assert credential_findings("environment", {name: value}) == []
