"""
Texts that are empty where they are to say something.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlamaCpp,
    ModelSource,
    S3Model,
    Sglang,
    TextEmbeddings,
    Vllm,
    VllmNeuron,
    VllmOmni,
)
from cdk_sagemaker_llm.serving.engines.base import EngineServing

ON_HUB, ON_S3 = HuggingFaceModel("a/b"), S3Model("s3://bucket/prefix/")


def told(serving: EngineServing, model: ModelSource = ON_HUB) -> list[str]:
    """
    Return what is found, but for what any model's name would do.
    """
    found = serving.prepare(model, 1).findings
    return [str(one) for one in found if one.code != "LLM625"]


@pytest.mark.parametrize(
    ("kind", "keyword"),
    [
        *((Vllm, word) for word in ("quantization", "served_model_name", "image")),
        *((Vllm, word) for word in ("chat_template", "tool_call_parser", "dtype")),
        *((Vllm, word) for word in ("reasoning_parser", "load_format")),
        *((Sglang, word) for word in ("quantization", "tool_call_parser")),
        *((LlamaCpp, word) for word in ("alias", "hf_file", "pooling", "model")),
        *((TextEmbeddings, word) for word in ("dtype", "default_prompt")),
        (VllmOmni, "cache_backend"),
        (VllmNeuron, "served_model_name"),
    ],
)
@pytest.mark.parametrize("text", ["", " \t"])
def test_an_empty_text_says_nothing(
    kind: type[EngineServing], keyword: str, text: str
) -> None:
    """
    One line of it, whatever the engine would make of it.
    """
    given: dict[str, Any] = {keyword: text}

    assert told(kind(**given)) == [
        f"LLM531 {keyword} is an empty text; leave it out, or say which"
    ]


def test_nor_does_one_of_several() -> None:
    """
    Beside others that say something.
    """
    serving = Vllm(served_model_name=["a", ""], max_num_seqs=0)

    assert told(serving) == [
        "LLM531 served_model_name is an empty text; leave it out, or say which",
        "LLM507 max_num_seqs must be at least 1, got 0",
    ]
    assert serving.prepare(ON_HUB, 1).container is None
    assert told(Vllm(served_model_name=["a", "b"])) == []


@pytest.mark.parametrize(
    "kind", [Vllm, Sglang, LlamaCpp, TextEmbeddings, VllmOmni, VllmNeuron]
)
@pytest.mark.parametrize("where", ["options", "unchecked_options"])
@pytest.mark.parametrize("name", ["", "--"])
def test_an_option_has_a_name(kind: type[EngineServing], where: str, name: str) -> None:
    """
    Which is more than its dashes.
    """
    given: dict[str, Any] = {where: {name: "x"}}

    assert told(kind(**given)) == [
        f"LLM531 {where} has a name that is empty: {name!r}; name an argument"
    ]


def test_the_file_on_s3_has_a_name() -> None:
    """
    One that is left out, AWS's image looks for.
    """
    assert told(LlamaCpp(model=""), ON_S3) == [
        "LLM531 model is an empty text; leave it out, or say which"
    ]
    assert told(LlamaCpp(), ON_S3) == []


@pytest.mark.parametrize(
    ("serving", "said"),
    [
        (Vllm(options={"compilation_config": "{"}), "LLM504 compilation_config must"),
        (Vllm(options={"--max_logprobs": "x"}), "LLM504 --max_logprobs must be a"),
        (Vllm(options={"dtype": "fp16"}), "LLM504 dtype must be"),
        (Vllm(dtype="fp16"), "LLM504 dtype must be"),
        (Sglang(options={"log_level": ""}), "LLM555 log_level cannot be told"),
        (VllmNeuron(options={"max_seqs": "-"}), "LLM555 max_seqs cannot be told"),
        (
            TextEmbeddings(options={"Max_batch_tokens": "x"}),
            "LLM527 Max_batch_tokens must be a whole number",
        ),
        (
            VllmOmni(options={"vae-use-slicing": "x"}),
            "LLM555 vae-use-slicing cannot be told",
        ),
    ],
)
def test_options_are_called_what_they_are_written(
    serving: EngineServing, said: str
) -> None:
    """
    And not by the variables that nobody wrote.
    """
    (line,) = told(serving)

    assert line.startswith(said)
    assert "SM_" not in line


@pytest.mark.parametrize("distribution", ["aws", "huggingface"])
@pytest.mark.parametrize("name", ["port", "--host", "model_dir"])
def test_llama_cpps_images_set_some_themselves(distribution: Any, name: str) -> None:  # noqa: ANN401 - a word of its type
    """
    Whose they are does not matter.
    """
    given: dict[str, Any] = {"distribution": distribution, "options": {name: "x"}}
    (line,) = [one for one in told(LlamaCpp(**given)) if "LLM533" in one]

    assert line.startswith(f"LLM533 options has {name}, which the image sets itself")
    assert "LLM533" not in str(told(LlamaCpp(options={"path": "/x"})))
