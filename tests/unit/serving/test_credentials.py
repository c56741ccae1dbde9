"""
Credentials in plain text.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.serving.credentials import credential_findings

# Issuers' prefixes stand apart from what follows, so that no file holds a token.
HF, SK = "hf" + "_", "sk" + "-"
PAT = "github" + "_pat_"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (HF + "a" * 20, "a Hugging Face token"),
        (HF + "aZ09" * 9, "a Hugging Face token"),
        (f"Bearer {HF}{'a' * 34}", "a Hugging Face token"),
        (f"x={HF}{'a' * 34}&y=1", "a Hugging Face token"),
        ("AKIA" + "A1Z9" * 4, "an AWS access key"),
        ("ASIA" + "A1Z9" * 4, "an AWS access key"),
        (f"key:{'ASIA' + 'B' * 16}", "an AWS access key"),
        ("gh" + "p_" + "a" * 20, "a GitHub token"),
        ("gh" + "o_" + "a" * 36, "a GitHub token"),
        ("gh" + "u_" + "a" * 36, "a GitHub token"),
        ("gh" + "s_" + "a" * 36, "a GitHub token"),
        ("gh" + "r_" + "a" * 36, "a GitHub token"),
        (PAT + "a" * 20, "a GitHub token"),
        (PAT + "11ABCDEFG0" * 2 + "_" + "aZ09" * 14, "a GitHub token"),
        (SK + "a" * 20, "an OpenAI key"),
        (SK + "proj-" + "aZ_9-" * 8, "an OpenAI key"),
    ],
    ids=lambda value: value[:12],
)
def test_each_issuers_form_is_known(value: str, kind: str) -> None:
    """
    The shortest of each, and what stands around it; the whole message.
    """
    (found,) = credential_findings("environment", {"MY_KEY": value})

    assert str(found) == (
        f"LLM107 MY_KEY in environment looks like {kind}; keep it in Secrets Manager "
        "and pass HuggingFaceModel(..., token=secret)"
    )


@pytest.mark.parametrize(
    "value",
    [
        HF + "a" * 19,
        HF.upper() + "a" * 34,
        f"x{HF}{'a' * 34}",
        HF + "a-" * 17,
        "AKIA" + "A" * 15,
        "AKIA" + "A" * 17,
        "AKIA" + "a" * 16,
        "ASIA" + "A" * 15,
        "AXIA" + "A" * 16,
        "xASIA" + "A" * 16,
        "gh" + "p_" + "a" * 19,
        "gh" + "x_" + "a" * 36,
        "x" + "gh" + "p_" + "a" * 36,
        PAT + "a" * 19,
        "x" + PAT + "a" * 36,
        SK + "a" * 19,
        "a" + SK + "a" * 36,
        "",
    ],
    ids=lambda value: value[:12],
)
def test_what_is_nearly_of_a_form_passes(value: str) -> None:
    """
    Too short, too long, of other letters, or inside a word.
    """
    assert credential_findings("environment", {"MY_KEY": value}) == []


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("HF_TOKEN", "x", True),
        ("HUGGING_FACE_HUB_TOKEN", "x", True),
        ("HF_API_TOKEN", "x", True),
        ("hf_token", "x", True),
        ("HF_TOKEN", "", False),
        ("HF_TOKENS", "x", False),
        ("HF_TOKEN", "{{resolve:secretsmanager:hub}}", False),
        ("HF_TOKEN", "x{{resolve:secretsmanager:hub}}", True),
        ("X", "{{resolve:secretsmanager:" + HF + "a" * 34 + "}}", False),
        ("X", "${Token[TOKEN.1]}" + HF + "a" * 34, False),
    ],
)
def test_what_names_a_token_holds_a_reference(
    name: str, value: str, *, found: bool
) -> None:
    """
    By its variable's name, whatever it looks like.
    """
    told = [str(f) for f in credential_findings("options", {name: value})]

    assert told == [
        (
            f"LLM107 {name} in options looks like a Hugging Face token; keep it in "
            f"Secrets "
            "Manager and pass HuggingFaceModel(..., token=secret)"
        )
    ] * int(found)


def test_each_value_is_told_of() -> None:
    """
    In the order given.
    """
    values = {"B": HF + "a" * 34, "C": "fine", "A": SK + "a" * 34}

    assert [f.message.split()[0] for f in credential_findings("options", values)] == [
        "B",
        "A",
    ]


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
