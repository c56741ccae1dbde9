"""
What looks like a credential is in no message.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from aws_cdk import Stack

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    LlmEndpoint,
    LmiVllm,
    Model,
    S3Model,
    ServingFolder,
    Tgi,
)
from cdk_sagemaker_llm.findings import Rule
from cdk_sagemaker_llm.serving import (
    ServingConfiguration,
    check_environment,
    check_properties,
)
from cdk_sagemaker_llm.text import kind_of, redacted
from tests.unit.serving.lmi.artifacts import made, written

TOKEN = "hf" + "_" + "aB3" * 11
URI = "1" * 12 + ".dkr.ecr.eu-west-1.amazonaws.com/x:1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"got '{TOKEN}'", "got '***'"),
        (f"{TOKEN} and {TOKEN}", "*** and ***"),
        ("AKIA" + f"{'A1Z9' * 4} and {TOKEN}", "*** and ***"),
        ("https://" + f"me:{TOKEN}@x", "https://me:***@x"),
        ("https://" + f"me:b-{TOKEN}-c@x", "https://me:***@x"),
        ("-----BEGIN " + "PRIVATE KEY-----\nMII\n-----END", "***-----END"),
        ("https://" + "me:h@x0r@x/y@z", "https://me:***@x/y@z"),
        ("nothing", "nothing"),
        ("", ""),
    ],
)
def test_a_credential_is_three_stars(text: str, expected: str) -> None:
    """
    What stands around it is kept.
    """
    assert redacted(text) == expected


def test_no_finding_repeats_a_credential() -> None:
    """
    Whatever the rule is, in message and remedy.
    """
    found = Rule("LLM199", "x").finding(f"got {TOKEN!r}", f"write {TOKEN}")

    assert str(found) == "LLM199 got '***'; write ***"


@pytest.mark.parametrize("option", ["dtype", "quantize", "revision", TOKEN, "x"])
def test_no_check_of_a_text_repeats_it(option: str) -> None:
    """
    Nor the one that quotes an unknown value, or looks for the nearest name.
    """
    text = f"engine=Python\noption.{option}={TOKEN}\n"
    of_text = check_properties(
        text, container="djl-lmi", version="0.36.0", accelerators=1, strict=True
    )
    of_variables = check_environment(
        {"HF_MODEL_ID": "a/b", "QUANTIZE": TOKEN, "NUM_SHARD": TOKEN, TOKEN: "1"},
        container="huggingface-llm",
        version="3.3.6",
        accelerators=1,
    )

    assert TOKEN not in "".join(map(str, [*of_text, *of_variables]))


def test_an_address_of_weights_is_not_repeated() -> None:
    """
    Not even where its form is wrong.
    """
    with pytest.raises(ValueError, match=r"got 'a/b/\*\*\*'"):
        HuggingFaceModel(f"a/b/{TOKEN}")
    with pytest.raises(ValueError, match=r"no model 'a/\*\*\*' in the catalogue"):
        HuggingFaceModel("a/b", architecture=f"a/{TOKEN}")
    with pytest.raises(ValueError, match=r"got 's3://b/\*\*\*'"):
        S3Model(f"s3://b/{TOKEN}")


def test_fails_if_a_credential_is_anywhere(stack: Stack) -> None:
    """
    In what names the weights, in options however nested, in files and in variables.
    """
    gpt2 = HuggingFaceModel("gpt2")
    code = {"model.py": f"x = '{TOKEN}'".encode()}
    definitions: list[
        tuple[ServingConfiguration, HuggingFaceModel, dict[str, str] | None]
    ] = [
        (LmiVllm(), HuggingFaceModel(TOKEN), None),
        (Tgi("3.3.6"), HuggingFaceModel("a/b", revision=TOKEN), None),
        (LmiVllm(options={"option.env": f'{{"a": "{TOKEN}"}}'}), gpt2, None),
        (LmiVllm(unchecked_options={"option.x": TOKEN}), gpt2, None),
        (LmiVllm(dtype=TOKEN), gpt2, None),
        (CustomContainer.from_uri(URI, environment={"X": TOKEN}), gpt2, None),
        (CustomContainer.from_uri(URI, files=code), gpt2, None),
        (LmiVllm(), gpt2, {"X": TOKEN}),
    ]
    for number, (serving, model, environment) in enumerate(definitions):
        with pytest.raises(ValueError, match="LLM1") as raised:
            Model(
                stack,
                f"It{number}",
                serving=serving,
                model=model,
                environment=environment,
            )
        assert TOKEN not in str(raised.value)
        assert "LLM107" in str(raised.value) or "dtype" in str(raised.value)


@pytest.mark.parametrize("name", ["model_py", "requirements_txt", "nested_json"])
def test_fails_if_a_folder_holds_one(name: str, stack: Stack, tmp_path: Path) -> None:
    """
    In any of its text files.
    """
    folder = made(tmp_path / "x", written(**{name: TOKEN.encode()}))
    serving = ServingFolder(
        folder, container_family="djl-tensorrtllm", version="0.26.0"
    )

    with pytest.raises(ValueError, match="LLM107 line 1 of ") as raised:
        LlmEndpoint(stack, "It", serving=serving, instance_type="ml.g5.12xlarge")
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize(
    "part", ["a", "a1 ", "://a:", "-----BEGIN ", "sk-", "hf_", "aws_secret_access_key "]
)
def test_a_large_text_takes_no_long_time(part: str) -> None:
    """
    A vocabulary has tens of megabytes: the time grows with them, not with their square.
    """
    begun = time.process_time()
    kind_of(part * (4_000_000 // len(part)))

    assert time.process_time() - begun < 5
