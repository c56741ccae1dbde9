"""
What vLLM's configuration takes and refuses of one argument: names that it looks up, and
keys and bounds of its JSON.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, Vllm
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings

CODES = {"LLM504", "LLM507", "LLM539", "LLM541", "LLM605", "LLM961"}


@pytest.mark.parametrize(
    ("name", "value", "codes"),
    [
        # An enumeration is read by its values, and one with a validator by its names.
        ("OPTIMIZATION_LEVEL", "2", []),
        ("OPTIMIZATION_LEVEL", "O2", ["LLM539"]),
        ("ATTENTION_BACKEND", "FLASHINFER", []),
        ("ATTENTION_BACKEND", "FLASH", ["LLM539"]),
        ("QUANTIZATION", "awq", []),
        ("QUANTIZATION", "awqq", ["LLM539"]),
        # Weights of that name are taken by what their files say.
        ("QUANTIZATION", "auto_round", ["LLM605"]),
        ("REASONING_CONFIG", '{"reasoning_parser": "x"}', ["LLM961"]),
        ("REASONING_CONFIG", '{"reasoning_parser": "qwen3"}', []),
        ("STRUCTURED_OUTPUTS_CONFIG", '{"reasoning_parser": "auto"}', ["LLM961"]),
        ("STRUCTURED_OUTPUTS_CONFIG", '{"reasoning_parser": ""}', []),
        ("CONFIG_FORMAT", "toml", ["LLM539"]),
        ("LOAD_FORMAT", "nope", ["LLM539"]),
        ("DISTRIBUTED_EXECUTOR_BACKEND", "mpp", ["LLM539"]),
        ("DISTRIBUTED_EXECUTOR_BACKEND", "mine.Executor", []),
        # Nobody looks it up without automatic choice.
        ("TOOL_CALL_PARSER", "herms", ["LLM605"]),
        ("COMPILATION_CONFIG", '{"pass_config":{"enable_sp":true}}', []),
        ("COMPILATION_CONFIG", '{"pass_config":{"nope":true}}', ["LLM504"]),
        ("EPLB_CONFIG", '{"window_size":1}', []),
        ("EPLB_CONFIG", '{"window_size":0}', ["LLM504"]),
        ("SPECULATIVE_CONFIG", '{"method":"ngram","tokens":3}', ["LLM541"]),
        (
            "SPECULATIVE_CONFIG",
            '{"method":"ngram","num_speculative_tokens":0}',
            ["LLM541"],
        ),
        ("SPECULATIVE_CONFIG", '{"method":"ngram","num_speculative_tokens":1}', []),
    ],
)
def test_each_is_held_against_the_classes_of_the_release(
    name: str, value: str, codes: list[str]
) -> None:
    """
    Of vLLM 0.30.0.
    """
    found = engine_findings(
        {f"SM_VLLM_{name}": value},
        family="vllm-server",
        version="2.6",
        accelerators=None,
    )

    assert [one.code for one in found if one.code in CODES] == codes


@pytest.mark.parametrize(
    ("version", "value", "code"),
    [
        ("0.14.0", "auto_round", "LLM539"),
        ("0.15.1", "auto_round", "LLM605"),
        ("0.15.1", "auto_rounded", "LLM539"),
    ],
)
def test_leaves_weights_of_auto_round_to_their_files(
    version: str, value: str, code: str
) -> None:
    """
    From 0.15 on, whatever is asked for.
    """
    found = engine_findings(
        {"SM_VLLM_QUANTIZATION": value},
        family="vllm",
        version=version,
        accelerators=None,
    )

    assert [one.code for one in found if one.code in CODES] == [code]


@pytest.mark.parametrize("model", ["a/b", "Qwen/Qwen3-8B"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"tool_call_parser": "llama_json"},
            (
                "LLM961 vLLM 0.19.1 has no tool parser named llama_json, got "
                "tool_call_parser=llama_json; use llama4_json, llama3_json or "
                "llama4_pythonic"
            ),
        ),
        (
            {"reasoning_parser": "deepseek_v4"},
            (
                "LLM961 vLLM 0.19.1 has no reasoning parser named deepseek_v4, got "
                "reasoning_parser=deepseek_v4; take an image with vLLM 0.20.0 or "
                "newer, such as vllm 0.20.0"
            ),
        ),
    ],
)
def test_a_parser_that_is_not_there_is_said_once_with_the_release_that_has_it(
    given: dict[str, str], said: str, model: str
) -> None:
    """
    Whether the model is known or not.
    """
    serving = Vllm("1.0", **given)  # type: ignore[arg-type] # keywords of the two
    found = serving.prepare(HuggingFaceModel(model), 1).findings

    told = [str(one) for one in found if one.code in {"LLM961", "LLM539"}]
    assert told == [said]


@pytest.mark.parametrize(
    ("image", "code"), [(None, "LLM961"), ("my-own-tag", "LLM605")], ids=str
)
def test_an_image_of_ones_own_may_have_more_parsers(
    image: str | None, code: str
) -> None:
    """
    Nobody knows what is installed in it.
    """
    prepared = Vllm("2.6", image=image, tool_call_parser="mine").prepare(
        HuggingFaceModel("a/b"), 1
    )

    assert code in [one.code for one in prepared.findings]


@pytest.mark.parametrize(
    ("image", "code"), [(None, "LLM539"), ("my-own-tag", "LLM605")], ids=str
)
def test_an_image_of_ones_own_may_know_more_names(image: str | None, code: str) -> None:
    """
    Nobody knows what is installed in it.
    """
    prepared = Vllm("2.6", image=image, quantization="mine").prepare(
        HuggingFaceModel("a/b"), 1
    )

    assert code in [one.code for one in prepared.findings]
