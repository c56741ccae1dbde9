"""
What the names of GGUF files and repositories say, and who can load them.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, LlamaCpp, S3Model, Sglang, Vllm
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.engines.checks.engine_models import (
    gguf_type_of,
    names_gguf,
)
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings
from tests.unit.serving.answers import findings_of

REQUIREMENTS = {"requirements.txt": b"vllm-gguf-plugin\n"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Qwen/Qwen3-8B-GGUF:Q4_K_M", "Q4_K_M"),
        ("unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL", "Q4_K_XL"),
        ("Qwen/Qwen3-8B-GGUF:q8_0", "Q8_0"),
        ("qwen3-8b-q4_k_m-00001-of-00002.gguf", "Q4_K_M"),
        ("folder/llama-2-7b.Q5_K_S.gguf", "Q5_K_S"),
        ("model-IQ2_XXS.gguf", "IQ2_XXS"),
        ("model.IQ4_NL.gguf", "IQ4_NL"),
        ("model-Q6_K.gguf", "Q6_K"),
        ("model-Q2_K_L.GGUF", "Q2_K_L"),
        ("model-f16.gguf", "F16"),
        ("model-bf16.gguf", "BF16"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("model-TQ1_0.gguf", "TQ1_0"),
        ("Q4_K_M.gguf", "Q4_K_M"),
        # The last one counts: a model may be called after another type.
        ("made-from-f16-Q4_0.gguf", "Q4_0"),
        # A folder is not the file.
        ("Q4_K_M/model.gguf", None),
        ("Q4_K_M/model", None),
        ("folder:Q4_K_M/model.gguf", None),
        ("folder/model-Q4_K_M", "Q4_K_M"),
        ("model.gguf", None),
        ("Qwen/Qwen3-8B-GGUF", None),
        ("Qwen/Qwen3-8B-GGUF:latest", None),
        # The beginning or the end of another word.
        ("modelq4_0.gguf", None),
        ("model-q4_0x.gguf", None),
        ("", None),
    ],
)
def test_a_name_tells_the_type(name: str, expected: str | None) -> None:
    """
    In capitals, as llama.cpp has them.
    """
    assert gguf_type_of(name) == expected


def test_the_first_name_that_tells_one_counts() -> None:
    """
    What is left out is passed over.
    """
    assert gguf_type_of(None, "x.gguf", "a/b:Q8_0", "a/b:Q4_0") == "Q8_0"
    assert gguf_type_of(None) is None


@pytest.mark.parametrize(
    ("name", "says_so"),
    [
        ("Qwen/Qwen3-8B-GGUF", True),
        ("Qwen/Qwen3-8B-GGUF:Q4_K_M", True),
        ("TheBloke/model_gguf", True),
        ("a/gguf-models", True),
        ("/opt/ml/model/x.gguf", True),
        ("a/ggufinder", False),
        ("mistralai/Mistral-7B-v0.1", False),
    ],
)
def test_a_name_says_that_it_is_of_gguf(name: str, *, says_so: bool) -> None:
    """
    As a word of its own.
    """
    assert names_gguf(name) is says_so


def codes(found: list[Finding]) -> list[str]:
    """
    Return the codes of what was found.
    """
    return [each.code for each in found]


@pytest.mark.parametrize(
    ("serving", "model", "expected"),
    [
        # In 2.1 is vLLM 0.24.0, which has no loader; in 2.0 is one before.
        (Vllm(), "a/b-GGUF:Q4_K_M", ["LLM525"]),
        (Vllm("2.1"), "a/b-GGUF:Q4_K_M", ["LLM525"]),
        (Vllm("2.0"), "a/b-GGUF:Q4_K_M", []),
        (Vllm("0.24.0"), "a/b:UD-Q4_K_XL", ["LLM525"]),
        (Vllm("0.23.0"), "a/b:UD-Q4_K_XL", []),
        (Vllm(), "a/b.gguf", ["LLM525"]),
        (Vllm("0.23.0"), "a/b.gguf", []),
        (Vllm("0.30.0", distribution="huggingface"), "a/b.gguf", ["LLM525"]),
        (Vllm(), "a/b-GGUF", ["LLM629"]),
        (Vllm("0.23.0"), "a/b-GGUF", ["LLM629"]),
        (Vllm(), "a/b", []),
        # What an image of one's own has installed nobody knows.
        (Vllm(image="server-sagemaker-cuda-v2.7"), "a/b:Q4_K_M", ["LLM224", "LLM632"]),
        (Vllm(files=REQUIREMENTS), "a/b:Q4_K_M", []),
        (Sglang(), "a/b-GGUF", ["LLM629"]),
        (Sglang(), "a/b-GGUF:Q4_K_M", ["LLM629"]),
        (Sglang(), "a/b.gguf", []),
        (LlamaCpp(), "a/b-GGUF", []),
        (LlamaCpp(), "a/b:Q4_K_M", []),
        (LlamaCpp(), "a/b", ["LLM625"]),
        (LlamaCpp(hf_file="x.gguf"), "a/b", []),
        (LlamaCpp(hf_file="x.safetensors"), "a/b-GGUF", ["LLM625"]),
    ],
)
def test_each_engine_is_given_what_it_loads(
    serving: Vllm | Sglang | LlamaCpp, model: str, expected: list[str]
) -> None:
    """
    What its source shows to fail is refused; where a name alone speaks, it is told.
    """
    assert codes(findings_of(serving, HuggingFaceModel(model), 1)) == expected


def test_the_way_out_is_named() -> None:
    """
    Another engine, a package, or another release.
    """
    (found,) = findings_of(Vllm(), HuggingFaceModel("a/b-GGUF:Q4_K_M"), 1)

    assert str(found) == (
        "LLM525 model=a/b-GGUF:Q4_K_M is a GGUF file, and vLLM 0.30.0 has no "
        "loader of its own for it; serve it with LlamaCpp, or bring a requirements.txt "
        "with vllm-gguf-plugin, or take a version with vLLM before 0.24.0"
    )


@pytest.mark.parametrize(
    ("model_data", "expected"),
    [(None, ["LLM632"]), (["x.gguf"], ["LLM632"]), (["requirements.txt"], [])],
)
def test_an_environment_is_not_refused_for_it(
    model_data: list[str] | None, expected: list[str]
) -> None:
    """
    The image may have the package; with a requirements.txt it has what that says.
    """
    found = engine_findings(
        {"SM_VLLM_MODEL": "/opt/ml/model/x.gguf"},
        family="vllm-server",
        version="2.6",
        accelerators=1,
        model_data=model_data,
    )

    assert codes(found) == expected


def test_files_on_s3_are_llama_cpps_own_to_name() -> None:
    """
    Safetensors are none; nothing is known of a prefix.
    """
    weights = S3Model("s3://bucket/prefix/")

    assert codes(findings_of(LlamaCpp(model="x.safetensors"), weights, 0)) == ["LLM625"]
    assert findings_of(LlamaCpp(model="x.gguf"), weights, 0) == []
    assert findings_of(LlamaCpp(), weights, 0) == []
